package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/start"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/problem"
)

type evalRunHandlers struct {
	evaluations EvaluationServices
	judges      judgeHandlers
	comparisons comparisonHandlers
	runs        runSources
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
		if answer.Data[i], err = h.evalRun(ctx, &found[i], false); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// CreateEvalRun starts an eval-run.
func (h evalRunHandlers) CreateEvalRun(ctx context.Context, req contract.CreateEvalRunRequestObject) (contract.CreateEvalRunResponseObject, error) {
	wanted, err := h.wanted(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	created, err := h.evaluations.Create(ctx, grantOf(ctx), wanted)
	if err != nil {
		return nil, err
	}
	answer, err := h.evalRun(ctx, &created, true)
	return contract.CreateEvalRun201JSONResponse{
		Body: answer, Headers: contract.CreateEvalRun201ResponseHeaders{Location: new(evalRunPath(created.ID))},
	}, err
}

func evalRunPath(id uuid.UUID) string { return "/v1/eval-runs/" + id.String() }

// EstimateEvalRun checks an eval-run.
func (h evalRunHandlers) EstimateEvalRun(ctx context.Context, req contract.EstimateEvalRunRequestObject) (contract.EstimateEvalRunResponseObject, error) {
	wanted, err := h.wanted(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	estimate, forecast, err := h.evaluations.Estimate(ctx, grantOf(ctx), wanted, goalOf(req.Params.Margin, req.Params.Power))
	if err != nil {
		return nil, err
	}
	answer := estimateOf(&estimate)
	answer.Forecast = forecastOf(forecast)
	return contract.EstimateEvalRun200JSONResponse(answer), nil
}

// wanted reads an eval-run to start, with the contents of the prompts that it names.
func (h evalRunHandlers) wanted(ctx context.Context, body *contract.EvalRunCreate) (*start.Wanted, error) {
	if err := readsDatasets(ctx, body.ProjectId); err != nil {
		return nil, err
	}
	panels, err := h.judges.panels(ctx, body.ProjectId, body.Panels)
	if err != nil {
		return nil, err
	}
	n := &start.Wanted{
		Kind: evaluations.EvalRun, Name: body.Name, Dataset: body.DatasetId, Revision: body.Revision, Split: valueOf(body.Split, ""), Items: valueOf(body.ItemIds, nil),
		Repeats: valueOf(body.Repeats, 1), Seed: valueOf(body.Seed, defaultSeed), Primary: valueOf(body.PrimaryMetric, ""), MaxCost: moneyOf(body.MaxCostUsd),
		AllowUnpriced: valueOf(body.AllowUnpriced, false), Branch: valueOf(body.Branch, ""), Commit: valueOf(body.Commit, ""), Metadata: valueOf(body.Metadata, map[string]string{}),
		Config: evaluations.Config{
			Graders: valueOf(body.Graders, []contract.Grader{}), Panels: panels, Cache: valueOf(body.Cache, true), GroupBy: valueOf(body.GroupBy, ""),
			SkipIncompatible: valueOf(body.OnIncompatible, contract.EvalRunCreateOnIncompatibleRefuse) == contract.EvalRunCreateOnIncompatibleSkip,
		},
	}
	return n, h.target(ctx, body, n)
}

// target reads where the outputs of an eval-run come from.
func (h evalRunHandlers) target(ctx context.Context, body *contract.EvalRunCreate, n *start.Wanted) error {
	t, side := &body.Target, &n.Config.Sides[0]
	types := []evaluations.TargetType{}
	for name, is := range map[evaluations.TargetType]bool{
		evaluations.TargetExternal: t.External != nil, evaluations.TargetConfig: t.Config != nil, evaluations.TargetReference: t.Outputs != nil,
		evaluations.TargetEvalRun: t.EvalRunId != nil, evaluations.TargetRuns: t.RunFilter != nil,
	} {
		if is {
			types = append(types, name)
		}
	}
	if len(types) != 1 {
		return problem.InvalidField("body.target", "must have one of external, config, outputs, eval_run_id and run_filter")
	}
	n.Config.Target.Type = types[0]
	switch {
	case t.Labelled != nil && t.EvalRunId == nil:
		return problem.InvalidField("body.target.labelled", "goes with eval_run_id")
	case t.RunFilter == nil && (t.From != nil || t.To != nil || t.MaxRuns != nil):
		return problem.InvalidField("body.target", "has from, to or max_runs, which go with run_filter")
	case t.Config != nil && t.Config.EvalRunId != nil:
		return problem.InvalidField("body.target.config.eval_run_id", "is not for eval-runs: put it in target")
	case t.Config != nil:
		read, err := h.comparisons.side(ctx, body.ProjectId, "body.target.config", t.Config)
		if err != nil {
			return err
		}
		*side = *read
	case t.EvalRunId != nil:
		side.EvalRunID, side.Labelled = t.EvalRunId, valueOf(t.Labelled, false)
	case t.Outputs != nil:
		side.Reference, side.Name = true, "reference outputs"
	case t.RunFilter != nil:
		return h.recordedRuns(ctx, body, n)
	}
	return nil
}

// ResumeEvalRun does what is missing of an eval-run.
func (h evalRunHandlers) ResumeEvalRun(ctx context.Context, req contract.ResumeEvalRunRequestObject) (contract.ResumeEvalRunResponseObject, error) {
	changed, err := h.evaluations.Resume(ctx, grantOf(ctx), evaluations.EvalRun, req.EvalRunId, valueOf(req.Body.RetryFailed, false), moneyOf(req.Body.MaxCostUsd))
	if err != nil {
		return nil, err
	}
	answer, err := h.evalRun(ctx, &changed, true)
	return contract.ResumeEvalRun200JSONResponse(answer), err
}

// RerunEvalRun makes an eval-run again.
func (h evalRunHandlers) RerunEvalRun(ctx context.Context, req contract.RerunEvalRunRequestObject) (contract.RerunEvalRunResponseObject, error) {
	grant := grantOf(ctx)
	before, err := h.evaluations.Get(ctx, grant, evaluations.EvalRun, req.EvalRunId)
	if err != nil {
		return nil, err
	}
	if err := readsDatasets(ctx, before.ProjectID); err != nil {
		return nil, err
	}
	created, err := h.evaluations.Rerun(ctx, grant, evaluations.EvalRun, req.EvalRunId)
	if err != nil {
		return nil, err
	}
	answer, err := h.evalRun(ctx, &created, true)
	return contract.RerunEvalRun201JSONResponse{
		Body: answer, Headers: contract.RerunEvalRun201ResponseHeaders{Location: new(evalRunPath(created.ID))},
	}, err
}

// GetEvalRun reads an eval-run.
func (h evalRunHandlers) GetEvalRun(ctx context.Context, req contract.GetEvalRunRequestObject) (contract.GetEvalRunResponseObject, error) {
	found, err := h.evaluations.Get(ctx, grantOf(ctx), evaluations.EvalRun, req.EvalRunId)
	if err != nil {
		return nil, err
	}
	answer, err := h.evalRun(ctx, &found, true)
	return contract.GetEvalRun200JSONResponse(answer), err
}

// UpdateEvalRun renames an eval-run.
func (h evalRunHandlers) UpdateEvalRun(ctx context.Context, req contract.UpdateEvalRunRequestObject) (contract.UpdateEvalRunResponseObject, error) {
	changed, err := h.evaluations.Rename(ctx, grantOf(ctx), evaluations.EvalRun, req.EvalRunId, req.Body.Name)
	if err != nil {
		return nil, err
	}
	answer, err := h.evalRun(ctx, &changed, true)
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
	answer, err := h.evalRun(ctx, &changed, true)
	return contract.CancelEvalRun200JSONResponse(answer), err
}

// AddEvalRunResults stores results of an eval-run.
func (h evalRunHandlers) AddEvalRunResults(ctx context.Context, req contract.AddEvalRunResultsRequestObject) (contract.AddEvalRunResultsResponseObject, error) {
	results := make([]start.Result, len(req.Body.Items))
	for i := range req.Body.Items {
		results[i] = resultOf(&req.Body.Items[i])
	}
	added, changed, err := h.evaluations.AddResults(ctx, grantOf(ctx), req.EvalRunId, results, valueOf(req.Body.Replace, false))
	if err != nil {
		return nil, err
	}
	return contract.AddEvalRunResults200JSONResponse{Added: added.Added, Replaced: added.Replaced, Unchanged: added.Unchanged, Ungraded: added.Ungraded, Progress: progressOf(&changed)}, nil
}

func resultOf(r *contract.EvalRunResult) start.Result {
	result := start.Result{
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
	answer.EvalRun, err = h.evalRun(ctx, &finished, true)
	return answer, err
}

func progressOf(e *evaluations.Evaluation) contract.EvaluationProgress {
	return contract.EvaluationProgress{Total: e.OutputsTotal, Done: e.OutputsDone, Failed: e.OutputsFailed, Skipped: e.OutputsSkipped}
}

func evaluatedOf(e *evaluations.Evaluation) contract.EvaluationDataset {
	return contract.EvaluationDataset{Id: e.DatasetID, Name: e.DatasetName, Revision: e.Revision, Split: e.Split, ItemCount: e.ItemCount}
}

// evalRun returns an eval-run, with the texts of its configuration and judges if it is whole.
func (h evalRunHandlers) evalRun(ctx context.Context, e *evaluations.Evaluation, whole bool) (contract.EvalRun, error) {
	answer := contract.EvalRun{
		Id: e.ID, ProjectId: e.ProjectID, Name: e.Name, Dataset: evaluatedOf(e), Status: contract.EvaluationStatus(e.Status), Progress: progressOf(e), VoteProgress: voteProgressOf(e),
		Repeats: e.Repeats, PrimaryMetric: e.PrimaryMetric, Branch: e.Branch, Commit: e.Commit, CreatedBy: contract.Author{Email: e.AuthorEmail, Key: e.AuthorKey},
		CreatedAt: e.CreatedAt.UTC(), StartedAt: utc(e.StartedAt), FinishedAt: utc(e.Ended()), AllowUnpriced: e.AllowUnpriced, Seed: e.Seed,
		OnIncompatible: contract.EvalRunOnIncompatibleRefuse,
	}
	if e.ErrorCode != nil {
		answer.Error = &contract.EvaluationFailure{Code: *e.ErrorCode, Detail: valueOf(e.ErrorDetail, "")}
	}
	if e.StopReason != nil {
		answer.StopReason = new(contract.EvalRunStopReason(*e.StopReason))
	}
	if e.MaxCostNanousd != nil {
		answer.MaxCostUsd = new(e.MaxCostNanousd.Dollars())
	}
	if err := h.addConfig(e, &answer, whole); err != nil {
		return answer, err
	}
	if err := json.Unmarshal([]byte(e.Metadata), &answer.Metadata); err != nil {
		return answer, fmt.Errorf("read the metadata of evaluation %s: %w", e.ID, err)
	}
	answer.CostUsd, answer.CostUnknownResults = e.ResultsCostUSD, e.OutputsDone-e.ResultsCosted
	if answer.Target.Type != contract.EvalRunTargetReadTypeExternal || len(answer.Panels) > 0 {
		cost, err := h.evaluations.CostOf(ctx, e)
		if err != nil {
			return answer, err
		}
		estimate, err := e.ReadEstimate()
		if err != nil {
			return answer, err
		}
		answer.Cost, answer.Estimate = new(costOf(&cost)), new(estimateOf(&estimate))
	}
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

// addConfig adds what an eval-run evaluates, and how.
func (h evalRunHandlers) addConfig(e *evaluations.Evaluation, answer *contract.EvalRun, whole bool) error {
	config, err := e.ReadConfig()
	if err != nil {
		return err
	}
	answer.Graders, answer.Cache, answer.GroupBy = config.Graders, config.Cache, known(config.GroupBy)
	if config.SkipIncompatible {
		answer.OnIncompatible = contract.EvalRunOnIncompatibleSkip
	}
	if answer.Panels, err = panelsRead(config.Panels, whole); err != nil {
		return err
	}
	t, side := &config.Target, &config.Sides[0]
	answer.Target = contract.EvalRunTargetRead{
		Type: contract.EvalRunTargetReadType(t.Type), EvalRunId: side.EvalRunID, Labelled: side.Labelled, RunFilter: known(t.RunFilter), From: utc(t.From), To: utc(t.To),
	}
	switch t.Type {
	case "":
		answer.Target.Type = contract.EvalRunTargetReadTypeExternal
	case evaluations.TargetRuns:
		answer.Target.MaxRuns = &t.MaxRuns
		answer.Target.Runs = evaluatedRunsOf(t.Found)
	case evaluations.TargetConfig:
		shown, err := sideOf(side, whole)
		if err != nil {
			return err
		}
		answer.Target.Config = &shown
	}
	return nil
}
