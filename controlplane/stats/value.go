// Package stats has the statistics of comparisons, eval-runs and replays: agreement of raters, tests, intervals, power, the comparison
// of two configurations, the decision of a gate, and looks at data that still arrives.
//
// Every function is total: it takes any input, and returns a [Value] (or a structure of them) without a number and with a [Flag] where
// its formula has no answer. There are no errors, no NaN and no infinities, and nothing is made up for a degenerate input. In ratings
// and scores NaN is a missing value; elsewhere it is out of domain.
//
// Randomized methods take a seed and give the same answer for the same seed. docs/statistics.md says in plain words what each means,
// and how it was measured.
package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Flag says why a statistic has no value, or what to mind about the value it has.
type Flag string

// Flags of statistics without a value.
const (
	// NoVariation: all ratings or differences are equal, and the formula is 0/0.
	NoVariation Flag = "no_variation"
	// TooFew: there are fewer items, raters, repeats or pairs than the formula needs.
	TooFew Flag = "too_few"
	// OutOfDomain: the input is not of the formula's domain, such as a NaN, a count below 0, or rows of different lengths.
	OutOfDomain Flag = "out_of_domain"
)

// Flags of statistics with a value.
const (
	// FewItems: 95% intervals cover less than 93% for some kinds of scores at so few items.
	FewItems Flag = "few_items"
	// FewDiffering: so few items differ between the two sides that the interval may cover less than 93%, or that the test cannot
	// be significant.
	FewDiffering Flag = "few_differing"
	// HeavyTail: so few of the amounts decide their mean that it has no interval.
	HeavyTail Flag = "heavy_tail"
	// Unusable: Krippendorff's alpha is below .667.
	Unusable Flag = "unusable"
	// Tentative: Krippendorff's alpha is below .8.
	Tentative Flag = "tentative"
)

// Value is a statistic. Value is nil if it has none, and Flag says why. A flag beside a value is a remark.
type Value struct {
	Value *float64 `json:"value"`
	Flag  Flag     `json:"flag,omitempty"`
}

// Get returns the number, and false if there is none.
func (v Value) Get() (float64, bool) {
	if v.Value == nil {
		return 0, false
	}
	return *v.Value, true
}

// Interval is a confidence interval: low and high.
type Interval [2]float64

// Contains reports whether x is in the interval.
func (i Interval) Contains(x float64) bool { return i[0] <= x && x <= i[1] }

// Estimate is a statistic with its confidence interval, nil if that has none.
type Estimate struct {
	Value
	CI *Interval `json:"ci"`
}

// z95 is the 97.5% quantile of the normal distribution.
const z95 = 1.959963984540054

// Some is a value, without a number if x is none.
func Some(x float64) Value {
	if !Finite(x) {
		return None(OutOfDomain)
	}
	return Value{Value: &x}
}

// None is no value, and why.
func None(flag Flag) Value { return Value{Flag: flag} }

// NewNumber is x, or nil if it is not finite.
func NewNumber(x float64) *float64 { return Some(x).Value }

// NewInterval is nil unless both ends are finite and in order.
func NewInterval(low, high float64) *Interval {
	if !Finite(low, high) || low > high {
		return nil
	}
	return &Interval{low, high}
}

// Finite reports whether all numbers are finite.
func Finite(all ...float64) bool {
	for _, x := range all {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// Probability reports whether x is in [0, 1].
func Probability(x float64) bool { return x >= 0 && x <= 1 }

// Level reports whether alpha is in (0, 1).
func Level(alpha float64) bool { return alpha > 0 && alpha < 1 }

// NormalQuantile is the quantile of the normal distribution that alpha/2 is above.
func NormalQuantile(alpha float64) float64 { return distuv.UnitNormal.Quantile(1 - alpha/2) }

// StudentQuantile is the quantile of Student's distribution that alpha/2 is above.
func StudentQuantile(alpha, degrees float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: degrees}.Quantile(1 - alpha/2)
}

// twoSided is the p value of a statistic that is normal without an effect.
func twoSided(z float64) float64 { return min(1, 2*distuv.UnitNormal.Survival(math.Abs(z))) }
