package runmodel

import (
	"iter"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Span is one received version of a span, as a row of the table spans: the exporter writes it and the
// control plane reads it. A zero value means that the version does not carry the field, so that Fold keeps
// what an earlier version said.
type Span struct {
	ProjectID uuid.UUID `ch:"project_id"`
	RunID     uuid.UUID `ch:"run_id"`
	SpanID    uint64    `ch:"span_id"`
	// Version is when this version was received, in Unix nanoseconds.
	Version      uint64    `ch:"version"`
	ParentSpanID uint64    `ch:"parent_span_id"`
	StartTime    time.Time `ch:"start_time"`
	// EndTime is the Unix epoch where the span has not ended.
	EndTime time.Time `ch:"end_time"`
	// IsRun marks the span that is a native run itself.
	IsRun bool `ch:"is_run"`
	// FromLog marks a version that was made of log records: it fills what the span itself does not say.
	FromLog bool `ch:"from_log"`

	Name         string `ch:"name"`
	Kind         string `ch:"kind"`
	Operation    string `ch:"operation"`
	Status       string `ch:"status"`
	ErrorType    string `ch:"error_type"`
	ErrorMessage string `ch:"error_message"`
	ErrorStack   string `ch:"error_stack"`

	ServiceName   string `ch:"service_name"`
	ScopeName     string `ch:"scope_name"`
	ScopeVersion  string `ch:"scope_version"`
	Dialect       string `ch:"dialect"`
	Framework     string `ch:"framework"`
	Provider      string `ch:"provider"`
	RequestModel  string `ch:"request_model"`
	ResponseModel string `ch:"response_model"`
	ToolName      string `ch:"tool_name"`
	ToolCallID    string `ch:"tool_call_id"`
	AgentName     string `ch:"agent_name"`

	SessionID      string            `ch:"session_id"`
	ConversationID string            `ch:"conversation_id"`
	UserID         string            `ch:"user_id"`
	Environment    string            `ch:"environment"`
	Release        string            `ch:"release"`
	PromptID       string            `ch:"prompt_id"`
	PromptName     string            `ch:"prompt_name"`
	PromptVersion  string            `ch:"prompt_version"`
	Tags           []string          `ch:"tags"`
	FinishReasons  []string          `ch:"finish_reasons"`
	Metadata       map[string]string `ch:"metadata"`

	// Tokens: input includes cached, output includes reasoning; nil where unknown.
	InputTokens      *int64 `ch:"input_tokens"`
	OutputTokens     *int64 `ch:"output_tokens"`
	CacheReadTokens  *int64 `ch:"cache_read_tokens"`
	CacheWriteTokens *int64 `ch:"cache_write_tokens"`
	ReasoningTokens  *int64 `ch:"reasoning_tokens"`

	CostUSD *float64 `ch:"cost_usd"`
	// CostSource is CostSent or CostComputed, or empty where there is no cost.
	CostSource string `ch:"cost_source"`
	// PriceVersion names the prices of a computed cost, as KeyPriceVersion does.
	PriceVersion string `ch:"price_version"`
	// Counting says what of the span counts towards its run, where that is not as CountsUsage says: CountNothing or
	// CountUsage.
	Counting string `ch:"counting"`
	// TimeToFirstToken is in seconds.
	TimeToFirstToken *float64 `ch:"time_to_first_token"`

	InputPreview  string `ch:"input_preview"`
	OutputPreview string `ch:"output_preview"`
	Inputs        string `ch:"inputs"`
	Outputs       string `ch:"outputs"`
	ToolArguments string `ch:"tool_arguments"`
	ToolResult    string `ch:"tool_result"`

	// The ids of contents of the same project, run and hour.
	InputMessageIDs   []uint64 `ch:"input_message_ids"`
	OutputMessageIDs  []uint64 `ch:"output_message_ids"`
	InstructionsID    uint64   `ch:"instructions_id"`
	ToolDefinitionsID uint64   `ch:"tool_definitions_id"`
	ResourceID        uint64   `ch:"resource_id"`

	// Attributes holds the string attributes that have no field above; AttributesJSON the others, as JSON.
	Attributes     map[string]string `ch:"attributes"`
	AttributesJSON map[string]string `ch:"attributes_json"`
	// Events and Links are JSON arrays of Event and Link, or empty.
	Events string `ch:"events"`
	Links  string `ch:"links"`
}

// PreviewLength is how many bytes of an input or output a list shows.
const PreviewLength = 120

// Values of Span.Counting.
const (
	// CountNothing is a span that repeats another: neither its usage counts, nor is it a call.
	CountNothing = "nothing"
	// CountUsage is a span that goes on with a call that another span stands for: its usage counts, and it is no call.
	CountUsage = "usage"
)

// Event is a span event within Span.Events.
type Event struct {
	Name       string         `json:"name"`
	Time       time.Time      `json:"time"`
	Attributes map[string]any `json:"attributes"`
}

// Link is a span link within Span.Links.
type Link struct {
	RunID      string         `json:"run_id"`
	SpanID     string         `json:"span_id"`
	Attributes map[string]any `json:"attributes"`
}

// Content is a part of a run that its spans share, or the names of such parts that runs have in common, as a row of the table
// contents.
type Content struct {
	ProjectID uuid.UUID `ch:"project_id"`
	Hour      time.Time `ch:"hour"`
	RunID     uuid.UUID `ch:"run_id"`
	// ContentID is that of the content; of a row of names the exclusive or of their ids, so that rows of the same names replace each
	// other and others do not.
	ContentID uint64 `ch:"content_id"`
	Kind      string `ch:"kind"`
	// SharedTail is not 0 in rows that name one SharedContent, of the same project, day, id and tail, as earlier versions wrote them.
	SharedTail uint64   `ch:"shared_tail"`
	Frame      string   `ch:"frame"`
	Texts      []string `ch:"texts"`
	// SharedIDs and SharedTails name contents of the kind, each the SharedContent of the same project and day with that id and tail.
	SharedIDs   []uint64 `ch:"shared_ids"`
	SharedTails []uint64 `ch:"shared_tails"`
}

// Each is the contents that a row has or names. Of those that it names SharedTail is not 0, and frame and texts stand in their
// SharedContent.
func (c *Content) Each() iter.Seq[Content] {
	return func(yield func(Content) bool) {
		if len(c.SharedIDs) == 0 {
			yield(*c)
			return
		}
		for i, id := range c.SharedIDs {
			if !yield(Content{
				ProjectID: c.ProjectID, Hour: c.Hour, RunID: c.RunID, ContentID: id, Kind: c.Kind, SharedTail: c.SharedTails[i],
			}) {
				return
			}
		}
	}
}

// SharedContent is what runs of a project and day have in common, as a row of the table shared_contents.
type SharedContent struct {
	ProjectID  uuid.UUID `ch:"project_id"`
	Day        time.Time `ch:"day"`
	ContentID  uint64    `ch:"content_id"`
	SharedTail uint64    `ch:"shared_tail"`
	Frame      string    `ch:"frame"`
	Texts      []string  `ch:"texts"`
}

// Run is a run with its totals, as a row of the table runs.
type Run struct {
	ProjectID uuid.UUID `ch:"project_id"`
	RunID     uuid.UUID `ch:"run_id"`
	// Version is the number of span versions that the row was derived from; of a run that began anew after it was deleted, that
	// number and the time of the deletion in Unix nanoseconds.
	Version   uint64    `ch:"version"`
	Deleted   uint8     `ch:"deleted"`
	StartTime time.Time `ch:"start_time"`
	// EndTime is the Unix epoch while the run is running.
	EndTime       time.Time `ch:"end_time"`
	FirstReceived time.Time `ch:"first_received"`
	RootSpanID    uint64    `ch:"root_span_id"`

	Name         string `ch:"name"`
	Kind         string `ch:"kind"`
	Status       string `ch:"status"`
	ErrorType    string `ch:"error_type"`
	ErrorMessage string `ch:"error_message"`

	InputPreview  string `ch:"input_preview"`
	OutputPreview string `ch:"output_preview"`

	SessionID      string            `ch:"session_id"`
	ConversationID string            `ch:"conversation_id"`
	UserID         string            `ch:"user_id"`
	AgentName      string            `ch:"agent_name"`
	Environment    string            `ch:"environment"`
	Release        string            `ch:"release"`
	PromptID       string            `ch:"prompt_id"`
	PromptName     string            `ch:"prompt_name"`
	PromptVersion  string            `ch:"prompt_version"`
	Tags           []string          `ch:"tags"`
	Metadata       map[string]string `ch:"metadata"`
	Models         []string          `ch:"models"`

	InputTokens      *int64   `ch:"input_tokens"`
	OutputTokens     *int64   `ch:"output_tokens"`
	CacheReadTokens  *int64   `ch:"cache_read_tokens"`
	CacheWriteTokens *int64   `ch:"cache_write_tokens"`
	ReasoningTokens  *int64   `ch:"reasoning_tokens"`
	CostUSD          *float64 `ch:"cost_usd"`
	CostSource       string   `ch:"cost_source"`
	// UnpricedCallCount is how many calls CostUSD leaves out, since their price is not known: Unpriced.
	UnpricedCallCount uint64 `ch:"unpriced_call_count"`

	SpanCount     uint64 `ch:"span_count"`
	ErrorCount    uint64 `ch:"error_count"`
	LLMCallCount  uint64 `ch:"llm_call_count"`
	ToolCallCount uint64 `ch:"tool_call_count"`

	// Tools are the names of the tools that were called, sorted, at most MaxTools.
	Tools []string `ch:"tools"`
	Failure
}

// MaxTools bounds Run.Tools.
const MaxTools = 64

// Epoch stands for an absent time in a column that is not nullable.
var Epoch = time.Unix(0, 0).UTC()

// IsAbsent reports whether t stands for an absent time.
func IsAbsent(t time.Time) bool { return t.IsZero() || t.Equal(Epoch) }

// FormatSpanID writes a span id as the API does: 16 lower-case hexadecimal digits.
func FormatSpanID(id uint64) string {
	const width = 16
	s := strconv.FormatUint(id, 16)
	return "0000000000000000"[:width-len(s)] + s
}
