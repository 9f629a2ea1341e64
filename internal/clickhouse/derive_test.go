package clickhouse

import (
	"context"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

func TestLeftBehind(t *testing.T) {
	t.Parallel()
	run := runmodel.RunKey{ProjectID: uuid.New(), RunID: uuid.New()}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(start time.Time, version uint64) RunPlace {
		return RunPlace{ProjectID: run.ProjectID, RunID: run.RunID, StartTime: start, Version: version}
	}
	deletions := leftBehind([]RunPlace{at(noon.Add(time.Minute), 1), at(noon.Add(-time.Minute), 3), at(noon.Add(-2*time.Hour), 2)})
	require.Len(t, deletions, 2)
	for _, d := range deletions {
		assert.Equal(t, uint8(1), d.Deleted)
		assert.Equal(t, uint64(3), d.Version)
		assert.NotEqual(t, noon.Add(-time.Minute), d.StartTime)
	}
	assert.Empty(t, leftBehind([]RunPlace{at(noon, 5)}))
}

// TestManyVersions derives runs that have more versions together than are read at once, one of them by itself.
func TestManyVersions(t *testing.T) {
	t.Parallel()
	conn, writer := migrated(t)
	const medium, long = 11_000, mostVersionsAtOnce + 2
	project, at := uuid.New(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	wanted, lengths := map[runmodel.RunKey][]runmodel.Span{}, map[uuid.UUID]uint64{}
	for _, length := range []uint64{medium, 1, medium, medium, long, medium, 2, medium} {
		key := runmodel.RunKey{ProjectID: project, RunID: uuid.New()}
		wanted[key], lengths[key.RunID] = nil, length
		require.NoError(t, conn.Exec(t.Context(), `INSERT INTO spans (project_id, run_id, span_id, version, start_time)
			SELECT ?, ?, number + 1, 1, fromUnixTimestamp(?) FROM numbers(?)`, project, key.RunID, at.Unix(), length))
		require.NoError(t, writer.InsertBounds(t.Context(), []Bounds{{ProjectID: project, RunID: key.RunID, FirstStart: at, LastStart: at, FirstBatch: 1, LastBatch: 1}}))
	}
	counting := &countingRows{Conn: conn}
	derived, err := DeriveRuns(t.Context(), counting, writer, wanted, 2)
	require.NoError(t, err)
	assert.Equal(t, Derived{Runs: len(lengths), Reread: len(lengths)}, derived)
	var rows []struct {
		RunID     uuid.UUID `ch:"run_id"`
		SpanCount uint64    `ch:"span_count"`
	}
	require.NoError(t, conn.Select(t.Context(), &rows, "SELECT run_id, span_count FROM runs FINAL"))
	got := map[uuid.UUID]uint64{}
	for _, row := range rows {
		got[row.RunID] = row.SpanCount
	}
	assert.Equal(t, lengths, got)

	assert.Equal(t, long, counting.most, "the long run alone; of others no more than are read at once")
}

// countingRows notes the most versions of spans that came with one read.
type countingRows struct {
	driver.Conn

	most int
}

func (c *countingRows) Select(ctx context.Context, to any, query string, args ...any) error {
	err := c.Conn.Select(ctx, to, query, args...)
	if versions, ok := to.(*[]runmodel.Span); ok {
		c.most = max(c.most, len(*versions))
	}
	return err
}
