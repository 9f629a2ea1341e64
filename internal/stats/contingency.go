package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// McNemar compares two proportions of the same items.
type McNemar struct {
	// P is the exact two-sided p value, MidP the one with half the probability of what was observed, which is less conservative.
	P, MidP Value
	// Chi2 is (b-c)²/(b+c), with the p value ChiP; Corrected and CorrectedP have the continuity correction (|b-c|-1)²/(b+c).
	Chi2, ChiP, Corrected, CorrectedP *float64
}

// McNemarTest takes the numbers of items that succeeded only on the one and only on the other side: P = 2 Σ_{i<=min(b,c)} C(b+c,i)/2^(b+c),
// at most 1. NoVariation without such items, OutOfDomain for numbers below 0. McNemar 1947; mid-p by Fagerland et al. 2013.
func McNemarTest(b, c int) McNemar {
	switch {
	case b < 0 || c < 0:
		return McNemar{P: none(OutOfDomain), MidP: none(OutOfDomain)}
	case b+c == 0:
		return McNemar{P: none(NoVariation), MidP: none(NoVariation)}
	}
	n, apart := float64(b+c), math.Abs(float64(b-c))
	coin, least := distuv.Binomial{N: n, P: .5}, float64(min(b, c))
	p := min(1, 2*coin.CDF(least))
	mid := p - coin.Prob(least)
	if b == c { // what was observed is in both tails
		mid = 1 - coin.Prob(least)/2
	}
	chi2, with := apart*apart/n, max(0, apart-1)*max(0, apart-1)/n
	one := distuv.ChiSquared{K: 1}
	return McNemar{
		P: some(p), MidP: some(mid), Chi2: number(chi2), ChiP: number(one.Survival(chi2)),
		Corrected: number(with), CorrectedP: number(one.Survival(with)),
	}
}

// ChiSquaredTest is a statistic that has the chi-squared distribution with DF degrees of freedom without an effect.
type ChiSquaredTest struct {
	Value
	DF int
	P  *float64
}

// CochranQ tests whether k configurations succeed on the same items equally often: Q = (k-1)(k Σ C_j² - N²)/(kN - Σ R_i²), with the sums C
// of configurations, R of items and N of all. passed[item][configuration]. NoVariation if no item tells configurations apart, TooFew
// with less than 2 configurations, OutOfDomain for rows of different lengths. Cochran 1950.
func CochranQ(passed [][]bool) ChiSquaredTest {
	if len(passed) == 0 || len(passed[0]) < 2 {
		return ChiSquaredTest{Value: none(TooFew)}
	}
	k := len(passed[0])
	columns, total, squares := make([]float64, k), 0., 0.
	for _, row := range passed {
		if len(row) != k {
			return ChiSquaredTest{Value: none(OutOfDomain)}
		}
		own := 0.
		for j, pass := range row {
			if pass {
				own++
				columns[j]++
			}
		}
		total += own
		squares += own * own
	}
	kf, sum := float64(k), 0.
	for _, c := range columns {
		sum += c * c
	}
	below := kf*total - squares
	if below == 0 {
		return ChiSquaredTest{Value: none(NoVariation)}
	}
	q := (kf - 1) * (kf*sum - total*total) / below
	return ChiSquaredTest{Value: some(q), DF: k - 1, P: number(distuv.ChiSquared{K: kf - 1}.Survival(q))}
}

// Fisher has the p values of Fisher's exact test: TwoSided sums all tables that are not more probable than the observed one, Greater and
// Less are those of a larger and a smaller first cell. Least is the smallest TwoSided of all tables with these sums of rows and columns:
// above alpha no such table is significant.
type Fisher struct{ TwoSided, Greater, Less, Least Value }

// FisherExact tests whether two groups succeed equally often: [[a, b], [c, d]], a and c successes, b and d failures. NoVariation if all
// succeeded, all failed or a group is empty, OutOfDomain for numbers below 0. Fisher 1935.
func FisherExact(a, b, c, d int) Fisher {
	all := func(flag Flag) Fisher { return Fisher{none(flag), none(flag), none(flag), none(flag)} }
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
	return Fisher{some(min(1, two)), some(min(1, greater)), some(min(1, less)), some(min(1, least))}
}
