package stats

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// input turns fuzzed bytes into numbers: most are grades or shares, some are missing, and some are any float.
type input struct{ data []byte }

func (in *input) byte() byte {
	if len(in.data) == 0 {
		return 0
	}
	b := in.data[0]
	in.data = in.data[1:]
	return b
}

func (in *input) below(n int) int { return int(in.byte()) % n }

func (in *input) float() float64 {
	switch b := in.byte(); b % 8 {
	case 0:
		return math.NaN()
	case 1:
		var raw [8]byte
		for i := range raw {
			raw[i] = in.byte()
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(raw[:]))
	case 2:
		return float64(in.byte()) / 255
	default:
		return float64(b % 5)
	}
}

func (in *input) floats(n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = in.float()
	}
	return all
}

func (in *input) rows() [][]float64 {
	rows, columns := make([][]float64, in.below(12)), in.below(5)
	for i := range rows {
		rows[i] = in.floats(columns)
	}
	return rows
}

// sound requires a statistic or a reason for none, no NaN anywhere, and a value in its domain.
func sound(t *testing.T, name string, v Value, low, high float64) {
	t.Helper()
	if v.Value == nil {
		require.NotEmpty(t, v.Flag, "%s has neither value nor flag", name)
		return
	}
	require.True(t, Finite(*v.Value), "%s is %v", name, *v.Value)
	require.GreaterOrEqual(t, *v.Value, low-1e-6, name)
	require.LessOrEqual(t, *v.Value, high+1e-6, name)
}

func soundInterval(t *testing.T, name string, i *Interval) {
	t.Helper()
	if i != nil {
		require.True(t, Finite(i[0], i[1]) && i[0] <= i[1], "%s is %v", name, *i)
	}
}

// soundJSON requires that all of a result can be written: NaN and infinities cannot.
func soundJSON(t *testing.T, result any) {
	t.Helper()
	_, err := json.Marshal(result)
	require.NoError(t, err)
}

// FuzzAgreement tries all coefficients of agreement.
func FuzzAgreement(f *testing.F) {
	f.Add([]byte{6, 3, 3, 4, 4, 3, 3, 3, 5, 6, 7, 3, 3, 0})
	f.Add([]byte{2, 2, 1, 255, 255, 255, 255, 255, 255, 239, 127, 1, 255, 255, 255, 255, 255, 255, 239, 255, 3, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &input{data}
		rows := in.rows()
		counts, _ := CountRatings(rows, nil)
		most := math.Inf(1)
		for _, w := range []Weights{Identity, Linear} {
			sound(t, "agreement", agreement(counts, w), 0, 1)
			sound(t, "gwet", gwet(counts, w), -most, 1)
		}
		for _, s := range []Scale{NominalScale, OrdinalScale, IntervalScale} {
			alpha := KrippendorffInterval(rows, s, BootstrapOptions{Resamples: 20})
			sound(t, "alpha", alpha.Value, -most, 1)
			soundInterval(t, "alpha", alpha.CI)
		}
		if len(rows) > 1 {
			e := Spearman(rows[0], rows[1])
			sound(t, "correlation", e.Value, -1, 1)
			soundInterval(t, "correlation", e.CI)
		}
	})
}

// FuzzMeans tries means, aggregates and corrections.
func FuzzMeans(f *testing.F) {
	f.Add([]byte{9, 1, 1, 3, 4, 1, 1, 4, 4, 2, 1, 4, 3, 2, 9, 1, 1, 4, 3})
	f.Add([]byte{2, 1, 1, 1, 255, 255, 255, 255, 255, 255, 239, 127, 1, 255, 255, 255, 255, 255, 255, 239, 255, 3, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &input{data}
		x := in.floats(in.below(30))
		for _, e := range []Estimate{MeanInterval(x, .05), SkewedMeanInterval(x, .05), BoundedMeanInterval(x, -1, 1, .05), ClusteredInterval([][]float64{x, {0, 1}}, .05)} {
			sound(t, "mean", e.Value, math.Inf(-1), math.Inf(1))
			soundInterval(t, "mean", e.CI)
		}
		sound(t, "sign flip", SignFlip(x, 1).P, 0, 1)
		soundJSON(t, ClusteredMean([][]float64{x, in.floats(3)}))
		for _, v := range []Value{Majority(x), Mean(x), Median(x), Minimum(x)} {
			sound(t, "aggregate", v, math.Inf(-1), math.Inf(1))
		}
		ppi := PPI(x, in.floats(len(x)), -1, 1)
		sound(t, "ppi", ppi.Value, -1, 1)
		soundInterval(t, "ppi", ppi.Interval(.05))
		require.True(t, Probability(ppi.Lambda))
		if p := ppi.P(); p != nil {
			require.True(t, Probability(*p))
		}
		soundJSON(t, EnergyTest([][]float64{in.floats(3), in.floats(3), in.floats(3)}, in.below(4), 1))
	})
}

// FuzzNumbers tries the functions of counts and single numbers.
func FuzzNumbers(f *testing.F) {
	f.Add(3, 4, 10, 5, .1, .05)
	f.Add(0, 0, 1, 1, .5, .999)
	f.Fuzz(func(t *testing.T, a, b, c, d int, x, y float64) {
		a, b, c, d = a%300, b%300, c%300, d%300
		sound(t, "mcnemar", McNemarTest(a, b), 0, 1)
		fisher := FisherExact(a, b, c, d)
		for _, v := range []Value{fisher.TwoSided, fisher.Greater, fisher.Less, AttainableP(a, b)} {
			sound(t, "probability", v, 0, 1)
		}
		for _, i := range []*Interval{Wilson(x, y, .05), Wilson(float64(a), float64(b), x), ShareInterval(x, y, .05), ClopperPearson(a, b, x), PairedProportions(a, b, c, x)} {
			soundInterval(t, "proportion", i)
			if i != nil {
				require.True(t, i[0] >= -1 && i[1] <= 1)
			}
		}
		for _, v := range []Value{
			MinimumDetectable(x, a, y, .8), McNemarSampleSize(x, y, .05, .8), MinimumDetectableMcNemar(x, y, c%50, .05, .8),
		} {
			sound(t, "power", v, math.Inf(-1), math.Inf(1))
		}
		for _, p := range Holm([]float64{x, y, .5}) {
			require.True(t, math.IsNaN(p) || p == x || p == y || Probability(p))
		}
		looks := SequentialTest([]Look{{x, y}, {1, .04}}, .05)
		soundJSON(t, looks)
		require.True(t, looks.Boundary != nil || looks.Flag != "")
	})
}
