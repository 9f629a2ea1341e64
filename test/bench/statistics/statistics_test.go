// Package statistics measures the methods of controlplane/stats on simulated data, whose true means and differences are known.
package statistics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// dataSets is how many are drawn: 2000 with BENCH_STATISTICS, else 200. Bounds are as wide as the smaller number needs; seeds are fixed.
func dataSets() int {
	if os.Getenv("BENCH_STATISTICS") != "" {
		return 2000
	}
	return 200
}

// full reports whether this is the measurement and not the ordinary test.
func full() bool { return dataSets() > 200 }

// share counts in how many of the data sets something holds.
func share(t *testing.T, of string, holds func(random *rand.Rand) []bool) []float64 {
	t.Helper()
	n := dataSets()
	answers := make([][]bool, n)
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		group.Go(func() {
			for i := w; i < n; i += workers {
				answers[i] = holds(rand.New(rand.NewPCG(uint64(i), seedOf(of))))
			}
		})
	}
	group.Wait()
	shares := make([]float64, len(answers[0]))
	for _, answer := range answers {
		for i, yes := range answer {
			if yes {
				shares[i] += 1 / float64(n)
			}
		}
	}
	return shares
}

func seedOf(name string) uint64 {
	hash := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	return hash
}

// slack is how far a share of p may be off by chance: two standard errors, or four in the ordinary test of many figures.
func slack(p float64) float64 {
	errors := 2.
	if !full() {
		errors = 4
	}
	return errors * math.Sqrt(p*(1-p)/float64(dataSets()))
}

func compared(m compare.Metric, seed uint64) compare.Comparison {
	return compare.Compare([]compare.Metric{m}, compare.Options{Seed: seed})[0]
}

func covers(ci *stats.Interval, truth float64) bool {
	return ci != nil && ci[0]-1e-12 <= truth && truth <= ci[1]+1e-12
}

// sizes are the numbers of items, those from the given one on.
func sizes(least int) []int {
	all := []int{20, 50, 100, 500}
	if !full() {
		all = []int{20, 100}
	}
	return slices.DeleteFunc(all, func(n int) bool { return n < least })
}

// TestDifferences counts, where the true difference is 0, intervals that cover it and the mean, and p values of at most 5%; and where
// it is known and not 0, intervals that cover it, and wrong decisions of a gate whose margin it is. A mean without an interval is
// counted apart.
func TestDifferences(t *testing.T) {
	coverage := newTable("coverage of 95% intervals in %", "items", "mean", "mean without an interval", "difference of 0", "difference", "flagged")
	errors := newTable("errors in %: p <= 5% without a difference; decisions of a gate whose margin is the true difference", "items", "p <= 5%", "pass", "regression")
	for _, s := range scenarios {
		for _, n := range sizes(0) {
			name := fmt.Sprintf("%s, %d items", s.name, n)
			none := share(t, name+", none", func(random *rand.Rand) []bool {
				c := compared(s.dataSet(random, n, 0), 1)
				p := c.Difference.P
				return []bool{covers(c.A.CI, s.mean), c.A.CI == nil, covers(c.Difference.CI, 0), p != nil && *p <= .05, len(c.Flags) > 0}
			})
			some := share(t, name+", some", func(random *rand.Rand) []bool {
				m := s.dataSet(random, n, s.effect)
				c, g := compared(m, 1), compare.NonInferiority(m, compare.GateOptions{Margin: -s.effect})
				return []bool{covers(c.Difference.CI, s.effect), g.Decision == compare.Pass, g.Decision == compare.Regression}
			})
			mean := 1.
			if none[1] < 1 {
				mean = none[0] / (1 - none[1])
			}
			coverage.add(s.name, n, mean, none[1], none[2], some[0], none[4])
			errors.add(s.name, n, none[3], some[1], some[2])
			assert.LessOrEqual(t, none[3], .05+slack(.05), "%s: p", name)
			assert.GreaterOrEqual(t, none[2], .93-slack(.93), "%s: difference of 0", name)
			assert.GreaterOrEqual(t, some[0], .93-slack(.93), "%s: difference", name)
			if !s.amounts {
				assert.GreaterOrEqual(t, mean, .93-slack(.93), "%s: mean", name)
			}
			if n == 500 {
				assert.LessOrEqual(t, some[0], .97+slack(.97), "%s: difference", name)
			}
			for _, wrong := range some[1:] { // 2.5% each, and what of coverage is on the one side
				assert.LessOrEqual(t, wrong, .04+slack(.04), "%s: gate", name)
			}
		}
	}
	coverage.print()
	errors.print()
}

// TestRepeatedGate counts wrong decisions, in all, of gates that are asked after 1, 2, 4 and 8 repeats of both sides, and whose margin is
// the true difference: 2.5% at most. It counts those that pass without a difference, too.
func TestRepeatedGate(t *testing.T) {
	table := newTable("gates asked after 1, 2, 4 and 8 repeats in %", "items", "wrong pass", "wrong regression", "pass without a difference", "at the first look")
	for _, s := range []scenario{
		broken("binary, 80%, 8 repeats, items break", .8, -.05, 8), broken("binary, 95%, 8 repeats, items break", .95, -.05, 8), binary("binary, 80%, 8 repeats", .8, .5, 8),
	} {
		for _, n := range sizes(50) {
			decide := func(random *rand.Rand, difference float64) (decision compare.Decision, looks int) {
				all := s.dataSet(random, n, difference)
				part := all
				for repeats := 1; repeats <= 8; repeats *= 2 {
					looks++
					part.Items = make([]compare.Paired, n)
					for i, item := range all.Items {
						part.Items[i] = compare.Paired{A: item.A[:repeats], B: item.B[:repeats]}
					}
					if decision = compare.NonInferiority(part, compare.GateOptions{Margin: -s.effect, Repeated: true}).Decision; decision != compare.Undecided {
						break
					}
				}
				return decision, looks
			}
			shares := share(t, fmt.Sprint("repeated", s.name, n), func(random *rand.Rand) []bool {
				wrong, _ := decide(random, s.effect)
				right, looks := decide(random, 0)
				return []bool{wrong == compare.Pass, wrong == compare.Regression, right == compare.Pass, right == compare.Pass && looks == 1}
			})
			table.add(s.name, n, shares...)
			for _, wrong := range shares[:2] {
				assert.LessOrEqual(t, wrong, .025+slack(.025), "%s, %d items", s.name, n)
			}
		}
	}
	table.print()
}

// TestHolm counts comparisons by five metrics with any verdict, where there is no difference.
func TestHolm(t *testing.T) {
	table := newTable("comparisons by 5 metrics with a false verdict in %", "items", "verdict")
	for _, s := range []scenario{scenarios[1], scenarios[3], scenarios[7], scenarios[9]} {
		const n = 100
		found := share(t, "holm "+s.name, func(random *rand.Rand) []bool {
			metrics := make([]compare.Metric, 5)
			for i := range metrics {
				metrics[i] = s.dataSet(random, n, 0)
			}
			return []bool{slices.ContainsFunc(compare.Compare(metrics, compare.Options{Seed: 1}), func(c compare.Comparison) bool {
				return c.Verdict != compare.Inconclusive
			})}
		})
		table.add(s.name, n, found[0])
		assert.LessOrEqual(t, found[0], .05+slack(.05), s.name)
	}
	table.print()
}

// TestPower counts how often the stated minimum detectable difference is found when it is the true one: 80%. It is stated for
// effects on all items: one that breaks few of them adds variance that no data set without it shows.
func TestPower(t *testing.T) {
	table := newTable("power at the stated minimum detectable difference in %", "items", "power", "difference × 100")
	for _, s := range scenarios {
		if s.breaks || s.heavy {
			continue
		}
		for _, n := range sizes(100) {
			// What data sets without a difference state, on average.
			random := rand.New(rand.NewPCG(uint64(n), seedOf(s.name)))
			stated, count := 0., 0.
			for range 100 {
				if d := compared(s.dataSet(random, n, 0), 1).Difference.MinimumDetectable; d != nil {
					stated += *d
					count++
				}
			}
			stated /= count
			shares := share(t, fmt.Sprint("power", s.name, n), func(random *rand.Rand) []bool {
				p := compared(s.dataSet(random, n, -stated), 1).Difference.P
				return []bool{p != nil && *p <= .05}
			})
			table.add(s.name, n, shares[0], stated)
			assert.GreaterOrEqual(t, shares[0], .75-slack(.75), "%s, %d items", s.name, n)
			assert.LessOrEqual(t, shares[0], .85+slack(.85), "%s, %d items", s.name, n)
		}
	}
	table.print()
}

// TestSequential counts runs that stop at any of five looks where there is no difference, and looks that a run with one needs.
func TestSequential(t *testing.T) {
	table := newTable("alpha spending, five looks, in %", "items", "stops without a difference", "stops with one", "items used of a run with one")
	fractions := []float64{.2, .4, .6, .8, 1}
	boundaries, flag := stats.AlphaSpending(fractions, .05)
	assert.Empty(t, flag)
	all := scenarios
	if !full() {
		all = []scenario{scenarios[1], scenarios[6]}
	}
	for _, s := range all {
		const n = 200
		run := func(random *rand.Rand, difference float64) (stopped bool, used float64) {
			all := s.dataSet(random, n, difference)
			for i, f := range fractions {
				part := all
				part.Items = all.Items[:int(f*n)]
				if p := compared(part, 1).Difference.P; p != nil && *p <= boundaries[i].Alpha {
					return true, f
				}
			}
			return false, 1
		}
		without := share(t, "sequential"+s.name, func(random *rand.Rand) []bool {
			stopped, _ := run(random, 0)
			return []bool{stopped}
		})[0]
		detectable := 0.
		random := rand.New(rand.NewPCG(n, seedOf(s.name)))
		for range 20 {
			detectable += *compared(s.dataSet(random, n, 0), 1).Difference.MinimumDetectable / 20
		}
		with := share(t, "sequential with"+s.name, func(random *rand.Rand) []bool {
			stopped, used := run(random, -detectable)
			return []bool{stopped, used > .2, used > .4, used > .6, used > .8}
		})
		table.add(s.name, n, without, with[0], .2+.2*(with[1]+with[2]+with[3]+with[4]))
		assert.LessOrEqual(t, without, .05+slack(.05), s.name)
	}
	table.print()
}

// TestExactIntervals adds up, without simulation, how often the exact interval of a proportion covers it: 95% or more.
func TestExactIntervals(t *testing.T) {
	for _, n := range []int{20, 100, 500} {
		for p := .05; p < 1; p += .05 {
			coverage := 0.
			for x := range n + 1 {
				if covers(stats.ClopperPearson(x, n, .05), p) {
					coverage += distuv.Binomial{N: float64(n), P: p}.Prob(float64(x))
				}
			}
			assert.GreaterOrEqual(t, coverage, .95, "%d items, %.2f", n, p)
		}
	}
}

// table prints shares for people.
type table struct{ lines []string }

func newTable(title string, columns ...string) *table {
	return &table{[]string{"", title, "| scores | " + strings.Join(columns, " | ") + " |", "| --- |" + strings.Repeat(" --- |", len(columns))}}
}

func (t *table) add(name string, n int, shares ...float64) {
	line := fmt.Sprintf("| %s | %d |", name, n)
	for _, share := range shares {
		line += fmt.Sprintf(" %.1f |", 100*share)
	}
	t.lines = append(t.lines, line)
}

// print prints the table of a measurement.
func (t *table) print() {
	if full() {
		fmt.Println(strings.Join(t.lines, "\n"))
	}
}
