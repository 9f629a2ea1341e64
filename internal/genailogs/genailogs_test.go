package genailogs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

func TestToSpans(t *testing.T) {
	t.Parallel()
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", "shop")
	sl := rl.ScopeLogs().AppendEmpty()
	sl.Scope().SetName("opentelemetry.instrumentation.openai_v2")
	record := func(span byte, name string, at pcommon.Timestamp, body any) plog.LogRecord {
		r := sl.LogRecords().AppendEmpty()
		r.SetTraceID(pcommon.TraceID{1})
		r.SetSpanID(pcommon.SpanID{span})
		r.SetTimestamp(at)
		r.SetEventName(name)
		require.NoError(t, r.Body().FromRaw(body))
		return r
	}
	record(1, "gen_ai.user.message", 20, map[string]any{"content": "Hi"})
	record(2, "", 30, map[string]any{"content": "Ho"}).Attributes().PutStr("event.name", "gen_ai.user.message")
	record(1, "gen_ai.choice", 10, map[string]any{"index": 0}).SetSeverityText("INFO")
	record(3, "", 40, "plain text of an application")
	record(0, "gen_ai.choice", 50, nil)
	record(4, "", 60, "Chat Model Completion:\nHello")
	record(5, "", 70, map[string]any{"output": map[string]any{"messages": []any{}}})

	td, counts := ToSpans(ld)
	assert.Equal(t, Counts{Joined: 5, NoSpan: 1, Other: 1}, counts)
	require.Equal(t, 1, td.ResourceSpans().Len())
	require.Equal(t, 1, td.ResourceSpans().At(0).ScopeSpans().Len())
	assert.Equal(t, map[string]any{"service.name": "shop"}, td.ResourceSpans().At(0).Resource().Attributes().AsRaw())
	ss := td.ResourceSpans().At(0).ScopeSpans().At(0)
	assert.Equal(t, "opentelemetry.instrumentation.openai_v2", ss.Scope().Name())
	require.Equal(t, 4, ss.Spans().Len())
	first := ss.Spans().At(0)
	assert.Equal(t, pcommon.SpanID{1}, first.SpanID())
	assert.Equal(t, pcommon.TraceID{1}, first.TraceID())
	assert.Equal(t, pcommon.Timestamp(10), first.StartTimestamp())
	assert.Empty(t, first.Name())
	assert.Equal(t, map[string]any{"looptrace.from_log": true}, first.Attributes().AsRaw())
	require.Equal(t, 2, first.Events().Len())
	assert.Equal(t, "gen_ai.user.message", first.Events().At(0).Name())
	assert.Equal(t, map[string]any{"log.body": map[string]any{"content": "Hi"}}, first.Events().At(0).Attributes().AsRaw())
	assert.Equal(t, map[string]any{"log.body": map[string]any{"index": int64(0)}, "log.severity": "INFO"}, first.Events().At(1).Attributes().AsRaw())
}

// TestRecordsOfCalls gives the records of a turn of Claude Code, which have the id of the turn's span: those that name a
// call become a span of their own, whichever request they come in, and none loses an attribute.
func TestRecordsOfCalls(t *testing.T) {
	t.Parallel()
	ld := plog.NewLogs()
	sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	sl.Scope().SetName("com.anthropic.claude_code.events")
	record := func(span byte, name string, at pcommon.Timestamp, attributes map[string]any) {
		r := sl.LogRecords().AppendEmpty()
		r.SetTraceID(pcommon.TraceID{1})
		r.SetSpanID(pcommon.SpanID{span})
		r.SetTimestamp(at)
		r.Body().SetStr("claude_code." + name)
		assert.NoError(t, r.Attributes().FromRaw(attributes))
	}
	record(1, "user_prompt", 10, map[string]any{"prompt": "Hi"})
	record(3, "tool_decision", 20, map[string]any{"tool_use_id": "t1", "decision": "accept"})
	record(1, "tool_result", 30, map[string]any{"tool_use_id": "t1", "success": "true"})
	record(1, "api_response_body", 40, map[string]any{"body": "{}", "request_body_id": "r1"})
	record(1, "api_request", 40, map[string]any{"cost_usd": 0.5})
	td, counts := ToSpans(ld)
	again, _ := ToSpans(ld)
	assert.Equal(t, Counts{Joined: 5}, counts)
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	require.Equal(t, 4, spans.Len())
	turn, tool, body, cost := spans.At(0), spans.At(1), spans.At(2), spans.At(3)
	assert.Equal(t, pcommon.SpanID{1}, turn.SpanID())
	assert.Equal(t, map[string]any{"looptrace.from_log": true, "looptrace.record_of": "tool"}, tool.Attributes().AsRaw())
	assert.Equal(t, 2, tool.Events().Len())
	assert.Equal(t, pcommon.SpanID{3}, tool.ParentSpanID())
	assert.Equal(t, []pcommon.Timestamp{20, 30}, []pcommon.Timestamp{tool.StartTimestamp(), tool.EndTimestamp()})
	assert.Equal(t, map[string]any{"body": "{}", "request_body_id": "r1", "log.body": "claude_code.api_response_body"}, body.Events().At(0).Attributes().AsRaw())
	assert.Equal(t, pcommon.SpanID{1}, cost.ParentSpanID())
	assert.NotEqual(t, body.SpanID(), cost.SpanID())
	for i := range spans.Len() {
		assert.Equal(t, spans.At(i).SpanID(), again.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(i).SpanID())
	}
}

func TestNothingOfGenAI(t *testing.T) {
	t.Parallel()
	ld := plog.NewLogs()
	ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("GET / 200")
	td, counts := ToSpans(ld)
	assert.Zero(t, td.ResourceSpans().Len())
	assert.Equal(t, Counts{Other: 1}, counts)
}

// Over gRPC a body may nest as deep as 8 MiB allow.
func TestDeepBody(t *testing.T) {
	t.Parallel()
	ld := plog.NewLogs()
	r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	r.SetEventName("gen_ai.choice")
	r.SetTraceID(pcommon.TraceID{1})
	r.SetSpanID(pcommon.SpanID{1})
	nest(r.Body())
	td, counts := ToSpans(ld)
	assert.EqualValues(t, 1, counts.Joined)
	assert.Equal(t, 1, td.SpanCount())
}

// TestDeepName gives a record a name that is a nested value.
func TestDeepName(t *testing.T) {
	t.Parallel()
	ld := plog.NewLogs()
	r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	nest(r.Attributes().PutEmpty("event.name"))
	_, counts := ToSpans(ld)
	assert.EqualValues(t, 1, counts.Other)
}

// nest returns a value that nests as deep as a request can.
func nest(value pcommon.Value) {
	for range 900_000 {
		value = value.SetEmptySlice().AppendEmpty()
	}
}
