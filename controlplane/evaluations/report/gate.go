package report

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
	"github.com/looptrace/looptrace/internal/problem"
)

// Decision is what a gate decides.
type Decision string

// The decisions.
const (
	Pass       Decision = "pass"
	Regression Decision = "regression"
	// Incomplete: outputs or scores of the candidate are missing.
	Incomplete   Decision = "incomplete"
	Inconclusive Decision = "inconclusive"
)

// Gate is a decision with its evidence.
type Gate struct {
	Decision   Decision
	Sentence   string
	Better     evaluations.Better
	Comparison compare.Comparison // A is the baseline, B the candidate
	Difference results.Difference
	results.Pairs
	// Margin is how much worse the candidate may be: what was asked, or what follows the items. Unsupported is whether it is the widest
	// that is taken by itself, and these items need a wider one.
	Margin      float64
	Unsupported bool
	// ItemsNeeded, RepeatsNeeded and CandidateRepeats are those of [compare.Gate], ItemsRange and RepeatsRange have their ranges.
	ItemsNeeded, RepeatsNeeded, CandidateRepeats *int
	ItemsRange, RepeatsRange                     *compare.Count
	// Treated is the difference with a score of 0 for every output of the baseline that failed. It is nil if it was not needed: only a
	// regression has to agree with it.
	Treated *results.Difference
	// LabelsDrawn counts the items whose labels correct the difference.
	LabelsDrawn int
	// SplitKnown is whether both sides have repeats, so that what more of them would do is known.
	SplitKnown bool
}

// GateQuestion asks whether the eval-run Candidate is worse than Baseline by a metric. Margin is nil for the one that follows the items. A
// repeated gate may be asked again and again while repeats are added.
type GateQuestion struct {
	Candidate, Baseline uuid.UUID
	Metric              string
	Margin              *float64
	Repeated            bool
	// GroupBy is the path in an item by whose value items belong together, in place of that of the candidate; empty for that.
	GroupBy string
}

// gatePairs are the two sides of a gate.
type gatePairs struct {
	results.Pairs
	metric *results.Metric
	// failed is whether an output of the baseline failed.
	failed bool
}

// readGate reads both sides.
func (s *Reporter) readGate(ctx context.Context, grant access.Grant, q *GateQuestion) (*gatePairs, error) {
	if q.GroupBy != "" {
		if _, err := evaluations.ItemPath("body.group_by", q.GroupBy); err != nil {
			return nil, err
		}
	}
	now, err := s.results.EvalRun(ctx, grant, "body.candidate", q.Candidate, q.GroupBy)
	if err != nil {
		return nil, err
	}
	if q.GroupBy != "" && !now.Results.Grouped() {
		return nil, problem.InvalidField("body.group_by", "is a path at which no item of the candidate has a value")
	}
	was, err := s.results.EvalRun(ctx, grant, "body.baseline", q.Baseline, "")
	if err != nil {
		return nil, err
	}
	if now.Evaluation.ProjectID != was.Evaluation.ProjectID || now.Evaluation.DatasetID != was.Evaluation.DatasetID {
		return nil, problem.InvalidField("body.baseline", "is an eval-run of another dataset")
	}
	m, ok := was.Metric(q.Metric)
	if !ok { // a candidate without it has lost it
		return nil, problem.InvalidField("body.metric", "is no score of the baseline: it has "+was.Names())
	}
	if m.Kind == evaluations.KindDuration {
		return nil, problem.InvalidField("body.metric", "is a duration, which depends on the load at the time of each eval-run. Compare both sides in one comparison: it takes turns")
	}
	if m.IsShare() && q.Margin != nil && *q.Margin > 1 {
		return nil, problem.InvalidField("body.margin", fmt.Sprintf("must be at most 1 for %s, or nothing could fail: 0.05 are 5 points", q.Metric))
	}
	for _, side := range []*results.EvalRun{now, was} {
		if err := s.results.ReadPeople(ctx, side, q.Metric); err != nil {
			return nil, err
		}
	}
	return pairGate(now, was, m), nil
}

// pairGate pairs the items of both sides by a metric of the baseline.
func pairGate(now, was *results.EvalRun, m *results.Metric) *gatePairs {
	return &gatePairs{results.Pair(now, was, m.Name), m, was.FailedOutputs()}
}

// stats is what is compared.
func (g *gatePairs) stats() compare.Metric {
	return compare.Metric{Name: g.metric.Name, Better: compare.Direction(g.metric.Better), Items: g.Items, Amount: !g.metric.IsShare(), Corrected: g.Correction}
}

func gateOptions(margin *float64, repeated bool) compare.GateOptions {
	options := compare.GateOptions{Options: compare.Options{Alpha: evaluations.Level}, FollowItems: margin == nil, Repeated: repeated}
	if margin != nil {
		options.Margin = *margin
	}
	return options
}

// decide decides a gate at a margin, nil for the one that follows the items.
func (g *gatePairs) decide(margin *float64, repeated bool) (compare.Gate, error) {
	decided := compare.NonInferiority(g.stats(), gateOptions(margin, repeated))
	if margin == nil && decided.Margin == 0 {
		return decided, problem.InvalidField("body.margin", fmt.Sprintf("is needed: the default is a part of the baseline's mean, and %s has none above 0", g.metric.Name))
	}
	return decided, nil
}

// CheckGate decides whether a candidate is worse than a baseline by more than a margin.
func (s *Reporter) CheckGate(ctx context.Context, grant access.Grant, q *GateQuestion) (*Gate, error) {
	read, err := s.readGate(ctx, grant, q)
	if err != nil {
		return nil, err
	}
	return read.check(q.Margin, q.Repeated)
}

// Decide decides by a metric of the baseline at a margin, nil for the one that follows the items.
func Decide(candidate, baseline *results.EvalRun, m *results.Metric, margin *float64, repeated bool) (*Gate, error) {
	return pairGate(candidate, baseline, m).check(margin, repeated)
}

// check decides a gate, and says so.
func (g *gatePairs) check(margin *float64, repeated bool) (*Gate, error) {
	decided, err := g.decide(margin, repeated)
	if err != nil {
		return nil, err
	}
	m := g.metric
	gate := &Gate{Better: m.Better, Pairs: g.Pairs}
	gate.Comparison, gate.Difference = decided.Comparison, m.DifferenceOf(&decided.Comparison, evaluations.Level)
	m.Bound(gate.Comparison.A.CI, 0)
	m.Bound(gate.Comparison.B.CI, 0)
	if decided.Comparison.Judged != nil {
		gate.LabelsDrawn = g.Correction.Labels
	}
	gate.Margin, gate.Unsupported, gate.SplitKnown = decided.Margin, decided.Unsupported, decided.SplitKnown
	gate.ItemsNeeded, gate.RepeatsNeeded, gate.CandidateRepeats = decided.ItemsNeeded, decided.RepeatsNeeded, decided.CandidateRepeats
	gate.ItemsRange, gate.RepeatsRange = decided.ItemsRange, decided.RepeatsRange
	switch {
	case g.CandidateLost > 0:
		gate.Decision = Incomplete
	case decided.Decision == compare.Pass:
		gate.Decision = Pass
	case decided.Decision == compare.Regression && m.Kind == evaluations.KindScore && g.failed:
		// A baseline that fails where it would be wrong looks better than it is.
		about := g.stats()
		about.Items, about.Corrected = g.Treated, nil
		whole := compare.NonInferiority(about, gateOptions(&decided.Margin, repeated))
		gate.Treated, gate.Decision = new(m.DifferenceOf(&whole.Comparison, evaluations.Level)), Inconclusive
		if whole.Decision == compare.Regression {
			gate.Decision = Regression
		}
	case decided.Decision == compare.Regression:
		gate.Decision = Regression
	default:
		gate.Decision = Inconclusive
	}
	gate.Sentence = gate.sentence(m) + gate.ofMargin(m, margin == nil) + gate.leftOut()
	return gate, nil
}
