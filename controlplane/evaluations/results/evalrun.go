package results

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
	"github.com/looptrace/looptrace/internal/postgres"
)

// EvalRun is an eval-run with its results.
type EvalRun struct {
	Evaluation evaluations.Evaluation
	Results    *Results
	// panels are the names of those that score.
	Panels []string
}

// EvalRun reads an eval-run. groupBy is the path by which its items belong together, empty for that of the eval-run.
func (s *Reader) EvalRun(ctx context.Context, grant access.Grant, location string, id uuid.UUID, groupBy string) (*EvalRun, error) {
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
	return &EvalRun{Evaluation: e, Results: found}, err
}

// Metric returns the metric with a name, if an output has a score of it or its grader failed.
func (s *EvalRun) Metric(name string) (*Metric, bool) {
	for i := range s.Results.metrics {
		if m := &s.Results.metrics[i]; m.Name == name {
			return m, true
		}
	}
	return nil, false
}

// Names returns the names of the metrics as a list.
func (s *EvalRun) Names() string {
	names := make([]string, len(s.Results.metrics))
	for i := range names {
		names[i] = s.Results.metrics[i].Name
	}
	return strings.Join(names, ", ")
}

// FailedOutputs reports whether an output failed.
func (s *EvalRun) FailedOutputs() bool {
	return slices.ContainsFunc(s.Results.Items, func(i Item) bool { return i.Failed[evaluations.SideA] > 0 })
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
func Pair(candidate, baseline *EvalRun, name string) (g Pairs) {
	var people []labelledPair
	unmet := map[uuid.UUID]*Item{}
	for i := range baseline.Results.Items {
		unmet[baseline.Results.Items[i].ID] = &baseline.Results.Items[i]
	}
	newIndex, oldIndex := candidate.Results.Index(name), baseline.Results.Index(name)
	newRepeats, oldRepeats := candidate.Evaluation.Repeats, baseline.Evaluation.Repeats
	_, scores := candidate.Metric(name)
	for i := range candidate.Results.Items {
		now := &candidate.Results.Items[i]
		was := unmet[now.ID]
		delete(unmet, now.ID)
		values := now.ValuesOf(evaluations.SideA, newIndex)
		var before []float64
		if was != nil {
			before = was.ValuesOf(evaluations.SideA, oldIndex)
		}
		if now.lost(newRepeats, name) || !scores || len(before) > 0 && len(values) == 0 {
			g.CandidateLost++
		}
		switch {
		case was == nil:
			g.OnlyCandidate++
			continue
		case !bytes.Equal(was.Hash, now.Hash):
			g.Changed++
			continue
		}
		if was.lost(oldRepeats, name) {
			g.BaselineLost++
		}
		pair := compare.Paired{A: before, B: values, Group: now.Group}
		g.Items = append(g.Items, pair)
		pair.A = WithFailures(before, was.Failed[evaluations.SideA])
		g.Treated = append(g.Treated, pair)
		people = addPair(people, candidate.Evaluation.DatasetID, name, now.ID, before, values, [2]map[string]float64{was.people[evaluations.SideA], now.people[evaluations.SideA]})
	}
	g.OnlyBaseline = int64(len(unmet))
	g.Correction = corrected(people)
	return g
}

// ReadPeople reads what people say of the outputs, on the scale of a panel. It reads nothing if the metric is none of a panel.
func (s *Reader) ReadPeople(ctx context.Context, side *EvalRun, name string) error {
	panels, _, err := side.Evaluation.LabelledPanels()
	if err != nil || panels[name] == nil {
		return err
	}
	found, err := postgres.Many[storedLabel](ctx, s.db, "list labels for statistics", pgx.NamedArgs{"project": side.Evaluation.ProjectID, "id": side.Evaluation.ID, "score": name, "scale": panels[name].ScaleText()})
	if err != nil {
		return err
	}
	in := panels[name].Input(0)
	for first := 0; first < len(found); {
		last, sum, count := first, 0.0, 0.0
		for ; last < len(found) && found[last].output() == found[first].output(); last++ {
			if rating, _ := in.Rate(panels[name].Value(found[last].Value)); rating != nil {
				sum, count = sum+*rating, count+1
			}
		}
		if output := found[first].output(); count > 0 && int(output.number) <= len(side.Results.Items) {
			side.Results.Items[output.number-1].addPeople(evaluations.SideA, name, new(sum/count))
		}
		first = last
	}
	return nil
}

// lost reports whether an output of the item failed or is missing, or a grader failed.
func (i *Item) lost(repeats int, name string) bool {
	if name == evaluations.MetricFailures {
		return i.ok[evaluations.SideA]+i.Failed[evaluations.SideA] < repeats
	}
	return i.ok[evaluations.SideA] < repeats || i.graderErrors[name] > 0
}
