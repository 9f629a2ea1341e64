package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Decision is that of a gate.
type Decision string

// Decisions.
const (
	Pass       Decision = "pass"
	Regression Decision = "regression"
	Undecided  Decision = "inconclusive"
)

// Gate says whether a candidate is worse than a baseline by more than a margin.
type Gate struct {
	Decision Decision `json:"decision"`
	// Comparison has the baseline as A and the candidate as B. Its interval is that of the decision.
	Comparison Comparison `json:"comparison"`
	Margin     float64    `json:"margin"`
	// ItemsNeeded is how many items would let a candidate that is as good as the baseline pass in 80% of cases; RepeatsNeeded how many
	// repeats of these items on both sides, CandidateRepeats how many of the candidate alone. In total, more than there are. Nil if it
	// is decided, or if no number would do it: repeats do not help against the variance of items.
	ItemsNeeded      *int `json:"items_needed"`
	RepeatsNeeded    *int `json:"repeats_needed"`
	CandidateRepeats *int `json:"candidate_repeats_needed"`
	// SplitKnown is whether items have two repeats or more on each side, without which nobody knows what repeats would do.
	SplitKnown bool   `json:"split_known"`
	Flags      []Flag `json:"flags,omitempty"`
}

// GateOptions are the settings of [NonInferiority].
type GateOptions struct {
	CompareOptions
	// Margin is how much worse the candidate may be: 0 or more, in units of the metric.
	Margin float64
	// Repeated is whether the gate is asked again while repeats are added, as often as one likes.
	Repeated bool
}

// NonInferiority compares the candidate B with the baseline A of a metric: pass if the whole interval of the difference is better than
// -margin, regression if it is all worse than that, else inconclusive. Better and worse follow the metric's direction. With intervals
// of 95% it lets a candidate that is worse by the margin pass, or calls one that is just as good as the margin allows a regression, in
// 2.5% of cases each. So that it does where few items are lost for good, too, the interval is not narrower than what items that are
// not in the sample allow for. The intervals of a repeated gate contain the difference at all looks together: see [repeatedAlpha].
// Flags are those of the comparison, and OutOfDomain for a margin below 0. Items that one side lacks are counted in the comparison:
// whether they fail a gate is for the caller.
func NonInferiority(metric Metric, options GateOptions) Gate {
	if options.Alpha == 0 {
		options.Alpha = .05
	}
	margin := options.Margin
	g := Gate{Decision: Undecided, Margin: margin, Comparison: Compare([]Metric{metric}, options.CompareOptions)[0]}
	g.Flags = g.Comparison.Flags
	if !(margin >= 0) || math.IsInf(margin, 0) {
		g.Margin, g.Flags = 0, []Flag{OutOfDomain}
		return g
	}
	d := &g.Comparison.Difference
	if d.CI == nil || d.Estimate == nil {
		return g
	}
	s := readSample(metric.Items, metric.Amount)
	split := g.Comparison.Variance
	g.SplitKnown = split.Item != nil
	alpha := options.Alpha
	if options.Repeated {
		alpha = s.repeatedAlpha(split, alpha)
	}
	d.CI = metric.margin(&s, alpha, options.Alpha)
	worst, best := d.CI[0], d.CI[1]
	if metric.Better == LowerBetter {
		worst, best = -d.CI[1], -d.CI[0]
	}
	switch {
	case worst > -margin:
		g.Decision = Pass
	case best < -margin:
		g.Decision = Regression
	case g.Comparison.Judged == nil:
		s.needed(&g, margin, alpha, options.Alpha)
	}
	return g
}

// repeatedAlpha is the level at which the interval of one look is that of a confidence sequence: with the chance 1-alpha the intervals of
// all looks contain the difference. It is Robbins' mixture boundary √((1+1/r) ln((1+r)/alpha²)) in standard errors, r in units of a
// variance that is fixed before: an eighth of what one repeat of these items tells, so that it is narrowest there. Estimates from
// growing repeats of the same items have independent increments in units of information. Robbins 1970; Waudby-Smith et al. 2021.
func (s *sample) repeatedAlpha(split Variance, alpha float64) float64 {
	const first = 8
	information := 1. // in units of that of one repeat
	if split.Item != nil {
		n := float64(len(s.differences))
		one := *split.Item + *split.RepeatA + *split.RepeatB
		if now := *split.Item + *split.RepeatA*s.repeatsA.inverse/n + *split.RepeatB*s.repeatsB.inverse/n; now > 0 {
			information = max(1, one/now)
		}
	}
	r := first * information
	return 2 * distuv.UnitNormal.Survival(math.Sqrt((1+1/r)*math.Log((1+r)/(alpha*alpha))))
}

// needed sets the numbers of items, and of repeats, with which a candidate without a difference would pass at the level alpha; unseen is
// the level of what no item shows.
func (s *sample) needed(g *Gate, margin, alpha, unseen float64) {
	n := len(s.differences)
	variance := stat.Variance(s.differences, nil)
	if variance == 0 {
		gain := *g.Comparison.Difference.Estimate
		if g.Comparison.Better == LowerBetter {
			gain = -gain
		}
		if g.ItemsNeeded = s.neededUnseen(gain, gain+margin, unseen); g.ItemsNeeded != nil {
			*g.ItemsNeeded = max(*g.ItemsNeeded, n+1)
		}
		return
	}
	var others *int
	if !s.pairs() {
		others = s.neededUnseen(0, margin, unseen)
	}
	if g.ItemsNeeded = ceiling(PairedSampleSize(variance, 0, margin, alpha, power)); g.ItemsNeeded != nil {
		*g.ItemsNeeded = max(*g.ItemsNeeded, n+1)
		if others != nil {
			*g.ItemsNeeded = max(*g.ItemsNeeded, *others)
		}
	}
	split := g.Comparison.Variance
	// Repeats of these items do not show what other items would.
	most, ok := PairedSampleSize(1, 0, margin, alpha, power).Get()
	if split.Item == nil || !ok || others != nil && *others > n {
		return
	}
	// The variance of an item's difference that n items may have, without the items' own.
	room := float64(n)/most - *split.Item
	repeats := func(variance, room, inverse float64) *int {
		if room <= 0 {
			return nil
		}
		needed := ceiling(some(variance / room))
		if needed != nil {
			*needed = max(*needed, int(math.Ceil(float64(n)/inverse))+1)
		}
		return needed
	}
	g.RepeatsNeeded = repeats(*split.RepeatA+*split.RepeatB, room, max(s.repeatsA.inverse, s.repeatsB.inverse))
	g.CandidateRepeats = repeats(*split.RepeatB, room-*split.RepeatA*s.repeatsA.inverse/float64(n), s.repeatsB.inverse)
}

// neededUnseen is the number of items at which [sample.unseen] of a gain ends at a difference from it. Repeats do not move that end.
func (s *sample) neededUnseen(gain, difference, alpha float64) *int {
	far, room := math.Abs(difference), 1+gain
	if difference < 0 {
		room = 1 - gain
	}
	if !s.unit || far == 0 {
		return nil
	}
	z := normalQuantile(alpha)
	return ceiling(some(z * z * (room/far - 1)))
}
