package clickhouserunsexporter

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestTotalsInAnyOrder sends a run span by span, in two orders: a call that wraps a call, an agent with a sum, and a
// version from log records. Each time the run must have exactly the tokens of the innermost call.
func TestTotalsInAnyOrder(t *testing.T) {
	t.Parallel()
	url := engines.ClickHouse(t)
	e := started(t, url)
	conn := opened(t, url)

	begin := time.Now().Add(-time.Minute)
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 3, 0, 1, 2, 3}} {
		project, run := uuid.NewString(), uuid.New()
		spans := []func(ptrace.Span){
			func(s ptrace.Span) { // an agent
				s.SetSpanID(pcommon.SpanID{1})
				s.SetName("agent")
				s.Attributes().PutStr(runmodel.KeyOperationName, "invoke_agent")
				s.Attributes().PutStr(runmodel.KeySystemInstructions, `[{"type":"text","content":"Be brief."}]`)
				s.Attributes().PutInt(runmodel.KeyInputTokens, 100)
			},
			func(s ptrace.Span) { // its call
				s.SetSpanID(pcommon.SpanID{2})
				s.SetParentSpanID(pcommon.SpanID{1})
				s.SetName("call_llm")
				s.Attributes().PutStr(runmodel.KeyKind, runmodel.KindLLM)
				s.Attributes().PutStr(runmodel.KeyRequestModel, "m")
				s.Attributes().PutInt(runmodel.KeyInputTokens, 10)
			},
			func(s ptrace.Span) { // the same call, recorded by a second instrumentation
				s.SetSpanID(pcommon.SpanID{3})
				s.SetParentSpanID(pcommon.SpanID{2})
				s.SetName("generate_content")
				s.Attributes().PutStr(runmodel.KeyOperationName, "generate_content")
				s.Attributes().PutInt(runmodel.KeyInputTokens, 10)
			},
			func(s ptrace.Span) { // its log records, a little later
				s.SetSpanID(pcommon.SpanID{3})
				s.SetStartTimestamp(s.StartTimestamp() + pcommon.Timestamp(time.Second))
				s.Attributes().PutBool(runmodel.KeyFromLog, true)
				s.Attributes().PutStr(runmodel.KeyInputMessages, `[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]`)
			},
		}
		for _, i := range order {
			td := ptrace.NewTraces()
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project)
			s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			s.SetTraceID(pcommon.TraceID(run))
			s.SetStartTimestamp(pcommon.NewTimestampFromTime(begin.Add(time.Duration(i) * time.Millisecond)))
			spans[i](s)
			require.NoError(t, e.ConsumeTraces(t.Context(), td))
		}
		var rows []runmodel.Run
		require.NoError(t, conn.Select(t.Context(), &rows, "SELECT * EXCEPT written_at FROM runs FINAL WHERE run_id = ?", run))
		require.Len(t, rows, 1)
		assert.Equal(t, int64(10), *rows[0].InputTokens, order)
		assert.EqualValues(t, 1, rows[0].LLMCallCount, order)
		assert.EqualValues(t, 3, rows[0].SpanCount, order)
		assert.Equal(t, "agent", rows[0].Name, order)
		assert.Equal(t, "Hi", rows[0].InputPreview, order)
		assert.Equal(t, []string{runmodel.PartInstructions, runmodel.PartModel}, slices.Sorted(maps.Keys(rows[0].AgentParts)), order)
		assert.Equal(t, runmodel.ReleaseOf(rows[0].AgentParts), rows[0].AgentRelease, order)
		assert.WithinDuration(t, begin, rows[0].StartTime, time.Millisecond)

		var versions []runmodel.Span
		require.NoError(t, conn.Select(t.Context(), &versions, "SELECT * EXCEPT escaped_words FROM spans WHERE run_id = ?", run))
		folded := runmodel.Fold(versions)
		require.Len(t, folded, 3)
		assert.Equal(t, "generate_content", folded[2].Name)
		assert.Len(t, folded[2].InputMessageIDs, 1)
		assert.Equal(t, []bool{false, false, true}, runmodel.CountsUsage(folded))
	}
}

// TestGenAISpanArrivesApart sends the GenAI span of a trace in a batch of its own, before or after its plain spans. In
// the end the trace has a GenAI span and the agent's kind.
func TestGenAISpanArrivesApart(t *testing.T) {
	t.Parallel()
	url := engines.ClickHouse(t)
	writers := []exporter.Traces{started(t, url), started(t, url)}
	conn := opened(t, url)

	begin := time.Now().Add(-time.Minute)
	agent := map[string]string{runmodel.KeyOperationName: "invoke_agent"}
	send := func(project, run uuid.UUID, isAgent bool, writer exporter.Traces) {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
		s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		s.SetTraceID(pcommon.TraceID(run))
		s.SetSpanID(pcommon.SpanID{1})
		s.SetName("POST /chat")
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(begin))
		if isAgent {
			s.SetSpanID(pcommon.SpanID{2})
			s.SetParentSpanID(pcommon.SpanID{1})
			s.SetName("invoke_agent support")
			for key, value := range agent {
				s.Attributes().PutStr(key, value)
			}
		}
		assert.NoError(t, writer.ConsumeTraces(t.Context(), td))
	}
	stored := func(run uuid.UUID) runmodel.Run {
		var rows []runmodel.Run
		require.NoError(t, conn.Select(t.Context(), &rows, "SELECT * EXCEPT written_at FROM runs FINAL WHERE run_id = ?", run))
		require.Len(t, rows, 1)
		return rows[0]
	}
	for _, agentFirst := range []bool{false, true} {
		project, run := uuid.New(), uuid.New()
		send(project, run, agentFirst, writers[0])
		assert.Equal(t, agentFirst, stored(run).GenAI)
		send(project, run, !agentFirst, writers[1])
		got := stored(run)
		assert.True(t, got.GenAI)
		assert.Equal(t, runmodel.KindAgent, got.Kind)
		assert.Equal(t, "POST /chat", got.Name)
	}
	for range 10 {
		project, run := uuid.New(), uuid.New()
		var both sync.WaitGroup
		for i, writer := range writers {
			both.Go(func() { send(project, run, i == 0, writer) })
		}
		both.Wait()
		assert.True(t, stored(run).GenAI, "written at the same time")
	}

	agent = map[string]string{runmodel.KeyOutputMessages: `[{"role":"assistant","parts":[{"type":"text","content":"Hello"}]}]`}
	for _, agentFirst := range []bool{false, true} {
		project, run := uuid.New(), uuid.New()
		send(project, run, agentFirst, writers[0])
		send(project, run, !agentFirst, writers[1])
		assert.True(t, stored(run).GenAI, "messages alone")
	}
}

// TestCallOfTwoLibraries sends two recordings of one call in two batches: the run is derived from both, and counts the inner one.
func TestCallOfTwoLibraries(t *testing.T) {
	t.Parallel()
	url := engines.ClickHouse(t)
	e := started(t, url)
	conn := opened(t, url)
	project, run, begin := uuid.NewString(), uuid.New(), pcommon.NewTimestampFromTime(time.Now().Add(-time.Minute))
	for i, library := range []string{"instrumentation", "sdk"} {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project)
		ss := rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName(library)
		s := ss.Spans().AppendEmpty()
		s.SetTraceID(pcommon.TraceID(run))
		s.SetSpanID(pcommon.SpanID{byte(i) + 1})
		s.SetParentSpanID(pcommon.SpanID{9})
		s.SetStartTimestamp(begin + pcommon.Timestamp(i))
		s.SetEndTimestamp(begin + 10 - pcommon.Timestamp(i))
		s.Attributes().PutStr(runmodel.KeyOperationName, "chat")
		s.Attributes().PutStr(runmodel.KeyResponseID, "r")
		s.Attributes().PutInt(runmodel.KeyOutputTokens, int64(10+i))
		require.NoError(t, e.ConsumeTraces(t.Context(), td))
	}
	var rows []runmodel.Run
	require.NoError(t, conn.Select(t.Context(), &rows, "SELECT * EXCEPT written_at FROM runs FINAL WHERE run_id = ?", run))
	require.Len(t, rows, 1)
	assert.EqualValues(t, 1, rows[0].LLMCallCount)
	assert.EqualValues(t, 11, *rows[0].OutputTokens)
}
