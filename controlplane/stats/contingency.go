package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// McNemarTest is the exact two-sided p value of two proportions of the same items. It takes the numbers of items that succeeded only on the
// one and only on the other side: 2 Σ_{i<=min(b,c)} C(b+c,i)/2^(b+c), at most 1. NoVariation without such items, OutOfDomain for numbers
// below 0. McNemar 1947.
func McNemarTest(b, c int) Value {
	switch {
	case b < 0 || c < 0:
		return None(OutOfDomain)
	case b+c == 0:
		return None(NoVariation)
	}
	return Some(min(1, 2*distuv.Binomial{N: float64(b + c), P: .5}.CDF(float64(min(b, c)))))
}

// Fisher has the p values of Fisher's exact test: TwoSided sums all tables that are not more probable than the observed one, Greater and
// Less are those of a larger and a smaller first cell. Least is the smallest TwoSided of all tables with these sums of rows and columns:
// above alpha no such table is significant.
type Fisher struct{ TwoSided, Greater, Less, Least Value }

// FisherExact tests whether two groups succeed equally often: [[a, b], [c, d]], a and c successes, b and d failures. NoVariation if all
// succeeded, all failed or a group is empty, OutOfDomain for numbers below 0. Fisher 1935.
func FisherExact(a, b, c, d int) Fisher {
	all := func(flag Flag) Fisher { return Fisher{None(flag), None(flag), None(flag), None(flag)} }
	switch {
	case a < 0 || b < 0 || c < 0 || d < 0:
		return all(OutOfDomain)
	case a+b == 0 || c+d == 0 || a+c == 0 || b+d == 0:
		return all(NoVariation)
	}
	// The logarithm of the probability of the table with x in the first cell.
	logs := func(x int) float64 {
		return combin.LogGeneralizedBinomial(float64(a+b), float64(x)) + combin.LogGeneralizedBinomial(float64(c+d), float64(a+c-x)) -
			combin.LogGeneralizedBinomial(float64(a+b+c+d), float64(a+c))
	}
	low, high := max(0, a-d), min(a+b, a+c)
	observed, rarest := logs(a), min(logs(low), logs(high)) // the probabilities have one mode
	var two, greater, less, least float64
	for x := low; x <= high; x++ {
		log := logs(x)
		p := math.Exp(log)
		if log <= rarest+1e-7 {
			least += p
		}
		if log <= observed+1e-7 {
			two += p
		}
		if x >= a {
			greater += p
		}
		if x <= a {
			less += p
		}
	}
	return Fisher{Some(min(1, two)), Some(min(1, greater)), Some(min(1, less)), Some(min(1, least))}
}
