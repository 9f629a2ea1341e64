package compare

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// rangeAlpha is 1 less the confidence of forecasts: that of their variance.
const rangeAlpha = .2

// Range is a forecast, with what it is at the ends of the interval of 80% of the variance.
type Range struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// Count is a forecast of a number of items or repeats. Estimate and High are nil where no number is enough.
type Count struct {
	Low      int
	Estimate *int
	High     *int
}

// Noise is how much an item's difference between two sides varies, from which forecasts are made before there is a difference.
type Noise struct {
	// Variance is that of an item's mean difference.
	Variance Range
	// Split are the parts of the variance, nil if they are not known.
	Split Variance
	// Unit says that scores are from 0 to 1, Pairs that each item has one pass or failure on each side.
	Unit, Pairs bool
	// Mean is the mean score of both sides.
	Mean float64
	// each is how many items a group has on average.
	each  float64
	scale scale
}

// NoiseOf estimates the noise from paired items. It is false for fewer than two, and for amounts that do not vary.
func NoiseOf(items []Paired, amounts bool) (Noise, bool) {
	s := readSample(items, amounts)
	return s.noise()
}

// AssumedNoise is that of passes and failures with one repeat, of which from a share low to a share high differ between two sides.
func AssumedNoise(low, high, mean float64) Noise {
	own := mean * (1 - mean)
	return Noise{Variance: Range{(low + high) / 2, low, high}, Unit: true, Pairs: true, Mean: mean, each: 1, scale: scale{0, 1, mean, own, own, true}} //nolint:mnd // the middle
}

// noise is that of the sample. The interval of the variance is that of chi-squared with the degrees of freedom that the fourth moment of
// the differences leaves: 2n/(κ-1), at most n-1. Few items that differ tell little of how many others do. Satterthwaite 1946.
func (s *sample) noise() (Noise, bool) {
	n := float64(len(s.differences))
	if s.outside || n < 2 {
		return Noise{}, false
	}
	k := Noise{Split: s.variance(), Unit: s.unit, Pairs: s.pairs(), Mean: (stat.Mean(s.a, nil) + stat.Mean(s.b, nil)) / 2, each: 1, scale: s.scale()}
	variance, degrees := stat.Variance(s.differences, nil), n-1
	if stats.Constant(s.differences) || variance == 0 {
		if !s.unit {
			return Noise{}, false
		}
		k.Variance.High = stats.PairedProportions(0, 0, len(s.differences), rangeAlpha)[1]
		return k, true
	}
	if kurtosis := stat.Moment(4, s.differences, nil) / math.Pow(stat.Moment(2, s.differences, nil), 2); kurtosis > 1 {
		degrees = min(degrees, 2*n/(kurtosis-1))
	}
	if s.groups != nil {
		k.each = n / float64(len(s.groups))
		if m := stats.ClusteredMean(s.grouped(s.differences)); m.SE != nil && *m.SE > 0 {
			variance = *m.SE * *m.SE * n
		}
		degrees = max(1, min(degrees, float64(len(s.groups)-1)))
	}
	chi := distuv.ChiSquared{K: degrees}
	k.Variance = Range{variance, variance * degrees / chi.Quantile(1-rangeAlpha/2), variance * degrees / chi.Quantile(rangeAlpha/2)}
	if k.Pairs { // no difference is more than 1
		k.Variance.High = min(1, k.Variance.High)
	}
	return k, true
}

// With is the noise with a number of repeats on each side. Where the parts of the variance are not known, it may be all of repeats or none.
func (k Noise) With(repeats int) Noise {
	times := float64(repeats)
	if k.Split.Item == nil {
		if repeats > 1 {
			k.Variance.Low /= times
			k.Pairs = false
		}
		return k
	}
	k.Pairs = k.Pairs && repeats == 1
	return k.varying(*k.Split.Item + (*k.Split.RepeatA+*k.Split.RepeatB)/times)
}

// varying is the noise with another variance, whose interval is as wide in relation to it.
func (k Noise) varying(variance float64) Noise {
	if k.Variance.Estimate > 0 {
		times, less := variance/k.Variance.Estimate, (k.Variance.Estimate-variance)/2 //nolint:mnd // half of it is of each side
		k.Variance = Range{variance, k.Variance.Low * times, k.Variance.High * times}
		k.scale.a, k.scale.b = max(0, k.scale.a-less), max(0, k.scale.b-less)
	}
	return k
}

// claim is what a gate is to show: at the level alpha, with unseen for what no item shows, and with a power.
type claim struct{ alpha, unseen, power float64 }

// RepeatNoise is that between two runs of a system that does not change, estimated from the repeats of items. It is false if no two items have two.
func RepeatNoise(items [][]float64, amounts bool) (Noise, bool) {
	var pairs, whole []Paired
	for _, scores := range items {
		if scores = withoutMissing(nil, scores); len(scores) > 1 {
			pairs, whole = append(pairs, Paired{A: scores[:1], B: scores[1:2]}), append(whole, Paired{A: scores, B: scores[:1]})
		}
	}
	s := readSample(pairs, amounts)
	k, ok := s.noise()
	if !ok {
		return k, false
	}
	all := readSample(whole, amounts)
	each := all.repeatsA.variance()
	k.Split = Variance{Item: new(0.), RepeatA: each, RepeatB: each}
	return k.With(1), true
}

// decides reports whether n items, whose differences have a variance, let a candidate that is as good as the baseline pass at a margin. It
// follows the interval of the gate: Tango's for passes with one repeat, for other scores Student's t with half an item at each end, and none
// narrower than what items that are not in the sample allow for.
func (k *Noise) decides(n, variance, margin float64, c claim) bool {
	units := n / k.each
	if !(units > 1) {
		return false
	}
	zA, zB := stats.NormalQuantile(c.alpha), distuv.UnitNormal.Quantile(c.power)
	off := zB * math.Sqrt(variance/n) // how far the estimate may fall
	switch {
	case !k.Unit:
		return stats.StudentQuantile(c.alpha, units-1)*math.Sqrt(variance/n)+off <= margin
	case margin >= 1:
		return true
	case k.Pairs && k.each == 1:
		better := max(0, n*(variance-off)/2) //nolint:mnd // of the items that differ
		return stats.TangoScore(better, n*variance-better, n, -margin) >= zA
	}
	z := stats.NormalQuantile(c.unseen)
	others := z * z / (units + z*z)
	return stats.StudentQuantile(c.alpha, units-1)*math.Sqrt((variance+2*stats.EndWeight/n)/n)+off <= margin && others+off*(1-others) <= margin
}

// Margin is the smallest margin at which n items let a candidate that is as good as the baseline pass with a power.
func (k Noise) Margin(n int, alpha, power float64) Range {
	return k.marginOf(n, claim{alpha, alpha, power})
}

func (k *Noise) marginOf(n int, c claim) Range {
	return k.each3(func(variance float64) float64 {
		high := 1.
		if !k.Unit {
			for high = math.Sqrt(variance); !k.decides(float64(n), variance, high, c) && high < math.MaxFloat64/4; high *= 2 { //nolint:mnd // far below infinity
			}
		}
		return smallest(0, high, func(margin float64) bool { return k.decides(float64(n), variance, margin, c) })
	})
}

// Difference is the true difference that a comparison of n items finds at the level alpha with a power. It is false where n items find none.
func (k Noise) Difference(n int, alpha, power float64) (Range, bool) {
	found := true
	r := k.each3(func(variance float64) float64 {
		var delta stats.Value
		if k.Pairs && k.each == 1 {
			mean := max(.01, min(.99, k.Mean)) //nolint:mnd // of a side that always passes nothing is known
			phi := 1 - max(variance, 1e-9)/(2*mean*(1-mean))
			delta = stats.MinimumDetectableMcNemar(mean, max(-1, phi), n, alpha, power)
		} else {
			delta = k.scale.detectable(max(variance, 1e-12), n, alpha, power)
		}
		x, ok := delta.Get()
		found = found && ok
		return x
	})
	return r, found
}

func (k *Noise) each3(of func(variance float64) float64) Range {
	return Range{of(k.Variance.Estimate), of(k.Variance.Low), of(k.Variance.High)}
}

// Items is how many items let a candidate that is as good as the baseline pass at a margin with a power.
func (k Noise) Items(margin, alpha, power float64) Count {
	return k.itemsOf(margin, claim{alpha, alpha, power})
}

// mostItems is a number of items that no data set has.
const mostItems = 1e9

func (k *Noise) itemsOf(margin float64, c claim) Count {
	return countOf(k.each3(func(variance float64) float64 {
		return leastWhole(mostItems, func(n float64) bool { return k.decides(n, variance, margin, c) })
	}))
}

// Repeats is the same for repeats of n items on both sides. It is false if the parts of the variance are not known.
func (k Noise) Repeats(margin float64, n int, alpha, power float64) (Count, bool) {
	if k.Split.Item == nil {
		return Count{}, false
	}
	return k.repeatsOf(func(repeats float64) float64 {
		return *k.Split.Item + (*k.Split.RepeatA+*k.Split.RepeatB)/repeats
	}, margin, n, claim{alpha, alpha, power}), true
}

// repeatsOf has the number of repeats at which the variance is small enough.
func (k *Noise) repeatsOf(variance func(repeats float64) float64, margin float64, n int, c claim) Count {
	many := *k
	many.Pairs = false
	ends := func(scale float64) float64 {
		return leastWhole(mostItems, func(repeats float64) bool { return many.decides(float64(n), scale*variance(repeats), margin, c) })
	}
	low, high := 1., 1.
	if k.Variance.Estimate > 0 {
		low, high = k.Variance.Low/k.Variance.Estimate, k.Variance.High/k.Variance.Estimate
	}
	return countOf(Range{ends(1), ends(low), ends(high)})
}

// countOf makes whole numbers of those that are not too many.
func countOf(r Range) Count {
	whole := func(x float64) *int {
		if x > mostItems {
			return nil
		}
		return new(int(x))
	}
	c := Count{Estimate: whole(r.Estimate), High: whole(r.High), Low: int(min(r.Low, mostItems))}
	return c
}

// least makes the numbers at least n.
func (c *Count) least(n int) {
	c.Low = max(c.Low, n)
	for _, x := range []*int{c.Estimate, c.High} {
		if x != nil {
			*x = max(*x, n)
		}
	}
}

// leastWhole is the smallest whole number from 1 to most at which something holds that stays so for larger ones; above most if none is.
func leastWhole(most float64, holds func(float64) bool) float64 {
	high := 1.
	for !holds(high) {
		if high *= 2; high > 2*most {
			return math.Inf(1)
		}
	}
	low := math.Floor(high / 2) //nolint:mnd // where it did not hold
	for high-low > 1 {
		if middle := math.Floor((low + high) / 2); holds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// smallest is the smallest number from low to high at which something holds that stays so for larger ones; high if none is.
func smallest(low, high float64, holds func(float64) bool) float64 {
	for range 50 {
		if middle := (low + high) / 2; holds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// Default margins of scores from 0 to 1; those of amounts are in relation to the mean of the baseline.
const (
	// MarginStep is what default margins are multiples of.
	MarginStep = .005
	// MostMargin is the widest of them.
	MostMargin = .05
)

// defaultMargin is the margin at which these items let a candidate that is as good as the baseline pass in 80% of cases, rounded up to a
// step and not above the widest one. supported is false if these items do not support it. It is 0 for amounts whose mean is not above 0.
func (m *Metric) defaultMargin(s *sample, k *Noise, known bool, c claim) (margin float64, supported bool) {
	scale := 1.
	if s.amounts {
		if len(s.a) == 0 || !(floats.Sum(s.a) > 0) {
			return 0, false
		}
		scale = stat.Mean(s.a, nil)
	}
	if !known {
		return MostMargin * scale, false
	}
	needed := k.marginOf(len(s.differences), c).Estimate / scale
	if m.corrects(s) {
		half, off := stats.StudentQuantile(c.alpha, float64(m.Corrected.Labels-1))*m.Corrected.StandardError, distuv.UnitNormal.Quantile(c.power)*m.Corrected.StandardError
		others := stats.PairedProportions(0, 0, m.Corrected.Labels, c.unseen)[1]
		needed = max(half+off, others+off*(1-others))
	}
	steps := math.Ceil(needed/MarginStep - 1e-9) //nolint:mnd // rounding
	return min(MostMargin, max(1, steps)/math.Round(1/MarginStep)) * scale, needed <= MostMargin
}
