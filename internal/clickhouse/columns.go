package clickhouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Bounds says where in time a run's spans lie, as a row of the table run_bounds.
type Bounds struct {
	ProjectID  uuid.UUID `ch:"project_id"`
	RunID      uuid.UUID `ch:"run_id"`
	FirstStart time.Time `ch:"first_start"`
	LastStart  time.Time `ch:"last_start"`
	FirstBatch uint64    `ch:"first_batch"`
	LastBatch  uint64    `ch:"last_batch"`
}

// column writes one field of many rows at once: ClickHouse's native format is columns, and appending a
// whole slice spares a type switch per value.
type column[R any] struct {
	name   string
	append func(c driver.BatchColumn, rows []R) error
}

func col[R, V any](name string, value func(*R) V) column[R] {
	return column[R]{name, func(c driver.BatchColumn, rows []R) error {
		values := make([]V, len(rows))
		for i := range rows {
			values[i] = value(&rows[i])
		}
		return c.Append(values)
	}}
}

// table is a table of the schema and how rows of type R are written to it.
type table[R any] struct {
	name    string
	columns []column[R]
}

func (t table[R]) columnNames() []string {
	names := make([]string, len(t.columns))
	for i := range t.columns {
		names[i] = t.columns[i].name
	}
	return names
}

// insert writes rows in one synchronous insert: when it returns nil, ClickHouse has them on disk.
func (t table[R]) insert(ctx context.Context, conn driver.Conn, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	ctx = ch.Context(ctx, ch.WithSettings(ch.Settings{
		// Batches are formed by the caller; the server's own buffer would acknowledge what is not written.
		"async_insert": 0,
		// Late spans of many days may come in one batch; a part a day is what they cost.
		"throw_on_max_partitions_per_insert_block": 0,
	}))
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO "+t.name+" ("+strings.Join(t.columnNames(), ", ")+")")
	if err != nil {
		return fmt.Errorf("prepare insert into %s: %w", t.name, err)
	}
	for i, c := range t.columns {
		if err := c.append(batch.Column(i), rows); err != nil {
			_ = batch.Abort() // the error that matters is the one at hand
			return fmt.Errorf("append column %s.%s: %w", t.name, c.name, err)
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("insert into %s: %w", t.name, err)
	}
	return nil
}

// InsertSpans writes versions of spans. Writing one again changes nothing.
func InsertSpans(ctx context.Context, conn driver.Conn, rows []runmodel.Span) error {
	return spans.insert(ctx, conn, rows)
}

// InsertContents writes contents. Writing one again changes nothing.
func InsertContents(ctx context.Context, conn driver.Conn, rows []runmodel.Content) error {
	return contents.insert(ctx, conn, rows)
}

// InsertBounds widens the bounds of runs.
func InsertBounds(ctx context.Context, conn driver.Conn, rows []Bounds) error {
	return bounds.insert(ctx, conn, rows)
}

// InsertRuns writes runs with their totals. Of two rows of a run the one with the higher version wins.
func InsertRuns(ctx context.Context, conn driver.Conn, rows []runmodel.Run) error {
	return runs.insert(ctx, conn, rows)
}

// some is what the driver takes for an empty array or map; it refuses nil ones within a column.
func some[V any](values []V) []V {
	if values == nil {
		return []V{}
	}
	return values
}

func someMap(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

var spans = table[runmodel.Span]{"spans", []column[runmodel.Span]{
	col("project_id", func(s *runmodel.Span) uuid.UUID { return s.ProjectID }),
	col("run_id", func(s *runmodel.Span) uuid.UUID { return s.RunID }),
	col("span_id", func(s *runmodel.Span) uint64 { return s.SpanID }),
	col("version", func(s *runmodel.Span) uint64 { return s.Version }),
	col("parent_span_id", func(s *runmodel.Span) uint64 { return s.ParentSpanID }),
	col("start_time", func(s *runmodel.Span) time.Time { return s.StartTime }),
	col("end_time", func(s *runmodel.Span) time.Time { return s.EndTime }),
	col("is_run", func(s *runmodel.Span) bool { return s.IsRun }),
	col("name", func(s *runmodel.Span) string { return s.Name }),
	col("kind", func(s *runmodel.Span) string { return s.Kind }),
	col("operation", func(s *runmodel.Span) string { return s.Operation }),
	col("status", func(s *runmodel.Span) string { return s.Status }),
	col("error_type", func(s *runmodel.Span) string { return s.ErrorType }),
	col("error_message", func(s *runmodel.Span) string { return s.ErrorMessage }),
	col("error_stack", func(s *runmodel.Span) string { return s.ErrorStack }),
	col("service_name", func(s *runmodel.Span) string { return s.ServiceName }),
	col("scope_name", func(s *runmodel.Span) string { return s.ScopeName }),
	col("scope_version", func(s *runmodel.Span) string { return s.ScopeVersion }),
	col("dialect", func(s *runmodel.Span) string { return s.Dialect }),
	col("framework", func(s *runmodel.Span) string { return s.Framework }),
	col("provider", func(s *runmodel.Span) string { return s.Provider }),
	col("request_model", func(s *runmodel.Span) string { return s.RequestModel }),
	col("response_model", func(s *runmodel.Span) string { return s.ResponseModel }),
	col("tool_name", func(s *runmodel.Span) string { return s.ToolName }),
	col("tool_call_id", func(s *runmodel.Span) string { return s.ToolCallID }),
	col("agent_name", func(s *runmodel.Span) string { return s.AgentName }),
	col("session_id", func(s *runmodel.Span) string { return s.SessionID }),
	col("conversation_id", func(s *runmodel.Span) string { return s.ConversationID }),
	col("user_id", func(s *runmodel.Span) string { return s.UserID }),
	col("environment", func(s *runmodel.Span) string { return s.Environment }),
	col("release", func(s *runmodel.Span) string { return s.Release }),
	col("prompt_id", func(s *runmodel.Span) string { return s.PromptID }),
	col("prompt_name", func(s *runmodel.Span) string { return s.PromptName }),
	col("prompt_version", func(s *runmodel.Span) string { return s.PromptVersion }),
	col("tags", func(s *runmodel.Span) []string { return some(s.Tags) }),
	col("finish_reasons", func(s *runmodel.Span) []string { return some(s.FinishReasons) }),
	col("metadata", func(s *runmodel.Span) map[string]string { return someMap(s.Metadata) }),
	col("input_tokens", func(s *runmodel.Span) *int64 { return s.InputTokens }),
	col("output_tokens", func(s *runmodel.Span) *int64 { return s.OutputTokens }),
	col("cache_read_tokens", func(s *runmodel.Span) *int64 { return s.CacheReadTokens }),
	col("cache_write_tokens", func(s *runmodel.Span) *int64 { return s.CacheWriteTokens }),
	col("reasoning_tokens", func(s *runmodel.Span) *int64 { return s.ReasoningTokens }),
	col("cost_usd", func(s *runmodel.Span) *float64 { return s.CostUSD }),
	col("cost_source", func(s *runmodel.Span) string { return s.CostSource }),
	col("time_to_first_token", func(s *runmodel.Span) *float64 { return s.TimeToFirstToken }),
	col("input_preview", func(s *runmodel.Span) string { return s.InputPreview }),
	col("output_preview", func(s *runmodel.Span) string { return s.OutputPreview }),
	col("inputs", func(s *runmodel.Span) string { return s.Inputs }),
	col("outputs", func(s *runmodel.Span) string { return s.Outputs }),
	col("tool_arguments", func(s *runmodel.Span) string { return s.ToolArguments }),
	col("tool_result", func(s *runmodel.Span) string { return s.ToolResult }),
	col("input_message_ids", func(s *runmodel.Span) []uint64 { return some(s.InputMessageIDs) }),
	col("output_message_ids", func(s *runmodel.Span) []uint64 { return some(s.OutputMessageIDs) }),
	col("instructions_id", func(s *runmodel.Span) uint64 { return s.InstructionsID }),
	col("tool_definitions_id", func(s *runmodel.Span) uint64 { return s.ToolDefinitionsID }),
	col("resource_id", func(s *runmodel.Span) uint64 { return s.ResourceID }),
	col("attributes", func(s *runmodel.Span) map[string]string { return someMap(s.Attributes) }),
	col("attributes_json", func(s *runmodel.Span) map[string]string { return someMap(s.AttributesJSON) }),
	col("events", func(s *runmodel.Span) string { return s.Events }),
	col("links", func(s *runmodel.Span) string { return s.Links }),
}}

var contents = table[runmodel.Content]{"contents", []column[runmodel.Content]{
	col("project_id", func(c *runmodel.Content) uuid.UUID { return c.ProjectID }),
	col("hour", func(c *runmodel.Content) time.Time { return c.Hour }),
	col("run_id", func(c *runmodel.Content) uuid.UUID { return c.RunID }),
	col("content_id", func(c *runmodel.Content) uint64 { return c.ContentID }),
	col("kind", func(c *runmodel.Content) string { return c.Kind }),
	col("frame", func(c *runmodel.Content) string { return c.Frame }),
	col("texts", func(c *runmodel.Content) []string { return some(c.Texts) }),
}}

var bounds = table[Bounds]{"run_bounds", []column[Bounds]{
	col("project_id", func(b *Bounds) uuid.UUID { return b.ProjectID }),
	col("run_id", func(b *Bounds) uuid.UUID { return b.RunID }),
	col("first_start", func(b *Bounds) time.Time { return b.FirstStart }),
	col("last_start", func(b *Bounds) time.Time { return b.LastStart }),
	col("first_batch", func(b *Bounds) uint64 { return b.FirstBatch }),
	col("last_batch", func(b *Bounds) uint64 { return b.LastBatch }),
}}

var runs = table[runmodel.Run]{"runs", []column[runmodel.Run]{
	col("project_id", func(r *runmodel.Run) uuid.UUID { return r.ProjectID }),
	col("run_id", func(r *runmodel.Run) uuid.UUID { return r.RunID }),
	col("version", func(r *runmodel.Run) uint64 { return r.Version }),
	col("deleted", func(r *runmodel.Run) uint8 { return r.Deleted }),
	col("start_time", func(r *runmodel.Run) time.Time { return r.StartTime }),
	col("end_time", func(r *runmodel.Run) time.Time { return r.EndTime }),
	col("first_received", func(r *runmodel.Run) time.Time { return r.FirstReceived }),
	col("root_span_id", func(r *runmodel.Run) uint64 { return r.RootSpanID }),
	col("name", func(r *runmodel.Run) string { return r.Name }),
	col("kind", func(r *runmodel.Run) string { return r.Kind }),
	col("status", func(r *runmodel.Run) string { return r.Status }),
	col("error_type", func(r *runmodel.Run) string { return r.ErrorType }),
	col("error_message", func(r *runmodel.Run) string { return r.ErrorMessage }),
	col("input_preview", func(r *runmodel.Run) string { return r.InputPreview }),
	col("output_preview", func(r *runmodel.Run) string { return r.OutputPreview }),
	col("session_id", func(r *runmodel.Run) string { return r.SessionID }),
	col("conversation_id", func(r *runmodel.Run) string { return r.ConversationID }),
	col("user_id", func(r *runmodel.Run) string { return r.UserID }),
	col("agent_name", func(r *runmodel.Run) string { return r.AgentName }),
	col("environment", func(r *runmodel.Run) string { return r.Environment }),
	col("release", func(r *runmodel.Run) string { return r.Release }),
	col("prompt_id", func(r *runmodel.Run) string { return r.PromptID }),
	col("prompt_name", func(r *runmodel.Run) string { return r.PromptName }),
	col("prompt_version", func(r *runmodel.Run) string { return r.PromptVersion }),
	col("tags", func(r *runmodel.Run) []string { return some(r.Tags) }),
	col("metadata", func(r *runmodel.Run) map[string]string { return someMap(r.Metadata) }),
	col("models", func(r *runmodel.Run) []string { return some(r.Models) }),
	col("input_tokens", func(r *runmodel.Run) *int64 { return r.InputTokens }),
	col("output_tokens", func(r *runmodel.Run) *int64 { return r.OutputTokens }),
	col("cache_read_tokens", func(r *runmodel.Run) *int64 { return r.CacheReadTokens }),
	col("cache_write_tokens", func(r *runmodel.Run) *int64 { return r.CacheWriteTokens }),
	col("reasoning_tokens", func(r *runmodel.Run) *int64 { return r.ReasoningTokens }),
	col("cost_usd", func(r *runmodel.Run) *float64 { return r.CostUSD }),
	col("cost_source", func(r *runmodel.Run) string { return r.CostSource }),
	col("span_count", func(r *runmodel.Run) uint64 { return r.SpanCount }),
	col("error_count", func(r *runmodel.Run) uint64 { return r.ErrorCount }),
	col("llm_call_count", func(r *runmodel.Run) uint64 { return r.LLMCallCount }),
	col("tool_call_count", func(r *runmodel.Run) uint64 { return r.ToolCallCount }),
}}
