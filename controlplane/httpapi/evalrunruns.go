package httpapi

import (
	"context"
	"fmt"
	"time"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/start"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/jsonselect"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

const (
	// recordedWindow is how far back recorded runs are looked for, and defaultMaxRuns how many are taken, where the request does not say.
	recordedWindow = 7 * 24 * time.Hour
	defaultMaxRuns = 100
	// atRunFilter is the place of a filter in the request.
	atRunFilter = "body.target.run_filter"
)

// elsewhere says where the members of a filter stand that a query string must not have.
var elsewhere = map[string]string{
	"project_id": "project_id", "window_seconds": "target.from", "start_after": "target.from", "start_before": "target.to",
}

// Parts of a run that are evaluated.
var (
	inputPath  = mustPath("$.input")
	outputPath = mustPath("$.output")
)

func mustPath(text string) *jsonselect.Path {
	path, err := jsonselect.Parse(text)
	if err != nil {
		panic(err) // they are constant
	}
	return path
}

// recordedRuns reads the recorded runs that an eval-run evaluates.
func (h evalRunHandlers) recordedRuns(ctx context.Context, body *contract.EvalRunCreate, n *start.Wanted) error {
	grant, t := grantOf(ctx), &body.Target
	for _, scope := range []string{apikey.ScopeRunsRead, apikey.ScopeDatasetsWrite} {
		if !grant.Allows(body.ProjectId, scope) {
			return &problem.Error{Kind: problem.Forbidden, Code: "scope_missing", Detail: fmt.Sprintf("A run_filter needs the scope %s, too.", scope)}
		}
	}
	filter, err := readRunFilter(callOf(ctx).operation.route.Spec, atRunFilter, elsewhere, body.ProjectId, *t.RunFilter)
	if err != nil {
		return err
	}
	items := runItems{input: inputPath, referenceOutput: outputPath, skipped: []contract.RunSkipped{}}
	if body.Split != nil {
		name, err := validate.Name("body.split", *body.Split)
		if err != nil {
			return err //nolint:wrapcheck // it is for the client
		}
		items.split = &name
	}
	if err := recordedTimes(t, &filter); err != nil {
		return err
	}
	n.Config.Target.RunFilter, n.Config.Target.MaxRuns = *t.RunFilter, valueOf(t.MaxRuns, defaultMaxRuns)
	in := grant.Only(body.ProjectId)
	sampled, err := h.runs.Sample(ctx, in, filter, n.Config.Target.MaxRuns, n.Seed)
	if err != nil {
		return err
	}
	n.Config.Target.From, n.Config.Target.To = &filter.StartAfter, &filter.StartBefore
	if t.To == nil {
		n.Config.Target.To = &sampled.AsOf
	}
	if filter.Window > 0 {
		n.Config.Target.From = new(sampled.AsOf.Add(-filter.Window))
	}
	var made []start.RecordedRun
	if err := items.makeAll(ctx, h.runs, in, sampled.Runs, func(source *runs.Source) {
		made = append(made, start.RecordedRun{Model: modelOf(source), Failed: source.Run.Outcome() == runmodel.OutcomeFailed})
	}); err != nil {
		return err
	}
	n.Runs = made
	for i := range items.items {
		n.Runs[i].Item, n.Runs[i].Output = items.items[i], items.items[i].ReferenceOutput
		n.Runs[i].Item.ReferenceOutput = nil // what it said is not what it should have said
	}
	n.Config.Target.Found = &evaluations.FoundRuns{
		Matched: count(sampled.Matched), Selected: int64(len(sampled.Runs)), Evaluated: int64(len(n.Runs)),
	}
	reasons := map[string]int64{}
	for _, skipped := range items.skipped {
		reasons[skipped.Reason]++
	}
	n.Config.Target.Found.Skip(reasons)
	return nil
}

// recordedTimes sets the times between which the runs started. Without any, the window ends at the time of the store.
func recordedTimes(t *contract.EvalRunTarget, filter *runs.Filter) error {
	for at, given := range map[string]*time.Time{"body.target.from": t.From, "body.target.to": t.To} {
		if given != nil {
			if err := validate.Time(at, *given); err != nil {
				return err //nolint:wrapcheck // it is for the client
			}
		}
	}
	switch {
	case t.From != nil && t.To != nil && !t.From.Before(*t.To):
		return problem.InvalidField("body.target.to", "must be after from")
	case t.From == nil && t.To == nil:
		filter.Window = recordedWindow
	case t.From == nil:
		filter.StartAfter = t.To.UTC().Add(-recordedWindow)
	default:
		filter.StartAfter = t.From.UTC()
	}
	if t.To != nil {
		filter.StartBefore = t.To.UTC()
	}
	return nil
}

func modelOf(source *runs.Source) string {
	if len(source.Run.Models) != 1 {
		return ""
	}
	return source.Run.Models[0]
}

func evaluatedRunsOf(f *evaluations.FoundRuns) *contract.EvaluatedRuns {
	if f == nil {
		return nil
	}
	answer := &contract.EvaluatedRuns{
		Matched: f.Matched, Selected: f.Selected, Evaluated: f.Evaluated, OtherSkipped: f.OtherSkipped, Skipped: make([]contract.SkippedRuns, len(f.Skipped)),
	}
	for i, one := range f.Skipped {
		answer.Skipped[i] = contract.SkippedRuns{Reason: one.Reason, Runs: one.Runs}
	}
	return answer
}
