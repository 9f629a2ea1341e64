package clickhouse

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// underived selects the rows of runs that were derived before there were fingerprints and tools, and may have either, or when
// fingerprints were made in another way.
const underived = `(fingerprint = '' AND (status IN ('error', 'cancelled') OR error_count > 0) OR
	fingerprint != '' AND NOT startsWith(fingerprint, '` + runmodel.FingerprintVersion + `') OR tool_call_count > 0 AND empty(tools))`

// runsAtOnce bounds the runs that are derived together.
const runsAtOnce = 200

// DeriveMissing writes the rows of runs anew that lack what is derived now, hour by hour, and returns how many it wrote. It
// may be stopped and run again. progress, where not nil, is told after each hour.
func DeriveMissing(ctx context.Context, conn driver.Conn, writer *Writer, progress func(hour time.Time, runs int)) (int, error) {
	var hours []struct {
		Hour time.Time `ch:"hour"`
	}
	err := conn.Select(ctx, &hours, "SELECT DISTINCT toStartOfHour(start_time) AS hour FROM runs FINAL WHERE "+underived+" ORDER BY hour")
	if err != nil {
		return 0, fmt.Errorf("read hours of runs: %w", err)
	}
	total := 0
	for _, h := range hours {
		var rows []struct {
			ProjectID uuid.UUID `ch:"project_id"`
			RunID     uuid.UUID `ch:"run_id"`
		}
		err := conn.Select(ctx, &rows, `SELECT project_id, run_id FROM runs FINAL
			WHERE toStartOfHour(start_time) = fromUnixTimestamp(?) AND toYYYYMMDD(start_time) = ? AND `+underived+`
			ORDER BY project_id, run_id`, hour(h.Hour), day(h.Hour))
		if err != nil {
			return total, fmt.Errorf("read runs: %w", err)
		}
		for some := range slices.Chunk(rows, runsAtOnce) {
			keys := make([]runmodel.RunKey, len(some))
			for i, row := range some {
				keys[i] = runmodel.RunKey{ProjectID: row.ProjectID, RunID: row.RunID}
			}
			n, err := deriveAgain(ctx, conn, writer, keys)
			total += n
			if err != nil {
				return total, err
			}
		}
		if progress != nil {
			progress(h.Hour, total)
		}
	}
	return total, nil
}

func deriveAgain(ctx context.Context, conn driver.Conn, writer *Writer, keys []runmodel.RunKey) (int, error) {
	bounds, err := ReadBounds(ctx, conn, keys)
	if err != nil {
		return 0, err
	}
	wanted := make(map[runmodel.RunKey][]runmodel.Span, len(keys))
	for _, key := range keys {
		wanted[key] = nil
	}
	batch := rand.Uint64() //nolint:gosec // tells batches apart, guards nothing
	for i := range bounds {
		bounds[i].FirstBatch, bounds[i].LastBatch = batch, batch
	}
	if err := writer.InsertBounds(ctx, bounds); err != nil {
		return 0, err
	}
	derived, err := DeriveRuns(ctx, conn, writer, wanted, batch)
	return derived.Runs, err
}
