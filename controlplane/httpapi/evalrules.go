package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/runtime/types"

	"github.com/looptrace/looptrace/controlplane/evaluations/execute"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/rules"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/problem"
)

type evalRuleHandlers struct {
	rules  *rules.Service
	judges judgeHandlers
}

// ListEvalRules lists rules.
func (h evalRuleHandlers) ListEvalRules(ctx context.Context, req contract.ListEvalRulesRequestObject) (contract.ListEvalRulesResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, more, err := h.rules.List(ctx, grantOf(ctx), rules.Status(valueOf(req.Params.Status, "")), page)
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	today, err := h.rules.Today(ctx, ids)
	if err != nil {
		return nil, err
	}
	answer := contract.ListEvalRules200JSONResponse{Data: make([]contract.EvalRule, len(found)), Limit: page.Limit, Offset: page.Offset, HasMore: more}
	for i := range found {
		if answer.Data[i], err = evalRuleOf(&found[i], today[found[i].ID], &rules.Report{}, false); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// readsAndScores returns an error if the caller may not read or score runs of a project, which a rule does for it.
func readsAndScores(ctx context.Context, project uuid.UUID) error {
	for _, scope := range []string{apikey.ScopeRunsRead, apikey.ScopeRunsWrite} {
		if !grantOf(ctx).Allows(project, scope) {
			return &problem.Error{Kind: problem.Forbidden, Code: "scope_missing", Detail: fmt.Sprintf("A rule needs the scope %s, too.", scope)}
		}
	}
	return nil
}

// CreateEvalRule makes a rule.
func (h evalRuleHandlers) CreateEvalRule(ctx context.Context, req contract.CreateEvalRuleRequestObject) (contract.CreateEvalRuleResponseObject, error) {
	wanted, err := h.wanted(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	created, err := h.rules.Create(ctx, grantOf(ctx), wanted)
	if err != nil {
		return nil, err
	}
	answer, err := h.evalRule(ctx, &created)
	return contract.CreateEvalRule201JSONResponse{
		Body: answer, Headers: contract.CreateEvalRule201ResponseHeaders{Location: new("/v1/eval-rules/" + created.ID.String())},
	}, err
}

// wanted reads a rule to make, with the contents of the prompts that it names.
func (h evalRuleHandlers) wanted(ctx context.Context, body *contract.EvalRuleCreate) (*rules.Wanted, error) {
	if err := readsAndScores(ctx, body.ProjectId); err != nil {
		return nil, err
	}
	panels, err := h.judges.panels(ctx, body.ProjectId, body.Panels)
	return &rules.Wanted{
		Name: body.Name, RunFilter: body.RunFilter, SampleRate: body.SampleRate, GroupBy: valueOf(body.GroupBy, rules.BySession), MaxCost: moneyOf(body.MaxCostUsdPerDay), AllowUnpriced: valueOf(body.AllowUnpriced, false),
		Scoring: execute.Scoring{Graders: valueOf(body.Graders, []contract.Grader{}), Panels: panels},
	}, err
}

// PreviewEvalRule says what a rule would have taken.
func (h evalRuleHandlers) PreviewEvalRule(ctx context.Context, req contract.PreviewEvalRuleRequestObject) (contract.PreviewEvalRuleResponseObject, error) {
	wanted, err := h.wanted(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	found, err := h.rules.Preview(ctx, grantOf(ctx), wanted)
	if err != nil {
		return nil, err
	}
	answer := contract.PreviewEvalRule200JSONResponse{
		Matched: found.Matched, Sampled: found.Sampled, Days: found.Days, CallsPerRun: found.Votes, CostLowUsd: dollarsOf(found.Estimate.Low), CostHighUsd: dollarsOf(found.Estimate.High),
		UnpricedModels: found.Estimate.UnpricedModels, Examples: make([]contract.RunItemPreview, len(found.Examples)),
	}
	for i := range found.Examples {
		one := &found.Examples[i]
		answer.Examples[i] = contract.RunItemPreview{RunId: one.Run.RunID, Name: one.Run.Name, Metadata: json.RawMessage("{}"), Skipped: known(one.Skipped)}
		if one.Sample.Input != nil {
			answer.Examples[i].Input = &one.Sample.Input
		}
		if one.Sample.Output != nil {
			answer.Examples[i].ReferenceOutput = &one.Sample.Output
		}
		if one.Sample.Metadata != nil {
			if err := convert(one.Sample.Metadata, &answer.Examples[i].Metadata); err != nil {
				return nil, err
			}
		}
	}
	return answer, nil
}

// GetEvalRule reads a rule.
func (h evalRuleHandlers) GetEvalRule(ctx context.Context, req contract.GetEvalRuleRequestObject) (contract.GetEvalRuleResponseObject, error) {
	found, err := h.rules.Get(ctx, grantOf(ctx), req.EvalRuleId)
	if err != nil {
		return nil, err
	}
	answer, err := h.evalRule(ctx, &found)
	return contract.GetEvalRule200JSONResponse(answer), err
}

// UpdateEvalRule changes a rule.
func (h evalRuleHandlers) UpdateEvalRule(ctx context.Context, req contract.UpdateEvalRuleRequestObject) (contract.UpdateEvalRuleResponseObject, error) {
	grant, body := grantOf(ctx), req.Body
	before, err := h.rules.Get(ctx, grant, req.EvalRuleId)
	if err != nil {
		return nil, err
	}
	if err := readsAndScores(ctx, before.ProjectID); err != nil {
		return nil, err
	}
	budget, err := nullable[float64]("max_cost_usd_per_day", body.MaxCostUsdPerDay)
	if err != nil {
		return nil, err
	}
	wanted := &rules.Wanted{
		Name: valueOf(body.Name, before.Name), RunFilter: valueOf(body.RunFilter, before.RunFilter), SampleRate: valueOf(body.SampleRate, before.SampleRate), GroupBy: valueOf(body.GroupBy, before.GroupBy),
		MaxCost: before.MaxCostNanousd, AllowUnpriced: valueOf(body.AllowUnpriced, before.AllowUnpriced),
	}
	if budget != nil {
		wanted.MaxCost = moneyOf(*budget)
	}
	if wanted.Scoring, err = before.ReadScoring(); err != nil {
		return nil, err
	}
	if body.Graders == nil && body.Panels == nil {
		wanted.Kept = &before
	}
	if body.Graders != nil {
		wanted.Scoring.Graders = *body.Graders
	}
	if body.Panels != nil {
		if wanted.Scoring.Panels, err = h.judges.panels(ctx, before.ProjectID, body.Panels); err != nil {
			return nil, err
		}
	}
	changed, err := h.rules.Update(ctx, grant, &before, wanted)
	if err != nil {
		return nil, err
	}
	answer, err := h.evalRule(ctx, &changed)
	return contract.UpdateEvalRule200JSONResponse(answer), err
}

// DeleteEvalRule deletes a rule.
func (h evalRuleHandlers) DeleteEvalRule(ctx context.Context, req contract.DeleteEvalRuleRequestObject) (contract.DeleteEvalRuleResponseObject, error) {
	if err := h.rules.Delete(ctx, grantOf(ctx), req.EvalRuleId); err != nil {
		return nil, err
	}
	return contract.DeleteEvalRule204Response{}, nil
}

// PauseEvalRule pauses a rule.
func (h evalRuleHandlers) PauseEvalRule(ctx context.Context, req contract.PauseEvalRuleRequestObject) (contract.PauseEvalRuleResponseObject, error) {
	changed, err := h.rules.Pause(ctx, grantOf(ctx), req.EvalRuleId)
	if err != nil {
		return nil, err
	}
	answer, err := h.evalRule(ctx, &changed)
	return contract.PauseEvalRule200JSONResponse(answer), err
}

// ResumeEvalRule goes on with a rule.
func (h evalRuleHandlers) ResumeEvalRule(ctx context.Context, req contract.ResumeEvalRuleRequestObject) (contract.ResumeEvalRuleResponseObject, error) {
	grant := grantOf(ctx)
	before, err := h.rules.Get(ctx, grant, req.EvalRuleId)
	if err != nil {
		return nil, err
	}
	if err := readsAndScores(ctx, before.ProjectID); err != nil {
		return nil, err
	}
	changed, err := h.rules.Resume(ctx, grant, req.EvalRuleId, valueOf(req.Body.CatchUp, true))
	if err != nil {
		return nil, err
	}
	answer, err := h.evalRule(ctx, &changed)
	return contract.ResumeEvalRule200JSONResponse(answer), err
}

// ListEvalRuleRuns lists the runs that a rule took.
func (h evalRuleHandlers) ListEvalRuleRuns(ctx context.Context, req contract.ListEvalRuleRunsRequestObject) (contract.ListEvalRuleRunsResponseObject, error) {
	p := &req.Params
	page := pageOf(p.Limit, p.Offset)
	var on *time.Time
	if p.Day != nil {
		on = &p.Day.Time
	}
	found, more, err := h.rules.Runs(ctx, grantOf(ctx), req.EvalRuleId, rules.RunStatus(valueOf(p.Status, "")), on, page)
	if err != nil {
		return nil, err
	}
	answer := contract.ListEvalRuleRuns200JSONResponse{Data: make([]contract.EvalRuleRun, len(found)), Limit: page.Limit, Offset: page.Offset, HasMore: more}
	for i := range found {
		answer.Data[i] = evalRuleRunOf(&found[i])
	}
	return answer, nil
}

func evalRuleRunOf(r *rules.Run) contract.EvalRuleRun {
	answer := contract.EvalRuleRun{
		RunId: r.RunID, RunName: r.RunName, Version: r.Version, Status: contract.EvalRuleRunStatus(r.Status), Attempts: r.Attempts, TakenAt: r.TakenAt.UTC(), FinishedAt: utc(r.FinishedAt),
		Scores: make([]contract.EvaluationScore, len(r.Scores)), Votes: make([]contract.Vote, len(r.Votes)),
	}
	if !r.CostUnknown {
		answer.CostUsd = new(r.CostNanousd.Dollars())
	}
	if r.ErrorCode != nil {
		answer.Error = &contract.EvaluationFailure{Code: *r.ErrorCode, Detail: valueOf(r.ErrorDetail, "")}
	}
	for i := range r.Scores {
		answer.Scores[i] = gradeOf(&r.Scores[i])
	}
	for i := range r.Votes {
		answer.Votes[i] = voteOf(&r.Votes[i])
	}
	return answer
}

// evalRule returns a rule with what it did.
func (h evalRuleHandlers) evalRule(ctx context.Context, r *rules.Rule) (contract.EvalRule, error) {
	today, err := h.rules.Today(ctx, []uuid.UUID{r.ID})
	if err != nil {
		return contract.EvalRule{}, err
	}
	report, err := h.rules.Report(ctx, r.ID)
	if err != nil {
		return contract.EvalRule{}, err
	}
	return evalRuleOf(r, today[r.ID], report, true)
}

// evalRuleOf returns a rule, with the texts of judges if it is whole.
func evalRuleOf(r *rules.Rule, today *rules.Counts, report *rules.Report, whole bool) (contract.EvalRule, error) {
	answer := contract.EvalRule{
		Id: r.ID, ProjectId: r.ProjectID, Name: r.Name, Version: r.Version, Status: contract.EvalRuleStatus(r.Status), RunFilter: r.RunFilter, SampleRate: r.SampleRate, GroupBy: r.GroupBy,
		MaxCostUsdPerDay: dollarsOf(r.MaxCostNanousd), AllowUnpriced: r.AllowUnpriced, Today: countsOf(today), LookedUntil: r.MarkWrittenAt.UTC(),
		CreatedBy: contract.Author{Email: r.AuthorEmail, Key: r.AuthorKey}, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
		Days: make([]contract.EvalRuleDay, len(report.Days)), RecentErrors: make([]contract.EvalRuleError, len(report.Errors)),
	}
	if r.StopCode != nil {
		answer.Stop = &contract.EvalRuleStop{Code: *r.StopCode, Detail: valueOf(r.StopDetail, ""), Remedy: valueOf(r.StopRemedy, ""), At: valueOf(r.StoppedAt, r.UpdatedAt).UTC()}
	}
	scoring, err := r.ReadScoring()
	if err != nil {
		return answer, err
	}
	answer.Graders = scoring.Graders
	if answer.Panels, err = panelsRead(scoring.Panels, whole); err != nil {
		return answer, err
	}
	for i, day := range report.Days {
		answer.Days[i] = contract.EvalRuleDay{Day: types.Date{Time: day.Day}, Version: day.Version, Counts: countsOf(&day.Counts), Scores: make([]contract.EvalRuleScore, len(day.Scores))}
		for j, score := range day.Scores {
			answer.Days[i].Scores[j] = contract.EvalRuleScore{Name: score.Name, Mean: score.Mean, PassRate: score.PassRate, N: score.N, Groups: score.Groups, Labels: score.Labels}
			if score.CI != nil {
				answer.Days[i].Scores[j].Ci = &[]float64{score.CI[0], score.CI[1]}
			}
		}
	}
	for i, e := range report.Errors {
		answer.RecentErrors[i] = contract.EvalRuleError{Code: e.Code, Detail: e.Detail, Runs: e.Runs}
	}
	return answer, nil
}

func countsOf(c *rules.Counts) contract.EvalRuleCounts {
	return contract.EvalRuleCounts{
		Taken: c.Taken(), Scored: c.Runs[rules.Scored], PartlyScored: c.Runs[rules.PartlyScored], Failed: c.Runs[rules.Failed], Skipped: c.Runs[rules.Skipped],
		OverBudget: c.Runs[rules.OverBudget], Pending: c.Runs[rules.Pending], CostUsd: c.Cost.Dollars(), UnknownCostRuns: c.Unknown,
	}
}
