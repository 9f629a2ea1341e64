package httpapi

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/looptrace/looptrace/controlplane/diff"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// DiffReplay compares an attempt with the recorded run.
func (h replayHandlers) DiffReplay(ctx context.Context, req contract.DiffReplayRequestObject) (contract.DiffReplayResponseObject, error) {
	grant := grantOf(ctx)
	found, err := h.replays.Get(ctx, grant, req.ReplayId)
	if err != nil {
		return nil, err
	}
	attempt, err := h.attemptToShow(ctx, &found, req.Params.Attempt)
	if err != nil {
		return nil, err
	}
	result, err := attempt.ReadResult()
	if err != nil {
		return nil, err
	}
	details, err := h.replays.Details(ctx, &found, attempt.Number)
	if err != nil {
		return nil, err
	}
	in := grant.Only(found.ProjectID)
	base, err := diff.Read(ctx, h.runs, in, found.RunID)
	if err != nil {
		if errors.Is(err, runs.ErrNotFound) {
			err = &problem.Error{Kind: problem.Conflict, Code: "run_deleted", Detail: "The recorded run was deleted: there is nothing to compare with."}
		}
		return nil, err
	}
	if err := h.replays.AwaitRun(ctx, grant, &found, attempt); err != nil {
		return nil, err
	}
	other, err := diff.Read(ctx, h.runs, in, attempt.RunID)
	if err != nil {
		return nil, err
	}
	d, err := diff.Compare(ctx, base, other)
	if err != nil {
		return nil, err
	}
	answer := contract.DiffReplay200JSONResponse{
		ReplayId: found.ID, Sources: []contract.ReplayStepSource{}, OutsideConeDifferences: result.OutsideDifferences,
		Diff: diffOf(d, base, other, contract.DiffRunsParams{Fold: req.Params.Fold, Limit: req.Params.Limit, Offset: req.Params.Offset}),
	}
	if answer.Attempt, err = replayAttemptOf(attempt); err != nil {
		return nil, err
	}
	if found.Verdict != nil {
		verdict := json.RawMessage(*found.Verdict)
		answer.Verdict = &verdict
		answer.FirstAttributableSpanId = firstAttributable(verdict)
	}
	made, recorded := map[string]*replays.StepSource{}, map[string]*replays.StepSource{}
	for i := range details.Steps {
		step := &details.Steps[i]
		made[step.SpanID], recorded[step.Recorded] = step, step
	}
	for i := range answer.Diff.Steps {
		step := &answer.Diff.Steps[i]
		last := max(1, step.Folded)
		for n := step.N; n < step.N+last; n++ {
			if source := sourceOfStep(&d.Steps[n], base, other, made, recorded); source != nil {
				answer.Sources = append(answer.Sources, stepSourceOf(n, source))
			}
		}
	}
	return answer, nil
}

// attemptToShow returns the attempt with a number, or else the first treatment that ended, or else the first control.
func (h replayHandlers) attemptToShow(ctx context.Context, r *replays.Replay, number *int) (*replays.Attempt, error) {
	attempts, err := h.replays.Attempts(ctx, r)
	if err != nil {
		return nil, err
	}
	var shown *replays.Attempt
	for i := range attempts {
		a := &attempts[i]
		switch {
		case number != nil && a.Number == *number && a.Result == nil:
			return nil, &problem.Error{Kind: problem.Conflict, Code: "attempt_not_made", Detail: "The attempt has not ended: there is nothing to compare yet."}
		case number != nil && a.Number == *number:
			return a, nil
		case number != nil || a.Result == nil:
		case shown == nil, shown.Role == replays.Control && a.Role == replays.Treatment:
			shown = a
		}
	}
	if number != nil {
		return nil, problem.InvalidField("query.attempt", "is no attempt of the replay")
	}
	if shown == nil {
		return nil, &problem.Error{Kind: problem.Conflict, Code: "attempt_not_made", Detail: "No attempt has ended: there is nothing to compare yet."}
	}
	return shown, nil
}

// sourceOfStep returns where a step of a diff comes from, nil if nothing is known of it.
func sourceOfStep(step *diff.Step, base, other diff.Run, made, recorded map[string]*replays.StepSource) *replays.StepSource {
	if step.Other >= 0 {
		return made[runmodel.FormatSpanID(other.Spans[step.Other].SpanID)]
	}
	return recorded[runmodel.FormatSpanID(base.Spans[step.Base].SpanID)]
}

func stepSourceOf(n int, s *replays.StepSource) contract.ReplayStepSource {
	return contract.ReplayStepSource{N: n, SpanId: known(s.SpanID), Source: string(s.Source), Tier: known(string(s.Tier)), InCone: s.InCone, OutsideCone: s.Outside}
}

// firstAttributable returns the step of a verdict, nil if it names none.
func firstAttributable(verdict json.RawMessage) *string {
	var read struct {
		Step *struct {
			ID string `json:"id"`
		} `json:"first_attributable_step"`
	}
	if json.Unmarshal(verdict, &read) != nil || read.Step == nil {
		return nil
	}
	return known(read.Step.ID)
}
