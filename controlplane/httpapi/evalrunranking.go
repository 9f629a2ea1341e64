package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/evaluations/report"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/apikey"
)

// RankEvalRuns compares several eval-runs.
func (h evalRunHandlers) RankEvalRuns(ctx context.Context, req contract.RankEvalRunsRequestObject) (contract.RankEvalRunsResponseObject, error) {
	p := &req.Params
	r, err := h.evaluations.Rank(ctx, grantOf(ctx), &report.RankingQuery{
		EvalRuns: p.EvalRunId, Metric: valueOf(p.Metric, ""), GroupBy: valueOf(p.GroupBy, ""),
	})
	if err != nil {
		return nil, err
	}
	first := r.Sides[0].EvalRun
	answer := contract.RankEvalRuns200JSONResponse{
		Sentence: r.Sentence, Metric: r.Metric, Kind: contract.EvaluationMetricKind(r.Kind), Better: contract.EvalRunRankingBetter(r.Better), Dataset: evaluatedOf(first),
		Sides: make([]contract.RankedSide, len(r.Sides)), Differences: make([]contract.RankedDifference, len(r.Differences)), Items: int64(r.Items), Groups: long(r.Groups),
		Worst: make([]contract.RankedItem, len(r.Worst)),
	}
	if r.GroupBy != "" {
		answer.GroupBy = &r.GroupBy
	}
	for i := range r.Sides {
		side := &r.Sides[i]
		answer.Sides[i] = contract.RankedSide{
			Side: report.SideLetter(i), EvalRunId: side.EvalRun.ID, Name: side.EvalRun.Name, Mean: meanOf(&side.Mean), Scored: side.Scored, LeftOut: side.LeftOut, Failed: side.Failed,
		}
	}
	for i := range r.Differences {
		if answer.Differences[i], err = rankedDifferenceOf(&r.Differences[i]); err != nil {
			return nil, err
		}
	}
	withInput := grantOf(ctx).Allows(first.ProjectID, apikey.ScopeDatasetsRead)
	for i := range r.Worst {
		item := &r.Worst[i]
		answer.Worst[i] = contract.RankedItem{ItemId: item.ItemID, Key: item.Key, Scores: item.Scores, Spread: item.Spread}
		if withInput {
			answer.Worst[i].Input = item.Input
		}
	}
	return answer, nil
}

func rankedDifferenceOf(d *report.RankedDifference) (contract.RankedDifference, error) {
	answer := contract.RankedDifference{
		A: report.SideLetter(d.A), B: report.SideLetter(d.B), Verdict: contract.RankedDifferenceVerdict(d.Verdict), Sentence: d.Sentence,
	}
	if err := convert(d.Difference, &answer.Difference); err != nil {
		return answer, err
	}
	return answer, convert(d.IntentionToTreat, &answer.IntentionToTreat)
}
