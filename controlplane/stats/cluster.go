package stats

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// ClusteredInterval is the mean of values that come in clusters, with an interval that counts it: [ShareInterval] for values of 0 and
// 1, with the number of independent values that these are worth; for others from 0 to 1 [SkewedInterval] with C-1 degrees of freedom of
// [WithEnds] with clusters of the average size, which for clusters of one value is [BoundedMeanInterval]; else Student's t with C-1
// degrees of freedom of [ClusteredMean]'s standard error. Flags are those of ClusteredMean.
func ClusteredInterval(clusters [][]float64, alpha float64) Estimate {
	var all []float64
	filled, binary, unit := 0, true, true
	for _, cluster := range clusters {
		if len(cluster) > 0 {
			filled++
		}
		for _, x := range cluster {
			all = append(all, x)
			binary = binary && (x == 0 || x == 1)
			unit = unit && Probability(x)
		}
	}
	if !Level(alpha) {
		return Estimate{Value: None(OutOfDomain)}
	}
	if filled < 2 && Finite(all...) { // a mean, but no variance between clusters
		e := Estimate{Value: None(TooFew)}
		if len(all) > 0 {
			e.Value = Value{NewNumber(stat.Mean(all, nil)), TooFew}
		}
		return e
	}
	m := ClusteredMean(clusters)
	e := Estimate{Value: m.Value}
	mean, ok := m.Get()
	n, c := float64(len(all)), float64(filled)
	switch {
	case !ok:
	case binary:
		mean = max(0, min(1, mean))
		worth := n
		if filled < len(all) {
			worth = Independent(clusters, n)
		}
		e.CI = ShareInterval(mean*worth, worth, alpha)
	case unit:
		center, se, skew := WithEnds(clusters, 0, 1, EndWeight, averageSize(clusters))
		if ci := SkewedInterval(center, se, skew, c-1, alpha); ci != nil {
			e.CI = NewInterval(max(0, min(mean, ci[0])), min(1, max(mean, ci[1])))
		}
	case m.SE != nil && *m.SE > 0:
		half := StudentQuantile(alpha, c-1) * *m.SE
		e.CI = NewInterval(mean-half, mean+half)
	}
	return e
}

// Independent is the number of independent passes and failures that clusters are worth: the one that gives the mean the variance that it
// was found to have, from the number of clusters to the given one. The variance counts one more cluster that always passes, and one
// that never does: few that are broken for good need not be among them.
func Independent(clusters [][]float64, most float64) float64 {
	filled := 0.
	for _, cluster := range clusters {
		filled += min(1, float64(len(cluster)))
	}
	p, se, _ := WithEnds(clusters, 0, 1, 1, averageSize(clusters))
	// Clusters that are all equal are worth their number, without the two more.
	return max(filled, min(most, p*(1-p)/(se*se)*filled/(filled+1)))
}

// WithEnds is the mean of values from low to high that come in clusters, with its standard error and skewness, after a cluster of the
// given weight and size was added at each end.
func WithEnds(clusters [][]float64, low, high, weight, size float64) (center, se, skew float64) {
	var n, sum, filled float64
	for _, cluster := range clusters {
		n += float64(len(cluster))
		sum += floats.Sum(cluster)
		filled += min(1, float64(len(cluster)))
	}
	n, filled = n+2*weight*size, filled+2*weight
	center = (sum + weight*size*(low+high)) / n
	var squares, cubes float64
	add := func(off, weight float64) {
		squares += weight * off * off
		cubes += weight * off * off * off
	}
	for _, cluster := range clusters {
		off := 0.
		for _, x := range cluster {
			off += x - center
		}
		add(off, 1)
	}
	add((low-center)*size, weight)
	add((high-center)*size, weight)
	se = math.Sqrt(filled/(filled-1)*squares) / n
	return center, se, cubes / (n * n * n) / (se * se * se)
}

// averageSize is how many values a cluster has that has any.
func averageSize(clusters [][]float64) float64 {
	values, filled := 0., 0.
	for _, cluster := range clusters {
		values += float64(len(cluster))
		filled += min(1, float64(len(cluster)))
	}
	return values / filled
}

// ClusteredSpearman is [Spearman] of values that come in clusters. Its interval is that of the number of independent pairs that
// these are worth: n by the design effect of the products z_x z_y - r/2 (z_x²+z_y²) of standardized ranks, which say how much each pair
// moves r, where that is above 1.
func ClusteredSpearman(x, y []float64, clusters []int) Estimate {
	e := Spearman(x, y)
	r, ok := e.Get()
	if !ok || e.CI == nil {
		return e
	}
	members, flag := clustered(len(x), clusters)
	if flag != "" {
		return Estimate{Value: None(flag)}
	}
	if members == nil {
		return e
	}
	a := ranksOf(x)
	b := ranksOf(y)
	standardize(a)
	standardize(b)
	naive, byCluster := 0., 0.
	for _, cluster := range members {
		sum := 0.
		for _, i := range cluster {
			u := a[i]*b[i] - r/2*(a[i]*a[i]+b[i]*b[i])
			naive += u * u
			sum += u
		}
		byCluster += sum * sum
	}
	if len(members) < 4 || !(naive > 0) {
		e.CI = nil
		return e
	}
	n := float64(len(x)) / max(1, byCluster/naive)
	if n <= 3 {
		e.CI = nil
		return e
	}
	half := z95 * math.Sqrt((1+r*r/2)/(n-3))
	z := math.Atanh(r)
	e.CI = NewInterval(math.Tanh(z-half), math.Tanh(z+half))
	return e
}

func standardize(values []float64) {
	mean := stat.Mean(values, nil)
	squares := 0.
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	deviation := math.Sqrt(squares / float64(len(values)))
	for i := range values {
		values[i] = (values[i] - mean) / deviation
	}
}
