package statistics

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// planned are scores of an unchanged system: how often it passes a gate with the default margin, and what items or repeats the planner names.
var planned = []scenario{
	binary("binary, 80%", .8, .5, 1), binary("binary, 95%", .95, .5, 1), binary("binary, 80%, steady items", .8, .9, 1), binary("binary, 80%, 3 repeats", .8, .5, 3), binary("binary, 98%, 3 repeats", .98, .5, 3),
	ordinal("grades 1-5, 3 repeats", 3), skewedShare(), broken("binary, 80%, 3 repeats, items of always or never", .8, -.05, 3), mostlyOne("90% exactly 1", .9), cost("cost, log-normal .5", .5),
}

// TestDefaultMargin counts how often a system that did not change passes where the margin follows the items: 80%, and up to what a margin
// that is rounded up lets pass beyond. It counts false claims, too: of candidates that are worse by what the margin is on average, those that
// pass at a margin below that. Such a candidate varies more, and its own margin may be wider.
func TestDefaultMargin(t *testing.T) {
	table := newTable("gates of an unchanged system whose margin follows the items in %", "items", "pass", "false claim", "without support for 5 points", "margin × 100")
	for _, s := range planned {
		for _, n := range []int{100, 500} {
			if !full() && (n != 500 || s.name != planned[1].name && s.name != planned[4].name) {
				continue
			}
			options := compare.GateOptions{FollowItems: true}
			margin, unsupported := 0., 0.
			random := rand.New(rand.NewPCG(1, seedOf(s.name)))
			for range 50 {
				g := compare.NonInferiority(s.dataSet(random, n, 0), options)
				margin += g.Margin / 50
				if g.Unsupported {
					unsupported += 1. / 50
				}
			}
			shares := share(t, fmt.Sprint("default margin", s.name, n), func(random *rand.Rand) []bool {
				same := compare.NonInferiority(s.dataSet(random, n, 0), options)
				worse := compare.NonInferiority(s.dataSet(random, n, -margin), options)
				return []bool{same.Decision == compare.Pass, worse.Decision == compare.Pass && worse.Margin < margin-1e-9}
			})
			table.add(s.name, n, shares[0], shares[1], unsupported, margin)
			if unsupported == 0 {
				assert.GreaterOrEqual(t, shares[0], .78-slack(.78), "%s, %d items", s.name, n)
			}
			assert.LessOrEqual(t, shares[1], .025+slack(.025), "%s, %d items", s.name, n)
		}
	}
	table.print()
}

// TestPlannedItems counts how often an unchanged system passes with the number of items that the planner names: 80%. It counts how
// often the range from 100 items has the number that is right, too: 80%.
func TestPlannedItems(t *testing.T) {
	table := newTable("gates of an unchanged system with the items that the planner names in %", "items", "pass", "right number in the range from 100 items")
	for _, s := range planned {
		if !full() && s.name != planned[0].name && s.name != planned[3].name {
			continue
		}
		margin := .05
		if s.amounts {
			margin = .1 * s.mean
		}
		random := rand.New(rand.NewPCG(2, seedOf(s.name)))
		right, ok := compare.NoiseOf(s.dataSet(random, 20000, 0).Items, s.amounts)
		require.True(t, ok)
		n := *right.Items(margin, .05, .8).Estimate
		shares := share(t, "planned items"+s.name, func(random *rand.Rand) []bool {
			g := compare.NonInferiority(s.dataSet(random, n, 0), compare.GateOptions{Margin: margin})
			noise, _ := compare.NoiseOf(s.dataSet(random, 100, 0).Items, s.amounts)
			count := noise.Items(margin, .05, .8)
			return []bool{g.Decision == compare.Pass, count.Low <= n && (count.High == nil || n <= *count.High)}
		})
		table.add(s.name, n, shares...)
		assert.InDelta(t, .8, shares[0], .06+slack(.8), s.name)
		assert.GreaterOrEqual(t, shares[1], .7-slack(.7), s.name)
	}
	table.print()
}

// TestPlannedDifference counts how often a comparison finds the difference that the planner names before there are results: 80%.
func TestPlannedDifference(t *testing.T) {
	table := newTable("comparisons that find the difference that the planner names in %", "items", "power", "difference × 100")
	for _, s := range planned {
		if s.breaks || !full() && s.name != planned[0].name {
			continue
		}
		random := rand.New(rand.NewPCG(3, seedOf(s.name)))
		right, ok := compare.NoiseOf(s.dataSet(random, 20000, 0).Items, s.amounts)
		require.True(t, ok)
		const n = 200
		named, ok := right.Difference(n, .05, .8)
		require.True(t, ok)
		found := share(t, "planned difference"+s.name, func(random *rand.Rand) []bool {
			p := compared(s.dataSet(random, n, -named.Estimate), 1).Difference.P
			return []bool{p != nil && *p <= .05}
		})
		table.add(s.name, n, found[0], named.Estimate)
		assert.InDelta(t, .8, found[0], .08+slack(.8), s.name)
	}
	table.print()
}
