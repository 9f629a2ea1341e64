package panel

import (
	"math"
	"slices"

	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// LabelsResult is the panel beside labels of people. Its figures are about outputs that have a label and a value of the panel or judge.
type LabelsResult struct {
	People int `json:"people"`
	// Outputs counts those with a label on which people agree and a score.
	Outputs int `json:"outputs"`
	// Agreement is the share of outputs on which the panel is right: see docs/statistics.md. Kappa is [stats.PairKappa].
	Agreement Figure `json:"agreement"`
	Kappa     Figure `json:"kappa"`
	// Corrected is the mean score of all items, corrected by the labels of items that were drawn at random, by [stats.PPI]. Labels of items
	// that somebody chose correct nothing.
	Corrected Figure `json:"corrected"`
	// Drawn counts the labelled items that count for Corrected, of the DrawnOf with a score: each had the chance Drawn/DrawnOf.
	Drawn   int `json:"drawn"`
	DrawnOf int `json:"drawn_of"`
	// LabelsNeeded is how many more would make the interval of Corrected half as wide, or that a correction needs at all; nil if no number
	// of labels would.
	LabelsNeeded *int          `json:"labels_needed"`
	Judges       []LabelsJudge `json:"judges"`
	// Before is nil without an earlier panel.
	Before   *LabelsBefore `json:"before"`
	Sentence string        `json:"sentence"`
}

// LabelsJudge is a judge beside labels of people. Sensitivity is the share of what people passed that it passes, Specificity
// of what they failed that it fails; not applicable where nothing passes or fails.
type LabelsJudge struct {
	Name        string `json:"name"`
	Agreement   Figure `json:"agreement"`
	Kappa       Figure `json:"kappa"`
	Sensitivity Figure `json:"sensitivity"`
	Specificity Figure `json:"specificity"`
}

// LabelsBefore is an earlier panel beside the same labels. Difference is the share of outputs on which the panel is right now, less before.
type LabelsBefore struct {
	Agreement  Figure     `json:"agreement"`
	Difference Difference `json:"difference"`
}

// people are labels by output.
type people struct {
	// ids are those of persons; rows[output] has the value of each, nil without a label.
	ids  []int
	rows [][]float64
	// truth is what they say together: the majority on a nominal scale, else the mean; NaN without labels and for a tie.
	truth []float64
}

func (t *table) people() people {
	p := people{rows: make([][]float64, len(t.Outputs)), truth: t.missing()}
	for _, l := range t.Labels {
		p.ids = append(p.ids, l.Person)
	}
	slices.Sort(p.ids)
	p.ids = slices.Compact(p.ids)
	for _, l := range t.Labels {
		if p.rows[l.Output] == nil {
			p.rows[l.Output] = slices.Repeat([]float64{math.NaN()}, len(p.ids))
		}
		place, _ := slices.BinarySearch(p.ids, l.Person)
		p.rows[l.Output][place] = l.Value
	}
	for o, row := range p.rows {
		switch {
		case row == nil:
		case t.nominal():
			p.truth[o] = number(stats.Majority(row))
		default:
			p.truth[o] = number(stats.Mean(row))
		}
	}
	return p
}

// nearNumber is how far a score may be from people's, on a scale of numbers where nothing passes, and count as right.
const nearNumber = .1

// right is 1 for a value that is as people say, 0 for another, NaN where one is missing: the same category; at most half a category away
// on an ordinal scale; on numbers the same of pass and fail, or without that at most a tenth of the scale away.
func (t *table) right(value, truth float64) float64 {
	switch {
	case math.IsNaN(value) || math.IsNaN(truth):
		return math.NaN()
	case t.nominal():
		return indicator(value == truth)
	case t.Scale.Type == Ordinal:
		return indicator(math.Abs(value-truth) <= .5+rounding)
	case t.passes():
		return indicator(*t.pass(t.normalize(value)) == *t.pass(t.normalize(truth)))
	}
	return indicator(math.Abs(t.normalize(value)-t.normalize(truth)) <= nearNumber+rounding)
}

func indicator(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func (t *table) labels(p people) *LabelsResult {
	values := make([]float64, len(t.final))
	for o, v := range t.final {
		values[o] = v.value
	}
	r := &LabelsResult{People: len(p.ids), Judges: []LabelsJudge{}}
	for o := range values {
		if !math.IsNaN(p.truth[o]) && !math.IsNaN(values[o]) {
			r.Outputs++
		}
	}
	r.Agreement, r.Kappa = t.beside(values, p.truth)
	for j, judge := range t.Judges {
		own := LabelsJudge{Name: judge.Name}
		own.Agreement, own.Kappa = t.beside(t.values[j], p.truth)
		own.Sensitivity, own.Specificity = t.rates(t.values[j], p.truth)
		r.Judges = append(r.Judges, own)
	}
	t.correct(r, p)
	if t.Before != nil {
		r.Before = t.before(values, p.truth)
	}
	r.Sentence = t.labelsSentence(r, values, p.truth)
	return r
}

// beside is the agreement of values with people.
func (t *table) beside(values, truth []float64) (agreement, kappa Figure) {
	right := make([]float64, len(values))
	for o, value := range values {
		right[o] = t.right(value, truth[o])
	}
	options := t.options
	k := stats.PairKappa(values, truth, t.measured(), options)
	return t.mean(right), figure(k.Estimate, k.N)
}

// rates are sensitivity and specificity.
func (t *table) rates(values, truth []float64) (sensitivity, specificity Figure) {
	if !t.passes() {
		return without(stats.NotApplicable, 0), without(stats.NotApplicable, 0)
	}
	passed, failed := t.missing(), t.missing()
	for o, value := range values {
		given, right := t.pass(t.normalize(value)), t.pass(t.normalize(truth[o]))
		switch {
		case given == nil || right == nil:
		case *right:
			passed[o] = indicator(*given)
		default:
			failed[o] = indicator(!*given)
		}
	}
	return t.mean(passed), t.mean(failed)
}

// before compares with an earlier panel on the outputs that have a label and values of both.
func (t *table) before(values, truth []float64) *LabelsBefore {
	then := t.missing()
	for _, e := range t.Before {
		then[e.Output] = t.right(e.Value, truth[e.Output])
	}
	items := map[int]int{}
	var paired []compare.Paired
	for o, was := range then {
		now := t.right(values[o], truth[o])
		if math.IsNaN(was) || math.IsNaN(now) {
			then[o] = math.NaN()
			continue
		}
		place, ok := items[t.clusters[o]]
		if !ok {
			place = len(paired)
			items[t.clusters[o]] = place
			paired = append(paired, compare.Paired{})
		}
		paired[place].A, paired[place].B = append(paired[place].A, was), append(paired[place].B, now)
	}
	c := compare.Compare([]compare.Metric{{Better: compare.HigherBetter, Items: paired}}, compare.Options{Seed: t.Seed})[0]
	return &LabelsBefore{Agreement: t.mean(then), Difference: difference(c)}
}

// Difference is a paired difference of means over items.
type Difference struct {
	Estimate          *float64        `json:"estimate"`
	CI                *stats.Interval `json:"ci"`
	Confidence        float64         `json:"confidence"`
	P                 *float64        `json:"p"`
	PAdjusted         *float64        `json:"p_adjusted"`
	Test              compare.Test    `json:"test"`
	N                 int             `json:"n"`
	MinimumDetectable *float64        `json:"minimum_detectable"`
	Flags             []stats.Flag    `json:"flags"`
}

func difference(c compare.Comparison) Difference {
	d := c.Difference
	return Difference{
		Estimate: d.Estimate, CI: d.CI, Confidence: 1 - alpha, P: d.P, PAdjusted: d.PAdjusted, Test: d.Test, N: d.N,
		MinimumDetectable: d.MinimumDetectable, Flags: append([]stats.Flag{}, c.Flags...),
	}
}
