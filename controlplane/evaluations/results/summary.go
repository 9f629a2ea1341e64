package results

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// Summary is the result of a comparison.
type Summary struct {
	Sentence      string          `json:"sentence"`
	PrimaryMetric *string         `json:"primary_metric"`
	Metrics       []MetricSummary `json:"metrics"`
	Panels        []PanelSummary  `json:"panels"`
	Models        []Model         `json:"models"`
	// OtherModels counts the outputs of models and fingerprints that are not listed.
	OtherModels int64 `json:"other_models"`
	// Conditions are what else differs between the sides.
	Conditions []Condition `json:"conditions"`
	// StoppedAt is the part of the items after which it stopped early.
	StoppedAt *float64 `json:"stopped_at"`
	// Partial is whether outputs are missing.
	Partial bool `json:"partial"`
}

// MetricSummary is the result of a metric.
type MetricSummary struct {
	Name       string             `json:"name"`
	Kind       evaluations.Kind   `json:"kind"`
	Better     evaluations.Better `json:"better"`
	A          compare.Side       `json:"a"`
	B          compare.Side       `json:"b"`
	Difference Difference         `json:"difference"`
	// Judged is the difference by judges alone, where labels of people correct Difference: those of LabelsDrawn items of both sides that
	// were drawn at random. Nil and 0 without them.
	Judged      *Difference `json:"judged"`
	LabelsDrawn int         `json:"labels_drawn"`
	// LabelsPaired counts the items with labels on both sides of a score of judges. LabelsFlag says why they do not correct the difference, and
	// LabelsNeeded how many more items of the random order would.
	LabelsPaired int         `json:"labels_paired"`
	LabelsFlag   *stats.Flag `json:"labels_flag"`
	LabelsNeeded *int        `json:"labels_needed"`
	// IntentionToTreat has a score of 0 for every output that failed. It is nil if none did, and for what is no score.
	IntentionToTreat *Difference `json:"intention_to_treat"`
	// Verdict names a side only if IntentionToTreat names it, too.
	Verdict compare.Verdict `json:"verdict"`
	// Groups counts the groups of items, nil if no two belong together.
	Groups    *int  `json:"groups"`
	Improved  int64 `json:"improved"`
	Regressed int64 `json:"regressed"`
	Unchanged int64 `json:"unchanged"`
	// Variance is nil without repeats.
	Variance *compare.Variance `json:"variance"`
}

// Difference is B minus A over the items that both sides have.
type Difference struct {
	compare.Difference
	// Confidence is that of the interval.
	Confidence float64      `json:"confidence"`
	Flags      []stats.Flag `json:"flags"`
}

// Model is a model that answered.
type Model struct {
	Side        string  `json:"side"`
	Model       string  `json:"model"`
	Fingerprint *string `json:"fingerprint"`
	Outputs     int64   `json:"outputs"`
}

// metricOf returns the values of a metric for the items up to a number. Those of failed outputs are 0 if failedAsZero.
func (r *Results) metricOf(m *Metric, last int, margin *float64, failedAsZero bool) compare.Metric {
	index := r.Index(m.Name)
	out := compare.Metric{Name: m.Name, Better: compare.Direction(m.Better), Items: make([]compare.Paired, 0, last), Amount: !m.IsShare()}
	if m.Kind == evaluations.KindScore {
		out.Equivalence = margin
	}
	for i := range r.Items[:last] {
		item := &r.Items[i]
		pair := compare.Paired{A: item.ValuesOf(evaluations.SideA, index), B: item.ValuesOf(evaluations.SideB, index), Group: item.Group}
		if failedAsZero {
			pair.A, pair.B = WithFailures(pair.A, item.Failed[evaluations.SideA]), WithFailures(pair.B, item.Failed[evaluations.SideB])
		}
		out.Items = append(out.Items, pair)
	}
	return out
}

// WithFailures returns scores and 0 for every output that failed.
func WithFailures(scores []float64, failed int) []float64 {
	return append(scores[:len(scores):len(scores)], make([]float64, failed)...)
}

// PrimaryShare is the part of the level that tests of the primary metric may use up, also at early looks. The other metrics have the rest,
// and all of it once the primary one is shown.
const PrimaryShare = 0.8

// DefaultPower is the power of plans that nobody named.
const DefaultPower = .8

// DifferentTimes is the flag of durations of outputs that were made at different times, under whatever load there was.
const DifferentTimes stats.Flag = "different_times"

// Summarize compares the sides. stoppedAt is the part of the items after which the evaluation stopped early, nil if it did not.
func (r *Results) Summarize(stoppedAt *float64) error {
	r.Summary.StoppedAt, r.Summary.Metrics = stoppedAt, make([]MetricSummary, len(r.metrics))
	r.Summary.Partial, r.Summary.Panels = r.partial(), r.panels
	compared := r.compare(false)
	treated := compared
	if r.Accounting.OutputsFailed > 0 {
		treated = r.compare(true)
	}
	for i := range r.metrics {
		m := &r.metrics[i]
		alpha := evaluations.Level
		if look := r.look(m); look != 0 {
			alpha = look
		}
		summary := summaryOf(m, &compared[i], alpha)
		if compared[i].Judged != nil {
			judged := compared[i]
			judged.Difference = *judged.Judged
			summary.Judged = new(m.DifferenceOf(&judged, alpha))
		}
		if r.labelled(m.Name) {
			summary.addLabels(r.pairsOf(m))
		}
		if m.Kind == evaluations.KindScore && r.Accounting.OutputsFailed > 0 {
			summary.IntentionToTreat = new(m.DifferenceOf(&treated[i], alpha))
			if summary.Verdict != treated[i].Verdict {
				summary.Verdict = compare.Inconclusive
			}
		}
		for j := range r.Items {
			switch r.Items[j].Metrics[m.Name].Outcome {
			case evaluations.OutcomeImproved:
				summary.Improved++
			case evaluations.OutcomeRegressed:
				summary.Regressed++
			case evaluations.OutcomeUnchanged:
				summary.Unchanged++
			}
		}
		r.Summary.Metrics[i] = summary
	}
	r.Summary.Sentence = r.sentence()
	var err error
	r.Summary.Conditions, err = conditionsOf(r.config, r.models, r.input)
	return err
}

// labelled reports whether a metric is the score of a panel, on whose scale people label outputs.
func (r *Results) labelled(name string) bool {
	return slices.ContainsFunc(r.judged, func(p evaluations.ReadyPanel) bool { return p.Name == name && p.Kind == judge.TypeScore })
}

// compare compares all metrics, which are one family of tests.
func (r *Results) compare(failedAsZero bool) []compare.Comparison {
	list := make([]compare.Metric, len(r.metrics))
	for i := range r.metrics {
		m := &r.metrics[i]
		list[i] = r.metricOf(m, len(r.Items), r.config.EquivalenceMargin, failedAsZero && m.Kind == evaluations.KindScore)
		list[i].Look = r.look(m)
		if !failedAsZero {
			list[i].Corrected = corrected(r.pairsOf(m))
		}
		if r.isPrimary(m) {
			list[i].Weight = PrimaryShare
		} else if r.Summary.PrimaryMetric != nil {
			list[i].Weight = (1 - PrimaryShare) / float64(len(r.metrics)-1)
		}
		if m.Kind == evaluations.KindDuration && (r.config.Sides[evaluations.SideA].EvalRunID != nil || r.config.Sides[evaluations.SideB].EvalRunID != nil) {
			list[i].Untested = DifferentTimes
		}
	}
	return compare.Compare(list, compare.Options{Alpha: evaluations.Level, Seed: uint64(r.e.Seed)})
}

func (r *Results) isPrimary(m *Metric) bool {
	return r.Summary.PrimaryMetric != nil && m.Name == *r.Summary.PrimaryMetric
}

// look returns the level of the last look at a metric that may stop the evaluation early, 0 for others.
func (r *Results) look(m *Metric) float64 {
	if !r.config.StopEarly || !r.isPrimary(m) {
		return 0
	}
	return r.lastLevel()
}

// Primary returns the primary metric, or nil.
func (s *Summary) Primary() *MetricSummary {
	for i := range s.Metrics {
		if s.PrimaryMetric != nil && s.Metrics[i].Name == *s.PrimaryMetric {
			return &s.Metrics[i]
		}
	}
	return nil
}

func summaryOf(m *Metric, c *compare.Comparison, alpha float64) MetricSummary {
	out := MetricSummary{Name: m.Name, Kind: m.Kind, Better: m.Better, A: c.A, B: c.B, Difference: m.DifferenceOf(c, alpha), Verdict: c.Verdict, Groups: c.Groups}
	m.Bound(out.A.CI, 0)
	m.Bound(out.B.CI, 0)
	if c.Variance.Item != nil {
		out.Variance = &c.Variance
	}
	return out
}

// Bound cuts an interval of a score, or of a share of failures, to what is possible: from low to 1.
func (m *Metric) Bound(ci *stats.Interval, low float64) {
	if ci != nil && m.IsShare() {
		ci[0], ci[1] = max(low, ci[0]), min(1, ci[1])
	}
}

// DifferenceOf returns the difference of a comparison at a level.
func (m *Metric) DifferenceOf(c *compare.Comparison, alpha float64) Difference {
	m.Bound(c.Difference.CI, -1)
	flags := c.Flags
	if flags == nil {
		flags = []stats.Flag{}
	}
	return Difference{c.Difference, 1 - alpha, flags}
}

// looksUpTo returns the tests of the primary metric after the looks at the items up to a number.
func (r *Results) looksUpTo(last int64) []stats.Look {
	primary := Metric{Name: *r.Summary.PrimaryMetric, Kind: evaluations.KindScore, Better: evaluations.Higher}
	var list []stats.Look
	for _, p := range Parts(r.e, r.config) {
		if int64(p.Last) > last {
			continue
		}
		one := r.metricOf(&primary, int(p.Last), nil, false)
		compared := compare.Compare([]compare.Metric{one}, compare.Options{Seed: uint64(r.e.Seed)})
		look := stats.Look{Fraction: p.Share, P: 1}
		if p := compared[0].Difference.P; p != nil {
			look.P = *p
		}
		list = append(list, look)
	}
	return list
}

// Decided tests whether the primary metric is decided after the items up to a number, which are those that were read.
func (r *Results) Decided(last int32) (bool, error) {
	test := stats.SequentialTest(r.looksUpTo(int64(last)), PrimaryShare*evaluations.Level)
	if test.Flag != "" {
		return false, fmt.Errorf("test whether evaluation %s is decided: %s", r.e.ID, test.Flag)
	}
	return test.Stop, nil
}

// lastLevel returns the level of the last look.
func (r *Results) lastLevel() float64 {
	found := r.looksUpTo(r.Accounting.Items - r.Accounting.Pending) // items are made in their order
	if len(found) == 0 {
		return PrimaryShare * evaluations.Level
	}
	if test := stats.SequentialTest(found, PrimaryShare*evaluations.Level); test.Boundary != nil {
		return test.Boundary.Alpha
	}
	return PrimaryShare * evaluations.Level
}

// Part is the items up to a number, and their share of all.
type Part struct {
	Last  int32
	Share float64
}

// Parts are the parts of the items after which an evaluation tests whether it may stop early, and at last all items.
func Parts(e *evaluations.Evaluation, config *evaluations.Config) []Part {
	items := int32(e.ItemCount)
	var list []Part
	for _, share := range looks {
		if last := int32(share * float64(items)); config.StopEarly && last > evaluations.PilotItems {
			list = append(list, Part{last, share})
		}
	}
	return append(list, Part{items, 1})
}

// looks are the shares of those parts. The first p value that may stop it is above the least that a permutation test has, 1/10000: after a
// quarter of the items it would be 0.000015.
var looks = []float64{0.4, 0.6, 0.8}

// ReadSummary returns the summary of a comparison, nil before the end.
func ReadSummary(e *evaluations.Evaluation) (*Summary, error) { return readSummary[Summary](e) }

// ReadEvalRunSummary returns the summary of an eval-run, nil before the end.
func ReadEvalRunSummary(e *evaluations.Evaluation) (*EvalRunSummary, error) {
	return readSummary[EvalRunSummary](e)
}

func readSummary[S any](e *evaluations.Evaluation) (*S, error) {
	if e.Summary == nil {
		return nil, nil //nolint:nilnil // there is none yet
	}
	var summary S
	if err := json.Unmarshal([]byte(*e.Summary), &summary); err != nil {
		return nil, fmt.Errorf("read the summary of evaluation %s: %w", e.ID, err)
	}
	return &summary, nil
}
