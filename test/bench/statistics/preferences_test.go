package statistics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/internal/stats"
)

// TestPreferences counts rankings by preferences of which all intervals contain the true shares, those with any false verdict, and judges
// whose estimated order of discrimination is the true one. Judges of an item agree more than by chance, and tie.
func TestPreferences(t *testing.T) {
	table := newTable("preferences in %: all intervals cover (equal sides), any false verdict, all cover (sides differ), strengths cover, best judge above worst", "items",
		"all cover", "false verdict", "all cover, differ", "strengths", "judges in order")
	for _, s := range []struct {
		name      string
		strengths []float64
		judges    []float64
		chain     bool
	}{
		{"3 sides, 1 judge", []float64{-.5, 0, .5}, []float64{1}, false},
		{"3 sides, 3 judges", []float64{-.5, 0, .5}, []float64{.6, 1, 1 / .6}, false},
		{"6 sides, 3 judges", []float64{-.8, -.5, -.2, .2, .5, .8}, []float64{.6, 1, 1 / .6}, false},
		{"4 sides in a chain, 3 judges", []float64{-.6, -.2, .2, .6}, []float64{.6, 1, 1 / .6}, true},
		{"3 sides, one nearly always wins, 1 judge", []float64{-1, -1, 2}, []float64{1}, false},
	} {
		for _, n := range []int{30, 100, 300} {
			if !full() && (n != 100 || len(s.strengths) > 3) {
				continue
			}
			k := len(s.strengths)
			name := fmt.Sprint("preferences ", s.name, n)
			truth := expectedPreferences(s.strengths, s.judges, s.chain)
			shares := share(t, name, func(random *rand.Rand) []bool {
				draw := func(strengths []float64) stats.PreferenceRanking {
					var votes []stats.Preferred
					for item := range n {
						for a := range k {
							for b := a + 1; b < k; b++ {
								if s.chain && b != a+1 {
									continue
								}
								shared := random.Float64()
								for judge, discrimination := range s.judges {
									p := 1 / (1 + math.Exp(-discrimination*(strengths[b]-strengths[a])))
									u := random.Float64()
									if random.Float64() < .5 {
										u = shared
									}
									tie := .2 * min(p, 1-p)
									outcome := 0.
									switch {
									case u < p-tie:
										outcome = 1
									case u < p+tie:
										outcome = .5
									}
									votes = append(votes, stats.Preferred{Item: item, A: a, B: b, Judge: judge, Outcome: outcome})
								}
							}
						}
					}
					return stats.BradleyTerry(k, len(s.judges), votes, stats.CompareOptions{})
				}
				equal, other := draw(make([]float64, k)), draw(s.strengths)
				all, wrong, allOther, strengths := true, false, true, true
				for i, pair := range equal.Pairs {
					all = all && covers(pair.Share.CI, .5)
					wrong = wrong || pair.Verdict != stats.Inconclusive
					allOther = allOther && covers(other.Pairs[i].Share.CI, *truth.Pairs[i].Share.Value.Value)
				}
				for i, e := range other.Strengths {
					strengths = strengths && covers(e.CI, *truth.Strengths[i].Value.Value)
				}
				last := len(s.judges) - 1
				return []bool{all, wrong, allOther, strengths, other.Judges[last].Discrimination >= other.Judges[0].Discrimination}
			})
			table.add(s.name, n, shares...)
			assert.GreaterOrEqual(t, shares[0], .94-slack(.94), name)
			assert.LessOrEqual(t, shares[1], .05+slack(.05), name)
			assert.GreaterOrEqual(t, shares[2], .92-slack(.92), name)
		}
	}
	table.print()
}

// expectedPreferences ranks sides by what judges prefer on average.
func expectedPreferences(strengths, judges []float64, chain bool) stats.PreferenceRanking {
	var votes []stats.Preferred
	for item := range 4000 {
		for a := range strengths {
			for b := a + 1; b < len(strengths); b++ {
				for judge, discrimination := range judges {
					if !chain || b == a+1 {
						p := 1 / (1 + math.Exp(-discrimination*(strengths[b]-strengths[a])))
						votes = append(votes, stats.Preferred{Item: item, A: a, B: b, Judge: judge, Outcome: p})
					}
				}
			}
		}
	}
	return stats.BradleyTerry(len(strengths), len(judges), votes, stats.CompareOptions{})
}
