package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// InsertWaiting inserts log records that wait for the span of their call. Records without traces wait no longer. When it
// returns nil, ClickHouse has them on disk.
func InsertWaiting(ctx context.Context, conn driver.Conn, records []runmodel.WaitingRecord) error {
	if len(records) == 0 {
		return nil
	}
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO waiting_records (project_id, conversation, at, record_id, placed, traces)")
	if err != nil {
		return fmt.Errorf("insert waiting records: %w", err)
	}
	defer batch.Close() //nolint:errcheck // it was sent, or its error was returned
	for i := range records {
		r := &records[i]
		var placed uint8
		if r.Traces == "" {
			placed = 1
		}
		if err := batch.Append(r.ProjectID, r.Conversation, r.At, r.RecordID, placed, r.Traces); err != nil {
			return fmt.Errorf("insert waiting records: %w", err)
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("insert waiting records: %w", err)
	}
	return nil
}

// Conversations are some conversations of a project in a time.
type Conversations struct {
	ProjectID   uuid.UUID
	IDs         []string
	First, Last time.Time
}

// Limits of what is read at a time, since a writer must never fail on what waits. What is beyond them waits on.
const (
	maxWaiting      = 1000
	maxWaitingBytes = 16 << 20
	maxWaitingCalls = 20_000
)

// ReadWaiting returns the newest records of conversations that wait for the span of their call, the small ones first if they are large
// together. They come in any order.
func ReadWaiting(ctx context.Context, conn driver.Conn, c Conversations) ([]runmodel.WaitingRecord, error) {
	const waiting = ` FROM waiting_records FINAL
		WHERE project_id = ? AND conversation IN (?) AND toYYYYMMDD(at) BETWEEN ? AND ?
			AND at BETWEEN fromUnixTimestamp64Nano(?) AND fromUnixTimestamp64Nano(?) AND NOT placed`
	args := []any{c.ProjectID, c.IDs, day(c.First), day(c.Last), c.First.UnixNano(), c.Last.UnixNano()}
	var records []runmodel.WaitingRecord
	if err := conn.Select(ctx, &records, `
		SELECT project_id, conversation, at, record_id, traces`+waiting+` AND (at, record_id) IN (
			SELECT at, record_id FROM (
				SELECT at, record_id, sum(bytes) OVER (ORDER BY bytes, at, record_id) - bytes AS smaller
				FROM (SELECT at, record_id, bytes`+waiting+` ORDER BY at DESC, record_id LIMIT ?))
			WHERE smaller < ?)`, slices.Concat(args, args, []any{maxWaiting, maxWaitingBytes})...); err != nil {
		return nil, fmt.Errorf("read waiting records: %w", err)
	}
	return records, nil
}

// ReadCalls returns the newest calls of models and tools in the runs of conversations, with what runmodel.PlaceRecord needs. The call
// itself need not name its conversation.
func ReadCalls(ctx context.Context, conn driver.Conn, c Conversations) ([]runmodel.Span, error) {
	const inTime = `project_id = ? AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?) AND toYYYYMMDD(start_time) BETWEEN ? AND ?`
	times := []any{c.ProjectID, hour(c.First), hour(c.Last), day(c.First), day(c.Last)}
	args := append(slices.Clone(times), times...)
	var calls []runmodel.Span
	if err := conn.Select(ctx, &calls, `
		SELECT project_id, run_id, span_id, kind, operation, start_time, end_time, tool_call_id, input_tokens, output_tokens, reasoning_tokens FROM spans
		WHERE `+inTime+` AND NOT from_log AND (kind != '' OR operation != '')
			AND run_id IN (SELECT run_id FROM spans WHERE `+inTime+` AND (session_id IN (?) OR conversation_id IN (?)))
		ORDER BY start_time DESC LIMIT ?`,
		append(args, c.IDs, c.IDs, maxWaitingCalls)...); err != nil {
		return nil, fmt.Errorf("read the calls of conversations: %w", err)
	}
	return calls, nil
}
