package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/browser"
	"github.com/looptrace/looptrace/test/product"
)

// newest are the sources in the newest GenAI conventions, whose runs must show messages and totals. Of other
// dialects, spans and raw attributes must survive; what they mean is a matter of the mapping.
var newest = []string{"inspect-ai-logs", "jaeger-genai-trace", "semconv-genai-reference", "tau-bench-airline"}

// nonConformant is refused: its ids are in base64, which OTLP/JSON does not allow.
const nonConformant = "langwatch-tests/otlp/strands-python-1.14.base64ids-enumnames.json"

// traces are the real traces that were sent.
type traces struct {
	dir   string
	files []traceFile
	// byID has the spans of each trace by their id, over all files.
	byID map[string]map[string]*placedSpan
}

type traceFile struct {
	name    string // "source/otlp/file.json"
	body    []byte
	refused bool
}

// placedSpan is a span that was sent, with the resource that it came under.
type placedSpan struct {
	sentSpan
	source   string
	resource keyValues
}

// recordings are the traces that others recorded, and what is made of them.
type recordings struct {
	*story

	traces *traces
}

// TestRealTraces sends real traces to a product of its own through all doors, several times, and reads them back, after a restart too.
func TestRealTraces(t *testing.T) {
	folder := os.Getenv("LOOPTRACE_REALDATA")
	if folder == "" {
		t.Skip("LOOPTRACE_REALDATA names the folder of real traces")
	}
	s := &recordings{&story{browser: browser.New(t, "output"), product: product.Start(t)}, loadTraces(t, folder)}
	t.Run("first run", s.setUp)
	require.NotEmpty(t, s.adminKey)
	t.Run("real traces", s.realTraces)
	t.Run("sent three times, stored once", func(t *testing.T) {
		require.NoError(t, s.product.Down())
		require.NoError(t, s.product.Up(t.Context()))
		s.listedOnce(t)
		s.totals(t)
	})
}

func loadTraces(t *testing.T, dir string) *traces {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "otlp", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths, "no traces in %s", dir)
	loaded := &traces{dir: dir, byID: map[string]map[string]*placedSpan{}}
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
					spans = map[string]*placedSpan{}
					l.byID[sent.TraceID] = spans
				}
				spans[sent.SpanID] = &placedSpan{sent, source, rs.Resource.Attributes}
			}
		}
	}
}

// realTraces sends every file through one door, reads everything back, and sends it again through the others.
func (s *recordings) realTraces(t *testing.T) {
	ports := s.product.Ports
	doors := []door{
		{ports.URL(product.Ingest) + "/v1/traces", http.StatusAccepted},
		{ports.URL(product.Web) + "/v1/traces", http.StatusAccepted},
		{ports.URL(product.OTLPHTTP) + "/v1/traces", http.StatusOK},
	}
	for i, file := range s.traces.files {
		s.sendFile(t, doors[i%2], file)
	}
	spanCount := 0
	for _, spans := range s.traces.byID {
		spanCount += len(spans)
	}
	t.Logf("%d files, %d traces, %d spans", len(s.traces.files), len(s.traces.byID), spanCount)

	t.Run("every span is visible", s.everySpanVisible)
	t.Run("what was sent survives", s.attributesSurvive)
	t.Run("totals", s.totals)
	t.Run("expected", s.expected)
	for i, file := range s.traces.files {
		s.sendFile(t, doors[(i+1)%2], file)
		s.sendFile(t, doors[2], file)
	}
}

type door struct {
	url      string
	accepted int
}

func (s *recordings) sendFile(t *testing.T, d door, file traceFile) {
	t.Helper()
	answer, err := product.Post(t.Context(), d.url, s.ingestKey, product.JSON, file.body)
	require.NoError(t, err)
	want := d.accepted
	if file.refused {
		want = http.StatusBadRequest
	}
	assert.Equal(t, want, answer.Status, "%s to %s: %s", file.name, d.url, answer.Body)
	if want == d.accepted {
		assert.NotContains(t, string(answer.Body), "rejectedSpans", file.name)
	}
}

// everySpanVisible holds each run to the distinct spans of its trace, no more and no less.
func (s *recordings) everySpanVisible(t *testing.T) {
	for traceID, spans := range s.traces.byID {
		s.awaitRun(t, runID(t, traceID), ofSpans(len(spans)))
	}
	s.listedOnce(t)
}

// listedOnce holds the list to one line for each trace, with its spans.
func (s *recordings) listedOnce(t *testing.T) {
	listed := s.listed(t)
	for traceID, spans := range s.traces.byID {
		assert.Equal(t, len(spans), listed[runID(t, traceID)].SpanCount, "trace %s in the list", traceID)
	}
}

// listed is the list of all runs by their id.
func (s *story) listed(t *testing.T) map[string]run {
	t.Helper()
	listed := map[string]run{}
	for _, r := range s.runs(t, url.Values{}) {
		assert.NotContains(t, listed, r.RunID, "the list shows a run once")
		listed[r.RunID] = r
	}
	return listed
}

// attributesSurvive holds every attribute of every span to what was sent: as an attribute, or as the member of
// the API that is made of it.
func (s *recordings) attributesSurvive(t *testing.T) {
	for traceID, sent := range s.traces.byID {
		got := s.spans(t, runID(t, traceID))
		assert.Len(t, got, len(sent), "spans of trace %s", traceID)
		for i := range got {
			want, ok := sent[got[i].SpanID]
			if !assert.True(t, ok, "trace %s has a span %s that nobody sent", traceID, got[i].SpanID) {
				continue
			}
			place := want.source + " " + traceID + " " + want.SpanID
			assert.Equal(t, want.Name, got[i].Name, place)
			assert.Equal(t, strings.Trim(want.ParentSpanID, "0"), strings.Trim(deref(got[i].ParentSpanID), "0"), place)
			assert.Len(t, got[i].Events, len(want.Events), "events of %s", place)
			for key, value := range want.Attributes {
				assert.True(t, got[i].keeps(key, value), "%s: %s was sent as %.200q, the API has %.200q", place, key, fmt.Sprint(value), fmt.Sprint(got[i].shown(key)))
			}
			for key, value := range want.resource {
				assert.True(t, equal(value, got[i].ResourceAttributes[key]), "%s: resource attribute %s was sent as %.200v, the API has %.200v",
					place, key, value, got[i].ResourceAttributes[key])
			}
		}
	}
}

// keeps tells whether the span shows an attribute's value, where it was mapped as the original of what it shows. A value
// of "" says as little as none.
func (s *span) keeps(key string, sent any) bool {
	if got, ok := s.Attributes[key]; ok && equal(sent, got) {
		return true
	}
	if original, ok := s.Attributes["looptrace.original."+key]; ok && equal(sent, original) {
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
		return true // a list of one may be sent bare
	}
	if text, ok := shown.(string); ok { // a structure is shown as its JSON text
		shown, _ = parsed(text)
	}
	return equal(sent, shown)
}

// shown is the value of the member that the API makes of an attribute, else the attribute's own.
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

// totals holds each run in the newest conventions to sums made from the raw payload.
func (s *recordings) totals(t *testing.T) {
	compared := 0
	listed := s.listed(t)
	for traceID, spans := range s.traces.byID {
		if !inNewest(spans) {
			continue
		}
		compared++
		got, want := listed[runID(t, traceID)], sum(spans)
		assert.Equal(t, want.usage, got.Usage, "usage of trace %s", traceID)
		assert.Equal(t, want.models, got.Models, "models of trace %s", traceID)
		assert.Equal(t, want.llmCalls, got.LLMCallCount, "model calls of trace %s", traceID)
		assert.Equal(t, want.toolCalls, got.ToolCallCount, "tool calls of trace %s", traceID)
		assert.NotEqual(t, "sent", deref(got.CostSource), "nobody sent a cost for trace %s", traceID)
	}
	t.Logf("%d runs compared", compared)
	require.NotZero(t, compared)
}

func inNewest(spans map[string]*placedSpan) bool {
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

// sum adds up a trace: what its model calls and embeddings used; where there are none, what the others say that
// stand alone, as an agent whose calls were not recorded. A response fetched again was used once.
func sum(spans map[string]*placedSpan) sums {
	total := sums{models: []string{}}
	var calls, others []*placedSpan
	for _, span := range spans {
		switch operation := span.text("gen_ai.operation.name"); operation {
		case "chat", "generate_content", "text_completion":
			calls = append(calls, span)
			total.llmCalls++
		case "fetch_response": // asks for what another call has made
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

func addUp(spans []*placedSpan) *usage {
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

// expectations is expected.json beside a source's files: what a person found to be certain.
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

// expectedKinds are the kinds of expected.json that have another name here. Memory operations have no kind.
var expectedKinds = map[string]string{"retrieval": "retriever", "rerank": "reranker", "plan": "task", "other": "span", "memory": ""}

// expected holds the newest sources to their expected.json.
func (s *recordings) expected(t *testing.T) {
	listed := s.listed(t)
	for _, source := range newest {
		text, err := os.ReadFile(filepath.Join(s.traces.dir, source, "expected.json"))
		require.NoError(t, err)
		var want expectations
		require.NoError(t, json.Unmarshal(text, &want))
		for _, trace := range want.Traces {
			if len(trace.TraceIDs) != 1 {
				continue // its figures are those of the file
			}
			got := listed[runID(t, trace.TraceIDs[0])]
			place, expect := source+" "+trace.TraceIDs[0], trace.Expect
			if expect.LLMCalls != nil {
				assert.Equal(t, *expect.LLMCalls, got.LLMCallCount, "model calls of %s", place)
			}
			if expect.ToolCalls != nil {
				assert.Equal(t, *expect.ToolCalls, got.ToolCallCount, "tool calls of %s", place)
			}
			if expect.ConversationID != "" {
				assert.Equal(t, expect.ConversationID, deref(got.ConversationID), "conversation of %s", place)
			}
			expect.UsageTotal.assert(t, got.Usage, place)
		}
		for _, c := range want.Cases {
			var got span
			status, err := s.get(t.Context(), "/v1/runs/"+runID(t, c.TraceID)+"/spans/"+c.SpanID, &got)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status)
			place, expect := source+" "+c.TraceID+" "+c.SpanID, c.Expect
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
					assert.Equal(t, pair[0], pair[1], "%s of %s", what, place)
				}
			}
			if expect.FinishReasons != nil {
				assert.Equal(t, expect.FinishReasons, got.FinishReasons, "finish reasons of %s", place)
			}
			expect.Usage.assert(t, got.Usage, place)
			if expect.InputMessages != nil {
				assertMessages(t, expect.InputMessages, got.InputMessages, place)
			}
			if expect.OutputMessages != nil {
				assertMessages(t, expect.OutputMessages, got.OutputMessages, place)
			}
		}
	}
}

func (want *expectedUsage) assert(t *testing.T, got *usage, place string) {
	t.Helper()
	if want == nil {
		assert.Nil(t, got, "usage of %s is unknown", place)
		return
	}
	if !assert.NotNil(t, got, "usage of %s", place) {
		return
	}
	if want.Input != nil {
		assert.Equal(t, *want.Input, deref(got.Input), "input tokens of %s", place)
	}
	if want.Output != nil {
		assert.Equal(t, *want.Output, deref(got.Output), "output tokens of %s", place)
	}
	if want.CacheRead != nil { // 0 says as much as none
		assert.Equal(t, *want.CacheRead, deref(got.CacheRead), "cached tokens of %s", place)
	}
}

// assertMessages compares what expected.json says of messages: what it leaves out is free.
func assertMessages(t *testing.T, want, got any, place string) {
	t.Helper()
	wantText, err := json.Marshal(want)
	require.NoError(t, err)
	gotText, err := json.Marshal(got)
	require.NoError(t, err)
	assert.True(t, within(want, got), "messages of %s: %s expected, the API has %s", place, wantText, gotText)
}

// within tells whether got has everything that want has.
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

// runID is a trace id written as the API names the run.
func runID(t *testing.T, traceID string) string {
	t.Helper()
	id, err := uuid.Parse(traceID)
	require.NoError(t, err)
	return id.String()
}
