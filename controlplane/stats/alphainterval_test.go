package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAlphaSlopes: they are the derivatives of alpha by the weights of items.
func TestAlphaSlopes(t *testing.T) {
	t.Parallel()
	for _, scale := range []Scale{NominalScale, OrdinalScale} {
		a, flag := prepareAlpha(randomRatings(rand.New(rand.NewPCG(1, 1)), 30, 4, 5, .2), scale)
		require.Empty(t, flag)
		weights := slices.Repeat([]float64{1}, len(a.rows))
		alpha, slopes := a.slopes(weights)
		require.InDelta(t, *a.of(allItems(len(a.rows))).Value, alpha, 1e-12)
		for u := range weights {
			const step = 1e-5
			weights[u] = 1 + step
			up, _ := a.slopes(weights)
			weights[u] = 1 - step
			down, _ := a.slopes(weights)
			weights[u] = 1
			require.InDelta(t, (up-down)/(2*step), slopes[u], 1e-8, "%s, item %d", scale, u)
		}
	}
}

// TestAlphaInterval: it contains alpha, is near that of the bootstrap where nothing is rare, and wide where few items decide.
func TestAlphaInterval(t *testing.T) {
	t.Parallel()
	rows := randomRatings(rand.New(rand.NewPCG(2, 2)), 400, 3, 4, .1)
	for _, scale := range []Scale{NominalScale, OrdinalScale} {
		e := KrippendorffInterval(rows, scale, BootstrapOptions{})
		a, _ := prepareAlpha(rows, scale)
		boot := Bootstrap(len(a.rows), a.of, BootstrapOptions{}).BCa
		require.InDeltaSlice(t, boot[:], e.CI[:], .015, scale)
		wider := KrippendorffInterval(rows, scale, BootstrapOptions{Alpha: .01})
		require.Less(t, wider.CI[0], e.CI[0])
	}
	// One of 50 items has a fail, on which the judges agree or differ.
	sparse := make([][]float64, 50)
	for i := range sparse {
		sparse[i] = []float64{1, 1, 1}
	}
	require.Equal(t, None(NoVariation), KrippendorffInterval(sparse, NominalScale, BootstrapOptions{}).Value)
	for _, first := range [][]float64{{0, 0, 0}, {0, 1, 1}} {
		sparse[0] = first
		e := KrippendorffInterval(sparse, NominalScale, BootstrapOptions{})
		require.True(t, e.CI.Contains(*e.Value.Value))
		require.Less(t, e.CI[0], .1)
		require.Greater(t, e.CI[1], .8)
	}
	require.Nil(t, KrippendorffInterval([][]float64{{0, 1}}, NominalScale, BootstrapOptions{}).CI)
	require.Nil(t, KrippendorffInterval([][]float64{{0, 1}, {1, 1}}, NominalScale, BootstrapOptions{Clusters: []int{1, 1}}).CI)
	require.Nil(t, KrippendorffInterval([][]float64{{0, 1}, {1, 1}}, NominalScale, BootstrapOptions{Clusters: []int{1}}).CI)
	// Opposites are below -1 for few.
	opposite := KrippendorffInterval([][]float64{{0, 1}, {1, 0}, {0, 1}}, OrdinalScale, BootstrapOptions{})
	require.True(t, opposite.CI.Contains(*opposite.Value.Value) && !math.IsNaN(opposite.CI[0]))
}
