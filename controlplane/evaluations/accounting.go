package evaluations

import (
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
)

// ItemStatus is what became of an item.
type ItemStatus string

// The statuses of items.
const (
	ItemPending      ItemStatus = "pending"
	ItemScored       ItemStatus = "scored"
	ItemTargetFailed ItemStatus = "target_failed"
	ItemJudgeFailed  ItemStatus = "judge_failed"
	ItemSkipped      ItemStatus = "skipped"
)

// Outcome is what became of an item by one metric.
type Outcome string

// The outcomes.
const (
	OutcomeImproved  Outcome = "improved"
	OutcomeRegressed Outcome = "regressed"
	OutcomeUnchanged Outcome = "unchanged"
	OutcomeFailed    Outcome = "failed"
)

// Accounting counts items and outputs. Items is the sum of the five counts after it.
type Accounting struct {
	Items        int64         `json:"items"`
	Scored       int64         `json:"scored"`
	TargetFailed int64         `json:"target_failed"`
	JudgeFailed  int64         `json:"judge_failed"`
	Skipped      int64         `json:"skipped"`
	Pending      int64         `json:"pending"`
	Reasons      []ReasonCount `json:"reasons"`
	// OtherReasons counts those that are not listed.
	OtherReasons int64 `json:"other_reasons"`
	// Outputs are those that are there.
	Outputs        int64 `json:"outputs"`
	OutputsFailed  int64 `json:"outputs_failed"`
	OutputsSkipped int64 `json:"outputs_skipped"`
	OutputsPending int64 `json:"outputs_pending"`
	// Votes are those of judges, nil without them.
	Votes *VoteCounts `json:"votes"`
}

// VoteCounts counts votes by status. Total is the sum of all but Cached.
type VoteCounts = panel.VoteCounts

// ReasonCount counts outputs that failed or were skipped, or whose grader failed, for a reason.
type ReasonCount struct {
	// Side is nil for what concerns both.
	Side  *string `json:"side"`
	Code  string  `json:"code"`
	Count int64   `json:"count"`
}

// ItemMetric is a metric of an item. The means are over the repeats, nil without any.
type ItemMetric struct {
	A       *float64 `json:"a"`
	B       *float64 `json:"b"`
	Outcome Outcome  `json:"outcome"`
	// Split is how far the judges of a panel are apart on an output of the item, the most of its outputs; nil where they do not split.
	Split *float64 `json:"split,omitempty"`
}

// MaxListed is how many models and reasons are listed.
const MaxListed = 50
