package clickhouse

import (
	"context"
	"math/rand/v2"
	"slices"
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
	at := func(start time.Time, version uint64) RunLocation {
		return RunLocation{ProjectID: run.ProjectID, RunID: run.RunID, StartTime: start, Version: version}
	}
	deletions := leftBehind([]RunLocation{at(noon.Add(time.Minute), 1), at(noon.Add(-time.Minute), 3), at(noon.Add(-2*time.Hour), 2)})
	require.Len(t, deletions, 2)
	for _, d := range deletions {
		assert.Equal(t, uint8(1), d.Deleted)
		assert.Equal(t, uint64(3), d.Version)
		assert.NotEqual(t, noon.Add(-time.Minute), d.StartTime)
	}
	assert.Empty(t, leftBehind([]RunLocation{at(noon, 5)}))
}

// TestManyVersions derives runs that together have more versions than are read at once, and one that has them alone.
func TestManyVersions(t *testing.T) {
	t.Parallel()
	conn, writer := migrated(t)
	const medium, long = 11_000, maxVersionsAtOnce + 2
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

// countingRows records the maximum number of span versions in one read.
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

// TestTotalsOfAVeryLongRun derives a run with more versions than totals are computed from: the first ones by start
// are used, in any order of arrival, and the row says so.
func TestTotalsOfAVeryLongRun(t *testing.T) {
	t.Parallel()
	conn, writer := migrated(t)
	const more = 1000
	key, at := runmodel.RunKey{ProjectID: uuid.New(), RunID: uuid.New()}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	last := at.Add((maxVersionsPerRun + more - 1) * 100 * time.Millisecond) // hours later
	for _, part := range []string{"number >= 70000", "number < 70000"} {
		require.NoError(t, conn.Exec(t.Context(), `INSERT INTO spans
			(project_id, run_id, span_id, version, parent_span_id, start_time, end_time, name, kind, status, input_tokens, metadata, attributes)
			SELECT ?, ?, number + 1, 1, number > 0, fromUnixTimestamp64Nano(toInt64(? + number * 100000000)) AS at, at, 'call', 'llm',
				if(number = 5, 'error', 'ok'), 1, if(number = 0, map('team', 'a'), map()), if(number = 5, map('`+runmodel.KeyFingerprint+`', 'own'), map())
			FROM numbers(?) WHERE `+part, key.ProjectID, key.RunID, at.UnixNano(), maxVersionsPerRun+more))
	}
	require.NoError(t, writer.InsertBounds(t.Context(), []Bounds{
		{ProjectID: key.ProjectID, RunID: key.RunID, FirstStart: at, LastStart: last, FirstBatch: 1, LastBatch: 1},
	}))
	counting := &countingRows{Conn: conn}
	derived, err := DeriveRuns(t.Context(), counting, writer, map[runmodel.RunKey][]runmodel.Span{key: nil}, 2)
	require.NoError(t, err)
	assert.Equal(t, Derived{Runs: 1, Reread: 1}, derived)
	assert.Equal(t, maxVersionsPerRun, counting.most)
	var row struct {
		SpanCount     uint64            `ch:"span_count"`
		InputTokens   *int64            `ch:"input_tokens"`
		EndTime       time.Time         `ch:"end_time"`
		Metadata      map[string]string `ch:"metadata"`
		Replayability string            `ch:"replayability"`
	}
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT span_count, input_tokens, end_time, metadata, replayability FROM runs FINAL").ScanStruct(&row))
	assert.EqualValues(t, maxVersionsPerRun, row.SpanCount)
	assert.EqualValues(t, maxVersionsPerRun-1, *row.InputTokens, "all calls below the first, which wraps them")
	assert.Equal(t, last.Add(-more*100*time.Millisecond), row.EndTime)
	assert.Equal(t, map[string]string{"team": "a", KeyTotalsOf: "100000"}, row.Metadata)
	assert.Empty(t, row.Replayability, "unknown: it covers a part")
	n, err := DeriveStale(t.Context(), conn, writer, nil)
	require.NoError(t, err)
	assert.Zero(t, n, "it would not become known")
}

// TestReplayabilityFromStoredSpans compares what is derived from stored spans with what is derived from those that were received. The
// former knows only digests of requests.
func TestReplayabilityFromStoredSpans(t *testing.T) {
	t.Parallel()
	conn, writer := migrated(t)
	random := rand.New(rand.NewPCG(9, 10))
	project, at := uuid.New(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	want, seen := map[uuid.UUID]string{}, map[string]int{}
	wanted := map[runmodel.RunKey][]runmodel.Span{}
	var stored []runmodel.Span
	var bounds []Bounds
	for range 300 {
		id := uuid.New()
		var spans []runmodel.Span
		var messages []uint64
		for n := range uint64(1 + random.IntN(8)) {
			s := runmodel.Span{
				ProjectID: project, RunID: id, SpanID: n + 1, Version: 1 + random.Uint64N(2), FromLog: random.IntN(5) == 0, Name: "step", Kind: "llm", RequestModel: "m",
				StartTime: at.Add(time.Duration(n) * time.Second), EndTime: at.Add(time.Duration(n+1) * time.Second), OutputMessageIDs: []uint64{7},
			}
			if random.IntN(4) == 0 {
				s.Kind, s.OutputMessageIDs, s.ToolArguments, s.ToolResult = "tool", nil, "{}", "1"
				if random.IntN(10) == 0 {
					s.ToolResult = ""
				}
			} else {
				for range 1 + random.IntN(40) {
					messages = append(messages, random.Uint64())
				}
				s.InputMessageIDs = slices.Clone(messages)
				if random.IntN(10) == 0 {
					s.InputMessageIDs[len(messages)-1] = 5
				}
				if random.IntN(4) == 0 {
					s.SystemMessageTextID = 7
				}
				if random.IntN(30) == 0 {
					s.FinishReasons = []string{"tool_calls"}
				}
				if random.IntN(40) == 0 {
					s.OutputMessageIDs = nil
				}
			}
			spans = append(spans, s)
			if random.IntN(3) == 0 {
				again := s
				again.Version++
				spans = append(spans, again)
			}
		}
		run := runmodel.Totals(spans)
		want[id] = run.Replayability
		seen[run.Replayability]++
		stored = append(stored, spans...)
		bounds = append(bounds, Bounds{ProjectID: project, RunID: id, FirstStart: at, LastStart: spans[len(spans)-1].StartTime, FirstBatch: 1, LastBatch: 1})
		wanted[runmodel.RunKey{ProjectID: project, RunID: id}] = nil
	}
	require.NoError(t, writer.InsertSpans(t.Context(), stored))
	require.NoError(t, writer.InsertBounds(t.Context(), bounds))
	_, err := DeriveRuns(t.Context(), conn, writer, wanted, 2)
	require.NoError(t, err)
	var rows []struct {
		RunID         uuid.UUID `ch:"run_id"`
		Replayability string    `ch:"replayability"`
	}
	require.NoError(t, conn.Select(t.Context(), &rows, "SELECT run_id, replayability FROM runs FINAL"))
	require.Len(t, rows, len(want))
	for _, row := range rows {
		assert.Equal(t, want[row.RunID], row.Replayability)
	}
	for _, level := range []string{runmodel.ReplayStructure, runmodel.ReplayLLM, runmodel.ReplayFull} {
		assert.Greater(t, seen[level], 10, level)
	}
}

// TestTogether checks that runs that are read together are close in time, and that a long run does not extend the
// time range that is read for others.
func TestTogether(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	from := func(start, end time.Duration) Bounds {
		return Bounds{RunID: uuid.New(), FirstStart: noon.Add(start), LastStart: noon.Add(end)}
	}
	const day = 24 * time.Hour
	early, late, spread := from(-time.Hour, 0), from(22*time.Hour, 23*time.Hour), from(-300*day, 0)
	dayAfter, epoch := from(day, day+time.Hour), Bounds{RunID: uuid.New(), FirstStart: time.Unix(0, 0), LastStart: noon}
	assert.Equal(t, [][]Bounds{{early, late}, {dayAfter}, {epoch, spread}}, together([]Bounds{epoch, dayAfter, late, spread, early}))
	assert.Empty(t, together(nil))

	many := make([]Bounds, 2*maxRunsAtOnce+1)
	for i := range many {
		many[i] = from(0, time.Hour)
	}
	var sizes []int
	for _, some := range together(many) {
		sizes = append(sizes, len(some))
	}
	assert.Equal(t, []int{maxRunsAtOnce, maxRunsAtOnce, 1}, sizes)
}
