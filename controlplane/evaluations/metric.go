package evaluations

// metric is what is compared.
type metric struct {
	name   string
	kind   Kind
	better Better
	// of returns the value of an output, nil if it has none. It is nil for scores and failures.
	of func(*resultRow) *float64
}

// isShare reports whether values are from 0 to 1, and differences from -1 to 1.
func (m *metric) isShare() bool { return m.kind == KindScore || m.kind == KindFailures }

// operational are the metrics that need no grader.
var operational = []metric{
	{metricFailures, KindFailures, Lower, nil},
	{metricCost, KindCost, Lower, func(r *resultRow) *float64 {
		if r.CostNanousd == nil {
			return nil
		}
		return new(float64(*r.CostNanousd) / 1e9)
	}},
	{metricDuration, KindDuration, Lower, func(r *resultRow) *float64 { return r.DurationMS }},
	{metricOutputTokens, KindOutputTokens, Lower, func(r *resultRow) *float64 {
		if r.OutputTokens == nil {
			return nil
		}
		return new(float64(*r.OutputTokens))
	}},
}

// ScoreNames returns the names of the scores of a comparison: those of its summary, or of its panels and graders before there is one.
func ScoreNames(e *Evaluation) []string {
	summary, err := ReadSummary(e)
	if err != nil || summary == nil {
		return e.ScorerNames()
	}
	var names []string
	for i := range summary.Metrics {
		if summary.Metrics[i].Kind == KindScore {
			names = append(names, summary.Metrics[i].Name)
		}
	}
	return names
}

// MetricNames returns the names of the metrics of a comparison: the scores, then the operational ones.
func MetricNames(e *Evaluation) []string {
	names := ScoreNames(e)
	for i := range operational {
		names = append(names, operational[i].name)
	}
	return names
}

// EvalRunScores returns the names of the scores of an eval-run: those of its summary, or of its panels and graders before there is one.
func EvalRunScores(e *Evaluation) ([]string, error) {
	summary, err := ReadEvalRunSummary(e)
	if err != nil {
		return nil, err
	}
	if summary == nil {
		return e.ScorerNames(), nil
	}
	var names []string
	for i := range summary.Scores {
		if summary.Scores[i].Kind == KindScore {
			names = append(names, summary.Scores[i].Name)
		}
	}
	return names, nil
}
