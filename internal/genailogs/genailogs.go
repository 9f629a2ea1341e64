// Package genailogs converts log records with GenAI events to versions of the spans that they name. Some
// instrumentations write messages and request bodies only to logs; this way they take the same topic, pipeline and
// store as spans. A record becomes an event of a span that has only the record's trace id and span id. runmodel.Fold
// merges it with the span itself.
package genailogs

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Attributes of the event for parts of the record that are not attributes already.
const (
	KeyBody     = "body"
	KeySeverity = "log.severity"
	keyName     = "event.name"
)

// Counts says what became of the records.
type Counts struct {
	// Joined counts GenAI events that name a span, NoSpan those that name none, Other all other records.
	Joined, NoSpan, Other int64
}

// spanKey identifies a span within a request.
type spanKey struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
}

// ToSpans converts log records to spans. Records of one span become events of one span, in their order.
func ToSpans(ld plog.Logs) (ptrace.Traces, Counts) {
	td := ptrace.NewTraces()
	var counts Counts
	for _, rl := range ld.ResourceLogs().All() {
		var rs ptrace.ResourceSpans
		hasResource := false
		for _, sl := range rl.ScopeLogs().All() {
			var ss ptrace.ScopeSpans
			spans := map[spanKey]ptrace.Span{}
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
				at := spanKey{record.TraceID(), record.SpanID()}
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

// addEvent adds a whole record as an event.
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
	switch body := record.Body(); body.Type() { // not as text: a body may nest deeper than the stack allows
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

// scopes are the instrumentation scopes of GenAI tools: all their records are events.
var scopes = []string{"com.anthropic.claude_code", "codex_", "gemini-cli", "org.springframework.ai"}

// names are the prefixes of the names of GenAI events.
var names = []string{"gen_ai.", "claude_code.", "codex.", "gemini_cli."}

// springBodies are the prefixes of Spring AI's records, which have no name.
var springBodies = []string{"Chat Model Prompt Content:", "Chat Model Completion:"}

// eventName returns the name of a record if it is a GenAI event.
func eventName(record plog.LogRecord, scope string) (string, bool) {
	name := record.EventName()
	if name == "" {
		if v, ok := record.Attributes().Get(keyName); ok {
			name = v.Str() // other values are no names, and may nest deeper than the stack allows
		}
	}
	if hasPrefix(name, names) {
		return name, true
	}
	if hasPrefix(scope, scopes) {
		return orScope(name, scope), true
	}
	switch body := record.Body(); body.Type() {
	case pcommon.ValueTypeMap: // AWS puts contents into bodies: {input: {messages}, output: {messages}}
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
