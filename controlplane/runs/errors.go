// Package runs reads runs and their spans from ClickHouse, for the projects that a caller may read.
package runs

import (
	"encoding/json"
	"time"

	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
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

// ListQuery selects a page of runs.
type ListQuery struct {
	Filter
	// Order is start_time, duration_ms, cost_usd or total_tokens, with - before it from the largest; empty is NewestFirst.
	Order  string
	Limit  int
	Offset int
	Cursor string // excludes Offset

	whole bool // not cut: an export has everything
}

// Page is a page of runs. NextCursor is empty on the last one.
type Page struct {
	Runs       []Run
	HasMore    bool
	NextCursor string
	// Partial tells that searching took too long: runs beyond SearchedTo, in the list's direction of time, were not
	// looked at; in an order by value, runs that started before it. NextCursor goes on there in an order by start.
	Partial    bool
	SearchedTo time.Time
}

// Run is a run with its totals and its root's payloads.
type Run struct {
	runmodel.Run
	Inputs    *string
	Outputs   *string
	Truncated bool
	// Cut names the members, as the API does, of which a list has the beginning only.
	Cut []string

	// Scores are the newest of ScoreCount, those of spans included.
	Scores     []runmodel.Score
	ScoreCount uint64
}

// SpansQuery selects a page of a run's spans.
type SpansQuery struct {
	Full   bool
	Limit  int
	Cursor string
}

// SpanPage is a page of spans in start order. SpanCount counts all spans of the run.
type SpanPage struct {
	Spans      []Span
	SpanCount  int
	HasMore    bool
	NextCursor string
}

// Span is a folded span as it is read. Messages, attributes, events and links are nil where payloads were
// not asked for.
type Span struct {
	runmodel.Span
	Depth        int
	UsageCounted bool
	// Scores are the newest of the span.
	Scores []runmodel.Score

	Inputs    *string
	Outputs   *string
	Truncated bool
	// Cut names the members, as the API does, of which a list has the beginning only.
	Cut []string

	SystemInstructions []json.RawMessage
	InputMessages      []json.RawMessage
	OutputMessages     []json.RawMessage
	ToolDefinitions    []json.RawMessage
	Attributes         map[string]any
	ResourceAttributes map[string]any
	Events             []runmodel.Event
	Links              []runmodel.Link
}
