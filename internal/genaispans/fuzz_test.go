package genaispans

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// FuzzMap checks that the mapping of any span ends, removes no attribute, and writes messages as JSON of the newest
// format.
func FuzzMap(f *testing.F) {
	f.Add("openinference.instrumentation.openai", "llm.input_messages.0.message.content", "Hi", "llm.input_messages.0.message.role", "user")
	f.Add("", "gen_ai.prompt.999999999999999999999.content", "x", "gen_ai.prompt.__proto__.x", "y")
	f.Add("ai", "ai.prompt.messages", `[{"role":"user","content":[{"type":"tool-result","output":{"type":"json","value":[[[]]]}}]}]`, "ai.response.toolCalls", `[{}]`)
	f.Add("gcp.vertex.agent", "gcp.vertex.agent.llm_request", `{"contents":[{"role":"model","parts":[{"function_call":{"args":{}}}]}]}`, "gen_ai.usage.input_tokens", "NaN")
	f.Add("langfuse-sdk", "langfuse.observation.usage_details", `{"input":-1}`, "langfuse.observation.input", `[1,"a",null,{"messages":[[{"lc":1}]]}]`)
	f.Add("logfire", "request_data", `{"messages":"x","model":{}}`, "events", `[{"event.name":"gen_ai.choice"}]`)
	f.Add("", "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"a"}]`, "gen_ai.output.messages", `{"parts":[{"text":"x","thought":true}],"role":"model"}`)
	f.Add("0", "llm.", "0", "", "0")
	f.Add("", "annotations.0.annotation.score", "x", "trace.evaluations.7.evaluation.name", "")
	f.Add("ai", "ai.prompt.messages", `[{"role":"tool","content":"x"},{"role":"user","content":[{"type":"text","text":"\\u0`, "gen_ai.system", "x")
	f.Add("x", "gen_ai.tool.definitions", `[{"type":"function","function":{"name":"f"}},"g",7]`, "gen_ai.system_instructions", `"\"x\""`)
	f.Add("x", "gen_ai.output.messages", strings.Repeat("[", 5000), "gen_ai.response.finish_reasons", "\xff[")
	f.Fuzz(func(t *testing.T, scope, key1, value1, key2, value2 string) {
		sent := map[string]any{key1: value1, key2: value2}
		s := mapOne(nil, scope, sent, func(s ptrace.Span) {
			event := s.Events().AppendEmpty()
			event.SetName(key1)
			event.Attributes().PutStr("content", value2)
		})
		for key, value := range sent {
			if key == "gen_ai.prompt.name" || key == "gen_ai.provider.name" {
				continue // may be replaced by another value; the original is kept
			}
			got, ok := s.Attributes().Get(key)
			require.True(t, ok, key)
			if got.AsString() != value {
				kept, ok := s.Attributes().Get(runmodel.KeyOriginalPrefix + key)
				require.True(t, ok, "%s is now %s", key, got.AsString())
				require.Equal(t, value, kept.AsString())
			}
		}
		for _, key := range []string{runmodel.KeyInputMessages, runmodel.KeyOutputMessages} {
			if _, kept := s.Attributes().Get(runmodel.KeyOriginalPrefix + key); !kept && sent[key] != nil {
				continue // unchanged
			}
			text := attr(s, key)
			if text == "" || !utf8.ValidString(text) {
				continue
			}
			var messages []struct {
				Role  string            `json:"role"`
				Parts []json.RawMessage `json:"parts"`
			}
			require.NoError(t, json.Unmarshal([]byte(text), &messages), "%s of %v", key, sent)
		}
	})
}

// FuzzClassify checks that Classify says of any span what the store does, and changes nothing.
func FuzzClassify(f *testing.F) {
	f.Add("langfuse-sdk", "http.request.method", "GET", "langfuse.observation.type", "span", false, int64(0))
	f.Add("", "gen_ai.operation.name", "", "gen_ai.operation.name", "chat", false, int64(0))
	f.Add("", "looptrace.kind", "llm", "looptrace.record_of", "span", false, int64(1))
	f.Add("", "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"a"}]}]`, "input.value", "x", true, int64(-1))
	f.Add("openinference.x", "llm.token_count.prompt", "7", "llm.token_count.total", "x", false, int64(1)<<53)
	f.Add("acme", "looptrace.usage.other_tokens", "", "acme.model", "x", true, int64(7))
	f.Add("logfire", "logfire.span_type", "pending_span", "logfire.pending_parent_id", "0", false, int64(0))
	mappers := []*Mapper{NewMapper(nil), NewMapper([]Rule{{To: runmodel.KeyRequestModel, From: []string{"acme.model"}, When: Condition{Scope: "acme*"}}})}
	f.Fuzz(func(t *testing.T, scope, key1, value1, key2, value2 string, exported bool, n int64) {
		td := ptrace.NewTraces()
		ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
		ss.Scope().SetName(scope)
		ss.Scope().Attributes().PutBool(runmodel.KeyExported, exported)
		texts, number, flag := ss.Spans().AppendEmpty(), ss.Spans().AppendEmpty(), ss.Spans().AppendEmpty()
		for i, s := range []ptrace.Span{texts, number, flag} {
			s.SetTraceID(pcommon.TraceID{1})
			s.SetSpanID(pcommon.SpanID{byte(i + 1)})
			s.Attributes().PutStr(key2, value2)
			event := s.Events().AppendEmpty()
			event.SetName(key1)
			event.Attributes().PutStr("content", value2)
		}
		texts.Attributes().PutStr(key1, value1)
		number.Attributes().PutInt(key1, n)
		flag.Attributes().PutBool(key1, n%2 == 0)
		for _, m := range mappers {
			requireClassified(t, m, td, scope)
		}
	})
}

// TestHostileSpans maps recorded spans, truncated at every byte and with exchanged values.
func TestHostileSpans(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(realdata(t), "*", "otlp", "*.json"))
	require.NoError(t, err)
	m := NewMapper(nil)
	for _, file := range files {
		if strings.Contains(file, "tau-") {
			continue // thousands are alike
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
		if err != nil {
			continue
		}
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					last := ""
					for key, value := range s.Attributes().All() {
						said := value.AsString()
						switch len(key) % 4 {
						case 0:
							value.SetStr(said[:len(said)/2])
						case 1:
							value.SetStr(last)
						case 2:
							value.SetDouble(float64(len(said)) * -1.5)
						}
						last = said
					}
				}
			}
		}
		requireClassified(t, m, td, file)
		m.Map(td)
		var rows runpdata.Rows
		for _, rs := range td.ResourceSpans().All() {
			rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, "11111111-1111-4111-8111-111111111111")
		}
		require.NoError(t, rows.Add(td))
	}
}
