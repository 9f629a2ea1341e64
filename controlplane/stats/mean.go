package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// MeanInterval is the mean of independent values with its interval by Student's t. alpha is 1 - confidence. Without an interval and with
// the flag NoVariation if all are equal, and TooFew for one. For differences between pairs, whose distribution is near symmetric.
func MeanInterval(values []float64, alpha float64) Estimate {
	e, se := meanAndError(values, alpha)
	if se == 0 {
		return e
	}
	half := StudentQuantile(alpha, float64(len(values)-1)) * se
	e.CI = NewInterval(*e.Value.Value-half, *e.Value.Value+half)
	return e
}

// SkewedMeanInterval is [MeanInterval] for values of one side, which are often skewed: see [SkewedInterval].
func SkewedMeanInterval(values []float64, alpha float64) Estimate {
	e, se := meanAndError(values, alpha)
	if se == 0 {
		return e
	}
	third := 0.
	for _, x := range values {
		off := x - *e.Value.Value
		third += off * off * off
	}
	n := float64(len(values))
	e.CI = SkewedInterval(*e.Value.Value, se, third/(n*n*n)/(se*se*se), n-1, alpha)
	return e
}

// SkewedInterval takes quantiles of t through Hall's cubic transformation of the t statistic, which removes the skewness g of the
// mean from it: T + gT²/3 + g²T³/27 + g/6. Hall 1992.
func SkewedInterval(mean, se, g, degrees, alpha float64) *Interval {
	t := StudentQuantile(alpha, degrees)
	end := func(t float64) float64 {
		if math.Abs(g) < 1e-7 {
			return mean - se*t
		}
		return mean - se*3/g*(math.Cbrt(1+g*(t-g/6))-1)
	}
	return NewInterval(end(t), end(-t))
}

// EndWeight is the weight of what [Moments.BoundedInterval] adds at each end.
const EndWeight = .5

// BoundedMeanInterval is the mean of independent values from low to high with [Moments.BoundedInterval], which equal values have, too.
// OutOfDomain for values that are not from low to high.
func BoundedMeanInterval(values []float64, low, high, alpha float64) Estimate {
	e, _ := meanAndError(values, alpha)
	if _, ok := e.Get(); !ok {
		return e
	}
	if slices.ContainsFunc(values, func(x float64) bool { return !(x >= low && x <= high) }) {
		return Estimate{Value: None(OutOfDomain)}
	}
	e.CI = momentsOf(values).BoundedInterval(low, high, alpha)
	return e
}

// Moments are sums over N values: of the values, of their squares and of their cubes.
type Moments struct{ N, Sum, Squares, Cubes float64 }

// MeanDifference is the mean of independent differences of scores from 0 to 1, with [BoundedMeanInterval]. Where [MeanInterval] shows a
// difference, the end that faces 0 is its own, or the one of differences that have one sign if that is nearer to 0: where nearly all
// differ as far as they can, the few others decide that end. Equal differences have [UnseenAround]. OutOfDomain for values that are not
// from -1 to 1.
func MeanDifference(differences []float64, alpha float64) Estimate {
	e, plain := BoundedMeanInterval(differences, -1, 1, alpha), MeanInterval(differences, alpha).CI
	switch {
	case e.CI == nil:
	case plain == nil:
		e.CI = UnseenAround(differences[0], len(differences), alpha)
	default:
		e.CI.Face(plain)
		switch m := momentsOf(differences); {
		case plain[0] > 0:
			if low := m.BoundedInterval(0, 1, alpha)[0]; low > 0 {
				e.CI[0] = min(e.CI[0], low)
			}
		case plain[1] < 0:
			if high := m.BoundedInterval(-1, 0, alpha)[1]; high < 0 {
				e.CI[1] = max(e.CI[1], high)
			}
		}
	}
	return e
}

func momentsOf(values []float64) (m Moments) {
	for _, x := range values {
		m.add(x, 1)
	}
	return m
}

func (m *Moments) add(x, weight float64) {
	m.N += weight
	m.Sum += weight * x
	m.Squares += weight * x * x
	m.Cubes += weight * x * x * x
}

// BoundedInterval is that of the mean of independent values from low to high: [SkewedInterval] with half a value at low and half a one at
// high beside the values. Values that look all alike say less than their variance does, since few of another kind need not be among
// them. Nil for fewer than two values. The weight was chosen by measurement: docs/measurements/statistics.md.
func (m Moments) BoundedInterval(low, high, alpha float64) *Interval {
	values, mean := m.N, m.Sum/m.N
	if !(values >= 2) || !Finite(m.Sum, m.Squares, m.Cubes) || !Level(alpha) {
		return nil
	}
	m.add(low, EndWeight)
	m.add(high, EndWeight)
	center, se, cubes := m.central()
	ci := SkewedInterval(center, se, cubes/(se*se*se), values-1, alpha)
	if ci == nil {
		return nil
	}
	return NewInterval(max(low, min(mean, ci[0])), min(high, max(mean, ci[1])))
}

// central is the mean with its standard error and its third central moment.
func (m Moments) central() (mean, se, cubes float64) {
	mean = m.Sum / m.N
	squares := m.Squares - m.N*mean*mean
	cubes = m.Cubes - 3*mean*m.Squares + 3*mean*mean*m.Sum - m.N*mean*mean*mean
	return mean, math.Sqrt(squares / (m.N - 1) / m.N), cubes / (m.N * m.N * m.N)
}

// meanAndError returns the mean, and its standard error: 0 if there is none, which the flag explains.
func meanAndError(values []float64, alpha float64) (Estimate, float64) {
	switch {
	case len(values) == 0:
		return Estimate{Value: None(TooFew)}, 0
	case !Finite(values...) || !Level(alpha):
		return Estimate{Value: None(OutOfDomain)}, 0
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	e := Estimate{Value: Some(mean)}
	switch {
	case e.Value.Value == nil:
	case len(values) == 1:
		e.Flag = TooFew
	case Constant(values):
		e.Value.Value, e.Flag = NewNumber(values[0]), NoVariation // without the rounding of the mean
	case !Finite(deviation) || deviation == 0:
		e.Flag = OutOfDomain
	default:
		return e, stat.StdErr(deviation, float64(len(values)))
	}
	return e, 0
}

// Clustered is the mean of values that come in clusters, such as the repeats of an item.
type Clustered struct {
	Value
	// SE is the clustered standard error of the mean.
	SE *float64
}

// ClusteredMean has the standard error √(C/(C-1) Σ_c (Σ_{i in c} (x_i - mean))²) / n over C clusters. TooFew with less than 2 clusters
// that have a value, NoVariation and no standard errors if all values are equal. Miller 2024, arXiv 2411.00640.
func ClusteredMean(clusters [][]float64) Clustered {
	var all []float64
	filled := 0
	for _, cluster := range clusters {
		all = append(all, cluster...)
		if len(cluster) > 0 {
			filled++
		}
	}
	switch {
	case !Finite(all...):
		return Clustered{Value: None(OutOfDomain)}
	case filled < 2:
		return Clustered{Value: None(TooFew)}
	}
	mean := stat.Mean(all, nil)
	result := Clustered{Value: Some(mean)}
	if Constant(all) {
		result.Flag = NoVariation
		return result
	}
	sum := 0.
	for _, cluster := range clusters {
		off := 0.
		for _, x := range cluster {
			off += x - mean
		}
		sum += off * off
	}
	n, c := float64(len(all)), float64(filled)
	result.SE = NewNumber(math.Sqrt(c/(c-1)*sum) / n)
	return result
}

// Face takes the end that faces 0 from an interval without 0.
func (i *Interval) Face(plain *Interval) {
	switch {
	case plain[0] > 0:
		i[0] = plain[0]
	case plain[1] < 0:
		i[1] = plain[1]
	}
}

// UnseenAround is the interval of a mean difference d of n items if as many as [PairedProportions] allows for, of which none is in the
// sample, have the differences farthest from it.
func UnseenAround(d float64, n int, alpha float64) *Interval {
	others := PairedProportions(0, 0, n, alpha)
	return NewInterval(d-others[1]*(1+d), d+others[1]*(1-d))
}
