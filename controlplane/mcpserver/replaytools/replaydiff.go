package replaytools

import (
	"context"
	"errors"
	"strings"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/diff"
	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// shownTokens is about how many tokens of a difference are shown.
const shownTokens = 120

// shownHunk is how many bytes of a part that was removed or added are shown.
const shownHunk = 240

// shownDiff is how an attempt differs from the recorded run. Steps are those that differ.
type shownDiff struct {
	Attempt  int     `json:"attempt"`
	Role     string  `json:"role"`
	Distance float64 `json:"distance"`
	Same     int     `json:"same"`
	Changed  int     `json:"changed"`
	Added    int     `json:"added"`
	Removed  int     `json:"removed"`
	Moved    int     `json:"moved,omitempty"`
	// OutsideCone counts differences that the edit cannot have caused.
	OutsideCone int        `json:"outside_cone,omitempty"`
	Partial     bool       `json:"partial,omitempty"`
	Steps       []diffStep `json:"steps"`
	LeftOut     int        `json:"left_out,omitempty"`
	// Unavailable says why there is no diff.
	Unavailable string `json:"unavailable,omitempty"`
}

type diffStep struct {
	State string `json:"state"`
	Name  string `json:"name"`
	// SpanID is that of the recorded run, AttemptSpanID that of the attempt.
	SpanID        string `json:"span_id,omitempty"`
	AttemptSpanID string `json:"attempt_span_id,omitempty"`
	Source        string `json:"source,omitempty"`
	OutsideCone   bool   `json:"outside_cone,omitempty"`
	// Recorded has the differences between marks.
	Recorded string `json:"recorded,omitempty"`
}

// attemptDiff compares an attempt with the recorded run.
func (t *tools) attemptDiff(ctx context.Context, grant access.Grant, r *replays.Replay, a *replays.Attempt) (*shownDiff, error) {
	shown := &shownDiff{Attempt: a.Number, Role: string(a.Role), Steps: []diffStep{}}
	result, err := a.ReadResult()
	if err != nil {
		return nil, err
	}
	details, err := t.replays.Details(ctx, r, a.Number)
	if err != nil {
		return nil, err
	}
	in := grant.Only(r.ProjectID)
	base, err := diff.Read(ctx, t.Runs, in, r.RunID)
	if err != nil {
		if errors.Is(err, runs.ErrNotFound) {
			shown.Unavailable = "The recorded run was deleted."
			return shown, nil
		}
		return nil, err
	}
	if err := t.replays.AwaitRun(ctx, grant, r, a); err != nil {
		if problem.Is(err, problem.Conflict) {
			shown.Unavailable = problem.Of(err).Detail
			return shown, nil
		}
		return nil, err
	}
	other, err := diff.Read(ctx, t.Runs, in, a.RunID)
	if err != nil {
		return nil, err
	}
	d, err := diff.Compare(ctx, base, other)
	if err != nil {
		return nil, err
	}
	shown.Distance, shown.Partial, shown.OutsideCone = d.Distance, len(d.Limits) > 0, result.OutsideDifferences
	shown.Same, shown.Changed, shown.Added = d.Counts[diff.Same], d.Counts[diff.Changed], d.Counts[diff.Added]
	shown.Removed, shown.Moved = d.Counts[diff.Removed], d.Counts[diff.Moved]
	sources := map[string]*replays.StepSource{}
	for i := range details.Steps {
		sources[details.Steps[i].SpanID] = &details.Steps[i]
	}
	for i := range d.Steps {
		if d.Steps[i].State == diff.Same {
			continue
		}
		shown.Steps = append(shown.Steps, t.diffStep(&d.Steps[i], base, other, sources))
	}
	return shown, nil
}

func (t *tools) diffStep(step *diff.Step, base, other diff.Run, sources map[string]*replays.StepSource) diffStep {
	shown := diffStep{State: string(step.State)}
	if step.Other >= 0 {
		span := &other.Outline.Spans[step.Other]
		shown.AttemptSpanID, shown.Name = runmodel.FormatSpanID(span.SpanID), agentview.SafeName(span.Name)
		if source := sources[shown.AttemptSpanID]; source != nil {
			shown.Source, shown.OutsideCone = string(source.Source), source.Outside
		}
	}
	if step.Base >= 0 {
		span := &base.Outline.Spans[step.Base]
		shown.SpanID, shown.Name = runmodel.FormatSpanID(span.SpanID), agentview.SafeName(span.Name)
	}
	var texts []agentview.Text
	for i := range step.Changes {
		hunks, whole := step.Changes[i].Hunks()
		texts = append(texts, agentview.Text{Name: step.Changes[i].Field, Text: strings.Join(tool.ChangeHunks{List: hunks, Whole: whole}.Lines(shownHunk), "\n")})
	}
	if step.State == diff.Added {
		texts = append(texts, tool.TextsOf(other, step.Other)...)
	}
	run := base.Outline.Run.RunID
	shown.Recorded = agentview.Recorded(run, texts, shownTokens, t.FenceKey)
	return shown
}
