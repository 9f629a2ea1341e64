package genaispans

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"golang.org/x/sys/unix"
)

const (
	benchRounds = 1000 // rounds of decoding and mapping
	benchSpans  = 100  // spans per batch
	benchLive   = 40   // live batches, as in a pipeline: they add to the work of the garbage collector
)

// BenchmarkMap relates the time to map spans to the time to decode them from protobuf: ×decode is 1 if both take the
// same time. Both alternate batch by batch on one processor. Their time is the processor time of the process, in the
// least disturbed tenth of the rounds. The garbage collector runs separately, whenever the allocations since its last
// run equal the live heap, as it would by default. Its time is divided by the bytes that each has allocated.
func BenchmarkMap(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			m := NewMapper(nil)
			benchAgainstDecoding(b, benchBatch(b, c.scope, c.fill), func(td ptrace.Traces) { m.Map(td) })
		})
	}
}

// BenchmarkClassify relates the time to classify spans to the time to decode them, as BenchmarkMap does.
func BenchmarkClassify(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			m := NewMapper(nil)
			genAI := 0
			benchAgainstDecoding(b, benchBatch(b, c.scope, c.fill), func(td ptrace.Traces) {
				m.Classify(td, func(_ ptrace.Span, isGenAI bool) {
					if isGenAI {
						genAI++
					}
				})
			})
		})
	}
}

// BenchmarkScan is the lower bound of reading JSON: it reads every byte of the attributes that are JSON once.
func BenchmarkScan(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			benchAgainstDecoding(b, benchBatch(b, c.scope, c.fill), func(td ptrace.Traces) {
				for _, s := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
					for _, value := range s.Attributes().All() {
						if value.Type() == pcommon.ValueTypeStr && isContainer(value.Str()) && !isJSON(value.Str()) {
							b.Fatal(value.Str())
						}
					}
				}
			})
		})
	}
}

func benchAgainstDecoding(b *testing.B, proto []byte, work func(ptrace.Traces)) {
	b.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var held [benchLive]ptrace.Traces
	decode := func() ptrace.Traces {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(proto)
		require.NoError(b, err)
		return td
	}
	var decoding, working, collecting []float64
	for b.Loop() {
		for i := range benchRounds {
			begin := processorTime(b)
			fresh := decode()
			decoded := processorTime(b)
			work(fresh)
			working = append(working, processorTime(b)-decoded)
			decoding = append(decoding, decoded-begin)
			held[i%benchLive] = fresh
			if i%benchLive == 0 {
				begin = processorTime(b)
				runtime.GC()
				collecting = append(collecting, processorTime(b)-begin)
			}
		}
	}
	_, toDecode := allocated(func() { held[0] = decode() })
	objects, toWork := allocated(func() { work(held[0]) })
	perByte := undisturbed(collecting) / benchLive / (toDecode + toWork)
	decodingTakes := undisturbed(decoding) + toDecode*perByte
	workTakes := undisturbed(working) + toWork*perByte
	b.ReportMetric(workTakes/decodingTakes, "×decode")
	b.ReportMetric(workTakes/benchSpans, "ns/span")
	b.ReportMetric(decodingTakes/benchSpans, "decode-ns/span")
	b.ReportMetric(objects/benchSpans, "allocs/span")
	b.ReportMetric(float64(len(proto))/benchSpans, "B/span")
	b.ReportMetric(0, "ns/op")
}

// undisturbed returns the upper bound of the lowest tenth.
func undisturbed(times []float64) float64 {
	slices.Sort(times)
	return times[len(times)/10]
}

// allocated returns the number of objects and bytes that f allocates.
func allocated(f func()) (objects, bytes float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)
}

// benchBatch returns a batch of spans in protobuf.
func benchBatch(b *testing.B, scope string, fill func(s ptrace.Span, lines int)) []byte {
	b.Helper()
	td := ptrace.NewTraces()
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	ss.Scope().SetName(scope)
	for i := range benchSpans {
		s := ss.Spans().AppendEmpty()
		s.SetTraceID(pcommon.TraceID{1})
		s.SetSpanID(pcommon.SpanID{byte(i + 1)})
		s.SetName("span")
		const fewest, lengths = 3, 7
		fill(s, fewest+i%lengths)
	}
	proto, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	require.NoError(b, err)
	return proto
}

// processorTime returns the processor time of the process in nanoseconds.
func processorTime(b *testing.B) float64 {
	b.Helper()
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return float64(t.Nano())
}

// benchCases are the kinds of spans to measure.
var benchCases = []struct {
	name  string
	scope string
	fill  func(s ptrace.Span, lines int)
}{
	{"not_genai", "opentelemetry.instrumentation.fastapi", httpSpan},
	{"newest_20_messages", "opentelemetry.instrumentation.openai_v2", newestCall},
	{"openinference_20_messages", "openinference.instrumentation.openai", openInferenceCall},
	{"openllmetry_newest_20_messages", "opentelemetry.instrumentation.openai.v1", spacedCall},
	{"openllmetry_20_messages", "opentelemetry.instrumentation.openai.v1", openLLMetryCall},
	{"vercel_20_messages", "ai", vercelCall},
}

func httpSpan(s ptrace.Span, _ int) {
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

// messageText returns a message of a length typical for agents: some hundred bytes, with quotes and newlines.
func messageText(i, lines int) string {
	return fmt.Sprintf("Message %d: ", i) + strings.Repeat("the order has a \"status\" of its own, and the customer asks for it.\n", lines)
}

func newestCall(s ptrace.Span, lines int) {
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
			b = append(appendString(b, messageText(i, lines)), `}]}`...)
		case 1:
			b = append(b, `{"role":"assistant","parts":[{"type":"tool_call","id":"call_1","name":"find_order","arguments":{"id":"A-7","limit":3}}]}`...)
		case 2:
			b = append(b, `{"role":"tool","parts":[{"type":"tool_call_response","id":"call_1","response":`...)
			b = append(appendString(b, messageText(i, lines)), `}]}`...)
		default:
			b = append(b, `{"role":"assistant","parts":[{"type":"text","content":`...)
			b = append(appendString(b, messageText(i, lines)), `}]}`...)
		}
	}
	a.PutStr("gen_ai.input.messages", string(append(b, ']')))
	a.PutStr("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"It is on its way."}],"finish_reason":"stop"}]`)
}

// spacedCall is newestCall with spaces in its JSON, as Python and so OpenLLMetry write it.
func spacedCall(s ptrace.Span, lines int) {
	newestCall(s, lines)
	for _, value := range s.Attributes().All() {
		if value.Type() == pcommon.ValueTypeStr && strings.HasPrefix(value.Str(), "[") {
			value.SetStr(strings.NewReplacer(`":`, `": `, `,"`, `, "`, `},{`, `}, {`).Replace(value.Str()))
		}
	}
}

func openInferenceCall(s ptrace.Span, lines int) {
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
			a.PutStr(message+"content", messageText(i, lines))
		case 1:
			a.PutStr(message+"role", "assistant")
			a.PutStr(message+"tool_calls.0.tool_call.id", "call_1")
			a.PutStr(message+"tool_calls.0.tool_call.function.name", "find_order")
			a.PutStr(message+"tool_calls.0.tool_call.function.arguments", `{"id":"A-7","limit":3}`)
		case 2:
			a.PutStr(message+"role", "tool")
			a.PutStr(message+"content", messageText(i, lines))
			a.PutStr(message+"tool_call_id", "call_1")
		default:
			a.PutStr(message+"role", "assistant")
			a.PutStr(message+"content", messageText(i, lines))
		}
	}
	a.PutStr("llm.output_messages.0.message.role", "assistant")
	a.PutStr("llm.output_messages.0.message.content", "It is on its way.")
}

// openLLMetryCall is the call in OpenLLMetry's own keys, before it adopted the conventions' messages.
func openLLMetryCall(s ptrace.Span, lines int) {
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
			a.PutStr(message+"content", messageText(i, lines))
		case 1:
			a.PutStr(message+"role", "assistant")
			a.PutStr(message+"tool_calls.0.id", "call_1")
			a.PutStr(message+"tool_calls.0.name", "find_order")
			a.PutStr(message+"tool_calls.0.arguments", `{"id":"A-7","limit":3}`)
		case 2:
			a.PutStr(message+"role", "tool")
			a.PutStr(message+"content", messageText(i, lines))
			a.PutStr(message+"tool_call_id", "call_1")
		default:
			a.PutStr(message+"role", "assistant")
			a.PutStr(message+"content", messageText(i, lines))
		}
	}
	a.PutStr("gen_ai.completion.0.role", "assistant")
	a.PutStr("gen_ai.completion.0.content", "It is on its way.")
	a.PutStr("gen_ai.completion.0.finish_reason", "stop")
}

// vercelCall is the call of the AI SDK up to 6: the messages are JSON of its own format in one attribute.
func vercelCall(s ptrace.Span, lines int) {
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
			b = append(appendString(b, messageText(i, lines)), `}]}`...)
		case 1:
			b = append(b, `{"role":"assistant","content":[{"type":"tool-call","toolCallId":"call_1","toolName":"find_order","input":{"id":"A-7","limit":3}}]}`...)
		case 2:
			b = append(b, `{"role":"tool","content":[{"type":"tool-result","toolCallId":"call_1","toolName":"find_order","output":{"type":"text","value":`...)
			b = append(appendString(b, messageText(i, lines)), `}}]}`...)
		default:
			b = append(b, `{"role":"assistant","content":[{"type":"text","text":`...)
			b = append(appendString(b, messageText(i, lines)), `}]}`...)
		}
	}
	a.PutStr("ai.prompt.messages", string(append(b, ']')))
}
