package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoVariation: where all ratings are equal no coefficient has a value; other implementations return 1 or NaN.
func TestNoVariation(t *testing.T) {
	t.Parallel()
	rows := [][]float64{{2, 2, 2}, {2, 2, 2}, {2, 2, math.NaN()}}
	column := []float64{2, 2, 2}
	counts, flag := CountRatings(rows, []float64{1, 2, 3})
	require.Empty(t, flag)
	for name, v := range map[string]Value{
		"ac1":     gwet(counts, Identity),
		"nominal": alpha(rows, NominalScale), "ordinal": alpha(rows, OrdinalScale),
		"interval": alpha(rows, IntervalScale),
		"boot":     KrippendorffInterval(rows, NominalScale, BootstrapOptions{}).Value,
		"spearman": Spearman([]float64{1, 2, 3}, column).Value,
		"mcnemar":  McNemarTest(0, 0),
		"fisher":   FisherExact(3, 0, 4, 0).TwoSided, "sign flip": SignFlip([]float64{0, 0}, 1).P,
		"energy": EnergyTest([][]float64{{0, 0}, {0, 0}}, 1, 1).Value, "detectable": MinimumDetectable(0, 10, .05, .8),
		"detectable share": MinimumDetectableMcNemar(1, 0, 10, .05, .8),
	} {
		require.Nil(t, v.Value, name)
		require.Equal(t, NoVariation, v.Flag, name)
	}
	require.Equal(t, NoVariation, MeanInterval(column, .05).Flag)
	require.InDelta(t, 2, *SkewedMeanInterval(column, .05).Value.Value, 0, "the mean is known, its interval is not")
	require.Nil(t, SkewedMeanInterval(column, .05).CI)
	require.Nil(t, BoundedMeanInterval(column, 0, 1, .05).CI)
	// Half an item at each end: numpy's values.
	mean := BoundedMeanInterval([]float64{1, 1, 1, .5, 1, 1, 0, 1, 1, 1}, 0, 1, .05)
	require.InDelta(t, .85, *mean.Value.Value, 1e-12)
	require.InDelta(t, .16773593, mean.CI[0], 1e-3)
	require.InDelta(t, 1, mean.CI[1], 0)
	same := BoundedMeanInterval(make([]float64, 20), -1, 1, .05)
	require.Equal(t, NoVariation, same.Flag)
	require.InDelta(t, -.10212912, same.CI[0], 1e-8)
	require.InDelta(t, .10212912, same.CI[1], 1e-8)
	require.InDelta(t, .0163538/1, 1-ShareInterval(47, 50, .05)[1], 1e-6)
	require.Nil(t, ShareInterval(3, 2, .05))
	require.Equal(t, NoVariation, ClusteredMean([][]float64{{1, 1}, {1}}).Flag)
	boot := Bootstrap(5, func([]int) Value { return Some(3) }, BootstrapOptions{Seed: 7})
	require.Equal(t, BootstrapResult{Resamples: 2000, Used: 2000, Seed: 7, Flag: NoVariation}, boot)
}

// TestTooFew: there are not enough ratings.
func TestTooFew(t *testing.T) {
	t.Parallel()
	single := [][]float64{{1, math.NaN()}, {math.NaN(), 2}}
	counts, _ := CountRatings(single, nil)
	for name, v := range map[string]Value{
		"agreement": agreement(counts, Identity), "ac1": gwet(counts, Identity),
		"nothing": gwet(nil, Identity),
		"alpha":   alpha(single, NominalScale), "empty alpha": alpha(nil, OrdinalScale),
		"spearman": Spearman([]float64{1, 2}, []float64{1, 3}).Value, "mean": MeanInterval(nil, .05).Value, "clusters": ClusteredMean([][]float64{{1, 2}}).Value,
		"energy": EnergyTest([][]float64{{0}}, 1, 1).P, "detectable": MinimumDetectable(1, 1, .05, .8),
		"detectable share": MinimumDetectableMcNemar(.5, 0, 4, .05, .8),
	} {
		require.Nil(t, v.Value, name)
		require.Equal(t, TooFew, v.Flag, name)
	}
	require.Equal(t, TooFew, Bootstrap(1, func([]int) Value { return Some(3) }, BootstrapOptions{}).Flag)
	require.Nil(t, Wilson(0, 0, .05))
	require.Nil(t, ClopperPearson(0, 0, .05))
	require.Nil(t, PairedProportions(0, 0, 0, .05))
}

// TestOutOfDomain: input that no formula is for.
func TestOutOfDomain(t *testing.T) {
	t.Parallel()
	infinite := [][]float64{{1, 2}, {math.Inf(1), 2}}
	_, unknown := CountRatings([][]float64{{1, 7}}, []float64{1, 2})
	require.Equal(t, OutOfDomain, unknown)
	_, unordered := CountRatings([][]float64{{1, 2}}, []float64{2, 1})
	require.Equal(t, OutOfDomain, unordered)
	for name, v := range map[string]Value{
		"negative": agreement(Counts{{-1, 3}}, Identity), "ragged counts": gwet(Counts{{1, 3}, {4}}, Identity),
		"alpha":    alpha(infinite, IntervalScale),
		"spearman": Spearman([]float64{1, 2, 3}, []float64{1, 2}).Value,
		"mean":     MeanInterval([]float64{math.NaN()}, .05).Value, "level": MeanInterval([]float64{1, 2}, 1.5).Value,
		"mcnemar": McNemarTest(-1, 2), "fisher": FisherExact(-1, 2, 3, 4).Less,
		"sign flip": SignFlip([]float64{1, math.Inf(1)}, 1).P, "energy": EnergyTest([][]float64{{0, -1}, {1, 0}}, 1, 1).P,
		"attainable": AttainableP(0, 3),
		"shares":     McNemarSampleSize(.1, .2, .05, .8),
		"total":      Majority([]float64{1, math.Inf(1)}),
		"order":      PositionConsistency([]Preference{First}, nil),
	} {
		require.Nil(t, v.Value, name)
		require.Equal(t, OutOfDomain, v.Flag, name)
	}
	require.Equal(t, OutOfDomain, Bootstrap(5, nil, BootstrapOptions{Alpha: 2}).Flag)
}
