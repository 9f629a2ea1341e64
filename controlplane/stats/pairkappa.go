package stats

import (
	"math"
	"slices"
)

// PairKappa is the agreement of two raters beyond chance on values that need not be categories, such as the mean of several votes:
// 1 - Do/De, with Do the mean distance of the two values of an item, and De that of the values of any two items, one of each rater.
// The distance is 0 or 1 on the nominal scale, where this is Cohen's kappa; |x-y| on the ordinal scale, where it is Cohen's kappa with
// linear weights, values being places on the scale; (x-y)² on others, where it is Cohen's kappa with quadratic weights and Lin's
// concordance correlation. An item that one of them did not rate (NaN) is left out. The interval is BCa of the bootstrap over items.
// At most 1. NoVariation if De is 0, TooFew without an item, OutOfDomain for different lengths. Cohen 1968; Lin 1989.
func PairKappa(a, b []float64, scale Scale, options BootstrapOptions) Agreement {
	if len(a) != len(b) || options.Clusters != nil && len(options.Clusters) != len(a) {
		return Agreement{Estimate: Estimate{Value: None(OutOfDomain)}}
	}
	p := valuePairs{scale: scale}
	var kept, clusters []int
	for i := range a {
		if math.IsNaN(a[i]) || math.IsNaN(b[i]) {
			continue
		}
		if !Finite(a[i], b[i]) {
			return Agreement{Estimate: Estimate{Value: None(OutOfDomain)}}
		}
		kept = append(kept, i)
		if options.Clusters != nil {
			clusters = append(clusters, options.Clusters[i])
		}
		p.values = append(p.values, a[i], b[i])
	}
	if len(kept) == 0 {
		return Agreement{Estimate: Estimate{Value: None(TooFew)}}
	}
	slices.Sort(p.values)
	p.values = slices.Compact(p.values)
	p.places = make([][2]int32, len(kept))
	for n, i := range kept {
		x, _ := slices.BinarySearch(p.values, a[i])
		y, _ := slices.BinarySearch(p.values, b[i])
		p.places[n] = [2]int32{int32(x), int32(y)}
	}
	p.first, p.second = make([]float64, len(p.values)), make([]float64, len(p.values))
	options.Clusters = clusters
	e := Estimate{Value: p.of(allItems(len(kept)))}
	if e.Value.Value != nil {
		e.CI = Bootstrap(len(kept), p.of, options).BCa
	}
	return Agreement{e, len(kept)}
}

// valuePairs are the values of two raters by place among the different ones; first and second count them for one statistic.
type valuePairs struct {
	scale         Scale
	values        []float64
	places        [][2]int32
	first, second []float64
}

func (p *valuePairs) of(items []int) Value {
	if p.scale != NominalScale && p.scale != OrdinalScale {
		return p.ofNumbers(items)
	}
	clear(p.first)
	clear(p.second)
	observed := 0.
	for _, i := range items {
		x, y := p.places[i][0], p.places[i][1]
		p.first[x]++
		p.second[y]++
		if x != y {
			observed += p.distance(p.values[x], p.values[y])
		}
	}
	n := float64(len(items))
	expected := p.expected(n)
	if !(expected > 0) {
		return None(NoVariation)
	}
	return Some(1 - observed*n/expected)
}

func (p *valuePairs) distance(x, y float64) float64 {
	if p.scale == NominalScale {
		return 1
	}
	return math.Abs(x - y)
}

// expected is the sum of the distances of all pairs of a value of the first rater and one of the second.
func (p *valuePairs) expected(n float64) float64 {
	sum := 0.
	if p.scale == NominalScale {
		sum = n * n
		for k, count := range p.first {
			sum -= count * p.second[k]
		}
		return sum
	}
	f, g := 0., 0. // the integral of F(1-G) + G(1-F)
	for k := range len(p.values) - 1 {
		f += p.first[k]
		g += p.second[k]
		sum += (f*(n-g) + g*(n-f)) * (p.values[k+1] - p.values[k])
	}
	return sum
}

// ofNumbers has squared distances. It counts no values, of which there may be as many as items.
func (p *valuePairs) ofNumbers(items []int) Value {
	centre := p.values[len(p.values)/2] // for the precision of squares
	var observed, squares, x, y float64
	low, high := int32(math.MaxInt32), int32(-1)
	for _, i := range items {
		places := p.places[i]
		low, high = min(low, places[0], places[1]), max(high, places[0], places[1])
		a, b := p.values[places[0]]-centre, p.values[places[1]]-centre
		observed += (a - b) * (a - b)
		x += a
		y += b
		squares += a*a + b*b
	}
	n := float64(len(items))
	expected := n*squares - 2*x*y
	if low >= high || !(expected > 0) {
		return None(NoVariation)
	}
	return Some(1 - observed*n/expected)
}
