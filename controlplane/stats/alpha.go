package stats

import (
	"math"
	"slices"
)

// Scale is a scale of measurement. It decides how far apart two ratings are.
type Scale string

// Scales. For n_g ratings of category g among all that can be paired, the squared distance of c and k is:
const (
	// NominalScale: 1 if they differ.
	NominalScale Scale = "nominal"
	// OrdinalScale: (Σ_{g=c..k} n_g - (n_c+n_k)/2)².
	OrdinalScale Scale = "ordinal"
	// IntervalScale: (c-k)².
	IntervalScale Scale = "interval"
)

// remark returns the flag of a value of alpha: Unusable below .667, Tentative below .8, else none. Krippendorff, Content Analysis.
func (s Scale) remark(alpha float64) Flag {
	switch {
	case alpha < 2./3:
		return Unusable
	case alpha < .8:
		return Tentative
	}
	return ""
}

// KrippendorffInterval is Krippendorff's alpha of ratings[item][rater], NaN where one is missing: 1 - Do/De with
// Do = 1/N Σ_u 1/(m_u-1) Σ_{a≠b in u} d²(a,b) and De = 1/(N(N-1)) Σ_{c,k} n_c n_k d²(c,k), over the N ratings of items with m_u >= 2.
// It is at most 1, and below 0 for systematic disagreement. NoVariation if De is 0, TooFew without an item of two ratings, OutOfDomain
// for infinite ratings. Its flag says what it is good for: Unusable, Tentative or none. Its interval is over items, or over clusters
// of them. On the nominal and the ordinal scale that has a closed form, on numbers it is BCa of the bootstrap. Krippendorff 2011.
func KrippendorffInterval(ratings [][]float64, scale Scale, options BootstrapOptions) Estimate {
	prepared, flag := prepareAlpha(ratings, scale)
	if flag != "" {
		return Estimate{Value: None(flag)}
	}
	e := Estimate{Value: prepared.of(allItems(len(prepared.rows)))}
	alpha, ok := e.Get()
	if !ok || options.Clusters != nil && len(options.Clusters) != len(ratings) {
		return e
	}
	if options.Clusters != nil {
		own := make([]int, len(prepared.rows))
		for u, row := range prepared.rows {
			own[u] = options.Clusters[row]
		}
		options.Clusters = own
	}
	if scale == NominalScale || scale == OrdinalScale {
		e.CI = prepared.interval(alpha, options.Clusters, options.level())
	} else {
		e.CI = Bootstrap(len(prepared.rows), prepared.of, options).BCa
	}
	return e
}

// alphaData are ratings by place among the different ones, so that a resample needs no sorting.
type alphaData struct {
	scale Scale
	// ratings are those of each item with two or more of them, one after the other: the next begins at ends. rows has its number.
	ratings []int32
	ends    []int
	rows    []int
	values  []float64
}

func (a *alphaData) unit(u int) []int32 {
	start := 0
	if u > 0 {
		start = a.ends[u-1]
	}
	return a.ratings[start:a.ends[u]]
}

func prepareAlpha(ratings [][]float64, scale Scale) (*alphaData, Flag) {
	a := &alphaData{scale: scale, values: distinct(ratings)}
	if !Finite(a.values...) {
		return nil, OutOfDomain
	}
	for i, row := range ratings {
		start := len(a.ratings)
		for _, x := range row {
			if !math.IsNaN(x) {
				place, _ := slices.BinarySearch(a.values, x)
				a.ratings = append(a.ratings, int32(place))
			}
		}
		if len(a.ratings)-start > 1 {
			a.ends, a.rows = append(a.ends, len(a.ratings)), append(a.rows, i)
		} else {
			a.ratings = a.ratings[:start]
		}
	}
	if len(a.rows) == 0 {
		return nil, TooFew
	}
	return a, ""
}

// of is alpha of the given units.
func (a *alphaData) of(units []int) Value {
	if a.scale == IntervalScale {
		return a.ofNumbers(units)
	}
	counts := make([]float64, len(a.values))
	total := 0.
	for _, u := range units {
		unit := a.unit(u)
		for _, place := range unit {
			counts[place]++
		}
		total += float64(len(unit))
	}
	positions := a.positions(counts, total)
	expected := a.expected(counts, positions, total)
	if !(expected > 0) {
		return None(NoVariation)
	}
	observed := 0.
	for _, u := range units {
		unit := a.unit(u)
		apart := 0.
		for i, c := range unit {
			for _, k := range unit[:i] {
				if c != k {
					apart += a.distance(positions[c], positions[k])
				}
			}
		}
		observed += 2 * apart / float64(len(unit)-1)
	}
	return a.remarked(1 - (total-1)*observed/expected)
}

// ofNumbers is alpha of the given units on the interval scale. It counts no values, of which there may be as many as ratings.
func (a *alphaData) ofNumbers(units []int) Value {
	centre := a.values[len(a.values)/2] // for the precision of squares
	var total, sum, squares, observed float64
	low, high := int32(math.MaxInt32), int32(-1)
	for _, u := range units {
		unit := a.unit(u)
		apart := 0.
		for i, place := range unit {
			low, high = min(low, place), max(high, place)
			x := a.values[place]
			sum += x - centre
			squares += (x - centre) * (x - centre)
			for _, other := range unit[:i] {
				y := a.values[other]
				apart += (x - y) * (x - y)
			}
		}
		total += float64(len(unit))
		observed += 2 * apart / float64(len(unit)-1)
	}
	expected := 2 * (total*squares - sum*sum)
	if low >= high || !(expected > 0) {
		return None(NoVariation)
	}
	return a.remarked(1 - (total-1)*observed/expected)
}

// remarked is a value of alpha with what it is good for.
func (a *alphaData) remarked(x float64) Value {
	alpha := Some(x)
	if alpha.Value != nil {
		alpha.Flag = a.scale.remark(*alpha.Value)
	}
	return alpha
}

// positions are the places of the ratings on a line: for the ordinal scale the middle ranks, whose squared distance is that of the scale.
func (a *alphaData) positions(counts []float64, total float64) []float64 {
	positions := make([]float64, len(counts))
	below, mean := 0., 0.
	for k, n := range counts {
		positions[k] = a.values[k]
		if a.scale == OrdinalScale {
			positions[k] = below + n/2
		}
		below += n
		mean += n / total * positions[k]
	}
	for k := range positions {
		positions[k] -= mean
	}
	return positions
}

func (a *alphaData) distance(x, y float64) float64 {
	if a.scale == OrdinalScale {
		return (x - y) * (x - y)
	}
	if x == y {
		return 0
	}
	return 1
}

// expected is Σ n_c n_k d²(c,k).
func (a *alphaData) expected(counts, positions []float64, total float64) float64 {
	sum, squares := 0., 0.
	if a.scale == OrdinalScale {
		for k, n := range counts {
			sum += n * positions[k]
			squares += n * positions[k] * positions[k]
		}
		return 2 * (total*squares - sum*sum)
	}
	for _, n := range counts {
		squares += n * n
	}
	return total*total - squares
}

func allItems(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
