package evaluations

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
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

// FoundRuns says what became of the runs that a filter found. Selected is the sum of Evaluated, the counts of Skipped, and OtherSkipped.
type FoundRuns struct {
	// Matched are all that match, Selected those that were taken of them.
	Matched   int64         `json:"matched"`
	Selected  int64         `json:"selected"`
	Evaluated int64         `json:"evaluated"`
	Skipped   []SkippedRuns `json:"skipped"`
	// OtherSkipped are those with reasons that are not listed.
	OtherSkipped int64 `json:"other_skipped"`
}

// SkippedRuns counts runs that cannot be evaluated, for a reason.
type SkippedRuns struct {
	Reason string `json:"reason"`
	Runs   int64  `json:"runs"`
}

// Skip counts runs that cannot be evaluated by their reasons.
func (f *FoundRuns) Skip(reasons map[string]int64) {
	for _, one := range f.Skipped {
		reasons[one.Reason] += one.Runs
	}
	f.Skipped = []SkippedRuns{}
	for _, reason := range slices.SortedFunc(maps.Keys(reasons), func(x, y string) int {
		return cmp.Or(cmp.Compare(reasons[y], reasons[x]), cmp.Compare(x, y))
	}) {
		if len(f.Skipped) < maxListed {
			f.Skipped = append(f.Skipped, SkippedRuns{utf8text.Storable(reason), reasons[reason]})
		} else {
			f.OtherSkipped += reasons[reason]
		}
	}
}

// sentence says what is left out, empty if nothing is.
func (f *FoundRuns) sentence() string {
	skipped := f.Selected - f.Evaluated
	if skipped == 0 {
		return ""
	}
	reasons := make([]string, 0, maxExamples+1)
	others := skipped
	for _, one := range f.Skipped[:min(len(f.Skipped), maxExamples)] {
		reasons, others = append(reasons, fmt.Sprintf("%d: %s", one.Runs, one.Reason)), others-one.Runs
	}
	if others > 0 {
		reasons = append(reasons, fmt.Sprintf("%d for other reasons", others))
	}
	return fmt.Sprintf("%d of %d recorded runs could not be evaluated (%s).", skipped, f.Selected, strings.Join(reasons, "; "))
}

// errNoRuns is returned where there is nothing to evaluate.
func (f *FoundRuns) errNoRuns() error {
	if f.Selected == 0 {
		return problem.InvalidField("body.target.run_filter", "matches no run that started between from and to")
	}
	return problem.InvalidField("body.target.run_filter", "matches no run that can be evaluated. "+f.sentence())
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
		return n.Config.Target.Found.errNoRuns()
	}
	p.items = make([]plannedItem, len(n.Runs))
	for i := range n.Runs[:min(len(n.Runs), pilotItems)] {
		p.pilot = append(p.pilot, datasets.Item{Input: string(n.Runs[i].Item.Input), ReferenceOutput: "null", Metadata: "{}"})
	}
	return nil
}

// writeRuns writes the items of recorded runs, plans them, and returns the results.
func (s *Service) writeRuns(ctx context.Context, tx pgx.Tx, grant access.Grant, n *Wanted, p *plan) ([]storedResult, error) {
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
		return nil, found.errNoRuns()
	}
	p.revision, p.estimate.Items = written.Revision, found.Evaluated
	p.items = make([]plannedItem, len(contents))
	results, a := make([]storedResult, 0, len(contents)), attempt{Service: s, graders: p.graders, until: &deadline{at: time.Now().Add(s.GradingTime)}}
	for i := range n.Runs {
		if misfits[i] {
			continue
		}
		run, at := &n.Runs[i], len(results)
		item := &contents[at]
		p.items[at] = plannedItem{id: item.ItemID, ordinal: item.Ordinal, key: item.Key, hash: item.ContentHash}
		result, err := a.resultRow(ctx, &Result{ItemID: item.ItemID, Repeat: 1, Output: run.Output, RunID: run.Item.SourceRunID, Model: run.Model}, item, int32(at+1), true)
		if err != nil {
			return nil, err
		}
		result.RunFailed = run.Failed
		results = append(results, result)
	}
	return results, nil
}

// storeRuns stores the outputs of recorded runs as results. A job takes costs, tokens, durations and tool calls from the runs, and goes on.
func (s *Service) storeRuns(ctx context.Context, tx postgres.DB, e *Evaluation, config *Config, results []storedResult) error {
	for chunk := range slices.Chunk(results, storedItems) {
		if err := s.storeResults(ctx, tx, e, chunk, false, &Added{}); err != nil {
			return err
		}
	}
	return s.endSending(ctx, tx, e.ProjectID, e.ID, config)
}
