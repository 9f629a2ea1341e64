package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/stats"
)

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

func gateQuestion(body *contract.GateCheck) *evaluations.GateQuestion {
	return &evaluations.GateQuestion{Candidate: body.Candidate, Baseline: body.Baseline, Metric: body.Metric, Margin: body.Margin, Repeated: valueOf(body.Repeated, false)}
}

// countRangeOf is nil where no number is enough.
func countRangeOf(c *stats.Count) *contract.EvaluationCountRange {
	if c == nil || c.Estimate == nil {
		return nil
	}
	return &contract.EvaluationCountRange{Low: int64(c.Low), High: long(c.High)}
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
