package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

// newest are the sources in the newest GenAI conventions. Their runs must have messages and totals. Runs of other
// sources must have all spans and attributes.
var newest = []string{"inspect-ai-logs", "jaeger-genai-trace", "semconv-genai-reference", "tau-bench-airline"}

// nonConformant is refused. Its ids are in base64, which OTLP/JSON does not allow.
const nonConformant = "langwatch-tests/otlp/strands-python-1.14.base64ids-enumnames.json"

// traces are the recorded traces in a folder.
type traces struct {
	dir   string
	files []traceFile
	// byID maps trace ids to span ids to spans, over all files.
	byID map[string]map[string]*sourceSpan
}

type traceFile struct {
	name    string // "source/otlp/file.json"
	body    []byte
	refused bool
}

// sourceSpan is a span that was sent, with its source and resource.
type sourceSpan struct {
	sentSpan
	source   string
	resource keyValues
}

// recordings are traces that other projects recorded, and the project that they are sent to.
type recordings struct {
	*project

	traces *traces
}

// TestRealTraces sends recorded traces to each endpoint for OTLP over HTTP, each trace three times. It reads them back
// before and after a restart.
func TestRealTraces(t *testing.T) {
	folder := os.Getenv("LOOPTRACE_REALDATA")
	if folder == "" {
		t.Skip("LOOPTRACE_REALDATA names the folder of real traces")
	}
	r := &recordings{newProduct(t), loadTraces(t, folder)}
	t.Run("real traces", r.realTraces)
	t.Run("sent three times, stored once", func(t *testing.T) {
		require.NoError(t, r.product.Down())
		require.NoError(t, r.product.Up(t.Context()))
		r.listedOnce(t)
		r.totals(t)
	})
}

func loadTraces(t *testing.T, dir string) *traces {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "otlp", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths, "no traces in %s", dir)
	loaded := &traces{dir: dir, byID: map[string]map[string]*sourceSpan{}}
	for _, path := range paths {
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		file := traceFile{name: filepath.ToSlash(name), body: body}
		file.refused = file.name == nonConformant
		if !file.refused {
			loaded.add(t, file)
		}
		loaded.files = append(loaded.files, file)
	}
	return loaded
}

func (l *traces) add(t *testing.T, file traceFile) {
	t.Helper()
	var request exportRequest
	require.NoError(t, json.Unmarshal(file.body, &request), file.name)
	source, _, _ := strings.Cut(file.name, "/")
	for _, rs := range request.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, sent := range ss.Spans {
				spans := l.byID[sent.TraceID]
				if spans == nil {
					spans = map[string]*sourceSpan{}
					l.byID[sent.TraceID] = spans
				}
				spans[sent.SpanID] = &sourceSpan{sent, source, rs.Resource.Attributes}
			}
		}
	}
}

// realTraces sends each file to one endpoint, reads all traces back, and sends the files to the other two endpoints.
func (r *recordings) realTraces(t *testing.T) {
	ports := r.product.Ports
	endpoints := []endpoint{
		{ports.URL(product.Ingest) + "/v1/traces", http.StatusAccepted},
		{ports.URL(product.Web) + "/v1/traces", http.StatusAccepted},
		{ports.URL(product.OTLPHTTP) + "/v1/traces", http.StatusOK},
	}
	for i, file := range r.traces.files {
		r.sendFile(t, endpoints[i%2], file)
	}
	spanCount := 0
	for _, spans := range r.traces.byID {
		spanCount += len(spans)
	}
	t.Logf("%d files, %d traces, %d spans", len(r.traces.files), len(r.traces.byID), spanCount)

	t.Run("every span is visible", r.everySpanVisible)
	t.Run("every attribute is kept", r.attributesKept)
	t.Run("totals", r.totals)
	t.Run("expected", r.expected)
	for i, file := range r.traces.files {
		r.sendFile(t, endpoints[(i+1)%2], file)
		r.sendFile(t, endpoints[2], file)
	}
}

type endpoint struct {
	url      string
	accepted int
}

func (r *recordings) sendFile(t *testing.T, e endpoint, file traceFile) {
	t.Helper()
	answer, err := product.Post(t.Context(), e.url, r.ingestKey, product.JSON, file.body)
	require.NoError(t, err)
	want := e.accepted
	if file.refused {
		want = http.StatusBadRequest
	}
	assert.Equal(t, want, answer.Status, "%s to %s: %s", file.name, e.url, answer.Body)
	if want == e.accepted {
		assert.NotContains(t, string(answer.Body), "rejectedSpans", file.name)
	}
}

// everySpanVisible checks that each run has exactly the distinct spans of its trace.
func (r *recordings) everySpanVisible(t *testing.T) {
	for traceID, spans := range r.traces.byID {
		r.awaitRun(t, runID(t, traceID), ofSpans(len(spans)))
	}
	r.listedOnce(t)
}

// listedOnce checks that the list has each trace once, with its number of spans.
func (r *recordings) listedOnce(t *testing.T) {
	listed := r.listed(t)
	for traceID, spans := range r.traces.byID {
		assert.Equal(t, len(spans), listed[runID(t, traceID)].SpanCount, "trace %s in the list", traceID)
	}
}

// attributesKept checks that the API returns each attribute of each span, as an attribute or as a member of its own.
func (r *recordings) attributesKept(t *testing.T) {
	for traceID, sent := range r.traces.byID {
		got := r.spans(t, runID(t, traceID))
		assert.Len(t, got, len(sent), "spans of trace %s", traceID)
		for i := range got {
			want, ok := sent[got[i].SpanID]
			if !assert.True(t, ok, "trace %s has a span %s that was not sent", traceID, got[i].SpanID) {
				continue
			}
			where := want.source + " " + traceID + " " + want.SpanID
			name := want.Name
			if message := want.text("logfire.msg"); message != "" && strings.Contains(name, "{") {
				name = message // Logfire's name is the template of its message
			}
			assert.Equal(t, name, got[i].Name, where)
			assert.Equal(t, strings.Trim(want.ParentSpanID, "0"), strings.Trim(deref(got[i].ParentSpanID), "0"), where)
			assert.Len(t, got[i].Events, len(want.Events), "events of %s", where)
			for key, value := range want.Attributes {
				assert.True(t, got[i].keeps(key, value), "%s: %s was sent as %.200q, the API has %.200q", where, key, fmt.Sprint(value), fmt.Sprint(got[i].shown(key)))
			}
			for key := range got[i].Attributes {
				assert.Contains(t, want.Attributes, key, "%s has an attribute that was not sent", where)
			}
			for key, value := range want.resource {
				assert.True(t, equal(value, got[i].ResourceAttributes[key]), "%s: resource attribute %s was sent as %.200v, the API has %.200v",
					where, key, value, got[i].ResourceAttributes[key])
			}
		}
	}
}

// keeps reports whether the span has an attribute's value: as it was sent, or as a member of the API. An attribute of ""
// may be absent.
func (s *span) keeps(key string, sent any) bool {
	if got, ok := s.Attributes[key]; ok && equal(sent, got) {
		return true
	}
	shown := s.shown(key)
	text, isText := sent.(string)
	if isText && (text == shown || text == "" && shown == nil) {
		return true
	}
	if value, ok := parsed(text); ok {
		sent = value
	}
	if list, ok := shown.([]any); ok && len(list) == 1 && equal(sent, list[0]) {
		return true // an instrumentation may send the only element without its list
	}
	if text, ok := shown.(string); ok { // the API returns a structure as JSON text
		shown, _ = parsed(text)
	}
	return equal(sent, shown)
}

// shown returns the member of the API for an attribute, or the attribute where there is none.
func (s *span) shown(key string) any {
	var member any
	switch key {
	case "gen_ai.system_instructions":
		member = s.SystemInstructions
	case "gen_ai.input.messages":
		member = s.InputMessages
	case "gen_ai.output.messages":
		member = s.OutputMessages
	case "gen_ai.tool.definitions":
		member = s.ToolDefinitions
	case "gen_ai.tool.call.arguments":
		if s.Tool != nil && s.Tool.Arguments != nil {
			member = *s.Tool.Arguments
		}
	case "gen_ai.tool.call.result":
		if s.Tool != nil && s.Tool.Result != nil {
			member = *s.Tool.Result
		}
	}
	if member == nil {
		member = s.Attributes[key]
	}
	return member
}

// totals compares each run in the newest conventions with sums of the spans that were sent.
func (r *recordings) totals(t *testing.T) {
	compared := 0
	listed := r.listed(t)
	for traceID, spans := range r.traces.byID {
		if !inNewest(spans) {
			continue
		}
		compared++
		got, want := listed[runID(t, traceID)], sum(spans)
		assert.Equal(t, want.usage, got.Usage, "usage of trace %s", traceID)
		assert.Equal(t, want.models, got.Models, "models of trace %s", traceID)
		assert.Equal(t, want.llmCalls, got.LLMCallCount, "model calls of trace %s", traceID)
		assert.Equal(t, want.toolCalls, got.ToolCallCount, "tool calls of trace %s", traceID)
		assert.NotEqual(t, "sent", deref(got.CostSource), "no cost was sent for trace %s", traceID)
	}
	t.Logf("%d runs compared", compared)
	require.NotZero(t, compared)
}

func inNewest(spans map[string]*sourceSpan) bool {
	for _, span := range spans {
		return slices.Contains(newest, span.source)
	}
	return false
}

type sums struct {
	usage               *usage
	models              []string
	llmCalls, toolCalls int
}

// sum adds up the usage of a trace's model calls and embeddings. Without any, it adds up the other spans, such as an
// agent whose calls were not recorded. A fetched response is counted in the call that produced it.
func sum(spans map[string]*sourceSpan) sums {
	total := sums{models: []string{}}
	var calls, others []*sourceSpan
	for _, span := range spans {
		switch operation := span.text("gen_ai.operation.name"); operation {
		case "chat", "generate_content", "text_completion":
			calls = append(calls, span)
			total.llmCalls++
		case "fetch_response": // a different call produced the response
		case "embeddings":
			calls = append(calls, span)
		case "execute_tool":
			total.toolCalls++
		default:
			others = append(others, span)
		}
		model := span.text("gen_ai.response.model")
		if model == "" {
			model = span.text("gen_ai.request.model")
		}
		if model != "" && !slices.Contains(total.models, model) {
			total.models = append(total.models, model)
		}
	}
	slices.Sort(total.models)
	if total.usage = addUp(calls); total.usage == nil {
		total.usage = addUp(others)
	}
	return total
}

func addUp(spans []*sourceSpan) *usage {
	var total usage
	for _, span := range spans {
		for key, field := range map[string]**int64{
			"gen_ai.usage.input_tokens":             &total.Input,
			"gen_ai.usage.output_tokens":            &total.Output,
			"gen_ai.usage.cache_read.input_tokens":  &total.CacheRead,
			"gen_ai.usage.cache_write.input_tokens": &total.CacheWrite,
			"gen_ai.usage.reasoning.output_tokens":  &total.Reasoning,
		} {
			if n := span.count(key); n != nil {
				sum := *n + deref(*field)
				*field = &sum
			}
		}
	}
	if total == (usage{}) {
		return nil
	}
	if total.Input != nil || total.Output != nil {
		both := deref(total.Input) + deref(total.Output)
		total.Total = &both
	}
	return &total
}

// expectations is expected.json beside a source's files: facts that a person has verified.
type expectations struct {
	Cases []struct {
		TraceID string `json:"trace_id"`
		SpanID  string `json:"span_id"`
		Expect  struct {
			Kind           string         `json:"kind"`
			Operation      string         `json:"operation"`
			Provider       string         `json:"provider"`
			RequestModel   string         `json:"request_model"`
			ResponseModel  string         `json:"response_model"`
			AgentName      string         `json:"agent_name"`
			FinishReasons  []string       `json:"finish_reasons"`
			Usage          *expectedUsage `json:"usage"`
			InputMessages  any            `json:"input_messages"`
			OutputMessages any            `json:"output_messages"`
		} `json:"expect"`
	} `json:"cases"`
	Traces []struct {
		TraceIDs []string `json:"trace_ids"`
		Expect   struct {
			LLMCalls       *int           `json:"llm_calls"`
			ToolCalls      *int           `json:"tool_calls"`
			UsageTotal     *expectedUsage `json:"usage_total"`
			ConversationID string         `json:"conversation_id"`
		} `json:"expect"`
	} `json:"traces"`
}

type expectedUsage struct {
	Input, Output *int64
	CacheRead     *int64 `json:"cache_read"`
}

// expectedKinds maps the kinds of expected.json whose names differ from the API's. Memory operations have no kind.
var expectedKinds = map[string]string{"retrieval": "retriever", "rerank": "reranker", "plan": "task", "other": "span", "memory": ""}

// expected compares the runs of the newest sources with their expected.json.
func (r *recordings) expected(t *testing.T) {
	listed := r.listed(t)
	for _, source := range newest {
		text, err := os.ReadFile(filepath.Join(r.traces.dir, source, "expected.json"))
		require.NoError(t, err)
		var want expectations
		require.NoError(t, json.Unmarshal(text, &want))
		for _, trace := range want.Traces {
			if len(trace.TraceIDs) != 1 {
				continue // the figures are sums of several traces
			}
			got := listed[runID(t, trace.TraceIDs[0])]
			where, expect := source+" "+trace.TraceIDs[0], trace.Expect
			if expect.LLMCalls != nil {
				assert.Equal(t, *expect.LLMCalls, got.LLMCallCount, "model calls of %s", where)
			}
			if expect.ToolCalls != nil {
				assert.Equal(t, *expect.ToolCalls, got.ToolCallCount, "tool calls of %s", where)
			}
			if expect.ConversationID != "" {
				assert.Equal(t, expect.ConversationID, deref(got.ConversationID), "conversation of %s", where)
			}
			expect.UsageTotal.assert(t, got.Usage, where)
		}
		for _, c := range want.Cases {
			var got span
			status, err := r.get(t.Context(), "/v1/runs/"+runID(t, c.TraceID)+"/spans/"+c.SpanID, &got)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status)
			where, expect := source+" "+c.TraceID+" "+c.SpanID, c.Expect
			kind, ok := expectedKinds[expect.Kind]
			if !ok {
				kind = expect.Kind
			}
			for what, pair := range map[string][2]string{
				"kind": {kind, got.Kind}, "operation": {expect.Operation, deref(got.Operation)},
				"provider":       {expect.Provider, deref(got.Provider)},
				"request model":  {expect.RequestModel, deref(got.RequestModel)},
				"response model": {expect.ResponseModel, deref(got.ResponseModel)},
				"agent":          {expect.AgentName, deref(got.AgentName)},
			} {
				if pair[0] != "" {
					assert.Equal(t, pair[0], pair[1], "%s of %s", what, where)
				}
			}
			if expect.FinishReasons != nil {
				assert.Equal(t, expect.FinishReasons, got.FinishReasons, "finish reasons of %s", where)
			}
			expect.Usage.assert(t, got.Usage, where)
			if expect.InputMessages != nil {
				assertMessages(t, expect.InputMessages, got.InputMessages, where)
			}
			if expect.OutputMessages != nil {
				assertMessages(t, expect.OutputMessages, got.OutputMessages, where)
			}
		}
	}
}

func (want *expectedUsage) assert(t *testing.T, got *usage, where string) {
	t.Helper()
	if want == nil {
		assert.Nil(t, got, "usage of %s is unknown", where)
		return
	}
	if !assert.NotNil(t, got, "usage of %s", where) {
		return
	}
	if want.Input != nil {
		assert.Equal(t, *want.Input, deref(got.Input), "input tokens of %s", where)
	}
	if want.Output != nil {
		assert.Equal(t, *want.Output, deref(got.Output), "output tokens of %s", where)
	}
	if want.CacheRead != nil { // 0 may be absent
		assert.Equal(t, *want.CacheRead, deref(got.CacheRead), "cached tokens of %s", where)
	}
}

// assertMessages compares the members of messages that expected.json has.
func assertMessages(t *testing.T, want, got any, where string) {
	t.Helper()
	wantText, err := json.Marshal(want)
	require.NoError(t, err)
	gotText, err := json.Marshal(got)
	require.NoError(t, err)
	assert.True(t, within(want, got), "messages of %s: %s expected, the API has %s", where, wantText, gotText)
}

// within reports whether got has every member of want.
func within(want, got any) bool {
	switch want := want.(type) {
	case nil:
		return true
	case map[string]any:
		object, ok := got.(map[string]any)
		for key := range want {
			ok = ok && within(want[key], object[key])
		}
		return ok
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		for i := range want {
			ok = ok && within(want[i], list[i])
		}
		return ok
	default:
		return equal(want, got)
	}
}

// runID returns the id of a trace's run.
func runID(t *testing.T, traceID string) string {
	t.Helper()
	id, err := uuid.Parse(traceID)
	require.NoError(t, err)
	return id.String()
}
