package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// MeanInterval is the mean of independent values with its interval by Student's t. alpha is 1 - confidence. Without an interval and with
// the flag NoVariation if all are equal, and TooFew for one. For differences between pairs, whose distribution is near symmetric.
func MeanInterval(values []float64, alpha float64) Estimate {
	e, se := meanAndError(values, alpha)
	if se == 0 {
		return e
	}
	half := studentQuantile(alpha, float64(len(values)-1)) * se
	e.CI = interval(*e.Value.Value-half, *e.Value.Value+half)
	return e
}

// StudentInterval is the interval of [MeanInterval] from the mean, the sample standard deviation and the number of values. It is nil for
// fewer than two.
func StudentInterval(mean, deviation float64, n int64, alpha float64) *Interval {
	if n < 2 || !(deviation >= 0) || !level(alpha) {
		return nil
	}
	half := studentQuantile(alpha, float64(n-1)) * deviation / math.Sqrt(float64(n))
	return interval(mean-half, mean+half)
}

// SkewedMeanInterval is [MeanInterval] for scores of one side, which are often skewed: quantiles of t through Hall's cubic transformation
// of the t statistic, which removes the skewness g from it: T + gT²/(3√n) + g²T³/(27n) + g/(6√n). Hall 1992.
func SkewedMeanInterval(values []float64, alpha float64) Estimate {
	e, se := meanAndError(values, alpha)
	if se == 0 {
		return e
	}
	n := float64(len(values))
	mean, third := *e.Value.Value, 0.
	deviation := se * math.Sqrt(n)
	for _, x := range values {
		standard := (x - mean) / deviation
		third += standard * standard * standard
	}
	g, t := third/n, studentQuantile(alpha, n-1)/math.Sqrt(n)
	end := func(x float64) float64 {
		if math.Abs(g) < 1e-6 {
			return mean - deviation*x
		}
		return mean - deviation*3/g*(math.Cbrt(1+g*(x-g/(6*n)))-1)
	}
	e.CI = interval(end(t), end(-t))
	return e
}

// meanAndError returns the mean, and its standard error: 0 if there is none, which the flag explains.
func meanAndError(values []float64, alpha float64) (Estimate, float64) {
	switch {
	case len(values) == 0:
		return Estimate{Value: none(TooFew)}, 0
	case !finite(values...) || !level(alpha):
		return Estimate{Value: none(OutOfDomain)}, 0
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	e := Estimate{Value: some(mean)}
	switch {
	case e.Value.Value == nil:
	case len(values) == 1:
		e.Flag = TooFew
	case constant(values):
		e.Value.Value, e.Flag = number(values[0]), NoVariation // without the rounding of the mean
	case !finite(deviation) || deviation == 0:
		e.Flag = OutOfDomain
	default:
		return e, stat.StdErr(deviation, float64(len(values)))
	}
	return e, 0
}

// Clustered is the mean of values that come in clusters, such as the repeats of an item.
type Clustered struct {
	Value
	// SE is the clustered standard error of the mean, Naive the one that takes all values as independent, and DesignEffect SE²/Naive²,
	// nil if Naive is 0.
	SE, Naive, DesignEffect *float64
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
	case !finite(all...):
		return Clustered{Value: none(OutOfDomain)}
	case filled < 2:
		return Clustered{Value: none(TooFew)}
	}
	mean, deviation := stat.MeanStdDev(all, nil)
	result := Clustered{Value: some(mean)}
	if constant(all) {
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
	se, naive := math.Sqrt(c/(c-1)*sum)/n, stat.StdErr(deviation, n)
	result.SE, result.Naive, result.DesignEffect = number(se), number(naive), number(se*se/(naive*naive))
	return result
}

// DesignEffect is Kish's 1+(m-1)ρ of clusters of m values with the intraclass correlation ρ; n values are worth n/DesignEffect.
// OutOfDomain unless m >= 1, -1 <= ρ <= 1 and the effect is above 0. Kish 1965.
func DesignEffect(m, rho float64) Value {
	effect := 1 + (m-1)*rho
	if !(m >= 1) || !(rho >= -1 && rho <= 1) || !(effect > 0) {
		return none(OutOfDomain)
	}
	return some(effect)
}
