package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// keysAtOnce limits the runs in one statement. Each takes 80 bytes with its project, and ClickHouse accepts
// statements of up to 256 KiB (max_query_size).
const keysAtOnce = 2000

// ReadBounds returns the bounds of those runs that are in the store.
func ReadBounds(ctx context.Context, conn driver.Conn, keys []runmodel.RunKey) ([]Bounds, error) {
	all := make([]Bounds, 0, len(keys))
	for some := range slices.Chunk(keys, keysAtOnce) {
		projects, runIDs := split(some)
		var rows []Bounds
		err := conn.Select(ctx, &rows, `
			SELECT project_id, run_id,
				min(first_start) AS first_start, max(last_start) AS last_start,
				min(first_batch) AS first_batch, max(last_batch) AS last_batch, max(deleted_at) AS deleted_at
			FROM run_bounds
			WHERE project_id IN (?) AND run_id IN (?)
			GROUP BY project_id, run_id`, projects, runIDs)
		if err != nil {
			return nil, fmt.Errorf("read run bounds: %w", err)
		}
		asked := make(map[runmodel.RunKey]struct{}, len(some))
		for _, key := range some {
			asked[key] = struct{}{}
		}
		for _, row := range rows {
			if _, ok := asked[row.key()]; ok { // not a run of the same id in another project
				all = append(all, row)
			}
		}
	}
	return all, nil
}

// totalsColumns are the columns that runmodel.Totals needs. No payload is among them: of results and answers it needs only whether
// there are any, and of requests what their digest tells.
var totalsColumns = strings.Join([]string{
	"project_id", "run_id", "span_id", "version", "parent_span_id", "start_time", "end_time", "is_run", "from_log",
	"name", "kind", "operation", "status", "error_type", "error_message", "scope_name", "request_model", "response_model", "tool_name", "tool_call_id",
	"agent_name", "session_id", "conversation_id", "user_id", "environment", "release",
	"prompt_id", "prompt_name", "prompt_version", "source", "tags", "metadata", "finish_reasons",
	"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "other_tokens",
	"cost_usd", "cost_source", "counting", "response_hash", "input_preview", "output_preview", "output_calls",
	"arraySlice(input_message_ids, 1, 1) AS input_message_ids", "arraySlice(output_message_ids, 1, 1) AS output_message_ids",
	runmodel.MessageDigestSQL + " AS input_digest",
	"if(has_tool_result, '-', '') AS tool_result", "call_hash", "result_hash", "said", "side_effects",
	"instructions_id", "tool_definitions_id", "instructions_text_id", "system_message_text_id", "agent_parts",
}, ", ")

// ofRuns selects the spans of runs. Its arguments are those of spansOf.
const ofRuns = ` FROM spans
	WHERE project_id IN (?) AND run_id IN (?)
		AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?)
		AND toYYYYMMDD(start_time) BETWEEN ? AND ?`

func spansOf(runs []Bounds) []any {
	keys := make([]runmodel.RunKey, len(runs))
	for i, b := range runs {
		keys[i] = b.key()
	}
	first, last := extent(runs)
	projects, runIDs := split(keys)
	return []any{projects, runIDs, hour(first), hour(last), day(first), day(last)}
}

// readVersions returns all versions of the spans of runs with what runmodel.Totals needs, but no more than limit.
func readVersions(ctx context.Context, conn driver.Conn, runs []Bounds, limit int64) ([]runmodel.Span, error) {
	return selectVersions(ctx, conn, ` LIMIT ?`, append(spansOf(runs), limit)...)
}

// readFirstVersions returns the first versions of the spans of a run by start, up to limit.
func readFirstVersions(ctx context.Context, conn driver.Conn, run Bounds, limit int64) ([]runmodel.Span, error) {
	return selectVersions(ctx, conn, ` ORDER BY project_id, toStartOfHour(start_time), run_id, start_time, span_id, version LIMIT ?`,
		append(spansOf([]Bounds{run}), limit)...)
}

func selectVersions(ctx context.Context, conn driver.Conn, order string, args ...any) ([]runmodel.Span, error) {
	var rows []runmodel.Span
	if err := conn.Select(ctx, &rows, `SELECT `+totalsColumns+ofRuns+order, args...); err != nil {
		return nil, fmt.Errorf("read span versions: %w", err)
	}
	return rows, nil
}

// countVersions counts the span versions of each run.
func countVersions(ctx context.Context, conn driver.Conn, runs []Bounds) (map[runmodel.RunKey]uint64, error) {
	var rows []struct {
		ProjectID uuid.UUID `ch:"project_id"`
		RunID     uuid.UUID `ch:"run_id"`
		Versions  uint64    `ch:"versions"`
	}
	if err := conn.Select(ctx, &rows, `SELECT project_id, run_id, count() AS versions`+ofRuns+` GROUP BY project_id, run_id`, spansOf(runs)...); err != nil {
		return nil, fmt.Errorf("count span versions: %w", err)
	}
	counts := make(map[runmodel.RunKey]uint64, len(rows))
	for _, row := range rows {
		counts[runmodel.RunKey{ProjectID: row.ProjectID, RunID: row.RunID}] = row.Versions
	}
	return counts, nil
}

type spanVersion struct {
	run           runmodel.RunKey
	span, version uint64
}

// readOwnFingerprints returns the fingerprints that clients gave to spans of runs.
func readOwnFingerprints(ctx context.Context, conn driver.Conn, runs []Bounds) (map[spanVersion]string, error) {
	var rows []struct {
		ProjectID   uuid.UUID `ch:"project_id"`
		RunID       uuid.UUID `ch:"run_id"`
		SpanID      uint64    `ch:"span_id"`
		Version     uint64    `ch:"version"`
		Fingerprint string    `ch:"own"`
	}
	err := conn.Select(ctx, &rows, `SELECT project_id, run_id, span_id, version, attributes[?] AS own`+ofRuns+` AND own != ''`,
		append([]any{runmodel.KeyFingerprint}, spansOf(runs)...)...)
	if err != nil {
		return nil, fmt.Errorf("read fingerprints: %w", err)
	}
	own := make(map[spanVersion]string, len(rows))
	for _, row := range rows {
		own[spanVersion{runmodel.RunKey{ProjectID: row.ProjectID, RunID: row.RunID}, row.SpanID, row.Version}] = row.Fingerprint
	}
	return own, nil
}

// RunLocation locates a row of a run in the table runs.
type RunLocation struct {
	ProjectID uuid.UUID `ch:"project_id"`
	RunID     uuid.UUID `ch:"run_id"`
	StartTime time.Time `ch:"start_time"`
	Version   uint64    `ch:"version"`
}

// ReadRunLocations returns the rows of runs between first and last. A run has several if its start has moved to
// another hour.
func ReadRunLocations(ctx context.Context, conn driver.Conn, keys []runmodel.RunKey, first, last time.Time) ([]RunLocation, error) {
	var all []RunLocation
	for some := range slices.Chunk(keys, keysAtOnce) {
		projects, runIDs := split(some)
		var rows []RunLocation
		err := conn.Select(ctx, &rows, `
			SELECT project_id, run_id, start_time, version FROM runs FINAL
			WHERE project_id IN (?) AND run_id IN (?)
				AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?)
				AND toYYYYMMDD(start_time) BETWEEN ? AND ?`,
			projects, runIDs, hour(first), hour(last), day(first), day(last))
		if err != nil {
			return nil, fmt.Errorf("read run locations: %w", err)
		}
		all = append(all, rows...)
	}
	return all, nil
}

func split(keys []runmodel.RunKey) (projects, runIDs []uuid.UUID) {
	seen := make(map[uuid.UUID]struct{}, 1)
	runIDs = make([]uuid.UUID, len(keys))
	for i, key := range keys {
		runIDs[i] = key.RunID
		if _, ok := seen[key.ProjectID]; !ok {
			seen[key.ProjectID] = struct{}{}
			projects = append(projects, key.ProjectID)
		}
	}
	return projects, runIDs
}

func hour(t time.Time) int64 { return t.Truncate(time.Hour).Unix() }

// day formats t like toYYYYMMDD.
func day(t time.Time) int {
	year, month, dayOfMonth := t.UTC().Date()
	const hundred = 100
	return (year*hundred+int(month))*hundred + dayOfMonth
}
