package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/start"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/problem"
)

// defaultSeed decides the order of the items of an evaluation whose request does not.
const defaultSeed = 1

type comparisonHandlers struct {
	evaluations EvaluationServices
	prompts     *prompts.Service
	judges      judgeHandlers
	log         *slog.Logger
}

// ListComparisons lists comparisons.
func (h comparisonHandlers) ListComparisons(ctx context.Context, req contract.ListComparisonsRequestObject) (contract.ListComparisonsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, more, err := h.evaluations.List(ctx, grantOf(ctx), evaluations.Comparison, evaluations.Filter{
		Dataset: req.Params.DatasetId, Status: evaluations.Status(valueOf(req.Params.Status, "")),
	}, page)
	if err != nil {
		return nil, err
	}
	answer := contract.ListComparisons200JSONResponse{Data: make([]contract.Comparison, len(found)), Limit: page.Limit, Offset: page.Offset, HasMore: more}
	for i := range found {
		if answer.Data[i], err = h.comparison(ctx, &found[i], false); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// CreateComparison starts a comparison.
func (h comparisonHandlers) CreateComparison(ctx context.Context, req contract.CreateComparisonRequestObject) (contract.CreateComparisonResponseObject, error) {
	wanted, err := h.wanted(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	created, err := h.evaluations.Create(ctx, grantOf(ctx), wanted)
	if err != nil {
		return nil, err
	}
	answer, err := h.comparison(ctx, &created, true)
	return contract.CreateComparison201JSONResponse{
		Body: answer, Headers: contract.CreateComparison201ResponseHeaders{Location: new(comparisonPath(created.ID))},
	}, err
}

func comparisonPath(id uuid.UUID) string { return "/v1/comparisons/" + id.String() }

// EstimateComparison checks a comparison.
func (h comparisonHandlers) EstimateComparison(ctx context.Context, req contract.EstimateComparisonRequestObject) (contract.EstimateComparisonResponseObject, error) {
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
	return contract.EstimateComparison200JSONResponse(answer), nil
}

// GetComparison reads a comparison.
func (h comparisonHandlers) GetComparison(ctx context.Context, req contract.GetComparisonRequestObject) (contract.GetComparisonResponseObject, error) {
	found, err := h.evaluations.Get(ctx, grantOf(ctx), evaluations.Comparison, req.ComparisonId)
	if err != nil {
		return nil, err
	}
	answer, err := h.comparison(ctx, &found, true)
	return contract.GetComparison200JSONResponse(answer), err
}

// UpdateComparison renames a comparison.
func (h comparisonHandlers) UpdateComparison(ctx context.Context, req contract.UpdateComparisonRequestObject) (contract.UpdateComparisonResponseObject, error) {
	changed, err := h.evaluations.Rename(ctx, grantOf(ctx), evaluations.Comparison, req.ComparisonId, req.Body.Name)
	if err != nil {
		return nil, err
	}
	answer, err := h.comparison(ctx, &changed, true)
	return contract.UpdateComparison200JSONResponse(answer), err
}

// DeleteComparison deletes a comparison.
func (h comparisonHandlers) DeleteComparison(ctx context.Context, req contract.DeleteComparisonRequestObject) (contract.DeleteComparisonResponseObject, error) {
	return contract.DeleteComparison204Response{}, h.evaluations.Delete(ctx, grantOf(ctx), evaluations.Comparison, req.ComparisonId)
}

// CancelComparison cancels a comparison.
func (h comparisonHandlers) CancelComparison(ctx context.Context, req contract.CancelComparisonRequestObject) (contract.CancelComparisonResponseObject, error) {
	changed, err := h.evaluations.Cancel(ctx, grantOf(ctx), evaluations.Comparison, req.ComparisonId)
	if err != nil {
		return nil, err
	}
	answer, err := h.comparison(ctx, &changed, true)
	return contract.CancelComparison200JSONResponse(answer), err
}

// ResumeComparison does what is missing of a comparison.
func (h comparisonHandlers) ResumeComparison(ctx context.Context, req contract.ResumeComparisonRequestObject) (contract.ResumeComparisonResponseObject, error) {
	changed, err := h.evaluations.Resume(ctx, grantOf(ctx), evaluations.Comparison, req.ComparisonId, valueOf(req.Body.RetryFailed, false), moneyOf(req.Body.MaxCostUsd))
	if err != nil {
		return nil, err
	}
	answer, err := h.comparison(ctx, &changed, true)
	return contract.ResumeComparison200JSONResponse(answer), err
}

// RerunComparison makes a comparison again.
func (h comparisonHandlers) RerunComparison(ctx context.Context, req contract.RerunComparisonRequestObject) (contract.RerunComparisonResponseObject, error) {
	grant := grantOf(ctx)
	before, err := h.evaluations.Get(ctx, grant, evaluations.Comparison, req.ComparisonId)
	if err != nil {
		return nil, err
	}
	if err := readsDatasets(ctx, before.ProjectID); err != nil {
		return nil, err
	}
	created, err := h.evaluations.Rerun(ctx, grant, evaluations.Comparison, req.ComparisonId)
	if err != nil {
		return nil, err
	}
	answer, err := h.comparison(ctx, &created, true)
	return contract.RerunComparison201JSONResponse{
		Body: answer, Headers: contract.RerunComparison201ResponseHeaders{Location: new(comparisonPath(created.ID))},
	}, err
}

// readsDatasets returns an error if the caller may not read datasets of a project: their items go to models.
func readsDatasets(ctx context.Context, project uuid.UUID) error {
	grant := grantOf(ctx)
	if grant.Allows(project, apikey.ScopeDatasetsRead) {
		return nil
	}
	return &problem.Error{Kind: problem.Forbidden, Code: "scope_missing", Detail: "An evaluation needs the scope datasets:read, too."}
}

func moneyOf(dollars *float64) *providers.Money {
	if dollars == nil {
		return nil
	}
	return new(providers.MoneyOf(*dollars))
}

// wanted reads a comparison to start, with the contents of the prompts that it names.
func (h comparisonHandlers) wanted(ctx context.Context, body *contract.ComparisonCreate) (*start.Wanted, error) {
	if err := readsDatasets(ctx, body.ProjectId); err != nil {
		return nil, err
	}
	panels, err := h.judges.panels(ctx, body.ProjectId, body.Panels)
	if err != nil {
		return nil, err
	}
	n := &start.Wanted{
		Kind: evaluations.Comparison, Name: valueOf(body.Name, ""), Dataset: body.DatasetId, Revision: body.Revision, Split: valueOf(body.Split, ""), Repeats: valueOf(body.Repeats, 1),
		Seed: valueOf(body.Seed, defaultSeed), Primary: valueOf(body.PrimaryMetric, ""), MaxCost: moneyOf(body.MaxCostUsd), AllowUnpriced: valueOf(body.AllowUnpriced, false),
		Config: evaluations.Config{
			Graders: valueOf(body.Graders, []contract.Grader{}), Panels: panels, Cache: valueOf(body.Cache, true), EquivalenceMargin: body.EquivalenceMargin, StopEarly: valueOf(body.StopEarly, false), GroupBy: valueOf(body.GroupBy, ""),
			ReadsRuns:        grantOf(ctx).Allows(body.ProjectId, apikey.ScopeRunsRead),
			SkipIncompatible: valueOf(body.OnIncompatible, contract.ComparisonCreateOnIncompatibleRefuse) == contract.ComparisonCreateOnIncompatibleSkip,
		},
	}
	for i, config := range []*contract.ComparisonConfig{&body.A, &body.B} {
		side, err := h.side(ctx, body.ProjectId, "body."+evaluations.SideNames[i], config)
		if err != nil {
			return nil, err
		}
		n.Config.Sides[i] = *side
	}
	return n, nil
}

// side reads a configuration at a location of the request.
func (h comparisonHandlers) side(ctx context.Context, project uuid.UUID, location string, config *contract.ComparisonConfig) (*evaluations.Side, error) {
	side := &evaluations.Side{
		Name: valueOf(config.Name, ""), ProviderID: valueOf(config.ProviderId, uuid.Nil), VariablesMap: valueOf(config.VariablesMap, map[string]string{}),
	}
	if config.EvalRunId != nil {
		side.EvalRunID = config.EvalRunId
		if *config != (contract.ComparisonConfig{EvalRunId: config.EvalRunId, Name: config.Name}) {
			return nil, problem.InvalidField(location, "must have eval_run_id alone, or with a name")
		}
		return side, nil
	}
	switch {
	case config.ProviderId == nil:
		return nil, problem.InvalidField(location+".provider_id", "is missing: name a connection, or an eval_run_id")
	case (config.Prompt == nil) == (config.Messages == nil):
		return nil, problem.InvalidField(location, "must have either prompt or messages")
	case config.Prompt != nil && config.TemplateFormat != nil:
		return nil, problem.InvalidField(location+".template_format", "goes with messages: a prompt has its own")
	case config.Prompt != nil:
		version, err := versionOf(ctx, h.prompts, project, location+".prompt", config.Prompt)
		if err != nil {
			return nil, err
		}
		side.Content = version.Content
		if side.Name == "" {
			side.Name = version.Name + " v" + strconv.Itoa(version.Version)
		}
		side.Prompt = &recording.Prompt{ID: version.PromptID.String(), Name: version.Name, Version: version.Version, Alias: valueOf(config.Prompt.Alias, "")}
	default:
		side.Content = prompts.Content{Messages: *config.Messages, TemplateFormat: string(valueOf(config.TemplateFormat, ""))}
	}
	if config.Tools != nil {
		side.Content.Tools = *config.Tools
	}
	if config.ResponseFormat != nil {
		side.Content.ResponseFormat = *config.ResponseFormat
	}
	var err error
	if side.Content.ModelConfig, err = mergedConfig(side.Content.ModelConfig, valueOf(config.ModelConfig, nil)); err != nil {
		return nil, err
	}
	if side.Name == "" {
		merged, err := side.ModelConfig()
		if err != nil {
			return nil, err
		}
		side.Name = merged.Model
	}
	return side, nil
}

// comparison returns a comparison, with the messages of its configurations if it is whole.
func (h comparisonHandlers) comparison(ctx context.Context, e *evaluations.Evaluation, whole bool) (contract.Comparison, error) {
	answer := contract.Comparison{
		Id: e.ID, ProjectId: e.ProjectID, Name: e.Name, Status: contract.EvaluationStatus(e.Status), Repeats: e.Repeats, Seed: e.Seed, PrimaryMetric: e.PrimaryMetric,
		Dataset: evaluatedOf(e), Progress: progressOf(e), VoteProgress: voteProgressOf(e),
		AllowUnpriced: e.AllowUnpriced, CreatedBy: contract.Author{Email: e.AuthorEmail, Key: e.AuthorKey}, CreatedAt: e.CreatedAt.UTC(),
		StartedAt: utc(e.StartedAt), FinishedAt: utc(e.FinishedAt), OnIncompatible: contract.ComparisonOnIncompatibleRefuse,
	}
	if e.StopReason != nil {
		answer.StopReason = new(contract.ComparisonStopReason(*e.StopReason))
	}
	if e.ErrorCode != nil {
		answer.Error = &contract.EvaluationFailure{Code: *e.ErrorCode, Detail: valueOf(e.ErrorDetail, "")}
	}
	if e.MaxCostNanousd != nil {
		answer.MaxCostUsd = new(e.MaxCostNanousd.Dollars())
	}
	config, err := e.ReadConfig()
	if err != nil {
		return answer, err
	}
	answer.Graders, answer.EquivalenceMargin, answer.StopEarly, answer.Cache = config.Graders, config.EquivalenceMargin, config.StopEarly, config.Cache
	answer.GroupBy = known(config.GroupBy)
	if answer.Panels, err = panelsRead(config.Panels, whole); err != nil {
		return answer, err
	}
	if config.SkipIncompatible {
		answer.OnIncompatible = contract.ComparisonOnIncompatibleSkip
	}
	if answer.A, err = sideOf(&config.Sides[0], whole); err != nil {
		return answer, err
	}
	if answer.B, err = sideOf(&config.Sides[1], whole); err != nil {
		return answer, err
	}
	estimate, err := e.ReadEstimate()
	if err != nil {
		return answer, err
	}
	answer.Estimate = estimateOf(&estimate)
	cost, err := h.evaluations.CostOf(ctx, e)
	if err != nil {
		return answer, err
	}
	answer.Cost = costOf(&cost)
	calls, err := h.evaluations.CallsOf(ctx, e, &config, &cost)
	if err != nil {
		return answer, err
	}
	if calls != nil {
		answer.Progress.CallsInFlight, answer.Progress.LastRateLimitedAt, answer.Progress.RateLimitedUntil = &calls.InFlight, utc(calls.LimitedAt), utc(calls.PausedUntil)
	}
	accounting, err := e.ReadAccounting()
	if err != nil {
		return answer, err
	}
	if err := convert(accounting, &answer.Accounting); err != nil {
		return answer, err
	}
	if e.Summary != nil {
		answer.Summary = &contract.ComparisonSummary{}
		if err := json.Unmarshal([]byte(*e.Summary), answer.Summary); err != nil {
			return answer, fmt.Errorf("read the summary of evaluation %s: %w", e.ID, err)
		}
	}
	return answer, nil
}

func costOf(c *providers.EvaluationCost) contract.EvaluationCost {
	return contract.EvaluationCost{
		Usd: c.Cost.Dollars(), Calls: c.Calls, UnknownCalls: c.BoundedCalls, UnknownAtMostUsd: c.Bounded.Dollars(), UnpricedCalls: c.Unpriced,
	}
}

// convert fills in a type of the contract from one that is written in the same JSON.
func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return fmt.Errorf("convert %T: %w", from, err)
	}
	return nil
}

func sideOf(s *evaluations.Side, whole bool) (contract.ComparisonSide, error) {
	config, err := s.ModelConfig()
	if err != nil {
		return contract.ComparisonSide{}, err
	}
	side := contract.ComparisonSide{Name: s.Name, EvalRunId: s.EvalRunID, ModelConfig: s.Content.ModelConfig, VariablesMap: s.VariablesMap}
	if !s.Calls() {
		side.ModelConfig, side.VariablesMap = json.RawMessage(`{}`), map[string]string{}
		return side, nil
	}
	side.Provider, side.Model = &contract.EvaluationProvider{Id: s.ProviderID, Name: s.ProviderName}, &config.Model
	if s.Prompt != nil {
		id, err := uuid.Parse(s.Prompt.ID)
		if err != nil {
			return side, fmt.Errorf("read the prompt of a configuration: %w", err)
		}
		side.Prompt = &contract.EvaluationPrompt{Id: id, Name: s.Prompt.Name, Version: s.Prompt.Version}
	}
	if whole {
		side.Messages, side.Tools, side.TemplateFormat = &s.Content.Messages, all(s.Content.Tools), new(contract.PromptTemplateFormat(s.Content.TemplateFormat))
		if format := withoutNull(s.Content.ResponseFormat); format != nil {
			side.ResponseFormat = &format
		}
	}
	return side, nil
}

func estimateOf(e *evaluations.Estimate) contract.EvaluationEstimate {
	answer := contract.EvaluationEstimate{
		Items: e.Items, Calls: e.Calls, JudgeCalls: e.JudgeCalls, InputTokens: e.InputTokens, Basis: contract.EvaluationEstimateBasis(e.Basis), UnpricedModels: e.UnpricedModels,
		IncompatibleItems: e.Incompatible, Missing: make([]contract.EvaluationMissing, len(e.Missing)), CostLowUsd: dollarsOf(e.Low), CostHighUsd: dollarsOf(e.High),
		Runs: evaluatedRunsOf(e.Runs),
	}
	for i, m := range e.Missing {
		answer.Missing[i] = contract.EvaluationMissing{
			Side: m.Side, Variable: known(m.Variable), Reason: m.Reason, Items: m.Items, Examples: m.Examples,
		}
	}
	return answer
}

func dollarsOf(amount *providers.Money) *float64 {
	if amount == nil {
		return nil
	}
	return new(amount.Dollars())
}
