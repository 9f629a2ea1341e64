package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMedianInterval(t *testing.T) {
	t.Parallel()
	numbers := func(n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[n-1-i] = float64(i + 1)
		}
		return values
	}
	// Ranks of the table in Conover, Practical Nonparametric Statistics, for 95%: 6 has 1, 9 has 2, 20 has 6, 50 has 18.
	for n, rank := range map[int]float64{6: 1, 9: 2, 20: 6, 50: 18} {
		e := MedianInterval(numbers(n), .05)
		require.NotNil(t, e.CI, n)
		assert.Equal(t, Interval{rank, float64(n) - rank + 1}, *e.CI, n)
		assert.InDelta(t, float64(n+1)/2, *e.Value.Value, 0)
	}
	assert.Equal(t, TooFew, MedianInterval(nil, .05).Flag)
	five := MedianInterval(numbers(5), .05)
	assert.InDelta(t, 3, *five.Value.Value, 0)
	assert.Nil(t, five.CI)
	assert.Equal(t, OutOfDomain, MedianInterval([]float64{1, math.NaN()}, .05).Flag)

	random := rand.New(rand.NewPCG(1, 2))
	covered := 0
	const trials = 2000
	for range trials {
		values := make([]float64, 40)
		for i := range values {
			values[i] = random.ExpFloat64()
		}
		if ci := MedianInterval(values, .05).CI; ci[0] <= math.Ln2 && math.Ln2 <= ci[1] {
			covered++
		}
	}
	assert.Greater(t, float64(covered)/trials, .945)
}
