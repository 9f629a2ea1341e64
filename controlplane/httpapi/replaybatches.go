package httpapi

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/replays/batches"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/internal/problem"
)

// What a batch has whose request does not say.
const (
	defaultBatchAttempts = 2 // of each role
	defaultBatchRuns     = 50
)

// CreateReplayBatch replays many runs, or says what that would do.
func (h replayHandlers) CreateReplayBatch(ctx context.Context, req contract.CreateReplayBatchRequestObject) (contract.CreateReplayBatchResponseObject, error) {
	wanted, err := h.wantedBatch(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	if valueOf(req.Body.Plan, false) {
		p, err := h.batches.Plan(ctx, grantOf(ctx), wanted)
		if err != nil {
			return nil, err
		}
		return contract.CreateReplayBatch200JSONResponse(batchPlanOf(p)), nil
	}
	created, err := h.batches.Create(ctx, grantOf(ctx), wanted)
	if err != nil {
		return nil, err
	}
	answer, err := h.batch(ctx, &created)
	return contract.CreateReplayBatch201JSONResponse{
		Body: answer, Headers: contract.CreateReplayBatch201ResponseHeaders{Location: new("/v1/replay-batches/" + created.ID.String())},
	}, err
}

// wantedBatch reads a batch to make, with the messages of the prompts that it names.
func (h replayHandlers) wantedBatch(ctx context.Context, body *contract.ReplayBatchCreate) (*batches.Wanted, error) {
	n := &batches.Wanted{
		Project: body.ProjectId, Name: valueOf(body.Name, ""), RunIDs: valueOf(body.RunIds, nil), MaxRuns: valueOf(body.MaxRuns, defaultBatchRuns), GoodRuns: valueOf(body.GoodRuns, 0),
		Replay: replays.Wanted{
			Executor: engine.Executor(valueOf(body.Executor, "")), Provider: body.ProviderId, Outcome: valueOf(body.Outcome, nil), MaxCost: moneyOf(body.MaxCostUsd),
			Controls: valueOf(body.Controls, defaultBatchAttempts), Treatments: valueOf(body.Treatments, defaultBatchAttempts), AllowUnpriced: valueOf(body.AllowUnpriced, false),
		},
	}
	switch filter := body.RunFilter; {
	case (filter != nil) == (len(n.RunIDs) > 0):
		return nil, problem.InvalidField("body", "must have one of run_ids and run_filter")
	case filter != nil:
		var err error
		n.FilterText = *filter
		n.Filter, err = readRunFilter(callOf(ctx).operation.route.Spec, "body.run_filter", map[string]string{"project_id": "project_id"}, body.ProjectId, *filter)
		if err != nil {
			return nil, err
		}
	}
	var err error
	if n.Replay.Tools, err = replayTools(valueOf(body.Tools, nil)); err != nil {
		return nil, err
	}
	project := func() (uuid.UUID, error) { return body.ProjectId, nil }
	if n.Replay.Panel, err = h.panelOf(ctx, body.Panel, project); err != nil {
		return nil, err
	}
	n.Replay.Edits, err = h.edits(ctx, "body.edits", body.Edits, project)
	return n, err
}

func batchPlanOf(p *batches.Plan) contract.ReplayBatchPlan {
	answer := contract.ReplayBatchPlan{
		MatchedRuns: int64(p.Matched), Runs: make([]contract.ReplayBatchRunPlan, len(p.Runs)), Edits: list(p.Texts), Calls: p.Estimate.Calls,
		CostLowUsd: dollarsOf(p.Estimate.Low), CostHighUsd: dollarsOf(p.Estimate.High), UnpricedModels: list(p.Estimate.Unpriced), DurationMs: millisecondsOf(p.Duration),
		AttainableP: p.AttainableP, Detectable: p.Detectable, Warnings: planWarnings(p.Warnings),
	}
	for i := range p.Runs {
		run := &p.Runs[i]
		answer.Runs[i] = contract.ReplayBatchRunPlan{RunId: run.RunID, RunName: run.RunName, Part: contract.ReplayBatchPart(run.Part), Calls: run.Calls}
		if run.Code != "" {
			answer.Runs[i].NotReplayable = &contract.EvaluationFailure{Code: run.Code, Detail: run.Detail}
		}
	}
	return answer
}

func millisecondsOf(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(float64(*d) / float64(time.Millisecond))
}

// ListReplayBatches lists batches.
func (h replayHandlers) ListReplayBatches(ctx context.Context, req contract.ListReplayBatchesRequestObject) (contract.ListReplayBatchesResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, more, err := h.batches.List(ctx, grantOf(ctx), replays.Status(valueOf(req.Params.Status, "")), page)
	if err != nil {
		return nil, err
	}
	answer := contract.ListReplayBatches200JSONResponse{Data: make([]contract.ReplayBatch, len(found)), Limit: page.Limit, Offset: page.Offset, HasMore: more}
	for i := range found {
		if answer.Data[i], err = h.batch(ctx, &found[i]); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// GetReplayBatch reads a batch.
func (h replayHandlers) GetReplayBatch(ctx context.Context, req contract.GetReplayBatchRequestObject) (contract.GetReplayBatchResponseObject, error) {
	found, err := h.batches.Get(ctx, grantOf(ctx), req.BatchId)
	if err != nil {
		return nil, err
	}
	answer, err := h.batch(ctx, &found)
	return contract.GetReplayBatch200JSONResponse(answer), err
}

// UpdateReplayBatch renames a batch.
func (h replayHandlers) UpdateReplayBatch(ctx context.Context, req contract.UpdateReplayBatchRequestObject) (contract.UpdateReplayBatchResponseObject, error) {
	changed, err := h.batches.Rename(ctx, grantOf(ctx), req.BatchId, req.Body.Name)
	if err != nil {
		return nil, err
	}
	answer, err := h.batch(ctx, &changed)
	return contract.UpdateReplayBatch200JSONResponse(answer), err
}

// DeleteReplayBatch deletes a batch. Findings keep what it showed.
func (h replayHandlers) DeleteReplayBatch(ctx context.Context, req contract.DeleteReplayBatchRequestObject) (contract.DeleteReplayBatchResponseObject, error) {
	if err := h.kept.KeepVerdict(ctx, grantOf(ctx).Projects, req.BatchId); err != nil {
		return nil, err
	}
	return contract.DeleteReplayBatch204Response{}, h.batches.Delete(ctx, grantOf(ctx), req.BatchId)
}

// CancelReplayBatch cancels a batch.
func (h replayHandlers) CancelReplayBatch(ctx context.Context, req contract.CancelReplayBatchRequestObject) (contract.CancelReplayBatchResponseObject, error) {
	changed, err := h.batches.Cancel(ctx, grantOf(ctx), req.BatchId)
	if err != nil {
		return nil, err
	}
	answer, err := h.batch(ctx, &changed)
	return contract.CancelReplayBatch200JSONResponse(answer), err
}

// ExtendReplayBatch makes more attempts of each run.
func (h replayHandlers) ExtendReplayBatch(ctx context.Context, req contract.ExtendReplayBatchRequestObject) (contract.ExtendReplayBatchResponseObject, error) {
	changed, err := h.batches.Extend(ctx, grantOf(ctx), req.BatchId, replays.Extension{
		Controls: req.Body.Controls, Treatments: req.Body.Treatments, MaxCost: moneyOf(req.Body.MaxCostUsd),
	})
	if err != nil {
		return nil, err
	}
	answer, err := h.batch(ctx, &changed)
	return contract.ExtendReplayBatch200JSONResponse(answer), err
}

// ListReplayBatchRuns lists the runs of a batch.
func (h replayHandlers) ListReplayBatchRuns(ctx context.Context, req contract.ListReplayBatchRunsRequestObject) (contract.ListReplayBatchRunsResponseObject, error) {
	batch, err := h.batches.Get(ctx, grantOf(ctx), req.BatchId)
	if err != nil {
		return nil, err
	}
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, more, err := h.batches.RunsOf(ctx, &batch, batches.RunOutcome(valueOf(req.Params.Outcome, "")), page)
	if err != nil {
		return nil, err
	}
	answer := contract.ListReplayBatchRuns200JSONResponse{Data: make([]contract.ReplayBatchRun, len(found)), Limit: page.Limit, Offset: page.Offset, HasMore: more}
	for i := range found {
		run := &found[i]
		one := contract.ReplayBatchRun{
			Number: run.Number, RunId: run.RunID, RunName: run.RunName, Part: contract.ReplayBatchPart(run.Part), ReplayId: run.ReplayID, AttemptsTotal: run.Total, AttemptsDone: run.Done,
		}
		if run.Code != nil {
			one.NotReplayable = &contract.EvaluationFailure{Code: *run.Code, Detail: valueOf(run.Detail, "")}
		}
		if run.Outcome != nil {
			one.Outcome = new(contract.ReplayBatchOutcome(*run.Outcome))
		}
		if run.Status != nil {
			one.Status = new(contract.ReplayStatus(*run.Status))
		}
		answer.Data[i] = one
	}
	return answer, nil
}

// batch returns a batch.
func (h replayHandlers) batch(ctx context.Context, b *batches.Batch) (contract.ReplayBatch, error) {
	answer := contract.ReplayBatch{
		Id: b.ID, ProjectId: b.ProjectID, Name: b.Name, Status: contract.ReplayStatus(b.Status), StopReason: replayStopOf(b.StopReason), Error: replayFailureOf(b.ErrorCode, b.ErrorDetail),
		ChosenRuns: int64(b.Chosen), GoodRuns: int64(b.Good), NotReplayableRuns: int64(b.NotReplayable), Controls: b.Controls, Treatments: b.Treatments,
		MaxCostUsd: dollarsOf(b.MaxCostNanousd), AllowUnpriced: b.AllowUnpriced, Edits: []contract.ReplayStoredEdit{}, Tools: map[string]contract.ReplayTool{},
		Progress:  contract.ReplayProgress{Total: b.Total + (b.Chosen+b.Good-b.Planned)*(b.Controls+b.Treatments), Done: b.Done, Failed: b.Failed},
		CreatedBy: contract.Author{Email: b.AuthorEmail, Key: b.AuthorKey}, CreatedAt: b.CreatedAt.UTC(), StartedAt: utc(b.StartedAt), FinishedAt: utc(b.FinishedAt),
	}
	config, err := b.ReadConfig()
	if err != nil {
		return answer, err
	}
	answer.Executor, answer.EditsText, answer.MatchedRuns = contract.ReplayExecutor(config.Executor), list(config.Texts), int64(config.Matched)
	answer.Estimate = contract.ReplayEstimate{Calls: config.Estimate.Calls, CostLowUsd: dollarsOf(config.Estimate.Low), CostHighUsd: dollarsOf(config.Estimate.High)}
	if config.ProviderID != nil {
		answer.Provider = &contract.EvaluationProvider{Id: *config.ProviderID, Name: config.ProviderName}
	}
	if config.RunFilter != "" {
		answer.RunFilter = &config.RunFilter
	}
	if len(config.Outcome) > 0 {
		answer.Outcome = &config.Outcome
	}
	if answer.Panel, err = panelRead(config.Panel); err != nil {
		return answer, err
	}
	if err := convert(config.Edits, &answer.Edits); err != nil {
		return answer, err
	}
	if err := convert(config.Tools, &answer.Tools); err != nil {
		return answer, err
	}
	cost, err := h.batches.CostOf(ctx, b)
	if err != nil {
		return answer, err
	}
	answer.Cost = costOf(&cost)
	result, err := b.ReadResult()
	if err != nil || result == nil {
		return answer, err
	}
	answer.Result = &contract.ReplayBatchResult{}
	return answer, convert(result, answer.Result)
}
