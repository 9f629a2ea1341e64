package statistics

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptrace/looptrace/controlplane/replays/verdict"
	"github.com/looptrace/looptrace/controlplane/stats"
)

// recovery says how the attempts of failed runs end. Runs are alike, or differ: then the chance to recover is often near 0 or 1, and repaired
// runs end well in nine of ten attempts on average.
type recovery struct {
	differ bool
	// recovers is the mean chance that an unedited attempt ends well, repaired the share of runs that the edit repairs.
	recovers, repaired float64
}

// reliable is the mean chance that an edited attempt of a repaired run ends well.
func (r recovery) reliable() float64 {
	if r.differ {
		return .9
	}
	return 1
}

// truth is the share repaired: the mean difference of the chances of edited and unedited attempts.
func (r recovery) truth() float64 { return r.repaired * (r.reliable() - r.recovers) }

// chances draws those of a run.
func (r recovery) chances(random *rand.Rand) (unedited, edited float64) {
	unedited = r.recovers
	if r.differ && r.recovers > 0 {
		unedited = distuv.Beta{Alpha: 2 * r.recovers, Beta: 2 * (1 - r.recovers), Src: random}.Rand()
	}
	switch {
	case random.Float64() >= r.repaired:
		return unedited, unedited
	case r.differ:
		return unedited, distuv.Beta{Alpha: 9, Beta: 1, Src: random}.Rand()
	}
	return unedited, r.reliable()
}

func (r recovery) String() string {
	like := "alike"
	if r.differ {
		like = "differ"
	}
	return fmt.Sprintf("%s, %.0f%% end well unedited", like, 100*r.recovers)
}

// TestRepaired counts how often the interval of the share repaired contains the true one, at the level of the first look. It is that of the
// verdict over runs, which TestBatches measures with the test of relabelings.
func TestRepaired(t *testing.T) {
	const firstLook = .04
	table := newTable("coverage of the 96% interval of the share repaired, by that share, in %", "runs", "0", "10%", "50%", "90%", "100%")
	for _, differ := range []bool{false, true} {
		for _, recovers := range []float64{0, .1, .4} {
			for _, runs := range []int{10, 25, 50, 100, 200} {
				r := recovery{differ: differ, recovers: recovers}
				var covered []float64
				for _, r.repaired = range []float64{0, .1, .5, .9, 1} {
					name := fmt.Sprintf("%s, %.0f%% repaired, %d runs", r, 100*r.repaired, runs)
					got := share(t, name, func(random *rand.Rand) []bool {
						differences := make([]float64, runs)
						for i := range differences {
							unedited, edited := r.chances(random)
							differences[i] = float64(ended(random, edited)+ended(random, edited)-ended(random, unedited)-ended(random, unedited)) / 2
						}
						return []bool{covers(stats.MeanDifference(differences, firstLook).CI, r.truth())}
					})[0]
					covered = append(covered, got)
					assert.GreaterOrEqual(t, got, .93-slack(.93), name)
				}
				table.add(r.String(), runs, covered...)
			}
		}
	}
	table.print()
}

func ended(random *rand.Rand, chance float64) int {
	if random.Float64() < chance {
		return 1
	}
	return 0
}

// TestNullEdits counts edits without any effect that are called effective at one of three looks: a batch that shows nothing is extended
// twice by two attempts of each role.
func TestNullEdits(t *testing.T) {
	table := newTable("edits without an effect that are called effective, in %", "runs", "at the first look", "at any of three")
	for _, r := range []recovery{{recovers: .1}, {recovers: .4}, {differ: true, recovers: .1}, {differ: true, recovers: .4}} {
		for _, runs := range []int{25, 100} {
			if !full() && runs != 25 {
				continue
			}
			name := fmt.Sprintf("%s, %d runs", r, runs)
			shares := share(t, name, func(random *rand.Rand) []bool {
				evidence, chances := make([]verdict.Input, runs), make([]float64, runs)
				for i := range evidence {
					evidence[i] = recorded(name, i)
					chances[i], _ = r.chances(random)
				}
				var found []bool
				looks := 0
				for look := range 3 {
					for i := range evidence {
						evidence[i].Looks = looks
						attempt(random, &evidence[i], 2*look, chances[i], chances[i])
					}
					v := verdict.Stratified(evidence)
					found = append(found, called(&v))
					looks = v.Looks
				}
				return []bool{found[0], found[0] || found[1] || found[2]}
			})
			table.add(r.String(), runs, shares...)
			assert.LessOrEqual(t, shares[1], .05+slack(.05), name)
		}
	}
	table.print()
}
