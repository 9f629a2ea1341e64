// Package load sends runs to the product like clients do, and keeps a ledger of what was acknowledged, so that a test
// can read every run back and compare it.
package load

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/test/product"
)

// Run is the expected result of reading a run that was sent.
type Run struct {
	ID       uuid.UUID
	Endpoint Endpoint

	Spans, LLMCalls, Errors   int64
	InputTokens, OutputTokens int64
	// CostUSD is a sum of 1024ths, which floating point adds exactly in any order.
	CostUSD float64

	Start time.Time
	// Accepted is when the last part of the run was acknowledged.
	Accepted time.Time
}

// Shape describes runs to generate.
type Shape struct {
	// Spans is the number of spans of a run, including its root.
	Spans int
	// Parts is the number of requests for a run. 0 means 1.
	Parts int
	// Shuffled distributes the spans over the parts, and sends those, in random order. Otherwise spans are in the order
	// of their ends, as an agent's SDK sends them.
	Shuffled bool
	// TextBytes is the length of a model's input and output. 0 means that of a typical message.
	TextBytes int
	// Age is how long ago a run began. A negative value is in the future.
	Age time.Duration
}

// Endpoint is a port, path and encoding of ingest.
type Endpoint int

// The endpoints.
const (
	NativeJSON Endpoint = iota
	TracesProtobuf
	TracesJSON
	OTLPProtobuf
	GRPC
)

// Endpoints lists all of them.
func Endpoints() []Endpoint {
	return []Endpoint{NativeJSON, TracesProtobuf, TracesJSON, OTLPProtobuf, GRPC}
}

func (d Endpoint) String() string {
	return [...]string{
		"7080 /v1/runs JSON", "7080 /v1/traces protobuf", "7080 /v1/traces JSON", "4318 /v1/traces protobuf", "4317 gRPC",
	}[d]
}

// url returns the URL of an HTTP endpoint.
func (d Endpoint) url(ports product.Ports) string {
	switch d {
	case NativeJSON:
		return ports.URL(product.Ingest) + "/v1/runs"
	case OTLPProtobuf:
		return ports.URL(product.OTLPHTTP) + "/v1/traces"
	default:
		return ports.URL(product.Ingest) + "/v1/traces"
	}
}

func (d Endpoint) contentType() string {
	if d == NativeJSON || d == TracesJSON {
		return product.JSON
	}
	return product.Protobuf
}

// accepted returns the endpoint's status for an acknowledgement.
func (d Endpoint) accepted() int {
	if d == OTLPProtobuf || d == GRPC {
		return http.StatusOK
	}
	return http.StatusAccepted
}

// step is a span below the root: an llm call with its tokens, or a tool call.
type step struct {
	id                        pcommon.SpanID
	llm, failed               bool
	inputTokens, outputTokens int64
	costUSD                   float64
	start, end                time.Time
}

// newRun generates a run and its requests. Every second span below the root is an llm call, every fifth one failed.
func newRun(endpoint Endpoint, shape Shape) (Run, [][]byte) {
	start := time.Now().Add(-shape.Age - time.Duration(shape.Spans)*time.Millisecond)
	run := Run{ID: uuid.New(), Endpoint: endpoint, Spans: int64(shape.Spans), Start: start}
	steps := make([]step, shape.Spans-1)
	for i := range steps {
		s := step{
			llm: i%2 == 0, failed: i%5 == 3,
			start: start.Add(time.Duration(i) * time.Millisecond),
			end:   start.Add(time.Duration(i+1) * time.Millisecond),
		}
		s.id = pcommon.SpanID{byte(i >> 8), byte(i), 1, 2, 3, 4, 5, byte(endpoint + 1)}
		if s.llm {
			s.inputTokens, s.outputTokens = 1+rand.Int64N(4000), 1+rand.Int64N(800)
			s.costUSD = float64(1+rand.IntN(64)) / 1024
			run.LLMCalls++
			run.InputTokens += s.inputTokens
			run.OutputTokens += s.outputTokens
			run.CostUSD += s.costUSD
		}
		if s.failed {
			run.Errors++
		}
		steps[i] = s
	}
	if shape.Shuffled {
		rand.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	}
	e := encoder{run: &run, end: start.Add(time.Duration(shape.Spans) * time.Millisecond), prompt: prompt, completion: completion}
	if shape.TextBytes > 0 {
		e.prompt, e.completion = text(shape.TextBytes), text(shape.TextBytes)
	}
	parts := max(shape.Parts, 1)
	bodies := make([][]byte, parts)
	for i := range bodies {
		some, last := steps[i*len(steps)/parts:(i+1)*len(steps)/parts], i == parts-1
		if endpoint == NativeJSON {
			bodies[i] = e.runs(some, last)
		} else {
			bodies[i] = e.traces(some, last)
		}
	}
	if shape.Shuffled {
		rand.Shuffle(parts, func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })
	}
	return run, bodies
}

// encoder writes the requests of one run.
type encoder struct {
	run                *Run
	end                time.Time
	prompt, completion string
}

// runs encodes a native envelope. The run is in each of its parts and has an end in the last.
func (e encoder) runs(steps []step, last bool) []byte {
	root := map[string]any{
		"run_id": e.run.ID, "name": "answer a question", "start_time": e.run.Start,
		"inputs": "What became of order 4711?", "session_id": "load", "tags": []string{"load"},
	}
	if last {
		root["status"], root["end_time"], root["outputs"] = "ok", e.end, "It has been delivered."
	}
	spans := make([]any, 0, len(steps))
	for _, s := range steps {
		span := map[string]any{
			"span_id": s.id.String(), "run_id": e.run.ID, "start_time": s.start, "end_time": s.end, "status": "ok",
		}
		if s.failed {
			span["status"], span["error"] = "error", map[string]any{"type": failure, "message": "no answer in time"}
		}
		if s.llm {
			span["name"], span["kind"], span["model"] = "chat", "llm", "gpt-5"
			span["inputs"], span["outputs"], span["cost_usd"] = e.prompt, e.completion, s.costUSD
			span["usage"] = map[string]any{"input_tokens": s.inputTokens, "output_tokens": s.outputTokens}
		} else {
			span["name"], span["kind"] = "look up an order", "tool"
			span["tool"] = map[string]any{"name": "orders", "arguments": map[string]any{"id": 4711}, "result": "delivered"}
		}
		spans = append(spans, span)
	}
	body, err := json.Marshal(map[string]any{"sdk": "load/1", "runs": []any{root}, "spans": spans})
	if err != nil {
		panic(fmt.Sprintf("encode an envelope: %v", err)) // strings, numbers and times
	}
	return body
}

// traces encodes an OTLP request. The root is in the last part, as in OpenTelemetry.
func (e encoder) traces(steps []step, last bool) []byte {
	traces := ptrace.NewTraces()
	resource := traces.ResourceSpans().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "load")
	spans := resource.ScopeSpans().AppendEmpty().Spans()
	rootID := pcommon.SpanID(e.run.ID[8:])
	for _, s := range steps {
		name, kind := "look up an order", "execute_tool"
		if s.llm {
			name, kind = "chat gpt-5", "chat"
		}
		span := appendSpan(spans, e.run.ID, s.id, name, kind, s.start, s.end)
		span.SetParentSpanID(rootID)
		if s.failed {
			span.Status().SetCode(ptrace.StatusCodeError)
			span.Status().SetMessage("no answer in time")
			span.Attributes().PutStr("error.type", failure)
		}
		if s.llm {
			span.Attributes().PutStr("gen_ai.request.model", "gpt-5")
			span.Attributes().PutInt("gen_ai.usage.input_tokens", s.inputTokens)
			span.Attributes().PutInt("gen_ai.usage.output_tokens", s.outputTokens)
			span.Attributes().PutDouble("looptrace.cost_usd", s.costUSD)
			span.Attributes().PutStr("gen_ai.input.messages", message("user", e.prompt))
			span.Attributes().PutStr("gen_ai.output.messages", message("assistant", e.completion))
		} else {
			span.Attributes().PutStr("gen_ai.tool.name", "orders")
			span.Attributes().PutStr("gen_ai.tool.call.arguments", `{"id":4711}`)
		}
	}
	if last {
		appendSpan(spans, e.run.ID, rootID, "invoke_agent", "invoke_agent", e.run.Start, e.end)
	}
	var body []byte
	var err error
	if e.run.Endpoint == TracesJSON {
		body, err = (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	} else {
		body, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(traces)
	}
	if err != nil {
		panic(fmt.Sprintf("encode traces: %v", err)) // consists of valid parts
	}
	return body
}

func appendSpan(spans ptrace.SpanSlice, trace uuid.UUID, id pcommon.SpanID, name, operation string, start, end time.Time) ptrace.Span {
	span := spans.AppendEmpty()
	span.SetTraceID(pcommon.TraceID(trace))
	span.SetSpanID(id)
	span.SetName(name)
	span.SetKind(ptrace.SpanKindInternal)
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(start))
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(end))
	span.Status().SetCode(ptrace.StatusCodeOk)
	span.Attributes().PutStr("gen_ai.operation.name", operation)
	return span
}

func message(role, text string) string {
	return fmt.Sprintf(`[{"role":%q,"parts":[{"type":"text","content":%q}]}]`, role, text)
}

// failure is the error type of a failed span.
const failure = "timeout"

// Input and output of a model, of a length typical for agents.
var (
	prompt     = strings.Repeat("The customer asks where the order is that was placed last week. ", 12)
	completion = strings.Repeat("It has left the warehouse and arrives on Friday. ", 6)
)

// text returns unique text of so many bytes.
func text(bytes int) string {
	var b strings.Builder
	for b.Len() < bytes {
		_, _ = fmt.Fprintf(&b, "%x ", rand.Uint64()) // a builder does not fail
	}
	return b.String()[:bytes]
}
