package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
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
	// Comparison has the baseline as A and the candidate as B.
	Comparison Comparison `json:"comparison"`
	Margin     float64    `json:"margin"`
	// ItemsNeeded and RepeatsNeeded are how many items, or repeats of these items, would decide in 80% of cases if the true difference is
	// the one found: in total, not more than there are. Nil if it is decided, or if no number would do it: repeats do not help against
	// the variance of items, and nothing helps if the difference is the margin itself.
	ItemsNeeded   *int   `json:"items_needed"`
	RepeatsNeeded *int   `json:"repeats_needed"`
	Flags         []Flag `json:"flags,omitempty"`
}

// NonInferiority compares the candidate B with the baseline A of a metric: pass if the whole interval of the difference is better than
// -margin, regression if it is all worse than that, else inconclusive. Better and worse follow the metric's direction; the margin is 0
// or more, in units of the metric. With intervals of 95% it lets a candidate that is worse by the margin pass, or calls one that is just
// as good as the margin allows a regression, in 2.5% of cases each. So that it does where few items are lost for good, too, the interval
// is not narrower than what items that are not in the sample allow for. Flags are those of the comparison, and OutOfDomain for a
// margin below 0. Items that one side lacks are counted in the comparison: whether they fail a gate is for the caller.
func NonInferiority(metric Metric, margin float64, options CompareOptions) Gate {
	if options.Alpha == 0 {
		options.Alpha = .05
	}
	g := Gate{Decision: Undecided, Margin: margin, Comparison: Compare([]Metric{metric}, options)[0]}
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
	d.CI = s.margin(options.Alpha)
	worst, best, gain := d.CI[0], d.CI[1], *d.Estimate
	if metric.Better == LowerBetter {
		worst, best, gain = -d.CI[1], -d.CI[0], -gain
	}
	switch {
	case worst > -margin:
		g.Decision = Pass
	case best < -margin:
		g.Decision = Regression
	default:
		g.ItemsNeeded, g.RepeatsNeeded = s.needed(gain, margin, g.Comparison.Variance, options.Alpha)
	}
	return g
}

// needed is the number of items, and of repeats, that tell a gain from a loss of the margin by two-sided intervals.
func (s *sample) needed(gain, margin float64, split Variance, alpha float64) (items, repeats *int) {
	n, difference := len(s.differences), gain+margin
	variance := stat.Variance(s.differences, nil)
	var unseen *int
	if s.unit && !s.pairs() || variance == 0 {
		unseen = s.neededUnseen(gain, difference, alpha)
	}
	if variance == 0 {
		return unseen, nil
	}
	items = ceiling(PairedSampleSize(variance, 0, difference, alpha, power))
	if items != nil {
		*items = max(*items, n+1)
		if unseen != nil {
			*items = max(*items, *unseen)
		}
	}
	// Repeats of these items do not show what other items would.
	if split.Item == nil || unseen != nil && *unseen > n {
		return items, nil
	}
	// The variance of a mean difference that n items may have.
	most, ok := PairedSampleSize(1, 0, difference, alpha, power).Get()
	if !ok {
		return items, nil
	}
	most = float64(n) / most
	if most <= *split.Item {
		return items, nil
	}
	now := int(math.Ceil(float64(n) / max(s.repeatsA.inverse, s.repeatsB.inverse)))
	repeats = ceiling(some((*split.RepeatA + *split.RepeatB) / (most - *split.Item)))
	if repeats != nil {
		*repeats = max(*repeats, now+1)
	}
	return items, repeats
}

// neededUnseen is the number of items at which [sample.unseen] ends before the margin, more than there are if it does not now.
// Repeats do not move that end.
func (s *sample) neededUnseen(gain, difference, alpha float64) *int {
	far, room := math.Abs(difference), 1+gain
	if difference < 0 {
		room = 1 - gain
	}
	if !s.unit || far == 0 {
		return nil
	}
	z := normalQuantile(alpha)
	items := ceiling(some(z * z * (room/far - 1)))
	if items != nil && constant(s.differences) {
		*items = max(*items, len(s.differences)+1)
	}
	return items
}
