package runpdata

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Unstorable returns why a span cannot be stored as it was sent, or "". A span needs an identity, times that the
// store supports, and counts and costs within their bounds.
func Unstorable(span ptrace.Span) string {
	switch {
	case span.TraceID().IsEmpty():
		return "the trace id is all zeros"
	case span.SpanID().IsEmpty():
		return "the span id is all zeros"
	case span.StartTimestamp() > runmodel.MaxTimestamp:
		return "the start time lies after 2261"
	case span.EndTimestamp() > runmodel.MaxTimestamp:
		return "the end time lies after 2261"
	}
	for key, value := range span.Attributes().All() {
		var number float64
		switch value.Type() {
		case pcommon.ValueTypeInt:
			number = runmodel.RoundUp(value.Int())
		case pcommon.ValueTypeDouble:
			number = value.Double()
		default:
			continue
		}
		if runmodel.MayExceed(number) && number > runmodel.Bound(key) {
			return fmt.Sprintf("%s is %s, and may be %.0f at most", key, value.AsString(), runmodel.Bound(key))
		}
	}
	return ""
}

// DropUnstorable removes the spans that cannot be stored. It returns their number, and the location of the first one
// with the reason.
func DropUnstorable(td ptrace.Traces) (dropped int64, first string) {
	for i, rs := range td.ResourceSpans().All() {
		for j, ss := range rs.ScopeSpans().All() {
			k := -1
			ss.Spans().RemoveIf(func(span ptrace.Span) bool {
				k++
				reason := Unstorable(span)
				if reason == "" {
					return false
				}
				if dropped == 0 {
					first = fmt.Sprintf("resource_spans[%d].scope_spans[%d].spans[%d]: %s", i, j, k, reason)
				}
				dropped++
				return true
			})
		}
	}
	if dropped == 0 {
		return 0, ""
	}
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool { return ss.Spans().Len() == 0 })
		return rs.ScopeSpans().Len() == 0
	})
	return dropped, first
}
