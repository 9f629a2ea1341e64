package compare

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// sample has the mean scores of paired items.
type sample struct {
	accounting        Accounting
	a, b, differences []float64
	// repeatsA and repeatsB have the variance within items.
	repeatsA, repeatsB repeats
	// outside reports a score that is infinite or overflows. binary says that all scores are 0 or 1, unit that they are in [0, 1],
	// single that each item has one repeat a side, and amounts that they are amounts and no scores.
	outside, binary, unit, single, amounts bool
	// groups has the places of items that belong together, those that belong to no other alone; nil if no two do.
	groups [][]int
	// distinct has the different scores, up to one more than a scale of grades has.
	distinct []float64
}

// repeats pools the variance within items that have several repeats.
type repeats struct {
	// scores counts all repeats; inverse is the sum over items of 1/repeats; squares and degrees are of the variance within items.
	scores                    int
	inverse, squares, degrees float64
}

// variance of a single repeat, nil if no item has two.
func (r repeats) variance() *float64 {
	if r.degrees == 0 {
		return nil
	}
	return stats.NewNumber(r.squares / r.degrees)
}

func readSample(items []Paired, amounts bool) sample {
	s := sample{
		a: make([]float64, 0, len(items)), b: make([]float64, 0, len(items)), differences: make([]float64, 0, len(items)),
		binary: !amounts, unit: !amounts, single: true, amounts: amounts,
	}
	var scoresA, scoresB []float64
	var groups []int
	for _, item := range items {
		scoresA, scoresB = withoutMissing(scoresA[:0], item.A), withoutMissing(scoresB[:0], item.B)
		switch {
		case len(scoresA) == 0 && len(scoresB) == 0:
			s.accounting.Neither++
			continue
		case len(scoresA) == 0:
			s.accounting.OnlyB++
			continue
		case len(scoresB) == 0:
			s.accounting.OnlyA++
			continue
		}
		s.accounting.Paired++
		a, b := s.add(&s.repeatsA, scoresA), s.add(&s.repeatsB, scoresB)
		s.a, s.b, s.differences = append(s.a, a), append(s.b, b), append(s.differences, difference(a, b))
		groups = append(groups, item.Group)
	}
	s.group(groups)
	s.level()
	// Squares of the scores must be numbers, too.
	s.outside = s.outside || len(s.a) > 1 && !stats.Finite(stat.Variance(s.a, nil), stat.Variance(s.b, nil), stat.Variance(s.differences, nil))
	return s
}

// group reads which items belong together.
func (s *sample) group(of []int) {
	places := map[int]int{}
	var groups [][]int
	for i, group := range of {
		place, ok := places[group]
		if !ok || group == 0 {
			place = len(groups)
			places[group] = place
			groups = append(groups, nil)
		}
		groups[place] = append(groups[place], i)
	}
	if len(groups) < len(of) {
		s.groups = groups
	}
}

// grouped returns values by group.
func (s *sample) grouped(values []float64) [][]float64 {
	clusters := make([][]float64, len(s.groups))
	for g, members := range s.groups {
		for _, i := range members {
			clusters[g] = append(clusters[g], values[i])
		}
	}
	return clusters
}

// rounding is the part of a score that the rounding of scores and of their means may be. What is not more is no difference.
const rounding = 1e-12

func difference(a, b float64) float64 {
	if d := b - a; math.Abs(d) > rounding*max(math.Abs(a), math.Abs(b)) {
		return d
	}
	return 0
}

// level makes differences equal that only rounding tells apart: a variance of nothing else would decide everything.
func (s *sample) level() {
	largest := 0.
	for i := range s.a {
		largest = max(largest, math.Abs(s.a[i]), math.Abs(s.b[i]))
	}
	if len(s.differences) == 0 || !(slices.Max(s.differences)-slices.Min(s.differences) <= rounding*largest) {
		return
	}
	for i := range s.differences {
		s.differences[i] = s.differences[0]
	}
}

func withoutMissing(into, scores []float64) []float64 {
	for _, x := range scores {
		if !math.IsNaN(x) {
			into = append(into, x)
		}
	}
	return into
}

// add reads the scores of an item and a side, and returns their mean.
func (s *sample) add(r *repeats, scores []float64) float64 {
	for _, x := range scores {
		s.binary = s.binary && (x == 0 || x == 1)
		s.unit = s.unit && stats.Probability(x)
		s.outside = s.outside || math.IsInf(x, 0)
		if len(s.distinct) <= grades && !slices.Contains(s.distinct, x) {
			s.distinct = append(s.distinct, x)
		}
	}
	n := float64(len(scores))
	r.scores += len(scores)
	r.inverse += 1 / n
	if len(scores) == 1 {
		return scores[0]
	}
	s.single = false
	mean := stat.Mean(scores, nil)
	if stats.Constant(scores) {
		mean = scores[0] // without rounding, so that equal items stay equal
	}
	for _, x := range scores {
		r.squares += (x - mean) * (x - mean)
	}
	r.degrees += n - 1
	return mean
}

func (s *sample) differing() int {
	n := 0
	for _, d := range s.differences {
		if d != 0 {
			n++
		}
	}
	return n
}

// side is the mean of one side with its interval.
func (s *sample) side(means []float64, r repeats, alpha float64) stats.Estimate {
	switch {
	case s.amounts && heavyTailed(means):
		return stats.Estimate{Value: stats.Some(stat.Mean(means, nil))}
	case s.groups != nil:
		low := math.Inf(-1)
		if s.unit {
			low = 0
		}
		return s.groupMean(means, low, 1, alpha)
	case s.binary:
		p := min(1, stat.Mean(means, nil))
		n := s.effective(means, r)
		return stats.Estimate{Value: stats.Some(p), CI: stats.ShareInterval(p*n, n, alpha)}
	case s.unit:
		return stats.BoundedMeanInterval(means, 0, 1, alpha)
	}
	return stats.SkewedMeanInterval(means, alpha)
}

// heavyTailed reports whether rare large amounts may decide the mean, so that no interval of these items would cover it: they are not
// seen among few items, and where they are, the largest has so much of the total that the mean is not near normal.
func heavyTailed(amounts []float64) bool {
	const few = 100
	n := len(amounts)
	return !stats.Constant(amounts) && (n < few || floats.Max(amounts)*math.Sqrt(float64(n)) > floats.Sum(amounts))
}

// effective is the number of independent outcomes that the repeats of all items are worth, each item counting the same.
func (s *sample) effective(means []float64, r repeats) float64 {
	if s.single {
		return float64(len(means))
	}
	items := make([][]float64, len(means))
	for i := range means {
		items[i] = means[i : i+1]
	}
	return stats.Independent(items, float64(r.scores))
}

// interval is that of the mean difference. Of scores from 0 to 1 it is [BoundedMeanInterval], but where [MeanInterval] shows a difference
// its end that faces 0 stays: the items at both ends guard against effects of few items that are larger than what was seen.
func (s *sample) interval(alpha float64) *stats.Interval {
	if len(s.differences) < 2 {
		return nil
	}
	if s.groups != nil {
		return s.groupInterval(alpha)
	}
	plain := stats.MeanInterval(s.differences, alpha).CI
	switch {
	case s.pairs():
		b, c := s.discordant()
		return stats.PairedProportions(b, c, len(s.differences), alpha)
	case !s.unit:
		return plain
	}
	return stats.MeanDifference(s.differences, alpha).CI
}

// groupInterval is [sample.interval] where items belong together.
func (s *sample) groupInterval(alpha float64) *stats.Interval {
	if stats.Constant(s.differences) {
		if s.unit && len(s.groups) > 1 {
			return s.unseen(alpha)
		}
		return nil
	}
	plain := s.groupMean(s.differences, math.Inf(-1), 0, alpha).CI
	if plain == nil || !s.unit {
		return plain
	}
	ci := s.groupMean(s.differences, -1, 1, alpha).CI
	ci.Face(plain)
	return ci
}

// groupMean is the mean of values by item with an interval by Student's t, with one degree of freedom less than there are groups: of
// [ClusteredMean]'s standard error, or with half an item at low and at high beside the items if low is finite.
func (s *sample) groupMean(values []float64, low, high, alpha float64) stats.Estimate {
	clusters, degrees := s.grouped(values), float64(len(s.groups)-1)
	m := stats.ClusteredMean(clusters)
	e := stats.Estimate{Value: m.Value}
	mean, ok := m.Get()
	switch {
	case !ok || degrees < 1:
	case stats.Finite(low):
		center, se, skew := stats.WithEnds(clusters, low, high, stats.EndWeight, 1)
		if ci := stats.SkewedInterval(center, se, skew, degrees, alpha); ci != nil {
			e.CI = stats.NewInterval(max(low, min(mean, ci[0])), min(high, max(mean, ci[1])))
		}
	case m.SE != nil && *m.SE > 0:
		half := stats.StudentQuantile(alpha, degrees) * *m.SE
		e.CI = stats.NewInterval(mean-half, mean+half)
	}
	if !ok && len(values) > 0 {
		e.Value = stats.Some(stat.Mean(values, nil)) // of one group
	}
	return e
}

// margin is the interval of the mean difference for a claim that nothing is lost beyond a margin: it is not narrower than what these items
// could not show at the level unseen.
func (s *sample) margin(alpha, unseen float64) *stats.Interval {
	if !s.unit || s.pairs() && s.groups == nil || stats.Constant(s.differences) {
		return s.interval(alpha)
	}
	ci, others := stats.BoundedMeanInterval(s.differences, -1, 1, alpha).CI, s.unseen(unseen)
	if s.groups != nil {
		if ci = s.groupInterval(alpha); ci == nil {
			return nil
		}
	}
	return stats.NewInterval(min(ci[0], others[0]), max(ci[1], others[1]))
}

// pairs reports whether each item has one pass or failure a side.
func (s *sample) pairs() bool { return s.binary && s.single }

// unseen is [stats.UnseenAround] of the items, or of their groups.
func (s *sample) unseen(alpha float64) *stats.Interval {
	d := stat.Mean(s.differences, nil)
	if stats.Constant(s.differences) {
		d = s.differences[0] // without rounding
	}
	units := len(s.differences)
	if s.groups != nil {
		units = len(s.groups)
	}
	return stats.UnseenAround(d, units, alpha)
}

// discordant counts the items that only B and that only A passed, of binary scores with one repeat.
func (s *sample) discordant() (b, c int) {
	for _, d := range s.differences {
		switch {
		case d > 0:
			b++
		case d < 0:
			c++
		}
	}
	return b, c
}

// phi is the correlation of both sides' outcomes; of a side that always passes or fails there is none, and it does not matter.
func (s *sample) phi(b, c int) float64 {
	n := float64(len(s.a))
	pa, pb := stat.Mean(s.a, nil), stat.Mean(s.b, nil)
	spread := math.Sqrt(pa * (1 - pa) * pb * (1 - pb))
	if spread == 0 {
		return 0
	}
	return max(-1, min(1, ((pa+pb-float64(b+c)/n)/2-pa*pb)/spread))
}

// test sets the p value.
func (s *sample) test(d *Difference, seed uint64) {
	switch {
	case s.groups != nil:
		d.Test = ClusteredTest
		m := stats.ClusteredMean(s.grouped(s.differences))
		if m.SE != nil && *m.SE > 0 {
			t := distuv.StudentsT{Sigma: 1, Nu: float64(len(s.groups) - 1)}
			d.P = stats.NewNumber(2 * t.Survival(math.Abs(*m.Value.Value) / *m.SE))
		}
	case s.pairs():
		b, c := s.discordant()
		d.Test, d.P = McNemarExact, stats.McNemarTest(b, c).Value
	default:
		d.Test, d.P = SignFlipTest, stats.SignFlip(s.differences, seed).P.Value
	}
}

// variance splits the variance of differences. What repeats explain is left out of the items' part.
func (s *sample) variance() Variance {
	a, b := s.repeatsA.variance(), s.repeatsB.variance()
	if a == nil || b == nil || len(s.differences) < 2 {
		return Variance{}
	}
	n := float64(len(s.differences))
	between := stat.Variance(s.differences, nil) - *a*s.repeatsA.inverse/n - *b*s.repeatsB.inverse/n
	return Variance{Item: stats.NewNumber(max(0, between)), RepeatA: a, RepeatB: b}
}
