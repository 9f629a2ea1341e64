package compare_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

func severalItems(n, sides int, score func(random *rand.Rand, item float64, side int) float64) []compare.Scored {
	random := rand.New(rand.NewPCG(7, 7))
	items := make([]compare.Scored, n)
	for i := range items {
		item := random.Float64()
		for side := range sides {
			items[i].Sides = append(items[i].Sides, []float64{score(random, item, side)})
		}
	}
	return items
}

func graded(random *rand.Rand, item float64, side int) float64 {
	return math.Round(4*(item*.6+random.Float64()*.4-.02*float64(side)+.1)) / 4
}

func TestTwoSidesAreACommonComparison(t *testing.T) {
	items := severalItems(80, 2, graded)
	pairs := make([]compare.Paired, len(items))
	for i, item := range items {
		pairs[i] = compare.Paired{A: item.Sides[0], B: item.Sides[1]}
	}
	want := compare.Compare([]compare.Metric{{Better: compare.HigherBetter, Items: pairs}}, compare.Options{})[0]
	got := compare.Pairs(items, compare.SeveralOptions{Better: compare.HigherBetter})
	require.Len(t, got.Pairs, 1)
	want.Difference.MinimumDetectable = nil
	assert.Equal(t, want.Difference, got.Pairs[0].Difference)
	assert.Equal(t, want.Verdict, got.Pairs[0].Verdict)
}

func TestSeveralSidesCountAllPairs(t *testing.T) {
	items := severalItems(200, 6, graded)
	options := compare.SeveralOptions{Better: compare.HigherBetter}
	got := compare.Pairs(items, options)
	require.Len(t, got.Pairs, 15)
	options.Alpha = .05 / 15
	alone := make([]compare.Scored, len(items))
	for _, pair := range got.Pairs {
		for i, item := range items {
			alone[i].Sides = [][]float64{item.Sides[pair.A], item.Sides[pair.B]}
		}
		assert.Equal(t, compare.Pairs(alone, options).Pairs[0].Difference.CI, pair.Difference.CI)
		assert.InDelta(t, math.Min(1, 15**pair.Difference.P), *pair.Difference.PAdjusted, 1e-12)
	}
}

func TestFewDifferingItemsAreNoCertainty(t *testing.T) {
	got := compare.Pairs(severalItems(100, 3, func(random *rand.Rand, item float64, side int) float64 {
		if side == 2 && item > .97 {
			return 0
		}
		return 1
	}), compare.SeveralOptions{Better: compare.HigherBetter})
	for _, pair := range got.Pairs {
		assert.Equal(t, compare.Inconclusive, pair.Verdict)
		require.NotNil(t, pair.Difference.CI)
		assert.Less(t, pair.Difference.CI[0], -.03)
		assert.Greater(t, pair.Difference.CI[1], .01)
	}
}

func TestSeveralSidesHaveTheItemsOfAll(t *testing.T) {
	items := severalItems(60, 3, graded)
	items[0].Sides[1] = nil
	items[1].Sides[2] = []float64{math.NaN()}
	got := compare.Pairs(items, compare.SeveralOptions{Better: compare.HigherBetter})
	assert.Equal(t, 58, got.Items)
	assert.InDelta(t, *got.Pairs[1].Difference.Estimate, *got.Pairs[0].Difference.Estimate+*got.Pairs[2].Difference.Estimate, 1e-12)
	assert.Equal(t, []stats.Flag{stats.TooFew}, compare.Pairs(nil, compare.SeveralOptions{}).Flags)
}
