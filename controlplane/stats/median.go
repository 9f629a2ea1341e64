package stats

import (
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// MedianInterval is the median of values with the interval between two of them that covers the median of what they were drawn from with at
// least 1-alpha, whatever its distribution: the k-th from each end, where the chance of less than k values on one side is at most alpha/2. TooFew
// without values; below six values no such interval exists at alpha .05, which leaves the median without one. OutOfDomain for NaN. Thompson 1936.
func MedianInterval(values []float64, alpha float64) Estimate {
	if len(values) > 0 && (!Finite(values...) || !Level(alpha)) {
		return Estimate{Value: None(OutOfDomain)}
	}
	e := Estimate{Value: Median(values)}
	if e.Value.Value == nil {
		return e
	}
	below := distuv.Binomial{N: float64(len(values)), P: .5}
	k := 0
	for chance := below.Prob(0); chance <= alpha/2 && k < len(values)/2; chance += below.Prob(float64(k)) {
		k++
	}
	if k == 0 {
		e.Flag = TooFew
		return e
	}
	sorted := slices.Sorted(slices.Values(values))
	e.CI = NewInterval(sorted[k-1], sorted[len(sorted)-k])
	return e
}
