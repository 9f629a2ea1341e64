package clickhouse

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// staleRuns selects the rows of runs whose fingerprint an earlier version made, and those written before runs had a replayability,
// or by other rules of signals. A row of a run that is too long for these stays as it is.
var staleRuns = `(fingerprint != '' AND NOT startsWith(fingerprint, '` + runmodel.FingerprintVersion + `')
	OR (replayability = '' OR signals_version != ` + signalsVersion + `) AND NOT mapContains(metadata, '` + KeyTotalsOf + `'))`

var signalsVersion = strconv.Itoa(runmodel.SignalsVersion)

// runsAtOnce is how many runs are derived together.
const runsAtOnce = 200

// DeriveStale derives runs again that an earlier version derived otherwise, hour by hour, and returns how many rows it wrote. It may be
// stopped and run again. It calls progress, unless nil, after each hour.
func DeriveStale(ctx context.Context, conn driver.Conn, writer *Writer, progress func(hour time.Time, runs int)) (int, error) {
	var hours []struct {
		Hour time.Time `ch:"hour"`
	}
	err := conn.Select(ctx, &hours, "SELECT DISTINCT toStartOfHour(start_time) AS hour FROM runs FINAL WHERE "+staleRuns+" ORDER BY hour")
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
			WHERE toStartOfHour(start_time) = fromUnixTimestamp(?) AND toYYYYMMDD(start_time) = ? AND `+staleRuns+`
			ORDER BY project_id, run_id`, hour(h.Hour), day(h.Hour))
		if err != nil {
			return total, fmt.Errorf("read runs: %w", err)
		}
		for some := range slices.Chunk(rows, runsAtOnce) {
			keys := make([]runmodel.RunKey, len(some))
			for i, row := range some {
				keys[i] = runmodel.RunKey{ProjectID: row.ProjectID, RunID: row.RunID}
			}
			n, err := rederive(ctx, conn, writer, keys)
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

func rederive(ctx context.Context, conn driver.Conn, writer *Writer, keys []runmodel.RunKey) (int, error) {
	bounds, err := ReadBounds(ctx, conn, keys)
	if err != nil {
		return 0, err
	}
	wanted := make(map[runmodel.RunKey][]runmodel.Span, len(keys))
	for _, key := range keys {
		wanted[key] = nil
	}
	batch := rand.Uint64() //nolint:gosec // only distinguishes batches
	for i := range bounds {
		bounds[i].FirstBatch, bounds[i].LastBatch = batch, batch
	}
	if err := writer.InsertBounds(ctx, bounds); err != nil {
		return 0, err
	}
	derived, err := DeriveRuns(ctx, conn, writer, wanted, batch)
	return derived.Runs, err
}
