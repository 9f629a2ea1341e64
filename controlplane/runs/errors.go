package runs

import (
	"github.com/looptrace/looptrace/internal/problem"
)

// Errors that callers distinguish.
var (
	// ErrNotFound: the caller's projects have no such run or span.
	ErrNotFound = problem.Missing()
	// ErrUnavailable: ClickHouse does not answer.
	ErrUnavailable = problem.DependencyDown("ClickHouse")
	// ErrTooExpensive: a query exceeded its limit of time or memory.
	ErrTooExpensive = tooExpensive("The query exceeded its time or memory limit. Narrow the filter or the time range.")
	// ErrOffsetTooExpensive: a query with an offset did. A list by cursors returns what it has found.
	ErrOffsetTooExpensive = tooExpensive("The page exceeded its time or memory limit: an offset reads every run before it. " +
		"Leave offset out and follow next_cursor, which returns what was found and continues from there.")
	// ErrNoSuchSpan: the run has no such span.
	ErrNoSuchSpan = problem.InvalidField("body.span_id", "is not a span of this run")
	// ErrInvalidCursor: this service did not make the cursor, or made it for another list.
	ErrInvalidCursor = problem.InvalidField("query.cursor", "is not a cursor of this list")
)

// tooExpensive names no time to try again: the same query would fail again.
func tooExpensive(detail string) *problem.Error {
	return &problem.Error{Kind: problem.TooExpensive, Code: problem.CodeDependency, Detail: detail}
}
