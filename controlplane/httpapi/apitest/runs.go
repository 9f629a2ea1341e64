package apitest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// StoreLongRun stores a run of 2,000 model calls, of which the first has a message of 1 MB and one with 1 MB of image.
func StoreLongRun(t *testing.T, clickhouseURL string, project uuid.UUID) uuid.UUID {
	t.Helper()
	writer, err := clickhouse.NewWriter(t.Context(), clickhouseURL)
	require.NoError(t, err)
	defer writer.Close()
	run := uuid.New()
	start := time.Now().Add(-time.Minute).UTC().Truncate(time.Microsecond)
	const megabyte = 1 << 20
	var contents []runmodel.Content
	for i, message := range []string{
		`{"role":"assistant","parts":[{"type":"text","content":"` + strings.Repeat("it goes on ", megabyte/11) + `"}]}`,
		`{"role":"user","parts":[{"type":"blob","data":"` + strings.Repeat("AAAA", megabyte/4) + `"}]}`,
		`{"role":"assistant","parts":[{"type":"text","content":"all is well"}]}`,
	} {
		frame, texts, err := runmodel.SplitContent("message", message)
		require.NoError(t, err)
		contents = append(contents, runmodel.Content{
			ProjectID: project, Hour: start.Truncate(time.Hour), RunID: run, ContentID: uint64(i + 1), Kind: "message", Frame: frame, Texts: texts,
		})
	}
	spans := make([]runmodel.Span, 2000)
	for i := range spans {
		begin := start.Add(time.Duration(i) * time.Millisecond)
		spans[i] = runmodel.Span{
			ProjectID: project, RunID: run, SpanID: uint64(i + 1), ParentSpanID: 1, Version: 1, StartTime: begin, EndTime: begin.Add(time.Millisecond),
			Name: "chat", Operation: "chat", OutputMessageIDs: []uint64{3},
		}
	}
	spans[0].ParentSpanID, spans[0].EndTime = 0, start.Add(2*time.Second)
	spans[1].OutputMessageIDs, spans[1].InputMessageIDs = []uint64{1}, []uint64{2}
	require.NoError(t, writer.InsertContents(t.Context(), contents))
	require.NoError(t, writer.InsertSpans(t.Context(), spans))
	require.NoError(t, writer.InsertBounds(t.Context(), []clickhouse.Bounds{{
		ProjectID: project, RunID: run, FirstStart: start, LastStart: spans[len(spans)-1].StartTime, FirstBatch: 1, LastBatch: 1, Absent: clickhouse.Absent(spans),
	}}))
	require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{runmodel.Totals(spans)}))
	return run
}

// StoreSpans stores runs of spans in start order.
func StoreSpans(t *testing.T, clickhouseURL string, runs ...[]runmodel.Span) {
	t.Helper()
	writer, err := clickhouse.NewWriter(t.Context(), clickhouseURL)
	require.NoError(t, err)
	defer writer.Close()
	var bounds []clickhouse.Bounds
	var totals []runmodel.Run
	for _, spans := range runs {
		bounds = append(bounds, clickhouse.Bounds{
			ProjectID: spans[0].ProjectID, RunID: spans[0].RunID, FirstStart: spans[0].StartTime, LastStart: spans[len(spans)-1].StartTime,
			FirstBatch: 1, LastBatch: 1, Absent: clickhouse.Absent(spans),
		})
		totals = append(totals, runmodel.Totals(spans))
	}
	require.NoError(t, writer.InsertSpans(t.Context(), slices.Concat(runs...)))
	require.NoError(t, writer.InsertBounds(t.Context(), bounds))
	require.NoError(t, writer.InsertRuns(t.Context(), totals))
}

// AgentRun is a run whose tool fails where there is a message.
func AgentRun(project uuid.UUID, start time.Time, tool, message string, more func(root *runmodel.Span)) []runmodel.Span {
	run := uuid.New()
	id := func(i uint64) uint64 { return uint64(run[0])<<56 | uint64(run[1])<<48 | i }
	status := "ok"
	if message != "" {
		status = "error"
	}
	spans := []runmodel.Span{
		{ProjectID: project, RunID: run, SpanID: id(1), Version: 1, StartTime: start, EndTime: start.Add(time.Second), Name: "helper", Kind: "agent", AgentName: "helper", Status: status},
		{ProjectID: project, RunID: run, SpanID: id(2), ParentSpanID: id(1), Version: 1, StartTime: start, EndTime: start.Add(time.Millisecond), Name: "chat", Operation: "chat", Status: "ok", RequestModel: "gpt-5"},
		{ProjectID: project, RunID: run, SpanID: id(3), ParentSpanID: id(1), Version: 1, StartTime: start.Add(time.Millisecond), EndTime: start.Add(time.Second), Name: tool, Kind: "tool", ToolName: tool, Status: status},
	}
	if message != "" {
		spans[2].ErrorType, spans[2].ErrorMessage = "ToolError", message
	}
	if more != nil {
		more(&spans[0])
	}
	return spans
}

// RootSpan is the root of the run that StoreRun stores.
const RootSpan = "00000000000000a1"

// StoreRun stores a run of an agent that calls a model and a tool, and returns its id.
func StoreRun(t *testing.T, clickhouseURL string, project uuid.UUID) uuid.UUID {
	t.Helper()
	writer, err := clickhouse.NewWriter(t.Context(), clickhouseURL)
	require.NoError(t, err)
	defer writer.Close()

	run := uuid.New()
	start := time.Now().Add(-time.Minute).UTC().Truncate(time.Microsecond)
	input, output, cost, ttft := int64(120), int64(30), 0.0042, 0.25
	message := `{"role":"user","parts":[{"type":"text","content":"What is 2^53+1?","number":9007199254740993}]}`
	frame, texts, err := runmodel.SplitContent("message", message)
	require.NoError(t, err)
	content := runmodel.Content{
		ProjectID: project, Hour: start.Truncate(time.Hour), RunID: run,
		ContentID: 17, Kind: "message", Frame: frame, Texts: texts,
	}
	spans := []runmodel.Span{
		{
			ProjectID: project, RunID: run, SpanID: 0xa1, Version: 1, StartTime: start, EndTime: start.Add(1500 * time.Microsecond), IsRun: true,
			Name: "answer", Kind: "agent", Status: "error", ErrorType: "Timeout", ErrorMessage: "too slow",
			Inputs: "What is 2^53+1?", InputPreview: "What is 2^53+1?", Tags: []string{"math"}, Metadata: map[string]string{"tier": "free"},
			SessionID: "s1", Environment: "production", PromptName: "calc", PromptVersion: "3",
			Events: `[{"name":"exception","time":"2026-01-01T00:00:00Z","attributes":{"exception.type":"Timeout"}}]`,
			Links:  `[{"run_id":"` + run.String() + `","span_id":"00000000000000b2","attributes":{}}]`,
		},
		{
			ProjectID: project, RunID: run, SpanID: 0xb2, ParentSpanID: 0xa1, Version: 1, StartTime: start.Add(time.Microsecond), EndTime: start.Add(time.Millisecond),
			Name: "chat", Operation: "chat", Status: "ok", RequestModel: "gpt-5", Provider: "openai",
			InputTokens: &input, OutputTokens: &output, CostUSD: &cost, CostSource: "sent", TimeToFirstToken: &ttft,
			InputMessageIDs: []uint64{content.ContentID}, Attributes: map[string]string{"custom": "yes"},
		},
		{
			ProjectID: project, RunID: run, SpanID: 0xc3, ParentSpanID: 0xa1, Version: 1, StartTime: start.Add(2 * time.Microsecond), EndTime: runmodel.Epoch,
			Name: "multiply", Kind: "tool", ToolName: "multiply", ToolCallID: "call_1", ToolArguments: `{"a":2}`,
		},
	}
	require.NoError(t, writer.InsertContents(t.Context(), []runmodel.Content{content}))
	require.NoError(t, writer.InsertSpans(t.Context(), spans))
	require.NoError(t, writer.InsertBounds(t.Context(), []clickhouse.Bounds{{
		ProjectID: project, RunID: run, FirstStart: start, LastStart: start.Add(2 * time.Microsecond), FirstBatch: 1, LastBatch: 1, Absent: clickhouse.Absent(spans),
	}}))
	require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{runmodel.Totals(spans)}))
	return run
}
