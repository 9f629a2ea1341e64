package compare

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// Scored has the scores of one item: by side, one per repeat. NaN is a missing repeat.
type Scored struct {
	Sides [][]float64
	// Group is that of [Paired].
	Group int
}

// SeveralOptions are the settings of [Pairs].
type SeveralOptions struct {
	Options
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
	// Flags are TooFew without items or sides, and OutOfDomain.
	Flags []stats.Flag `json:"flags,omitempty"`
}

// SeveralPair is the comparison of two sides.
type SeveralPair struct {
	A int `json:"a"`
	B int `json:"b"`
	// Difference is that of B less A, with a p value that counts all pairs.
	Difference Difference   `json:"difference"`
	Verdict    Verdict      `json:"verdict"`
	Flags      []stats.Flag `json:"flags,omitempty"`
}

// Pairs compares each two of several sides over the items that all of them have. The means, tests and intervals of a pair are
// those of [Compare], at a level divided by the number of pairs: Bonferroni's correction, which is valid for any dependence. With the
// chance 1-alpha all differences are in their intervals, and with 1-alpha no side is called better than one that is as good.
func Pairs(items []Scored, options SeveralOptions) Several {
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
		all.Flags = []stats.Flag{stats.TooFew}
		return all
	case !stats.Level(options.Alpha):
		all.Flags = []stats.Flag{stats.OutOfDomain}
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
			all.Flags = []stats.Flag{stats.OutOfDomain}
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

// means sets the means of sides, whose intervals hold together. The first pairs have the first side, and each other one as B.
func (all *Several) means(samples []sample, sides int, options SeveralOptions) {
	each := options.Alpha / float64(sides)
	for side := range all.Sides {
		s, means, r := &samples[max(0, side-1)], samples[max(0, side-1)].b, samples[max(0, side-1)].repeatsB
		if side == 0 {
			means, r = s.a, s.repeatsA
		}
		e := s.side(means, r, each)
		if s.pairs() && s.groups == nil && e.CI != nil { // at so small a level few failures say too little for [ShareInterval]
			exact := stats.ClopperPearson(int(math.Round(floats.Sum(means))), len(means), each)
			e.CI = stats.NewInterval(min(e.CI[0], exact[0]), max(e.CI[1], exact[1]))
		}
		all.Sides[side] = Side{Mean: e.Value.Value, CI: e.CI, N: len(means)}
	}
}

// compare sets the pairs.
func (all *Several) compare(samples []sample, options SeveralOptions) {
	for i := range all.Pairs {
		c := samples[i].pair(float64(len(samples)), options)
		all.Pairs[i].Difference, all.Pairs[i].Verdict, all.Pairs[i].Flags = c.Difference, c.Verdict, c.Flags
	}
}

// pair compares two sides of so many pairs.
func (s *sample) pair(pairs float64, options SeveralOptions) Comparison {
	alpha := options.Alpha / pairs
	c := Comparison{Better: options.Better, Difference: Difference{Estimate: s.estimate(), CI: s.interval(alpha), N: len(s.differences)}, Flags: s.flags()}
	if s.groups != nil && s.unit && len(s.groups) > 1 {
		c.Difference.CI = s.groupsJointly(c.Difference.CI, alpha)
	}
	s.test(&c.Difference, options.Seed)
	if c.Difference.P != nil {
		c.Difference.PAdjusted = stats.NewNumber(min(1, *c.Difference.P*pairs))
	}
	c.Verdict = c.verdict(false, options.Alpha)
	return c
}

// groupsJointly widens an interval of groups for the small levels of many pairs, at which few groups say little of the tails: it is not
// narrower than Student's, and with few groups that differ not narrower than what groups that are not in the sample allow for.
func (s *sample) groupsJointly(ci *stats.Interval, alpha float64) *stats.Interval {
	others := s.groupMean(s.differences, math.Inf(-1), 0, alpha).CI
	if s.differingUnits() < fewDiffering {
		others = s.unseen(alpha)
	}
	switch {
	case others == nil:
		return ci
	case ci == nil: // differences within groups cancel
		return stats.NewInterval(max(-1, others[0]), min(1, others[1]))
	}
	return stats.NewInterval(max(-1, min(ci[0], others[0])), min(1, max(ci[1], others[1])))
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
