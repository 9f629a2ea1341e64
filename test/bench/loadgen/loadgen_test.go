package loadgen

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// receiver keeps the requests it gets, and refuses every request whose number is a multiple of refuse.
type receiver struct {
	refuse int

	mu       sync.Mutex
	requests int
	accepted []ptrace.Traces
}

func (d *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	request := ptraceotlp.NewExportRequest()
	if err != nil || request.UnmarshalProto(body) != nil || r.Header.Get("Authorization") != "Bearer k" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.requests++; d.refuse > 0 && d.requests%d.refuse == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	d.accepted = append(d.accepted, request.Traces())
	w.WriteHeader(http.StatusAccepted)
}

func send(t *testing.T, load *Load, d *receiver, spans int) Sent {
	t.Helper()
	server := httptest.NewServer(d)
	defer server.Close()
	return load.Send(t.Context(), Target{server.URL, http.Header{"Authorization": {"Bearer k"}}}, spans)
}

// verify compares what was sent with what arrived: every span once, in a tree of its own trace, with times after one
// noon.
func verify(t *testing.T, sent Sent, accepted []ptrace.Traces) {
	t.Helper()
	parents := map[pcommon.SpanID]ptrace.Span{}
	traces := map[pcommon.TraceID]bool{}
	for _, td := range accepted {
		for _, span := range spansOf(td) {
			require.NotContains(t, parents, span.SpanID())
			parents[span.SpanID()] = span
			traces[span.TraceID()] = true
		}
	}
	assert.Len(t, parents, sent.Spans)
	assert.Len(t, traces, sent.Traces)
	assert.Len(t, sent.Answers, len(accepted))
	for _, span := range parents {
		start := span.StartTimestamp().AsTime()
		assert.Equal(t, 12, start.Hour())
		assert.InDelta(t, 11.5, time.Since(start).Hours(), 12.5, "the last noon, or up to an hour after it")
		assert.Greater(t, span.EndTimestamp(), span.StartTimestamp())
		if parent := span.ParentSpanID(); !parent.IsEmpty() {
			require.Contains(t, parents, parent)
			assert.Equal(t, parents[parent].TraceID(), span.TraceID())
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	load, err := Spans()
	require.NoError(t, err)
	d := new(receiver)
	sent := send(t, load, d, 2000)
	assert.Equal(t, 2000, sent.Spans)
	assert.Equal(t, 80, sent.Traces)
	assert.Empty(t, sent.Refused)
	assert.InDelta(t, 1850, sent.Bytes/sent.Spans, 100)
	again := send(t, load, d, 1000)
	verify(t, Sent{
		Spans: sent.Spans + again.Spans, Traces: sent.Traces + again.Traces, Answers: append(sent.Answers, again.Answers...),
	}, d.accepted)
	for _, span := range spansOf(d.accepted[0]) {
		_, ok := span.Attributes().Get(runmodel.KeyOperationName)
		assert.True(t, ok)
	}
}

func TestRefusedSpansAreSentAgain(t *testing.T) {
	t.Parallel()
	load, err := Spans()
	require.NoError(t, err)
	d := &receiver{refuse: 3}
	sent := send(t, load, d, 1000)
	assert.Equal(t, 1000, sent.Spans)
	assert.Equal(t, d.requests-10, sent.Refused["503 Service Unavailable"])
	assert.Positive(t, sent.Refused["503 Service Unavailable"])
	verify(t, sent, d.accepted)
}

func TestSendingEnds(t *testing.T) {
	t.Parallel()
	load, err := Spans()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Zero(t, load.Send(ctx, Target{URL: "http://127.0.0.1:1"}, 100).Spans)
}

func TestMake(t *testing.T) {
	t.Parallel()
	load, err := Spans()
	require.NoError(t, err)
	requests, err := load.Make(950)
	require.NoError(t, err)
	require.Len(t, requests, 10)
	verify(t, Sent{Spans: 1000, Traces: 40, Answers: make([]time.Duration, 10)}, requests)
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	s := &Sent{Answers: []time.Duration{1, 2, 3, 4, 5}}
	assert.Equal(t, time.Duration(3), s.Quantile(0.5))
	assert.Equal(t, time.Duration(5), s.Quantile(1))
	assert.Zero(t, new(Sent).Quantile(0.5))
}

// recordRuns writes runs in the recorded format: a root with instructions, and calls with new messages.
func recordRuns(t *testing.T, folder string, runs int) {
	t.Helper()
	td := ptrace.NewTraces()
	scope := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for run := range byte(runs) {
		for step := range byte(3) {
			span := scope.Spans().AppendEmpty()
			span.SetTraceID(pcommon.TraceID{0xfe, run, 0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13})
			span.SetSpanID(pcommon.SpanID{0xfb, run, 0xfa, step, 5, 6, 7, 8})
			span.SetStartTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(step) * time.Second)))
			span.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Hour)))
			if step == 0 {
				span.Attributes().PutStr(runmodel.KeySystemInstructions, `[{"type":"text","content":"be kind"}]`)
				continue
			}
			span.SetParentSpanID(pcommon.SpanID{0xfb, run, 0xfa, 0, 5, 6, 7, 8})
			span.Attributes().PutStr(runmodel.KeyInputMessages, marshal([]any{message("user", "question "+string('0'+step))}))
			span.Attributes().PutStr(runmodel.KeyOutputMessages, marshal([]any{message("assistant", "answer "+string('0'+step))}))
		}
	}
	text, err := new(ptrace.JSONMarshaler).MarshalTraces(td)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "runs.json"), text, 0o600))
}

func TestAgents(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	recordRuns(t, folder, Connections*runsPerRequest)
	load, err := Agents(folder)
	require.NoError(t, err)
	d := new(receiver)
	verify(t, send(t, load, d, 600), d.accepted)

	var last ptrace.Span
	for _, span := range spansOf(d.accepted[0])[:3] {
		last = span
	}
	value := func(key string) pcommon.Value {
		v, ok := last.Attributes().Get(key)
		require.True(t, ok, key)
		return v
	}
	var history []struct {
		Role  string
		Parts []struct{ Content string }
	}
	require.NoError(t, json.Unmarshal([]byte(value(runmodel.KeyInputMessages).Str()), &history))
	var texts []string
	for _, m := range history {
		texts = append(texts, m.Role+": "+m.Parts[0].Content)
	}
	assert.Equal(t, []string{"user: question 1", "assistant: answer 1", "user: question 2"}, texts)
	assert.Contains(t, value(runmodel.KeySystemInstructions).Str(), "be kind")
	assert.Positive(t, value(runmodel.KeyInputTokens).Int())
	assert.Positive(t, value(runmodel.KeyOutputTokens).Int())
}

func TestAgentsNeedRecords(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, err := Agents(folder)
	require.ErrorIs(t, err, ErrNoRecords)
	recordRuns(t, folder, runsPerRequest)
	_, err = Agents(folder)
	require.ErrorIs(t, err, ErrNoRecords, "too few for all connections")
}
