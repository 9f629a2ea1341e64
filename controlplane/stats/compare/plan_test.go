package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/stats"
)

func TestMarginFollowsItems(t *testing.T) {
	t.Parallel()
	gate := func(items []Paired) Gate {
		return NonInferiority(Metric{Better: HigherBetter, Items: items}, GateOptions{FollowItems: true})
	}
	many := gate(binaryPairs(1600, 100, 100, 200))
	require.Equal(t, Pass, many.Decision)
	require.InDelta(t, .02, many.Margin, 1e-12, "7.849ψ/n is .0198²")
	require.False(t, many.Unsupported)
	require.Nil(t, many.ItemsNeeded)

	few := gate(binaryPairs(60, 10, 10, 20))
	require.InDelta(t, MostMargin, few.Margin, 0)
	require.True(t, few.Unsupported)
	require.InDelta(t, 7.849*.2/.0025, *few.ItemsNeeded, 30)
	lost := gate(binaryPairs(40, 0, 40, 20))
	require.Equal(t, Regression, lost.Decision)
	require.NotNil(t, lost.ItemsNeeded, "whatever the decision is")

	same := gate(binaryPairs(100, 0, 0, 0))
	require.InDelta(t, .04, same.Margin, 1e-12, "3.7 of 100 items that do as before may still be broken")
	require.Equal(t, Pass, same.Decision)
	require.True(t, gate(binaryPairs(20, 0, 0, 0)).Unsupported)
	require.InDelta(t, MarginStep, gate(binaryPairs(100000, 0, 0, 0)).Margin, 1e-12, "no margin is less than a step")

	none := gate(nil)
	require.InDelta(t, MostMargin, none.Margin, 0)
	require.True(t, none.Unsupported)
	amounts := make([]Paired, 200)
	for i := range amounts {
		amounts[i] = Paired{A: []float64{10 + float64(i%2)}, B: []float64{10 + float64(i%3)/2}}
	}
	cost := NonInferiority(Metric{Better: LowerBetter, Items: amounts, Amount: true}, GateOptions{FollowItems: true})
	require.InDelta(t, .015*10.5, cost.Margin, 1e-9, "in relation to the baseline")
	free := NonInferiority(Metric{Better: LowerBetter, Items: []Paired{{A: []float64{0}, B: []float64{1}}}, Amount: true}, GateOptions{FollowItems: true})
	require.Equal(t, []stats.Flag{stats.OutOfDomain}, free.Flags)
}

// TestForecast: what the planner says of margins, items and repeats fits together.
func TestForecast(t *testing.T) {
	t.Parallel()
	assumed := AssumedNoise(.1, .3, .8)
	margin := assumed.Margin(600, .05, .8)
	require.Less(t, margin.Low, margin.Estimate)
	require.Less(t, margin.Estimate, margin.High)
	require.InDelta(t, math.Sqrt(7.849*.2/600), margin.Estimate, .002)
	items := assumed.Items(margin.Estimate, .05, .8)
	require.InDelta(t, 600, *items.Estimate, 1, "Items inverts Margin")
	require.Less(t, items.Low, 600)
	require.Greater(t, *items.High, 600)
	difference, ok := assumed.Difference(600, .05, .8)
	require.True(t, ok)
	require.Greater(t, difference.Estimate, margin.Estimate, "more items differ where there is a difference")
	require.Less(t, difference.Low, difference.High)
	_, ok = assumed.Difference(4, .05, .8)
	require.False(t, ok, "McNemar's test cannot find anything in 4 items")

	_, known := assumed.Repeats(.05, 100, .05, .8)
	require.False(t, known)
	three := assumed.With(3)
	require.InDelta(t, .1/3, three.Variance.Low, 1e-12, "all of it may be of repeats")
	require.InDelta(t, .3, three.Variance.High, 1e-12, "or none")
	require.Nil(t, assumed.Items(0, .05, .8).Estimate, "no number shows that nothing is lost")

	random := rand.New(rand.NewPCG(1, 4))
	repeats := make([][]float64, 200)
	for i := range repeats {
		p := random.Float64()
		for range 5 {
			x := 0.
			if random.Float64() < p {
				x = 1
			}
			repeats[i] = append(repeats[i], x)
		}
	}
	unchanged, ok := RepeatNoise(repeats, false)
	require.True(t, ok)
	require.InDelta(t, 2./6, unchanged.Variance.Estimate, .05, "twice the mean of p(1-p)")
	require.InDelta(t, unchanged.Variance.Estimate/4, unchanged.With(4).Variance.Estimate, 1e-12)
	count, ok := unchanged.Repeats(.05, 200, .05, .8)
	require.True(t, ok)
	require.NotNil(t, count.Estimate)
	require.LessOrEqual(t, unchanged.With(*count.Estimate).Margin(200, .05, .8).Estimate, .05)
	require.Greater(t, unchanged.With(*count.Estimate-1).Margin(200, .05, .8).Estimate, .05)
	count, _ = unchanged.Repeats(.01, 200, .05, .8)
	require.Nil(t, count.Estimate, "repeats do not show what other items would")
	_, ok = RepeatNoise([][]float64{{1}, {0}}, false)
	require.False(t, ok)
}
