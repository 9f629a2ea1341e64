package compare

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptrace/looptrace/controlplane/stats"
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
	// ItemsRange and RepeatsRange are ItemsNeeded and RepeatsNeeded with their ranges, nil where these are nil.
	ItemsRange   *Count `json:"-"`
	RepeatsRange *Count `json:"-"`
	// Unsupported is whether the margin is the widest one that is taken by itself, and these items need a wider one. ItemsNeeded is set then
	// whatever the decision is.
	Unsupported bool `json:"-"`
	// SplitKnown is whether items have two repeats or more on each side, without which nobody knows what repeats would do.
	SplitKnown bool         `json:"split_known"`
	Flags      []stats.Flag `json:"flags,omitempty"`
}

// GateOptions are the settings of [NonInferiority].
type GateOptions struct {
	Options
	// Margin is how much worse the candidate may be: 0 or more, in units of the metric.
	Margin float64
	// FollowItems takes, in place of Margin, the margin at which these items let a candidate that is as good as the baseline pass in 80% of
	// cases: a multiple of [MarginStep], at most [MostMargin].
	FollowItems bool
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
	g := Gate{Decision: Undecided, Margin: options.Margin, Comparison: Compare([]Metric{metric}, options.Options)[0]}
	g.Flags = g.Comparison.Flags
	s := readSample(metric.Items, metric.Amount)
	split := g.Comparison.Variance
	c := claim{options.Alpha, options.Alpha, power}
	if options.Repeated {
		c.alpha = s.repeatedAlpha(split, c.alpha)
	}
	noise, known := s.noise()
	if options.FollowItems {
		var supported bool
		g.Margin, supported = metric.defaultMargin(&s, &noise, known, c)
		g.Unsupported = !supported
		if g.Margin == 0 {
			g.Flags = []stats.Flag{stats.OutOfDomain}
			return g
		}
	}
	if !(g.Margin >= 0) || math.IsInf(g.Margin, 0) {
		g.Margin, g.Flags = 0, []stats.Flag{stats.OutOfDomain}
		return g
	}
	d := &g.Comparison.Difference
	if d.CI == nil || d.Estimate == nil {
		return g
	}
	g.SplitKnown = split.Item != nil
	d.CI = metric.margin(&s, c.alpha, c.unseen)
	worst, best := d.CI[0], d.CI[1]
	if metric.Better == LowerBetter {
		worst, best = -d.CI[1], -d.CI[0]
	}
	switch {
	case worst > -g.Margin:
		g.Decision = Pass
	case best < -g.Margin:
		g.Decision = Regression
	}
	if known && g.Comparison.Judged == nil && (g.Decision == Undecided || g.Unsupported) {
		s.needed(&g, &noise, c)
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

// needed sets the numbers of items, and of repeats, with which a candidate without a difference would pass.
func (s *sample) needed(g *Gate, k *Noise, c claim) {
	n := len(s.differences)
	count := k.itemsOf(g.Margin, c)
	if k.Variance.Estimate == 0 {
		gain := *g.Comparison.Difference.Estimate
		if g.Comparison.Better == LowerBetter {
			gain = -gain
		}
		if count.Estimate = s.neededUnseen(gain, gain+g.Margin, c.unseen); count.Estimate != nil {
			count.Low = *count.Estimate
		}
	}
	if count.Estimate != nil {
		count.least(n + 1)
		g.ItemsNeeded, g.ItemsRange = count.Estimate, &count
	}
	split := k.Split
	if split.Item == nil || k.Variance.Estimate == 0 {
		return
	}
	both := max(s.repeatsA.inverse, s.repeatsB.inverse)
	repeats := k.repeatsOf(func(repeats float64) float64 { return *split.Item + (*split.RepeatA+*split.RepeatB)/repeats }, g.Margin, n, c)
	if repeats.Estimate != nil {
		repeats.least(int(math.Ceil(float64(n)/both)) + 1)
		g.RepeatsNeeded, g.RepeatsRange = repeats.Estimate, &repeats
	}
	alone := k.repeatsOf(func(repeats float64) float64 {
		return *split.Item + *split.RepeatA*s.repeatsA.inverse/float64(n) + *split.RepeatB/repeats
	}, g.Margin, n, c)
	if alone.Estimate != nil {
		alone.least(int(math.Ceil(float64(n)/s.repeatsB.inverse)) + 1)
		g.CandidateRepeats = alone.Estimate
	}
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
	z := stats.NormalQuantile(alpha)
	return ceiling(stats.Some(z * z * (room/far - 1)))
}
