package start

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/execute"
	"github.com/looptrace/looptrace/internal/problem"
)

// RecordedRun is a run whose output is evaluated.
type RecordedRun struct {
	// Item is the item that it becomes, whose source it is.
	Item   datasets.NewItem
	Output json.RawMessage
	// Model is empty for none, and for several.
	Model string
	// Failed is whether the run failed, by its status or by a score. Its output is evaluated all the same, and counts as a failure.
	Failed bool
}

// takeRuns plans an evaluation of recorded runs. What the dataset has of them already is known when they are written.
func (p *plan) takeRuns(n *Wanted) error {
	switch {
	case n.Revision != nil:
		return problem.InvalidField("body.revision", "is not for a run_filter: the runs become items of a new revision")
	case len(n.Items) > 0:
		return problem.InvalidField("body.item_ids", "is not for a run_filter: the items are those of the runs")
	case n.Repeats > 1:
		return problem.InvalidField("body.repeats", "must be 1: a run has one output")
	case len(n.Runs) == 0:
		return errNoRuns(n.Config.Target.Found)
	}
	p.items = make([]plannedItem, len(n.Runs))
	for i := range n.Runs[:min(len(n.Runs), evaluations.PilotItems)] {
		p.pilot = append(p.pilot, datasets.Item{Input: string(n.Runs[i].Item.Input), ReferenceOutput: "null", Metadata: "{}"})
	}
	return nil
}

// writeRuns writes the items of recorded runs, plans them, and returns the results.
func (s *Starter) writeRuns(ctx context.Context, tx pgx.Tx, grant access.Grant, n *Wanted, p *plan) ([]storedResult, error) {
	items := make([]datasets.NewItem, len(n.Runs))
	for i := range n.Runs {
		items[i] = n.Runs[i].Item
	}
	written, contents, err := s.datasets.WriteRuns(ctx, tx, grant, n.Dataset, items, "")
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	misfits, reasons := map[int]bool{}, map[string]int64{}
	for _, misfit := range written.Misfits {
		misfits[misfit.Index] = true
		reasons[misfit.Text]++
	}
	found := n.Config.Target.Found
	found.Skip(reasons)
	found.Evaluated = int64(len(contents))
	if len(contents) == 0 {
		return nil, errNoRuns(found)
	}
	p.revision, p.estimate.Items = written.Revision, found.Evaluated
	p.items = make([]plannedItem, len(contents))
	results, grading := make([]storedResult, 0, len(contents)), s.gradeFor(p.graders, true)
	for i := range n.Runs {
		if misfits[i] {
			continue
		}
		run, at := &n.Runs[i], len(results)
		item := &contents[at]
		p.items[at] = plannedItem{id: item.ItemID, ordinal: item.Ordinal, key: item.Key, hash: item.ContentHash}
		result, err := grading.row(ctx, &Result{ItemID: item.ItemID, Repeat: 1, Output: run.Output, RunID: run.Item.SourceRunID, Model: run.Model}, item, int32(at+1))
		if err != nil {
			return nil, err
		}
		result.RunFailed = run.Failed
		results = append(results, result)
	}
	return results, nil
}

// storeRuns stores the outputs of recorded runs as results. A job takes costs, tokens, durations and tool calls from the runs, and goes on.
func (s *Starter) storeRuns(ctx context.Context, tx pgx.Tx, e *evaluations.Evaluation, config *evaluations.Config, results []storedResult) error {
	for chunk := range slices.Chunk(results, execute.BatchSize) {
		if err := s.storeResults(ctx, tx, e, chunk, false, &Added{}); err != nil {
			return err
		}
	}
	return s.endSending(ctx, tx, e.ProjectID, e.ID, config)
}

// errNoRuns is returned where there is nothing to evaluate.
func errNoRuns(f *evaluations.FoundRuns) error {
	if f.Selected == 0 {
		return problem.InvalidField("body.target.run_filter", "matches no run that started between from and to")
	}
	return problem.InvalidField("body.target.run_filter", "matches no run that can be evaluated. "+f.Sentence())
}
