// Package genailogs turns log records that carry GenAI events into versions of the spans that they name, so that what
// an instrumentation writes to logs only (messages, bodies of requests) goes the way of spans: one topic, one pipeline,
// one store. A record becomes an event of a span that has the record's trace id and span id and nothing else;
// runmodel.Fold lays it under the span itself.
package genailogs

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Keys of a record's parts on the event that it becomes, where they are not attributes already.
const (
	KeyBody     = "body"
	KeySeverity = "log.severity"
	keyName     = "event.name"
)

// Counts says what became of records.
type Counts struct {
	// Joined are GenAI events that name a span, NoSpan those that name none, Other what is no GenAI event.
	Joined, NoSpan, Other int64
}

// place is a span within a request.
type place struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
}

// ToSpans makes spans of log records. Records of one span that come together become events of one span, in their order.
func ToSpans(ld plog.Logs) (ptrace.Traces, Counts) {
	td := ptrace.NewTraces()
	var counts Counts
	for _, rl := range ld.ResourceLogs().All() {
		var rs ptrace.ResourceSpans
		hasResource := false
		for _, sl := range rl.ScopeLogs().All() {
			var ss ptrace.ScopeSpans
			spans := map[place]ptrace.Span{}
			for _, record := range sl.LogRecords().All() {
				name, isEvent := eventName(record, sl.Scope().Name())
				switch {
				case !isEvent:
					counts.Other++
					continue
				case record.TraceID().IsEmpty() || record.SpanID().IsEmpty():
					counts.NoSpan++
					continue
				}
				counts.Joined++
				if !hasResource {
					rs, hasResource = td.ResourceSpans().AppendEmpty(), true
					rl.Resource().CopyTo(rs.Resource())
					rs.SetSchemaUrl(rl.SchemaUrl())
				}
				if len(spans) == 0 {
					ss = rs.ScopeSpans().AppendEmpty()
					sl.Scope().CopyTo(ss.Scope())
					ss.SetSchemaUrl(sl.SchemaUrl())
				}
				at := place{record.TraceID(), record.SpanID()}
				span, known := spans[at]
				if !known {
					span = ss.Spans().AppendEmpty()
					span.SetTraceID(at.trace)
					span.SetSpanID(at.span)
					span.Attributes().PutBool(runmodel.KeyFromLog, true)
					spans[at] = span
				}
				addEvent(span, record, name)
			}
		}
	}
	return td, counts
}

// addEvent keeps a record, whole, as an event.
func addEvent(span ptrace.Span, record plog.LogRecord, name string) {
	at := record.Timestamp()
	if at == 0 {
		at = record.ObservedTimestamp()
	}
	if start := span.StartTimestamp(); start == 0 || at < start {
		span.SetStartTimestamp(at)
	}
	event := span.Events().AppendEmpty()
	event.SetName(name)
	event.SetTimestamp(at)
	record.Attributes().CopyTo(event.Attributes())
	switch body := record.Body(); body.Type() { // not by its text: a body may nest deeper than a stack
	case pcommon.ValueTypeEmpty:
	case pcommon.ValueTypeStr:
		if body.Str() != "" {
			event.Attributes().PutStr(KeyBody, body.Str())
		}
	default:
		body.CopyTo(event.Attributes().PutEmpty(KeyBody))
	}
	if text := record.SeverityText(); text != "" {
		event.Attributes().PutStr(KeySeverity, text)
	}
}

// scopes are those whose every record is an event of a GenAI tool.
var scopes = []string{"com.anthropic.claude_code", "codex_", "gemini-cli", "org.springframework.ai"}

// names are the beginnings of the names of GenAI events.
var names = []string{"gen_ai.", "claude_code.", "codex.", "gemini_cli."}

// springBodies are what Spring AI's records, which have no name, begin with.
var springBodies = []string{"Chat Model Prompt Content:", "Chat Model Completion:"}

// eventName tells the name of a record that is a GenAI event.
func eventName(record plog.LogRecord, scope string) (string, bool) {
	name := record.EventName()
	if name == "" {
		if v, ok := record.Attributes().Get(keyName); ok {
			name = v.Str() // another value is no name, and may nest deeper than a stack
		}
	}
	if hasPrefix(name, names) {
		return name, true
	}
	if hasPrefix(scope, scopes) {
		return orScope(name, scope), true
	}
	switch body := record.Body(); body.Type() {
	case pcommon.ValueTypeMap: // AWS moves contents into bodies: {input: {messages}, output: {messages}}
		_, hasInput := body.Map().Get("input")
		_, hasOutput := body.Map().Get("output")
		if hasInput || hasOutput {
			return orScope(name, scope), true
		}
	case pcommon.ValueTypeStr:
		if hasPrefix(body.Str(), springBodies) {
			return orScope(name, scope), true
		}
	}
	for key := range record.Attributes().All() {
		if strings.HasPrefix(key, "gen_ai.") {
			return orScope(name, scope), true
		}
	}
	return "", false
}

func orScope(name, scope string) string {
	if name != "" {
		return name
	}
	return scope
}

func hasPrefix(s string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}
