package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// ranks are the ranks from 1, the middle one for ties; ties is Σ (t³-t) over groups of equal values.
func ranks(values []float64) (ranks []float64, ties float64) {
	order := allItems(len(values))
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks = make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = float64(from+to+1) / 2
		}
		t := float64(to - from)
		ties += t*t*t - t
		from = to
	}
	return ranks, ties
}

// Pearson is the correlation of x and y, with the 95% interval of Fisher's transformation, which needs 4 pairs and |r| < 1.
// In [-1, 1]. NoVariation if one of them is constant, TooFew with less than 3 pairs, OutOfDomain for different lengths or NaN.
func Pearson(x, y []float64) Estimate {
	return correlation(x, y, func(float64) float64 { return 1 })
}

// Spearman is the rank correlation of x and y, with the middle rank for ties; otherwise as [Pearson]. The interval has the variance of
// Bonett and Wright 2000: (1+r²/2)/(n-3).
func Spearman(x, y []float64) Estimate {
	if !finite(x...) || !finite(y...) {
		return Estimate{Value: none(OutOfDomain)}
	}
	a, _ := ranks(x)
	b, _ := ranks(y)
	return correlation(a, b, func(r float64) float64 { return 1 + r*r/2 })
}

func correlation(x, y []float64, variance func(r float64) float64) Estimate {
	switch {
	case len(x) != len(y) || !finite(x...) || !finite(y...):
		return Estimate{Value: none(OutOfDomain)}
	case len(x) < 3:
		return Estimate{Value: none(TooFew)}
	case constant(x) || constant(y):
		return Estimate{Value: none(NoVariation)}
	}
	r := max(-1, min(1, stat.Correlation(x, y, nil)))
	e := Estimate{Value: some(r)}
	if n := len(x); n > 3 && math.Abs(r) < 1 && e.Value.Value != nil {
		half := z95 * math.Sqrt(variance(r)/float64(n-3))
		z := math.Atanh(r)
		e.CI = interval(math.Tanh(z-half), math.Tanh(z+half))
	}
	return e
}

// constant reports whether all values are equal.
func constant(values []float64) bool {
	return !slices.ContainsFunc(values, func(x float64) bool { return x != values[0] })
}
