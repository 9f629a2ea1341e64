package clickhouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// hasPrice selects the versions that give a span a cost, or could.
const hasPrice = `(input_tokens IS NOT NULL OR output_tokens IS NOT NULL OR cache_read_tokens IS NOT NULL
	OR cache_write_tokens IS NOT NULL OR reasoning_tokens IS NOT NULL OR other_tokens IS NOT NULL OR cost_usd IS NOT NULL)`

// ReadPricedProjects returns the projects with spans that have tokens or a cost and start in [from, to).
func ReadPricedProjects(ctx context.Context, conn driver.Conn, from, to time.Time) ([]uuid.UUID, error) {
	return readIDs(ctx, conn, "read projects", `SELECT DISTINCT project_id AS id FROM spans
		WHERE toYYYYMMDD(start_time) BETWEEN ? AND ? AND start_time >= fromUnixTimestamp64Nano(?) AND start_time < fromUnixTimestamp64Nano(?)
			AND `+hasPrice+` ORDER BY id`,
		day(from), day(to), from.UnixNano(), to.UnixNano())
}

// ReadPricedRuns returns a project's runs with spans that have tokens or a cost and start in [from, to).
func ReadPricedRuns(ctx context.Context, conn driver.Conn, project uuid.UUID, from, to time.Time) ([]uuid.UUID, error) {
	return readIDs(ctx, conn, "read runs", `SELECT DISTINCT run_id AS id FROM spans
		WHERE project_id = ? AND toYYYYMMDD(start_time) BETWEEN ? AND ?
			AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?)
			AND start_time >= fromUnixTimestamp64Nano(?) AND start_time < fromUnixTimestamp64Nano(?)
			AND `+hasPrice+` ORDER BY id`,
		project, day(from), day(to), hour(from), hour(to), from.UnixNano(), to.UnixNano())
}

func readIDs(ctx context.Context, conn driver.Conn, what, statement string, args ...any) ([]uuid.UUID, error) {
	var rows []struct {
		ID uuid.UUID `ch:"id"`
	}
	if err := conn.Select(ctx, &rows, statement, args...); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	ids := make([]uuid.UUID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids, nil
}

// pricedColumns are the columns that determine a span's cost.
var pricedColumns = strings.Join([]string{
	"project_id", "run_id", "span_id", "version", "from_log", "start_time", "provider", "request_model", "response_model",
	"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "other_tokens",
	"cost_usd", "cost_source", "price_version", "counting",
}, ", ")

// ReadPricedVersions returns all versions of the spans of runs of one project, with the columns that determine a
// cost. It reads only the named attributes.
func ReadPricedVersions(ctx context.Context, conn driver.Conn, runs []Bounds, attributes ...string) ([]runmodel.Span, error) {
	runIDs := make([]uuid.UUID, len(runs))
	first, last := runs[0].FirstStart, runs[0].LastStart
	for i, b := range runs {
		runIDs[i] = b.RunID
		if b.FirstStart.Before(first) {
			first = b.FirstStart
		}
		if b.LastStart.After(last) {
			last = b.LastStart
		}
	}
	var rows []runmodel.Span
	err := conn.Select(ctx, &rows, `SELECT `+pricedColumns+`,
			mapFilter((key, value) -> key IN (?), attributes_json) AS attributes_json
		FROM spans
		WHERE project_id = ? AND run_id IN (?)
			AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?)
			AND toYYYYMMDD(start_time) BETWEEN ? AND ?`,
		attributes, runs[0].ProjectID, runIDs, hour(first), hour(last), day(first), day(last))
	if err != nil {
		return nil, fmt.Errorf("read span versions: %w", err)
	}
	return rows, nil
}
