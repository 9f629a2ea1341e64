package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// ranksOf are the ranks from 1, the middle one for ties.
func ranksOf(values []float64) []float64 {
	order := allItems(len(values))
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = float64(from+to+1) / 2
		}
		from = to
	}
	return ranks
}

// Spearman is the rank correlation of x and y, with the middle rank for ties, and a 95% interval by Fisher's transformation with the variance
// of Bonett and Wright 2000, (1+r²/2)/(n-3), which needs 4 pairs and |r| < 1. In [-1, 1]. NoVariation if one of them is constant, TooFew with
// less than 3 pairs, OutOfDomain for different lengths or NaN.
func Spearman(x, y []float64) Estimate {
	switch {
	case len(x) != len(y) || !Finite(x...) || !Finite(y...):
		return Estimate{Value: None(OutOfDomain)}
	case len(x) < 3:
		return Estimate{Value: None(TooFew)}
	case Constant(x) || Constant(y):
		return Estimate{Value: None(NoVariation)}
	}
	r := max(-1, min(1, stat.Correlation(ranksOf(x), ranksOf(y), nil)))
	e := Estimate{Value: Some(r)}
	if n := len(x); n > 3 && math.Abs(r) < 1 && e.Value.Value != nil {
		half := z95 * math.Sqrt((1+r*r/2)/float64(n-3))
		z := math.Atanh(r)
		e.CI = NewInterval(math.Tanh(z-half), math.Tanh(z+half))
	}
	return e
}

// Constant reports whether all values are equal.
func Constant(values []float64) bool {
	return !slices.ContainsFunc(values, func(x float64) bool { return x != values[0] })
}
