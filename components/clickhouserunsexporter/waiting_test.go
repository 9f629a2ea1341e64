package clickhouserunsexporter

import (
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// conversation is a call of a model in a run of its own, and the record of it that names the conversation alone.
type conversation struct {
	project, run uuid.UUID
	id           string
	start        pcommon.Timestamp
}

func newConversation() conversation {
	return conversation{uuid.New(), uuid.New(), "conversation " + uuid.NewString(), pcommon.NewTimestampFromTime(time.Now().Add(-time.Minute))}
}

func (c conversation) resource() (ptrace.Traces, ptrace.Span) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, c.project.String())
	rs.Resource().Attributes().PutInt(runmodel.KeyReceivedAt, 1000)
	span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetStartTimestamp(c.start)
	span.SetEndTimestamp(c.start + pcommon.Timestamp(time.Second))
	span.Attributes().PutInt(runmodel.KeyInputTokens, 1000)
	return td, span
}

func (c conversation) call() ptrace.Traces {
	td, span := c.resource()
	span.SetTraceID(pcommon.TraceID(c.run))
	span.SetSpanID(pcommon.SpanID{1})
	span.SetName("llm_call")
	span.Attributes().PutStr(runmodel.KeyOperationName, "chat")
	span.Attributes().PutStr(runmodel.KeyFramework, "gemini-cli")
	span.Attributes().PutStr(runmodel.KeyConversationID, c.id)
	span.Attributes().PutInt(runmodel.KeyOutputTokens, 60)
	return td
}

func (c conversation) record() ptrace.Traces {
	td, span := c.resource()
	span.SetTraceID(pcommon.TraceID{9})
	span.SetSpanID(pcommon.SpanID{2})
	span.Attributes().PutBool(runmodel.KeyFromLog, true)
	span.Attributes().PutStr(runmodel.KeyKind, runmodel.KindLLM)
	span.Attributes().PutStr(runmodel.KeyRecordIn, c.id)
	span.Attributes().PutStr(runmodel.KeyConversationID, c.id)
	span.Attributes().PutInt(runmodel.KeyOutputTokens, 150)
	span.Attributes().PutInt(runmodel.KeyReasoningTokens, 90)
	span.Attributes().PutInt(runmodel.KeyCacheReadTokens, 400)
	return td
}

// TestRecordsOfConversations delivers a call and its record in any order, at once, and again: the run has what the record
// says of its call once, and no run but this one is made. Another project with the same conversation changes nothing.
func TestRecordsOfConversations(t *testing.T) {
	t.Parallel()
	url := engines.ClickHouse(t)
	conn := opened(t, url)
	first, second := started(t, url), started(t, url)
	for name, deliver := range map[string]func(c conversation){
		"the call first": func(c conversation) {
			require.NoError(t, first.ConsumeTraces(t.Context(), c.call()))
			require.NoError(t, first.ConsumeTraces(t.Context(), c.record()))
		},
		"the record first, and again": func(c conversation) {
			for range 2 {
				require.NoError(t, first.ConsumeTraces(t.Context(), c.record()))
				require.NoError(t, second.ConsumeTraces(t.Context(), c.call()))
			}
		},
		"at once": func(c conversation) {
			var both sync.WaitGroup
			both.Go(func() { assert.NoError(t, first.ConsumeTraces(t.Context(), c.record())) })
			both.Go(func() { assert.NoError(t, second.ConsumeTraces(t.Context(), c.call())) })
			both.Wait()
		},
	} {
		c := newConversation()
		other := c
		other.project, other.run = uuid.New(), uuid.New()
		require.NoError(t, first.ConsumeTraces(t.Context(), other.call()))
		deliver(c)
		var rows []runmodel.Run
		require.NoError(t, conn.Select(t.Context(), &rows, "SELECT * EXCEPT written_at FROM runs FINAL WHERE project_id IN (?) ORDER BY output_tokens", []uuid.UUID{c.project, other.project}))
		require.Len(t, rows, 2, name)
		assert.Equal(t, other.run, rows[0].RunID, name)
		assert.EqualValues(t, 60, *rows[0].OutputTokens, name)
		assert.Nil(t, rows[0].CacheReadTokens, name)
		assert.Equal(t, c.run, rows[1].RunID, name)
		assert.Equal(t, []int64{1000, 150, 400, 90}, []int64{*rows[1].InputTokens, *rows[1].OutputTokens, *rows[1].CacheReadTokens, *rows[1].ReasoningTokens}, name)
		assert.EqualValues(t, 1, rows[1].LLMCallCount, name)
		var left uint64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT countIf(traces != '') FROM waiting_records FINAL WHERE project_id = ?", c.project).Scan(&left))
		assert.Zero(t, left, name)
	}
}

// TestRecordsOfWrongClocks gives records with impossible times, and many that are large, beside one whose call is known: that one is joined,
// and no batch is refused, which would hold up all that come after it.
func TestRecordsOfWrongClocks(t *testing.T) {
	t.Parallel()
	url := engines.ClickHouse(t)
	conn := opened(t, url)
	e := started(t, url)
	c := newConversation()
	batch := c.record()
	for _, start := range []pcommon.Timestamp{0, 1, math.MaxUint32 * 1e9, math.MaxInt64, math.MaxUint64} {
		wrong := c
		wrong.start = start
		wrong.record().ResourceSpans().MoveAndAppendTo(batch.ResourceSpans())
	}
	for i := range 40 { // none has a call
		large := c
		large.start += pcommon.Timestamp(i) * pcommon.Timestamp(time.Second/2)
		td := large.record()
		attributes := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
		attributes.PutInt(runmodel.KeyInputTokens, 7)
		attributes.PutStr(runmodel.KeyOutputs, strings.Repeat("x", 1<<20))
		td.ResourceSpans().MoveAndAppendTo(batch.ResourceSpans())
	}
	require.NoError(t, e.ConsumeTraces(t.Context(), batch))
	call := c.call()
	call.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetEndTimestamp(0) // it is still under way
	require.NoError(t, e.ConsumeTraces(t.Context(), call))
	var rows []runmodel.Run
	require.NoError(t, conn.Select(t.Context(), &rows, "SELECT * EXCEPT written_at FROM runs FINAL WHERE project_id = ?", c.project))
	require.Len(t, rows, 1)
	assert.EqualValues(t, 150, *rows[0].OutputTokens)
}

// TestWaitingIsDeleted deletes a run: what waits in its conversation goes with it.
func TestWaitingIsDeleted(t *testing.T) {
	t.Parallel()
	url := engines.ClickHouse(t)
	conn := opened(t, url)
	e := started(t, url)
	c := newConversation()
	require.NoError(t, e.ConsumeTraces(t.Context(), c.call()))
	later := c
	later.start += pcommon.Timestamp(time.Hour) // of a call that has not arrived
	require.NoError(t, e.ConsumeTraces(t.Context(), later.record()))
	count := func() (n uint64) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM waiting_records WHERE traces != ''").Scan(&n))
		return n
	}
	assert.EqualValues(t, 1, count())
	require.NoError(t, clickhouse.DeleteRuns(t.Context(), conn, c.project, []uuid.UUID{c.run}, time.Unix(0, 2000)))
	require.Eventually(t, func() bool { return count() == 0 }, time.Minute, 50*time.Millisecond)
}
