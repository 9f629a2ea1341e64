package results

import (
	"github.com/looptrace/looptrace/controlplane/evaluations"
)

// Metric is what is compared.
type Metric struct {
	Name   string
	Kind   evaluations.Kind
	Better evaluations.Better
	// of returns the value of an output, nil if it has none. It is nil for scores and failures.
	of func(*outputRow) *float64
}

// IsShare reports whether values are from 0 to 1, and differences from -1 to 1.
func (m *Metric) IsShare() bool {
	return m.Kind == evaluations.KindScore || m.Kind == evaluations.KindFailures
}

// operational are the metrics that need no grader.
var operational = []Metric{
	{evaluations.MetricFailures, evaluations.KindFailures, evaluations.Lower, nil},
	{evaluations.MetricCost, evaluations.KindCost, evaluations.Lower, func(r *outputRow) *float64 {
		if r.CostNanousd == nil {
			return nil
		}
		return new(float64(*r.CostNanousd) / 1e9)
	}},
	{evaluations.MetricDuration, evaluations.KindDuration, evaluations.Lower, func(r *outputRow) *float64 { return r.DurationMS }},
	{evaluations.MetricOutputTokens, evaluations.KindOutputTokens, evaluations.Lower, func(r *outputRow) *float64 {
		if r.OutputTokens == nil {
			return nil
		}
		return new(float64(*r.OutputTokens))
	}},
}

// ScoreNames returns the names of the scores of a comparison: those of its summary, or of its panels and graders before there is one.
func ScoreNames(e *evaluations.Evaluation) []string {
	summary, err := ReadSummary(e)
	if err != nil || summary == nil {
		return e.ScorerNames()
	}
	var names []string
	for i := range summary.Metrics {
		if summary.Metrics[i].Kind == evaluations.KindScore {
			names = append(names, summary.Metrics[i].Name)
		}
	}
	return names
}

// MetricNames returns the names of the metrics of a comparison: the scores, then the operational ones.
func MetricNames(e *evaluations.Evaluation) []string {
	names := ScoreNames(e)
	for i := range operational {
		names = append(names, operational[i].Name)
	}
	return names
}

// EvalRunScores returns the names of the scores of an eval-run: those of its summary, or of its panels and graders before there is one.
func EvalRunScores(e *evaluations.Evaluation) ([]string, error) {
	summary, err := ReadEvalRunSummary(e)
	if err != nil {
		return nil, err
	}
	if summary == nil {
		return e.ScorerNames(), nil
	}
	var names []string
	for i := range summary.Scores {
		if summary.Scores[i].Kind == evaluations.KindScore {
			names = append(names, summary.Scores[i].Name)
		}
	}
	return names, nil
}
