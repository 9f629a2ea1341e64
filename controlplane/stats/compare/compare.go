package compare

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// Direction says which values of a metric are better.
type Direction string

// Directions.
const (
	HigherBetter Direction = "higher"
	LowerBetter  Direction = "lower"
)

// Verdict is what a comparison says about a metric.
type Verdict string

// Verdicts.
const (
	BBetter      Verdict = "b_better"
	ABetter      Verdict = "a_better"
	Equivalent   Verdict = "equivalent"
	Inconclusive Verdict = "inconclusive"
)

// Test is the test behind a p value.
type Test string

// Tests.
const (
	// McNemarExact is for binary scores with one repeat.
	McNemarExact Test = "mcnemar_exact"
	// SignFlipTest is for all others: the permutation test of the items' mean differences.
	SignFlipTest Test = "sign_flip"
	// ClusteredTest is Student's t with the clustered standard error of groups of items.
	ClusteredTest Test = "clustered_t"
	// CorrectedTest is Student's t of a difference that labels of people correct.
	CorrectedTest Test = "ppi"
)

// power is that of minimum detectable differences and of the numbers of items that are needed.
const power = .8

// fewItems is the number of items below which measured intervals of some scores cover less than 93%, fewDiffering the number of items
// that differ below which no test is significant at 5% or the interval of a difference may cover less.
const (
	fewItems     = 50
	fewDiffering = 6
)

// Paired has the scores of one item, one per repeat. NaN is a missing repeat.
type Paired struct {
	A, B []float64
	// Group is the same for items that belong together, such as those of a customer, a conversation or a document; 0 for an item that
	// belongs to no other.
	Group int
}

// Metric is a metric of a comparison.
type Metric struct {
	Name   string
	Better Direction
	Items  []Paired
	// Equivalence is the difference below which A and B are as good as equal; nil for no claim of equivalence.
	Equivalence *float64
	// Amount is whether the values are amounts, such as costs and durations, which may be above 1. They are no passes even if all of them
	// are 0 or 1.
	Amount bool
	// Weight is the metric's share of alpha among the metrics of a comparison, in relation to theirs. 0 stands for 1.
	Weight float64
	// Look is the [Boundary.Alpha] of the last look at a metric that was tested before, with its share of alpha to spend; 0 for one that
	// was not. It is the level of the metric's interval.
	Look float64
	// Corrected is the difference corrected by labels of people, nil without them. It is not used where items belong together.
	Corrected *stats.Correction
	// Untested is the flag that says why the difference is not tested: it has no interval, no p and no verdict. It is empty for most.
	Untested stats.Flag
}

// Options are the settings of [Compare]. The zero value is a level of 5% and seed 0.
type Options struct {
	// Alpha is the level of all tests together, and of each interval: 1 - confidence.
	Alpha float64
	Seed  uint64
}

// Side is the mean of one side over the items that both sides have.
type Side struct {
	Mean *float64        `json:"mean"`
	CI   *stats.Interval `json:"ci"`
	N    int             `json:"n"`
}

// Difference is mean B - mean A over paired items.
type Difference struct {
	Estimate *float64        `json:"estimate"`
	CI       *stats.Interval `json:"ci"`
	// P is that of the test, PAdjusted the one after Holm over the metrics of the comparison.
	P         *float64 `json:"p"`
	PAdjusted *float64 `json:"p_adjusted"`
	Test      Test     `json:"test"`
	N         int      `json:"n"`
	// MinimumDetectable is the true difference that these items would show in 80% of such comparisons, for this metric alone.
	MinimumDetectable *float64 `json:"minimum_detectable"`
}

// Variance splits the variance of an item's difference: of which items differ, and of which the repeats. Nil without two repeats of an
// item on each side.
type Variance struct {
	// Item is the variance of true differences between items. RepeatA and RepeatB are the variances of a single repeat.
	Item    *float64 `json:"item"`
	RepeatA *float64 `json:"repeat_a"`
	RepeatB *float64 `json:"repeat_b"`
}

// Accounting counts the items of a metric by the sides that have a score. Paired is all that the statistics are about.
type Accounting struct {
	Paired  int `json:"paired"`
	OnlyA   int `json:"only_a"`
	OnlyB   int `json:"only_b"`
	Neither int `json:"neither"`
}

// Comparison is what is known about a metric of A and B.
type Comparison struct {
	Name       string     `json:"name"`
	Better     Direction  `json:"better"`
	A          Side       `json:"a"`
	B          Side       `json:"b"`
	Difference Difference `json:"difference"`
	// Judged is the difference without the correction by labels, nil if it has none.
	Judged   *Difference `json:"judged,omitempty"`
	Variance Variance    `json:"variance"`
	Items    Accounting  `json:"items"`
	// Groups counts the groups of items, nil if no two belong together.
	Groups  *int         `json:"groups,omitempty"`
	Verdict Verdict      `json:"verdict"`
	Flags   []stats.Flag `json:"flags,omitempty"`
}

// Compare compares two sides by each metric, over the items that both have.
//
// Means have [ShareInterval] for binary scores, with the effective number of items where there are repeats, [BoundedMeanInterval] for
// other scores from 0 to 1, and else [SkewedMeanInterval], which amounts lack where few of them decide the mean. The difference of binary scores with one repeat has [PairedProportions]
// and [McNemarTest]. All others have [SignFlip] of the items' mean differences and [MeanInterval], which for scores from 0 to 1
// [BoundedMeanInterval] widens. If the differences are all equal, the interval of scores from 0 to 1 takes as many items as
// [PairedProportions] allows for as far away as they can be; others have none. Each item counts the same, however many repeats it has.
//
// Items that belong together make the groups the units: intervals and p are those of Student's t with the clustered standard error and one
// degree of freedom less than there are groups. Miller 2024, arXiv 2411.00640.
//
// A verdict for a side needs an adjusted p value of at most alpha and an interval without 0. With a bound, equivalent says that the
// interval at 1-2α is within it (two one-sided tests), which is not narrower than what items that are not in the sample allow for; it
// wins, since a difference within the bound is no matter. [WeightedHolm] is over the p values of all differences.
func Compare(metrics []Metric, options Options) []Comparison {
	if options.Alpha == 0 {
		options.Alpha = .05
	}
	all := make([]Comparison, len(metrics))
	p, weights := make([]float64, len(metrics)), make([]float64, len(metrics))
	inside := make([]bool, len(metrics))
	total := 0.
	for i, m := range metrics {
		all[i], inside[i] = m.compare(options)
		p[i], weights[i] = math.NaN(), 1
		if m.Weight > 0 {
			weights[i] = m.Weight
		}
		if own := all[i].Difference.P; own != nil {
			p[i] = *own
			total += weights[i]
		}
	}
	for i, m := range metrics {
		if stats.Level(m.Look) { // so that the last look's level is the share of alpha
			p[i] = min(1, p[i]*options.Alpha*weights[i]/total/m.Look)
		}
	}
	for i, adjusted := range stats.WeightedHolm(p, weights) {
		all[i].Difference.PAdjusted = stats.NewNumber(adjusted)
		all[i].Verdict = all[i].verdict(inside[i], options.Alpha)
	}
	return all
}

func (c *Comparison) verdict(inside bool, alpha float64) Verdict {
	d := c.Difference
	switch {
	case inside:
		return Equivalent
	case d.PAdjusted == nil || *d.PAdjusted > alpha || d.CI != nil && d.CI.Contains(0):
		return Inconclusive
	case (*d.Estimate > 0) == (c.Better != LowerBetter):
		return BBetter
	}
	return ABetter
}

// compare has everything but the adjusted p value and the verdict. inside reports equivalence.
func (m *Metric) compare(options Options) (c Comparison, inside bool) {
	c = Comparison{Name: m.Name, Better: m.Better, Difference: Difference{Test: SignFlipTest}}
	s := readSample(m.Items, m.Amount)
	c.Items = s.accounting
	if s.groups != nil {
		c.Groups = new(len(s.groups))
	}
	n := len(s.differences)
	c.A.N, c.B.N, c.Difference.N = n, n, n
	switch {
	case s.outside || !stats.Level(options.Alpha):
		c.Flags = []stats.Flag{stats.OutOfDomain}
		return c, false
	case n == 0:
		c.Flags = []stats.Flag{stats.TooFew}
		return c, false
	}
	if stats.Level(m.Look) {
		options.Alpha = m.Look
	}
	a, b := s.side(s.a, s.repeatsA, options.Alpha), s.side(s.b, s.repeatsB, options.Alpha)
	c.A.Mean, c.A.CI, c.B.Mean, c.B.CI = a.Value.Value, a.CI, b.Value.Value, b.CI
	c.Difference.Estimate = s.estimate()
	if m.Untested != "" {
		c.Flags = []stats.Flag{m.Untested}
		return c, false
	}
	c.Difference.CI = s.interval(options.Alpha)
	c.Variance = s.variance()
	s.test(&c.Difference, options.Seed)
	c.Difference.MinimumDetectable = s.minimumDetectable(options.Alpha)
	if m.corrects(&s) {
		judged := c.Difference
		c.Judged = &judged
		c.Difference = Difference{Estimate: m.Corrected.Value.Value, CI: m.Corrected.Interval(options.Alpha), P: m.Corrected.P(), Test: CorrectedTest, N: n}
	}
	c.Flags = s.flags()
	if m.Equivalence != nil && *m.Equivalence > 0 && options.Alpha < .5 {
		wide := m.margin(&s, 2*options.Alpha, 2*options.Alpha)
		inside = wide != nil && -*m.Equivalence < wide[0] && wide[1] < *m.Equivalence
	}
	return c, inside
}

// flags say what to mind about a comparison.
func (s *sample) flags() []stats.Flag {
	var flags []stats.Flag
	n := len(s.differences)
	switch {
	case n < 2:
		flags = append(flags, stats.TooFew)
	case n < fewItems:
		flags = append(flags, stats.FewItems)
	}
	switch differing := s.differing(); {
	case differing == 0 || stats.Constant(s.differences):
		flags = append(flags, stats.NoVariation)
	case differing < fewDiffering:
		flags = append(flags, stats.FewDiffering)
	}
	if s.amounts && n > 1 && (heavyTailed(s.a) || heavyTailed(s.b)) {
		flags = append(flags, stats.HeavyTail)
	}
	return flags
}

// estimate is the mean difference.
func (s *sample) estimate() *float64 {
	if stats.Constant(s.differences) {
		return stats.NewNumber(s.differences[0]) // without the rounding of the mean
	}
	return stats.NewNumber(stat.Mean(s.differences, nil))
}

// margin is the interval of the difference for a claim about a margin.
func (m *Metric) margin(s *sample, alpha, unseen float64) *stats.Interval {
	if !m.corrects(s) {
		return s.margin(alpha, unseen)
	}
	ci, others := m.Corrected.Interval(alpha), stats.UnseenAround(*m.Corrected.Value.Value, m.Corrected.Labels, unseen)
	return stats.NewInterval(min(ci[0], others[0]), max(ci[1], others[1]))
}

// corrects reports whether labels correct the difference. Their formula takes items as independent, which those of a group are not.
func (m *Metric) corrects(s *sample) bool {
	return m.Corrected != nil && m.Corrected.Value.Value != nil && s.groups == nil
}
