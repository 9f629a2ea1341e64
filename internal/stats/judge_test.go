package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCorrections: the corrected share covers the truth, which the judge's own does not.
func TestCorrections(t *testing.T) {
	t.Parallel()
	const truth, sensitivity, specificity, runs = .6, .9, .65, 500
	random := rand.New(rand.NewPCG(1, 1))
	corrected, powered, raw := 0, 0, 0
	narrower := 0.
	for range runs {
		verdict := func(pass bool) bool {
			if pass {
				return random.Float64() < sensitivity
			}
			return random.Float64() >= specificity
		}
		var labels Labels
		var people, judged, unlabelled []float64
		for range 200 {
			pass := random.Float64() < truth
			v := verdict(pass)
			switch {
			case pass:
				labels.Positives++
				if v {
					labels.TruePositives++
				}
			default:
				labels.Negatives++
				if !v {
					labels.TrueNegatives++
				}
			}
			people, judged = append(people, toNumber(pass)), append(judged, toNumber(v))
		}
		passed := 0
		for range 2000 {
			v := verdict(random.Float64() < truth)
			unlabelled = append(unlabelled, toNumber(v))
			if v {
				passed++
			}
		}
		rogan := RoganGladen(passed, 2000, labels, .05)
		ppi, lambda := PPI(people, judged, unlabelled, .05)
		require.Greater(t, lambda, .3)
		if rogan.CI.Contains(truth) {
			corrected++
		}
		if ppi.CI.Contains(truth) {
			powered++
		}
		if Wilson(float64(passed), 2000, .05).Contains(truth) {
			raw++
		}
		plain := MeanInterval(people, .05)
		narrower += (plain.CI[1] - plain.CI[0] - ppi.CI[1] + ppi.CI[0]) / runs
	}
	require.InDelta(t, .95, float64(corrected)/runs, .03)
	require.InDelta(t, .95, float64(powered)/runs, .03)
	require.Less(t, raw, runs/3)
	require.Positive(t, narrower)
}

func toNumber(pass bool) float64 {
	if pass {
		return 1
	}
	return 0
}

// TestAlternative: a judge that rates as people do may replace them, and one that guesses may not.
func TestAlternative(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	rate := func(truth, right float64) float64 {
		if random.Float64() < right {
			return truth
		}
		return float64(random.IntN(4))
	}
	var good, bad []float64
	people := make([][]float64, 100)
	for i := range people {
		truth := float64(random.IntN(4))
		people[i] = []float64{rate(truth, .8), rate(truth, .8), rate(truth, .8), math.NaN()}
		people[i][3] = rate(truth, .7)
		if i%3 == 0 {
			people[i][1] = math.NaN()
		}
		good, bad = append(good, rate(truth, .85)), append(bad, rate(truth, 0))
	}
	for _, alignment := range []Alignment{AlignCategories, AlignNumbers} {
		yes := AlternativeTest(good, people, alignment, .15, .05)
		require.True(t, yes.Passes)
		require.InDelta(t, 1, *yes.WinningRate.Value, .3)
		require.Greater(t, *yes.Advantage.Value, .7)
		require.Len(t, yes.P, 4)
		no := AlternativeTest(bad, people, alignment, .15, .05)
		require.False(t, no.Passes)
		require.InDelta(t, 0, *no.WinningRate.Value, 1e-12)
	}
	require.Equal(t, FewItems, AlternativeTest(good[:20], people[:20], AlignCategories, .15, .05).WinningRate.Flag)
	same := AlternativeTest([]float64{1, 1, 1}, [][]float64{{1, 1}, {1, 1}, {1, 1}}, AlignCategories, .15, .05)
	require.Equal(t, NoVariation, same.WinningRate.Flag)
	require.False(t, same.Passes)
}

func TestEffectiveJudges(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 3))
	alone, copied := make([][]float64, 4000), make([][]float64, 4000)
	for i := range alone {
		shared := random.NormFloat64()
		for range 4 {
			alone[i] = append(alone[i], random.NormFloat64())
			copied[i] = append(copied[i], shared)
		}
	}
	require.InDelta(t, 4, *EffectiveJudges(alone).Value, .2)
	require.InDelta(t, 1, *EffectiveJudges(copied).Value, 1e-9)
	require.Equal(t, NoVariation, EffectiveJudges([][]float64{{0, 0}, {0, 0}, {0, 0}}).Flag)
}

func TestPositionConsistency(t *testing.T) {
	t.Parallel()
	bias := PositionConsistency(
		[]Preference{First, First, Second, Tie, Tie, First, Second},
		[]Preference{Second, First, Second, Tie, First, Tie, First})
	require.InDelta(t, 3./7, *bias.Consistency.Value, 1e-12)
	require.InDelta(t, (3.-1)/7, *bias.Fairness.Value, 1e-12)
	require.Equal(t, TooFew, PositionConsistency(nil, nil).Consistency.Flag)
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
		"trimmed":  {TrimmedMean(votes, .2), 8. / 3},
		"weighted": {WeightedMean(votes, []float64{1, 0, 5, 1, 2, 0}), 10. / 4},
		"even":     {Median([]float64{1, 2, 4, none, 9}), 3},
	} {
		require.NotNil(t, c.got.Value, name)
		require.InDelta(t, c.want, *c.got.Value, 1e-12, name)
	}
	require.Equal(t, Value{Flag: Tied}, Majority([]float64{1, 0, none, 0, 1}), "no coin flip")
	require.Equal(t, Value{Flag: TooFew}, Majority([]float64{none}))
	require.Equal(t, Value{Flag: TooFew}, WeightedMean([]float64{1, none}, []float64{0, 1}))
	require.Equal(t, Value{Flag: OutOfDomain}, WeightedMean([]float64{1}, []float64{-1}))
	require.Equal(t, Value{Flag: OutOfDomain}, TrimmedMean([]float64{1}, .5))
}
