package stats

import (
	"math"
	"slices"
)

// rareWeight is the weight of each of the two items that intervals of agreement count beside those that were rated.
const rareWeight = .5

// interval is that of alpha on the nominal and the ordinal scale. Where nearly all ratings are the same, few items decide alpha, and those
// that would have decided otherwise need not be among the ones that were drawn. So half an item whose ratings are all rare counts
// beside the others, and half one whose ratings split between rare and common: on the nominal scale the rarest and the commonest category,
// on the ordinal one the end that is farther from the mean, and the other. Of their alpha and its standard error by the infinitesimal
// jackknife it is Student's t of log(1-alpha) with C-1 degrees of freedom for C clusters, and wide enough for the alpha that was found.
// Nil for fewer than two clusters. Chosen by measurement: docs/measurements/statistics.md.
func (a *alphaData) interval(found float64, clusters []int, level float64) *Interval {
	members, flag := clustered(len(a.rows), clusters)
	switch {
	case flag != "":
		return nil
	case members == nil:
		members = make([][]int, len(a.rows))
		for u := range members {
			members[u] = []int{u}
		}
	}
	c := float64(len(members))
	if c < 2 {
		return nil
	}
	more, weights := a.withRare(rareWeight * float64(len(a.rows)) / c)
	center, slopes := more.slopes(weights)
	variance := 0.
	for _, cluster := range members {
		sum := 0.
		for _, u := range cluster {
			sum += slopes[u]
		}
		variance += sum * sum
	}
	for u := len(a.rows); u < len(slopes); u++ {
		off := slopes[u] * weights[u] / rareWeight
		variance += rareWeight * off * off
	}
	se := math.Sqrt(variance * (c + 1) / c)
	if !(se > 0) || !(center < 1) {
		return nil
	}
	by := math.Exp(StudentQuantile(level, c-1) * se / (1 - center))
	return NewInterval(min(found, max(-1, 1-(1-center)*by)), max(found, 1-(1-center)/by))
}

// withRare adds the two items of the given weight.
func (a *alphaData) withRare(weight float64) (more *alphaData, weights []float64) {
	counts := make([]int, len(a.values))
	most, sum := 0, 0
	for _, place := range a.ratings {
		counts[place]++
		sum += int(place)
	}
	for u := range a.rows {
		most = max(most, len(a.unit(u)))
	}
	rare, common := 0, len(counts)-1
	switch {
	case a.scale == NominalScale:
		for place, n := range counts {
			if n < counts[rare] {
				rare = place
			}
			if n > counts[common] {
				common = place
			}
		}
	case 2*sum < common*len(a.ratings):
		rare, common = common, rare
	}
	ratings, n := slices.Clone(a.ratings), len(a.ratings)
	for i := range 2 * most {
		place := rare
		if i >= most+most/2 {
			place = common
		}
		ratings = append(ratings, int32(place))
	}
	weights = slices.Repeat([]float64{1}, len(a.rows)+2)
	weights[len(a.rows)], weights[len(a.rows)+1] = weight, weight
	return &alphaData{
		scale: a.scale, values: a.values, ratings: ratings, ends: append(slices.Clone(a.ends), n+most, n+2*most), rows: append(slices.Clone(a.rows), -1, -1),
	}, weights
}

// slopes are alpha of weighted units on the nominal or the ordinal scale, and how much it moves with the weight of each of them.
func (a *alphaData) slopes(weights []float64) (alpha float64, slopes []float64) {
	q := len(a.values)
	counts, total := make([]float64, q), 0.
	for u, w := range weights {
		for _, place := range a.unit(u) {
			counts[place] += w
			total += w
		}
	}
	positions := a.positions(counts, total)
	expected := a.expected(counts, positions, total)
	observed, moved := 0., make([]float64, q) // by the position of a category
	apart := make([]float64, len(weights))
	for u, w := range weights {
		unit := a.unit(u)
		by := 2 / float64(len(unit)-1)
		for i, c := range unit {
			for _, k := range unit[:i] {
				if c == k {
					continue
				}
				apart[u] += by * a.distance(positions[c], positions[k])
				moved[c] += 2 * w * by * (positions[c] - positions[k])
				moved[k] += 2 * w * by * (positions[k] - positions[c])
			}
		}
		observed += w * apart[u]
	}
	ofObserved, ofExpected := make([]float64, q), make([]float64, q) // by the count of a category
	if a.scale == OrdinalScale {
		// A rating more moves the middle rank of its category by a half, and those above by one.
		squares, sum := 0., 0.
		for k, n := range counts {
			sum += n * positions[k]
			squares += n * positions[k] * positions[k]
		}
		above, aboveExpected := 0., 0.
		for k := q - 1; k >= 0; k-- {
			p := positions[k]
			ofPosition := 4 * counts[k] * (total*p - sum)
			ofObserved[k] = above + moved[k]/2
			ofExpected[k] = 2*(squares+total*p*p-2*sum*p) + aboveExpected + ofPosition/2
			above += moved[k]
			aboveExpected += ofPosition
		}
	} else {
		for k, n := range counts {
			ofExpected[k] = 2 * (total - n)
		}
	}
	slopes = make([]float64, len(weights))
	for u := range weights {
		unit := a.unit(u)
		o, e := apart[u], 0.
		for _, place := range unit {
			o += ofObserved[place]
			e += ofExpected[place]
		}
		slopes[u] = -(float64(len(unit))*observed + (total-1)*(o-observed/expected*e)) / expected
	}
	return 1 - (total-1)*observed/expected, slopes
}
