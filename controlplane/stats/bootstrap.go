package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// BootstrapOptions are the settings of a bootstrap. The zero value is 2000 resamples, 95%, seed 0 and no clusters.
type BootstrapOptions struct {
	Resamples int
	// Alpha is 1 - confidence.
	Alpha float64
	Seed  uint64
	// Clusters has the number of the cluster that each item belongs to, such as the repeats of one task: clusters are drawn whole, and
	// left out whole by the jackknife. Nil takes each item as a cluster of its own.
	Clusters []int
}

// level is the alpha of the options.
func (o *BootstrapOptions) level() float64 {
	if o.Alpha == 0 {
		return .05
	}
	return o.Alpha
}

// clustered returns the members of each cluster of n items, in the order of the first of each; nil if each item is its own cluster.
func clustered(n int, clusters []int) ([][]int, Flag) {
	if clusters == nil {
		return nil, ""
	}
	if len(clusters) != n {
		return nil, OutOfDomain
	}
	places := make(map[int]int, n)
	var members [][]int
	for i, c := range clusters {
		place, ok := places[c]
		if !ok {
			place = len(members)
			places[c] = place
			members = append(members, nil)
		}
		members[place] = append(members[place], i)
	}
	if len(members) == n {
		return nil, ""
	}
	return members, ""
}

// BootstrapResult has the intervals of a bootstrap over items. Keep the seed with them.
type BootstrapResult struct {
	// SE is the standard deviation over resamples.
	SE *float64
	// Percentile is the interval of the quantiles of resamples, BCa the bias-corrected and accelerated one. Nil without variation, or if
	// more than 5% of the resamples have no value.
	Percentile, BCa *Interval
	// Used counts the resamples in which the statistic has a value, Resamples all.
	Used, Resamples int
	Seed            uint64
	Flag            Flag
}

// jackknifeGroups bounds the work of the acceleration: more items than this are left out in groups of equal size, and in fewer
// groups where all of them together would read more than jackknifeWork items. The acceleration of so many is next to 0.
const (
	jackknifeGroups = 200
	fewestGroups    = 50
	jackknifeWork   = 4_000_000
)

// Bootstrap resamples n items with replacement; all ratings or repeats of an item stay together. The statistic gets the numbers of the
// drawn items and may keep nothing of them. With clusters, it draws as many of them as there are, each with all its items.
// TooFew with less than 2 items or clusters, NoVariation if it is the same for all resamples.
// Efron 1987; Efron and Tibshirani 1993, with the acceleration of the jackknife.
func Bootstrap(n int, statistic func(items []int) Value, options BootstrapOptions) BootstrapResult {
	if options.Resamples <= 0 {
		options.Resamples = 2000
	}
	options.Alpha = options.level()
	result := BootstrapResult{Resamples: options.Resamples, Seed: options.Seed}
	members, flag := clustered(n, options.Clusters)
	switch {
	case !Level(options.Alpha) || flag != "":
		result.Flag = OutOfDomain
		return result
	case n < 2 || members != nil && len(members) < 2:
		result.Flag = TooFew
		return result
	}
	observed, ok := statistic(allItems(n)).Get()
	if !ok {
		result.Flag = NoVariation
		return result
	}
	random := rand.New(rand.NewPCG(options.Seed, 0xb007)) //nolint:gosec // the same seed must give the same answer
	values := resample(n, members, options.Resamples, random.IntN, statistic)
	result.Used = len(values)
	if float64(result.Used) < .95*float64(result.Resamples) {
		result.Flag = NoVariation
		return result
	}
	slices.Sort(values)
	if values[0] == values[len(values)-1] {
		result.Flag = NoVariation
		return result
	}
	result.SE = NewNumber(stat.StdDev(values, nil))
	at := func(p float64) float64 { return stat.Quantile(p, stat.LinInterp, values, nil) }
	result.Percentile = NewInterval(at(options.Alpha/2), at(1-options.Alpha/2))
	below, equal := 0, 0
	for _, v := range values {
		if v < observed {
			below++
		} else if v == observed {
			equal++
		}
	}
	bias := distuv.UnitNormal.Quantile((float64(below) + float64(equal)/2) / float64(len(values)))
	if !Finite(bias) { // all resamples are on one side
		return result
	}
	acceleration, _ := jackknife(n, members, statistic)
	z := NormalQuantile(options.Alpha)
	end := func(z float64) float64 {
		return at(distuv.UnitNormal.CDF(bias + (bias+z)/(1-acceleration*(bias+z))))
	}
	result.BCa = NewInterval(end(-z), end(z))
	return result
}

// resample returns the values of the statistic that are defined. draw returns a number below n.
func resample(n int, members [][]int, times int, draw func(n int) int, statistic func(items []int) Value) []float64 {
	values, items := make([]float64, 0, times), make([]int, n)
	for range times {
		if members == nil {
			for i := range items {
				items[i] = draw(n)
			}
		} else {
			items = items[:0]
			for range members {
				items = append(items, members[draw(len(members))]...)
			}
		}
		if v, ok := statistic(items).Get(); ok {
			values = append(values, v)
		}
	}
	return values
}

// jackknife returns the acceleration Σ(θ̄-θ_i)³ / (6 (Σ(θ̄-θ_i)²)^(3/2)) and the standard error √((n-1)/n Σ(θ̄-θ_i)²) of a statistic,
// where θ_i leaves out a cluster, or an item without them. Above 200 items groups are left out instead of items, 200 or above 20,000 items
// fewer. Both are 0 if no value varies.
func jackknife(n int, members [][]int, statistic func(items []int) Value) (acceleration, se float64) {
	parts := n
	if members != nil {
		parts = len(members)
	}
	groups := min(parts, jackknifeGroups, max(fewestGroups, jackknifeWork/max(1, n)))
	var values []float64
	items := make([]int, 0, n)
	for g := range groups {
		items = items[:0]
		for i := range parts {
			switch {
			case i*groups/parts == g:
			case members == nil:
				items = append(items, i)
			default:
				items = append(items, members[i]...)
			}
		}
		if v, ok := statistic(items).Get(); ok {
			values = append(values, v)
		}
	}
	if len(values) < 2 {
		return 0, 0
	}
	mean := stat.Mean(values, nil)
	var squares, cubes float64
	for _, v := range values {
		squares += (mean - v) * (mean - v)
		cubes += (mean - v) * (mean - v) * (mean - v)
	}
	if squares == 0 || !Finite(squares, cubes) {
		return 0, 0
	}
	k := float64(len(values))
	return cubes / (6 * math.Pow(squares, 1.5)), math.Sqrt((k - 1) / k * squares)
}
