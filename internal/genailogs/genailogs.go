// Package genailogs converts log records with GenAI events to versions of the spans that they name. Some
// instrumentations write messages and request bodies only to logs; this way they take the same topic, pipeline and
// store as spans. A record becomes an event of a span that has only the record's trace id and span id. runmodel.Fold
// merges it with the span itself.
//
// Coding agents write the records of all calls of a turn with the id of the turn's span. A record that names a call
// belongs to that call: it becomes an event of a span of its own below the record's span, which runmodel.Fold merges
// with the span of the call, if there is one.
//
// Some of them write such records without the id of any span. These get the trace id of their conversation and
// runmodel.KeyRecordIn, and wait in the store for the span of their call (runmodel.PlaceRecord).
package genailogs

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Attributes of the event for parts of the record that are not attributes already.
const (
	KeyBody     = "log.body"
	KeySeverity = "log.severity"
	keyName     = "event.name"
)

// Counts says what became of the records.
type Counts struct {
	// Joined counts GenAI events that name a span, Waiting those that name a call and a conversation alone, NoSpan those
	// that name neither, Other all other records.
	Joined, Waiting, NoSpan, Other int64
}

// ByOutcome returns the counts by the values of the metrics' attribute "record".
func (c Counts) ByOutcome() map[string]int64 {
	return map[string]int64{"joined": c.Joined, "waiting": c.Waiting, "no_span": c.NoSpan, "other": c.Other}
}

// spanKey identifies a span within a request.
type spanKey struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
	call  call
}

// call is what a record names: a call of a tool or a model. The zero value is none.
type call struct{ kind, id string }

// spanID returns the id of the span of a call's records. It depends on the call alone, so that records in several
// requests, and records that are sent again, have one span.
func (c call) spanID() (id pcommon.SpanID) {
	binary.BigEndian.PutUint64(id[:], xxhash.Sum64String(c.kind+" "+c.id))
	return id
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
				if !isEvent {
					counts.Other++
					continue
				}
				at, conversation := spanKey{record.TraceID(), record.SpanID(), callOf(record, name)}, ""
				if at.trace.IsEmpty() || at.span.IsEmpty() {
					if conversation = conversationOf(record, name); conversation == "" || at.call.kind == "" {
						counts.NoSpan++
						continue
					}
					at.trace, at.span = traceOf(conversation), pcommon.SpanID{}
					counts.Waiting++
				} else {
					counts.Joined++
				}
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
				parent := at.span
				if at.call.kind == runmodel.KindTool {
					at.span = pcommon.SpanID{} // one call, whatever spans its records name
				}
				span, known := spans[at]
				if !known {
					span = ss.Spans().AppendEmpty()
					span.SetTraceID(at.trace)
					span.SetSpanID(parent)
					span.Attributes().PutBool(runmodel.KeyFromLog, true)
					if at.call.kind != "" {
						span.SetSpanID(at.call.spanID())
						span.SetParentSpanID(parent)
						span.SetName(name)
						span.Attributes().PutStr(runmodel.KeyRecordOf, at.call.kind)
						if conversation != "" {
							span.Attributes().PutStr(runmodel.KeyRecordIn, conversation)
						}
					}
					spans[at] = span
				}
				addEvent(span, record, name)
				if at.call.kind != "" && !strings.HasSuffix(name, "_decision") {
					span.SetEndTimestamp(max(span.EndTimestamp(), timeOf(record)))
				}
			}
		}
	}
	return td, counts
}

// toolCallKeys name the call of a tool in records of Claude Code, Codex and Gemini CLI.
var toolCallKeys = []string{"tool_use_id", "call_id", "gen_ai.tool.call.id", "tool_call_id"}

// conversationOf returns the conversation of a record of an agent that writes records without the id of a span although
// its tracing is on. Claude Code does so only while its tracing is off.
func conversationOf(record plog.LogRecord, name string) string {
	switch agent, _, _ := strings.Cut(name, "."); agent {
	case "codex":
		return stringAt(record.Attributes(), "conversation.id")
	case "gemini_cli":
		return stringAt(record.Attributes(), "session.id")
	default:
		return ""
	}
}

// traceOf returns the trace id that the records of a conversation have while they wait for their spans.
func traceOf(conversation string) pcommon.TraceID {
	return pcommon.TraceID(uuid.NewSHA1(uuid.NameSpaceURL, []byte("looptrace:conversation:"+conversation)))
}

// modelCallKeys name the call of a model in such records.
var modelCallKeys = []string{"request_body_id", "request_id", "message.id", "response_id"}

// callOf returns the call that a record of a coding agent names. The records of one call of a model that have no id are
// apart: runmodel.Fold joins each.
func callOf(record plog.LogRecord, name string) call {
	agent, event, _ := strings.Cut(name, ".")
	switch agent {
	case "claude_code", "codex", "gemini_cli":
	default:
		return call{}
	}
	if id := firstOf(record.Attributes(), toolCallKeys); id != "" {
		return call{runmodel.KindTool, id}
	}
	switch event {
	case "api_request", "api_request_body", "api_response", "api_response_body":
		if agent == "codex" { // an attempt over HTTP
			return call{}
		}
	case "sse_event":
		if stringAt(record.Attributes(), "event.kind") != "response.completed" {
			return call{}
		}
	default:
		return call{}
	}
	id := firstOf(record.Attributes(), modelCallKeys)
	if id == "" {
		id = strings.Join([]string{record.SpanID().String(), event, strconv.FormatUint(uint64(timeOf(record)), 10)}, " ")
	}
	return call{runmodel.KindLLM, id}
}

func firstOf(attributes pcommon.Map, keys []string) string {
	for _, key := range keys {
		if id := stringAt(attributes, key); id != "" {
			return id
		}
	}
	return ""
}

func stringAt(attributes pcommon.Map, key string) string {
	if v, ok := attributes.Get(key); ok && v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return ""
}

func timeOf(record plog.LogRecord) pcommon.Timestamp {
	if at := record.Timestamp(); at != 0 {
		return at
	}
	return record.ObservedTimestamp()
}

// addEvent adds a whole record as an event.
func addEvent(span ptrace.Span, record plog.LogRecord, name string) {
	at := timeOf(record)
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
		name = stringAt(record.Attributes(), keyName) // other values are no names, and may nest deeper than the stack allows
	}
	if hasPrefix(name, names) {
		return name, true
	}
	if hasPrefix(scope, scopes) {
		if body := record.Body(); body.Type() == pcommon.ValueTypeStr && hasPrefix(body.Str(), names) {
			return body.Str(), true // Claude Code's name without its prefix is an attribute
		}
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
