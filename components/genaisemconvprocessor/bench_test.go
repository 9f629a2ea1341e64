package genaisemconvprocessor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// BenchmarkMap relates the mapping of spans to decoding the same spans from protobuf, batch by batch in the same run:
// ×decode is 1 where both take the same time.
func BenchmarkMap(b *testing.B) {
	for _, c := range benchCases {
		td := ptrace.NewTraces()
		ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
		ss.Scope().SetName(c.scope)
		const spans = 100
		for i := range spans {
			s := ss.Spans().AppendEmpty()
			s.SetTraceID(pcommon.TraceID{1})
			s.SetSpanID(pcommon.SpanID{byte(i + 1)})
			s.SetName("span")
			c.fill(s)
		}
		proto, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		require.NoError(b, err)
		b.Run(c.name, func(b *testing.B) {
			m := NewMapper(&Config{})
			var decoding, mapping time.Duration
			for b.Loop() {
				begin := time.Now()
				fresh, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(proto)
				decoded := time.Now()
				m.Map(fresh)
				mapping += time.Since(decoded)
				decoding += decoded.Sub(begin)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(mapping)/float64(b.N)/spans, "ns/span")
			b.ReportMetric(float64(mapping)/float64(decoding), "×decode")
			b.ReportMetric(float64(len(proto))/spans, "B/span")
			fresh := make([]ptrace.Traces, 5)
			for i := range fresh {
				fresh[i], _ = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(proto)
			}
			i := 0
			b.ReportMetric(testing.AllocsPerRun(len(fresh)-1, func() { m.Map(fresh[i]); i++ })/spans, "allocs/span")
		})
	}
}

// benchCases are what is measured.
var benchCases = []struct {
	name  string
	scope string
	fill  func(ptrace.Span)
}{
	{"not_genai", "opentelemetry.instrumentation.fastapi", httpSpan},
	{"newest_20_messages", "opentelemetry.instrumentation.openai_v2", newestCall},
	{"openinference_20_messages", "openinference.instrumentation.openai", openInferenceCall},
	{"openllmetry_20_messages", "opentelemetry.instrumentation.openai.v1", openLLMetryCall},
	{"vercel_20_messages", "ai", vercelCall},
}

func httpSpan(s ptrace.Span) {
	a := s.Attributes()
	a.PutStr("http.request.method", "POST")
	a.PutStr("url.full", "https://shop.example.com/api/v1/orders?limit=20")
	a.PutStr("server.address", "shop.example.com")
	a.PutInt("server.port", 443)
	a.PutStr("network.protocol.version", "1.1")
	a.PutStr("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36")
	a.PutInt("http.response.status_code", 200)
	a.PutStr("http.route", "/api/v1/orders")
	a.PutStr("client.address", "203.0.113.7")
	a.PutStr("thread.name", "worker-3")
	a.PutInt("thread.id", 11)
}

// said is a message of the length that agents' messages have: some hundred bytes, with quotes and line ends.
func said(i int) string {
	return fmt.Sprintf("Message %d: ", i) + strings.Repeat("the order has a \"status\" of its own, and the customer asks for it.\n", 6)
}

func newestCall(s ptrace.Span) {
	a := s.Attributes()
	a.PutStr("gen_ai.operation.name", "chat")
	a.PutStr("gen_ai.provider.name", "openai")
	a.PutStr("gen_ai.request.model", "gpt-5-mini")
	a.PutStr("gen_ai.response.model", "gpt-5-mini-2026-09-01")
	a.PutStr("gen_ai.response.id", "resp_0123456789abcdef")
	a.PutEmptySlice("gen_ai.response.finish_reasons").AppendEmpty().SetStr("stop")
	a.PutInt("gen_ai.usage.input_tokens", 2100)
	a.PutInt("gen_ai.usage.output_tokens", 90)
	a.PutInt("gen_ai.usage.cache_read.input_tokens", 1024)
	a.PutDouble("gen_ai.request.temperature", 0.2)
	a.PutStr("gen_ai.system_instructions", `[{"type":"text","content":"You are a clerk."}]`)
	b := []byte{'['}
	for i := range 20 {
		if i > 0 {
			b = append(b, ',')
		}
		switch i % 4 {
		case 0:
			b = append(b, `{"role":"user","parts":[{"type":"text","content":`...)
			b = append(appendString(b, said(i)), `}]}`...)
		case 1:
			b = append(b, `{"role":"assistant","parts":[{"type":"tool_call","id":"call_1","name":"find_order","arguments":{"id":"A-7","limit":3}}]}`...)
		case 2:
			b = append(b, `{"role":"tool","parts":[{"type":"tool_call_response","id":"call_1","response":`...)
			b = append(appendString(b, said(i)), `}]}`...)
		default:
			b = append(b, `{"role":"assistant","parts":[{"type":"text","content":`...)
			b = append(appendString(b, said(i)), `}]}`...)
		}
	}
	a.PutStr("gen_ai.input.messages", string(append(b, ']')))
	a.PutStr("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"It is on its way."}],"finish_reason":"stop"}]`)
}

func openInferenceCall(s ptrace.Span) {
	a := s.Attributes()
	a.PutStr("openinference.span.kind", "LLM")
	a.PutStr("llm.model_name", "gpt-5-mini-2026-09-01")
	a.PutStr("llm.system", "openai")
	a.PutStr("llm.provider", "openai")
	a.PutInt("llm.token_count.prompt", 2100)
	a.PutInt("llm.token_count.completion", 90)
	a.PutInt("llm.token_count.total", 2190)
	a.PutStr("llm.invocation_parameters", `{"model":"gpt-5-mini","temperature":0.2}`)
	for i := range 20 {
		message := fmt.Sprintf("llm.input_messages.%d.message.", i)
		switch i % 4 {
		case 0:
			a.PutStr(message+"role", "user")
			a.PutStr(message+"content", said(i))
		case 1:
			a.PutStr(message+"role", "assistant")
			a.PutStr(message+"tool_calls.0.tool_call.id", "call_1")
			a.PutStr(message+"tool_calls.0.tool_call.function.name", "find_order")
			a.PutStr(message+"tool_calls.0.tool_call.function.arguments", `{"id":"A-7","limit":3}`)
		case 2:
			a.PutStr(message+"role", "tool")
			a.PutStr(message+"content", said(i))
			a.PutStr(message+"tool_call_id", "call_1")
		default:
			a.PutStr(message+"role", "assistant")
			a.PutStr(message+"content", said(i))
		}
	}
	a.PutStr("llm.output_messages.0.message.role", "assistant")
	a.PutStr("llm.output_messages.0.message.content", "It is on its way.")
}

// openLLMetryCall is the call in the keys that OpenLLMetry had until it took up the conventions' messages.
func openLLMetryCall(s ptrace.Span) {
	a := s.Attributes()
	a.PutStr("llm.request.type", "chat")
	a.PutStr("gen_ai.system", "OpenAI")
	a.PutStr("gen_ai.request.model", "gpt-5-mini")
	a.PutStr("gen_ai.response.model", "gpt-5-mini-2026-09-01")
	a.PutInt("gen_ai.usage.prompt_tokens", 2100)
	a.PutInt("gen_ai.usage.completion_tokens", 90)
	a.PutInt("llm.usage.total_tokens", 2190)
	for i := range 20 {
		message := fmt.Sprintf("gen_ai.prompt.%d.", i)
		switch i % 4 {
		case 0:
			a.PutStr(message+"role", "user")
			a.PutStr(message+"content", said(i))
		case 1:
			a.PutStr(message+"role", "assistant")
			a.PutStr(message+"tool_calls.0.id", "call_1")
			a.PutStr(message+"tool_calls.0.name", "find_order")
			a.PutStr(message+"tool_calls.0.arguments", `{"id":"A-7","limit":3}`)
		case 2:
			a.PutStr(message+"role", "tool")
			a.PutStr(message+"content", said(i))
			a.PutStr(message+"tool_call_id", "call_1")
		default:
			a.PutStr(message+"role", "assistant")
			a.PutStr(message+"content", said(i))
		}
	}
	a.PutStr("gen_ai.completion.0.role", "assistant")
	a.PutStr("gen_ai.completion.0.content", "It is on its way.")
	a.PutStr("gen_ai.completion.0.finish_reason", "stop")
}

// vercelCall is the call as the AI SDK to 6 sends it: the messages are JSON text of its own shape, in one attribute.
func vercelCall(s ptrace.Span) {
	a := s.Attributes()
	a.PutStr("operation.name", "ai.generateText.doGenerate")
	a.PutStr("ai.operationId", "ai.generateText.doGenerate")
	a.PutStr("ai.model.provider", "openai.responses")
	a.PutStr("ai.model.id", "gpt-5-mini")
	a.PutStr("ai.response.model", "gpt-5-mini-2026-09-01")
	a.PutStr("ai.response.finishReason", "stop")
	a.PutStr("ai.response.text", "It is on its way.")
	a.PutInt("ai.usage.inputTokens", 2100)
	a.PutInt("ai.usage.outputTokens", 90)
	a.PutInt("ai.usage.cachedInputTokens", 1024)
	b := []byte{'['}
	for i := range 20 {
		if i > 0 {
			b = append(b, ',')
		}
		switch i % 4 {
		case 0:
			b = append(b, `{"role":"user","content":[{"type":"text","text":`...)
			b = append(appendString(b, said(i)), `}]}`...)
		case 1:
			b = append(b, `{"role":"assistant","content":[{"type":"tool-call","toolCallId":"call_1","toolName":"find_order","input":{"id":"A-7","limit":3}}]}`...)
		case 2:
			b = append(b, `{"role":"tool","content":[{"type":"tool-result","toolCallId":"call_1","toolName":"find_order","output":{"type":"text","value":`...)
			b = append(appendString(b, said(i)), `}}]}`...)
		default:
			b = append(b, `{"role":"assistant","content":[{"type":"text","text":`...)
			b = append(appendString(b, said(i)), `}]}`...)
		}
	}
	a.PutStr("ai.prompt.messages", string(append(b, ']')))
}
