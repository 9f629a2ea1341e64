package engine_test

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/diff"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

func init() {
	engine.CompareRuns = func(ctx context.Context, base, other []recorded.Span) (distance float64, firstDivergence, steps int, err error) {
		d, err := diff.Compare(ctx, asRun(base), asRun(other))
		return d.Distance, d.FirstDivergence, len(d.Steps), err
	}
}

// asRun is a run as the comparison reads it.
func asRun(spans []recorded.Span) diff.Run {
	run := diff.Run{}
	rows := make([]runmodel.Span, len(spans))
	for i := range spans {
		s := spans[i]
		rows[i] = s.Span
		out := runs.Span{
			Span: s.Span, SystemInstructions: s.SystemInstructions, InputMessages: s.InputMessages, OutputMessages: s.OutputMessages, ToolDefinitions: s.ToolDefinitions,
		}
		if s.Inputs != "" {
			out.Inputs = &s.Inputs
		}
		if s.Outputs != "" {
			out.Outputs = &s.Outputs
		}
		run.Spans = append(run.Spans, out)
	}
	run.Outline = runs.Outline{Run: runmodel.Totals(rows), Spans: rows}
	return run
}
