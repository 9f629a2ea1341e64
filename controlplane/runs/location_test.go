package runs

import (
	"log/slog"
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

// TestCachedLocations reads a run again and again while its location changes. A cached location is not used once the
// run is elsewhere, nor for other callers.
func TestCachedLocations(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	writer, err := clickhouse.NewWriter(t.Context(), address)
	require.NoError(t, err)
	defer writer.Close()

	start := time.Now().Add(-48 * time.Hour).UTC().Truncate(time.Hour)
	project, id := uuid.New(), uuid.New()
	batch := uint64(0)
	store := func(span runmodel.Span) {
		t.Helper()
		batch++
		span.ProjectID, span.RunID, span.Version, span.EndTime = project, id, uint64(time.Now().UnixNano()), span.StartTime.Add(time.Second)
		spans := []runmodel.Span{span}
		require.NoError(t, writer.InsertSpans(t.Context(), spans))
		require.NoError(t, writer.InsertBounds(t.Context(), []clickhouse.Bounds{{
			ProjectID: project, RunID: id, FirstStart: span.StartTime, LastStart: span.StartTime, FirstBatch: batch, LastBatch: batch,
			Absent: clickhouse.Absent(spans),
		}}))
	}
	service := NewService(conn, nil, nil, slog.New(slog.DiscardHandler))
	read := func(projects ...uuid.UUID) ([]string, error) {
		page, err := service.Spans(t.Context(), accesstest.Projects(t, projects...), id, SpansQuery{Limit: 10})
		var spans []string
		for i := range page.Spans {
			spans = append(spans, page.Spans[i].Name+page.Spans[i].ToolName)
		}
		return spans, err
	}
	finds := func(spans ...string) {
		t.Helper()
		for range 2 { // looked up, then cached
			got, err := read(project)
			require.NoError(t, err)
			assert.Equal(t, spans, got)
		}
	}
	missing := func(projects ...uuid.UUID) {
		t.Helper()
		for range 2 {
			_, err := read(projects...)
			require.ErrorIs(t, err, ErrNotFound)
		}
	}
	missing(project)
	store(runmodel.Span{SpanID: 1, StartTime: start, Name: "first"})
	finds("first")
	store(runmodel.Span{SpanID: 2, StartTime: start.Add(time.Minute), Name: "near", ToolName: "-column"}) // the cached location has this column as absent
	finds("first", "near-column")
	store(runmodel.Span{SpanID: 3, StartTime: start.Add(30 * time.Hour), Name: "far"})
	finds("first", "near-column", "far")
	missing(uuid.New())

	batch++
	require.NoError(t, writer.InsertBounds(t.Context(), []clickhouse.Bounds{{
		ProjectID: project, RunID: id, FirstStart: start, LastStart: start, FirstBatch: batch, LastBatch: batch,
		DeletedAt: uint64(time.Now().UnixNano()),
	}}))
	missing(project)
	store(runmodel.Span{SpanID: 1, StartTime: start.Add(time.Hour), Name: "anew"})
	finds("anew")
}
