package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/stats"
)

type evalRunHandlers struct {
	evaluations *evaluations.Service
}

// ListEvalRuns lists eval-runs.
func (h evalRunHandlers) ListEvalRuns(ctx context.Context, req contract.ListEvalRunsRequestObject) (contract.ListEvalRunsResponseObject, error) {
	p := &req.Params
	page := pageOf(p.Limit, p.Offset)
	found, more, err := h.evaluations.List(ctx, grantOf(ctx), evaluations.EvalRun, evaluations.Filter{
		Dataset: p.DatasetId, Status: evaluations.Status(valueOf(p.Status, "")), Name: valueOf(p.Name, ""), Branch: valueOf(p.Branch, ""), Commit: valueOf(p.Commit, ""),
	}, page)
	if err != nil {
		return nil, err
	}
	answer := contract.ListEvalRuns200JSONResponse{Data: make([]contract.EvalRun, len(found)), Limit: page.Limit, Offset: page.Offset, HasMore: more}
	for i := range found {
		if answer.Data[i], err = evalRunOf(&found[i]); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// CreateEvalRun begins an eval-run.
func (h evalRunHandlers) CreateEvalRun(ctx context.Context, req contract.CreateEvalRunRequestObject) (contract.CreateEvalRunResponseObject, error) {
	body := req.Body
	if err := readsDatasets(ctx, body.ProjectId); err != nil {
		return nil, err
	}
	created, err := h.evaluations.Begin(ctx, grantOf(ctx), &evaluations.WantedRun{
		Name: body.Name, Dataset: body.DatasetId, Revision: body.Revision, Split: valueOf(body.Split, ""), Items: valueOf(body.ItemIds, nil), Repeats: valueOf(body.Repeats, 1),
		Graders: valueOf(body.Graders, []contract.Grader{}), Primary: valueOf(body.PrimaryMetric, ""), Branch: valueOf(body.Branch, ""), Commit: valueOf(body.Commit, ""),
		Metadata: valueOf(body.Metadata, nil),
	})
	if err != nil {
		return nil, err
	}
	answer, err := evalRunOf(&created)
	return contract.CreateEvalRun201JSONResponse{
		Body: answer, Headers: contract.CreateEvalRun201ResponseHeaders{Location: new("/v1/eval-runs/" + created.ID.String())},
	}, err
}

// GetEvalRun reads an eval-run.
func (h evalRunHandlers) GetEvalRun(ctx context.Context, req contract.GetEvalRunRequestObject) (contract.GetEvalRunResponseObject, error) {
	found, err := h.evaluations.Get(ctx, grantOf(ctx), evaluations.EvalRun, req.EvalRunId)
	if err != nil {
		return nil, err
	}
	answer, err := evalRunOf(&found)
	return contract.GetEvalRun200JSONResponse(answer), err
}

// UpdateEvalRun renames an eval-run.
func (h evalRunHandlers) UpdateEvalRun(ctx context.Context, req contract.UpdateEvalRunRequestObject) (contract.UpdateEvalRunResponseObject, error) {
	changed, err := h.evaluations.Rename(ctx, grantOf(ctx), evaluations.EvalRun, req.EvalRunId, req.Body.Name)
	if err != nil {
		return nil, err
	}
	answer, err := evalRunOf(&changed)
	return contract.UpdateEvalRun200JSONResponse(answer), err
}

// DeleteEvalRun deletes an eval-run.
func (h evalRunHandlers) DeleteEvalRun(ctx context.Context, req contract.DeleteEvalRunRequestObject) (contract.DeleteEvalRunResponseObject, error) {
	return contract.DeleteEvalRun204Response{}, h.evaluations.Delete(ctx, grantOf(ctx), evaluations.EvalRun, req.EvalRunId)
}

// CancelEvalRun cancels an eval-run.
func (h evalRunHandlers) CancelEvalRun(ctx context.Context, req contract.CancelEvalRunRequestObject) (contract.CancelEvalRunResponseObject, error) {
	changed, err := h.evaluations.Cancel(ctx, grantOf(ctx), evaluations.EvalRun, req.EvalRunId)
	if err != nil {
		return nil, err
	}
	answer, err := evalRunOf(&changed)
	return contract.CancelEvalRun200JSONResponse(answer), err
}

// AddEvalRunResults stores results of an eval-run.
func (h evalRunHandlers) AddEvalRunResults(ctx context.Context, req contract.AddEvalRunResultsRequestObject) (contract.AddEvalRunResultsResponseObject, error) {
	results := make([]evaluations.Result, len(req.Body.Items))
	for i := range req.Body.Items {
		results[i] = resultOf(&req.Body.Items[i])
	}
	added, changed, err := h.evaluations.AddResults(ctx, grantOf(ctx), req.EvalRunId, results, valueOf(req.Body.Replace, false))
	if err != nil {
		return nil, err
	}
	return contract.AddEvalRunResults200JSONResponse{Added: added.Added, Replaced: added.Replaced, Unchanged: added.Unchanged, Progress: progressOf(&changed)}, nil
}

func resultOf(r *contract.EvalRunResult) evaluations.Result {
	result := evaluations.Result{
		ItemID: r.ItemId, Repeat: r.Repeat, Output: r.Output, Message: valueOf(r.Message, nil), RunID: r.RunId, Model: valueOf(r.Model, ""),
		DurationMS: r.DurationMs, CostUSD: r.CostUsd, Scores: make([]evaluations.Score, len(valueOf(r.Scores, nil))),
	}
	if r.Usage != nil {
		result.InputTokens, result.OutputTokens = r.Usage.InputTokens, r.Usage.OutputTokens
	}
	if r.Error != nil {
		result.ErrorCode, result.ErrorDetail = r.Error.Code, valueOf(r.Error.Detail, "")
	}
	for i, s := range valueOf(r.Scores, nil) {
		result.Scores[i] = evaluations.Score{Name: s.Name, Value: s.Score, Pass: s.Pass, Reason: valueOf(s.Reason, ""), Error: valueOf(s.Error, "")}
	}
	return result
}

// FinishEvalRun ends an eval-run.
func (h evalRunHandlers) FinishEvalRun(ctx context.Context, req contract.FinishEvalRunRequestObject) (contract.FinishEvalRunResponseObject, error) {
	finished, missing, err := h.evaluations.Finish(ctx, grantOf(ctx), req.EvalRunId)
	if err != nil {
		return nil, err
	}
	answer := contract.FinishEvalRun200JSONResponse{Missing: make([]contract.EvalRunMissing, len(missing)), MissingTotal: finished.OutputsTotal - finished.OutputsDone}
	for i, m := range missing {
		repeats := make([]int, len(m.Repeats))
		for j, repeat := range m.Repeats {
			repeats[j] = int(repeat)
		}
		answer.Missing[i] = contract.EvalRunMissing{ItemId: m.ItemID, Key: m.Key, Repeats: repeats}
	}
	answer.EvalRun, err = evalRunOf(&finished)
	return answer, err
}

// ListEvalRunItems lists the items of an eval-run.
func (h evalRunHandlers) ListEvalRunItems(ctx context.Context, req contract.ListEvalRunItemsRequestObject) (contract.ListEvalRunItemsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, err := h.evaluations.Get(ctx, grantOf(ctx), evaluations.EvalRun, req.EvalRunId)
	if err != nil {
		return nil, err
	}
	items, more, err := h.evaluations.Items(ctx, &found, evaluations.ItemsQuery{Status: evaluations.ItemStatus(valueOf(req.Params.Status, "")), Longest: listedJSON}, page)
	if err != nil {
		return nil, err
	}
	shown := shownItems{e: &found, longest: listedText, contents: grantOf(ctx).Allows(found.ProjectID, apikey.ScopeDatasetsRead)}
	answer := contract.ListEvalRunItems200JSONResponse{Data: make([]contract.EvalRunItem, len(items)), Limit: page.Limit, Offset: page.Offset, HasMore: more}
	for i := range items {
		if answer.Data[i], err = shown.evalRunItem(&items[i]); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// GetEvalRunItem reads an item of an eval-run.
func (h evalRunHandlers) GetEvalRunItem(ctx context.Context, req contract.GetEvalRunItemRequestObject) (contract.GetEvalRunItemResponseObject, error) {
	found, err := h.evaluations.Get(ctx, grantOf(ctx), evaluations.EvalRun, req.EvalRunId)
	if err != nil {
		return nil, err
	}
	items, _, err := h.evaluations.Items(ctx, &found, evaluations.ItemsQuery{Item: &req.DatasetItemId}, postgres.Page{Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, problem.Missing()
	}
	shown := shownItems{e: &found, contents: grantOf(ctx).Allows(found.ProjectID, apikey.ScopeDatasetsRead)}
	item, err := shown.evalRunItem(&items[0])
	return contract.GetEvalRunItem200JSONResponse(item), err
}

func (s *shownItems) evalRunItem(i *evaluations.Item) (contract.EvalRunItem, error) {
	item, err := s.item(i)
	if err != nil {
		return contract.EvalRunItem{}, err
	}
	one := contract.EvalRunItem{
		Number: item.Number, ItemId: item.ItemId, Key: item.Key, Status: item.Status, Reason: item.Reason, Input: item.Input, ReferenceOutput: item.ReferenceOutput,
		Metadata: item.Metadata, InputTruncated: item.InputTruncated, Repeats: make([]contract.EvalRunRepeat, len(item.Repeats)),
	}
	for j := range item.Repeats {
		one.Repeats[j] = contract.EvalRunRepeat{Repeat: item.Repeats[j].Repeat, Result: *item.Repeats[j].A}
	}
	return one, nil
}

// CheckGate compares an eval-run with a baseline.
func (h evalRunHandlers) CheckGate(ctx context.Context, req contract.CheckGateRequestObject) (contract.CheckGateResponseObject, error) {
	g, err := h.evaluations.CheckGate(ctx, grantOf(ctx), req.Body.Candidate, req.Body.Baseline, req.Body.Metric, req.Body.Margin)
	if err != nil {
		return nil, err
	}
	answer := contract.CheckGate200JSONResponse{
		Decision: contract.GateDecisionDecision(g.Decision), Sentence: g.Sentence, Metric: req.Body.Metric, Better: contract.GateDecisionBetter(g.Better), Margin: req.Body.Margin,
		Candidate: meanOf(&g.Comparison.B), Baseline: meanOf(&g.Comparison.A), Paired: int64(g.Difference.N), OnlyCandidate: g.OnlyCandidate, OnlyBaseline: g.OnlyBaseline,
		Changed: g.Changed, CandidateLost: g.CandidateLost, BaselineLost: g.BaselineLost, ItemsNeeded: long(g.ItemsNeeded), RepeatsNeeded: long(g.RepeatsNeeded),
	}
	return answer, convert(g.Difference, &answer.Difference)
}

func meanOf(s *stats.Side) contract.EvaluationMean {
	mean := contract.EvaluationMean{Mean: s.Mean, N: int64(s.N)}
	if s.CI != nil {
		mean.Ci = new(s.CI[:])
	}
	return mean
}

func long(n *int) *int64 {
	if n == nil {
		return nil
	}
	return new(int64(*n))
}

func progressOf(e *evaluations.Evaluation) contract.EvaluationProgress {
	return contract.EvaluationProgress{Total: e.OutputsTotal, Done: e.OutputsDone, Failed: e.OutputsFailed, Skipped: e.OutputsSkipped}
}

func evaluatedOf(e *evaluations.Evaluation) contract.EvaluationDataset {
	return contract.EvaluationDataset{Id: e.DatasetID, Name: e.DatasetName, Revision: e.Revision, Split: e.Split, ItemCount: e.ItemCount}
}

func evalRunOf(e *evaluations.Evaluation) (contract.EvalRun, error) {
	answer := contract.EvalRun{
		Id: e.ID, ProjectId: e.ProjectID, Name: e.Name, Dataset: evaluatedOf(e), Status: contract.EvaluationStatus(e.Status), Progress: progressOf(e), Repeats: e.Repeats,
		PrimaryMetric: e.PrimaryMetric, Branch: e.Branch, Commit: e.Commit, CreatedBy: contract.Author{Email: e.AuthorEmail, Key: e.AuthorKey},
		CreatedAt: e.CreatedAt.UTC(), StartedAt: utc(e.StartedAt), FinishedAt: utc(e.FinishedAt), Target: contract.EvalRunTarget{External: true},
	}
	if e.ErrorCode != nil {
		answer.Error = &contract.EvaluationFailure{Code: *e.ErrorCode, Detail: valueOf(e.ErrorDetail, "")}
	}
	config, err := e.ReadConfig()
	if err != nil {
		return answer, err
	}
	answer.Graders = config.Graders
	if err := json.Unmarshal([]byte(e.Metadata), &answer.Metadata); err != nil {
		return answer, fmt.Errorf("read the metadata of evaluation %s: %w", e.ID, err)
	}
	answer.CostUsd, answer.CostUnknownResults = e.ResultsCostUSD, e.OutputsDone-e.ResultsCosted
	accounting, err := e.ReadAccounting()
	if err != nil {
		return answer, err
	}
	if err := convert(accounting, &answer.Accounting); err != nil {
		return answer, err
	}
	if e.Summary != nil {
		answer.Summary = &contract.EvalRunSummary{}
		if err := json.Unmarshal([]byte(*e.Summary), answer.Summary); err != nil {
			return answer, fmt.Errorf("read the summary of evaluation %s: %w", e.ID, err)
		}
	}
	return answer, nil
}
