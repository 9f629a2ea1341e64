package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/replays/batches"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
)

// The attempts of a replay whose request does not say.
const (
	defaultControls   = 5
	defaultTreatments = 4
)

type replayHandlers struct {
	replays *replays.Service
	batches *batches.Service
	prompts *prompts.Service
	runs    *runs.Service
	kept    verdictKeeper
	judges  judgeHandlers
}

// verdictKeeper keeps what a batch shows before its deletion.
type verdictKeeper interface {
	KeepVerdict(ctx context.Context, in access.Projects, batch uuid.UUID) error
}

// CreateReplay replays a run, or says what that would do.
func (h replayHandlers) CreateReplay(ctx context.Context, req contract.CreateReplayRequestObject) (contract.CreateReplayResponseObject, error) {
	wanted, err := h.wanted(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	if valueOf(req.Body.Plan, false) {
		p, err := h.replays.Plan(ctx, grantOf(ctx), wanted, true)
		if err != nil {
			return nil, err
		}
		return contract.CreateReplay200JSONResponse(planOf(p)), nil
	}
	created, err := h.replays.Create(ctx, grantOf(ctx), wanted)
	if err != nil {
		return nil, err
	}
	answer, err := h.replay(ctx, &created)
	return contract.CreateReplay201JSONResponse{
		Body: answer, Headers: contract.CreateReplay201ResponseHeaders{Location: new("/v1/replays/" + created.ID.String())},
	}, err
}

// wanted reads a replay to make, with the messages of the prompts that it names.
func (h replayHandlers) wanted(ctx context.Context, body *contract.ReplayCreate) (*replays.Wanted, error) {
	n := &replays.Wanted{
		Run: body.RunId, Name: valueOf(body.Name, ""), Executor: engine.Executor(valueOf(body.Executor, "")), Provider: body.ProviderId,
		Controls: valueOf(body.Controls, defaultControls), Treatments: valueOf(body.Treatments, defaultTreatments), Outcome: valueOf(body.Outcome, nil),
		MaxCost: moneyOf(body.MaxCostUsd), AllowUnpriced: valueOf(body.AllowUnpriced, false),
	}
	var err error
	if n.Tools, err = replayTools(valueOf(body.Tools, nil)); err != nil {
		return nil, err
	}
	project := func() (uuid.UUID, error) {
		run, err := h.runs.Get(ctx, grantOf(ctx).Projects, body.RunId)
		return run.ProjectID, err //nolint:wrapcheck // it is for the client
	}
	if n.Panel, err = h.panelOf(ctx, body.Panel, project); err != nil {
		return nil, err
	}
	n.Edits, err = h.edits(ctx, "body.edits", body.Edits, project)
	return n, err
}

// replayTools reads what happens to calls of tools.
func replayTools(policies map[string]contract.ReplayTool) (map[string]engine.ToolPolicy, error) {
	tools := map[string]engine.ToolPolicy{}
	for name, policy := range policies {
		var read engine.ToolPolicy
		if err := json.Unmarshal(policy, &read); err != nil {
			return nil, problem.InvalidField("body.tools."+name, "is not valid: "+err.Error())
		}
		tools[name] = read
	}
	return tools, nil
}

// edits reads edits, with the messages of the prompts of a project that they name.
func (h replayHandlers) edits(ctx context.Context, at string, list []contract.ReplayEdit, project func() (uuid.UUID, error)) ([]edit.Edit, error) {
	edits := make([]edit.Edit, len(list))
	for i, change := range list {
		location := fmt.Sprintf("%s[%d]", at, i)
		resolved, err := h.withPrompt(ctx, project, location, change)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(resolved, &edits[i]); err != nil {
			return nil, problem.InvalidField(location, "is not valid: "+err.Error())
		}
	}
	return edits, nil
}

// withPrompt puts the messages of a version into an edit that names a prompt.
func (h replayHandlers) withPrompt(ctx context.Context, project func() (uuid.UUID, error), location string, change json.RawMessage) (json.RawMessage, error) {
	var read struct {
		Target json.RawMessage            `json:"target"`
		Set    map[string]json.RawMessage `json:"set"`
	}
	if err := json.Unmarshal(change, &read); err != nil {
		return nil, problem.InvalidField(location, "is not valid: "+err.Error())
	}
	if read.Set["prompt"] == nil {
		return change, nil
	}
	location += ".set.prompt"
	var named contract.ReplayPrompt
	if err := json.Unmarshal(read.Set["prompt"], &named); err != nil {
		return nil, problem.InvalidField(location, "is not valid: "+err.Error())
	}
	in, err := project()
	if err != nil {
		return nil, err
	}
	version, err := versionOf(ctx, h.prompts, in, location+".prompt", &named.Prompt)
	if err != nil {
		return nil, err
	}
	template, err := prompts.NewTemplate(location, prompts.NewVersion{Content: version.Content})
	if err != nil {
		return nil, err
	}
	rendered, err := template.Render(prompts.Values{Variables: valueOf(named.Variables, map[string]any{}), Placeholders: map[string][]json.RawMessage{}})
	if err != nil {
		return nil, err
	}
	set, err := json.Marshal(edit.Prompt{ID: version.PromptID.String(), Version: version.Version, Messages: rendered.Messages, Tools: version.Tools})
	if err != nil {
		return nil, fmt.Errorf("encode an edit: %w", err)
	}
	read.Set["prompt"] = set
	resolved, err := json.Marshal(read)
	if err != nil {
		return nil, fmt.Errorf("encode an edit: %w", err)
	}
	return resolved, nil
}

// GetReplay reads a replay.
func (h replayHandlers) GetReplay(ctx context.Context, req contract.GetReplayRequestObject) (contract.GetReplayResponseObject, error) {
	found, err := h.replays.Get(ctx, grantOf(ctx), req.ReplayId)
	if err != nil {
		return nil, err
	}
	answer, err := h.replay(ctx, &found)
	return contract.GetReplay200JSONResponse(answer), err
}

// UpdateReplay renames a replay.
func (h replayHandlers) UpdateReplay(ctx context.Context, req contract.UpdateReplayRequestObject) (contract.UpdateReplayResponseObject, error) {
	changed, err := h.replays.Rename(ctx, grantOf(ctx), req.ReplayId, req.Body.Name)
	if err != nil {
		return nil, err
	}
	answer, err := h.replay(ctx, &changed)
	return contract.UpdateReplay200JSONResponse(answer), err
}

// DeleteReplay deletes a replay.
func (h replayHandlers) DeleteReplay(ctx context.Context, req contract.DeleteReplayRequestObject) (contract.DeleteReplayResponseObject, error) {
	return contract.DeleteReplay204Response{}, h.replays.Delete(ctx, grantOf(ctx), req.ReplayId)
}

// CancelReplay cancels a replay.
func (h replayHandlers) CancelReplay(ctx context.Context, req contract.CancelReplayRequestObject) (contract.CancelReplayResponseObject, error) {
	changed, err := h.replays.Cancel(ctx, grantOf(ctx), req.ReplayId)
	if err != nil {
		return nil, err
	}
	answer, err := h.replay(ctx, &changed)
	return contract.CancelReplay200JSONResponse(answer), err
}

// ExtendReplay makes more attempts.
func (h replayHandlers) ExtendReplay(ctx context.Context, req contract.ExtendReplayRequestObject) (contract.ExtendReplayResponseObject, error) {
	changed, err := h.replays.Extend(ctx, grantOf(ctx), req.ReplayId, replays.Extension{
		Controls: req.Body.Controls, Treatments: req.Body.Treatments, MaxCost: moneyOf(req.Body.MaxCostUsd),
	})
	if err != nil {
		return nil, err
	}
	answer, err := h.replay(ctx, &changed)
	return contract.ExtendReplay200JSONResponse(answer), err
}

// GetReplayability says how far a run can be replayed.
func (h replayHandlers) GetReplayability(ctx context.Context, req contract.GetReplayabilityRequestObject) (contract.GetReplayabilityResponseObject, error) {
	recording, err := h.replays.Replayability(ctx, grantOf(ctx).Projects, req.RunId)
	if err != nil {
		return nil, err
	}
	return contract.GetReplayability200JSONResponse(replayabilityOf(recording)), nil
}

func replayabilityOf(r *recorded.Recording) contract.RunReplayability {
	answer := contract.RunReplayability{
		Level: contract.Replayability(r.Replayability.Level), Missing: missingOf(r.Replayability.Missing), Executors: []contract.ReplayExecutor{},
	}
	for i := range r.Steps {
		switch step := &r.Steps[i]; step.Kind {
		case recorded.KindModel:
			answer.ModelCalls++
			if step.Opaque != "" {
				answer.OpaqueSteps++
			}
		case recorded.KindTool:
			answer.ToolCalls++
		case recorded.KindFrame:
		}
	}
	if r.Replayability.Level != recorded.LevelNone {
		answer.Executors = append(answer.Executors, contract.Cassette)
	}
	if r.Replayability.Level == recorded.LevelLLM || r.Replayability.Level == recorded.LevelFull {
		answer.Executors = append(answer.Executors, contract.Server)
	}
	return answer
}

// maxMissingSpans is how many spans are named for each thing that is missing.
const maxMissingSpans = 10

func missingOf(missing []recorded.Missing) []contract.ReplayMissing {
	answer := make([]contract.ReplayMissing, len(missing))
	for i, m := range missing {
		answer[i] = contract.ReplayMissing{Code: m.Code, Detail: m.Detail, Remedy: m.Remedy, Steps: m.Count, SpanIds: list(m.Steps[:min(len(m.Steps), maxMissingSpans)])}
	}
	return answer
}

func planWarnings(warnings []engine.Warning) []contract.ReplayPlanWarning {
	answer := make([]contract.ReplayPlanWarning, len(warnings))
	for i, w := range warnings {
		answer[i] = contract.ReplayPlanWarning{Code: contract.ReplayPlanWarningCode(w.Code), Detail: w.Detail, Remedy: w.Remedy}
	}
	return answer
}

func planOf(p *replays.Plan) contract.ReplayPlan {
	answer := contract.ReplayPlan{
		RunId: p.Run, Replayability: replayabilityOf(p.Recording), Executor: contract.ReplayExecutor(p.Executor), Steps: make([]contract.ReplayPlanStep, len(p.Steps.Steps)),
		Missing: missingOf(p.Steps.Missing), Edits: list(p.Texts), Calls: p.Estimate.Calls, CostLowUsd: dollarsOf(p.Estimate.Low), CostHighUsd: dollarsOf(p.Estimate.High),
		UnpricedModels: list(p.Estimate.Unpriced), AttainableP: p.AttainableP(), Decided: known(p.Decided()),
		Warnings: planWarnings(p.Warnings),
	}
	if fork := p.Steps.Fork; fork >= 0 {
		answer.ForkSpanId = &p.Recording.Steps[fork].SpanID
	}
	answer.Counts.Copied, answer.Counts.Served = p.Steps.Counts[engine.FateCopied], p.Steps.Counts[engine.FateServed]
	answer.Counts.Live, answer.Counts.Unknown = p.Steps.Counts[engine.FateLive], p.Steps.Counts[engine.FateUnknown]
	depths := make([]int, len(p.Recording.Steps))
	for i, step := range p.Steps.Steps {
		was := &p.Recording.Steps[step.Recorded]
		one := contract.ReplayPlanStep{
			N: step.Recorded + 1, SpanId: step.SpanID, Name: step.Name, Kind: was.SpanKind, Action: contract.ReplayAction(step.Fate), Edited: len(step.Edits) > 0,
			InCone: step.InCone, Why: step.Note,
		}
		if was.Parent >= 0 {
			depths[step.Recorded] = depths[was.Parent] + 1
			one.ParentSpanId = &p.Recording.Steps[was.Parent].SpanID
		}
		one.Depth = depths[step.Recorded]
		if step.OnMiss != "" {
			one.OnMiss = new(contract.ReplayPlanStepOnMiss(step.OnMiss))
		}
		answer.Steps[i] = one
	}
	return answer
}

// replay returns a replay with its attempts.
func (h replayHandlers) replay(ctx context.Context, r *replays.Replay) (contract.Replay, error) {
	answer := contract.Replay{
		Id: r.ID, ProjectId: r.ProjectID, Name: r.Name, RunId: r.RunID, RunName: r.RunName, BatchId: r.BatchID, Status: contract.ReplayStatus(r.Status), Controls: r.Controls,
		Treatments: r.Treatments, AllowUnpriced: r.AllowUnpriced, Attempts: []contract.ReplayAttempt{}, Exposure: contract.ReplayExposure{},
		CreatedBy: contract.Author{Email: r.AuthorEmail, Key: r.AuthorKey}, CreatedAt: r.CreatedAt.UTC(), StartedAt: utc(r.StartedAt), FinishedAt: utc(r.FinishedAt),
		MaxCostUsd: dollarsOf(r.MaxCostNanousd), Progress: contract.ReplayProgress{Total: r.Total, Done: r.Done, Failed: r.Failed},
		Error: replayFailureOf(r.ErrorCode, r.ErrorDetail), StopReason: replayStopOf(r.StopReason),
	}
	if err := addReplayConfig(r, &answer); err != nil {
		return answer, err
	}
	cost, err := h.replays.CostOf(ctx, r)
	if err != nil {
		return answer, err
	}
	answer.Cost, answer.CostUsd = costOf(&cost), cost.Cost.Dollars()
	if r.Verdict != nil {
		answer.Verdict = new(json.RawMessage(*r.Verdict))
	}
	attempts, err := h.replays.Attempts(ctx, r)
	if err != nil {
		return answer, err
	}
	for i := range attempts {
		attempt, err := replayAttemptOf(&attempts[i])
		if err != nil {
			return answer, err
		}
		for source, steps := range attempt.Exposure {
			answer.Exposure[source] += steps
		}
		answer.Attempts = append(answer.Attempts, attempt)
	}
	return answer, nil
}

// addReplayConfig adds what a replay edits, and how.
func addReplayConfig(r *replays.Replay, answer *contract.Replay) error {
	config, err := r.ReadConfig()
	if err != nil {
		return err
	}
	if answer.Estimate, err = replayEstimateOf(r); err != nil {
		return err
	}
	answer.Executor, answer.Provider, answer.EditsText = contract.ReplayExecutor(config.Executor), replayProviderOf(&config), list(config.Texts)
	answer.Edits, answer.Tools = make([]contract.ReplayStoredEdit, len(config.Edits.List)), map[string]contract.ReplayTool{}
	if answer.Panel, err = panelRead(config.Panel); err != nil {
		return err
	}
	if !jsontext.IsNull(config.Outcome) {
		answer.Outcome = &config.Outcome
	}
	if err := convert(config.Edits, &answer.Edits); err != nil {
		return err
	}
	return convert(config.Tools, &answer.Tools)
}

func replayAttemptOf(a *replays.Attempt) (contract.ReplayAttempt, error) {
	answer := contract.ReplayAttempt{
		Number: a.Number, Role: contract.ReplayRole(a.Role), Index: a.Index, Status: contract.ReplayStatus(a.Status), Reused: a.Reused, Detail: a.Detail,
		Remedy:    a.Remedy,
		StartedAt: utc(a.StartedAt), FinishedAt: utc(a.FinishedAt), Exposure: contract.ReplayExposure{}, Warnings: []string{},
	}
	if a.StopReason != nil {
		answer.StopReason = new(contract.ReplayAttemptStop(*a.StopReason))
	}
	result, err := a.ReadResult()
	if err != nil || result == nil {
		return answer, err
	}
	if a.RunID != uuid.Nil {
		answer.RunId = &a.RunID
	}
	answer.Outcome, answer.DurationMs, answer.Warnings, answer.ModelCalls = result.Outcome, result.DurationMS, list(result.Warnings), result.Spent.Calls
	if result.Spent.UnknownCost == 0 {
		answer.CostUsd = new(result.Spent.CostUSD)
	}
	if result.Spent.UnknownUsage == 0 {
		answer.Usage.InputTokens, answer.Usage.OutputTokens = &result.Spent.InputTokens, &result.Spent.OutputTokens
	}
	for source, steps := range result.Exposure {
		answer.Exposure[source] = int64(steps)
	}
	return answer, nil
}
