package httpapi

import (
	"context"
	"time"

	"github.com/looptrace/looptrace/controlplane/diff"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/runmodel"
)

const (
	// defaultDiffSteps is the number of steps in an answer if the request has no limit.
	defaultDiffSteps = 1000
	// maxHunkBytes bounds the texts of one comparison.
	maxHunkBytes = 1 << 20
)

type diffHandlers struct {
	runs diff.Runs
}

// DiffRuns compares two runs.
func (h diffHandlers) DiffRuns(ctx context.Context, req contract.DiffRunsRequestObject) (contract.DiffRunsResponseObject, error) {
	base, err := diff.Read(ctx, h.runs, grantOf(ctx).Projects, req.RunId)
	if err != nil {
		return nil, err
	}
	other, err := diff.Read(ctx, h.runs, grantOf(ctx).Projects, req.OtherRunId)
	if err != nil {
		return nil, err
	}
	d, err := diff.Compare(ctx, base, other)
	if err != nil {
		return nil, err
	}
	return contract.DiffRuns200JSONResponse(diffOf(d, base, other, req.Params)), nil
}

func diffOf(d *diff.Diff, base, other diff.Run, params contract.DiffRunsParams) contract.RunDiff {
	limit, offset := valueOf(params.Limit, defaultDiffSteps), valueOf(params.Offset, 0)
	answer := contract.RunDiff{
		Base: diffRunOf(&base.Outline.Run), Other: diffRunOf(&other.Outline.Run), Distance: d.Distance, StepCount: len(d.Steps),
		Totals: diffTotals(&base.Outline.Run, &other.Outline.Run), Limit: limit, Steps: []contract.RunDiffStep{},
		Partial: len(d.Limits) > 0, PartialBecause: []contract.RunDiffPartialBecause{},
	}
	answer.Counts.Same, answer.Counts.Changed, answer.Counts.Moved = d.Counts[diff.Same], d.Counts[diff.Changed], d.Counts[diff.Moved]
	answer.Counts.Added, answer.Counts.Removed = d.Counts[diff.Added], d.Counts[diff.Removed]
	for _, l := range d.Limits {
		answer.PartialBecause = append(answer.PartialBecause, contract.RunDiffPartialBecause(l))
	}
	if first := d.FirstDivergence; first >= 0 {
		answer.FirstDivergence = &contract.RunDiffLocation{
			N: first, BaseSpanId: spanIDAt(base, d.Steps[first].Base), OtherSpanId: spanIDAt(other, d.Steps[first].Other),
		}
	}
	var stretches []diff.Stretch
	if valueOf(params.Fold, true) {
		stretches = d.Stretches(offset)
	} else {
		for i := offset; i < len(d.Steps) && len(stretches) <= limit; i++ {
			stretches = append(stretches, diff.Stretch{First: i})
		}
	}
	if len(stretches) > limit {
		next := stretches[limit].First
		answer.NextOffset = &next
		stretches = stretches[:limit]
	}
	budget := maxHunkBytes
	for _, stretch := range stretches {
		s := &d.Steps[stretch.First]
		step := contract.RunDiffStep{
			N: stretch.First, State: contract.RunDiffStepState(s.State), Depth: s.Depth, Distance: s.Distance, Folded: stretch.Folded,
			Base: diffSpanOf(base, s.Base), Other: diffSpanOf(other, s.Other), Changes: make([]contract.RunDiffChange, len(s.Changes)),
		}
		for i := range s.Changes {
			step.Changes[i] = diffChangeOf(&s.Changes[i], &budget)
		}
		answer.Steps = append(answer.Steps, step)
	}
	return answer
}

// diffChangeOf leaves hunks out if the answer has no room for them.
func diffChangeOf(c *diff.Change, budget *int) contract.RunDiffChange {
	change := contract.RunDiffChange{Field: contract.RunDiffChangeField(c.Field), Distance: c.Distance, Hunks: []contract.RunDiffHunk{}}
	if *budget <= 0 {
		return change
	}
	hunks, whole := c.Hunks()
	change.Whole = whole
	for _, h := range hunks {
		*budget -= len(h.Text)
		change.Hunks = append(change.Hunks, contract.RunDiffHunk{Path: known(h.Path), Op: contract.RunDiffHunkOp(h.Op), Text: h.Text, LeftOut: h.LeftOut})
	}
	return change
}

func diffRunOf(r *runmodel.Run) contract.RunDiffRun {
	return contract.RunDiffRun{
		RunId: r.RunID, ProjectId: r.ProjectID, Name: r.Name, Status: contract.Status(r.Status), StartTime: r.StartTime.UTC(),
		Release: known(r.Release), Models: list(r.Models),
	}
}

func spanIDAt(run diff.Run, i int) *string {
	if i < 0 {
		return nil
	}
	id := runmodel.FormatSpanID(run.Spans[i].SpanID)
	return &id
}

func diffSpanOf(run diff.Run, i int) *contract.RunDiffSpan {
	if i < 0 {
		return nil
	}
	s := &run.Outline.Spans[i]
	span := contract.RunDiffSpan{
		SpanId: runmodel.FormatSpanID(s.SpanID), Number: i + 1, Name: s.Name, Kind: s.EffectiveKind(), Status: contract.Status(s.EffectiveStatus()),
		DurationMs: elapsed(s.StartTime, s.EndTime), Model: known(s.RequestModel),
		StartOffsetMs: float64(s.StartTime.Sub(run.Outline.Run.StartTime)) / float64(time.Millisecond),
	}
	if s.RequestModel == "" {
		span.Model = known(s.ResponseModel)
	}
	if s.ParentSpanID != 0 {
		parent := runmodel.FormatSpanID(s.ParentSpanID)
		span.ParentSpanId = &parent
	}
	return &span
}

func diffTotals(base, other *runmodel.Run) (totals contract.RunDiffTotals) {
	total := func(of func(*runmodel.Run) *float64) contract.RunDiffTotal {
		t := contract.RunDiffTotal{Base: of(base), Other: of(other)}
		if t.Base != nil && t.Other != nil {
			difference := *t.Other - *t.Base
			t.Difference = &difference
		}
		return t
	}
	tokens := func(of func(*runmodel.Run) *int64) contract.RunDiffTotal {
		return total(func(r *runmodel.Run) *float64 {
			n := of(r)
			if n == nil {
				return nil
			}
			f := float64(*n)
			return &f
		})
	}
	counted := func(of func(*runmodel.Run) uint64) contract.RunDiffTotal {
		return total(func(r *runmodel.Run) *float64 { f := float64(of(r)); return &f })
	}
	totals.DurationMs = total(func(r *runmodel.Run) *float64 { return elapsed(r.StartTime, r.EndTime) })
	totals.CostUsd = total(func(r *runmodel.Run) *float64 { return r.CostUSD })
	totals.CostUsd.Difference = roundUSD(totals.CostUsd.Difference)
	totals.InputTokens = tokens(func(r *runmodel.Run) *int64 { return r.InputTokens })
	totals.OutputTokens = tokens(func(r *runmodel.Run) *int64 { return r.OutputTokens })
	totals.TotalTokens = tokens(func(r *runmodel.Run) *int64 {
		if usage := usageOf(r.InputTokens, r.OutputTokens, nil, nil, nil, r.OtherTokens); usage != nil {
			return usage.TotalTokens
		}
		return nil
	})
	totals.Spans = counted(func(r *runmodel.Run) uint64 { return r.SpanCount })
	totals.Errors = counted(func(r *runmodel.Run) uint64 { return r.ErrorCount })
	totals.LlmCalls = counted(func(r *runmodel.Run) uint64 { return r.LLMCallCount })
	totals.ToolCalls = counted(func(r *runmodel.Run) uint64 { return r.ToolCallCount })
	return totals
}
