package statistics

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/replays/verdict"
)

// TestBatches replays runs that failed, of which some would end well by themselves, two times with and two times without an edit. It counts
// effects that are found, and intervals of the share repaired that contain the true one.
func TestBatches(t *testing.T) {
	table := newTable("a batch of replays, two attempts of each role: effects found, and coverage of the share repaired, in %", "runs", "found", "coverage")
	for _, k := range []struct {
		name string
		// recovers is the share of runs that end well unedited in 8 of 10 attempts. Of the others repaired end well with the edit in reliable of
		// attempts, and broken of those that recover no longer do.
		recovers, repaired, reliable, broken float64
	}{
		{"no effect, no run recovers", 0, 0, 1, 0},
		{"no effect, a fifth recovers", .2, 0, 1, 0},
		{"no effect, half recovers", .5, 0, 1, 0},
		{"a tenth is repaired", .2, .1, 1, 0},
		{"half is repaired", .2, .5, .9, 0},
		{"nine tenths are repaired", .1, .9, .95, 0},
		{"all are repaired, always", 0, 1, 1, 0},
		{"a third is repaired, a third broken", .5, .33, .9, .33},
	} {
		for _, runs := range []int{10, 25, 100} {
			if !full() && runs != 25 {
				continue
			}
			name := fmt.Sprintf("%s, %d runs", k.name, runs)
			truth := (1-k.recovers)*k.repaired*k.reliable - k.recovers*k.broken*.8
			shares := share(t, name, func(random *rand.Rand) []bool {
				evidence := make([]verdict.Input, runs)
				for i := range evidence {
					unedited, edited := 0., 0.
					if random.Float64() < k.recovers {
						if unedited = .8; random.Float64() >= k.broken {
							edited = .8
						}
					} else if random.Float64() < k.repaired {
						edited = k.reliable
					}
					evidence[i] = recorded(name, i)
					attempt(random, &evidence[i], 0, unedited, edited)
				}
				v := verdict.Stratified(evidence)
				return []bool{called(&v), covers(v.Channels.Outcome.CI, truth)}
			})
			table.add(name, runs, shares...)
			if truth == 0 {
				assert.LessOrEqual(t, shares[0], .05+slack(.05), name)
			}
			assert.GreaterOrEqual(t, shares[1], .93-slack(.93), name)
		}
	}
	table.print()
}

// recorded is a run of a batch without attempts.
func recorded(batch string, run int) verdict.Input {
	return verdict.Input{Mode: verdict.Server, Seed: verdict.Seed(batch, fmt.Sprint(run)), DiffEmpty: true}
}

// attempt makes two more attempts of each role, which end well with the given chances.
func attempt(random *rand.Rand, in *verdict.Input, made int, unedited, edited float64) {
	for index := made + 1; index <= made+2; index++ {
		for _, role := range []verdict.Role{verdict.Control, verdict.Treatment} {
			chance := unedited
			if role == verdict.Treatment {
				chance = edited
			}
			outcome := float64(ended(random, chance))
			in.Attempts = append(in.Attempts, verdict.Attempt{
				Run: verdict.Run{Outcome: &outcome}, Role: role, Index: index, ReachedEdit: true, DownstreamCalls: 1, DownstreamLive: 1,
			})
		}
	}
}

// called reports whether the edit is called effective.
func called(v *verdict.Verdict) bool {
	c := v.Channels.Outcome
	return c.PAdjusted != nil && *c.PAdjusted <= v.Alpha && !covers(c.CI, 0)
}
