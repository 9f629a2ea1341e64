package clickhouse

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// dropping is a store with the traces of a test.
type dropping struct {
	ctx    context.Context //nolint:containedctx // of the test
	conn   driver.Conn
	writer *Writer
}

func newDropping(t *testing.T) dropping {
	t.Helper()
	conn, writer := migrated(t)
	return dropping{t.Context(), conn, writer}
}

// store stores spans as the exporter stores a batch.
func (d dropping) store(t require.TestingT, batch uint64, spans ...runmodel.Span) {
	byRun := runmodel.ByRun(spans)
	var bounds []Bounds
	for key, own := range byRun {
		bounds = append(bounds, Bounds{
			ProjectID: key.ProjectID, RunID: key.RunID, FirstStart: own[0].StartTime, LastStart: own[len(own)-1].StartTime,
			FirstBatch: batch, LastBatch: batch, Absent: Absent(own),
		})
	}
	require.NoError(t, d.writer.InsertSpans(d.ctx, spans))
	require.NoError(t, d.writer.InsertBounds(d.ctx, bounds))
	_, err := DeriveRuns(d.ctx, d.conn, d.writer, byRun, batch)
	require.NoError(t, err)
}

func (d dropping) run(t require.TestingT, run uuid.UUID) []runmodel.Run {
	var rows []runmodel.Run
	require.NoError(t, d.conn.Select(d.ctx, &rows, "SELECT * EXCEPT written_at FROM runs FINAL WHERE run_id = ?", run))
	return rows
}

func (d dropping) spans(t require.TestingT, run uuid.UUID) (n uint64) {
	require.NoError(t, d.conn.QueryRow(d.ctx, "SELECT count() FROM spans WHERE run_id = ?", run).Scan(&n))
	return n
}

// TestDrop drops traces without GenAI spans: not those that are young, have a score, or have a GenAI span in another
// batch. A GenAI span that arrives after the drop begins the trace.
func TestDrop(t *testing.T) {
	t.Parallel()
	d := newDropping(t)
	start := time.Now().Add(-3 * time.Hour).UTC()
	project, sibling := uuid.New(), uuid.New()
	plain := func(project, run uuid.UUID, id uint64) runmodel.Span {
		return runmodel.Span{
			ProjectID: project, RunID: run, SpanID: id, Version: id, StartTime: start.Add(time.Duration(id) * time.Hour),
			EndTime: start.Add(4 * time.Hour), Name: "GET /healthz",
		}
	}
	agent := func(project, run uuid.UUID, id uint64) runmodel.Span {
		span := plain(project, run, id)
		span.Operation = "invoke_agent"
		return span
	}
	health, cron, chat, scored := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	d.store(t, 1, plain(project, health, 1), plain(project, chat, 1), plain(project, scored, 1))
	d.store(t, 2, plain(project, health, 2), agent(project, chat, 2))
	d.store(t, 3, plain(sibling, cron, 1))
	require.NoError(t, InsertScores(t.Context(), d.conn, []runmodel.Score{{
		ProjectID: project, RunID: scored, ScoreID: uuid.New(), Version: 1, Name: "useful", CreatedAt: start,
	}}))

	dropped, err := NewDropper(d.conn, d.writer, time.Hour).Drop(t.Context())
	require.NoError(t, err)
	assert.Zero(t, dropped, "too young")

	dropper := NewDropper(d.conn, d.writer, time.Millisecond)
	for total := 0; total < 2; total += dropped { // a trace of the last millisecond is not due
		dropped, err = dropper.Drop(t.Context())
		require.NoError(t, err)
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		for _, run := range []uuid.UUID{health, cron} {
			assert.Empty(c, d.run(c, run))
			assert.Zero(c, d.spans(c, run))
		}
	}, 20*time.Second, 50*time.Millisecond)
	dropped, err = dropper.Drop(t.Context())
	require.NoError(t, err)
	assert.Zero(t, dropped, "each is dropped and counted once")
	assert.Len(t, d.run(t, scored), 1)
	assert.Equal(t, uint64(2), d.run(t, chat)[0].SpanCount)
	assert.Equal(t, uint64(2), d.spans(t, chat))

	d.store(t, 4, agent(project, health, 3))
	dropped, err = dropper.Drop(t.Context())
	require.NoError(t, err)
	assert.Zero(t, dropped)
	late := d.run(t, health)
	require.Len(t, late, 1)
	assert.True(t, late[0].GenAI)
	assert.Equal(t, uint64(1), late[0].SpanCount)
}

// TestDropWhileWritten drops traces while their GenAI spans are stored, many times. In any order of events each such
// span is stored and its trace listed.
func TestDropWhileWritten(t *testing.T) {
	t.Parallel()
	d := newDropping(t)
	start := time.Now().Add(-time.Hour).UTC()
	project := uuid.New()
	dropper := NewDropper(d.conn, d.writer, 0)
	var runs []uuid.UUID
	for i := range 30 {
		run := uuid.New()
		runs = append(runs, run)
		span := runmodel.Span{ProjectID: project, RunID: run, SpanID: 1, Version: 1, StartTime: start, EndTime: start, Name: "POST /chat"}
		d.store(t, 1+2*uint64(i), span)
		var both sync.WaitGroup
		both.Go(func() {
			_, err := dropper.Drop(t.Context())
			assert.NoError(t, err)
		})
		both.Go(func() {
			span.SpanID, span.Version, span.Operation = 2, 2, "chat"
			d.store(t, 2+2*uint64(i), span)
		})
		both.Wait()
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := dropper.Drop(t.Context())
		assert.NoError(c, err)
		for _, run := range runs {
			rows := d.run(c, run)
			if assert.Len(c, rows, 1) {
				assert.True(c, rows[0].GenAI)
			}
			assert.NotZero(c, d.spans(c, run))
		}
	}, 20*time.Second, 100*time.Millisecond)
}

// TestIsGenAISQL compares the condition with runmodel.Span.IsGenAI.
func TestIsGenAISQL(t *testing.T) {
	t.Parallel()
	conn, writer := migrated(t)
	var none int64
	run := uuid.New()
	spans := []runmodel.Span{
		{},
		{Name: "GET /", Status: "error", ToolName: "t"},
		{Kind: runmodel.KindSpan},
		{Kind: runmodel.KindLLM},
		{Kind: "acme.step"},
		{Operation: "chat"},
		{IsRun: true},
		{FromLog: true},
		{InputTokens: &none},
		{OutputTokens: &none},
		{CacheReadTokens: &none},
		{CacheWriteTokens: &none},
		{ReasoningTokens: &none},
		{InputMessageIDs: []uint64{7}},
		{OutputMessageIDs: []uint64{7}},
		{InstructionsID: 7},
		{ToolDefinitionsID: 7},
	}
	want := map[uint64]bool{}
	for i := range spans {
		spans[i].RunID, spans[i].SpanID, spans[i].Version, spans[i].StartTime = run, uint64(i+1), 1, time.Now()
		want[spans[i].SpanID] = spans[i].IsGenAI()
	}
	require.NoError(t, writer.InsertSpans(t.Context(), spans))
	var rows []struct {
		SpanID uint64 `ch:"span_id"`
		GenAI  bool   `ch:"genai"`
	}
	require.NoError(t, conn.Select(t.Context(), &rows, "SELECT span_id, CAST("+runmodel.IsGenAISQL+" AS Bool) AS genai FROM spans WHERE run_id = ?", run))
	got := map[uint64]bool{}
	for _, row := range rows {
		got[row.SpanID] = row.GenAI
	}
	assert.Equal(t, want, got)
}
