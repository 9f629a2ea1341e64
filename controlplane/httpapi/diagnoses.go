package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/looptrace/looptrace/controlplane/diagnoses"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

type diagnosisHandlers struct {
	diagnoses *diagnoses.Service
}

// CreateDiagnosis asks a model why runs failed, or says what that would do.
func (h diagnosisHandlers) CreateDiagnosis(ctx context.Context, req contract.CreateDiagnosisRequestObject) (contract.CreateDiagnosisResponseObject, error) {
	body := req.Body
	wanted := &diagnoses.Wanted{
		Project: body.ProjectId, Fingerprint: body.Fingerprint, Provider: body.ProviderId, Model: body.Model,
		MaxCost: moneyOf(body.MaxCostUsd), AllowUnpriced: valueOf(body.AllowUnpriced, false),
	}
	if valueOf(body.Plan, false) {
		config, err := h.diagnoses.Plan(ctx, grantOf(ctx), wanted)
		if err != nil {
			return nil, err
		}
		e := &config.Estimate
		return contract.CreateDiagnosis200JSONResponse{
			Runs: diagnosisRunsOf(config.Runs), PromptVersion: config.PromptVersion, Calls: 1, InputTokens: e.InputTokens,
			CostLowUsd: dollarsOf(e.Low), CostHighUsd: dollarsOf(e.High), Priced: e.Low != nil,
		}, nil
	}
	created, err := h.diagnoses.Create(ctx, grantOf(ctx), wanted)
	if err != nil {
		return nil, err
	}
	answer, err := h.diagnosis(ctx, &created)
	return contract.CreateDiagnosis201JSONResponse{
		Body: answer, Headers: contract.CreateDiagnosis201ResponseHeaders{Location: new("/v1/diagnoses/" + created.ID.String())},
	}, err
}

// ListDiagnoses lists diagnoses.
func (h diagnosisHandlers) ListDiagnoses(ctx context.Context, req contract.ListDiagnosesRequestObject) (contract.ListDiagnosesResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, more, err := h.diagnoses.List(ctx, grantOf(ctx), diagnoses.Filter{
		Fingerprint: valueOf(req.Params.Fingerprint, ""), Status: diagnoses.Status(valueOf(req.Params.Status, "")),
	}, page)
	if err != nil {
		return nil, err
	}
	answer := contract.ListDiagnoses200JSONResponse{Data: make([]contract.Diagnosis, len(found)), Limit: page.Limit, Offset: page.Offset, HasMore: more}
	for i := range found {
		if answer.Data[i], err = h.diagnosis(ctx, &found[i]); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// GetDiagnosis reads a diagnosis.
func (h diagnosisHandlers) GetDiagnosis(ctx context.Context, req contract.GetDiagnosisRequestObject) (contract.GetDiagnosisResponseObject, error) {
	found, err := h.diagnoses.Get(ctx, grantOf(ctx), req.DiagnosisId)
	if err != nil {
		return nil, err
	}
	answer, err := h.diagnosis(ctx, &found)
	return contract.GetDiagnosis200JSONResponse(answer), err
}

// DeleteDiagnosis deletes a diagnosis.
func (h diagnosisHandlers) DeleteDiagnosis(ctx context.Context, req contract.DeleteDiagnosisRequestObject) (contract.DeleteDiagnosisResponseObject, error) {
	return contract.DeleteDiagnosis204Response{}, h.diagnoses.Delete(ctx, grantOf(ctx), req.DiagnosisId)
}

// CancelDiagnosis cancels a diagnosis.
func (h diagnosisHandlers) CancelDiagnosis(ctx context.Context, req contract.CancelDiagnosisRequestObject) (contract.CancelDiagnosisResponseObject, error) {
	changed, err := h.diagnoses.Cancel(ctx, grantOf(ctx), req.DiagnosisId)
	if err != nil {
		return nil, err
	}
	answer, err := h.diagnosis(ctx, &changed)
	return contract.CancelDiagnosis200JSONResponse(answer), err
}

func diagnosisRunsOf(runs []diagnoses.AskedRun) []contract.DiagnosisRun {
	list := make([]contract.DiagnosisRun, len(runs))
	for i, run := range runs {
		list[i] = contract.DiagnosisRun{RunId: run.RunID, RunName: run.Name, Part: contract.DiagnosisRunPartFailed}
		if run.Good {
			list[i].Part = contract.DiagnosisRunPartGood
		}
	}
	return list
}

// diagnosis returns a diagnosis.
func (h diagnosisHandlers) diagnosis(ctx context.Context, d *diagnoses.Diagnosis) (contract.Diagnosis, error) {
	shown := contract.Diagnosis{
		Id: d.ID, ProjectId: d.ProjectID, Name: d.Name, Fingerprint: d.Fingerprint, Status: contract.ReplayStatus(d.Status), Error: replayFailureOf(d.ErrorCode, d.ErrorDetail),
		MaxCostUsd: dollarsOf(d.MaxCostNanousd), AllowUnpriced: d.AllowUnpriced,
		CreatedBy: contract.Author{Email: d.AuthorEmail, Key: d.AuthorKey}, CreatedAt: d.CreatedAt.UTC(), StartedAt: utc(d.StartedAt), FinishedAt: utc(d.FinishedAt),
	}
	config, err := d.ReadConfig()
	if err != nil {
		return shown, err
	}
	shown.Provider = contract.EvaluationProvider{Id: config.ProviderID, Name: config.ProviderName}
	shown.Model, shown.PromptVersion, shown.Runs = config.Model, config.PromptVersion, diagnosisRunsOf(config.Runs)
	shown.Estimate = contract.ReplayEstimate{Calls: 1, CostLowUsd: dollarsOf(config.Estimate.Low), CostHighUsd: dollarsOf(config.Estimate.High)}
	cost, err := h.diagnoses.CostOf(ctx, d)
	if err != nil {
		return shown, err
	}
	shown.Cost = costOf(&cost)
	answer, err := d.ReadAnswer()
	if err != nil {
		return shown, err
	}
	if answer != nil {
		shown.AnsweredBy, shown.CallRunId, shown.InputTokens, shown.OutputTokens = known(answer.Model), &answer.RunID, answer.InputTokens, answer.OutputTokens
	}
	result, err := d.ReadResult()
	if err != nil || result == nil {
		return shown, err
	}
	shown.Result = &contract.DiagnosisResult{Claims: make([]contract.DiagnosisClaim, len(result.Claims)), Dropped: []contract.DiagnosisDropped{}}
	for i := range result.Claims {
		if shown.Result.Claims[i], err = claimOf(d, i, &result.Claims[i]); err != nil {
			return shown, err
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(result.Dropped)) {
		shown.Result.Dropped = append(shown.Result.Dropped, contract.DiagnosisDropped{Reason: contract.DiagnosisDroppedReason(reason), Count: result.Dropped[reason]})
	}
	return shown, nil
}

func claimOf(d *diagnoses.Diagnosis, i int, c *diagnoses.Claim) (contract.DiagnosisClaim, error) {
	claim := contract.DiagnosisClaim{
		Key: fmt.Sprintf("diagnosis:%s:%d", d.ID, i+1), Kind: contract.DiagnosisClaimKindDiagnosis, Title: c.Text, RunId: c.RunID, SpanId: c.SpanID,
		Quotes: make([]contract.DiagnosisQuote, len(c.Quotes)), QuotesNotFound: c.QuotesNotFound, WhyNoEdit: known(c.WhyNoEdit),
	}
	for j, q := range c.Quotes {
		claim.Quotes[j] = contract.DiagnosisQuote{Text: q.Text, Field: q.Field, Offset: q.Offset, Length: q.Length}
	}
	if c.Edit == nil {
		return claim, nil
	}
	if c.Edit.Set.IsEmpty() { // of an earlier version
		claim.WhyNoEdit = new("What the model's edit sets is no longer offered.")
		return claim, nil
	}
	edit, err := json.Marshal(c.Edit)
	if err != nil {
		return claim, fmt.Errorf("encode an edit: %w", err)
	}
	claim.Edits = &[]contract.ReplayEdit{edit}
	return claim, nil
}
