package statistics

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// gradesOf are those that judges give items, who see the item's latent number with noise.
func gradesOf(random *rand.Rand, items, judges int) [][]float64 {
	rows := make([][]float64, items)
	for i := range rows {
		item := random.NormFloat64()
		for range judges {
			rows[i] = append(rows[i], grade(.8*item+.6*random.NormFloat64()))
		}
	}
	return rows
}

// TestReliability counts how many 95% intervals of agreement have the value of very many items inside.
func TestReliability(t *testing.T) {
	table := newTable("coverage of 95% intervals of agreement in %, three judges", "items", "percent", "alpha", "gwet")
	categories := []float64{1, 2, 3, 4, 5}
	figures := func(r stats.Reliability) []stats.Agreement {
		return []stats.Agreement{r.PercentAgreement, r.KrippendorffAlpha, r.GwetAC}
	}
	var truth []float64
	for _, a := range figures(stats.MeasureReliability(gradesOf(rand.New(rand.NewPCG(1, 1)), 200_000, 3), stats.OrdinalScale, categories, stats.BootstrapOptions{Resamples: 1})) {
		truth = append(truth, *a.Value.Value)
	}
	for _, n := range sizes(0) {
		shares := share(t, fmt.Sprint("reliability", n), func(random *rand.Rand) []bool {
			r := stats.MeasureReliability(gradesOf(random, n, 3), stats.OrdinalScale, categories, stats.BootstrapOptions{Resamples: 500, Seed: 1})
			var inside []bool
			for i, a := range figures(r) {
				inside = append(inside, covers(a.CI, truth[i]))
			}
			return inside
		})
		table.add("grades 1-5", n, shares...)
		if n < 100 {
			continue
		}
		for i, coverage := range shares {
			assert.GreaterOrEqual(t, coverage, .93-slack(.93), "%d items, figure %d", n, i)
			assert.LessOrEqual(t, coverage, .97+slack(.97), "%d items, figure %d", n, i)
		}
	}
	table.print()
}
