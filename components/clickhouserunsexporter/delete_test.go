package clickhouserunsexporter

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// traceOf returns a batch with a span of each run, with its own message and score, received at a time.
func traceOf(project uuid.UUID, receivedAt int64, span byte, runs ...uuid.UUID) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
	rs.Resource().Attributes().PutInt(runmodel.KeyReceivedAt, receivedAt)
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for _, run := range runs {
		s := spans.AppendEmpty()
		s.SetTraceID(pcommon.TraceID(run))
		s.SetSpanID(pcommon.SpanID{span})
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(-time.Duration(span) * 2 * time.Hour)))
		s.Attributes().PutStr(runmodel.KeyInputMessages, `[{"role":"user","parts":[{"type":"text","content":"asked of `+run.String()+`"}]}]`)
		s.Attributes().PutEmptySlice(runmodel.KeyScores).AppendEmpty().SetStr(`{"name":"relevance","value":1}`)
	}
	return td
}

// TestDeletedStaysDeleted deletes a run and delivers its earlier spans again, from the same writer and from one with
// an empty cache. Later spans begin a new run.
func TestDeletedStaysDeleted(t *testing.T) {
	t.Parallel()
	url := engines.ClickHouse(t)
	conn := opened(t, url)
	count := func(c require.TestingT, from string, args ...any) (n uint64) {
		require.NoError(c, conn.QueryRow(t.Context(), "SELECT count() FROM "+from, args...).Scan(&n))
		return n
	}
	tables := []string{"spans", "contents", "scores FINAL", "runs FINAL"}
	project, sibling := uuid.New(), uuid.New()
	gone, kept := uuid.New(), uuid.New()
	first := started(t, url)
	old := func() ptrace.Traces { return traceOf(project, 100, 1, gone, kept) }
	late := func() ptrace.Traces { return traceOf(project, 200, 2, gone) }
	require.NoError(t, first.ConsumeTraces(t.Context(), old()))
	require.NoError(t, first.ConsumeTraces(t.Context(), late()))
	require.NoError(t, first.ConsumeTraces(t.Context(), traceOf(sibling, 100, 1, gone))) // the same id in a different project
	noneLeft := func() {
		t.Helper()
		assert.Zero(t, count(t, "runs FINAL WHERE project_id = ? AND run_id = ?", project, gone), "at once")
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			for _, table := range tables {
				assert.Zero(c, count(c, table+" WHERE project_id = ? AND run_id = ?", project, gone), table)
			}
			assert.Zero(c, count(c, "runs WHERE project_id = ? AND run_id = ? AND deleted = 0", project, gone))
		}, 2*time.Minute, 50*time.Millisecond)
		for _, table := range tables {
			assert.NotZero(t, count(t, table+" WHERE project_id = ? AND run_id = ?", project, kept), table)
			assert.NotZero(t, count(t, table+" WHERE project_id = ? AND run_id = ?", sibling, gone), table)
		}
	}
	for range 2 { // repeating it changes nothing
		require.NoError(t, clickhouse.DeleteRuns(t.Context(), conn, project, []uuid.UUID{gone, uuid.New()}, time.Unix(0, 1000)))
		noneLeft()
	}
	for _, writer := range []exporter.Traces{first, started(t, url)} {
		require.NoError(t, writer.ConsumeTraces(t.Context(), old()))
		require.NoError(t, writer.ConsumeTraces(t.Context(), late()))
		noneLeft()
	}

	require.NoError(t, first.ConsumeTraces(t.Context(), traceOf(project, 2000, 3, gone)))
	require.NoError(t, first.ConsumeTraces(t.Context(), old()))
	var rows []runmodel.Run
	require.NoError(t, conn.Select(t.Context(), &rows, "SELECT * EXCEPT written_at FROM runs FINAL WHERE project_id = ? AND run_id = ?", project, gone))
	require.Len(t, rows, 1)
	assert.Equal(t, uint64(1), rows[0].SpanCount, "only what came later")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, uint64(1), count(c, "spans FINAL WHERE project_id = ? AND run_id = ?", project, gone))
	}, 2*time.Minute, 50*time.Millisecond)
	assert.NotZero(t, count(t, "contents WHERE project_id = ? AND run_id = ?", project, gone), "what came later keeps its messages")
}

// TestDeletedWhileWritten deletes runs while they are written, many times: in any order of events, everything
// received before the deletion is deleted in the end.
func TestDeletedWhileWritten(t *testing.T) {
	t.Parallel()
	url := engines.ClickHouse(t)
	conn := opened(t, url)
	project := uuid.New()
	writers := []exporter.Traces{started(t, url), started(t, url)}
	var runs []uuid.UUID
	for range 10 {
		run := uuid.New()
		runs = append(runs, run)
		require.NoError(t, writers[0].ConsumeTraces(t.Context(), traceOf(project, 100, 1, run)))
		var under sync.WaitGroup
		for i, writer := range writers {
			under.Go(func() {
				assert.NoError(t, writer.ConsumeTraces(t.Context(), traceOf(project, 200+int64(i), byte(2+i), run)))
			})
		}
		under.Go(func() {
			assert.NoError(t, clickhouse.DeleteRuns(t.Context(), conn, project, []uuid.UUID{run}, time.Unix(0, 1000)))
		})
		under.Wait()
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		for _, table := range []string{"runs FINAL", "spans", "scores FINAL"} {
			var n uint64
			require.NoError(c, conn.QueryRow(t.Context(), "SELECT count() FROM "+table+" WHERE run_id IN (?)", runs).Scan(&n))
			assert.Zero(c, n, table)
		}
	}, 2*time.Minute, 50*time.Millisecond)
}
