package compare

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// TestLabelsThatCount: labels count up to the first item without one.
func TestLabelsThatCount(t *testing.T) {
	t.Parallel()
	none := math.NaN()
	c := stats.PPI([]float64{1, 0, 1, none, 1, 1}, []float64{1, 0, 1, 1, 1, 0}, 0, 1)
	require.Equal(t, 3, c.Labels)
	require.Equal(t, stats.TooFew, func() stats.Flag {
		c := stats.PPI([]float64{1, none, 1, 1}, []float64{1, 1, 1, 0}, 0, 1)
		return c.Flag
	}())
	all := stats.PPI([]float64{1, 0, 1, 1}, []float64{1, 0, 1, 0}, 0, 1)
	require.InDelta(t, .75, *all.Value.Value, 1e-12, "the mean of labels, where all have one")
	require.Zero(t, all.Lambda)
	plain := stats.BoundedMeanInterval([]float64{1, 0, 1, 1}, 0, 1, .05)
	require.InDelta(t, plain.CI[0], all.Interval(.05)[0], 1e-12)
	require.Equal(t, stats.OutOfDomain, func() stats.Flag { c := stats.PPI([]float64{2, 0}, []float64{1, 0}, 0, 1); return c.Flag }())
	differences := stats.PPI([]float64{1, 0, 1, 1, 1, 0, 1, 1, 1, none, none}, []float64{1, 0, 1, 1, 1, 0, 1, 1, 0, 1, -1}, -1, 1)
	require.Less(t, *differences.P(), .1)
	// Labels that all say the same do not show what others would.
	same := make([]float64, 30)
	equal := stats.PPI(append(same, none), append(same, 0), -1, 1)
	gate := NonInferiority(Metric{Better: HigherBetter, Items: binaryPairs(31, 0, 0, 0), Corrected: &equal}, GateOptions{Margin: .1})
	require.Equal(t, Undecided, gate.Decision)
	require.InDelta(t, stats.PairedProportions(0, 0, 30, .05)[0], gate.Comparison.Difference.CI[0], 1e-9)
	require.Nil(t, new(stats.Correction).P())
	require.Nil(t, new(stats.Correction).Interval(.05))
}
