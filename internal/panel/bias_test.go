package panel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/stats"
)

// grown is a panel of numbers, whose judges see quality with an own addition for each output.
func grown(outputs int, judges int, add func(random *rand.Rand, o int, out *Output, judge int) float64) Input {
	random := rand.New(rand.NewPCG(11, 11))
	in := Input{Name: "quality", Kind: Score, Scale: Scale{Type: Numeric, Max: 1}, Aggregate: Mean}
	for j := range judges {
		in.Judges = append(in.Judges, Judge{Name: string(rune('a' + j)), Family: []string{"x", "y", "z"}[j%3]})
	}
	for o := range outputs {
		quality := .3 + .4*random.Float64()
		out := Output{Item: o / 2, Length: 100 + 100*random.Float64(), Family: []string{"x", "y"}[o%2]}
		in.Outputs = append(in.Outputs, out)
		for j := range judges {
			in.Votes = append(in.Votes, Vote{Output: int32(o), Judge: int32(j), Value: quality + .03*random.NormFloat64() + add(random, o, &out, j), Cost: .01})
		}
	}
	return in
}

// TestOwnFamilyGap: the gap that was put in is found, and no other.
func TestOwnFamilyGap(t *testing.T) {
	t.Parallel()
	s, _ := measure(t, grown(200, 3, func(_ *rand.Rand, _ int, out *Output, j int) float64 {
		strict := []float64{0, -.1, .1}[j] // is no gap
		if j == 0 && out.Family == "x" {
			return strict + .1
		}
		return strict
	}))
	gap := s.Judges[0].OwnFamilyGap
	require.InDelta(t, .1, *gap.Value, .02)
	require.True(t, gap.CI.Contains(.1) && !gap.CI.Contains(0))
	require.Equal(t, 200, gap.N)
	require.Contains(t, join(s.Warnings), "a scores outputs of its own model family higher than the other judges do, by 10 points")
	// Judge b is of the family y: the gap of a makes others' scores of x higher, and so its own of y.
	require.InDelta(t, .05, *s.Judges[1].OwnFamilyGap.Value, .02)
	require.True(t, s.Judges[2].OwnFamilyGap.has(stats.TooFew), "no output is of its family")
	unknown := grown(20, 2, func(*rand.Rand, int, *Output, int) float64 { return 0 })
	unknown.Judges[0].Family = ""
	u, _ := measure(t, unknown)
	require.True(t, u.Judges[0].OwnFamilyGap.has(stats.NotApplicable))
}

func TestLengthCorrelation(t *testing.T) {
	t.Parallel()
	s, _ := measure(t, grown(200, 3, func(_ *rand.Rand, _ int, out *Output, j int) float64 {
		if j == 1 {
			return (out.Length - 150) / 200
		}
		return 0
	}))
	require.Greater(t, s.Judges[1].LengthCorrelation.CI[0], .5)
	require.True(t, s.Judges[0].LengthCorrelation.CI.Contains(0))
	require.Contains(t, join(s.Warnings), "b gives longer outputs higher scores (correlation 0.")
	require.NotContains(t, join(s.Warnings), "a gives")
}

// TestEffectiveJudges: copies are worth one judge, independent ones count in full, and without labels nobody knows.
func TestEffectiveJudges(t *testing.T) {
	t.Parallel()
	in := made(rand.New(rand.NewPCG(4, 4)), 120, 3, 1, Scale{Type: Numeric, Max: 1})
	s, _ := measure(t, in)
	require.Nil(t, s.Effective.Value)
	require.True(t, s.Effective.has(NeedsLabels))
	random := rand.New(rand.NewPCG(5, 5))
	truth := make([]float64, len(in.Outputs))
	for o := range in.Outputs {
		truth[o] = .25 + .5*random.Float64()
		in.Labels = append(in.Labels, Label{o, 0, truth[o]})
	}
	shared := make([]float64, len(truth))
	for o := range shared {
		shared[o] = .05 * random.NormFloat64()
	}
	for i := range in.Votes {
		in.Votes[i].Value = truth[in.Votes[i].Output] + .05*random.NormFloat64()
	}
	s, _ = measure(t, in)
	require.InDelta(t, 3, *s.Effective.Value, .5)
	for i := range in.Votes {
		in.Votes[i].Value = truth[in.Votes[i].Output] + shared[in.Votes[i].Output] + .002*random.NormFloat64()
	}
	s, _ = measure(t, in)
	require.InDelta(t, 1, *s.Effective.Value, .05)
	require.True(t, s.Effective.CI.Contains(*s.Effective.Value))
	require.Equal(t, 120, s.Effective.N)
	require.Contains(t, join(s.Warnings), "The 3 judges make the same mistakes: they are worth 1.0 independent ones")
	in.Labels = in.Labels[:29]
	s, _ = measure(t, in)
	require.True(t, s.Effective.has(NeedsLabels))
}

// TestUselessJudges: one that flips coins is named, and one that is as the mean of the others saves its cost.
func TestUselessJudges(t *testing.T) {
	t.Parallel()
	coins := grown(300, 4, func(*rand.Rand, int, *Output, int) float64 { return 0 })
	random := rand.New(rand.NewPCG(7, 7))
	for i := range coins.Votes {
		if coins.Votes[i].Judge == 2 {
			coins.Votes[i].Value = random.Float64()
		}
	}
	s, _ := measure(t, coins)
	w := join(s.Warnings)
	require.Contains(t, w, "c agrees little with the rest of the panel (kappa ")
	require.NotContains(t, w, "a agrees little")

	same := grown(300, 3, func(*rand.Rand, int, *Output, int) float64 { return 0 })
	for i := range same.Votes {
		same.Votes[i].Value = math.Round(20*same.Votes[i-i%3].Value) / 20 // all as the first
	}
	s, _ = measure(t, same)
	require.Contains(t, join(s.Warnings), ", 0 of 300 scores change by more than 5 points, and 33 % of the cost is saved. You can drop it.")
}

func TestSelfConsistency(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(6, 6))
	in := made(random, 100, 2, 3, Scale{Type: Binary})
	for i := range in.Votes {
		if in.Votes[i].Judge == 1 {
			in.Votes[i].Value = indicator(random.IntN(2) == 0)
		} else {
			in.Votes[i].Value = indicator(in.Votes[i].Output%3 == 0)
		}
	}
	s, _ := measure(t, in)
	firm, coin := s.Judges[0], s.Judges[1]
	require.InDelta(t, 1, *firm.SelfConsistency.Value, 0)
	require.InDelta(t, 0, *firm.FlipRate.Value, 0)
	require.NotNil(t, firm.FlipRate.CI, "none of 100 does not mean never")
	require.InDelta(t, .5, *coin.FlipRate.Value, .08)
	require.True(t, coin.SelfConsistency.CI.Contains(0))
	require.True(t, coin.SelfConsistency.has(stats.Unusable))
	require.Contains(t, join(s.Warnings), "judge-1 contradicts itself: ")
	require.NotContains(t, join(s.Warnings), "judge-0 contradicts")
}

func TestPositionWarning(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 8))
	in := Input{Name: "better", Kind: Preference, Aggregate: Majority, Judges: []Judge{{Name: "x"}, {Name: "y"}}}
	for o := range 80 {
		in.Outputs = append(in.Outputs, Output{Item: o})
		better := float64(random.IntN(2))
		in.Votes = append(in.Votes,
			Vote{Output: int32(o), Order: AB, Value: 0}, Vote{Output: int32(o), Order: BA, Value: indicator(o%4 > 0)}, // mostly the first place
			Vote{Output: int32(o), Judge: 1, Order: AB, Value: better}, Vote{Output: int32(o), Judge: 1, Order: BA, Value: better})
	}
	s, _ := measure(t, in)
	require.InDelta(t, .25, *s.Judges[0].PositionConsistency.Value, 1e-12)
	require.InDelta(t, .75, *s.Judges[0].PositionFairness.Value, 1e-12)
	w := join(s.Warnings)
	require.Contains(t, w, "x names another winner in the other order too often: it keeps it for 25 % of pairs [17, 35].")
	require.Contains(t, w, "x prefers what comes first (fairness 0.75 [")
	require.NotContains(t, w, "\ny ")
}
