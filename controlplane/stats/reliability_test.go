package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMeasureReliability(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	rows := randomRatings(random, 80, 3, 5, .1)
	categories := []float64{1, 2, 3, 4, 5}
	counts, _ := CountRatings(rows, categories)
	r := MeasureReliability(rows, OrdinalScale, categories, BootstrapOptions{Seed: 3})
	require.Equal(t, 3, r.Raters)
	require.InDelta(t, *gwet(counts, Linear).Value, *r.GwetAC.Value.Value, 1e-12)
	require.InDelta(t, *agreement(counts, Identity).Value, *r.PercentAgreement.Value.Value, 1e-12)
	require.InDelta(t, *alpha(rows, OrdinalScale).Value, *r.KrippendorffAlpha.Value.Value, 1e-12)
	for name, a := range map[string]Agreement{"percent": r.PercentAgreement, "alpha": r.KrippendorffAlpha, "gwet": r.GwetAC} {
		require.Equal(t, r.Items, a.N, name)
		require.True(t, a.CI.Contains(*a.Value.Value), name)
		require.Less(t, a.CI[1]-a.CI[0], .4, name)
	}
	require.Equal(t, []Flag{FewItems}, r.Flags)

	two := make([][]float64, len(rows))
	for i, row := range rows {
		two[i] = []float64{row[0], row[1]}
		for j := range two[i] {
			if math.IsNaN(two[i][j]) {
				two[i][j] = 1
			}
		}
	}
	r = MeasureReliability(two, OrdinalScale, categories, BootstrapOptions{Seed: 3})
	again := MeasureReliability(two, OrdinalScale, categories, BootstrapOptions{Seed: 3})
	require.Equal(t, r, again)

	numbers := MeasureReliability(two, IntervalScale, nil, BootstrapOptions{Resamples: 100})
	require.Equal(t, NotApplicable, numbers.GwetAC.Flag)
	require.NotNil(t, numbers.KrippendorffAlpha.Value.Value)

	same := MeasureReliability([][]float64{{1, 1}, {1, 1}, {1, 1}}, NominalScale, []float64{0, 1}, BootstrapOptions{})
	for _, a := range []Agreement{same.KrippendorffAlpha, same.GwetAC} {
		require.Equal(t, Estimate{Value: None(NoVariation)}, a.Estimate)
	}
	require.InDelta(t, 1, *same.PercentAgreement.Value.Value, 0)
	data, err := json.Marshal(MeasureReliability(nil, OrdinalScale, nil, BootstrapOptions{}))
	require.NoError(t, err)
	require.Contains(t, string(data), `"krippendorff_alpha":{"value":null,"flag":"too_few","ci":null,"n":0}`)
}

// BenchmarkReliability has three judges, five grades and all figures.
func BenchmarkReliability(b *testing.B) {
	rows := randomRatings(rand.New(rand.NewPCG(1, 1)), 10_000, 3, 5, 0)
	for b.Loop() {
		MeasureReliability(rows, OrdinalScale, []float64{1, 2, 3, 4, 5}, BootstrapOptions{})
	}
}
