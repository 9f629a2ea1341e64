package clickhouse

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

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

// TestOrder compares the order in which rows are sent with that of the tables, in which ClickHouse stores them
// without sorting.
func TestOrder(t *testing.T) {
	t.Parallel()
	conn, writer := migrated(t)
	const n = 200
	at := time.Date(2026, 3, 1, 12, 59, 0, 0, time.UTC)
	projects := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	runs := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	spans := make([]runmodel.Span, n)
	for i := range spans {
		spans[i] = runmodel.Span{
			ProjectID: projects[rand.IntN(len(projects))], RunID: runs[rand.IntN(len(runs))], SpanID: rand.Uint64(), Version: uint64(i),
			StartTime: at.Add(time.Duration(rand.IntN(300)) * time.Second), EndTime: runmodel.Epoch,
		}
	}
	require.NoError(t, writer.InsertSpans(t.Context(), spans))
	slices.SortFunc(spans, func(a, b runmodel.Span) int { return compareSpans(&a, &b) })
	want := make([]uint64, n)
	for i := range spans {
		want[i] = spans[i].Version
	}
	var order string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT sorting_key FROM system.tables WHERE database = currentDatabase() AND name = 'spans'").Scan(&order))
	var got []uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT groupArray(version) FROM (SELECT version FROM spans ORDER BY "+order+")").Scan(&got))
	assert.Equal(t, want, got)
}

// TestRowsFitTheSchema compares the row structs, the lists of columns and the tables.
func TestRowsFitTheSchema(t *testing.T) {
	t.Parallel()
	conn, _ := migrated(t)
	for table, test := range map[string]struct {
		row     reflect.Type
		columns []string
	}{
		"spans":           {reflect.TypeFor[runmodel.Span](), names(spanColumns())},
		"contents":        {reflect.TypeFor[runmodel.Content](), names(contentColumns())},
		"shared_contents": {reflect.TypeFor[runmodel.SharedContent](), names(sharedContentColumns())},
		"run_bounds":      {reflect.TypeFor[Bounds](), names(boundColumns())},
		"runs":            {reflect.TypeFor[runmodel.Run](), names(runColumns())},
	} {
		var stored []string
		rows, err := conn.Query(t.Context(), "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = ? AND name NOT IN ('written_at', 'has_tool_result')", table)
		require.NoError(t, err)
		for rows.Next() {
			var name string
			require.NoError(t, rows.Scan(&name))
			stored = append(stored, name)
		}
		require.NoError(t, rows.Err())
		var tags []string
		for _, field := range reflect.VisibleFields(test.row) {
			if tag := field.Tag.Get("ch"); !field.Anonymous && tag != "-" {
				tags = append(tags, tag)
			}
		}
		assert.ElementsMatch(t, stored, test.columns, "columns written to %s", table)
		if table == "spans" {
			tags = append(tags, "escaped_words") // for searches only
			tags = slices.DeleteFunc(tags, func(tag string) bool { return tag == "input_digest" })
		}
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
		AgentParts: map[string]string{runmodel.PartInstructions: "ab"},
		Attributes: map[string]string{"x": "y"}, AttributesJSON: map[string]string{"z": "[1]"}, Events: "[]",
	}
	bare := runmodel.Span{ProjectID: want.ProjectID, RunID: want.RunID, SpanID: 2, StartTime: at, EndTime: runmodel.Epoch}
	require.NoError(t, writer.InsertSpans(t.Context(), []runmodel.Span{want, bare}))
	var got []runmodel.Span
	require.NoError(t, conn.Select(t.Context(), &got, "SELECT * EXCEPT escaped_words FROM spans WHERE project_id = ? ORDER BY span_id DESC", want.ProjectID))
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
		require.NoError(t, writer.InsertBounds(t.Context(), []Bounds{{key.ProjectID, key.RunID, start, start, uint64(i + 1), uint64(i + 1), uint64(i % 2), 15 &^ (1 << i)}}))
	}
	got, err := ReadBounds(t.Context(), conn, []runmodel.RunKey{key, {ProjectID: key.ProjectID, RunID: uuid.New()}})
	require.NoError(t, err)
	assert.Equal(t, []Bounds{{key.ProjectID, key.RunID, at.Add(-time.Hour), at.Add(time.Hour), 1, 3, 1, 0}}, got)
	require.NoError(t, conn.Exec(t.Context(), "OPTIMIZE TABLE run_bounds FINAL"))
	var absent []uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT groupArray(absent) FROM run_bounds WHERE run_id = ?", key.RunID).Scan(&absent))
	assert.Equal(t, []uint64{8}, absent, "what all batches leave empty")
}

// FuzzBinding checks that a bound text returns from ClickHouse unchanged.
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

// TestDeriveStale checks that runs with an earlier version's fingerprint get the current one, even if it is among a
// span's attributes, that runs without a replayability get one, and that other runs do not change.
func TestDeriveStale(t *testing.T) {
	t.Parallel()
	conn, writer := migrated(t)
	project := uuid.New()
	start := time.Date(2026, 3, 1, 11, 30, 0, 0, time.UTC)
	run := func(hours int, status, own string) []runmodel.Span {
		id := uuid.New()
		at := start.Add(time.Duration(hours) * time.Hour)
		root := runmodel.Span{ProjectID: project, RunID: id, SpanID: 1, Version: 1, StartTime: at, EndTime: at.Add(time.Second), Name: "agent", Kind: "agent", Status: status}
		tool := runmodel.Span{ProjectID: project, RunID: id, SpanID: 2, ParentSpanID: 1, Version: 1, StartTime: at, EndTime: at.Add(time.Second), Name: "look", Kind: "tool", ToolName: "look", Status: status}
		if own != "" {
			tool.Attributes = map[string]string{runmodel.KeyFingerprint: own}
		}
		return []runmodel.Span{root, tool}
	}
	stored := [][]runmodel.Span{run(0, "error", ""), run(0, "error", "ours"), run(3, "cancelled", ""), run(5, "ok", ""), run(5, "ok", "")}
	want := map[uuid.UUID]runmodel.Run{}
	for i, spans := range stored {
		now := runmodel.Totals(spans)
		want[now.RunID] = now
		before := now
		before.Tools = nil
		if i == len(stored)-1 {
			before.Replayability = ""
		}
		if now.Fingerprint != "" {
			before.Failure = runmodel.Failure{Fingerprint: "fp:v1:0123456789abcdef"}
		}
		require.NoError(t, writer.InsertSpans(t.Context(), spans))
		require.NoError(t, writer.InsertBounds(t.Context(), []Bounds{{ProjectID: project, RunID: now.RunID, FirstStart: now.StartTime, LastStart: now.StartTime, FirstBatch: 1, LastBatch: 1}}))
		require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{before}))
	}
	n, err := DeriveStale(t.Context(), conn, writer, nil)
	require.NoError(t, err)
	assert.Equal(t, 4, n)
	var rows []struct {
		RunID         uuid.UUID `ch:"run_id"`
		Fingerprint   string    `ch:"fingerprint"`
		Replayability string    `ch:"replayability"`
		Tools         []string  `ch:"tools"`
	}
	require.NoError(t, conn.Select(t.Context(), &rows, "SELECT run_id, fingerprint, replayability, tools FROM runs FINAL"))
	require.Len(t, rows, 5)
	untouched := stored[3][0].RunID
	for _, row := range rows {
		assert.Equal(t, want[row.RunID].Fingerprint, row.Fingerprint)
		assert.Equal(t, runmodel.ReplayStructure, row.Replayability, "it has no model call")
		assert.Equal(t, row.RunID != untouched, slices.Equal([]string{"look"}, row.Tools), "derived again")
	}
	n, err = DeriveStale(t.Context(), conn, writer, nil)
	require.NoError(t, err)
	assert.Zero(t, n)
}
