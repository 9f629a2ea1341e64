package llm

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"time"
)

// Kind is the API that a provider speaks.
type Kind string

// The kinds.
const (
	// OpenAI is the API of chat completions. Its base URL ends with the version, as https://api.openai.com/v1 does.
	OpenAI Kind = "openai"
	// Anthropic is the messages API. Its base URL may end with /v1 or not.
	Anthropic Kind = "anthropic"
)

// DefaultIdleTimeout limits the wait for the first byte of a response and between bytes.
const DefaultIdleTimeout = 120 * time.Second

// DefaultTimeout and DefaultStreamTimeout limit a whole call, without and with a stream: a server that sends a byte now and then is never idle.
const (
	DefaultTimeout       = 10 * time.Minute
	DefaultStreamTimeout = time.Hour
)

// DefaultMaxTokens is the max_tokens of requests to Anthropic that have no MaxOutputTokens: its API requires one.
const DefaultMaxTokens = 4096

// Connection is the address and the credential of a provider.
type Connection struct {
	Kind Kind
	// BaseURL is the address of the API without user, query and fragment. Empty means the provider's own.
	BaseURL string
	// APIKey may be empty: some servers ask for none.
	APIKey string
	// Headers are sent with each request and override others. Their values are kept secret like the key.
	Headers map[string]string
	// HTTP sends the requests. Only its transport is used: redirects are never followed.
	HTTP *http.Client
	// IdleTimeout limits the wait for the first byte of a response and between bytes. 0 means [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// Timeout limits a whole call. 0 means [DefaultTimeout], or [DefaultStreamTimeout] for a stream.
	Timeout time.Duration
}

// String names the connection without its secrets.
func (c Connection) String() string { return string(c.Kind) + " at " + c.BaseURL }

// GoString keeps the secrets out of %#v.
func (c Connection) GoString() string { return c.String() }

// LogValue keeps the secrets out of logs.
func (c Connection) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Strategy is a way to ask for an answer that follows a schema.
type Strategy string

// The strategies, from the strictest to the most widely supported.
const (
	// Native uses the API's own parameter: response_format, or output_config.format. It is the default.
	Native Strategy = "native"
	// Tool adds a tool with the schema and forces the model to call it. Its arguments become the answer.
	Tool Strategy = "tool"
	// JSONMode asks for any JSON object by the API and describes the schema in the system message.
	JSONMode Strategy = "json_mode"
	// Text describes the schema in the system message and asks for a last line that begins with [AnswerMark].
	Text Strategy = "text"
)

// AnswerMark begins the last line of an answer by the strategy [Text]. JSON follows it.
const AnswerMark = "FINAL ANSWER:"

// TokenParameter is the name that an OpenAI-compatible server gives to the limit of output tokens.
type TokenParameter string

// The names.
const (
	MaxCompletionTokens TokenParameter = "max_completion_tokens" // the default
	MaxTokens           TokenParameter = "max_tokens"
)

// Request is a completion to make. nil and empty members are not sent.
type Request struct {
	Model string
	// Messages have the shape of chat completions, with the members reasoning_content and anthropic_content beside.
	Messages []json.RawMessage
	// Tools have the shape of chat completions: {"type": "function", "function": {…}}. Tools of another type are sent as
	// they are: they are the provider's own.
	Tools []json.RawMessage
	// ToolChoice is "auto", "none", "required" or {"type": "function", "function": {"name": …}}.
	ToolChoice json.RawMessage
	// ResponseFormat is {"type": "json_schema", "json_schema": {…}}, {"type": "json_object"} or {"type": "text"}.
	ResponseFormat json.RawMessage

	Temperature       *float64
	TopP              *float64
	MaxOutputTokens   *int64
	Stop              []string
	Seed              *int64
	ReasoningEffort   *string
	ParallelToolCalls *bool
	// Extra is an object whose members are put into the request as they are. A member that another part of the
	// request also sets is an error.
	Extra json.RawMessage

	// Strategy is how to ask for a json_schema answer. Empty means [Native].
	Strategy Strategy
	// TokenParameter is for the kind openai. Empty means [MaxCompletionTokens].
	TokenParameter TokenParameter
	// OmitStreamUsage leaves out stream_options, for a server that refused it (Error.Parameter "stream_options").
	OmitStreamUsage bool
}

// Delta is a fragment of a streamed answer. One of its members is set.
type Delta struct {
	Text, Reasoning string
	ToolCall        *ToolCallDelta
}

// ToolCallDelta is a fragment of a tool call.
type ToolCallDelta struct {
	// Index counts the tool calls of the answer from 0.
	Index int
	// ID and Name come with the first fragment.
	ID, Name string
	// Arguments is the next piece of the JSON text.
	Arguments string
}

// Result is an answer.
type Result struct {
	// Message is the assistant message in the shape of chat completions.
	Message json.RawMessage
	// Structured is the JSON of the answer if ResponseFormat asked for some and the answer has some.
	Structured json.RawMessage
	// FinishReason is stop, length, tool_calls, content_filter, refusal, or the provider's own word for another. Empty
	// if the provider told none.
	FinishReason string
	// Usage is nil if the provider told none.
	Usage *Usage

	ResponseID, Model, Fingerprint, RequestID, ServiceTier string

	// RawRequest and RawResponse are the bodies as sent and received. A stream's is the text of its events.
	RawRequest, RawResponse []byte
	// TimeToFirstToken runs from the request to the first delta. 0 for an answer that is not streamed or has none.
	TimeToFirstToken time.Duration
	// Duration runs from the request to the end of the response.
	Duration time.Duration
	Status   int
	// RateLimit has the response's headers about rate limits, in lower case.
	RateLimit map[string]string
}

// Usage is the tokens of a call; nil means unknown. Input includes CacheRead and CacheWrite, CacheWrite includes
// CacheWrite1h, and Output includes Reasoning.
type Usage struct {
	Input, Output                       *int64
	CacheRead, CacheWrite, CacheWrite1h *int64
	Reasoning                           *int64
}

// Model is a model that a provider lists.
type Model struct {
	ID string
	// Name is the display name. Empty if the provider tells none.
	Name string
	// Created is zero if the provider does not tell it.
	Created time.Time
	// MaxInputTokens and MaxOutputTokens are nil if the provider does not tell them.
	MaxInputTokens, MaxOutputTokens *int64
}

// HTTPRequest is a request for display.
type HTTPRequest struct {
	Method, URL string
	// Headers has placeholders such as $API_KEY for the key and for the values of the connection's own headers.
	Headers map[string]string
	Body    json.RawMessage
}
