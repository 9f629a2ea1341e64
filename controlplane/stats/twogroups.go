package stats

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Groups are the values of two independent groups, such as the scores of an agent with and without a change.
type Groups struct{ A, B []float64 }

// GroupMeans tests whether the means of two groups are equal, by relabeling within each of the strata, such as the tasks that both groups
// did. The statistic is the sum over strata of mean B - mean A, and P the share of relabelings in which it is as far from 0: of all up
// to 20,000, else of 9999 random ones and (1 + those)/10000. TooFew without strata or with an empty group, NoVariation if no stratum has
// different values, OutOfDomain for NaN. Fisher 1935, Pitman 1937.
func GroupMeans(strata []Groups, seed uint64) Permutation {
	if len(strata) == 0 {
		return Permutation{P: None(TooFew)}
	}
	all := make([]relabeling, len(strata))
	centred := make([][]float64, len(strata))
	largest := 0.
	for i, s := range strata {
		if len(s.A) == 0 || len(s.B) == 0 {
			return Permutation{P: None(TooFew)}
		}
		values := append(append([]float64{}, s.A...), s.B...)
		mean := stat.Mean(values, nil)
		if !Finite(values...) || !Finite(mean) {
			return Permutation{P: None(OutOfDomain)}
		}
		if Constant(values) {
			mean = values[0] // without rounding
		}
		floats.AddConst(-mean, values)
		if !Finite(values...) {
			return Permutation{P: None(OutOfDomain)}
		}
		largest = max(largest, floats.Norm(values, math.Inf(1)))
		centred[i] = values
	}
	if largest == 0 {
		return Permutation{P: None(NoVariation)}
	}
	observed, rounding := 0., 0.
	for i, s := range strata {
		values := centred[i]
		floats.Scale(1/largest, values) // against overflow
		k, m := float64(len(s.A)), float64(len(s.B))
		// The groups' sums are the same but for the sign.
		statistic := func(group []int) float64 {
			sum := 0.
			for _, j := range group {
				sum -= values[j]
			}
			return sum * (1/k + 1/m)
		}
		all[i] = relabeling{len(values), len(s.A), statistic}
		observed += statistic(allItems(len(s.A)))
		rounding += 1e-10 * floats.Norm(values, 1)
	}
	sums, exact := relabel(all, seed)
	for i, sum := range sums {
		sums[i] = math.Abs(sum)
	}
	return permutationOf(sums, exact, math.Abs(observed), rounding)
}

// WelchDifference is mean B - mean A with its interval by Student's t for two groups of unequal variances. TooFew with less than two
// values in a group, which leaves the difference without interval; NoVariation if both are constant; OutOfDomain for NaN. Welch 1947.
func WelchDifference(g Groups, alpha float64) Estimate {
	switch {
	case len(g.A) == 0 || len(g.B) == 0:
		return Estimate{Value: None(TooFew)}
	case !Finite(g.A...) || !Finite(g.B...) || !Level(alpha):
		return Estimate{Value: None(OutOfDomain)}
	}
	e := Estimate{Value: Some(stat.Mean(g.B, nil) - stat.Mean(g.A, nil))}
	switch {
	case e.Value.Value == nil:
	case len(g.A) < 2 || len(g.B) < 2:
		e.Flag = TooFew
	case Constant(g.A) && Constant(g.B):
		e.Value.Value, e.Flag = NewNumber(g.B[0]-g.A[0]), NoVariation // without the rounding of means
	default:
		a, b := squaredError(g.A), squaredError(g.B)
		degrees := (a + b) * (a + b) / (a*a/float64(len(g.A)-1) + b*b/float64(len(g.B)-1))
		if !Finite(degrees) {
			e.Flag = OutOfDomain
			break
		}
		half := StudentQuantile(alpha, degrees) * math.Sqrt(a+b)
		e.CI = NewInterval(*e.Value.Value-half, *e.Value.Value+half)
	}
	return e
}

// squaredError is the squared standard error of the mean.
func squaredError(values []float64) float64 {
	if Constant(values) {
		return 0
	}
	return stat.Variance(values, nil) / float64(len(values))
}

// Logarithms are those of amounts, such as costs and durations, whose ratio is compared: their means are of geometric means.
// OutOfDomain unless all are above 0.
func Logarithms(g Groups) (Groups, Flag) {
	logs := Groups{make([]float64, len(g.A)), make([]float64, len(g.B))}
	for i, x := range g.A {
		logs.A[i] = math.Log(x)
	}
	for i, x := range g.B {
		logs.B[i] = math.Log(x)
	}
	if !Finite(logs.A...) || !Finite(logs.B...) {
		return Groups{}, OutOfDomain
	}
	return logs, ""
}

// RatioOf is the ratio of geometric means, B to A, of a difference of means of logarithms and its interval.
func RatioOf(logs Estimate) Estimate {
	e := Estimate{Value: logs.Value}
	if logs.Value.Value == nil {
		return e
	}
	e.Value.Value = NewNumber(math.Exp(*logs.Value.Value))
	if e.Value.Value == nil {
		e.Flag = OutOfDomain
		return e
	}
	if logs.CI != nil {
		e.CI = NewInterval(math.Exp(logs.CI[0]), math.Exp(logs.CI[1]))
	}
	return e
}

// NewcombeDifference is the interval of q - p, two independent proportions of x of k and y of m, by the square-and-add of their score
// intervals. It has an answer for 0 and for all, too. Nil unless 0 <= x <= k, 0 <= y <= m and k, m > 0. Newcombe 1998, method 10.
func NewcombeDifference(x, k, y, m int, alpha float64) *Interval {
	a, b := Wilson(float64(x), float64(k), alpha), Wilson(float64(y), float64(m), alpha)
	if a == nil || b == nil {
		return nil
	}
	p, q := float64(x)/float64(k), float64(y)/float64(m)
	d := q - p
	return NewInterval(max(-1, d-math.Hypot(q-b[0], a[1]-p)), min(1, d+math.Hypot(b[1]-q, p-a[0])))
}

// PooledDeviation is the standard deviation within two groups. TooFew below three values, OutOfDomain for NaN.
func PooledDeviation(g Groups) Value {
	switch degrees := float64(len(g.A) + len(g.B) - 2); {
	case !Finite(g.A...) || !Finite(g.B...):
		return None(OutOfDomain)
	case len(g.A) == 0 || len(g.B) == 0 || degrees < 1:
		return None(TooFew)
	default:
		a, b := float64(len(g.A)), float64(len(g.B))
		return Some(math.Sqrt((squaredError(g.A)*a*(a-1) + squaredError(g.B)*b*(b-1)) / degrees))
	}
}

// SeparationChance is the largest chance, over all distributions of categories, that k draws are all of one category and m further ones all
// of another: max p^k q^m + q^k p^m with q = 1 - p. OutOfDomain unless k, m >= 2, where more categories make it smaller.
func SeparationChance(k, m int) Value {
	if k < 2 || m < 2 {
		return None(OutOfDomain)
	}
	most := 0.
	for i := 1; i <= 1000; i++ {
		p := float64(i) / 2000
		a, b := float64(k), float64(m)
		most = max(most, math.Pow(p, a)*math.Pow(1-p, b)+math.Pow(1-p, a)*math.Pow(p, b))
	}
	return Some(most)
}
