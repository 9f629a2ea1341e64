package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/evaluations/report"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// defaultTrend is how many eval-runs a trend has if the request does not say.
const defaultTrend = 10

// CheckGate compares an eval-run with a baseline.
func (h evalRunHandlers) CheckGate(ctx context.Context, req contract.CheckGateRequestObject) (contract.CheckGateResponseObject, error) {
	g, err := h.evaluations.CheckGate(ctx, grantOf(ctx), gateQuestion(req.Body))
	if err != nil {
		return nil, err
	}
	answer := contract.CheckGate200JSONResponse{
		Decision: contract.GateDecisionDecision(g.Decision), Sentence: g.Sentence, Metric: req.Body.Metric, Better: contract.GateDecisionBetter(g.Better),
		Margin: g.Margin, MarginDefault: req.Body.Margin == nil, MarginSupported: !g.Unsupported,
		Candidate: meanOf(&g.Comparison.B), Baseline: meanOf(&g.Comparison.A), Paired: int64(g.Difference.N), OnlyCandidate: g.OnlyCandidate, OnlyBaseline: g.OnlyBaseline,
		Changed: g.Changed, CandidateLost: g.CandidateLost, BaselineLost: g.BaselineLost, ItemsNeeded: long(g.ItemsNeeded), RepeatsNeeded: long(g.RepeatsNeeded),
		ItemsNeededRange: countRangeOf(g.ItemsRange), RepeatsNeededRange: countRangeOf(g.RepeatsRange),
		CandidateRepeatsNeeded: long(g.CandidateRepeats), SplitKnown: g.SplitKnown, LabelsDrawn: int64(g.LabelsDrawn), Groups: long(g.Comparison.Groups),
	}
	return answer, convert(g.Difference, &answer.Difference)
}

// PlanGate says how many items a margin needs.
func (h evalRunHandlers) PlanGate(ctx context.Context, req contract.PlanGateRequestObject) (contract.PlanGateResponseObject, error) {
	p, err := h.evaluations.PlanGate(ctx, grantOf(ctx), gateQuestion(req.Body))
	if err != nil {
		return nil, err
	}
	return contract.PlanGate200JSONResponse{
		Metric: req.Body.Metric, Margin: p.Margin, DefaultMargin: p.Default, DefaultSupported: !p.Unsupported, Items: int64(p.Items),
		ItemsNeededRange: countRangeOf(p.Needed), Sentence: p.Sentence,
	}, nil
}

func gateQuestion(body *contract.GateCheck) *report.GateQuestion {
	return &report.GateQuestion{Candidate: body.Candidate, Baseline: body.Baseline, Metric: body.Metric, Margin: body.Margin, Repeated: valueOf(body.Repeated, false), GroupBy: valueOf(body.GroupBy, "")}
}

// countRangeOf is nil where no number is enough.
func countRangeOf(c *compare.Count) *contract.EvaluationCountRange {
	if c == nil || c.Estimate == nil {
		return nil
	}
	return &contract.EvaluationCountRange{Low: int64(c.Low), High: long(c.High)}
}

// GetEvalRunTrend compares an eval-run with those before it.
func (h evalRunHandlers) GetEvalRunTrend(ctx context.Context, req contract.GetEvalRunTrendRequestObject) (contract.GetEvalRunTrendResponseObject, error) {
	trend, err := h.evaluations.Trend(ctx, grantOf(ctx), req.EvalRunId, valueOf(req.Params.Metric, ""), valueOf(req.Params.Limit, defaultTrend))
	if err != nil {
		return nil, err
	}
	answer := contract.GetEvalRunTrend200JSONResponse{
		Metric: trend.Metric, Better: contract.EvalRunTrendBetter(trend.Better), Points: make([]contract.EvalRunTrendPoint, len(trend.Points)),
	}
	for i := range trend.Points {
		p := &trend.Points[i]
		answer.Points[i] = contract.EvalRunTrendPoint{
			EvalRunId: p.Evaluation.ID, Branch: p.Evaluation.Branch, Commit: p.Evaluation.Commit, CreatedAt: p.Evaluation.CreatedAt.UTC(),
			FinishedAt: utc(p.Evaluation.FinishedAt), Mean: meanOf(&p.Side), Groups: long(p.Groups),
		}
		if c := p.Change; c != nil {
			change := contract.EvalRunChange{
				Since: c.Since, Sentence: c.Sentence, Same: c.Same, OnlyHere: c.OnlyHere, OnlyBefore: c.OnlyBefore, Changed: c.Changed,
				Groups: long(c.Groups), LabelsDrawn: int64(c.LabelsDrawn),
			}
			if err := convert(c.Difference, &change.Difference); err != nil {
				return nil, err
			}
			answer.Points[i].Change = &change
		}
	}
	return answer, nil
}

func meanOf(s *compare.Side) contract.EvaluationMean {
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
