package clickhouse

import (
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Bounds is the time range of a run's spans: a row of the table run_bounds.
type Bounds struct {
	ProjectID  uuid.UUID `ch:"project_id"`
	RunID      uuid.UUID `ch:"run_id"`
	FirstStart time.Time `ch:"first_start"`
	LastStart  time.Time `ch:"last_start"`
	FirstBatch uint64    `ch:"first_batch"`
	LastBatch  uint64    `ch:"last_batch"`
	// DeletedAt is the time in Unix nanoseconds up to which everything received of the run is deleted. It is 0 if
	// nothing is.
	DeletedAt uint64 `ch:"deleted_at"`
	// Absent has a bit for each column that is empty in all of the run's spans: see the function Absent. It is for
	// readers of spans; ReadBounds leaves it out.
	Absent uint64 `ch:"absent"`
}

// column buffers a column of rows of type R in ClickHouse's native layout.
type column[R any] struct {
	name   string
	data   proto.ColInput
	append func(*R)
	reset  func()
}

func col[R, V any](name string, data proto.ColumnOf[V], value func(*R) V) column[R] {
	return column[R]{name, data, func(row *R) { data.Append(value(row)) }, data.Reset}
}

func str[R any](name string, value func(*R) string) column[R] {
	values := new(text)
	return column[R]{name, values, func(row *R) { values.append(value(row)) }, values.reset}
}

// lowCardinality is a string column with few distinct values.
func lowCardinality[R any](name string, value func(*R) string) column[R] {
	lowCardinalityList := newStringTable()
	return column[R]{name, lowCardinalityList, func(row *R) { lowCardinalityList.append(value(row)) }, lowCardinalityList.reset}
}

func lowCardinalityList[R any](name string, value func(*R) []string) column[R] {
	lists := &lists[*stringTable]{strings: newStringTable()}
	return column[R]{name, lists, func(row *R) { lists.append(value(row)) }, lists.reset}
}

func strs[R any](name string, value func(*R) []string) column[R] {
	lists := &lists[*text]{strings: new(text)}
	return column[R]{name, lists, func(row *R) { lists.append(value(row)) }, lists.reset}
}

func mapped[R any](name string, value func(*R) map[string]string) column[R] {
	maps := newTextMaps()
	return column[R]{name, maps, func(row *R) { maps.append(value(row)) }, maps.reset}
}

func id[R any](name string, value func(*R) uuid.UUID) column[R] {
	return col(name, new(proto.ColUUID), value)
}

func number[R any](name string, value func(*R) uint64) column[R] {
	return col(name, new(proto.ColUInt64), value)
}

func numbers[R any](name string, value func(*R) []uint64) column[R] {
	return col(name, new(proto.ColUInt64).Array(), value)
}

func count[R any](name string, value func(*R) *int64) column[R] {
	return col(name, proto.NewColNullable(new(proto.ColInt64)), func(row *R) proto.Nullable[int64] { return nullable(value(row)) })
}

func amount[R any](name string, value func(*R) *float64) column[R] {
	return col(name, proto.NewColNullable(new(proto.ColFloat64)), func(row *R) proto.Nullable[float64] { return nullable(value(row)) })
}

func nullable[V any](value *V) proto.Nullable[V] {
	if value == nil {
		return proto.Null[V]()
	}
	return proto.NewNullable(*value)
}

func instant[R any](name string, value func(*R) time.Time) column[R] {
	// The wrapper hides a method that would take over the table's own type, and that fails for the type of an
	// aggregate.
	plain := struct{ proto.ColumnOf[time.Time] }{new(proto.ColDateTime64).WithPrecision(proto.PrecisionNano)}
	return col(name, plain, value)
}

func spanColumns() []column[runmodel.Span] {
	return []column[runmodel.Span]{
		id("project_id", func(s *runmodel.Span) uuid.UUID { return s.ProjectID }),
		id("run_id", func(s *runmodel.Span) uuid.UUID { return s.RunID }),
		number("span_id", func(s *runmodel.Span) uint64 { return s.SpanID }),
		number("version", func(s *runmodel.Span) uint64 { return s.Version }),
		number("parent_span_id", func(s *runmodel.Span) uint64 { return s.ParentSpanID }),
		instant("start_time", func(s *runmodel.Span) time.Time { return s.StartTime }),
		instant("end_time", func(s *runmodel.Span) time.Time { return s.EndTime }),
		col("is_run", new(proto.ColBool), func(s *runmodel.Span) bool { return s.IsRun }),
		col("from_log", new(proto.ColBool), func(s *runmodel.Span) bool { return s.FromLog }),
		str("name", func(s *runmodel.Span) string { return s.Name }),
		lowCardinality("kind", func(s *runmodel.Span) string { return s.Kind }),
		lowCardinality("operation", func(s *runmodel.Span) string { return s.Operation }),
		lowCardinality("status", func(s *runmodel.Span) string { return s.Status }),
		lowCardinality("error_type", func(s *runmodel.Span) string { return s.ErrorType }),
		str("error_message", func(s *runmodel.Span) string { return s.ErrorMessage }),
		str("error_stack", func(s *runmodel.Span) string { return s.ErrorStack }),
		lowCardinality("service_name", func(s *runmodel.Span) string { return s.ServiceName }),
		lowCardinality("scope_name", func(s *runmodel.Span) string { return s.ScopeName }),
		lowCardinality("scope_version", func(s *runmodel.Span) string { return s.ScopeVersion }),
		lowCardinality("dialect", func(s *runmodel.Span) string { return s.Dialect }),
		lowCardinality("framework", func(s *runmodel.Span) string { return s.Framework }),
		lowCardinality("provider", func(s *runmodel.Span) string { return s.Provider }),
		lowCardinality("request_model", func(s *runmodel.Span) string { return s.RequestModel }),
		lowCardinality("response_model", func(s *runmodel.Span) string { return s.ResponseModel }),
		col("response_hash", new(proto.ColUInt32), func(s *runmodel.Span) uint32 { return s.ResponseHash }),
		lowCardinality("tool_name", func(s *runmodel.Span) string { return s.ToolName }),
		str("tool_call_id", func(s *runmodel.Span) string { return s.ToolCallID }),
		lowCardinality("agent_name", func(s *runmodel.Span) string { return s.AgentName }),
		str("session_id", func(s *runmodel.Span) string { return s.SessionID }),
		str("conversation_id", func(s *runmodel.Span) string { return s.ConversationID }),
		str("user_id", func(s *runmodel.Span) string { return s.UserID }),
		lowCardinality("environment", func(s *runmodel.Span) string { return s.Environment }),
		lowCardinality("release", func(s *runmodel.Span) string { return s.Release }),
		str("prompt_id", func(s *runmodel.Span) string { return s.PromptID }),
		lowCardinality("prompt_name", func(s *runmodel.Span) string { return s.PromptName }),
		lowCardinality("prompt_version", func(s *runmodel.Span) string { return s.PromptVersion }),
		lowCardinality("source", func(s *runmodel.Span) string { return s.Source }),
		lowCardinalityList("tags", func(s *runmodel.Span) []string { return s.Tags }),
		lowCardinalityList("finish_reasons", func(s *runmodel.Span) []string { return s.FinishReasons }),
		mapped("metadata", func(s *runmodel.Span) map[string]string { return s.Metadata }),
		count("input_tokens", func(s *runmodel.Span) *int64 { return s.InputTokens }),
		count("output_tokens", func(s *runmodel.Span) *int64 { return s.OutputTokens }),
		count("cache_read_tokens", func(s *runmodel.Span) *int64 { return s.CacheReadTokens }),
		count("cache_write_tokens", func(s *runmodel.Span) *int64 { return s.CacheWriteTokens }),
		count("reasoning_tokens", func(s *runmodel.Span) *int64 { return s.ReasoningTokens }),
		count("other_tokens", func(s *runmodel.Span) *int64 { return s.OtherTokens }),
		amount("cost_usd", func(s *runmodel.Span) *float64 { return s.CostUSD }),
		lowCardinality("cost_source", func(s *runmodel.Span) string { return s.CostSource }),
		lowCardinality("price_version", func(s *runmodel.Span) string { return s.PriceVersion }),
		lowCardinality("counting", func(s *runmodel.Span) string { return s.Counting }),
		amount("time_to_first_token", func(s *runmodel.Span) *float64 { return s.TimeToFirstToken }),
		str("input_preview", func(s *runmodel.Span) string { return s.InputPreview }),
		str("output_preview", func(s *runmodel.Span) string { return s.OutputPreview }),
		col("output_calls", new(proto.ColBool), func(s *runmodel.Span) bool { return s.OutputCalls }),
		str("inputs", func(s *runmodel.Span) string { return s.Inputs }),
		str("outputs", func(s *runmodel.Span) string { return s.Outputs }),
		str("tool_arguments", func(s *runmodel.Span) string { return s.ToolArguments }),
		str("tool_result", func(s *runmodel.Span) string { return s.ToolResult }),
		number("call_hash", func(s *runmodel.Span) uint64 { return s.CallHash }),
		number("result_hash", func(s *runmodel.Span) uint64 { return s.ResultHash }),
		lowCardinality("said", func(s *runmodel.Span) string { return s.Said }),
		lowCardinality("side_effects", func(s *runmodel.Span) string { return s.SideEffects }),
		str("escaped_words", (*runmodel.Span).EscapedWords),
		numbers("input_message_ids", func(s *runmodel.Span) []uint64 { return s.InputMessageIDs }),
		numbers("output_message_ids", func(s *runmodel.Span) []uint64 { return s.OutputMessageIDs }),
		number("instructions_id", func(s *runmodel.Span) uint64 { return s.InstructionsID }),
		number("instructions_text_id", func(s *runmodel.Span) uint64 { return s.InstructionsTextID }),
		number("system_message_text_id", func(s *runmodel.Span) uint64 { return s.SystemMessageTextID }),
		number("tool_definitions_id", func(s *runmodel.Span) uint64 { return s.ToolDefinitionsID }),
		mapped("agent_parts", func(s *runmodel.Span) map[string]string { return s.AgentParts }),
		number("resource_id", func(s *runmodel.Span) uint64 { return s.ResourceID }),
		mapped("attributes", func(s *runmodel.Span) map[string]string { return s.Attributes }),
		mapped("attributes_json", func(s *runmodel.Span) map[string]string { return s.AttributesJSON }),
		str("events", func(s *runmodel.Span) string { return s.Events }),
		str("links", func(s *runmodel.Span) string { return s.Links }),
	}
}

func contentColumns() []column[runmodel.Content] {
	return []column[runmodel.Content]{
		id("project_id", func(c *runmodel.Content) uuid.UUID { return c.ProjectID }),
		col("hour", new(proto.ColDateTime), func(c *runmodel.Content) time.Time { return c.Hour }),
		id("run_id", func(c *runmodel.Content) uuid.UUID { return c.RunID }),
		number("content_id", func(c *runmodel.Content) uint64 { return c.ContentID }),
		lowCardinality("kind", func(c *runmodel.Content) string { return c.Kind }),
		str("frame", func(c *runmodel.Content) string { return c.Frame }),
		strs("texts", func(c *runmodel.Content) []string { return c.Texts }),
		numbers("shared_ids", func(c *runmodel.Content) []uint64 { return c.SharedIDs }),
		numbers("shared_tails", func(c *runmodel.Content) []uint64 { return c.SharedTails }),
	}
}

func sharedContentColumns() []column[runmodel.SharedContent] {
	return []column[runmodel.SharedContent]{
		id("project_id", func(c *runmodel.SharedContent) uuid.UUID { return c.ProjectID }),
		col("day", new(proto.ColDate), func(c *runmodel.SharedContent) time.Time { return c.Day }),
		number("content_id", func(c *runmodel.SharedContent) uint64 { return c.ContentID }),
		number("shared_tail", func(c *runmodel.SharedContent) uint64 { return c.SharedTail }),
		str("frame", func(c *runmodel.SharedContent) string { return c.Frame }),
		strs("texts", func(c *runmodel.SharedContent) []string { return c.Texts }),
	}
}

func boundColumns() []column[Bounds] {
	return []column[Bounds]{
		id("project_id", func(b *Bounds) uuid.UUID { return b.ProjectID }),
		id("run_id", func(b *Bounds) uuid.UUID { return b.RunID }),
		instant("first_start", func(b *Bounds) time.Time { return b.FirstStart }),
		instant("last_start", func(b *Bounds) time.Time { return b.LastStart }),
		number("first_batch", func(b *Bounds) uint64 { return b.FirstBatch }),
		number("last_batch", func(b *Bounds) uint64 { return b.LastBatch }),
		number("deleted_at", func(b *Bounds) uint64 { return b.DeletedAt }),
		number("absent", func(b *Bounds) uint64 { return b.Absent }),
	}
}

func runColumns() []column[runmodel.Run] {
	return []column[runmodel.Run]{
		id("project_id", func(r *runmodel.Run) uuid.UUID { return r.ProjectID }),
		id("run_id", func(r *runmodel.Run) uuid.UUID { return r.RunID }),
		number("version", func(r *runmodel.Run) uint64 { return r.Version }),
		col("deleted", new(proto.ColUInt8), func(r *runmodel.Run) uint8 { return r.Deleted }),
		instant("start_time", func(r *runmodel.Run) time.Time { return r.StartTime }),
		instant("end_time", func(r *runmodel.Run) time.Time { return r.EndTime }),
		instant("first_received", func(r *runmodel.Run) time.Time { return r.FirstReceived }),
		number("root_span_id", func(r *runmodel.Run) uint64 { return r.RootSpanID }),
		str("name", func(r *runmodel.Run) string { return r.Name }),
		lowCardinality("kind", func(r *runmodel.Run) string { return r.Kind }),
		lowCardinality("status", func(r *runmodel.Run) string { return r.Status }),
		lowCardinality("error_type", func(r *runmodel.Run) string { return r.ErrorType }),
		str("error_message", func(r *runmodel.Run) string { return r.ErrorMessage }),
		str("input_preview", func(r *runmodel.Run) string { return r.InputPreview }),
		str("output_preview", func(r *runmodel.Run) string { return r.OutputPreview }),
		str("session_id", func(r *runmodel.Run) string { return r.SessionID }),
		str("conversation_id", func(r *runmodel.Run) string { return r.ConversationID }),
		str("user_id", func(r *runmodel.Run) string { return r.UserID }),
		lowCardinality("agent_name", func(r *runmodel.Run) string { return r.AgentName }),
		lowCardinality("environment", func(r *runmodel.Run) string { return r.Environment }),
		lowCardinality("release", func(r *runmodel.Run) string { return r.Release }),
		lowCardinality("agent_release", func(r *runmodel.Run) string { return r.AgentRelease }),
		mapped("agent_parts", func(r *runmodel.Run) map[string]string { return r.AgentParts }),
		str("prompt_id", func(r *runmodel.Run) string { return r.PromptID }),
		lowCardinality("prompt_name", func(r *runmodel.Run) string { return r.PromptName }),
		lowCardinality("prompt_version", func(r *runmodel.Run) string { return r.PromptVersion }),
		strs("prompt_ids", func(r *runmodel.Run) []string { return r.PromptIDs }),
		lowCardinalityList("prompt_names", func(r *runmodel.Run) []string { return r.PromptNames }),
		lowCardinalityList("prompt_versions", func(r *runmodel.Run) []string { return r.PromptVersions }),
		numbers("system_text_ids", func(r *runmodel.Run) []uint64 { return r.SystemTextIDs }),
		lowCardinalityList("tags", func(r *runmodel.Run) []string { return r.Tags }),
		mapped("metadata", func(r *runmodel.Run) map[string]string { return r.Metadata }),
		lowCardinalityList("models", func(r *runmodel.Run) []string { return r.Models }),
		count("input_tokens", func(r *runmodel.Run) *int64 { return r.InputTokens }),
		count("output_tokens", func(r *runmodel.Run) *int64 { return r.OutputTokens }),
		count("cache_read_tokens", func(r *runmodel.Run) *int64 { return r.CacheReadTokens }),
		count("cache_write_tokens", func(r *runmodel.Run) *int64 { return r.CacheWriteTokens }),
		count("reasoning_tokens", func(r *runmodel.Run) *int64 { return r.ReasoningTokens }),
		count("other_tokens", func(r *runmodel.Run) *int64 { return r.OtherTokens }),
		amount("cost_usd", func(r *runmodel.Run) *float64 { return r.CostUSD }),
		lowCardinality("cost_source", func(r *runmodel.Run) string { return r.CostSource }),
		number("unpriced_call_count", func(r *runmodel.Run) uint64 { return r.UnpricedCallCount }),
		number("span_count", func(r *runmodel.Run) uint64 { return r.SpanCount }),
		number("error_count", func(r *runmodel.Run) uint64 { return r.ErrorCount }),
		number("llm_call_count", func(r *runmodel.Run) uint64 { return r.LLMCallCount }),
		number("tool_call_count", func(r *runmodel.Run) uint64 { return r.ToolCallCount }),
		lowCardinalityList("tools", func(r *runmodel.Run) []string { return r.Tools }),
		col("genai", new(proto.ColBool), func(r *runmodel.Run) bool { return r.GenAI }),
		lowCardinality("source", func(r *runmodel.Run) string { return r.Source }),
		lowCardinality("replayability", func(r *runmodel.Run) string { return r.Replayability }),
		amount("sample_share", func(r *runmodel.Run) *float64 { return r.SampleShare }),
		lowCardinality("fingerprint", func(r *runmodel.Run) string { return r.Fingerprint }),
		lowCardinality("failure_class", func(r *runmodel.Run) string { return r.Class }),
		number("failing_span_id", func(r *runmodel.Run) uint64 { return r.FailingSpanID }),
		lowCardinality("failing_kind", func(r *runmodel.Run) string { return r.FailingKind }),
		lowCardinality("failing_name", func(r *runmodel.Run) string { return r.FailingName }),
		lowCardinality("failing_effects", func(r *runmodel.Run) string { return r.FailingEffects }),
		lowCardinality("failing_type", func(r *runmodel.Run) string { return r.FailingType }),
		str("failing_template", func(r *runmodel.Run) string { return r.FailingTemplate }),
		lowCardinalityList("signals", func(r *runmodel.Run) []string { return r.Signals }),
		numbers("signal_span_ids", func(r *runmodel.Run) []uint64 { return r.SignalSpanIDs }),
		lowCardinalityList("signal_kinds", func(r *runmodel.Run) []string { return r.SignalKinds }),
		lowCardinalityList("signal_names", func(r *runmodel.Run) []string { return r.SignalNames }),
		lowCardinalityList("signal_effects", func(r *runmodel.Run) []string { return r.SignalEffects }),
		strs("signal_fingerprints", func(r *runmodel.Run) []string { return r.SignalFingerprints }),
		lowCardinalityList("signals_unknown", func(r *runmodel.Run) []string { return r.SignalsUnknown }),
		col("signals_version", new(proto.ColUInt8), func(r *runmodel.Run) uint8 { return r.SignalsVersion }),
	}
}
