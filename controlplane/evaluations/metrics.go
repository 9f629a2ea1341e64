package evaluations

import (
	"encoding/json"
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

// Sign is 1 if more is better, else -1.
func (b Better) Sign() float64 {
	if b == Lower {
		return -1
	}
	return 1
}

// The names of the metrics that need no grader.
const (
	MetricFailures     = "failures"
	MetricCost         = "cost_usd"
	MetricDuration     = "duration_ms"
	MetricOutputTokens = "output_tokens"
)

// IsMeasured reports whether a name is that of a metric that needs no grader. No score may have it.
func IsMeasured(name string) bool {
	return name == MetricFailures || name == MetricCost || name == MetricDuration || name == MetricOutputTokens
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

// Level is that of tests and intervals: 1 minus the confidence.
const Level = 0.05
