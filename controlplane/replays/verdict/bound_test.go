package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBound: where the true effect is as large as the bound, "no effect" is said in few cases.
func TestBound(t *testing.T) {
	t.Parallel()
	trials := trialsOf(t)
	most := .05 + 2*math.Sqrt(.05*.95/float64(trials))
	claims := func(name string, n, trials int, fill func(random *rand.Rand, in *Input)) float64 {
		claimed := 0
		for i := range trials {
			random := rand.New(rand.NewPCG(uint64(i), uint64(n)))
			in := Input{Mode: Server, Seed: uint64(i)}
			for j := range 2 * n {
				role := Control
				if j >= n {
					role = Treatment
				}
				in.Attempts = append(in.Attempts, Attempt{Role: role, Index: j, ReachedEdit: true, DownstreamCalls: 1, DownstreamLive: 1})
			}
			fill(random, &in)
			if Of(in).Verdict == NoEffectDetected {
				claimed++
			}
		}
		share := float64(claimed) / float64(trials)
		t.Logf("%s, %d a group: %.3f", name, n, share)
		return share
	}
	passes := func(p, q float64) func(random *rand.Rand, in *Input) {
		return func(random *rand.Rand, in *Input) {
			for i := range in.Attempts {
				chance := map[Role]float64{Control: p, Treatment: q}[in.Attempts[i].Role]
				outcome := 0.
				if random.Float64() < chance {
					outcome = 1
				}
				in.Attempts[i].Outcome = &outcome
			}
		}
	}
	grades := func(moved float64) func(random *rand.Rand, in *Input) {
		return func(random *rand.Rand, in *Input) {
			for i := range in.Attempts {
				outcome := .2 * random.NormFloat64()
				if in.Attempts[i].Role == Treatment {
					outcome += moved
				}
				in.Attempts[i].Outcome = &outcome
			}
		}
	}
	// points on a line, with distances only.
	points := func(moved float64) func(random *rand.Rand, in *Input) {
		return func(random *rand.Rand, in *Input) {
			x := []float64{random.NormFloat64()}
			for i := range in.Attempts {
				x = append(x, random.NormFloat64())
				if in.Attempts[i].Role == Treatment {
					x[i+1] += moved
				}
			}
			in.Structure = make([][]float64, len(x))
			for i := range x {
				for j := range x {
					in.Structure[i] = append(in.Structure[i], math.Abs(x[i]-x[j]))
				}
			}
		}
	}
	for _, n := range []int{14, 30, 60} {
		assert.LessOrEqual(t, claims("90% and 70%", n, trials, passes(.9, .7)), most)
		assert.LessOrEqual(t, claims("100% and 80%", n, trials, passes(1, .8)), most)
		assert.LessOrEqual(t, claims("50% and 30%", n, trials, passes(.5, .3)), most)
	}
	assert.LessOrEqual(t, claims("scores", 14, trials, grades(.2)), most)
	require.Greater(t, claims("90% and 90%", 60, 50, passes(.9, .9)), .5)
	require.Greater(t, claims("equal scores", 30, 50, grades(0)), .5)
	// E is .2 of the mean distance if points are moved by .65 of their deviation.
	require.InDelta(t, .2*2/math.SqrtPi, energyOfMoved(.65), .01)
	for _, n := range []int{6, 14} {
		assert.LessOrEqual(t, claims("points", n, trials, points(.65)), most)
	}
	require.Greater(t, claims("equal points", 60, 20, points(0)), .5)
}

// energyOfMoved is that of standard normal numbers and such that are moved: 2 E|x-y| - 2 E|x-x'|, with x-y of mean d and variance 2.
func energyOfMoved(d float64) float64 {
	across := 2/math.SqrtPi*math.Exp(-d*d/4) + d*math.Erf(d/2)
	return 2*across - 4/math.SqrtPi
}
