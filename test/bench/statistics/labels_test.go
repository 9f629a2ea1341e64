package statistics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// judged is an item as people and a judge see it.
type judged struct{ label, judge float64 }

// judgedShare is a judge of passes with a sensitivity and a specificity.
func judgedShare(base, sensitivity, specificity float64) func(*rand.Rand) judged {
	return func(random *rand.Rand) judged {
		label := pass(random.Float64() < base)
		right := sensitivity
		if label == 0 {
			right = specificity
		}
		if random.Float64() < right {
			return judged{label, label}
		}
		return judged{label, 1 - label}
	}
}

// judgedScore is a judge of scores of Beta(a, b) with normal errors that are mild by a tenth.
func judgedScore(a, b float64) func(*rand.Rand) judged {
	return func(random *rand.Rand) judged {
		label := distuv.Beta{Alpha: a, Beta: b, Src: random}.Rand()
		return judged{label, max(0, min(1, label+.1+.15*random.NormFloat64()))}
	}
}

// judgedMostlyOne gives 90% of the items exactly 1.
func judgedMostlyOne(random *rand.Rand) judged {
	label := 1.
	if random.Float64() > .9 {
		label = random.Float64()
	}
	return judged{label, max(0, min(1, label+.1*random.NormFloat64()))}
}

// judgedPair is the difference of two sides that are equally good, by a judge that passes what people fail in different shares of cases.
func judgedPair(mildA, mildB float64) func(*rand.Rand) judged {
	return func(random *rand.Rand) judged {
		p := distuv.Beta{Alpha: 2, Beta: .9, Src: random}.Rand()
		side := func(mild float64) judged { return judgedShare(p, .95, 1-mild)(random) }
		a, b := side(mildA), side(mildB)
		return judged{b.label - a.label, b.judge - a.judge}
	}
}

// TestCorrections counts intervals of means, and of differences of 0, that labels of some of 500 items correct and that contain the truth.
func TestCorrections(t *testing.T) {
	table := newTable("means of 500 items corrected by labels: coverage of 95% intervals in %, and their width beside that of labels alone, × 100", "labels", "coverage", "p <= 5%", "width", "of labels alone")
	for _, s := range []struct {
		name      string
		draw      func(*rand.Rand) judged
		truth     float64
		low, high float64
	}{
		{"passes, 80%, judge .92 and .70", judgedShare(.8, .92, .7), .8, 0, 1},
		{"passes, 95%, judge .95 and .60", judgedShare(.95, .95, .6), .95, 0, 1},
		{"scores", judgedScore(4, 2), 4. / 6, 0, 1},
		{"90% exactly 1", judgedMostlyOne, .95, 0, 1},
		{"difference, judge mild in 30 and 30%", judgedPair(.3, .3), 0, -1, 1},
		{"difference, judge mild in 30 and 40%", judgedPair(.3, .4), 0, -1, 1},
		{"difference, judge mild in 30 and 50%", judgedPair(.3, .5), 0, -1, 1},
	} {
		for _, n := range []int{20, 50, 100, 200} {
			if !full() && n != 50 {
				continue
			}
			width, alone := 0., 0.
			name := fmt.Sprintf("%s, %d labels", s.name, n)
			correct := func(random *rand.Rand) (covered, significant bool, width, alone float64) {
				labels, judge := make([]float64, 500), make([]float64, 500)
				for i := range labels {
					item := s.draw(random)
					labels[i], judge[i] = item.label, item.judge
					if i >= n {
						labels[i] = math.NaN()
					}
				}
				c := stats.PPI(labels, judge, s.low, s.high)
				ci, plain := c.Interval(.05), stats.BoundedMeanInterval(labels[:n], s.low, s.high, .05).CI
				return covers(ci, s.truth), *c.P() <= .05 && !ci.Contains(0), ci[1] - ci[0], plain[1] - plain[0]
			}
			shares := share(t, name, func(random *rand.Rand) []bool {
				covered, significant, _, _ := correct(random)
				return []bool{covered, significant}
			})
			random := rand.New(rand.NewPCG(uint64(n), seedOf(s.name)))
			for range 50 {
				_, _, w, a := correct(random)
				width, alone = width+w/50, alone+a/50
			}
			table.add(s.name, n, shares[0], shares[1], width, alone)
			assert.GreaterOrEqual(t, shares[0], .93-slack(.93), name)
			if s.low < 0 {
				assert.LessOrEqual(t, shares[1], .05+slack(.05), name)
			}
		}
	}
	table.print()
}
