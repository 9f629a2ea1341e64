package execute

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

const (
	// runsWait is how long runs of results are waited for after the end of an eval-run: they may still be on their way. rerunsJob is the
	// time between two looks.
	runsWait, rerunsJob = time.Minute, 2 * time.Second
	// lookedUp is how many results are filled in at once.
	lookedUp = 100
	// maxRunCost is the most that a run can have cost, in dollars: clients may send any number.
	maxRunCost = 1_000_000
)

// Runs reads what runs took. Runs that are not there are left out.
type Runs interface {
	Totals(ctx context.Context, projects access.Projects, ids []uuid.UUID) (map[uuid.UUID]runmodel.Run, error)
	ToolCalls(ctx context.Context, projects access.Projects, ids []uuid.UUID) (map[uuid.UUID][]runs.ToolCall, error)
}

// LookupOf returns the lookup of a result that was sent, nil if there is nothing to look for. Who may not read runs does not learn of
// them by results either.
func LookupOf(run *uuid.UUID, lacking, readsRuns bool) *evaluations.RunLookup {
	switch {
	case run == nil || *run == uuid.Nil || !lacking:
		return nil
	case !readsRuns:
		return new(evaluations.RunNotAllowed)
	}
	return new(evaluations.RunWaiting)
}

// waitingResult is a result whose run was not looked at, or that is not graded.
type waitingResult struct {
	Number           int32
	Repeat           int
	Ordinal          int64
	Status           string
	Output           *string
	Message          *string
	RunID            uuid.UUID
	RunLookup        evaluations.RunLookup
	DurationMS       *float64
	InputTokens      *int64
	OutputTokens     *int64
	CacheReadTokens  *int64
	CacheWriteTokens *int64
	ReasoningTokens  *int64
	CostNanousd      *int64
	Scores           string
}

// filledResult is a result with what its run has.
type filledResult struct {
	OutputRow
	RunLookup evaluations.RunLookup `json:"run_lookup"`
	// Added is the cost that it did not have.
	Added *int64 `json:"added_nanousd"`

	ordinal int64
	left    bool // whether scores are missing
}

// readRuns fills in what results lack from their runs, and grades what could not be graded without. While runs are missing, it returns a
// [*work.RetryLaterError]; after a while it says that they are not known.
func (a *attempt) readRuns(ctx context.Context) error {
	last := a.e.FinishedAt == nil || a.now().Sub(*a.e.FinishedAt) >= runsWait
	missing, number, repeat := false, int32(0), 0
	for {
		found, err := postgres.Many[waitingResult](ctx, a.db, "list waiting results", pgx.NamedArgs{"id": a.e.ID, "number": number, "repeat": repeat, "limit": lookedUp})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			break
		}
		number, repeat = found[len(found)-1].Number, found[len(found)-1].Repeat
		filled, err := a.fillResults(ctx, found, last)
		if err != nil {
			return err
		}
		missing = missing || len(filled) < len(found)
		if err := a.storeFilled(ctx, filled); err != nil {
			return err
		}
	}
	if missing {
		return &work.RetryLaterError{After: rerunsJob}
	}
	return nil
}

// fillResults returns the results whose runs are known, and if it is the last look also the others.
func (a *attempt) fillResults(ctx context.Context, found []waitingResult, last bool) ([]filledResult, error) {
	var ids []uuid.UUID
	for i := range found {
		if found[i].RunLookup == evaluations.RunWaiting {
			ids = append(ids, found[i].RunID)
		}
	}
	unknown := evaluations.RunNotFound
	var totals map[uuid.UUID]runmodel.Run
	var err error
	if len(ids) > 0 {
		totals, err = a.runs.Totals(ctx, access.OfJob(a.e.ProjectID), ids)
	}
	if err != nil && !problem.Is(err, problem.Unavailable) && !problem.Is(err, problem.TooExpensive) {
		return nil, fmt.Errorf("read the runs of results: %w", err)
	}
	if err != nil {
		unknown = evaluations.RunUnavailable
	}
	filled := make([]filledResult, 0, len(found))
	for i := range found {
		one := found[i].filled()
		run, ok := totals[found[i].RunID]
		switch {
		case found[i].RunLookup == evaluations.RunUngraded:
			one.RunLookup = found[i].afterGrading()
		case ok && run.Status != runmodel.StatusRunning:
			one.RunLookup = evaluations.RunRead
			one.take(&run)
		case !last:
			continue
		case ok:
			one.RunLookup = evaluations.RunUnfinished
		default:
			one.RunLookup = unknown
		}
		filled = append(filled, one)
	}
	return a.gradeFilled(ctx, filled, last)
}

// afterGrading is the lookup of a result that only had to be graded: its run was not looked for, because who sent it may not read runs.
func (w *waitingResult) afterGrading() evaluations.RunLookup {
	lacking := w.CostNanousd == nil || w.DurationMS == nil || w.InputTokens == nil && w.OutputTokens == nil
	if left := LookupOf(&w.RunID, lacking, false); left != nil {
		return *left
	}
	return evaluations.RunNone
}

func (w *waitingResult) filled() filledResult {
	return filledResult{ordinal: w.Ordinal, OutputRow: OutputRow{
		Number: w.Number, Side: evaluations.SideA, Repeat: w.Repeat, Status: w.Status, Output: w.Output, Message: w.Message, RunID: w.RunID, DurationMS: w.DurationMS,
		Input: w.InputTokens, OutputTokens: w.OutputTokens, CacheRead: w.CacheReadTokens, CacheWrite: w.CacheWriteTokens, Reasoning: w.ReasoningTokens,
		Cost: w.CostNanousd, Scores: w.Scores,
	}}
}

// take takes over what the run has and the result does not. A cost without that of some calls is not known.
func (f *filledResult) take(run *runmodel.Run) {
	if cost := run.CostUSD; f.Cost == nil && cost != nil && run.UnpricedCallCount == 0 && !math.IsNaN(*cost) && *cost >= 0 && *cost <= maxRunCost {
		f.Cost = new(int64(providers.MoneyOf(*cost)))
		f.Added = f.Cost
	}
	if f.Input == nil && f.OutputTokens == nil {
		f.Input, f.OutputTokens, f.CacheRead, f.CacheWrite, f.Reasoning = run.InputTokens, run.OutputTokens, run.CacheReadTokens, run.CacheWriteTokens, run.ReasoningTokens
	}
	if f.DurationMS == nil && !runmodel.IsAbsent(run.EndTime) && !run.EndTime.Before(run.StartTime) {
		f.DurationMS = new(float64(run.EndTime.Sub(run.StartTime)) / float64(time.Millisecond))
	}
}

// gradeFilled grades results with the graders that did not yet, and returns them. If it is not the last look, it leaves out those whose
// tool calls cannot be read now.
func (a *attempt) gradeFilled(ctx context.Context, filled []filledResult, last bool) ([]filledResult, error) {
	var ordinals []int64
	for i := range filled {
		if filled[i].Status == evaluations.OutputOK && len(a.graders) > 0 {
			ordinals = append(ordinals, filled[i].ordinal)
		}
	}
	items, err := a.itemsAt(ctx, ordinals)
	if err != nil {
		return nil, err
	}
	var asked []uuid.UUID
	for i := range filled {
		f := &filled[i]
		if items[f.ordinal] == nil || f.Status != evaluations.OutputOK {
			continue
		}
		if f.left, err = a.gradeMore(ctx, f, items[f.ordinal], nil, f.RunLookup == evaluations.RunRead); err != nil {
			return nil, err
		}
		if f.left {
			asked = append(asked, f.RunID)
		}
	}
	if len(asked) == 0 {
		return filled, nil
	}
	calls, err := a.toolCalls(ctx, asked)
	away := err != nil
	if away && !problem.Is(err, problem.Unavailable) && !problem.Is(err, problem.TooExpensive) {
		return nil, err
	}
	known := filled[:0]
	for i := range filled {
		f := &filled[i]
		if f.left && away && !last {
			continue
		}
		if f.left {
			if _, err := a.gradeMore(ctx, f, items[f.ordinal], calls[f.RunID], false); err != nil {
				return nil, err
			}
		}
		known = append(known, *f)
	}
	return known, nil
}

// gradeMore grades a result with the graders whose scores it does not have.
func (a *attempt) gradeMore(ctx context.Context, f *filledResult, item *datasets.Item, calls []grader.ToolCall, later bool) (left bool, err error) {
	scores, err := evaluations.ReadScores(f.Scores)
	if err != nil {
		return false, err
	}
	return f.Grade(ctx, a.graders, item, Known{Scores: scores, calls: calls, Later: later})
}

// toolCalls returns the tool calls of runs, without those that are not known.
func (a *attempt) toolCalls(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID][]grader.ToolCall, error) {
	found, err := a.runs.ToolCalls(ctx, access.OfJob(a.e.ProjectID), ids)
	if err != nil {
		return nil, fmt.Errorf("read the tool calls of runs: %w", err)
	}
	calls := make(map[uuid.UUID][]grader.ToolCall, len(found))
	for run, list := range found {
		calls[run] = make([]grader.ToolCall, len(list))
		for i := range list {
			calls[run][i] = grader.ToolCall(list[i])
		}
	}
	return calls, nil
}

func (a *attempt) storeFilled(ctx context.Context, filled []filledResult) error {
	if len(filled) == 0 {
		return nil
	}
	for i := range filled {
		filled[i].Output, filled[i].Message = nil, nil // they stay
	}
	text, err := json.Marshal(filled)
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	changed, err := a.db.Exec(ctx, "fill results", pgx.NamedArgs{"id": a.e.ID, "attempt": a.id, "rows": string(text)})
	if err == nil && changed == 0 {
		return work.ErrFenced
	}
	return err
}
