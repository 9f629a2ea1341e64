package stats

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// Look is a test of data that is not complete.
type Look struct {
	// Fraction is the share of the planned data that there is, up to 1.
	Fraction float64
	// P is the two-sided p value of all data so far.
	P float64
}

// Boundary is what a look must reach to stop.
type Boundary struct {
	Fraction float64 `json:"fraction"`
	// Z is the boundary of the normal statistic, and Alpha the two-sided p value of it. Intervals of a run that stopped here have the
	// confidence 1-Alpha.
	Z     float64 `json:"z"`
	Alpha float64 `json:"alpha"`
	// Spent is the part of the level that is spent up to here.
	Spent float64 `json:"spent"`
}

// Limits of looks: they must be a hundredth of the data apart, and a statistic beyond 30 is never reached.
const (
	leastStep = .01
	farAway   = 30
)

// AlphaSpending returns the boundary of each look, so that under no difference the chance to reach any of them is alpha in all:
// the spending 4 - 4Φ(z_{α/4}/√t) of O'Brien-Fleming's type, which is two-sided, by recursive numerical integration of the statistic's
// density inside the earlier boundaries. Looks need not be planned: only those up to now matter. OutOfDomain unless the fractions
// ascend by .01 or more from .01 or more to 1 at most, and alpha is in (0, 1). Lan and DeMets 1983; Armitage, McPherson and Rowe 1969.
func AlphaSpending(fractions []float64, alpha float64) ([]Boundary, Flag) {
	if len(fractions) == 0 {
		return nil, TooFew
	}
	if !Level(alpha) {
		return nil, OutOfDomain
	}
	var density density
	boundaries := make([]Boundary, len(fractions))
	before := Boundary{}
	for i, t := range fractions {
		if !(t-before.Fraction >= leastStep-1e-9) || t > 1 {
			return nil, OutOfDomain
		}
		now := Boundary{Fraction: t, Spent: min(alpha, 4*distuv.UnitNormal.Survival(-distuv.UnitNormal.Quantile(alpha/4)/math.Sqrt(t)))}
		deviation := math.Sqrt(t - before.Fraction)
		end := density.boundary(now.Spent-before.Spent, deviation, math.Sqrt(t))
		now.Z = end / math.Sqrt(t)
		now.Alpha = twoSided(now.Z)
		density = density.next(end, deviation, math.Sqrt(t))
		boundaries[i], before = now, now
	}
	return boundaries, ""
}

// density is that of the score statistic of earlier looks without those that stopped, as weights at points. It is empty before the
// first look, when the statistic is 0.
type density struct{ at, weights []float64 }

// reaches is the chance that the statistic, moved by a normal step, is beyond ±end.
func (d density) reaches(end, deviation float64) float64 {
	if d.at == nil {
		return 2 * distuv.UnitNormal.Survival(end/deviation)
	}
	sum := 0.
	for i, x := range d.at {
		sum += d.weights[i] * (distuv.UnitNormal.Survival((end-x)/deviation) + distuv.UnitNormal.Survival((end+x)/deviation))
	}
	return sum
}

// boundary is the end beyond which the statistic is with the given chance.
func (d density) boundary(chance, deviation, scale float64) float64 {
	low, high := 0., farAway*scale
	if d.reaches(high, deviation) >= chance {
		return high
	}
	for range 60 {
		if middle := (low + high) / 2; d.reaches(middle, deviation) > chance {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// next is the density inside ±end after a step.
func (d density) next(end, deviation, scale float64) density {
	end = min(end, 8*scale) // there is nothing beyond
	n := int(min(1600, 80+16*end/deviation))
	next := density{at: make([]float64, n), weights: make([]float64, n)}
	quad.Legendre{}.FixedLocations(next.at, next.weights, -end, end)
	for i, x := range next.at {
		if d.at == nil {
			next.weights[i] *= distuv.Normal{Sigma: deviation}.Prob(x)
			continue
		}
		sum := 0.
		for j, from := range d.at {
			z := (x - from) / deviation
			sum += d.weights[j] * math.Exp(-z*z/2)
		}
		next.weights[i] *= sum / (deviation * math.Sqrt(2*math.Pi))
	}
	return next
}

// Sequential is the answer of a look.
type Sequential struct {
	// Stop says that there is a difference. Without it a run goes on until Fraction is 1, and then there is none that could be shown.
	Stop bool `json:"stop"`
	// Boundary is that of the last look; nil if the looks are out of domain.
	Boundary *Boundary `json:"boundary"`
	Flag     Flag      `json:"flag,omitempty"`
}

// SequentialTest says after a look whether the difference is shown, given all looks so far with the last one at the end. Looks do not
// change what was decided before: an earlier look that reached its boundary stops, too. OutOfDomain as [AlphaSpending], and for a p
// value outside [0, 1].
func SequentialTest(looks []Look, alpha float64) Sequential {
	fractions := make([]float64, len(looks))
	for i, look := range looks {
		if !Probability(look.P) {
			return Sequential{Flag: OutOfDomain}
		}
		fractions[i] = look.Fraction
	}
	boundaries, flag := AlphaSpending(fractions, alpha)
	if flag != "" {
		return Sequential{Flag: flag}
	}
	s := Sequential{Boundary: &boundaries[len(boundaries)-1]}
	for i, look := range looks {
		s.Stop = s.Stop || look.P <= boundaries[i].Alpha
	}
	return s
}
