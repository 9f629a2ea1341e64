package stats

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Scored has the scores of one item: by side, one per repeat. NaN is a missing repeat.
type Scored struct {
	Sides [][]float64
	// Group is that of [Paired].
	Group int
}

// SeveralOptions are the settings of [CompareSeveral].
type SeveralOptions struct {
	CompareOptions
	Better Direction
	// Amount is that of [Metric].
	Amount bool
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
	// Flags are TooFew without items or sides, and OutOfDomain.
	Flags []Flag `json:"flags,omitempty"`
}

// SeveralPair is the comparison of two sides.
type SeveralPair struct {
	A int `json:"a"`
	B int `json:"b"`
	// Difference is that of B less A, with a p value that counts all pairs.
	Difference Difference `json:"difference"`
	Verdict    Verdict    `json:"verdict"`
	Flags      []Flag     `json:"flags,omitempty"`
}

// CompareSeveral compares each two of several sides over the items that all of them have. The means, tests and intervals of a pair are
// those of [Compare], at the level that the max-T method gives each: with the chance 1-alpha all differences are in their intervals, and
// with 1-alpha no side is called better than one that is as good.
//
// Where max-T does not hold, the level is that of Bonferroni's correction, which is valid for any dependence. That is so with fewer than
// 20 items or groups, and where fewer than 6 of them differ between two sides: the intervals of few differing items are exact or widened,
// and nothing is known of their correlation.
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
	all.means(samples, sides, options)
	all.compare(samples, options)
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
func (all *Several) compare(samples []sample, options SeveralOptions) {
	influence := make([][]float64, len(samples))
	units := samples[0].units()
	holds := units >= fewUnits
	for i := range samples {
		s := &samples[i]
		influence[i] = s.influence(s.differences)
		holds = holds && s.differing() >= fewDiffering && s.differingUnits() >= fewDiffering
	}
	j := newJoint(influence, float64(units-1), holds, options.Seed)
	all.MaxT, all.Level = j.largest != nil, j.level(options.Alpha)
	for i := range all.Pairs {
		c := samples[i].pair(j, options)
		all.Pairs[i].Difference, all.Pairs[i].Verdict, all.Pairs[i].Flags = c.Difference, c.Verdict, c.Flags
	}
}

// pair compares two sides.
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
