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
