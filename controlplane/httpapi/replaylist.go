package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/replays"
)

// ListReplays lists replays.
func (h replayHandlers) ListReplays(ctx context.Context, req contract.ListReplaysRequestObject) (contract.ListReplaysResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, more, err := h.replays.List(ctx, grantOf(ctx), replays.Filter{Run: req.Params.RunId, Batch: req.Params.BatchId, Status: replays.Status(valueOf(req.Params.Status, ""))}, page)
	if err != nil {
		return nil, err
	}
	answer := contract.ListReplays200JSONResponse{Data: make([]contract.ReplaySummary, len(found)), Limit: page.Limit, Offset: page.Offset, HasMore: more}
	for i := range found {
		if answer.Data[i], err = h.summary(ctx, &found[i]); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// summary returns a replay of a list.
func (h replayHandlers) summary(ctx context.Context, r *replays.Listed) (contract.ReplaySummary, error) {
	answer := contract.ReplaySummary{
		Id: r.ID, ProjectId: r.ProjectID, Name: r.Name, RunId: r.RunID, RunName: r.RunName, BatchId: r.BatchID, Status: contract.ReplayStatus(r.Status), StopReason: replayStopOf(r.StopReason),
		Error: replayFailureOf(r.ErrorCode, r.ErrorDetail), Controls: r.Controls, Treatments: r.Treatments, MaxCostUsd: dollarsOf(r.MaxCostNanousd),
		Progress: contract.ReplayProgress{Total: r.Total, Done: r.Done, Failed: r.Failed}, CreatedBy: contract.Author{Email: r.AuthorEmail, Key: r.AuthorKey},
		CreatedAt: r.CreatedAt.UTC(), StartedAt: utc(r.StartedAt), FinishedAt: utc(r.FinishedAt),
	}
	config, err := r.ReadConfig()
	if err != nil {
		return answer, err
	}
	answer.Executor, answer.Provider = contract.ReplayExecutor(config.Executor), replayProviderOf(&config)
	if answer.Estimate, err = replayEstimateOf(&r.Replay); err != nil {
		return answer, err
	}
	if err := json.Unmarshal([]byte(r.Edits), &answer.Edits); err != nil {
		return answer, fmt.Errorf("read what replay %s edits: %w", r.ID, err)
	}
	answer.EditCount = len(answer.Edits)
	if r.Verdict != nil {
		if err := json.Unmarshal([]byte(*r.Verdict), &answer.Verdict); err != nil {
			return answer, fmt.Errorf("read the verdict of replay %s: %w", r.ID, err)
		}
	}
	cost, err := h.replays.CostOf(ctx, &r.Replay)
	answer.Cost, answer.CostUsd = costOf(&cost), cost.Cost.Dollars()
	return answer, err
}

func replayProviderOf(config *replays.Config) *contract.EvaluationProvider {
	if config.ProviderID == nil {
		return nil
	}
	return &contract.EvaluationProvider{Id: *config.ProviderID, Name: config.ProviderName}
}

func replayEstimateOf(r *replays.Replay) (contract.ReplayEstimate, error) {
	estimate, err := r.ReadEstimate()
	return contract.ReplayEstimate{Calls: estimate.Calls, CostLowUsd: dollarsOf(estimate.Low), CostHighUsd: dollarsOf(estimate.High)}, err
}

// replayFailureOf returns the error that a replay or a batch ended with, nil for none.
func replayFailureOf(code, detail *string) *contract.EvaluationFailure {
	if code == nil {
		return nil
	}
	return &contract.EvaluationFailure{Code: *code, Detail: valueOf(detail, "")}
}

// replayStopOf returns why a replay or a batch made less than all, nil if it did.
func replayStopOf(reason *string) *contract.ReplayStop {
	if reason == nil {
		return nil
	}
	return new(contract.ReplayStop(*reason))
}
