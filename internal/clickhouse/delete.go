package clickhouse

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// MaxDeleted is how many runs DeleteRuns takes at a time, since its statements contain their ids.
const MaxDeleted = 5000

// DeleteRuns deletes what was received of a project's runs up to a time (docs/adr/0012-scores-and-deletion.md). When
// it returns nil, the runs are in no list and cannot be read by id. ClickHouse has durably noted to delete their
// rows, and does so soon after. It may be repeated after a failure: the runs stay listed until the last step.
func DeleteRuns(ctx context.Context, conn driver.Conn, project uuid.UUID, runIDs []uuid.UUID, upTo time.Time) error {
	version := uint64(upTo.UnixNano())
	batch := rand.Uint64() //nolint:gosec // tells batches apart, guards nothing
	// The bounds keep the time of deletion. A writer that has a batch of such a run sees that they have changed.
	if err := execute(ctx, conn, "mark runs as deleted", `
		INSERT INTO run_bounds (project_id, run_id, first_start, last_start, first_batch, last_batch, deleted_at)
		SELECT project_id, run_id, min(first_start), max(last_start), ?, ?, ?
		FROM run_bounds WHERE project_id = ? AND run_id IN (?) GROUP BY project_id, run_id`,
		batch, batch, version, project, runIDs); err != nil {
		return err
	}
	keys := make([]runmodel.RunKey, len(runIDs))
	for i, id := range runIDs {
		keys[i] = runmodel.RunKey{ProjectID: project, RunID: id}
	}
	bounds, err := ReadBounds(ctx, conn, keys)
	if err != nil || len(bounds) == 0 {
		return err
	}
	first, last := extent(bounds)
	if err := deleteWaiting(ctx, conn, project, runIDs, first, last); err != nil {
		return err
	}
	if err := deleteVersions(ctx, conn, project, runIDs, version, first, last); err != nil {
		return err
	}
	if err := deleteContents(ctx, conn, project, runIDs, first, last); err != nil {
		return err
	}
	// These rows win over rows that a writer derives from what it read before.
	if err := execute(ctx, conn, "hide runs", `
		INSERT INTO runs (project_id, run_id, version, deleted, start_time)
		SELECT project_id, run_id, ?, 1, start_time FROM runs FINAL
		WHERE project_id = ? AND run_id IN (?) AND version < ? AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?)`,
		version, project, runIDs, version, hour(first), hour(last)); err != nil {
		return err
	}
	return execute(ctx, conn, "delete runs", `DELETE FROM runs WHERE project_id = ? AND run_id IN (?) AND version < ?
		AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?)`,
		project, runIDs, version, hour(first), hour(last))
}

// DeleteProject deletes everything of a project. When it returns nil, ClickHouse has durably noted to delete the rows, and
// does so soon after. What a writer writes later stays.
func DeleteProject(ctx context.Context, conn driver.Conn, project uuid.UUID) error {
	for _, table := range []string{"runs", "spans", "scores", "run_scores", "contents", "shared_contents", "run_bounds", "waiting_records"} {
		if err := execute(ctx, conn, "delete the project's "+table, "DELETE FROM "+table+" WHERE project_id = ?", project); err != nil {
			return err
		}
	}
	return nil
}

// deleteWaiting deletes the log records that still wait for a call in the conversations of runs.
func deleteWaiting(ctx context.Context, conn driver.Conn, project uuid.UUID, runIDs []uuid.UUID, first, last time.Time) error {
	return execute(ctx, conn, "delete waiting records", `DELETE FROM waiting_records WHERE project_id = ? AND conversation IN (
		SELECT arrayJoin([session_id, conversation_id]) AS id FROM runs WHERE project_id = ? AND run_id IN (?)
			AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?) AND id != '')`,
		project, project, runIDs, hour(first), hour(last))
}

func deleteContents(ctx context.Context, conn driver.Conn, project uuid.UUID, runIDs []uuid.UUID, first, last time.Time) error {
	return execute(ctx, conn, "delete contents", `DELETE FROM contents WHERE project_id = ? AND run_id IN (?)
		AND hour BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?)`, project, runIDs, hour(first), hour(last))
}

// deleteLate deletes what a writer wrote again of deleted runs. It also deletes their contents if they have nothing
// else.
func deleteLate(ctx context.Context, conn driver.Conn, late []Bounds, living map[runmodel.RunKey]bool) error {
	type deletion struct {
		project uuid.UUID
		at      uint64
	}
	together := map[deletion][]Bounds{}
	for _, b := range late {
		d := deletion{b.ProjectID, b.DeletedAt}
		together[d] = append(together[d], b)
	}
	for d, bounds := range together {
		for some := range slices.Chunk(bounds, MaxDeleted) {
			first, last := extent(some)
			var all, ended []uuid.UUID
			for _, b := range some {
				all = append(all, b.RunID)
				if !living[b.key()] {
					ended = append(ended, b.RunID)
				}
			}
			if err := deleteVersions(ctx, conn, d.project, all, d.at, first, last); err != nil {
				return err
			}
			if len(ended) == 0 {
				continue
			}
			if err := deleteContents(ctx, conn, d.project, ended, first, last); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteVersions deletes the spans and scores received up to a time.
func deleteVersions(
	ctx context.Context, conn driver.Conn, project uuid.UUID, runIDs []uuid.UUID, version uint64, first, last time.Time,
) error {
	if err := execute(ctx, conn, "delete spans", `DELETE FROM spans WHERE project_id = ? AND run_id IN (?) AND version <= ?
		AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?)`,
		project, runIDs, version, hour(first), hour(last)); err != nil {
		return err
	}
	for _, table := range []string{"scores", "run_scores"} {
		if err := execute(ctx, conn, "delete "+table, "DELETE FROM "+table+" WHERE project_id = ? AND run_id IN (?) AND version <= ?",
			project, runIDs, version); err != nil {
			return err
		}
	}
	return nil
}

// execute runs a statement. It does not wait for a mutation to complete.
func execute(ctx context.Context, conn driver.Conn, what, statement string, args ...any) error {
	if err := conn.Exec(manyIDs(ctx), statement, args...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// manyIDs is the context of a statement that contains the ids of as many runs as are deleted at a time.
func manyIDs(ctx context.Context) context.Context {
	return ch.Context(ctx, ch.WithSettings(ch.Settings{
		"lightweight_deletes_sync": 0,
		"max_query_size":           4 << 20,
		"max_execution_time":       20,
	}))
}

// extent returns the time range of runs.
func extent(bounds []Bounds) (first, last time.Time) {
	first, last = bounds[0].FirstStart, bounds[0].LastStart
	for _, b := range bounds {
		if b.FirstStart.Before(first) {
			first = b.FirstStart
		}
		if b.LastStart.After(last) {
			last = b.LastStart
		}
	}
	return first, last
}
