package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBootstrapClusters: rows that are copied within a cluster say no more than one of them, and the interval is that of the originals.
func TestBootstrapClusters(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	rows := randomRatings(random, 60, 3, 4, .2)
	var copies [][]float64
	var clusters []int
	for i, row := range rows {
		for range 4 {
			copies, clusters = append(copies, row), append(clusters, i*7)
		}
	}
	single := MeasureReliability(rows, OrdinalScale, []float64{1, 2, 3, 4}, BootstrapOptions{Seed: 1})
	whole := MeasureReliability(copies, OrdinalScale, []float64{1, 2, 3, 4}, BootstrapOptions{Seed: 1, Clusters: clusters})
	naive := MeasureReliability(copies, OrdinalScale, []float64{1, 2, 3, 4}, BootstrapOptions{Seed: 1})
	for name, figure := range map[string]func(Reliability) Agreement{
		"percent": func(r Reliability) Agreement { return r.PercentAgreement },
		"gwet":    func(r Reliability) Agreement { return r.GwetAC },
	} {
		one, all, wrong := figure(single), figure(whole), figure(naive)
		require.InDelta(t, *one.Value.Value, *all.Value.Value, 1e-12, name)
		require.InDelta(t, one.CI[0], all.CI[0], .005, name)
		require.InDelta(t, one.CI[1], all.CI[1], .005, name)
		require.Less(t, wrong.CI[1]-wrong.CI[0], .6*(all.CI[1]-all.CI[0]), name)
	}
	require.InDelta(t, single.KrippendorffAlpha.CI[0], whole.KrippendorffAlpha.CI[0], .02, "the expected distance depends on the number of ratings")
	require.Equal(t, OutOfDomain, Bootstrap(3, func([]int) Value { return Some(1) }, BootstrapOptions{Clusters: []int{1}}).Flag)
	require.Equal(t, TooFew, Bootstrap(3, func([]int) Value { return Some(1) }, BootstrapOptions{Clusters: []int{1, 1, 1}}).Flag)
}

// TestPairKappa: on categories it is Cohen's kappa, and Lin's concordance on numbers.
func TestPairKappa(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 2))
	a, b := make([]float64, 200), make([]float64, 200)
	for i := range a {
		a[i] = float64(random.IntN(5))
		b[i] = a[i]
		if random.IntN(3) == 0 {
			b[i] = float64(random.IntN(5))
		}
	}
	a[3], b[9] = math.NaN(), math.NaN()
	for scale, distance := range map[Scale]func(x, y float64) float64{
		NominalScale:  func(x, y float64) float64 { return math.Abs(toNumber(x == y) - 1) },
		OrdinalScale:  func(x, y float64) float64 { return math.Abs(x - y) },
		IntervalScale: func(x, y float64) float64 { return (x - y) * (x - y) },
	} {
		var observed, expected float64
		for i := range a {
			for j := range b {
				switch d := distance(a[i], b[j]); {
				case math.IsNaN(a[i]+b[i]) || math.IsNaN(a[j]+b[j]):
				case i == j:
					observed += d / 198
					expected += d / (198 * 198)
				default:
					expected += d / (198 * 198)
				}
			}
		}
		got := PairKappa(a, b, scale, BootstrapOptions{Seed: 1})
		require.InDelta(t, 1-observed/expected, *got.Value.Value, 1e-12, scale)
		require.True(t, got.CI.Contains(*got.Value.Value), scale)
		require.Less(t, got.CI[1]-got.CI[0], .25, scale)
		require.Equal(t, 198, got.N)
	}
	// Half places between categories are half a distance: 1 - mean |x-y| / mean of all |x-y|.
	half := PairKappa([]float64{0, 1, 2}, []float64{.5, 1, 2}, OrdinalScale, BootstrapOptions{})
	require.InDelta(t, 1-(.5/3)/((.5+1+2+.5+0+1+1.5+1+0)/9), *half.Value.Value, 1e-12)
	require.Equal(t, NoVariation, PairKappa([]float64{1, 1}, []float64{1, 1}, OrdinalScale, BootstrapOptions{}).Flag)
	require.Equal(t, NoVariation, PairKappa([]float64{.1, .1}, []float64{.1, .1}, IntervalScale, BootstrapOptions{}).Flag)
	require.Equal(t, TooFew, PairKappa([]float64{math.NaN()}, []float64{1}, NominalScale, BootstrapOptions{}).Flag)
	require.Equal(t, OutOfDomain, PairKappa([]float64{1}, nil, NominalScale, BootstrapOptions{}).Flag)
	require.Equal(t, OutOfDomain, PairKappa([]float64{math.Inf(1)}, []float64{1}, NominalScale, BootstrapOptions{}).Flag)
}

// TestClusteredIntervalCovers counts how often intervals contain the truth where repeats of an item are alike.
func TestClusteredIntervalCovers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	const trials = 1500
	covered := map[string]int{}
	for range trials {
		var passes, scores [][]float64
		var values []float64
		var clusters []int
		for item := range 80 {
			p, level := random.Float64(), random.NormFloat64()
			var pass, score []float64
			for range 1 + random.IntN(4) {
				x := 0.
				if random.Float64() < p {
					x = 1
				}
				pass = append(pass, x)
				score = append(score, level+.5*random.NormFloat64())
				values = append(values, score[len(score)-1])
				clusters = append(clusters, item)
			}
			passes, scores = append(passes, pass), append(scores, score)
		}
		count := func(name string, e Estimate, truth float64) {
			if e.CI != nil && e.CI.Contains(truth) {
				covered[name]++
			}
		}
		count("passes", ClusteredInterval(passes, .05), .5)
		count("scores", ClusteredInterval(scores, .05), 0)
		lengths := make([]float64, len(values))
		for i, c := range clusters { // the length is of the item
			lengths[i] = math.Sin(float64(c) * 12.9898)
		}
		count("spearman", ClusteredSpearman(lengths, values, clusters), 0)
	}
	for name, n := range covered {
		require.InDelta(t, .95, float64(n)/trials, .02, name)
	}
	require.Len(t, covered, 3)
}

// TestClusteredDegenerate has no number without a reason, and none that is made up.
func TestClusteredDegenerate(t *testing.T) {
	t.Parallel()
	require.Equal(t, Estimate{Value: None(TooFew)}, ClusteredInterval(nil, .05))
	one := ClusteredInterval([][]float64{{1, 0}}, .05)
	require.InDelta(t, .5, *one.Value.Value, 0)
	require.Equal(t, TooFew, one.Flag)
	require.Nil(t, one.CI)
	require.Equal(t, OutOfDomain, ClusteredInterval([][]float64{{math.NaN()}}, .05).Flag)
	all := ClusteredInterval([][]float64{{1, 1}, {1}, {1, 1}}, .05)
	require.Equal(t, NoVariation, all.Flag)
	require.Equal(t, Wilson(3, 3, .05), all.CI, "three items, however many repeats")
	require.Equal(t, ClusteredInterval([][]float64{{.2}, {.4}, {.9}}, .05).CI, BoundedMeanInterval([]float64{.2, .4, .9}, 0, 1, .05).CI)
	require.Equal(t, OutOfDomain, ClusteredSpearman([]float64{1, 2, 3, 5}, []float64{1, 3, 2, 4}, []int{1}).Flag)
	x, y := []float64{1, 2, 3, 5, 4}, []float64{1, 3, 2, 4, 5}
	require.Equal(t, Spearman(x, y), ClusteredSpearman(x, y, []int{5, 6, 7, 8, 9}))
	require.Nil(t, ClusteredSpearman(x, y, []int{1, 1, 1, 1, 2}).CI)
}
