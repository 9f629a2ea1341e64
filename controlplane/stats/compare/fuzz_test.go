package compare

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// input turns fuzzed bytes into numbers: most are grades, some are missing, and some are extreme.
type input struct{ data []byte }

func (in *input) below(n int) int {
	if len(in.data) == 0 {
		return 0
	}
	b := in.data[0]
	in.data = in.data[1:]
	return int(b) % n
}

func (in *input) number() float64 {
	switch b := in.below(256); b {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1)
	case 2:
		return math.MaxFloat64
	case 3:
		return math.SmallestNonzeroFloat64
	default:
		return float64(b%21)/4 - 1
	}
}

func (in *input) numbers(n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = in.number()
	}
	return all
}

// requireJSON requires that all of a result can be written: NaN and infinities cannot.
func requireJSON(t *testing.T, result any) {
	t.Helper()
	_, err := json.Marshal(result)
	require.NoError(t, err)
}

// FuzzCompare tries comparisons and gates.
func FuzzCompare(f *testing.F) {
	f.Add([]byte{9, 1, 1, 3, 4, 1, 1, 4, 4, 2, 1, 4, 3, 2, 9, 1, 1, 4, 3})
	f.Add([]byte{39, 2, 2, 8, 12, 9, 13, 2, 2, 8, 12, 9, 13, 1, 2, 0, 1, 2, 2, 3, 4, 5, 6, 2, 1, 80, 81, 82, 12, 12})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &input{data}
		items := make([]Paired, in.below(40))
		for i := range items {
			items[i] = Paired{A: in.numbers(in.below(3)), B: in.numbers(in.below(3))}
		}
		bound := in.number()
		m := Metric{Better: LowerBetter, Items: items, Equivalence: &bound}
		c := Compare([]Metric{m, m}, Options{Seed: 1})[0]
		requireJSON(t, c)
		for _, i := range []*stats.Interval{c.A.CI, c.B.CI, c.Difference.CI} {
			require.True(t, i == nil || stats.Finite(i[0], i[1]) && i[0] <= i[1], "the interval is %v", i)
		}
		require.Equal(t, len(items), c.Items.Paired+c.Items.OnlyA+c.Items.OnlyB+c.Items.Neither)
		if p := c.Difference.P; p != nil {
			require.True(t, stats.Probability(*p) && *p > 0 && *c.Difference.PAdjusted >= *p, "p is %v", *p)
		}
		if d := c.Difference.MinimumDetectable; d != nil {
			require.Positive(t, *d)
		}
		if c.Verdict == ABetter || c.Verdict == BBetter {
			require.LessOrEqual(t, *c.Difference.PAdjusted, .05)
		}
		g := NonInferiority(m, GateOptions{Options: Options{Alpha: .1}, Margin: in.number(), Repeated: m.Amount})
		requireJSON(t, g)
		for _, n := range []*int{g.ItemsNeeded, g.RepeatsNeeded} {
			require.True(t, n == nil || *n > 0)
		}
	})
}
