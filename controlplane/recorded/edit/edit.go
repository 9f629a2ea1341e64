package edit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/jsontext"
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
	// All means every model call. An edit of tool calls names their kind.
	All bool
}

// Set is what an edit sets. Exactly one member is set.
type Set struct {
	// Of model calls. They hold for the target and, except Messages and Response, for the calls that only the
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
	// Response is the assistant's message that takes the place of the answer of one step. The model is not called.
	Response json.RawMessage `json:"response,omitempty"`
	// ToolSchema replaces the definition of the tool of the same name, or adds it: {"type": "function", "function": {…}}.
	ToolSchema json.RawMessage `json:"tool_schema,omitempty"`

	// Of tool calls.

	// ToolResult is the text that takes the place of the result. A JSON value that is no string is used as its text.
	ToolResult json.RawMessage `json:"tool_result,omitempty"`
	// ToolError lets the call fail.
	ToolError *ToolError `json:"tool_error,omitempty"`

	// Of model calls and tool calls, decided by the recorded durations.

	TimeoutMS *int64 `json:"timeout_ms,omitempty"`
	Retries   *int64 `json:"retries,omitempty"`

	// Of the run: Input is the text that takes the place of the first user message of each loop that begins with the same text
	// as the first one. The target is "all".
	Input *string `json:"input,omitempty"`
}

// Stored are edits that are written as they were stored: those of earlier versions may set what no edit can set any more.
type Stored struct {
	List   []Edit
	stored json.RawMessage
}

// MarshalJSON writes a list.
func (e Stored) MarshalJSON() ([]byte, error) {
	if e.stored != nil {
		return e.stored, nil
	}
	if e.List == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(e.List) //nolint:wrapcheck // edits always encode
}

// UnmarshalJSON reads a list.
func (e *Stored) UnmarshalJSON(text []byte) error {
	e.stored = slices.Clone(text)
	return json.Unmarshal(text, &e.List) //nolint:wrapcheck // the caller says what it reads
}

// Removed reports whether an edit sets only what an earlier version knew.
func (e Stored) Removed() bool {
	return slices.ContainsFunc(e.List, func(e Edit) bool { return e.Set.IsEmpty() })
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

// ToolError is how a tool call fails.
type ToolError struct {
	Type    string `json:"type,omitempty"`
	Message string `json:"message,omitempty"`
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

	ByStep map[int][]int // the edits of a step, in order
}

// ForkSpanID is the id of the span of Fork, for Options.ForkSpanID of controls. It is empty for the null edit.
func (c *Checked) ForkSpanID(r *recorded.Recording) string {
	if c.Fork < 0 {
		return ""
	}
	return r.Steps[c.Fork].SpanID
}

// UnmarshalJSON reads "all" or an object.
func (t *Target) UnmarshalJSON(raw []byte) error {
	if string(raw) == `"all"` {
		*t = Target{All: true}
		return nil
	}
	var members struct {
		SpanID string `json:"span_id"`
		Kind   string `json:"kind"`
		Name   string `json:"name"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&members); err != nil {
		return fmt.Errorf("a target is \"all\", or an object with span_id, or with kind and name: %w", err)
	}
	*t = Target{SpanID: members.SpanID, Kind: members.Kind, Name: members.Name}
	return nil
}

// MarshalJSON writes "all" or an object.
func (t Target) MarshalJSON() ([]byte, error) {
	if t.All {
		return []byte(`"all"`), nil
	}
	members := map[string]string{}
	for name, value := range map[string]string{"span_id": t.SpanID, "kind": t.Kind, "name": t.Name} {
		if value != "" {
			members[name] = value
		}
	}
	return jsontext.Encode(members)
}

// Hash returns a hash of a list of edits: SHA-256, in hexadecimal digits, of its canonical JSON (RFC 8785).
func Hash(edits []Edit) (string, error) {
	if edits == nil {
		edits = []Edit{}
	}
	raw, err := jsontext.Encode(edits)
	if err != nil {
		return "", fmt.Errorf("encode edits: %w", err)
	}
	text, ok := recorded.Canonical(string(raw))
	if !ok {
		return "", errEdits
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]), nil
}

var errEdits = errors.New("the edits are not JSON")

// IsEmpty reports whether an edit sets nothing, as one that sets what an earlier version knew.
func (s *Set) IsEmpty() bool {
	name, _ := s.field()
	return name == "" || s.ToolError != nil && *s.ToolError == ToolError{}
}

// field names what an edit sets, "" for nothing. more reports that it sets several things.
func (s *Set) field() (name string, more bool) {
	set := []struct {
		name string
		is   bool
	}{
		{"model", s.Model != nil},
		{"params", len(s.Params) > 0},
		{"system_prompt", s.SystemPrompt != nil},
		{"prompt", s.Prompt != nil},
		{"messages", s.Messages != nil},
		{"response", len(s.Response) > 0},
		{"tool_schema", len(s.ToolSchema) > 0},
		{"tool_result", len(s.ToolResult) > 0},
		{"tool_error", s.ToolError != nil},
		{"timeout_ms", s.TimeoutMS != nil},
		{"retries", s.Retries != nil},
		{"input", s.Input != nil},
	}
	for _, one := range set {
		if one.is && name != "" {
			return name, true
		}
		if one.is {
			name = one.name
		}
	}
	return name, false
}

// Structural reports whether recorded durations decide the edit.
func (s *Set) Structural() bool { return s.TimeoutMS != nil || s.Retries != nil }

// kinds are the kinds of steps that the edit can change.
func (s *Set) kinds() []recorded.Kind {
	switch {
	case s.Structural():
		return []recorded.Kind{recorded.KindModel, recorded.KindTool}
	case len(s.ToolResult) > 0 || s.ToolError != nil:
		return []recorded.Kind{recorded.KindTool}
	}
	return []recorded.Kind{recorded.KindModel}
}

// kinds are the kinds of steps that the edit can change with its target.
func (e *Edit) kinds() []recorded.Kind {
	if e.Target.All {
		return []recorded.Kind{recorded.KindModel}
	}
	return e.Set.kinds()
}

// single reports whether the edit changes one step only.
func (s *Set) single() bool {
	return s.Messages != nil || len(s.Response) > 0 || len(s.ToolResult) > 0
}
