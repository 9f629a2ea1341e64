package stats

import (
	"math"
	"slices"
)

// Weights says how much two categories of an ordinal scale agree, by their places i and j among its q categories.
type Weights string

// Weights of disagreements.
const (
	// Identity: 1 if equal, else 0; for nominal scales.
	Identity Weights = "identity"
	// Linear: 1 - |i-j|/(q-1).
	Linear Weights = "linear"
)

func (w Weights) of(i, j, q int) float64 {
	if i == j {
		return 1
	}
	if w == Linear {
		return 1 - math.Abs(float64(i-j))/float64(q-1)
	}
	return 0
}

// Counts has, for each item, how many raters chose each category. Items may have different numbers of ratings.
type Counts [][]int

// CountRatings counts ratings[item][rater] on a scale of ascending categories. NaN is a missing rating. Without a scale it is what
// was observed; weights by place need the full scale. The flag is OutOfDomain for a rating that the scale has not, else empty.
func CountRatings(ratings [][]float64, scale []float64) (Counts, Flag) {
	places, flag := placesOf(ratings, scale)
	if flag != "" {
		return nil, flag
	}
	counts := make(Counts, len(ratings))
	for i, row := range ratings {
		counts[i] = make([]int, len(places))
		for _, x := range row {
			if !math.IsNaN(x) {
				counts[i][places[x]]++
			}
		}
	}
	return counts, ""
}

// placesOf returns the place of each category on the scale.
func placesOf(ratings [][]float64, scale []float64) (map[float64]int, Flag) {
	if scale == nil {
		scale = distinct(ratings)
	}
	places := make(map[float64]int, len(scale))
	for i, x := range scale {
		if !Finite(x) || i > 0 && x <= scale[i-1] {
			return nil, OutOfDomain
		}
		places[x] = i
	}
	for _, row := range ratings {
		for _, x := range row {
			if _, ok := places[x]; !ok && !math.IsNaN(x) {
				return nil, OutOfDomain
			}
		}
	}
	return places, ""
}

// distinct returns the ratings that occur, ascending, without NaN.
func distinct(ratings [][]float64) []float64 {
	var all []float64
	for _, row := range ratings {
		for _, x := range row {
			if !math.IsNaN(x) {
				all = append(all, x)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// margins are what agreement is computed from.
type margins struct {
	// q is the number of categories, n2 the number of items with two or more ratings.
	q, n2 int
	// agree is the mean pairwise agreement of those items.
	agree float64
	// share is, by category, the mean over items of the share of the item's ratings.
	share []float64
	// varied reports whether two categories occur.
	varied bool
}

// contribution is that of one item to margins. share is nil without a rating.
type contribution struct {
	agree  float64
	paired bool
	share  []float64
}

func (c Counts) contributions(w Weights) ([]contribution, Flag) {
	items := make([]contribution, len(c))
	for i, row := range c {
		if len(row) != len(c[0]) || slices.ContainsFunc(row, func(n int) bool { return n < 0 }) {
			return nil, OutOfDomain
		}
		total := 0
		for _, n := range row {
			total += n
		}
		if total == 0 {
			continue
		}
		items[i].share, items[i].paired = make([]float64, len(row)), total > 1
		agree := 0.
		for k, n := range row {
			items[i].share[k] = float64(n) / float64(total)
			if n == 0 {
				continue
			}
			weighted := 0.
			for l, other := range row {
				weighted += w.of(k, l, len(row)) * float64(other)
			}
			agree += float64(n) * (weighted - 1)
		}
		if items[i].paired {
			items[i].agree = agree / (float64(total) * float64(total-1))
		}
	}
	return items, ""
}

// marginsOf are those of the chosen items.
func marginsOf(items []contribution, chosen []int) (margins, Flag) {
	var m margins
	rated := 0
	for _, i := range chosen {
		item := &items[i]
		if item.share == nil {
			continue
		}
		if m.share == nil {
			m.q, m.share = len(item.share), make([]float64, len(item.share))
		}
		rated++
		for k, p := range item.share {
			m.share[k] += p
		}
		if item.paired {
			m.n2++
			m.agree += item.agree
		}
	}
	if m.n2 == 0 {
		return margins{}, TooFew
	}
	m.agree /= float64(m.n2)
	occur := 0
	for k := range m.share {
		m.share[k] /= float64(rated)
		if m.share[k] > 0 {
			occur++
		}
	}
	m.varied = occur > 1
	return m, ""
}

// weightSum is the sum of the weights of all pairs of categories.
func weightSum(w Weights, q int) float64 {
	sum := 0.
	for k := range q {
		for l := range q {
			sum += w.of(k, l, q)
		}
	}
	return sum
}

// corrected is (agree-chance)/(1-chance).
func corrected(agree, chance float64) Value {
	if 1-chance < 1e-12 {
		return None(NoVariation)
	}
	return Some((agree - chance) / (1 - chance))
}
