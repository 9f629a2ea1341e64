package statistics

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// TestGroups counts false findings, and intervals that cover a difference of 0, where items of a group share what B does to them. Beside
// them are those of a comparison that takes the items as independent.
func TestGroups(t *testing.T) {
	table := newTable("items in groups without a difference: p <= 5%, coverage, and p <= 5% of items taken as independent, in %", "items", "p <= 5%", "coverage", "independent")
	for _, kind := range []string{"passes", "scores"} {
		for _, size := range []struct{ groups, each int }{{5, 20}, {10, 10}, {20, 5}, {20, 10}, {50, 4}, {50, 10}} {
			for _, deviation := range []float64{0, .1, .2} {
				if !full() && (size.groups != 10 || deviation != .1) {
					continue
				}
				name := fmt.Sprintf("%s, %d groups, effects that differ by %.1f", kind, size.groups, deviation)
				shares := share(t, name, func(random *rand.Rand) []bool {
					var items []compare.Paired
					for g := range size.groups {
						effect := deviation * random.NormFloat64()
						for range size.each {
							item := compare.Paired{Group: g + 1, A: []float64{.5}, B: []float64{max(0, min(1, .5+effect+.25*random.NormFloat64()))}}
							if kind == "passes" { // a third of the items differ
								item.A, item.B = []float64{1}, []float64{1}
								if random.Float64() < .35 {
									item.A, item.B = []float64{1}, []float64{0}
									if random.Float64() < max(0, min(1, .5+effect/.7)) {
										item.A, item.B = item.B, item.A
									}
								}
							}
							items = append(items, item)
						}
					}
					m := compare.Metric{Better: compare.HigherBetter, Items: items}
					grouped := compared(m, 1).Difference
					for i := range items {
						items[i].Group = 0
					}
					alone := compared(m, 1).Difference
					return []bool{grouped.P != nil && *grouped.P <= .05, covers(grouped.CI, 0), alone.P != nil && *alone.P <= .05}
				})
				table.add(name, size.groups*size.each, shares...)
				assert.LessOrEqual(t, shares[0], .065+slack(.065), name)
				assert.GreaterOrEqual(t, shares[1], .93-slack(.93), name)
			}
		}
	}
	table.print()
}
