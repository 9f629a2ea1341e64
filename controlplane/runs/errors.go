package runs

import (
	"github.com/looptrace/looptrace/internal/problem"
)

// Errors that callers tell apart.
var (
	// ErrNotFound: no such run or span in the caller's projects.
	ErrNotFound = problem.Missing()
	// ErrUnavailable: ClickHouse does not answer.
	ErrUnavailable = problem.DependencyDown()
	// ErrTooExpensive: the query ran into its bound of time or memory.
	ErrTooExpensive = tooExpensive("The query exceeded its time or memory limit. Narrow the filter or the time range.")
	// ErrOffsetTooExpensive: it did, and a list by cursors would have given what it found.
	ErrOffsetTooExpensive = tooExpensive("The page exceeded its time or memory limit: an offset searches all that comes before it. " +
		"Leave offset out and follow next_cursor: that gives what was found, and goes on from there.")
	// ErrNoSuchSpan: the run has no such span.
	ErrNoSuchSpan = problem.InvalidField("body.span_id", "is not a span of this run")
	// ErrInvalidCursor: the cursor was not made by this service for this kind of list.
	ErrInvalidCursor = problem.InvalidField("query.cursor", "is not a cursor of this list")
)

func tooExpensive(detail string) *problem.Error {
	return &problem.Error{Kind: problem.TooExpensive, Code: problem.CodeDependency, Detail: detail, RetryAfter: problem.DependencyDown().RetryAfter}
}
