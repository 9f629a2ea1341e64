package runs

import (
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access/accesstest"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestOutlineOfRunThatBeganAnew reads a run that was deleted and sent again. The version of its row is larger than
// that of the deletion, which is a time. Its outline takes no more memory than that of another run of its size.
func TestOutlineOfRunThatBeganAnew(t *testing.T) { // it looks at what the process allocates
	address := engines.ClickHouse(t)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	writer, err := clickhouse.NewWriter(t.Context(), address)
	require.NoError(t, err)
	defer writer.Close()

	start := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	project, id := uuid.New(), uuid.New()
	store := func(batch uint64) {
		spans := make([]runmodel.Span, 3)
		for i := range spans {
			spans[i] = runmodel.Span{
				ProjectID: project, RunID: id, SpanID: uint64(i + 1), ParentSpanID: uint64(min(i, 1)), Version: uint64(time.Now().UnixNano()),
				StartTime: start, EndTime: start.Add(time.Second), Name: "step",
			}
		}
		require.NoError(t, writer.InsertSpans(t.Context(), spans))
		require.NoError(t, writer.InsertBounds(t.Context(), []clickhouse.Bounds{{
			ProjectID: project, RunID: id, FirstStart: start, LastStart: start, FirstBatch: batch, LastBatch: batch,
		}}))
		_, err := clickhouse.DeriveRuns(t.Context(), conn, writer, map[runmodel.RunKey][]runmodel.Span{{ProjectID: project, RunID: id}: spans}, batch)
		require.NoError(t, err)
	}
	store(1)
	service := NewService(conn, nil, nil, slog.New(slog.DiscardHandler))
	projects := accesstest.Projects(t, project)
	require.NoError(t, writer.InsertBounds(t.Context(), []clickhouse.Bounds{{
		ProjectID: project, RunID: id, FirstStart: start, LastStart: start, FirstBatch: 2, LastBatch: 2, DeletedAt: uint64(time.Now().UnixNano()),
	}}))
	store(3)

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	outline, err := service.Outline(t.Context(), projects, id)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	assert.Len(t, outline.Spans, 3)
	assert.False(t, outline.Partial)
	const megabyte = 1 << 20
	assert.Less(t, (after.TotalAlloc-before.TotalAlloc)/megabyte, uint64(50))
}
