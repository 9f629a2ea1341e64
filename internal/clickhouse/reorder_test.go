package clickhouse

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// beforeReorder is a database as the step before left it, with spans of three days.
func beforeReorder(t *testing.T, perDay int) (url string, db *sql.DB) {
	t.Helper()
	url = engines.ClickHouse(t)
	opts, err := ch.ParseDSN(url)
	require.NoError(t, err)
	require.NoError(t, createDatabase(t.Context(), *opts))
	db = ch.OpenDB(opts)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	steps, err := newProvider(db)
	require.NoError(t, err)
	const before = 19
	_, err = steps.UpTo(t.Context(), before)
	require.NoError(t, err)
	for day := range 3 {
		_, err = db.ExecContext(t.Context(), `INSERT INTO spans (project_id, run_id, span_id, version, start_time, name)
			SELECT toUUID('00000000-0000-0000-0000-000000000001'), reinterpretAsUUID(toUInt128(? + intDiv(number, 10))), cityHash64(number), 1,
				fromUnixTimestamp(?) + toIntervalSecond(number % 3600), 'before' FROM numbers(?)`,
			day*perDay, time.Date(2026, 3, 1+day, 12, 0, 0, 0, time.UTC).Unix(), perDay)
		require.NoError(t, err)
	}
	return url, db
}

func countSpans(t *testing.T, db *sql.DB, where string, args ...any) (rows uint64) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT uniqExact(run_id, span_id, version) FROM spans WHERE "+where, args...).Scan(&rows))
	return rows
}

func assertReordered(t *testing.T, db *sql.DB) {
	t.Helper()
	var order string
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT sorting_key FROM system.tables WHERE database = currentDatabase() AND name = 'spans'").Scan(&order))
	assert.Equal(t, spansByStart, order)
	var tables uint64
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name LIKE 'spans%'").Scan(&tables))
	assert.EqualValues(t, 1, tables)
}

// TestReorderSpans holds that spans are put into the new order while they are written, and that what their owner has set stays.
func TestReorderSpans(t *testing.T) {
	t.Parallel()
	const perDay, writers = 30_000, 3
	url, db := beforeReorder(t, perDay)
	_, err := db.ExecContext(t.Context(), "ALTER TABLE spans MODIFY SETTING merge_with_ttl_timeout = 86400")
	require.NoError(t, err)
	writer, err := NewWriter(t.Context(), url)
	require.NoError(t, err)
	defer writer.Close()
	project := uuid.MustParse("00000000-0000-0000-0000-000000000001")

	stop := make(chan struct{})
	var written atomic.Int64
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for {
				n := written.Load()
				span := runmodel.Span{
					ProjectID: project, RunID: uuid.New(), SpanID: 1, Version: 1, EndTime: runmodel.Epoch, Name: "meanwhile",
					StartTime: time.Date(2026, 3, 1+int(n%4), 12, 30, 0, 0, time.UTC),
				}
				for err := writer.InsertSpans(t.Context(), []runmodel.Span{span}); err != nil; err = writer.InsertSpans(t.Context(), []runmodel.Span{span}) {
					if !strings.Contains(err.Error(), "spans does not exist") { // as the store worker does, it tries again
						assert.NoError(t, err)
						return
					}
				}
				written.Add(1)
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
	require.Eventually(t, func() bool { return written.Load() > 0 }, time.Minute, time.Millisecond)
	before := written.Load()
	require.NoError(t, Migrate(t.Context(), url))
	assert.Greater(t, written.Load(), before, "the writers went on meanwhile")
	close(stop)
	writing.Wait()

	assertReordered(t, db)
	assert.EqualValues(t, 3*perDay, countSpans(t, db, "name = 'before'"))
	assert.EqualValues(t, written.Load(), countSpans(t, db, "name = 'meanwhile'"))
	var definition string
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = 'spans'").Scan(&definition))
	assert.Contains(t, definition, "merge_with_ttl_timeout = 86400")
	assert.Contains(t, definition, "INDEX spans_text")
}

// TestReorderSpansDeleted holds that a run that is deleted after it has been copied is deleted where it was copied to.
func TestReorderSpansDeleted(t *testing.T) {
	t.Parallel()
	url, db := beforeReorder(t, 100)
	writer, err := NewWriter(t.Context(), url)
	require.NoError(t, err)
	defer writer.Close()
	conn, err := Open(url)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	project, run, at := uuid.New(), uuid.New(), time.Date(2026, 3, 2, 12, 30, 0, 0, time.UTC)
	require.NoError(t, writer.InsertSpans(t.Context(), []runmodel.Span{
		{ProjectID: project, RunID: run, SpanID: 1, Version: 1, StartTime: at, EndTime: runmodel.Epoch, Name: "doomed"},
	}))
	_, err = db.ExecContext(t.Context(), "INSERT INTO run_bounds (project_id, run_id, first_start, last_start) VALUES (?, ?, ?, ?)", project, run, at, at)
	require.NoError(t, err)
	copies := func() (n uint64) {
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count() FROM "+newSpans+" WHERE run_id = ?", run).Scan(&n))
		return n
	}
	require.NoError(t, createNewSpans(t.Context(), db))
	_, err = copySpans(t.Context(), db, "spans", map[string][]string{})
	require.NoError(t, err)
	require.EqualValues(t, 1, copies())
	require.NoError(t, DeleteRuns(t.Context(), conn, project, []uuid.UUID{run}, at))
	require.NoError(t, deleteCopied(t.Context(), db))
	assert.Zero(t, copies())
	var others uint64
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count() FROM "+newSpans).Scan(&others))
	assert.EqualValues(t, 300, others)
}

// TestReorderSpansKilled holds that a migrator may be killed at any moment of it and run again.
func TestReorderSpansKilled(t *testing.T) {
	t.Parallel()
	const perDay = 20_000
	url, db := beforeReorder(t, perDay)
	// At the two moments that a kill seldom meets: while there is no table spans, and below, before the old one is dropped.
	_, err := db.ExecContext(t.Context(), "RENAME TABLE spans TO spans_by_id")
	require.NoError(t, err)
	killed := 0
	for after := time.Millisecond; ; after = after * 5 / 4 {
		ctx, kill := context.WithTimeout(t.Context(), after)
		err := Migrate(ctx, url)
		kill()
		if err == nil {
			break
		}
		require.Less(t, after, time.Minute, "%v", err)
		killed++
		var table string
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT name FROM system.tables
			WHERE database = currentDatabase() AND name IN ('spans', 'spans_by_id') ORDER BY name DESC LIMIT 1`).Scan(&table))
		var spans uint64
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT uniqExact(run_id, span_id) FROM "+table).Scan(&spans))
		assert.EqualValues(t, 3*perDay, spans)
	}
	assert.Greater(t, killed, 5)
	assertReordered(t, db)
	assert.EqualValues(t, 3*perDay, countSpans(t, db, "1"))

	_, err = db.ExecContext(t.Context(), "CREATE TABLE spans_by_id AS spans")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "ALTER TABLE goose_db_version DELETE WHERE version_id >= 20 SETTINGS mutations_sync = 1")
	require.NoError(t, err)
	require.NoError(t, Migrate(t.Context(), url))
	assertReordered(t, db)
	assert.EqualValues(t, 3*perDay, countSpans(t, db, "1"))
}

// TestReorderSpansFails holds that spans are there when a migrator fails while there is no table of that name.
func TestReorderSpansFails(t *testing.T) {
	t.Parallel()
	const perDay = 1000
	url, db := beforeReorder(t, perDay)
	// An insert that takes longer than the migrator is given.
	inserting, stop := context.WithCancel(t.Context())
	var insert sync.WaitGroup
	insert.Go(func() {
		_, err := db.ExecContext(inserting, `INSERT INTO spans (project_id, run_id, span_id, version, start_time)
			SELECT generateUUIDv4(), generateUUIDv4(), sleepEachRow(1), 1, now() FROM numbers(600) SETTINGS max_block_size = 1`)
		assert.ErrorIs(t, err, context.Canceled)
	})
	defer insert.Wait()
	defer stop()
	has := func(table string) bool {
		var n uint64
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = ?", table).Scan(&n))
		return n == 1
	}
	require.Eventually(t, func() bool {
		var n uint64
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count() FROM system.processes WHERE query_kind = 'Insert' AND current_database = currentDatabase()").Scan(&n))
		return n == 1
	}, time.Minute, 10*time.Millisecond)
	ctx, fail := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() { failed <- Migrate(ctx, url) }()
	require.Eventually(t, func() bool { return has(oldSpans) }, time.Minute, time.Millisecond)
	fail()
	require.ErrorIs(t, <-failed, context.Canceled)
	assert.True(t, has("spans"))
	assert.False(t, has(oldSpans))
	assert.EqualValues(t, 3*perDay, countSpans(t, db, "1"))
}

// TestReorderSpansTogether holds that migrators that are started at once do not harm each other.
func TestReorderSpansTogether(t *testing.T) {
	t.Parallel()
	const perDay = 100_000
	url, db := beforeReorder(t, perDay)
	var migrating sync.WaitGroup
	for range 4 {
		migrating.Go(func() { assert.NoError(t, Migrate(t.Context(), url)) })
	}
	migrating.Wait()
	assertReordered(t, db)
	assert.EqualValues(t, 3*perDay, countSpans(t, db, "1"))
}

// TestReorderSpansRefusal holds that a table that somebody else has made is left as it is.
func TestReorderSpansRefusal(t *testing.T) {
	t.Parallel()
	url, db := beforeReorder(t, 1)
	_, err := db.ExecContext(t.Context(), "DROP TABLE spans SYNC")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE spans (project_id UUID) ENGINE = MergeTree ORDER BY project_id")
	require.NoError(t, err)
	require.ErrorContains(t, Migrate(t.Context(), url), "not one that Looptrace has made")
}
