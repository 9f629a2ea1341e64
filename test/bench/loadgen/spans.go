package loadgen

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	spansPerRequest = 100
	spansPerTrace   = 25
	// valueBytes is the approximate size of a span's attributes.
	valueBytes = 1400
	// variants is how many requests differ in their text.
	variants = 64
)

// Spans returns the load of generated spans: 100 a request, 25 a trace, about 1.9 kB each, two thirds of them model
// calls and a third tool calls. Ids count up after a number that is unique to this load.
func Spans() (*Load, error) {
	run := rand.Uint64()
	load := newLoad("loadgen", identify{
		trace: func(request uint64, index int) (id pcommon.TraceID) {
			binary.BigEndian.PutUint64(id[:8], run)
			binary.BigEndian.PutUint64(id[8:], request*spansPerRequest/spansPerTrace+uint64(index)+1)
			return id
		},
		span: func(request uint64, index int) (id pcommon.SpanID) {
			binary.BigEndian.PutUint64(id[:], request*spansPerRequest+uint64(index)+1)
			return id
		},
	})
	random := rand.New(rand.NewPCG(1, 2))
	words := newVocabulary(random)
	for range variants {
		s, err := newTemplate(madeUp(random, words))
		if err != nil {
			return nil, err
		}
		load.templates = append(load.templates, s)
	}
	return load, nil
}

func madeUp(random *rand.Rand, words vocabulary) ptrace.Traces {
	td := ptrace.NewTraces()
	resource := td.ResourceSpans().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "loadgen")
	resource.Resource().Attributes().PutStr("service.version", "1.4.2")
	resource.Resource().Attributes().PutStr("telemetry.sdk.language", "go")
	scope := resource.ScopeSpans().AppendEmpty()
	scope.Scope().SetName("loadgen")
	scope.Scope().SetVersion("1.0.0")
	epoch := time.Unix(0, random.Int64())
	var trace pcommon.TraceID
	var root pcommon.SpanID
	for i := range spansPerRequest {
		span := scope.Spans().AppendEmpty()
		fillSpan(span, random, words, i)
		var id pcommon.SpanID
		binary.BigEndian.PutUint64(id[:], random.Uint64())
		if i%spansPerTrace == 0 {
			binary.BigEndian.PutUint64(trace[:8], random.Uint64())
			binary.BigEndian.PutUint64(trace[8:], random.Uint64())
			root = id
			span.SetName("invoke_agent planner")
		} else {
			span.SetParentSpanID(root)
		}
		span.SetTraceID(trace)
		span.SetSpanID(id)
		span.SetKind(ptrace.SpanKindClient)
		span.Status().SetCode(ptrace.StatusCodeOk)
		start := epoch.Add(time.Duration(i%spansPerTrace) * time.Millisecond)
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(start))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(200_000 + random.IntN(900_000_000)))))
	}
	return td
}

func fillSpan(span ptrace.Span, random *rand.Rand, words vocabulary, i int) {
	models := []string{"gpt-5-mini", "claude-sonnet-4-5", "gemini-2.5-flash", "qwen3-32b"}
	tools := []string{"search_docs", "run_sql", "read_file", "send_email", "book_room"}
	attributes := span.Attributes()
	attributes.PutStr("gen_ai.conversation.id", fmt.Sprintf("conv-%08x", random.Uint32()))
	attributes.PutStr("gen_ai.agent.name", "planner-"+strconv.Itoa(i%7))
	attributes.PutStr("deployment.environment.name", "bench")
	attributes.PutStr("user.id", "user-"+strconv.Itoa(random.IntN(5000)))
	const text = valueBytes - 160 // the attributes above take the rest
	if i%3 == 0 {
		tool := tools[random.IntN(len(tools))]
		span.SetName("execute_tool " + tool)
		attributes.PutStr("gen_ai.operation.name", "execute_tool")
		attributes.PutStr("gen_ai.tool.name", tool)
		attributes.PutStr("gen_ai.tool.call.id", fmt.Sprintf("call_%012x", random.Uint64()>>16))
		attributes.PutStr("gen_ai.tool.call.arguments", marshal(map[string]string{"query": words.text(random, text/3)}))
		attributes.PutStr("gen_ai.tool.call.result", words.text(random, text*2/3))
	} else {
		model := models[random.IntN(len(models))]
		span.SetName("chat " + model)
		attributes.PutStr("gen_ai.operation.name", "chat")
		attributes.PutStr("gen_ai.provider.name", "openai")
		attributes.PutStr("gen_ai.request.model", model)
		attributes.PutStr("gen_ai.response.model", model)
		attributes.PutInt("gen_ai.usage.input_tokens", int64(100+random.IntN(4000)))
		attributes.PutInt("gen_ai.usage.output_tokens", int64(10+random.IntN(800)))
		attributes.PutStr("gen_ai.input.messages", marshal([]any{message("user", words.text(random, text*2/3))}))
		attributes.PutStr("gen_ai.output.messages", marshal([]any{message("assistant", words.text(random, text/3))}))
	}
	attributes.PutInt("loadgen.i", int64(i))
}

func message(role, text string) map[string]any {
	return map[string]any{"role": role, "parts": []map[string]string{{"type": "text", "content": text}}}
}

func marshal(value any) string {
	text, _ := json.Marshal(value) // maps of strings always marshal
	return string(text)
}

// vocabulary returns words, frequent ones first.
type vocabulary []string

func newVocabulary(random *rand.Rand) vocabulary {
	syllables := strings.Fields("ta ren mo li ka su per in tion al de con ver ra pro ment er o vi ble")
	words := make(vocabulary, 1500)
	for i := range words {
		for range 1 + random.IntN(4) {
			words[i] += syllables[random.IntN(len(syllables))]
		}
	}
	return words
}

// text returns about size bytes of text.
func (v vocabulary) text(random *rand.Rand, size int) string {
	var text strings.Builder
	for text.Len() < size {
		// A squared random number gives a few frequent words and a long tail.
		draw := random.Float64()
		text.WriteString(v[int(draw*draw*float64(len(v)))])
		text.WriteByte(' ')
	}
	return text.String()[:size]
}
