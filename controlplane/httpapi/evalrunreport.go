package httpapi

import (
	"bytes"
	"context"
	"strings"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/apikey"
)

// GetEvalRunReport reads the report of an eval-run.
func (h evalRunHandlers) GetEvalRunReport(ctx context.Context, req contract.GetEvalRunReportRequestObject) (contract.GetEvalRunReportResponseObject, error) {
	format := valueOf(req.Params.Format, contract.GetEvalRunReportParamsFormatJson)
	if format == contract.GetEvalRunReportParamsFormatJunit {
		text, err := h.evaluations.JUnit(ctx, grantOf(ctx), evaluations.EvalRun, req.EvalRunId)
		if err != nil {
			return nil, err
		}
		return contract.GetEvalRunReport200ApplicationxmlResponse{Body: bytes.NewReader(text), ContentLength: int64(len(text))}, nil
	}
	found, err := h.evaluations.Get(ctx, grantOf(ctx), evaluations.EvalRun, req.EvalRunId)
	if err != nil {
		return nil, err
	}
	withInput := grantOf(ctx).Allows(found.ProjectID, apikey.ScopeDatasetsRead)
	report, err := h.evaluations.EvalRunReport(ctx, &found, valueOf(req.Params.TokenBudget, defaultReportTokens), withInput)
	if err != nil {
		return nil, err
	}
	if format == contract.GetEvalRunReportParamsFormatMarkdown {
		text := report.Markdown()
		return contract.GetEvalRunReport200TextmarkdownResponse{Body: strings.NewReader(text), ContentLength: int64(len(text))}, nil
	}
	answer := contract.GetEvalRunReport200JSONResponse{
		Status: contract.EvaluationStatus(found.Status), Scores: []contract.EvalRunMetric{}, Panels: []contract.PanelSummary{},
		Items: make([]contract.EvalRunReportItem, len(report.Items)), ItemsLeftOut: report.LeftOut,
	}
	if report.Cost != nil {
		answer.Cost = new(costOf(report.Cost))
	}
	if err := convert(report.Accounting, &answer.Accounting); err != nil {
		return nil, err
	}
	if report.Summary != nil {
		answer.Sentence = report.Summary.Sentence
		if err := convert(report.Summary.Scores, &answer.Scores); err != nil {
			return nil, err
		}
		if err := convert(report.Summary.Panels, &answer.Panels); err != nil {
			return nil, err
		}
	}
	for i := range report.Items {
		item := &report.Items[i]
		answer.Items[i] = contract.EvalRunReportItem{
			ItemId: item.ItemID, Key: item.Key, Status: contract.EvaluationItemStatus(item.Status), Score: item.Score, Split: item.Split, Input: item.Input, Output: item.Output,
			Reason: item.Reason,
		}
	}
	return answer, nil
}
