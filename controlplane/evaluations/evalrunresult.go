package evaluations

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/stats/compare"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/internal/postgres"
)

// evalRunResult is an eval-run with its results.
type evalRunResult struct {
	e       Evaluation
	results *results
	// panels are the names of those that score.
	panels []string
}

// EvalRun reads an eval-run. groupBy is the path by which its items belong together, empty for that of the eval-run.
func (s *Reader) EvalRun(ctx context.Context, grant access.Grant, location string, id uuid.UUID, groupBy string) (*evalRunResult, error) {
	e, err := s.evaluations.Ended(ctx, grant, location, id)
	if err != nil {
		return nil, err
	}
	config, err := e.ReadConfig()
	if err != nil {
		return nil, err
	}
	config.GroupBy = cmp.Or(groupBy, config.GroupBy)
	found, err := s.Read(ctx, &e, &config, int32(e.ItemCount))
	return &evalRunResult{e: e, results: found}, err
}

// metric returns the metric with a name, if an output has a score of it or its grader failed.
func (s *evalRunResult) metric(name string) (*metric, bool) {
	for i := range s.results.metrics {
		if m := &s.results.metrics[i]; m.name == name {
			return m, true
		}
	}
	return nil, false
}

func (s *evalRunResult) names() string {
	names := make([]string, len(s.results.metrics))
	for i := range names {
		names[i] = s.results.metrics[i].name
	}
	return strings.Join(names, ", ")
}

// failedOutputs reports whether an output failed.
func (s *evalRunResult) failedOutputs() bool {
	return slices.ContainsFunc(s.results.items, func(i itemResult) bool { return i.failed[sideA] > 0 })
}

// Pairs are the items of two eval-runs that both have with equal contents, with their values of a metric: A of the baseline, B of the
// candidate.
type Pairs struct {
	Items []compare.Paired
	// Treated has a score of 0 for failed outputs of the baseline.
	Treated []compare.Paired
	// Correction is that by labels of people, nil if they are too few.
	Correction *stats.Correction
	// OnlyCandidate and OnlyBaseline count items that the other one was not to do, Changed those whose contents are not the same.
	OnlyCandidate, OnlyBaseline, Changed int64
	// CandidateLost and BaselineLost count items of which an output failed or is missing, or whose grader failed. CandidateLost also has
	// items without a value that the baseline has.
	CandidateLost, BaselineLost int64
}

// Pair pairs the items of two eval-runs.
func Pair(candidate, baseline *evalRunResult, name string) (g Pairs) {
	var people []labelledPair
	unmet := map[uuid.UUID]*itemResult{}
	for i := range baseline.results.items {
		unmet[baseline.results.items[i].id] = &baseline.results.items[i]
	}
	newIndex, oldIndex := candidate.results.index(name), baseline.results.index(name)
	newRepeats, oldRepeats := candidate.e.Repeats, baseline.e.Repeats
	_, scores := candidate.metric(name)
	for i := range candidate.results.items {
		now := &candidate.results.items[i]
		was := unmet[now.id]
		delete(unmet, now.id)
		values := now.valuesOf(sideA, newIndex)
		var before []float64
		if was != nil {
			before = was.valuesOf(sideA, oldIndex)
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
		g.Items = append(g.Items, pair)
		pair.A = withFailures(before, was.failed[sideA])
		g.Treated = append(g.Treated, pair)
		people = addPair(people, candidate.e.DatasetID, name, now.id, before, values, [2]map[string]float64{was.people[sideA], now.people[sideA]})
	}
	g.OnlyBaseline = int64(len(unmet))
	g.Correction = corrected(people)
	return g
}

// ReadPeople reads what people say of the outputs, on the scale of a panel. It reads nothing if the metric is none of a panel.
func (s *Reader) ReadPeople(ctx context.Context, side *evalRunResult, name string) error {
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
		for ; last < len(found) && found[last].output() == found[first].output(); last++ {
			if rating, _ := in.Rate(panels[name].value(found[last].Value)); rating != nil {
				sum, count = sum+*rating, count+1
			}
		}
		if output := found[first].output(); count > 0 && int(output.number) <= len(side.results.items) {
			side.results.items[output.number-1].addPeople(sideA, name, new(sum/count))
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
