package clickhouse

import (
	"context"
	"fmt"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// ScoreColumns are the columns of runmodel.Score.
const ScoreColumns = `project_id, run_id, score_id, version, deleted, span_id, name, value_kind, number, label, comment, source,
	author_kind, author_id, author_name, created_at`

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
