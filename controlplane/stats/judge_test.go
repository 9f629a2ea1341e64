package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPPI: the corrected share covers the truth, which the judge's own does not, and its interval is narrower than that of labels alone.
func TestPPI(t *testing.T) {
	t.Parallel()
	const truth, sensitivity, specificity, runs = .6, .9, .65, 500
	random := rand.New(rand.NewPCG(1, 1))
	covered, raw := 0, 0
	narrower := 0.
	for range runs {
		var labels, judged, people []float64
		passed := 0.
		for i := range 2200 {
			pass := random.Float64() < truth
			verdict := random.Float64() < sensitivity
			if !pass {
				verdict = random.Float64() >= specificity
			}
			label := math.NaN()
			if i < 200 {
				label = toNumber(pass)
				people = append(people, label)
			}
			labels, judged = append(labels, label), append(judged, toNumber(verdict))
			passed += toNumber(verdict)
		}
		c := PPI(labels, judged, 0, 1)
		require.Equal(t, 200, c.Labels)
		require.Equal(t, 2200, c.Items)
		require.Greater(t, c.Lambda, .3)
		ci := c.Interval(.05)
		if ci.Contains(truth) {
			covered++
		}
		if Wilson(passed, 2200, .05).Contains(truth) {
			raw++
		}
		plain := MeanInterval(people, .05)
		narrower += (plain.CI[1] - plain.CI[0] - ci[1] + ci[0]) / runs
	}
	require.InDelta(t, .95, float64(covered)/runs, .03)
	require.Less(t, raw, runs/3)
	require.Positive(t, narrower)
}

func toNumber(pass bool) float64 {
	if pass {
		return 1
	}
	return 0
}

func TestPositionConsistency(t *testing.T) {
	t.Parallel()
	consistency := PositionConsistency(
		[]Preference{First, First, Second, Tie, Tie, First, Second},
		[]Preference{Second, First, Second, Tie, First, Tie, First})
	require.InDelta(t, 3./7, *consistency.Value, 1e-12)
	require.Equal(t, TooFew, PositionConsistency(nil, nil).Flag)
}

func TestAggregates(t *testing.T) {
	t.Parallel()
	none := math.NaN()
	votes := []float64{3, 1, none, 3, 2, 10}
	for name, c := range map[string]struct {
		got  Value
		want float64
	}{
		"majority": {Majority(votes), 3}, "mean": {Mean(votes), 3.8}, "median": {Median(votes), 3}, "minimum": {Minimum(votes), 1},
		"even": {Median([]float64{1, 2, 4, none, 9}), 3},
	} {
		require.NotNil(t, c.got.Value, name)
		require.InDelta(t, c.want, *c.got.Value, 1e-12, name)
	}
	require.Equal(t, Value{Flag: Tied}, Majority([]float64{1, 0, none, 0, 1}), "no coin flip")
	require.Equal(t, Value{Flag: TooFew}, Majority([]float64{none}))
}
