package evaluations

import (
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
)

// canaryNumber is the number of the votes on canaries. Eval-runs from before may have votes below, on outputs of an earlier eval-run that
// were judged again.
const canaryNumber = 0

// VoteKey says which vote it is. It is the primary key of votes.
type VoteKey struct {
	Number  int32 `json:"number"`
	Side    int   `json:"side"`
	Repeat  int   `json:"repeat"`
	Panel   int   `json:"panel"`
	Judge   int   `json:"judge"`
	Vote    int   `json:"vote"`
	Swapped bool  `json:"swapped"`
}

// JudgeKey says which judge it is.
type JudgeKey struct{ Panel, Judge int }

// VoteRow is a vote as it is stored.
type VoteRow struct {
	VoteKey
	Status       judge.Status `json:"status"`
	Value        *float64     `json:"value"`
	Label        *string      `json:"label"`
	Reason       string       `json:"reason"`
	Raw          *string      `json:"raw"`
	ErrorCode    *string      `json:"error_code"`
	ErrorDetail  *string      `json:"error_detail"`
	Truncated    bool         `json:"truncated"`
	Cached       bool         `json:"cached"`
	CacheKey     string       `json:"cache_key" db:"-"`
	Requests     int          `json:"requests"`
	Model        *string      `json:"model"`
	RunID        *uuid.UUID   `json:"run_id"`
	DurationMS   *float64     `json:"duration_ms"`
	Input        *int64       `json:"input_tokens" db:"input_tokens"`
	OutputTokens *int64       `json:"output_tokens"`
	CacheRead    *int64       `json:"cache_read_tokens" db:"cache_read_tokens"`
	CacheWrite   *int64       `json:"cache_write_tokens" db:"cache_write_tokens"`
	Reasoning    *int64       `json:"reasoning_tokens" db:"reasoning_tokens"`
	Cost         *int64       `json:"cost_nanousd" db:"cost_nanousd"`
	CreatedAt    time.Time    `json:"created_at"`
}

// Size is about the bytes of the row.
func (v VoteRow) Size() int {
	size := len(v.Reason) + 500
	if v.Raw != nil {
		size += len(*v.Raw)
	}
	return size
}

// CanaryKey is the key of the vote of a judge on its canary.
func CanaryKey(p, j int) VoteKey {
	return VoteKey{Number: canaryNumber, Side: SideA, Repeat: 1, Panel: p, Judge: j, Vote: 1}
}
