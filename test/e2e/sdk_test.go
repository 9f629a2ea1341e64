package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/programs"
)

const (
	// trip is the file of the run that each SDK records.
	trip = "testdata/trip.json"
	// goService is the service that records the trip in Go over HTTP. The browser looks for it.
	goService = "go-http-ingest"
)

// tripStep is one span of the trip. SDKs send attributes that are structures as JSON text.
type tripStep struct {
	Name       string                     `json:"name"`
	Attributes map[string]json.RawMessage `json:"attributes"`
	Error      *failure                   `json:"error"`
	Steps      []tripStep                 `json:"steps"`
}

// TestSDKs sends the trip with each stock SDK to each endpoint that the SDK supports, and reads it back.
func TestSDKs(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tripFile, err := filepath.Abs(trip)
	require.NoError(t, err)
	python, node := programs.Python(t, "e2e-python", "python/requirements.txt"), programs.Node(t, "e2e-node", os.DirFS("node"))
	ports := p.product.Ports
	pythonSends := func(protocol, endpoint string, env ...string) func(*testing.T, string) string {
		return func(t *testing.T, service string) string {
			t.Helper()
			cmd := programs.Command(t.Context(), python, "python/send.py", protocol, endpoint, p.ingestKey, tripFile, service)
			cmd.Env = append(cmd.Env, env...)
			return string(programs.Output(t, cmd))
		}
	}
	nodeSends := func(endpoint string) func(*testing.T, string) string {
		return func(t *testing.T, service string) string {
			t.Helper()
			return string(programs.Output(t, programs.Command(t.Context(), "node", filepath.Join(node, "send.mjs"), endpoint, p.ingestKey, tripFile, service)))
		}
	}
	authorization := p.authorization()
	goSends := func(client otlptrace.Client) func(*testing.T, string) string {
		return func(t *testing.T, service string) string { return recordTrip(t, client, service) }
	}

	for _, sender := range []struct {
		service string
		send    func(t *testing.T, service string) (traceID string)
	}{
		{goService, goSends(p.ingestClient())},
		{"go-http-gzip-otlp-port", goSends(otlptracehttp.NewClient(
			otlptracehttp.WithEndpointURL(ports.URL(product.OTLPHTTP)+"/v1/traces"), otlptracehttp.WithHeaders(authorization),
			otlptracehttp.WithCompression(otlptracehttp.GzipCompression)))},
		{"go-grpc", goSends(otlptracegrpc.NewClient(
			otlptracegrpc.WithEndpoint(ports.Addr(product.OTLPGRPC)), otlptracegrpc.WithInsecure(), otlptracegrpc.WithHeaders(authorization)))},
		{"python-http-web", pythonSends("http", ports.URL(product.Web)+"/v1/traces")},
		{"python-http-otlp-port", pythonSends("http", ports.URL(product.OTLPHTTP)+"/v1/traces")},
		{"python-http-deflate-otlp-port", pythonSends("http", ports.URL(product.OTLPHTTP)+"/v1/traces", "OTEL_EXPORTER_OTLP_COMPRESSION=deflate")},
		{"python-grpc", pythonSends("grpc", ports.Addr(product.OTLPGRPC))},
		{"node-json-ingest", nodeSends(ports.URL(product.Ingest) + "/v1/traces")},
		{"node-json-otlp-port", nodeSends(ports.URL(product.OTLPHTTP) + "/v1/traces")},
	} {
		t.Run(sender.service, func(t *testing.T) {
			t.Parallel()
			id, err := uuid.Parse(strings.TrimSpace(sender.send(t, sender.service)))
			require.NoError(t, err)
			p.assertTrip(t, id.String(), sender.service)
		})
	}
}

// sendTrip sends the trip with the SDK for Go and waits until it is stored.
func (p *project) sendTrip(t *testing.T) (runID string) {
	t.Helper()
	id, err := uuid.Parse(recordTrip(t, p.ingestClient(), goService))
	require.NoError(t, err)
	p.awaitRun(t, id.String(), ofSpans(3))
	return id.String()
}

func (p *project) ingestClient() otlptrace.Client {
	return otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(p.product.Ports.URL(product.Ingest)+"/v1/traces"),
		otlptracehttp.WithHeaders(p.authorization()))
}

func (p *project) authorization() map[string]string {
	return map[string]string{"authorization": "Bearer " + p.ingestKey}
}

// recordTrip records the trip with the SDK for Go and returns its trace id.
func recordTrip(t *testing.T, client otlptrace.Client, service string) string {
	t.Helper()
	return record(t, client, service, readTrip(t))
}

// record records a trace with the SDK for Go and returns its id.
func record(t *testing.T, client otlptrace.Client, service string, root tripStep) string {
	t.Helper()
	exporter, err := otlptrace.New(t.Context(), client)
	require.NoError(t, err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", service))))
	traceID := recordStep(t.Context(), t, provider.Tracer("e2e"), root)
	require.NoError(t, provider.ForceFlush(t.Context()), "the export succeeds")
	require.NoError(t, provider.Shutdown(t.Context()))
	return traceID
}

func recordStep(ctx context.Context, t *testing.T, tracer trace.Tracer, step tripStep) string {
	t.Helper()
	ctx, span := tracer.Start(ctx, step.Name)
	defer span.End()
	for name, value := range step.Attributes {
		span.SetAttributes(attributeOf(t, name, value))
	}
	for _, child := range step.Steps {
		recordStep(ctx, t, tracer, child)
	}
	if e := step.Error; e != nil {
		span.SetAttributes(attribute.String("error.type", e.Type))
		span.SetStatus(codes.Error, e.Message)
		if e.Stack != "" {
			span.AddEvent("exception", trace.WithAttributes(attribute.String("exception.type", e.Type),
				attribute.String("exception.message", e.Message), attribute.String("exception.stacktrace", e.Stack)))
		}
	}
	return span.SpanContext().TraceID().String()
}

func attributeOf(t *testing.T, name string, value json.RawMessage) attribute.KeyValue {
	t.Helper()
	var (
		text    string
		whole   int
		number  float64
		strings []string
	)
	switch {
	case json.Unmarshal(value, &text) == nil:
		return attribute.String(name, text)
	case json.Unmarshal(value, &whole) == nil:
		return attribute.Int(name, whole)
	case json.Unmarshal(value, &number) == nil:
		return attribute.Float64(name, number)
	case json.Unmarshal(value, &strings) == nil:
		return attribute.StringSlice(name, strings)
	default:
		return attribute.String(name, string(value))
	}
}

func readTrip(t *testing.T) tripStep {
	t.Helper()
	content, err := os.ReadFile(trip)
	require.NoError(t, err)
	var step tripStep
	require.NoError(t, json.Unmarshal(content, &step))
	return step
}

// assertTrip compares what the API returns with trip.json.
func (p *project) assertTrip(t *testing.T, id, service string) {
	t.Helper()
	want := readTrip(t)
	chat, booking := want.Steps[0], want.Steps[1]

	r := p.awaitRun(t, id, ofSpans(3))
	assert.Equal(t, want.Name, r.Name)
	assert.Equal(t, "agent", r.Kind)
	assert.Equal(t, "error", r.Status)
	assert.Equal(t, &failure{Type: want.Error.Type, Message: want.Error.Message}, r.Error)
	assert.Equal(t, "travel", deref(r.AgentName))
	assert.Equal(t, "trip-to-zürich", deref(r.ConversationID))
	assert.Equal(t, []string{"gpt-4o-mini-2024-07-18"}, r.Models)
	assert.Equal(t, counts(1204, 87, 1024), r.Usage)
	if assert.NotNil(t, r.CostUSD) {
		// gpt-4o-mini, a million tokens: input $0.15, cached input $0.075, output $0.60.
		assert.InDelta(t, (180*0.15+1024*0.075+87*0.6)/1e6, *r.CostUSD, 1e-12)
	}
	assert.Equal(t, "computed", deref(r.CostSource))
	assert.Equal(t, []int{2, 1, 1}, []int{r.ErrorCount, r.LLMCallCount, r.ToolCallCount}, "errors, model calls, tool calls")
	assert.NotNil(t, r.EndTime)

	spans := p.spans(t, id)
	require.Len(t, spans, 3)
	byName := map[string]span{}
	for _, span := range spans {
		byName[span.Name] = span
		assert.Equal(t, service, deref(span.ServiceName))
		assert.Equal(t, "e2e", deref(span.ScopeName))
	}
	root := byName[want.Name]
	assert.Equal(t, "agent", root.Kind)
	assert.Nil(t, root.ParentSpanID)

	llm := byName[chat.Name]
	assert.Equal(t, "llm", llm.Kind)
	assert.Equal(t, "ok", llm.Status)
	assert.Equal(t, root.SpanID, deref(llm.ParentSpanID))
	assert.Equal(t, 1, llm.Depth)
	assert.Equal(t, "openai", deref(llm.Provider))
	assert.Equal(t, "gpt-4o-mini", deref(llm.RequestModel))
	assert.Equal(t, "gpt-4o-mini-2024-07-18", deref(llm.ResponseModel))
	assert.Equal(t, []string{"tool_call"}, llm.FinishReasons)
	assert.Equal(t, counts(1204, 87, 1024), llm.Usage)
	assertSameJSON(t, chat.Attributes["gen_ai.system_instructions"], llm.SystemInstructions)
	assertSameJSON(t, chat.Attributes["gen_ai.input.messages"], llm.InputMessages)
	assertSameJSON(t, chat.Attributes["gen_ai.output.messages"], llm.OutputMessages)
	assertSameJSON(t, chat.Attributes["gen_ai.request.temperature"], llm.Attributes["gen_ai.request.temperature"])

	call := byName[booking.Name]
	assert.Equal(t, "tool", call.Kind)
	assert.Equal(t, "error", call.Status)
	assert.Equal(t, booking.Error, call.Error)
	if assert.NotNil(t, call.Tool) {
		assert.Equal(t, "book_hotel", deref(call.Tool.Name))
		assert.Equal(t, "call_1", deref(call.Tool.CallID))
		assert.JSONEq(t, string(booking.Attributes["gen_ai.tool.call.arguments"]), deref(call.Tool.Arguments))
		assert.Nil(t, call.Tool.Result, "the call failed")
	}
}

// counts is the usage of a call without cache writes and reasoning.
func counts(input, output, cacheRead int64) *usage {
	total := input + output
	return &usage{Input: &input, Output: &output, CacheRead: &cacheRead, Total: &total}
}

func assertSameJSON(t *testing.T, want json.RawMessage, got any) {
	t.Helper()
	text, err := json.Marshal(got)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(text))
}
