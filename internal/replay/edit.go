package replay

import (
	"encoding/json"
)

// Edit changes steps of a run.
type Edit struct {
	Target Target `json:"target"`
	Set    Set    `json:"set"`
}

// Target names the steps that an edit changes. In JSON it is {"span_id": …}, {"kind": …, "name": …} or "all".
type Target struct {
	// SpanID is 16 hexadecimal digits.
	SpanID string
	// Kind is model, tool, or the kind of a span. Name is that of the tool, of the agent whose model calls are meant, or
	// of the span. Either may be empty.
	Kind, Name string
	// All means every step that the edit can change.
	All bool
}

// Set is what an edit sets. Exactly one member is set.
type Set struct {
	// Of model calls. They hold for the target and, except Messages, Message and Response, for the calls that only the
	// replay makes in the same loop.

	// Model is the name of another model.
	Model *string `json:"model,omitempty"`
	// Params replaces members of Request.Params; null removes one.
	Params map[string]json.RawMessage `json:"params,omitempty"`
	// SystemPrompt replaces the system messages.
	SystemPrompt *string `json:"system_prompt,omitempty"`
	// Prompt replaces the messages that a version of a prompt makes.
	Prompt *Prompt `json:"prompt,omitempty"`
	// Messages replaces all messages of the request of one step.
	Messages []json.RawMessage `json:"messages,omitempty"`
	// Message changes one message of the request of one step.
	Message *MessageEdit `json:"message,omitempty"`
	// Response is the assistant's message that takes the place of the answer of one step. The model is not called.
	Response json.RawMessage `json:"response,omitempty"`
	// ToolSchema replaces the definition of the tool of the same name, or adds it: {"type": "function", "function": {…}}.
	ToolSchema json.RawMessage `json:"tool_schema,omitempty"`
	// Resample asks the model again at one step, with the recorded request.
	Resample bool `json:"resample,omitempty"`

	// Of tool calls.

	// ToolResult is the text that takes the place of the result. A JSON value that is no string is used as its text.
	ToolResult json.RawMessage `json:"tool_result,omitempty"`
	// ToolError lets the call fail, or not: see ToolError.
	ToolError *ToolError `json:"tool_error,omitempty"`

	// Of model calls and tool calls, decided by the recorded durations.

	TimeoutMS *int64 `json:"timeout_ms,omitempty"`
	Retries   *int64 `json:"retries,omitempty"`
	// LatencyMS is how long the call takes.
	LatencyMS *int64 `json:"latency_ms,omitempty"`

	// Of the run: Input is the text that takes the place of the first user message of each loop that begins with the same text
	// as the first one. The target is "all".
	Input *string `json:"input,omitempty"`
}

// Prompt is a version of a prompt, rendered by the caller.
type Prompt struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
	// Messages have the shape of chat completions. System messages replace those of the request. If there are others, they
	// replace all messages up to the first answer.
	Messages []json.RawMessage `json:"messages"`
	// Tools and Params are set too, unless they are empty.
	Tools  []json.RawMessage          `json:"tools,omitempty"`
	Params map[string]json.RawMessage `json:"params,omitempty"`
	// Model is set too, unless it is empty.
	Model string `json:"model,omitempty"`
}

// MessageEdit changes a message of a request.
type MessageEdit struct {
	// Op is replace, insert (before the index) or delete.
	Op string `json:"op"`
	// Index counts the messages of the request from 0. An insert may have the number of messages.
	Index int `json:"index"`
	// Message is not set for delete.
	Message json.RawMessage `json:"message,omitempty"`
}

// ToolError is how a tool call fails. With Remove, a recorded error is taken away: the result must be set by another edit.
type ToolError struct {
	Type    string `json:"type,omitempty"`
	Message string `json:"message,omitempty"`
	Remove  bool   `json:"remove,omitempty"`
}

// Checked are edits that fit a recording.
type Checked struct {
	Edits []Edit
	// Hash names the edits: equal edits of any run have the same.
	Hash string
	// Targets are the indexes of the steps that each edit changes.
	Targets [][]int
	// Fork is the index of the first step in start order that is changed, -1 for none.
	Fork int
	// Structural reports that all edits are decided by recorded durations.
	Structural bool

	byStep map[int][]int // the edits of a step, in order
}

// ForkSpanID is the id of the span of Fork, for Options.ForkSpanID of controls. It is empty for the null edit.
func (c *Checked) ForkSpanID(r *Recording) string {
	if c.Fork < 0 {
		return ""
	}
	return r.Steps[c.Fork].SpanID
}

// Check validates edits. Its error is a problem.Error of kind Invalid that names each wrong value below path, such as
// body.edits[0].target.span_id, with what to do. An empty list is the null edit.
func (r *Recording) Check(edits []Edit, path string) (*Checked, error) { return r.check(edits, path) }

// Hash returns a hash of a list of edits: SHA-256, in hexadecimal digits, of its canonical JSON (RFC 8785).
func Hash(edits []Edit) (string, error) { return hash(edits) }

// UnmarshalJSON reads "all" or an object.
func (t *Target) UnmarshalJSON(raw []byte) error { return t.unmarshal(raw) }

// MarshalJSON writes "all" or an object.
func (t Target) MarshalJSON() ([]byte, error) { return t.marshal() }
