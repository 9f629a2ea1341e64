package evaluations

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
	"github.com/looptrace/looptrace/internal/postgres"
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
	Better     Better
	Comparison compare.Comparison // A is the baseline, B the candidate
	Difference Difference
	// OnlyCandidate and OnlyBaseline count items that the other one was not to do, Changed those whose contents are not the same.
	OnlyCandidate, OnlyBaseline, Changed int64
	// CandidateLost and BaselineLost count items of which an output failed or is missing, or whose grader failed. CandidateLost also has
	// items without a value that the baseline has.
	CandidateLost, BaselineLost int64
	// Margin is how much worse the candidate may be: what was asked, or what follows the items. Unsupported is whether it is the widest
	// that is taken by itself, and these items need a wider one.
	Margin      float64
	Unsupported bool
	// ItemsNeeded, RepeatsNeeded and CandidateRepeats are those of [compare.Gate], ItemsRange and RepeatsRange have their ranges.
	ItemsNeeded, RepeatsNeeded, CandidateRepeats *int
	ItemsRange, RepeatsRange                     *compare.Count
	// Treated is the difference with a score of 0 for every output of the baseline that failed. It is nil if it was not needed: only a
	// regression has to agree with it.
	Treated *Difference
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
	metric     *metric
	counts     Gate
	pairs      []compare.Paired
	correction *stats.Correction
	// treated are the pairs with a score of 0 for outputs of the baseline that failed, if one did.
	treated []compare.Paired
	failed  bool
}

// readGate reads both sides.
func (s *Service) readGate(ctx context.Context, grant access.Grant, q *GateQuestion) (*gatePairs, error) {
	if q.GroupBy != "" {
		if _, err := itemPath("body.group_by", q.GroupBy); err != nil {
			return nil, err
		}
	}
	now, err := s.gateSide(ctx, grant, "body.candidate", q.Candidate, q.GroupBy)
	if err != nil {
		return nil, err
	}
	if q.GroupBy != "" && !slices.ContainsFunc(now.results.items, func(i itemResult) bool { return i.group != 0 }) {
		return nil, problem.InvalidField("body.group_by", "is a path at which no item of the candidate has a value")
	}
	was, err := s.gateSide(ctx, grant, "body.baseline", q.Baseline, "")
	if err != nil {
		return nil, err
	}
	if now.e.ProjectID != was.e.ProjectID || now.e.DatasetID != was.e.DatasetID {
		return nil, problem.InvalidField("body.baseline", "is an eval-run of another dataset")
	}
	m, ok := was.metric(q.Metric)
	if !ok { // a candidate without it has lost it
		return nil, problem.InvalidField("body.metric", "is no score of the baseline: it has "+was.names())
	}
	if m.kind == KindDuration {
		return nil, problem.InvalidField("body.metric", "is a duration, which depends on the load at the time of each eval-run. Compare both sides in one comparison: it takes turns")
	}
	if m.isShare() && q.Margin != nil && *q.Margin > 1 {
		return nil, problem.InvalidField("body.margin", fmt.Sprintf("must be at most 1 for %s, or nothing could fail: 0.05 are 5 points", q.Metric))
	}
	for _, side := range []*gateSide{now, was} {
		if err := s.readPeople(ctx, side, q.Metric); err != nil {
			return nil, err
		}
	}
	return pairGate(now, was, m), nil
}

// pairGate pairs the items of both sides by a metric of the baseline.
func pairGate(now, was *gateSide, m *metric) *gatePairs {
	g := &gatePairs{metric: m, counts: Gate{Better: m.better}, failed: was.failedOutputs()}
	var people []labelledPair
	g.pairs, g.treated, people = g.counts.pair(now, was, m.name)
	g.correction = corrected(people)
	return g
}

// stats is what is compared.
func (g *gatePairs) stats() compare.Metric {
	return compare.Metric{Name: g.metric.name, Better: compare.Direction(g.metric.better), Items: g.pairs, Amount: !g.metric.isShare(), Corrected: g.correction}
}

func gateOptions(margin *float64, repeated bool) compare.GateOptions {
	options := compare.GateOptions{CompareOptions: compare.CompareOptions{Alpha: level}, FollowItems: margin == nil, Repeated: repeated}
	if margin != nil {
		options.Margin = *margin
	}
	return options
}

// decide decides a gate at a margin, nil for the one that follows the items.
func (g *gatePairs) decide(margin *float64, repeated bool) (compare.Gate, error) {
	decided := compare.NonInferiority(g.stats(), gateOptions(margin, repeated))
	if margin == nil && decided.Margin == 0 {
		return decided, problem.InvalidField("body.margin", fmt.Sprintf("is needed: the default is a part of the baseline's mean, and %s has none above 0", g.metric.name))
	}
	return decided, nil
}

// CheckGate decides whether a candidate is worse than a baseline by more than a margin.
func (s *Service) CheckGate(ctx context.Context, grant access.Grant, q *GateQuestion) (*Gate, error) {
	read, err := s.readGate(ctx, grant, q)
	if err != nil {
		return nil, err
	}
	return read.check(q.Margin, q.Repeated)
}

// check decides a gate, and says so.
func (g *gatePairs) check(margin *float64, repeated bool) (*Gate, error) {
	decided, err := g.decide(margin, repeated)
	if err != nil {
		return nil, err
	}
	gate, m := &g.counts, g.metric
	gate.Comparison, gate.Difference = decided.Comparison, m.differenceOf(&decided.Comparison, level)
	m.bound(gate.Comparison.A.CI, 0)
	m.bound(gate.Comparison.B.CI, 0)
	if decided.Comparison.Judged != nil {
		gate.LabelsDrawn = g.correction.Labels
	}
	gate.Margin, gate.Unsupported, gate.SplitKnown = decided.Margin, decided.Unsupported, decided.SplitKnown
	gate.ItemsNeeded, gate.RepeatsNeeded, gate.CandidateRepeats = decided.ItemsNeeded, decided.RepeatsNeeded, decided.CandidateRepeats
	gate.ItemsRange, gate.RepeatsRange = decided.ItemsRange, decided.RepeatsRange
	switch {
	case gate.CandidateLost > 0:
		gate.Decision = Incomplete
	case decided.Decision == compare.Pass:
		gate.Decision = Pass
	case decided.Decision == compare.Regression && m.kind == KindScore && g.failed:
		// A baseline that fails where it would be wrong looks better than it is.
		about := g.stats()
		about.Items, about.Corrected = g.treated, nil
		whole := compare.NonInferiority(about, gateOptions(&decided.Margin, repeated))
		gate.Treated, gate.Decision = new(m.differenceOf(&whole.Comparison, level)), Inconclusive
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

// gateSide is an eval-run with its results.
type gateSide struct {
	e       Evaluation
	results *results
	// panels are the names of those that score.
	panels []string
}

// gateSide reads an eval-run. groupBy is the path by which its items belong together, empty for that of the eval-run.
func (s *Service) gateSide(ctx context.Context, grant access.Grant, location string, id uuid.UUID, groupBy string) (*gateSide, error) {
	e, err := s.ended(ctx, grant, location, id)
	if err != nil {
		return nil, err
	}
	config, err := e.ReadConfig()
	if err != nil {
		return nil, err
	}
	config.GroupBy = cmp.Or(groupBy, config.GroupBy)
	found, err := s.read(ctx, &e, &config, int32(e.ItemCount))
	return &gateSide{e: e, results: found}, err
}

// ended returns an eval-run that has a summary.
func (s *Service) ended(ctx context.Context, grant access.Grant, location string, id uuid.UUID) (Evaluation, error) {
	e, err := s.Get(ctx, grant, EvalRun, id)
	if problem.Is(err, problem.NotFound) {
		return e, problem.InvalidField(location, "is no eval-run")
	}
	if err == nil && e.Summary == nil {
		err = &problem.Error{Kind: problem.Conflict, Code: "evaluation_running", Detail: fmt.Sprintf("The eval-run %q has no summary yet. Finish it, or wait a moment.", e.Name)}
	}
	return e, err
}

// metric returns the metric with a name, if an output has a score of it or its grader failed.
func (s *gateSide) metric(name string) (*metric, bool) {
	for i := range s.results.metrics {
		if m := &s.results.metrics[i]; m.name == name {
			return m, true
		}
	}
	return nil, false
}

func (s *gateSide) names() string {
	names := make([]string, len(s.results.metrics))
	for i := range names {
		names[i] = s.results.metrics[i].name
	}
	return strings.Join(names, ", ")
}

// failedOutputs reports whether an output failed.
func (s *gateSide) failedOutputs() bool {
	return slices.ContainsFunc(s.results.items, func(i itemResult) bool { return i.failed[sideA] > 0 })
}

// pair pairs the items that both have with equal contents, and counts the others. treated has a score of 0 for failed outputs of the
// baseline.
func (g *Gate) pair(candidate, baseline *gateSide, name string) (pairs, treated []compare.Paired, people []labelledPair) {
	unmet := map[uuid.UUID]*itemResult{}
	for i := range baseline.results.items {
		unmet[baseline.results.items[i].id] = &baseline.results.items[i]
	}
	newPlace, oldPlace := candidate.results.place(name), baseline.results.place(name)
	newRepeats, oldRepeats := candidate.e.Repeats, baseline.e.Repeats
	_, scores := candidate.metric(name)
	for i := range candidate.results.items {
		now := &candidate.results.items[i]
		was := unmet[now.id]
		delete(unmet, now.id)
		values := now.valuesOf(sideA, newPlace)
		var before []float64
		if was != nil {
			before = was.valuesOf(sideA, oldPlace)
		}
		if now.lost(newRepeats, name) || !scores || len(before) > 0 && len(values) == 0 {
			g.CandidateLost++
		}
		switch {
		case was == nil:
			g.OnlyCandidate++
			continue
		case !bytes.Equal(was.hash, now.hash):
			g.Changed++
			continue
		}
		if was.lost(oldRepeats, name) {
			g.BaselineLost++
		}
		pair := compare.Paired{A: before, B: values, Group: now.group}
		pairs = append(pairs, pair)
		pair.A = withFailures(before, was.failed[sideA])
		treated = append(treated, pair)
		people = addPair(people, candidate.e.DatasetID, name, now.id, before, values, [2]map[string]float64{was.people[sideA], now.people[sideA]})
	}
	g.OnlyBaseline = int64(len(unmet))
	return pairs, treated, people
}

// readPeople reads what people say of the outputs, on the scale of a panel. It reads nothing if the metric is none of a panel.
func (s *Service) readPeople(ctx context.Context, side *gateSide, name string) error {
	panels, _, err := side.e.labelledPanels()
	if err != nil || panels[name] == nil {
		return err
	}
	found, err := postgres.Many[storedLabel](ctx, s.db, "list labels for statistics", pgx.NamedArgs{"project": side.e.ProjectID, "id": side.e.ID, "score": name, "scale": panels[name].scaleText()})
	if err != nil {
		return err
	}
	in := panels[name].input(0)
	for first := 0; first < len(found); {
		last, sum, count := first, 0.0, 0.0
		for ; last < len(found) && found[last].place() == found[first].place(); last++ {
			if rating, _ := in.Rate(panels[name].value(found[last].Value)); rating != nil {
				sum, count = sum+*rating, count+1
			}
		}
		if place := found[first].place(); count > 0 && int(place.number) <= len(side.results.items) {
			side.results.items[place.number-1].addPeople(sideA, name, new(sum/count))
		}
		first = last
	}
	return nil
}

// lost reports whether an output of the item failed or is missing, or a grader failed.
func (i *itemResult) lost(repeats int, name string) bool {
	if name == metricFailures {
		return i.ok[sideA]+i.failed[sideA] < repeats
	}
	return i.ok[sideA] < repeats || i.graderErrors[name] > 0
}
