package clickhouse

import (
	"context"
	"reflect"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

func migrated(tb testing.TB) (driver.Conn, *Writer) {
	tb.Helper()
	url := engines.ClickHouse(tb)
	require.NoError(tb, Migrate(tb.Context(), url))
	conn, err := Open(url)
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, conn.Close()) })
	writer, err := NewWriter(tb.Context(), url)
	require.NoError(tb, err)
	tb.Cleanup(writer.Close)
	return conn, writer
}

func names[R any](columns []column[R]) []string {
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	url := engines.ClickHouse(t)
	require.NoError(t, Migrate(t.Context(), url))
	require.NoError(t, Migrate(t.Context(), url), "again changes nothing")

	// A migrator that was killed before it noted a step repeats it.
	opts, err := ch.ParseDSN(url)
	require.NoError(t, err)
	db := ch.OpenDB(opts)
	defer func() { assert.NoError(t, db.Close()) }()
	_, err = db.ExecContext(t.Context(), "TRUNCATE TABLE goose_db_version")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)")
	require.NoError(t, err)
	require.NoError(t, Migrate(t.Context(), url))
}

// TestRowsFitTheSchema holds the row structs, the lists of columns and the tables to each other.
func TestRowsFitTheSchema(t *testing.T) {
	t.Parallel()
	conn, _ := migrated(t)
	for table, test := range map[string]struct {
		row     reflect.Type
		columns []string
	}{
		"spans":      {reflect.TypeFor[runmodel.Span](), names(spanColumns())},
		"contents":   {reflect.TypeFor[runmodel.Content](), names(contentColumns())},
		"run_bounds": {reflect.TypeFor[Bounds](), names(boundColumns())},
		"runs":       {reflect.TypeFor[runmodel.Run](), names(runColumns())},
	} {
		var stored []string
		rows, err := conn.Query(t.Context(), "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = ?", table)
		require.NoError(t, err)
		for rows.Next() {
			var name string
			require.NoError(t, rows.Scan(&name))
			stored = append(stored, name)
		}
		require.NoError(t, rows.Err())
		var tags []string
		for i := range test.row.NumField() {
			tags = append(tags, test.row.Field(i).Tag.Get("ch"))
		}
		assert.ElementsMatch(t, stored, test.columns, "columns written to %s", table)
		assert.ElementsMatch(t, stored, tags, "fields of a row of %s", table)
	}
}

func TestSpanRoundTrip(t *testing.T) {
	t.Parallel()
	conn, writer := migrated(t)
	n, f := int64(7), 0.25
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	want := runmodel.Span{
		ProjectID: uuid.New(), RunID: uuid.New(), SpanID: 1<<63 + 5, Version: uint64(at.UnixNano()), ParentSpanID: 9,
		StartTime: at, EndTime: at.Add(time.Second), IsRun: true, Name: "näme \x00 ' \\ \"", Kind: "llm", Status: "ok",
		Tags: []string{"a"}, FinishReasons: []string{"stop"}, Metadata: map[string]string{"k": "v"},
		InputTokens: &n, CostUSD: &f, CostSource: "sent", TimeToFirstToken: &f,
		InputMessageIDs: []uint64{1<<64 - 1, 2}, OutputMessageIDs: []uint64{3}, ResourceID: 4,
		Attributes: map[string]string{"x": "y"}, AttributesJSON: map[string]string{"z": "[1]"}, Events: "[]",
	}
	bare := runmodel.Span{ProjectID: want.ProjectID, RunID: want.RunID, SpanID: 2, StartTime: at, EndTime: runmodel.Epoch}
	require.NoError(t, writer.InsertSpans(t.Context(), []runmodel.Span{want, bare}))
	var got []runmodel.Span
	require.NoError(t, conn.Select(t.Context(), &got, "SELECT * FROM spans WHERE project_id = ? ORDER BY span_id DESC", want.ProjectID))
	require.Len(t, got, 2)
	assert.Equal(t, want, got[0])
	assert.Nil(t, got[1].InputTokens)
	assert.True(t, runmodel.IsAbsent(got[1].EndTime))
}

func TestBounds(t *testing.T) {
	t.Parallel()
	conn, writer := migrated(t)
	key := runmodel.RunKey{ProjectID: uuid.New(), RunID: uuid.New()}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, start := range []time.Time{at, at.Add(-time.Hour), at.Add(time.Hour)} {
		require.NoError(t, writer.InsertBounds(t.Context(), []Bounds{{key.ProjectID, key.RunID, start, start, uint64(i + 1), uint64(i + 1)}}))
	}
	got, err := ReadBounds(t.Context(), conn, []runmodel.RunKey{key, {ProjectID: key.ProjectID, RunID: uuid.New()}})
	require.NoError(t, err)
	assert.Equal(t, []Bounds{{key.ProjectID, key.RunID, at.Add(-time.Hour), at.Add(time.Hour), 1, 3}}, got)
}

// FuzzBinding holds the driver to bring a bound text to ClickHouse and back as it was.
func FuzzBinding(f *testing.F) {
	for _, text := range []string{``, `\0`, `\`, `'`, `\'`, "a\x00b", `'); DROP TABLE spans; --`, "\xff", "?", "{x:String}", "Ü\n\t"} {
		f.Add(text)
	}
	conn, _ := migrated(f)
	f.Fuzz(func(t *testing.T, text string) {
		var got string
		var length uint64
		require.NoError(t, conn.QueryRow(context.Background(), "SELECT ?, length(?)", text, text).Scan(&got, &length))
		require.Equal(t, text, got)
		require.Equal(t, uint64(len(text)), length)
	})
}
