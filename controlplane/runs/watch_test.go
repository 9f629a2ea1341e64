package runs

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
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

// TestSlowWatchEnds has a slow reader, whose watch ends, and a quick one.
func TestSlowWatchEnds(t *testing.T) {
	t.Parallel()
	var f feeds
	of := &projectFeed{cancel: func() {}, watches: map[*Watch]struct{}{}}
	newWatch := func() *Watch {
		w := &Watch{feed: of, updates: make(chan changes, maxBehind), filter: Filter{ProjectID: uuid.New()}}
		of.watches[w] = struct{}{}
		return w
	}
	slow, quick := newWatch(), newWatch()
	for range maxBehind + 1 {
		f.send(of, changes{at: time.Now()})
		<-quick.updates
	}
	for range maxBehind {
		_, open := <-slow.updates
		require.True(t, open)
	}
	_, _, err := slow.Next(t.Context())
	require.ErrorIs(t, err, ErrWatchBehind)
	assert.Len(t, of.watches, 1)
	assert.Contains(t, of.watches, quick)
	f.remove(quick, ErrWatchClosed)
	f.remove(quick, ErrWatchClosed)
	assert.Empty(t, of.watches)
}

// TestWatchOfABusyProject changes many runs. Changes in the overlap do not count against the limit of changes between
// two polls.
func TestWatchOfABusyProject(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	writer, err := clickhouse.NewWriter(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(writer.Close)
	service := NewService(conn, nil, nil, slog.New(slog.DiscardHandler))
	t.Cleanup(service.Close)
	project := uuid.New()
	write := func() []uuid.UUID {
		rows := make([]runmodel.Run, maxChanges*3/4)
		ids := make([]uuid.UUID, len(rows))
		for i := range rows {
			start := time.Now().UTC()
			ids[i] = uuid.New()
			rows[i] = runmodel.Run{ProjectID: project, RunID: ids[i], Version: 1, StartTime: start, EndTime: start, FirstReceived: start, Name: "busy", Kind: "task", Status: "ok", GenAI: true, Source: "user"}
		}
		require.NoError(t, writer.InsertRuns(t.Context(), rows))
		return ids
	}
	watch := func(from time.Time) *Watch {
		w, err := service.Watch(t.Context(), accesstest.Projects(t, project), Filter{ProjectID: project}, nil, from)
		require.NoError(t, err)
		t.Cleanup(w.Close)
		return w
	}
	seen := map[uuid.UUID]bool{}
	listen := func(w *Watch, ids []uuid.UUID) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for slices.ContainsFunc(ids, func(id uuid.UUID) bool { return !seen[id] }) {
			runs, _, err := w.Next(ctx)
			require.NoError(t, err)
			for _, run := range runs {
				seen[run.RunID] = true
			}
		}
	}
	before := write()
	w := watch(time.Time{})
	var during []uuid.UUID
	for range 3 {
		ids := write()
		listen(w, ids)
		during = append(during, ids...)
	}
	for _, id := range before {
		require.NotContains(t, seen, id, "what was there is known")
	}
	clear(seen)
	listen(watch(w.From), during)
}

// logLines are the lines that a logger writes.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// TestWatchDuringAnOutage has a short outage. It ends no watch, and each failed poll is logged.
func TestWatchDuringAnOutage(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	writer, err := clickhouse.NewWriter(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(writer.Close)
	lines := make(logLines, 10*pollFailures)
	service := NewService(conn, nil, nil, slog.New(slog.NewTextHandler(lines, nil)))
	t.Cleanup(service.Close)
	project := uuid.New()
	w, err := service.Watch(t.Context(), accesstest.Projects(t, project), Filter{ProjectID: project}, nil, time.Time{})
	require.NoError(t, err)
	t.Cleanup(w.Close)
	require.Empty(t, lines)

	require.NoError(t, conn.Exec(t.Context(), "RENAME TABLE runs TO away"))
	for n := range 2 {
		line := <-lines
		assert.Contains(t, line, "level=WARN")
		assert.Contains(t, line, project.String())
		assert.Contains(t, line, fmt.Sprint("failures_in_a_row=", n+1))
		assert.Contains(t, line, "Unknown table")
	}
	require.NoError(t, conn.Exec(t.Context(), "RENAME TABLE away TO runs"))
	now := time.Now().UTC()
	run := runmodel.Run{ProjectID: project, RunID: uuid.New(), Version: 1, StartTime: now, EndTime: now, FirstReceived: now, Name: "after", Kind: "task", Status: "ok", GenAI: true, Source: "user"}
	require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{run}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	found, _, err := w.Next(ctx)
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, run.RunID, found[0].RunID)
}
