package runmodel

import (
	"iter"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Span is one received version of a span: a row of the table spans. The exporter writes it and the control plane
// reads it. A zero value means that the version does not carry the field, so Fold keeps what an earlier version said.
type Span struct {
	ProjectID uuid.UUID `ch:"project_id"`
	RunID     uuid.UUID `ch:"run_id"`
	SpanID    uint64    `ch:"span_id"`
	// Version is when this version was received, in Unix nanoseconds.
	Version      uint64    `ch:"version"`
	ParentSpanID uint64    `ch:"parent_span_id"`
	StartTime    time.Time `ch:"start_time"`
	// EndTime is the Unix epoch if the span has not ended.
	EndTime time.Time `ch:"end_time"`
	// IsRun marks the span that is a native run itself.
	IsRun bool `ch:"is_run"`
	// FromLog marks a version that was made of log records. It fills what the span itself does not say.
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
	// ResponseHash is a hash of the provider's id of the response, 0 for none: see CountsUsage.
	ResponseHash uint32 `ch:"response_hash"`
	ToolName     string `ch:"tool_name"`
	ToolCallID   string `ch:"tool_call_id"`
	AgentName    string `ch:"agent_name"`

	SessionID      string            `ch:"session_id"`
	ConversationID string            `ch:"conversation_id"`
	UserID         string            `ch:"user_id"`
	Environment    string            `ch:"environment"`
	Release        string            `ch:"release"`
	PromptID       string            `ch:"prompt_id"`
	PromptName     string            `ch:"prompt_name"`
	PromptVersion  string            `ch:"prompt_version"`
	Source         string            `ch:"source"`
	Tags           []string          `ch:"tags"`
	FinishReasons  []string          `ch:"finish_reasons"`
	Metadata       map[string]string `ch:"metadata"`

	// Tokens are nil if unknown. Input includes cached tokens, output includes reasoning.
	InputTokens      *int64 `ch:"input_tokens"`
	OutputTokens     *int64 `ch:"output_tokens"`
	CacheReadTokens  *int64 `ch:"cache_read_tokens"`
	CacheWriteTokens *int64 `ch:"cache_write_tokens"`
	ReasoningTokens  *int64 `ch:"reasoning_tokens"`
	// OtherTokens are those of a total that are neither input nor output, as far as is known. Such a call has no computed cost.
	OtherTokens *int64 `ch:"other_tokens"`

	CostUSD *float64 `ch:"cost_usd"`
	// CostSource is CostSent or CostComputed, or empty without a cost.
	CostSource string `ch:"cost_source"`
	// PriceVersion names the prices of a computed cost: see KeyPriceVersion.
	PriceVersion string `ch:"price_version"`
	// Counting overrides the rules of CountsUsage for the span: CountNothing or CountUsage.
	Counting string `ch:"counting"`
	// TimeToFirstToken is in seconds.
	TimeToFirstToken *float64 `ch:"time_to_first_token"`

	InputPreview  string `ch:"input_preview"`
	OutputPreview string `ch:"output_preview"`
	// OutputCalls is true if OutputPreview names tool calls: the call is no answer of its run.
	OutputCalls   bool   `ch:"output_calls"`
	Inputs        string `ch:"inputs"`
	Outputs       string `ch:"outputs"`
	ToolArguments string `ch:"tool_arguments"`
	ToolResult    string `ch:"tool_result"`
	// CallHash and ResultHash stand for ToolArguments and ToolResult, 0 for none. Said is what the result or the answer says: see Summarize.
	CallHash   uint64 `ch:"call_hash"`
	ResultHash uint64 `ch:"result_hash"`
	Said       string `ch:"said"`
	// SideEffects is what the call of a tool says of its effects: see RecordedEffects.
	SideEffects string `ch:"side_effects"`

	// Ids of contents of the same project, run and hour.
	InputMessageIDs   []uint64 `ch:"input_message_ids"`
	OutputMessageIDs  []uint64 `ch:"output_message_ids"`
	InstructionsID    uint64   `ch:"instructions_id"`
	ToolDefinitionsID uint64   `ch:"tool_definitions_id"`
	ResourceID        uint64   `ch:"resource_id"`
	// InputDigest stands for InputMessageIDs where only the first of them is read: see MessageDigestSQL. It is no column.
	InputDigest []uint64 `ch:"input_digest"`

	// Ids of texts, 0 for none: see SystemTextID. The second is that of the first input message, if it is by the system.
	InstructionsTextID  uint64 `ch:"instructions_text_id"`
	SystemMessageTextID uint64 `ch:"system_message_text_id"`
	// AgentParts are what a call or an agent says of what makes the agent: see PartInstructions. Model and prompt have fields above.
	AgentParts map[string]string `ch:"agent_parts"`

	// Attributes holds the string attributes without a field above, AttributesJSON all others as JSON.
	Attributes     map[string]string `ch:"attributes"`
	AttributesJSON map[string]string `ch:"attributes_json"`
	// Records are the ids of the spans of log records that Fold merged with the span, whose versions it needs as well. It is no column.
	Records []uint64 `ch:"-"`
	// Events and Links are JSON arrays of Event and Link, or empty.
	Events string `ch:"events"`
	Links  string `ch:"links"`
}

// TotalTokens returns the input, output and other tokens of the span, nil if none is known.
func (s *Span) TotalTokens() (total *int64) {
	for _, part := range [...]*int64{s.InputTokens, s.OutputTokens, s.OtherTokens} {
		add(&total, part, MaxTokens)
	}
	return total
}

// PreviewLength limits the inputs and outputs in a list, in bytes.
const PreviewLength = 120

// Values of Span.Counting.
const (
	// CountNothing marks a span that repeats another one: it is no call, and its usage does not count.
	CountNothing = "nothing"
	// CountUsage marks a span that continues another span's call: its usage counts, but it is no call.
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

// Content is a part of a run that several of its spans have: a row of the table contents. A row may also refer to
// shared contents.
type Content struct {
	ProjectID uuid.UUID `ch:"project_id"`
	Hour      time.Time `ch:"hour"`
	RunID     uuid.UUID `ch:"run_id"`
	// ContentID is the content's id. In a row of references it is the exclusive or of their ids, so that only rows
	// with the same references replace each other.
	ContentID uint64 `ch:"content_id"`
	Kind      string `ch:"kind"`
	// SharedTail is the tail of the SharedContent that a content from Each refers to. Rows do not have it.
	SharedTail uint64   `ch:"-"`
	Frame      string   `ch:"frame"`
	Texts      []string `ch:"texts"`
	// SharedIDs and SharedTails refer to contents of the kind: the SharedContent of the same project and day with
	// that id and tail.
	SharedIDs   []uint64 `ch:"shared_ids"`
	SharedTails []uint64 `ch:"shared_tails"`
}

// Each iterates over the content of a row, or over those that it refers to. The latter have a SharedTail, and their
// frame and texts are in the SharedContent.
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

// SharedContent is a content that several runs of a project and day have: a row of the table shared_contents.
type SharedContent struct {
	ProjectID  uuid.UUID `ch:"project_id"`
	Day        time.Time `ch:"day"`
	ContentID  uint64    `ch:"content_id"`
	SharedTail uint64    `ch:"shared_tail"`
	Frame      string    `ch:"frame"`
	Texts      []string  `ch:"texts"`
}

// Run is a run with its totals: a row of the table runs.
type Run struct {
	ProjectID uuid.UUID `ch:"project_id"`
	RunID     uuid.UUID `ch:"run_id"`
	// Version is the number of span versions that the row was derived from. If the run was deleted before and began
	// anew, the time of the deletion in Unix nanoseconds is added.
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

	SessionID      string `ch:"session_id"`
	ConversationID string `ch:"conversation_id"`
	UserID         string `ch:"user_id"`
	AgentName      string `ch:"agent_name"`
	Environment    string `ch:"environment"`
	Release        string `ch:"release"`
	// AgentRelease is a short hash of AgentParts, which make the run's agent; empty if they are not known: see AgentReleaseMissing. Release is
	// what the client sent.
	AgentRelease  string            `ch:"agent_release"`
	AgentParts    map[string]string `ch:"agent_parts"`
	PromptID      string            `ch:"prompt_id"`
	PromptName    string            `ch:"prompt_name"`
	PromptVersion string            `ch:"prompt_version"`
	Tags          []string          `ch:"tags"`
	Metadata      map[string]string `ch:"metadata"`
	Models        []string          `ch:"models"`

	// PromptIDs, PromptNames and PromptVersions are the prompts that any of its spans names, in the order of their
	// first span: the elements of the three lists belong together. The three strings above are those of the root.
	PromptIDs      []string `ch:"prompt_ids"`
	PromptNames    []string `ch:"prompt_names"`
	PromptVersions []string `ch:"prompt_versions"`
	// SystemTextIDs are the ids of the system texts of the model calls that name no prompt: see SystemTextID.
	SystemTextIDs []uint64 `ch:"system_text_ids"`

	InputTokens      *int64   `ch:"input_tokens"`
	OutputTokens     *int64   `ch:"output_tokens"`
	CacheReadTokens  *int64   `ch:"cache_read_tokens"`
	CacheWriteTokens *int64   `ch:"cache_write_tokens"`
	ReasoningTokens  *int64   `ch:"reasoning_tokens"`
	OtherTokens      *int64   `ch:"other_tokens"`
	CostUSD          *float64 `ch:"cost_usd"`
	CostSource       string   `ch:"cost_source"`
	// UnpricedCallCount is how many calls CostUSD leaves out because their price is unknown: see Unpriced.
	UnpricedCallCount uint64 `ch:"unpriced_call_count"`

	SpanCount     uint64 `ch:"span_count"`
	ErrorCount    uint64 `ch:"error_count"`
	LLMCallCount  uint64 `ch:"llm_call_count"`
	ToolCallCount uint64 `ch:"tool_call_count"`

	// Tools are the sorted names of the tools that were called, at most MaxTools.
	Tools []string `ch:"tools"`
	// GenAI reports whether any version of any span is GenAI: see Span.IsGenAI. It never changes back to false.
	GenAI bool `ch:"genai"`
	// Source is one of Sources: that of the root, else that of the first span that states one, else SourceUser.
	Source string `ch:"source"`
	// Replayability is one of Replayabilities, or empty if it is unknown: the row was written before it existed, or covers part of the run.
	Replayability string `ch:"replayability"`
	// SampleShare is the least share that a span states (see SampleShare), nil if the run stands for itself.
	SampleShare *float64 `ch:"sample_share"`
	// FailedScores are the newest scores of the run that fail it, by name. They are not stored with it.
	FailedScores []FailedScore `ch:"-" json:"-"`
	Failure
	RunSignals
}

// Outcomes of a run.
const (
	OutcomeRunning   = "running"
	OutcomeSucceeded = "succeeded"
	// OutcomeRecovered is a run of which a step failed, and that recovered.
	OutcomeRecovered = "recovered"
	OutcomeFailed    = "failed"
)

// Outcome returns how the run went. A run failed if and only if it has a fingerprint.
func (r *Run) Outcome() string {
	switch {
	case r.Status == StatusRunning:
		return OutcomeRunning
	case r.Fingerprint != "":
		return OutcomeFailed
	case r.ErrorCount > 0:
		return OutcomeRecovered
	}
	return OutcomeSucceeded
}

// MaxTools limits Run.Tools.
const MaxTools = 64

// Epoch stands for an absent time in a column that is not nullable.
var Epoch = time.Unix(0, 0).UTC()

// IsAbsent reports whether t stands for an absent time.
func IsAbsent(t time.Time) bool { return t.IsZero() || t.Equal(Epoch) }

// FormatSpanID formats a span id for the API: 16 lower-case hexadecimal digits.
func FormatSpanID(id uint64) string {
	const width = 16
	s := strconv.FormatUint(id, 16)
	return "0000000000000000"[:width-len(s)] + s
}
