package evaluations

import (
	"encoding/json"
)

// The statuses of outputs.
const (
	OutputOK     = "ok"
	OutputFailed = "failed"
)

// Score is what a grader found.
type Score struct {
	Name string `json:"name"`
	// Value is from 0 to 1. It is nil if the grader does not apply, or failed with Error.
	Value *float64 `json:"score"`
	// Label is what a panel with a categorical scale says. Without values that pass it has no Value.
	Label    string          `json:"label,omitempty"`
	Pass     *bool           `json:"pass"`
	Reason   string          `json:"reason"`
	Error    string          `json:"error,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty"`
}

// Why an eval-run has no output to compare.
const (
	CodeNoResult    = "no_result"
	CodeItemChanged = "item_changed"
)

// RunLookup is what became of the look at the run of a result.
type RunLookup string

// The lookups of runs.
const (
	RunWaiting     RunLookup = "waiting"
	RunRead        RunLookup = "read"
	RunNotFound    RunLookup = "not_found"
	RunUnfinished  RunLookup = "unfinished"
	RunUnavailable RunLookup = "unavailable"
	RunNotAllowed  RunLookup = "not_allowed"
	// RunUngraded: no run is looked for, but graders have yet to grade the result. RunNone is left of it.
	RunUngraded RunLookup = "ungraded"
	RunNone     RunLookup = ""
)
