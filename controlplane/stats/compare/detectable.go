package compare

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// minimumDetectable is what the test could find.
func (s *sample) minimumDetectable(alpha float64) *float64 {
	n := len(s.differences)
	switch {
	case s.groups != nil:
		if m := stats.ClusteredMean(s.grouped(s.differences)); m.SE != nil && *m.SE > 0 {
			return s.scale().detectable(*m.SE**m.SE*float64(n), n, alpha, power).Value
		}
	case s.pairs():
		b, c := s.discordant()
		return stats.MinimumDetectableMcNemar(stat.Mean(s.a, nil), s.phi(b, c), n, alpha, power).Value
	case n > 1:
		return s.scale().detectable(stat.Variance(s.differences, nil), n, alpha, power).Value
	}
	return nil
}

// scale is where scores of side A lie between the ends of their scale, which are infinite if it has none.
type scale struct {
	low, high, mean float64
	// a and b are the variances of both sides' means of items.
	a, b float64
	// graded says that scores are grades.
	graded bool
}

func (s *sample) scale() scale {
	low, high := s.ends()
	return scale{low, high, stat.Mean(s.a, nil), stat.Variance(s.a, nil), stat.Variance(s.b, nil), len(s.distinct) <= grades}
}

// detectable is the minimum detectable difference of scores of n items whose differences have a variance. On a scale with ends the
// variance grows as a mean m moves away from its end: that of grades as m(1-m), that of other scores, whose logits vary, as (m(1-m))².
// What is stated counts that, for the direction with more room and with the correlation of both sides as it is.
func (c scale) detectable(variance float64, n int, alpha, power float64) stats.Value {
	delta := stats.MinimumDetectable(math.Sqrt(variance), n, alpha, power)
	m := (c.mean - c.low) / (c.high - c.low)
	if delta.Value == nil || !(m > 0 && m < 1) || !(c.a > 0) {
		if delta.Value != nil && *delta.Value > c.high-c.low {
			return stats.None(stats.TooFew)
		}
		return delta
	}
	room := max(m, 1-m)
	r := (c.a + c.b - variance) / 2 / c.a // of a regression of B on A
	for range 30 {                        // to a fixed point
		moved := room - min(room, *delta.Value/(c.high-c.low))
		grows := moved * (1 - moved) / (m * (1 - m)) // of the standard deviation
		if c.graded {
			grows = math.Sqrt(grows)
		}
		more := c.a * ((grows*grows - 1) - 2*r*(grows-1))
		delta = stats.MinimumDetectable(math.Sqrt(max(variance, variance+more)), n, alpha, power)
	}
	if delta.Value != nil && *delta.Value > room*(c.high-c.low) {
		return stats.None(stats.TooFew)
	}
	return delta
}

// grades is the number of different scores up to which they are grades of a scale, which ends at the lowest and the highest of them.
const grades = 11

// ends are those of the scale of the scores; infinite if it has none.
func (s *sample) ends() (low, high float64) {
	switch {
	case s.unit:
		return 0, 1
	case len(s.distinct) <= grades:
		return slices.Min(s.distinct), slices.Max(s.distinct)
	}
	return math.Inf(-1), math.Inf(1)
}

// ceiling is the next whole number, nil for one that no data set has.
func ceiling(v stats.Value) *int {
	x, ok := v.Get()
	if !ok || x > 1e9 {
		return nil
	}
	n := int(math.Ceil(x))
	return &n
}
