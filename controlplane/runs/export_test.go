package runs

import (
	"context"
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

// TestExportDuringDeletion deletes runs during an export, which never fails. It leaves such a run out, or ends it
// with the spans that it has read.
func TestExportDuringDeletion(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	writer, err := clickhouse.NewWriter(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(writer.Close)
	service := NewService(conn, nil, nil, slog.New(slog.DiscardHandler))
	start := time.Now().UTC().Truncate(time.Hour)
	const large = exportSpans + 50

	// store writes a run of count spans, some minutes after start. After a deletion the versions must be later than it.
	store := func(t *testing.T, project uuid.UUID, id uuid.UUID, minutes, count int, version uint64) {
		t.Helper()
		spans := make([]runmodel.Span, count)
		for i := range spans {
			at := start.Add(time.Duration(minutes)*time.Minute + time.Duration(i)*time.Millisecond)
			spans[i] = runmodel.Span{
				ProjectID: project, RunID: id, SpanID: uint64(i + 1), Version: version + uint64(i), StartTime: at, EndTime: at.Add(time.Second), Name: "step", Kind: "tool",
			}
			if i > 0 {
				spans[i].ParentSpanID = 1
			}
		}
		require.NoError(t, writer.InsertSpans(t.Context(), spans))
		require.NoError(t, writer.InsertBounds(t.Context(), []clickhouse.Bounds{{
			ProjectID: project, RunID: id, FirstStart: spans[0].StartTime, LastStart: spans[count-1].StartTime, FirstBatch: version, LastBatch: version,
		}}))
		run := runmodel.Totals(spans)
		run.Version = version + uint64(count)
		require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{run}))
	}
	remove := func(t *testing.T, project, id uuid.UUID) {
		t.Helper()
		_, err := service.Delete(t.Context(), accesstest.Projects(t, project), Deletion{Selection: Selection{Filter: Filter{ProjectID: project}, RunIDs: []uuid.UUID{id}}, Forget: func(context.Context, []uuid.UUID) error { return nil }})
		require.NoError(t, err)
	}
	mutated := func(t *testing.T) {
		t.Helper()
		require.Eventually(t, func() bool {
			var left uint64
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM system.mutations WHERE database = currentDatabase() AND NOT is_done").Scan(&left))
			return left == 0
		}, time.Minute, 50*time.Millisecond)
	}
	// export returns the ids of the runs that are handed over, and how many spans follow each.
	export := func(t *testing.T, project uuid.UUID, during func(*Run)) (ids []uuid.UUID, spans map[uuid.UUID]int) {
		t.Helper()
		spans = map[uuid.UUID]int{}
		require.NoError(t, service.Export(t.Context(), accesstest.Projects(t, project), Filter{ProjectID: project}, func(r *Run) error {
			ids = append(ids, r.RunID)
			during(r)
			return nil
		}, func(s *Span) error {
			assert.Equal(t, "step", s.Name)
			spans[s.RunID]++
			return nil
		}))
		return ids, spans
	}

	t.Run("a large run, while it is handed over", func(t *testing.T) {
		t.Parallel()
		project, id, older := uuid.New(), uuid.New(), uuid.New()
		store(t, project, id, 1, large, 1)
		store(t, project, older, 0, 1, 1)
		ids, spans := export(t, project, func(r *Run) {
			if r.RunID == id {
				remove(t, project, id)
				mutated(t)
			}
		})
		assert.Equal(t, []uuid.UUID{id, older}, ids)
		assert.Equal(t, map[uuid.UUID]int{id: exportSpans, older: 1}, spans)
	})
	t.Run("runs that are listed and not read yet", func(t *testing.T) {
		t.Parallel()
		project := uuid.New()
		first, gone, goneToo, last := uuid.New(), uuid.New(), uuid.New(), uuid.New()
		store(t, project, first, 3, exportSpans, 1)
		store(t, project, gone, 2, 2, 1)
		store(t, project, last, 1, 3, 1)
		store(t, project, goneToo, 0, large, 1)
		ids, spans := export(t, project, func(r *Run) {
			if r.RunID == first {
				remove(t, project, gone)
				remove(t, project, goneToo)
			}
		})
		assert.Equal(t, []uuid.UUID{first, last}, ids)
		assert.Equal(t, map[uuid.UUID]int{first: exportSpans, last: 3}, spans)
	})
	t.Run("a run that ready anew lacks the scores of before", func(t *testing.T) {
		t.Parallel()
		project, id := uuid.New(), uuid.New()
		grant := accesstest.Grant(t, project)
		projects := grant.Projects
		store(t, project, id, 0, 2, 1)
		stored, _, err := service.PutScore(t.Context(), grant, ScoreWrite{RunID: id, SpanID: 1, Name: "before", Value: true})
		require.NoError(t, err)
		remove(t, project, id)
		require.NoError(t, clickhouse.InsertScores(t.Context(), conn, []runmodel.Score{stored})) // as if ClickHouse had not masked it yet
		store(t, project, id, 0, 2, uint64(time.Now().UnixNano()))
		_, _, err = service.PutScore(t.Context(), grant, ScoreWrite{RunID: id, SpanID: 1, Name: "after", Value: true})
		require.NoError(t, err)
		read, err := service.Get(t.Context(), projects, id)
		require.NoError(t, err)
		require.Len(t, read.Scores, 1)
		require.NoError(t, service.Export(t.Context(), projects, Filter{ProjectID: project}, func(r *Run) error {
			assert.Equal(t, read.Scores, r.Scores)
			assert.Equal(t, read.ScoreCount, r.ScoreCount)
			return nil
		}, func(s *Span) error {
			if s.SpanID == 1 {
				assert.Equal(t, read.Scores, s.Scores)
			} else {
				assert.Empty(t, s.Scores)
			}
			return nil
		}))
	})
}
