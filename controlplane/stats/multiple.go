package stats

import (
	"cmp"
	"slices"
)

// Holm adjusts p values so that the chance of any false discovery stays at alpha: max over the smaller ones of (m-i+1) p_(i), at most 1.
// A p value that is not in [0, 1], such as NaN for none, stays as it is and does not count. Holm 1979.
func Holm(p []float64) []float64 {
	equal := make([]float64, len(p))
	for i := range equal {
		equal[i] = 1
	}
	return WeightedHolm(p, equal)
}

// WeightedHolm is [Holm] where some p values matter more: max over the ones with smaller p/w of p_(i)/w_(i) Σ_{j≥i} w_(j), at most 1.
// Weights are above 0. Holm 1979, section 4.
func WeightedHolm(p, weights []float64) []float64 {
	var order []int
	rest := 0.
	for i, x := range p {
		if Probability(x) {
			order = append(order, i)
			rest += weights[i]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a]/weights[a], p[b]/weights[b]) })
	adjusted, before := slices.Clone(p), 0.
	for _, at := range order {
		before = max(before, min(1, p[at]/weights[at]*rest))
		adjusted[at] = before
		rest -= weights[at]
	}
	return adjusted
}

// BenjaminiHochberg adjusts p values so that the expected share of false discoveries stays at alpha, for independent or positively
// dependent tests: min over the larger ones of m/i p_(i). Otherwise as [Holm]. Benjamini and Hochberg 1995.
func BenjaminiHochberg(p []float64) []float64 {
	return adjust(p, func(sorted []float64) {
		after := 1.
		for i := len(sorted) - 1; i >= 0; i-- {
			after = min(after, float64(len(sorted))/float64(i+1)*sorted[i])
			sorted[i] = after
		}
	})
}

// adjust hands the ascending p values to change, and puts the changed ones where they came from.
func adjust(p []float64, change func(sorted []float64)) []float64 {
	var order []int
	for i, x := range p {
		if Probability(x) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	sorted := make([]float64, len(order))
	for i, at := range order {
		sorted[i] = p[at]
	}
	change(sorted)
	adjusted := slices.Clone(p)
	for i, at := range order {
		adjusted[at] = sorted[i]
	}
	return adjusted
}
