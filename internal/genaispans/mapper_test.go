package genaispans

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// mapOne maps one span of a scope with attributes, and returns it.
func mapOne(rules []Rule, scope string, attrs map[string]any, change ...func(ptrace.Span)) ptrace.Span {
	td := ptrace.NewTraces()
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	ss.Scope().SetName(scope)
	s := ss.Spans().AppendEmpty()
	if err := s.Attributes().FromRaw(attrs); err != nil {
		panic(err)
	}
	for _, f := range change {
		f(s)
	}
	NewMapper(rules).Map(td)
	return s
}

func TestNotGenAIStaysAsItIs(t *testing.T) {
	t.Parallel()
	attrs := map[string]any{
		"http.request.method": "GET", "url.full": "https://example.com/", "input": "x", "model": "Tesla", "agent": "curl",
		"output": int64(1), "tool.name": "hammer", "logfire.msg": "GET /", "logfire.span_type": "span",
	}
	s := mapOne(nil, "opentelemetry.instrumentation.fastapi", attrs)
	assert.Equal(t, attrs, s.Attributes().AsRaw())
}

// Spans of the newest conventions stay unchanged, apart from derived attributes.
func TestNewestStaysAsItIs(t *testing.T) {
	t.Parallel()
	attrs := map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5",
		"gen_ai.response.finish_reasons": []any{"stop"}, "gen_ai.usage.input_tokens": int64(10), "gen_ai.usage.output_tokens": int64(2),
		"gen_ai.usage.cache_read.input_tokens": int64(4), "gen_ai.response.time_to_first_chunk": 0.25,
		"gen_ai.input.messages":   `[{"role":"user","parts":[{"type":"text","content":"a \"quoted\" word"},{"type":"acme_part","x":1}]}]`,
		"gen_ai.output.messages":  `[ {"role" : "assistant", "parts":[{"type":"tool_call","id":"1","name":"f","arguments":{"result":1}}] } ]`,
		"gen_ai.tool.definitions": `[{"type":"function","name":"f","parameters":{}}]`, "gen_ai.system_instructions": `[{"type":"text","content":"x"}]`,
	}
	s := mapOne(nil, "opentelemetry.instrumentation.openai_v2", attrs)
	got := s.Attributes().AsRaw()
	assert.Equal(t, "otel-genai", got[runmodel.KeyDialect])
	assert.Equal(t, runmodel.KeyDialect, got[runmodel.KeyAdded])
	delete(got, runmodel.KeyDialect)
	delete(got, runmodel.KeyAdded)
	assert.Equal(t, attrs, got)
}

// Older conventions had the finish reason in the output messages.
func TestFinishReasonInMessages(t *testing.T) {
	t.Parallel()
	for messages, want := range map[string]any{
		`[{"role":"assistant","parts":[],"finish_reason":"stop"}]`:                                              []any{"stop"},
		`[{"finish_reason" : "length","role":"assistant","parts":[]}]`:                                          []any{"length"},
		`[{"role":"assistant","parts":[{"type":"tool_call","name":"get_it_"}]},{"finish_reason":"tool_calls"}]`: []any{"tool_calls"},
		`[{"role":"assistant","parts":[{"type":"text","content":"a finish_reason, \"finish_reason\""}]}]`:       nil,
		`[{"role":"assistant","parts":[{"type":"text","content":"_"}],"finish_reasons":"stop"}]`:                nil,
	} {
		s := mapOne(nil, "x", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.output.messages": messages})
		assert.Equal(t, want, s.Attributes().AsRaw()["gen_ai.response.finish_reasons"], messages)
	}
}

func TestUserRules(t *testing.T) {
	t.Parallel()
	rules := []Rule{
		{To: "gen_ai.request.model", From: []string{"acme.none", "acme.model"}, When: Condition{Scope: "acme.*"}},
		{To: "gen_ai.usage.input_tokens", From: []string{"acme.tokens"}, As: "int"},
		{To: "gen_ai.response.time_to_first_chunk", From: []string{"acme.ttft"}, As: "milliseconds", When: Condition{Attribute: "acme.model", Value: "gpt-5"}},
		{To: "gen_ai.agent.name", From: []string{"acme.model"}, When: Condition{Scope: "other"}},
	}
	s := mapOne(rules, "acme.tracer", map[string]any{"acme.model": "gpt-5", "acme.tokens": "12", "acme.ttft": 250})
	assert.Equal(t, map[string]any{
		"acme.model": "gpt-5", "acme.tokens": "12", "acme.ttft": int64(250),
		"gen_ai.request.model": "gpt-5", "gen_ai.usage.input_tokens": int64(12), "gen_ai.response.time_to_first_chunk": 0.25,
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "looptrace.dialect": "otel-genai",
		"looptrace.added": "gen_ai.operation.name gen_ai.provider.name looptrace.dialect",
	}, s.Attributes().AsRaw())
}

// A span that a client's collector has mapped already keeps the list of what was added there.
func TestMappedTwice(t *testing.T) {
	t.Parallel()
	first := mapOne(nil, "openinference.instrumentation.openai", map[string]any{"openinference.span.kind": "LLM", "llm.token_count.prompt": 7})
	once := first.Attributes().AsRaw()
	assert.Equal(t, "gen_ai.operation.name gen_ai.usage.input_tokens looptrace.dialect", once[runmodel.KeyAdded])
	assert.Equal(t, once, mapOne(nil, "openinference.instrumentation.openai", once).Attributes().AsRaw())
	once["llm.token_count.completion"] = int64(2)
	assert.Equal(t, "gen_ai.operation.name gen_ai.usage.input_tokens looptrace.dialect gen_ai.usage.output_tokens",
		mapOne(nil, "openinference.instrumentation.openai", once).Attributes().AsRaw()[runmodel.KeyAdded])
}

func TestPendingSpanIsAnEarlyVersion(t *testing.T) {
	t.Parallel()
	s := mapOne(nil, "logfire", map[string]any{"logfire.span_type": "pending_span", "logfire.pending_parent_id": "00000000000000aa"}, func(s ptrace.Span) {
		s.SetSpanID(pcommon.SpanID{1})
		s.SetParentSpanID(pcommon.SpanID{2})
		s.SetEndTimestamp(5)
	})
	assert.Equal(t, pcommon.SpanID{2}, s.SpanID())
	assert.Equal(t, pcommon.SpanID{7: 0xaa}, s.ParentSpanID())
	assert.Zero(t, s.EndTimestamp())
}
