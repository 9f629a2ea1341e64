package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Bounds of a row group, which is held in memory until it is written.
const (
	groupRows  = 10_000
	groupBytes = 32 << 20
)

// parquetRun is a row of an export of runs: Run of the API. Members of objects have the object's name as a prefix, except
// those of usage.
type parquetRun struct {
	RunID            string            `parquet:"run_id"`
	ProjectID        string            `parquet:"project_id,dict"`
	Name             string            `parquet:"name,dict"`
	Kind             string            `parquet:"kind,dict"`
	Status           string            `parquet:"status,dict"`
	Outcome          string            `parquet:"outcome,dict"`
	GenAI            bool              `parquet:"genai"`
	Source           string            `parquet:"source,dict"`
	Replayability    *string           `parquet:"replayability,optional,dict"`
	StartTime        time.Time         `parquet:"start_time,timestamp(nanosecond)"`
	EndTime          *time.Time        `parquet:"end_time,optional,timestamp(nanosecond)"`
	DurationMs       *float64          `parquet:"duration_ms,optional"`
	Inputs           *string           `parquet:"inputs,optional"`
	Outputs          *string           `parquet:"outputs,optional"`
	Truncated        bool              `parquet:"truncated"`
	ErrorType        *string           `parquet:"error_type,optional,dict"`
	ErrorMessage     *string           `parquet:"error_message,optional"`
	SessionID        *string           `parquet:"session_id,optional"`
	ConversationID   *string           `parquet:"conversation_id,optional"`
	UserID           *string           `parquet:"user_id,optional"`
	AgentName        *string           `parquet:"agent_name,optional,dict"`
	Tags             []string          `parquet:"tags,list"`
	Metadata         map[string]string `parquet:"metadata"`
	Environment      *string           `parquet:"environment,optional,dict"`
	Release          *string           `parquet:"release,optional,dict"`
	AgentRelease     *string           `parquet:"agent_release,optional,dict"`
	PromptID         *string           `parquet:"prompt_id,optional,dict"`
	PromptName       *string           `parquet:"prompt_name,optional,dict"`
	PromptVersion    *string           `parquet:"prompt_version,optional,dict"`
	Prompts          []parquetPrompt   `parquet:"prompts,list"`
	Models           []string          `parquet:"models,list"`
	InputTokens      *int64            `parquet:"input_tokens,optional"`
	OutputTokens     *int64            `parquet:"output_tokens,optional"`
	CacheReadTokens  *int64            `parquet:"cache_read_input_tokens,optional"`
	CacheWriteTokens *int64            `parquet:"cache_write_input_tokens,optional"`
	ReasoningTokens  *int64            `parquet:"reasoning_output_tokens,optional"`
	OtherTokens      *int64            `parquet:"other_tokens,optional"`
	TotalTokens      *int64            `parquet:"total_tokens,optional"`
	CostUSD          *float64          `parquet:"cost_usd,optional"`
	CostSource       *string           `parquet:"cost_source,optional,dict"`
	UnpricedCalls    int64             `parquet:"unpriced_call_count"`
	SpanCount        int64             `parquet:"span_count"`
	ErrorCount       int64             `parquet:"error_count"`
	LLMCallCount     int64             `parquet:"llm_call_count"`
	ToolCallCount    int64             `parquet:"tool_call_count"`
	Scores           []parquetScore    `parquet:"scores,list"`
	ScoreCount       int64             `parquet:"score_count"`
	FailedScores     []parquetFailed   `parquet:"failed_scores,list"`
	Signals          []parquetSignal   `parquet:"signals,list"`
	UnknownSignals   []string          `parquet:"unknown_signals,list"`
	Tools            []string          `parquet:"tools,list"`
	Fingerprint      *string           `parquet:"failure_fingerprint,optional,dict"`
	FailureClass     *string           `parquet:"failure_class,optional,dict"`
	FailingSpanID    *string           `parquet:"failure_span_id,optional"`
	FailingKind      *string           `parquet:"failure_step_kind,optional,dict"`
	FailingName      *string           `parquet:"failure_step_name,optional,dict"`
	FailingType      *string           `parquet:"failure_step_error_type,optional,dict"`
	FailingTemplate  *string           `parquet:"failure_message_template,optional,dict"`
	ReceivedAt       time.Time         `parquet:"received_at,timestamp(nanosecond)"`
}

// parquetFailed is a score that fails a run. One of number, boolean and category is not null.
type parquetFailed struct {
	Name     string   `parquet:"name,dict"`
	Number   *float64 `parquet:"number,optional"`
	Boolean  *bool    `parquet:"boolean,optional"`
	Category *string  `parquet:"category,optional"`
}

// parquetSignal is a signal of a run.
type parquetSignal struct {
	Signal      string `parquet:"signal,dict"`
	Fingerprint string `parquet:"fingerprint,dict"`
	SpanID      string `parquet:"span_id"`
	StepKind    string `parquet:"step_kind,dict"`
	StepName    string `parquet:"step_name,dict"`
}

func signalRows(r *runs.Run) []parquetSignal {
	rows := make([]parquetSignal, len(r.Signals))
	for i, signal := range r.Signals {
		rows[i] = parquetSignal{signal, r.SignalFingerprints[i], runmodel.FormatSpanID(r.SignalSpanIDs[i]), r.SignalKinds[i], r.SignalNames[i]}
	}
	return rows
}

func failedScoreRows(r *runs.Run) []parquetFailed {
	rows := make([]parquetFailed, len(r.FailedScores))
	for i := range rows {
		rows[i].Name = r.FailedScores[i].Name
		rows[i].Number, rows[i].Boolean, rows[i].Category = valueColumns(r.FailedScores[i].Value())
	}
	return rows
}

type parquetPrompt struct {
	ID      *string `parquet:"id,optional,dict"`
	Name    *string `parquet:"name,optional,dict"`
	Version *string `parquet:"version,optional,dict"`
}

func promptRows(r *runs.Run) []parquetPrompt {
	rows := make([]parquetPrompt, len(r.PromptIDs))
	for i := range rows {
		rows[i] = parquetPrompt{known(r.PromptIDs[i]), known(r.PromptNames[i]), known(r.PromptVersions[i])}
	}
	return rows
}

// parquetScore is a score. At most one of number, boolean and category is not null.
type parquetScore struct {
	ID        string    `parquet:"id"`
	SpanID    *string   `parquet:"span_id,optional"`
	Name      string    `parquet:"name,dict"`
	Number    *float64  `parquet:"number,optional"`
	Boolean   *bool     `parquet:"boolean,optional"`
	Category  *string   `parquet:"category,optional"`
	Label     *string   `parquet:"label,optional"`
	Comment   *string   `parquet:"comment,optional"`
	Source    string    `parquet:"source,dict"`
	UpdatedAt time.Time `parquet:"updated_at,timestamp(nanosecond)"`
}

// parquetSpan is a row of an export of spans: Span of the API, named as in parquetRun. JSON values are JSON text.
type parquetSpan struct {
	RunID              string         `parquet:"run_id,dict"`
	ProjectID          string         `parquet:"project_id,dict"`
	SpanID             string         `parquet:"span_id"`
	ParentSpanID       *string        `parquet:"parent_span_id,optional"`
	Name               string         `parquet:"name,dict"`
	Kind               string         `parquet:"kind,dict"`
	Operation          *string        `parquet:"operation,optional,dict"`
	Status             string         `parquet:"status,dict"`
	ErrorType          *string        `parquet:"error_type,optional,dict"`
	ErrorMessage       *string        `parquet:"error_message,optional"`
	ErrorStack         *string        `parquet:"error_stack,optional"`
	StartTime          time.Time      `parquet:"start_time,timestamp(nanosecond)"`
	EndTime            *time.Time     `parquet:"end_time,optional,timestamp(nanosecond)"`
	DurationMs         *float64       `parquet:"duration_ms,optional"`
	Depth              int32          `parquet:"depth"`
	Dialect            *string        `parquet:"dialect,optional,dict"`
	Framework          *string        `parquet:"framework,optional,dict"`
	Provider           *string        `parquet:"provider,optional,dict"`
	ServiceName        *string        `parquet:"service_name,optional,dict"`
	RequestModel       *string        `parquet:"request_model,optional,dict"`
	ResponseModel      *string        `parquet:"response_model,optional,dict"`
	Inputs             *string        `parquet:"inputs,optional"`
	Outputs            *string        `parquet:"outputs,optional"`
	Truncated          bool           `parquet:"truncated"`
	SystemInstructions *string        `parquet:"system_instructions,optional"`
	InputMessages      *string        `parquet:"input_messages,optional"`
	OutputMessages     *string        `parquet:"output_messages,optional"`
	ToolDefinitions    *string        `parquet:"tool_definitions,optional"`
	ToolName           *string        `parquet:"tool_name,optional,dict"`
	ToolCallID         *string        `parquet:"tool_call_id,optional"`
	ToolArguments      *string        `parquet:"tool_arguments,optional"`
	ToolResult         *string        `parquet:"tool_result,optional"`
	InputTokens        *int64         `parquet:"input_tokens,optional"`
	OutputTokens       *int64         `parquet:"output_tokens,optional"`
	CacheReadTokens    *int64         `parquet:"cache_read_input_tokens,optional"`
	CacheWriteTokens   *int64         `parquet:"cache_write_input_tokens,optional"`
	ReasoningTokens    *int64         `parquet:"reasoning_output_tokens,optional"`
	OtherTokens        *int64         `parquet:"other_tokens,optional"`
	TotalTokens        *int64         `parquet:"total_tokens,optional"`
	UsageCounted       bool           `parquet:"usage_counted"`
	CostUSD            *float64       `parquet:"cost_usd,optional"`
	CostSource         *string        `parquet:"cost_source,optional,dict"`
	PriceVersion       *string        `parquet:"price_version,optional,dict"`
	ComputedCostUSD    *float64       `parquet:"computed_cost_usd,optional"`
	TimeToFirstTokenMs *float64       `parquet:"time_to_first_token_ms,optional"`
	FinishReasons      []string       `parquet:"finish_reasons,list"`
	SessionID          *string        `parquet:"session_id,optional"`
	ConversationID     *string        `parquet:"conversation_id,optional"`
	UserID             *string        `parquet:"user_id,optional"`
	AgentName          *string        `parquet:"agent_name,optional,dict"`
	PromptID           *string        `parquet:"prompt_id,optional,dict"`
	PromptName         *string        `parquet:"prompt_name,optional,dict"`
	PromptVersion      *string        `parquet:"prompt_version,optional,dict"`
	Scores             []parquetScore `parquet:"scores,list"`
	Attributes         *string        `parquet:"attributes,optional"`
	ResourceAttributes *string        `parquet:"resource_attributes,optional"`
	ScopeName          *string        `parquet:"scope_name,optional,dict"`
	ScopeVersion       *string        `parquet:"scope_version,optional,dict"`
	Events             *string        `parquet:"events,optional"`
	Links              *string        `parquet:"links,optional"`
}

// parquetFile writes rows of one kind, a row group at a time.
type parquetFile[R any] struct {
	to          *parquet.GenericWriter[R]
	rows, bytes int
}

func newParquetFile[R any](to io.Writer) *parquetFile[R] {
	return &parquetFile[R]{to: parquet.NewGenericWriter[R](to,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault}), parquet.CreatedBy("looptrace", "", ""))}
}

// write adds a row. bytes is its approximate size.
func (f *parquetFile[R]) write(row R, bytes int) error {
	if _, err := f.to.Write([]R{row}); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	f.rows++
	f.bytes += bytes
	if f.rows < groupRows && f.bytes < groupBytes {
		return nil
	}
	f.rows, f.bytes = 0, 0
	if err := f.to.Flush(); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}

// Close writes the remaining rows and the end of the file.
func (f *parquetFile[R]) Close() error { return f.to.Close() }

type parquetRuns struct{ *parquetFile[parquetRun] }

func newParquetRuns(to io.Writer) parquetRuns { return parquetRuns{newParquetFile[parquetRun](to)} }

func (p parquetRuns) run(r *runs.Run) error {
	row := parquetRun{
		RunID: r.RunID.String(), ProjectID: r.ProjectID.String(), Name: r.Name, Kind: r.Kind, Status: r.Status, Outcome: r.Outcome(), GenAI: r.GenAI, Source: r.Source,
		Replayability: known(r.Replayability), StartTime: r.StartTime.UTC(), EndTime: present(r.EndTime), DurationMs: elapsed(r.StartTime, r.EndTime),
		Inputs: r.Inputs, Outputs: r.Outputs, Truncated: r.Truncated, ErrorType: known(r.ErrorType), ErrorMessage: known(r.ErrorMessage),
		SessionID: known(r.SessionID), ConversationID: known(r.ConversationID), UserID: known(r.UserID), AgentName: known(r.AgentName),
		Tags: r.Tags, Metadata: r.Metadata, Environment: known(r.Environment), Release: known(r.Release), AgentRelease: known(r.AgentRelease),
		PromptID: known(r.PromptID), PromptName: known(r.PromptName), PromptVersion: known(r.PromptVersion), Prompts: promptRows(r), Models: r.Models,
		InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, CacheReadTokens: r.CacheReadTokens,
		CacheWriteTokens: r.CacheWriteTokens, ReasoningTokens: r.ReasoningTokens, OtherTokens: r.OtherTokens, CostUSD: r.CostUSD, CostSource: known(r.CostSource),
		UnpricedCalls: count(r.UnpricedCallCount), SpanCount: count(r.SpanCount), ErrorCount: count(r.ErrorCount), LLMCallCount: count(r.LLMCallCount),
		ToolCallCount: count(r.ToolCallCount), Scores: parquetScores(r.Scores), ScoreCount: count(r.ScoreCount), FailedScores: failedScoreRows(r), Signals: signalRows(r), UnknownSignals: r.SignalsUnknown,
		TotalTokens: totalOf(r.InputTokens, r.OutputTokens, r.OtherTokens), Tools: r.Tools, ReceivedAt: r.FirstReceived.UTC(),
	}
	if f := failureOf(&r.Failure); f != nil {
		class := string(f.Class)
		row.Fingerprint, row.FailureClass, row.FailingSpanID, row.FailingTemplate = &f.Fingerprint, &class, &f.SpanId, &f.MessageTemplate
		row.FailingKind, row.FailingName, row.FailingType = &f.Step.Kind, &f.Step.Name, f.Step.ErrorType
	}
	return p.write(row, size(row.Inputs, row.Outputs))
}

func (parquetRuns) span(*runs.Span) error { return errors.New("a Parquet file has rows of one kind") }

type parquetSpans struct{ *parquetFile[parquetSpan] }

func newParquetSpans(to io.Writer) parquetSpans { return parquetSpans{newParquetFile[parquetSpan](to)} }

func (parquetSpans) run(*runs.Run) error { return nil }

func (p parquetSpans) span(s *runs.Span) error {
	row := parquetSpan{
		RunID: s.RunID.String(), ProjectID: s.ProjectID.String(), SpanID: runmodel.FormatSpanID(s.SpanID),
		Name: s.Name, Kind: s.EffectiveKind(), Operation: known(s.Operation), Status: s.EffectiveStatus(),
		ErrorType: known(s.ErrorType), ErrorMessage: known(s.ErrorMessage), ErrorStack: known(s.ErrorStack),
		StartTime: s.StartTime.UTC(), EndTime: present(s.EndTime), DurationMs: elapsed(s.StartTime, s.EndTime), Depth: int32(s.Depth),
		Dialect: known(s.Dialect), Framework: known(s.Framework), Provider: known(s.Provider), ServiceName: known(s.ServiceName),
		RequestModel: known(s.RequestModel), ResponseModel: known(s.ResponseModel), Inputs: s.Inputs, Outputs: s.Outputs,
		ToolName: known(s.ToolName), ToolCallID: known(s.ToolCallID), ToolArguments: known(s.ToolArguments), ToolResult: known(s.ToolResult),
		InputTokens: s.InputTokens, OutputTokens: s.OutputTokens, CacheReadTokens: s.CacheReadTokens,
		CacheWriteTokens: s.CacheWriteTokens, ReasoningTokens: s.ReasoningTokens, OtherTokens: s.OtherTokens, UsageCounted: s.UsageCounted,
		TotalTokens: totalOf(s.InputTokens, s.OutputTokens, s.OtherTokens), Truncated: s.Truncated,
		CostUSD: s.CostUSD, CostSource: known(s.CostSource), PriceVersion: known(s.PriceVersion), ComputedCostUSD: computedCost(s), FinishReasons: s.FinishReasons,
		SessionID: known(s.SessionID), ConversationID: known(s.ConversationID), UserID: known(s.UserID), AgentName: known(s.AgentName),
		PromptID: known(s.PromptID), PromptName: known(s.PromptName), PromptVersion: known(s.PromptVersion),
		ScopeName: known(s.ScopeName), ScopeVersion: known(s.ScopeVersion), Scores: parquetScores(s.Scores),
	}
	if s.ParentSpanID != 0 {
		parent := runmodel.FormatSpanID(s.ParentSpanID)
		row.ParentSpanID = &parent
	}
	if s.TimeToFirstToken != nil {
		ms := *s.TimeToFirstToken * 1000
		row.TimeToFirstTokenMs = &ms
	}
	bytes := size(row.Inputs, row.Outputs, row.ErrorStack, row.ToolArguments, row.ToolResult)
	for _, part := range []struct {
		to    **string
		value any
		empty bool
	}{
		{&row.SystemInstructions, s.SystemInstructions, len(s.SystemInstructions) == 0},
		{&row.InputMessages, s.InputMessages, len(s.InputMessages) == 0},
		{&row.OutputMessages, s.OutputMessages, len(s.OutputMessages) == 0},
		{&row.ToolDefinitions, s.ToolDefinitions, len(s.ToolDefinitions) == 0},
		{&row.Attributes, s.Attributes, len(s.Attributes) == 0},
		{&row.ResourceAttributes, s.ResourceAttributes, len(s.ResourceAttributes) == 0},
		{&row.Events, s.Events, len(s.Events) == 0},
		{&row.Links, s.Links, len(s.Links) == 0},
	} {
		if part.empty {
			continue
		}
		text, err := json.Marshal(part.value)
		if err != nil {
			return fmt.Errorf("encode span: %w", err)
		}
		bytes += len(text)
		written := string(text)
		*part.to = &written
	}
	return p.write(row, bytes)
}

func parquetScores(scores []runmodel.Score) []parquetScore {
	rows := make([]parquetScore, len(scores))
	for i := range scores {
		score := scoreOf(&scores[i])
		rows[i] = parquetScore{
			ID: score.Id.String(), SpanID: score.SpanId, Name: score.Name, Label: score.Label, Comment: score.Comment,
			Source: string(score.Source), UpdatedAt: score.UpdatedAt,
		}
		rows[i].Number, rows[i].Boolean, rows[i].Category = valueColumns(score.Value)
	}
	return rows
}

// valueColumns are the columns of the value of a score: at most one is not null.
func valueColumns(value any) (number *float64, boolean *bool, category *string) {
	switch value := value.(type) {
	case float64:
		number = &value
	case bool:
		boolean = &value
	case string:
		category = &value
	}
	return number, boolean, category
}

func size(texts ...*string) (n int) {
	for _, text := range texts {
		n += len(valueOf(text, ""))
	}
	return n
}
