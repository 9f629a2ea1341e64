package statistics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// severalKind draws a score from a latent number. The mean of a side whose latent numbers are lower by shift is less than that of the
// others by loss.
type severalKind struct {
	name        string
	score       func(latent float64) float64
	shift, loss float64
}

func severalPasses(name string, mean, loss float64) severalKind {
	end := distuv.UnitNormal.Quantile(mean)
	return severalKind{
		name: name, loss: loss, shift: end - distuv.UnitNormal.Quantile(mean-loss),
		score: func(latent float64) float64 { return pass(latent > -end) },
	}
}

func severalGrades() severalKind {
	const loss = .05
	score := func(latent float64) float64 { return (grade(latent) - 1) / 4 }
	shift := -inverse(func(x float64) float64 { return (gradeMean(x) - gradeMean(0)) / 4 }, -loss)
	return severalKind{name: "grades", loss: loss, shift: shift, score: score}
}

var severalKinds = []severalKind{
	severalPasses("passes, 70%", .7, .08), severalPasses("passes, 97%", .97, .05), severalPasses("passes, 99%", .99, .04), severalGrades(),
}

// severalItems draws items of k sides. Groups of the given size share what each side does to them. The last side is worse if worse.
func (kind severalKind) severalItems(random *rand.Rand, n, k, each int, worse bool) []compare.Scored {
	items := make([]compare.Scored, n)
	effects := make([]float64, k)
	for i := range items {
		if each > 1 && i%each == 0 {
			for side := range effects {
				effects[side] = .5 * random.NormFloat64()
			}
		}
		items[i].Group = 0
		own := math.Sqrt(.6)
		if each > 1 {
			items[i].Group, own = i/each+1, math.Sqrt(.35)
		}
		common := math.Sqrt(.4) * random.NormFloat64()
		for side := range k {
			latent := common + effects[side] + own*random.NormFloat64()
			if worse && side == k-1 {
				latent -= kind.shift
			}
			items[i].Sides = append(items[i].Sides, []float64{kind.score(latent)})
		}
	}
	return items
}

// TestSeveral counts comparisons of several sides with any false verdict, and those of which all intervals contain the true differences,
// with equal sides and with one that is worse.
func TestSeveral(t *testing.T) {
	table := newTable("several sides in %: any false verdict, all intervals cover (equal sides), all cover (one is worse), all means covered, one that is worse found against all others", "items",
		"false verdict", "all cover", "all cover, one worse", "means", "found")
	for _, kind := range severalKinds {
		for _, size := range []struct{ k, n, each int }{
			{3, 30, 1}, {3, 100, 1}, {3, 500, 1}, {6, 30, 1}, {6, 100, 1}, {6, 500, 1}, {6, 100, 10}, {6, 300, 10},
		} {
			if !full() && (size.k != 6 || size.n != 100) {
				continue
			}
			name := fmt.Sprintf("%s, %d sides", kind.name, size.k)
			if size.each > 1 {
				name += fmt.Sprintf(", %d groups", size.n/size.each)
			}
			mean := severalMean(kind)
			shares := share(t, fmt.Sprint(name, size.n), func(random *rand.Rand) []bool {
				options := compare.SeveralOptions{Better: compare.HigherBetter}
				equal := compare.Pairs(kind.severalItems(random, size.n, size.k, size.each, false), options)
				other := compare.Pairs(kind.severalItems(random, size.n, size.k, size.each, true), options)
				wrong, all, allOther, means, found := false, true, true, true, true
				for i, pair := range equal.Pairs {
					wrong = wrong || pair.Verdict != compare.Inconclusive
					all = all && covers(pair.Difference.CI, 0)
					truth, last := 0., pair.B == size.k-1
					if last {
						truth = -kind.loss
						found = found && other.Pairs[i].Verdict == compare.ABetter
					}
					allOther = allOther && covers(other.Pairs[i].Difference.CI, truth)
				}
				for _, side := range equal.Sides {
					means = means && covers(side.CI, mean)
				}
				return []bool{wrong, all, allOther, means, found}
			})
			table.add(name, size.n, shares...)
			assert.LessOrEqual(t, shares[0], .05+slack(.05), "%s, %d items", name, size.n)
			assert.GreaterOrEqual(t, shares[1], .94-slack(.94), "%s, %d items", name, size.n)
			assert.GreaterOrEqual(t, shares[2], .93-slack(.93), "%s, %d items", name, size.n)
		}
	}
	table.print()
}

// severalMean is the mean of a kind of scores of equal sides.
func severalMean(kind severalKind) float64 {
	const steps = 200_000
	mean := 0.
	for i := range steps {
		mean += kind.score(distuv.UnitNormal.Quantile((float64(i)+.5)/steps)) / steps
	}
	return mean
}
