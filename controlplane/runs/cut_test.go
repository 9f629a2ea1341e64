package runs

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access/accesstest"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestListOfLargeRuns lists runs that together take more memory than a statement may. They are cut as they are read. The store has a tenth of
// a statement's memory, and the runs a tenth of the size that they may have: more would take longer than a statement may on a busy machine.
func TestListOfLargeRuns(t *testing.T) {
	t.Parallel()
	server, database := engines.ClickHouseServer(t) // a server of its own, because others would wait for it
	writer, err := clickhouse.NewWriter(t.Context(), server.URL(database))
	require.NoError(t, err)
	defer writer.Close()
	projects := accesstest.Projects(t, uuid.New())
	start := time.Now().Add(-time.Minute).UTC()
	const runs = 30 // 57 MB
	blob := strings.Repeat("x", 1_900_000)
	for i := range runs {
		require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{{
			GenAI: true, Source: "user", ProjectID: projects.IDs()[0], RunID: uuid.New(), Version: 1, StartTime: start.Add(time.Duration(i)), EndTime: start.Add(time.Second), FirstReceived: start,
			SessionID: "s", Failure: runmodel.Failure{Fingerprint: "f"}, Metadata: map[string]string{"tier": "free", "blob": blob},
		}}))
	}
	options, err := ch.ParseDSN(server.URL(database))
	require.NoError(t, err)
	patient, err := ch.Open(options) // says nothing until all is merged
	require.NoError(t, err)
	require.NoError(t, patient.Exec(t.Context(), "OPTIMIZE TABLE runs FINAL"))
	require.NoError(t, patient.Close())
	conn, err := clickhouse.Open(server.URL(database) + "?max_memory_usage_for_user=100000000")
	require.NoError(t, err)
	s := NewService(conn, nil, nil, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		s.Close()
		assert.NoError(t, conn.Close())
	})
	filter := Filter{ProjectID: projects.IDs()[0]}
	whole, _ := s.List(t.Context(), projects, ListQuery{Filter: filter, Limit: 500, full: true})
	require.Empty(t, whole.Runs, "together they fit into a statement's memory")
	// On a busy machine a statement may take too long, but not each time; what is too large is so each time.
	eventually := func(check func(c *assert.CollectT)) {
		t.Helper()
		require.EventuallyWithT(t, check, 3*time.Minute, 10*time.Millisecond)
	}
	check := func(c *assert.CollectT, found []Run, err error) {
		require.NoError(c, err)
		require.Len(c, found, runs)
		for _, r := range found {
			require.Equal(c, "free", r.Metadata["tier"])
			require.Equal(c, []string{"metadata"}, r.Cut)
			require.Less(c, len(r.Metadata["blob"]), maxListedMetadata)
		}
	}
	for _, q := range []ListQuery{{}, {Order: OldestFirst}, {Order: "-" + byDuration}} {
		q.Filter, q.Limit = filter, 500
		eventually(func(c *assert.CollectT) {
			page, err := s.List(t.Context(), projects, q)
			check(c, page.Runs, err)
		})
	}
	eventually(func(c *assert.CollectT) {
		turns, err := s.Thread(t.Context(), projects, ThreadQuery{ProjectID: filter.ProjectID, ThreadID: "s", Limit: 100})
		check(c, turns.Runs, err)
	})
	eventually(func(c *assert.CollectT) {
		sample, err := s.FailureSample(t.Context(), projects, FailureWindow{Filter: filter, From: start.Add(-time.Hour), Now: start.Add(time.Hour)}, []string{"f"}, 100, 10)
		require.NoError(c, err)
		require.Len(c, sample, runs)
	})
}

// TestCutting checks the size in JSON of what is cut, with all kinds of characters.
func TestCutting(t *testing.T) {
	t.Parallel()
	inJSON := func(v any) int {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		return len(text)
	}
	for _, piece := range []string{"a", "ü", "\U0001f600", "\x00", "\"", "<", "\n", "\xff", "\u2028", "\x7f"} {
		text := strings.Repeat(piece, 5000)
		short, cut := truncate(text, MaxListedText)
		assert.True(t, cut, "%q", piece)
		assert.LessOrEqual(t, inJSON(short)-2, MaxListedText, "%q", piece)
		assert.Greater(t, inJSON(short)-2, MaxListedText-10, "%q", piece)
		assert.Equal(t, jsonSize(short), inJSON(short)-2, "%q", piece)
		assert.True(t, strings.HasPrefix(text, short))
		var c cutter
		assert.LessOrEqual(t, inJSON(c.list("tags", []string{"first", text, "last"})), maxListedList+2)
		object := map[string]string{}
		for i := range 2000 {
			object[fmt.Sprint(piece, i)] = piece
		}
		assert.LessOrEqual(t, inJSON(c.metadata(object)), maxListedMetadata+2)
		assert.Equal(t, []string{"tags", "metadata"}, c.members)
	}
	var c cutter
	small := map[string]string{"k": strings.Repeat("v", maxListedMetadata-20), "l": ""}
	assert.Equal(t, small, c.metadata(small))
	assert.Equal(t, []string{"a", ""}, c.list("tags", []string{"a", ""}))
	assert.Empty(t, c.members)
	assert.Equal(t, map[string]string{"b": "1", "c": "2"}, func() map[string]string {
		kept := c.metadata(map[string]string{"a": strings.Repeat("x", 2*maxListedMetadata), "b": "1", "c": "2"})
		assert.Greater(t, len(kept["a"]), maxListedMetadata-100)
		delete(kept, "a")
		return kept
	}())
}

// TestListOfLargeSpans checks the size of pages of spans, also of a run that is too large for one statement.
func TestListOfLargeSpans(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	writer, err := clickhouse.NewWriter(t.Context(), address)
	require.NoError(t, err)
	defer writer.Close()
	project, run := uuid.New(), uuid.New()
	start := time.Now().Add(-time.Minute).UTC().Truncate(time.Hour)
	store := func(from, to int) {
		long := strings.Repeat("y", 3000)
		var spans []runmodel.Span
		for i := from; i < to; i++ {
			spans = append(spans, runmodel.Span{
				ProjectID: project, RunID: run, SpanID: uint64(i + 1), ParentSpanID: uint64(i), Version: 1, StartTime: start.Add(time.Duration(i)), EndTime: start.Add(time.Second),
				Name: fmt.Sprint("step ", i), Kind: "tool", Inputs: long, Outputs: long, ErrorMessage: long, ErrorStack: long, ToolArguments: long, ToolResult: long,
			})
		}
		require.NoError(t, writer.InsertSpans(t.Context(), spans))
		require.NoError(t, writer.InsertBounds(t.Context(), []clickhouse.Bounds{{
			ProjectID: project, RunID: run, FirstStart: start, LastStart: start.Add(time.Second), FirstBatch: uint64(from + 1), LastBatch: uint64(from + 1), Absent: clickhouse.Absent(spans),
		}}))
		require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{runmodel.Totals(spans)}))
	}
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	s := NewService(conn, nil, nil, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		s.Close()
		assert.NoError(t, conn.Close())
	})
	read := func() (names []string, pages int) {
		cursor := ""
		for {
			page, err := s.Spans(t.Context(), accesstest.Projects(t, project), run, SpansQuery{Limit: 10_000, Cursor: cursor})
			require.NoError(t, err)
			pages++
			size := 0
			for _, span := range page.Spans {
				names = append(names, span.Name)
				require.Equal(t, len(names)-1, span.Depth)
				require.Len(t, *span.Inputs, maxListedPayload)
				require.Equal(t, []string{"error", "tool"}, span.Cut)
				size += len(*span.Inputs) + len(*span.Outputs) + len(span.ErrorMessage) + len(span.ErrorStack) + len(span.ToolArguments) + len(span.ToolResult)
			}
			require.Less(t, size, maxPage)
			if !page.HasMore {
				return names, pages
			}
			cursor = page.NextCursor
		}
	}
	for _, spans := range []int{3000, 7000} { // the latter are 84 MB, which exceeds maxListed
		store(map[int]int{3000: 0, 7000: 3000}[spans], spans)
		names, pages := read()
		require.Len(t, names, spans)
		for i, name := range names {
			require.Equal(t, fmt.Sprint("step ", i), name)
		}
		assert.Equal(t, spans*6*maxListedPayload/maxPage+1, pages)
	}
}
