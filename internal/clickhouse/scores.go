package clickhouse

import (
	"context"
	"fmt"
	"slices"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// ScoreColumns are the columns of runmodel.Score.
const ScoreColumns = `project_id, run_id, score_id, version, deleted, span_id, name, value_kind, number, label, comment, source,
	author_kind, author_id, author_name, created_at`

// scoresAtOnce is how many scores are looked for at once.
const scoresAtOnce = 1000

// LeaveOutWritten leaves out scores of an import that the run has under the ids with which they were exported, and that people, keys or
// rules wrote or deleted there: these are newer, and another copy would count twice.
func LeaveOutWritten(ctx context.Context, conn driver.Conn, rows []runmodel.Score) ([]runmodel.Score, error) {
	type key struct{ project, run, score uuid.UUID }
	var imported []key
	for i := range rows {
		if rows[i].ExportedID != uuid.Nil {
			imported = append(imported, key{rows[i].ProjectID, rows[i].RunID, rows[i].ExportedID})
		}
	}
	written := map[key]bool{}
	for some := range slices.Chunk(imported, scoresAtOnce) {
		projects, runIDs, ids := make([]uuid.UUID, len(some)), make([]uuid.UUID, len(some)), make([]uuid.UUID, len(some))
		for i, k := range some {
			projects[i], runIDs[i], ids[i] = k.project, k.run, k.score
		}
		var found []struct {
			ProjectID uuid.UUID `ch:"project_id"`
			RunID     uuid.UUID `ch:"run_id"`
			ScoreID   uuid.UUID `ch:"score_id"`
		}
		if err := conn.Select(ctx, &found, `SELECT s.project_id AS project_id, s.run_id AS run_id, s.score_id AS score_id
			FROM (SELECT project_id, run_id, score_id, max(version) AS newest, argMax(deleted = 1 OR author_kind != '', version) AS written FROM scores
				WHERE project_id IN (?) AND run_id IN (?) AND score_id IN (?) GROUP BY project_id, run_id, score_id) AS s
			LEFT JOIN (SELECT project_id, run_id, max(deleted_at) AS deleted_at FROM run_bounds WHERE project_id IN (?) AND run_id IN (?) GROUP BY project_id, run_id) AS b
				ON b.project_id = s.project_id AND b.run_id = s.run_id
			WHERE s.written AND s.newest > b.deleted_at`, projects, runIDs, ids, projects, runIDs); err != nil {
			return nil, fmt.Errorf("look for scores that were imported: %w", err)
		}
		for _, f := range found {
			written[key{f.ProjectID, f.RunID, f.ScoreID}] = true
		}
	}
	return slices.DeleteFunc(rows, func(s runmodel.Score) bool { return written[key{s.ProjectID, s.RunID, s.ExportedID}] }), nil
}

// InsertScores inserts scores. When it returns nil, ClickHouse has them on disk.
func InsertScores(ctx context.Context, conn driver.Conn, rows []runmodel.Score) error {
	if len(rows) == 0 {
		return nil
	}
	ctx = ch.Context(ctx, ch.WithSettings(ch.Settings{"async_insert": 0}))
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO scores ("+ScoreColumns+")")
	if err != nil {
		return fmt.Errorf("insert into scores: %w", err)
	}
	defer func() { _ = batch.Close() }() // nothing is left to do after Send
	for i := range rows {
		if err := batch.AppendStruct(&rows[i]); err != nil {
			return fmt.Errorf("insert into scores: %w", err)
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("insert into scores: %w", err)
	}
	return nil
}
