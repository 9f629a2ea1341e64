package panel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// grown is a panel of numbers, whose judges see quality with an own addition for each output.
func grown(outputs int, judges int, add func(random *rand.Rand, o int, out *Output, judge int) float64) Input {
	random := rand.New(rand.NewPCG(11, 11))
	in := Input{Name: "quality", Kind: Score, Scale: Scale{Type: Numeric, Max: 1}, Aggregate: Mean}
	for j := range judges {
		in.Judges = append(in.Judges, Judge{Name: string(rune('a' + j))})
	}
	for o := range outputs {
		quality := .3 + .4*random.Float64()
		out := Output{Item: o / 2, Length: 100 + 100*random.Float64()}
		in.Outputs = append(in.Outputs, out)
		for j := range judges {
			in.Votes = append(in.Votes, Vote{Output: int32(o), Judge: int32(j), Value: quality + .03*random.NormFloat64() + add(random, o, &out, j), Cost: .01})
		}
	}
	return in
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

func TestFlips(t *testing.T) {
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
	require.InDelta(t, 0, *firm.FlipRate.Value, 0)
	require.NotNil(t, firm.FlipRate.CI, "none of 100 does not mean never")
	require.InDelta(t, .5, *coin.FlipRate.Value, .08)
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
	w := join(s.Warnings)
	require.Contains(t, w, "x names another winner in the other order too often: it keeps it for 25 % of pairs [17, 35].")
	require.NotContains(t, w, "\ny ")
}
