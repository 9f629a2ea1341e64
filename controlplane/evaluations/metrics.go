package evaluations

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Kind is what a metric measures.
type Kind string

// The kinds.
const (
	KindScore        Kind = "score"
	KindCost         Kind = "cost"
	KindDuration     Kind = "duration"
	KindOutputTokens Kind = "output_tokens"
	KindFailures     Kind = "failures"
)

// Better is the better direction of a metric.
type Better string

// The directions.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// sign is 1 if more is better, else -1.
func (b Better) sign() float64 {
	if b == Lower {
		return -1
	}
	return 1
}

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

// The names of metrics that the package knows.
const (
	metricFailures = "failures"
	metricCost     = "cost_usd"
)

// operational are the metrics that need no grader.
var operational = []metric{
	{metricFailures, KindFailures, Lower, nil},
	{metricCost, KindCost, Lower, func(r *resultRow) *float64 {
		if r.CostNanousd == nil {
			return nil
		}
		return new(float64(*r.CostNanousd) / 1e9)
	}},
	{"duration_ms", KindDuration, Lower, func(r *resultRow) *float64 { return r.DurationMS }},
	{"output_tokens", KindOutputTokens, Lower, func(r *resultRow) *float64 {
		if r.OutputTokens == nil {
			return nil
		}
		return new(float64(*r.OutputTokens))
	}},
}

// IsMeasured reports whether a name is that of a metric that needs no grader. No score may have it.
func IsMeasured(name string) bool {
	return slices.ContainsFunc(operational, func(m metric) bool { return m.name == name })
}

// ScorerNames returns the names of the panels and graders of the evaluation.
func (e *Evaluation) ScorerNames() []string {
	type named struct {
		Name string `json:"name"`
	}
	var config struct {
		Panels  []named `json:"panels"`
		Graders []named `json:"graders"`
	}
	var names []string
	if json.Unmarshal([]byte(e.Config), &config) == nil { // it was written by this package
		for _, g := range append(config.Panels, config.Graders...) {
			names = append(names, g.Name)
		}
	}
	return names
}

// ScoreNames returns the names of the scores of a comparison: those of its summary, or of its panels and graders before there is one.
func (e *Evaluation) ScoreNames() []string {
	summary, err := e.ReadSummary()
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

// evalRunScores returns the names of the scores of an eval-run: those of its summary, or of its panels and graders before there is one.
func (e *Evaluation) evalRunScores() ([]string, error) {
	if e.Summary == nil {
		return e.ScorerNames(), nil
	}
	var summary EvalRunSummary
	if err := json.Unmarshal([]byte(*e.Summary), &summary); err != nil {
		return nil, fmt.Errorf("read the summary of evaluation %s: %w", e.ID, err)
	}
	var names []string
	for i := range summary.Scores {
		if summary.Scores[i].Kind == KindScore {
			names = append(names, summary.Scores[i].Name)
		}
	}
	return names, nil
}

// MetricNames returns the names of the metrics of a comparison: the scores, then the operational ones.
func (e *Evaluation) MetricNames() []string {
	names := e.ScoreNames()
	for i := range operational {
		names = append(names, operational[i].name)
	}
	return names
}
