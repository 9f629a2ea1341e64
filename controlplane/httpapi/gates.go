package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/stats"
)

// CheckGate compares an eval-run with a baseline.
func (h evalRunHandlers) CheckGate(ctx context.Context, req contract.CheckGateRequestObject) (contract.CheckGateResponseObject, error) {
	g, err := h.evaluations.CheckGate(ctx, grantOf(ctx), req.Body.Candidate, req.Body.Baseline, req.Body.Metric, req.Body.Margin, req.Body.Repeated != nil && *req.Body.Repeated)
	if err != nil {
		return nil, err
	}
	answer := contract.CheckGate200JSONResponse{
		Decision: contract.GateDecisionDecision(g.Decision), Sentence: g.Sentence, Metric: req.Body.Metric, Better: contract.GateDecisionBetter(g.Better), Margin: req.Body.Margin,
		Candidate: meanOf(&g.Comparison.B), Baseline: meanOf(&g.Comparison.A), Paired: int64(g.Difference.N), OnlyCandidate: g.OnlyCandidate, OnlyBaseline: g.OnlyBaseline,
		Changed: g.Changed, CandidateLost: g.CandidateLost, BaselineLost: g.BaselineLost, ItemsNeeded: long(g.ItemsNeeded), RepeatsNeeded: long(g.RepeatsNeeded),
		CandidateRepeatsNeeded: long(g.CandidateRepeats), SplitKnown: g.SplitKnown, LabelsDrawn: int64(g.LabelsDrawn), Groups: long(g.Comparison.Groups),
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
