package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAlphaSpending counts walks that leave the boundaries: as many as were spent.
func TestAlphaSpending(t *testing.T) {
	t.Parallel()
	for seed, fractions := range [][]float64{{1}, {.5, 1}, {.1, .12, .9, 1}, {.2, .4, .6, .8, 1}, {.3, .31, .32, .33, .34}} {
		boundaries, flag := AlphaSpending(fractions, .05)
		require.Empty(t, flag)
		random := rand.New(rand.NewPCG(uint64(seed), 1))
		const walks = 100_000
		left := make([]int, len(fractions))
		for range walks {
			at, before := 0., 0.
			for i, b := range boundaries {
				at += math.Sqrt(b.Fraction-before) * random.NormFloat64()
				before = b.Fraction
				if math.Abs(at) >= b.Z*math.Sqrt(b.Fraction) {
					left[i]++
					break
				}
			}
		}
		sum := 0
		for i, b := range boundaries {
			sum += left[i]
			require.InDelta(t, b.Spent, float64(sum)/walks, 4*math.Sqrt(.05/walks), "%v: look %d", fractions, i)
		}
	}
	one, _ := AlphaSpending([]float64{1}, .05)
	require.InDelta(t, z95, one[0].Z, 1e-9)
	require.InDelta(t, .05, one[0].Alpha, 1e-9)
}

func TestSequentialTest(t *testing.T) {
	t.Parallel()
	require.False(t, SequentialTest([]Look{{.5, .01}}, .05).Stop, "the boundary is .0031")
	require.True(t, SequentialTest([]Look{{.5, .003}}, .05).Stop)
	require.False(t, SequentialTest([]Look{{.5, .01}, {1, .05}}, .05).Stop, "the boundary is .049")
	require.True(t, SequentialTest([]Look{{.5, .01}, {1, .048}}, .05).Stop)
	require.True(t, SequentialTest([]Look{{.5, .001}, {1, .5}}, .05).Stop, "it stopped before")
	early := SequentialTest([]Look{{.01, 0}}, .05)
	require.True(t, early.Stop)
	require.LessOrEqual(t, early.Boundary.Z, 30.)
	for _, looks := range [][]Look{{{0, .1}}, {{.5, .1}, {.5, .1}}, {{.5, .1}, {1.1, .1}}, {{.5, math.NaN()}}, {{.5, -1}}, {{math.NaN(), .1}}} {
		answer := SequentialTest(looks, .05)
		require.Equal(t, Sequential{Flag: OutOfDomain}, answer, "%v", looks)
	}
	require.Equal(t, TooFew, SequentialTest(nil, .05).Flag)
}
