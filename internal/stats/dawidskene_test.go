package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// passVotes are those of judges that are right with a probability, on items of which 70% pass.
func passVotes(random *rand.Rand, items, judges int, right float64) []Vote {
	var votes []Vote
	for i := range items {
		truth := 0
		if random.Float64() < .7 {
			truth = 1
		}
		for j := range judges {
			vote := truth
			if random.Float64() > right {
				vote = 1 - truth
			}
			votes = append(votes, Vote{i, j, vote})
		}
	}
	return votes
}

func TestDawidSkenePrior(t *testing.T) {
	t.Parallel()
	votes := passVotes(rand.New(rand.NewPCG(1, 1)), 60, 3, .85)
	sure := func(prior float64) (n int) {
		for _, p := range EstimateDawidSkene(votes, 60, 3, 2, prior).Posterior {
			if p[0] < 1e-3 || p[1] < 1e-3 {
				n++
			}
		}
		return n
	}
	require.Less(t, sure(1), sure(0), "rates are not 0 or 1")
	require.Equal(t, OutOfDomain, EstimateDawidSkene(votes, 60, 3, 2, -1).Flag)
	require.Equal(t, OutOfDomain, EstimateDawidSkene(votes, 60, 3, 2, math.NaN()).Flag)
	require.Equal(t, TooFew, EstimateDawidSkene(passVotes(rand.New(rand.NewPCG(1, 1)), 60, 2, .85), 60, 2, 2, 1).Flag, "two judges")
	require.Equal(t, TooFew, EstimateDawidSkene(passVotes(rand.New(rand.NewPCG(1, 1)), 60, 2, .85), 60, 3, 2, 1).Flag, "one of three without votes")
}

func TestDawidSkeneIntervals(t *testing.T) {
	t.Parallel()
	share := func(items []int, posterior func(int) []float64) []float64 {
		sum := 0.
		for _, i := range items {
			sum += posterior(i)[1]
		}
		return []float64{sum / float64(len(items)), math.NaN()}
	}
	votes := passVotes(rand.New(rand.NewPCG(2, 2)), 200, 3, .85)
	d := EstimateDawidSkene(votes, 200, 3, 2, 1)
	one := d.Intervals(share, BootstrapOptions{Seed: 1})
	require.True(t, one[0].Contains(share(allItems(200), d.posterior)[0]))
	require.Nil(t, one[1], "without a value")
	require.Equal(t, one, d.Intervals(share, BootstrapOptions{Seed: 1}))

	// Four copies of each item are worth one.
	var copies []Vote
	var clusters []int
	for i := range 4 {
		for _, v := range votes {
			copies = append(copies, Vote{v.Item + 200*i, v.Judge, v.Category})
		}
		for c := range 200 {
			clusters = append(clusters, c)
		}
	}
	four := EstimateDawidSkene(copies, 800, 3, 2, 4)
	all := four.Intervals(share, BootstrapOptions{Seed: 1, Clusters: clusters})
	require.InDeltaSlice(t, one[0][:], all[0][:], .005)
	require.Equal(t, []*Interval{nil, nil}, four.Intervals(share, BootstrapOptions{Clusters: []int{1}}))

	// More than 2,000 clusters are as near as they should be.
	many := passVotes(rand.New(rand.NewPCG(3, 3)), 20_000, 3, .85)
	large := EstimateDawidSkene(many, 20_000, 3, 2, 1)
	wide := large.Intervals(share, BootstrapOptions{Seed: 1, Resamples: 500})[0]
	require.InDelta(t, (one[0][1]-one[0][0])/10, wide[1]-wide[0], .006)
}
