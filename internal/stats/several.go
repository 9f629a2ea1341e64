package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Scored has the scores of one item: by side, one per repeat. NaN is a missing repeat.
type Scored struct {
	Sides [][]float64
	// Group is that of [Paired].
	Group int
	// Baseline is the score of an earlier evaluation that no side could influence, NaN without one. It is only read for [SeveralOptions.Adjust].
	Baseline float64
}

// SeveralOptions are the settings of [CompareSeveral].
type SeveralOptions struct {
	CompareOptions
	Better Direction
	// Amount is that of [Metric].
	Amount bool
	// Adjust is whether differences are adjusted by the baseline's scores.
	Adjust bool
}

// Several is what is known about several sides.
type Several struct {
	// Sides are in the order of the items' scores. Their intervals contain all means together with the chance 1-alpha.
	Sides []Side `json:"sides"`
	// Pairs has each two sides once, ordered by A and then by B, both places in Sides. The intervals contain all differences together.
	Pairs []SeveralPair `json:"pairs"`
	// Items counts those that all sides have, which all figures are about. Groups is that of [Comparison].
	Items  int  `json:"items"`
	Groups *int `json:"groups"`
	// MaxT is whether intervals of differences have the level of the max-T method, which their correlations make less strict than
	// Bonferroni's correction. It does not hold where few items differ between two sides, or there are few items or groups.
	MaxT bool `json:"max_t"`
	// Level is that of each interval of a difference: 1 - its own confidence.
	Level float64 `json:"level"`
	// Baseline says why the baseline changes nothing: OutOfDomain if it lacks items of the sides or scores are not from 0 to 1, TooFew if it
	// has no other items, NotDrawn if the others have other scores, InGroups. It is empty where it may help, or was not asked for.
	Baseline Flag `json:"baseline,omitempty"`
	// Flags are TooFew without items or sides, and OutOfDomain.
	Flags []Flag `json:"flags,omitempty"`
}

// Flags of a baseline.
const (
	// NotDrawn: items were not drawn at random from those that they are to stand for.
	NotDrawn Flag = "not_drawn"
	// InGroups: items belong together, which the method does not count.
	InGroups Flag = "in_groups"
)

// SeveralPair is the comparison of two sides.
type SeveralPair struct {
	A int `json:"a"`
	B int `json:"b"`
	// Difference is that of B less A, with a p value that counts all pairs.
	Difference Difference `json:"difference"`
	// Unadjusted is the difference without the baseline, nil where that changed nothing.
	Unadjusted *Difference `json:"unadjusted"`
	// Gain is the part by which the baseline made the interval narrower, 0 where it did not help, nil if it was not asked for.
	Gain    *float64 `json:"gain"`
	Verdict Verdict  `json:"verdict"`
	Flags   []Flag   `json:"flags,omitempty"`
}

// CompareSeveral compares each two of several sides over the items that all of them have. The means, tests and intervals of a pair are
// those of [Compare], at the level that the max-T method gives each: with the chance 1-alpha all differences are in their intervals, and
// with 1-alpha no side is called better than one that is as good.
//
// Where max-T does not hold, the level is that of Bonferroni's correction, which is valid for any dependence. That is so with fewer than
// 20 items or groups, and where fewer than 6 of them differ between two sides: the intervals of few differing items are exact or widened,
// and nothing is known of their correlation.
//
// With a baseline, a difference is mean(d) + λ (mean(x others) - mean(x)): x are the baseline's scores, and others are items that the
// baseline scored and the sides do not have. See [PPI] and Deng et al. 2013, CUPED. Where the baseline has no other items it changes
// nothing: both sides have the same items, so that their scores of the baseline cancel, and regressing them away would claim precision about
// these items alone.
func CompareSeveral(items []Scored, options SeveralOptions) Several {
	if options.Alpha == 0 {
		options.Alpha = .05
	}
	sides := 0
	if len(items) > 0 {
		sides = len(items[0].Sides)
	}
	common := completeItems(items, sides)
	all := Several{Items: len(common), Sides: make([]Side, sides), Pairs: []SeveralPair{}}
	switch {
	case sides < 2 || len(common) == 0:
		all.Flags = []Flag{TooFew}
		return all
	case !level(options.Alpha):
		all.Flags = []Flag{OutOfDomain}
		return all
	}
	var samples []sample
	for a := range sides {
		for b := a + 1; b < sides; b++ {
			all.Pairs = append(all.Pairs, SeveralPair{A: a, B: b, Verdict: Inconclusive})
			samples = append(samples, readSample(pairsOf(common, a, b), options.Amount))
		}
	}
	first := &samples[0]
	if first.groups != nil {
		all.Groups = new(len(first.groups))
	}
	for i := range samples {
		if samples[i].outside {
			all.Flags = []Flag{OutOfDomain}
			return all
		}
	}
	var baseline *baseline
	if options.Adjust {
		baseline, all.Baseline = readBaseline(items, common, first)
	}
	all.means(samples, sides, options)
	all.compare(samples, baseline, options)
	return all
}

// completeItems are the items that have a score on each side.
func completeItems(items []Scored, sides int) []Scored {
	var common []Scored
	for _, item := range items {
		complete := len(item.Sides) == sides
		for _, scores := range item.Sides {
			complete = complete && len(withoutMissing(nil, scores)) > 0
		}
		if complete {
			common = append(common, item)
		}
	}
	return common
}

func pairsOf(items []Scored, a, b int) []Paired {
	pairs := make([]Paired, len(items))
	for i, item := range items {
		pairs[i] = Paired{A: item.Sides[a], B: item.Sides[b], Group: item.Group}
	}
	return pairs
}

// units are the groups of the items, or else the items.
func (s *sample) units() int {
	if s.groups != nil {
		return len(s.groups)
	}
	return len(s.a)
}

// influence is what each unit adds to the mean of values by item, centered at 0.
func (s *sample) influence(values []float64) []float64 {
	mean := stat.Mean(values, nil)
	if s.groups == nil {
		off := make([]float64, len(values))
		for i, x := range values {
			off[i] = x - mean
		}
		return off
	}
	off := make([]float64, len(s.groups))
	for g, members := range s.groups {
		for _, i := range members {
			off[g] += values[i] - mean
		}
	}
	return off
}

// means sets the means of sides, whose intervals hold together. The first pairs have the first side, and each other one as B.
func (all *Several) means(samples []sample, sides int, options SeveralOptions) {
	influence := make([][]float64, sides)
	influence[0] = samples[0].influence(samples[0].a)
	for side := 1; side < sides; side++ {
		influence[side] = samples[side-1].influence(samples[side-1].b)
	}
	units := samples[0].units()
	holds := units >= fewUnits
	for _, one := range influence {
		holds = holds && nonzero(one) >= fewDiffering
	}
	j := newJoint(influence, float64(units-1), holds, options.Seed)
	each := j.level(options.Alpha)
	for side := range all.Sides {
		s, means, r := &samples[max(0, side-1)], samples[max(0, side-1)].b, samples[max(0, side-1)].repeatsB
		if side == 0 {
			means, r = s.a, s.repeatsA
		}
		e := s.side(means, r, each)
		if s.pairs() && s.groups == nil && e.CI != nil { // at so small a level few failures say too little for [ShareInterval]
			exact := ClopperPearson(int(math.Round(floats.Sum(means))), len(means), each)
			e.CI = interval(min(e.CI[0], exact[0]), max(e.CI[1], exact[1]))
		}
		all.Sides[side] = Side{Mean: e.Value.Value, CI: e.CI, N: len(means)}
	}
}

func nonzero(values []float64) int {
	n := 0
	for _, x := range values {
		if x != 0 {
			n++
		}
	}
	return n
}

// compare sets the pairs.
func (all *Several) compare(samples []sample, baseline *baseline, options SeveralOptions) {
	influence := make([][]float64, len(samples))
	corrections := make([]*Correction, len(samples))
	units := samples[0].units()
	holds := units >= fewUnits
	for i := range samples {
		s := &samples[i]
		influence[i] = s.influence(s.differences)
		holds = holds && s.differing() >= fewDiffering && s.differingUnits() >= fewDiffering
		if baseline.helps(s) {
			corrections[i] = baseline.correct(s)
		}
	}
	plain := newJoint(influence, float64(units-1), holds, options.Seed)
	adjusted := plain
	if slices.ContainsFunc(corrections, func(c *Correction) bool { return c != nil }) {
		for i, c := range corrections {
			influence[i] = baseline.influence(&samples[i], c)
		}
		adjusted = newJoint(influence, float64(units-1), holds, options.Seed)
	}
	all.MaxT, all.Level = adjusted.largest != nil, adjusted.level(options.Alpha)
	for i := range all.Pairs {
		pair := &all.Pairs[i]
		c := samples[i].pair(plain, options)
		pair.Difference, pair.Verdict, pair.Flags = c.Difference, c.Verdict, c.Flags
		if !options.Adjust {
			continue
		}
		pair.Gain = new(0.)
		if corrections[i] == nil {
			continue
		}
		ci, p := corrections[i].Interval(all.Level), corrections[i].P()
		if ci == nil || c.Difference.CI == nil {
			continue
		}
		if gain := 1 - (ci[1]-ci[0])/(c.Difference.CI[1]-c.Difference.CI[0]); gain > 0 {
			unadjusted := c.Difference
			pair.Unadjusted, *pair.Gain = &unadjusted, gain
			c.Difference = Difference{Estimate: corrections[i].Value.Value, CI: ci, P: p, Test: BaselineTest, N: unadjusted.N}
			c.Difference.PAdjusted = number(adjusted.adjust(*p))
			pair.Difference, pair.Verdict = c.Difference, c.verdict(false, options.Alpha)
		}
	}
}

// pair compares two sides without the baseline.
func (s *sample) pair(j joint, options SeveralOptions) Comparison {
	alpha := j.level(options.Alpha)
	c := Comparison{Better: options.Better, Difference: Difference{Estimate: s.estimate(), CI: s.interval(alpha), N: len(s.differences)}, Flags: s.flags()}
	if s.groups != nil && s.unit && len(s.groups) > 1 {
		c.Difference.CI = s.groupsJointly(c.Difference.CI, alpha)
	}
	s.test(&c.Difference, options.Seed)
	if c.Difference.P != nil {
		c.Difference.PAdjusted = number(j.adjust(*c.Difference.P))
	}
	c.Verdict = c.verdict(false, options.Alpha)
	return c
}

// groupsJointly widens an interval of groups for the small levels of many pairs, at which few groups say little of the tails: it is not
// narrower than Student's, and with few groups that differ not narrower than what groups that are not in the sample allow for.
func (s *sample) groupsJointly(ci *Interval, alpha float64) *Interval {
	others := s.groupMean(s.differences, math.Inf(-1), 0, alpha).CI
	if s.differingUnits() < fewDiffering {
		others = s.unseen(alpha)
	}
	switch {
	case others == nil:
		return ci
	case ci == nil: // differences within groups cancel
		return interval(max(-1, others[0]), min(1, others[1]))
	}
	return interval(max(-1, min(ci[0], others[0])), min(1, max(ci[1], others[1])))
}

// differingUnits counts items, or groups, with a difference.
func (s *sample) differingUnits() int {
	if s.groups == nil {
		return s.differing()
	}
	n := 0
	for _, members := range s.groups {
		for _, i := range members {
			if s.differences[i] != 0 {
				n++
				break
			}
		}
	}
	return n
}

// BaselineTest is Student's t of a difference that the scores of a baseline adjust.
const BaselineTest Test = "baseline"

// baseline has the scores of a baseline: of the common items in their order, and of those that no side has.
type baseline struct{ common, others []float64 }

// chosenAlpha is the level at which common items are taken as chosen: their scores of the baseline differ from those of the others.
const chosenAlpha = .01

// readBaseline returns the reason where there is none. If the common items were chosen by what decides the score, the others say nothing
// of them.
func readBaseline(items, common []Scored, s *sample) (*baseline, Flag) {
	b := &baseline{}
	if s.groups != nil {
		return nil, InGroups
	}
	for _, item := range common {
		if !probability(item.Baseline) || !s.unit {
			return nil, OutOfDomain
		}
		b.common = append(b.common, item.Baseline)
	}
	for _, item := range items {
		some := false
		for _, scores := range item.Sides {
			some = some || len(withoutMissing(nil, scores)) > 0
		}
		if !some && probability(item.Baseline) {
			b.others = append(b.others, item.Baseline)
		}
	}
	if len(b.others) < 2 {
		return nil, TooFew
	}
	values := slices.Concat(b.common, b.others)
	isOther, own := make([]bool, len(values)), make([]int, len(values))
	for i := range values {
		isOther[i], own[i] = i >= len(b.common), i
	}
	apart := GroupDifference(values, isOther, own, chosenAlpha)
	if apart.CI == nil || !apart.CI.Contains(0) {
		return nil, NotDrawn
	}
	return b, ""
}

// helps reports whether the baseline may adjust a difference: [PPI] is for independent scores from 0 to 1, of which some differ.
func (b *baseline) helps(s *sample) bool {
	return b != nil && s.unit && s.differing() >= fewDiffering
}

func (b *baseline) correct(s *sample) *Correction {
	sign := 1.
	if stat.Covariance(s.differences, b.common, nil) < 0 { // PPI takes no λ below 0
		sign = -1
	}
	labels, judged := append([]float64{}, s.differences...), []float64{}
	for _, x := range b.common {
		judged = append(judged, sign*x)
	}
	for _, x := range b.others {
		labels, judged = append(labels, math.NaN()), append(judged, sign*x)
	}
	c := PPI(labels, judged, -1, 1)
	if c.Value.Value == nil || c.Lambda == 0 {
		return nil
	}
	c.Lambda *= sign
	return &c
}

// influence is that of a difference on all items of the baseline, adjusted by c unless it is nil.
func (b *baseline) influence(s *sample, c *Correction) []float64 {
	lambda := 0.
	if c != nil {
		lambda = c.Lambda
	}
	rest := make([]float64, len(s.differences))
	for i, d := range s.differences {
		rest[i] = d - lambda*b.common[i]
	}
	all := s.influence(rest)
	n, mean := float64(len(rest)), stat.Mean(b.others, nil)
	for i := range all {
		all[i] /= n
	}
	for _, x := range b.others {
		all = append(all, lambda*(x-mean)/float64(len(b.others)))
	}
	return all
}
