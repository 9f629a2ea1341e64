package grader

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
	"github.com/looptrace/looptrace/controlplane/jsonselect"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// subject is a sample with what templates select from. It belongs to one goroutine.
type subject struct {
	*Sample
	item, produced *jsonselect.Document
	// listed is whether the sample has all tool calls, not only those of its message.
	listed bool
	// lacking is whether something was looked at that the sample does not have.
	lacking bool
}

func newSubject(sample *Sample) *subject {
	listed := sample.ToolCalls != nil
	if sample.ToolCalls == nil && !jsontext.IsNull(sample.Message) {
		whole := *sample
		whole.ToolCalls = callsOf(sample.Message)
		sample = &whole
	}
	return &subject{Sample: sample, listed: listed}
}

// callsOf returns the tool calls of a message as in chat completions.
func callsOf(message json.RawMessage) []ToolCall {
	var m struct {
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	calls := make([]ToolCall, len(m.ToolCalls))
	for i, call := range m.ToolCalls {
		calls[i] = ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments}
	}
	return calls
}

// errNothing says that there is nothing to grade.
var errNothing = errors.New("the sample has no output, message or tool calls")

// sampleMembers are what {{sample.…}} has. output_text, output_json, output_tools and choices are OpenAI's.
var sampleMembers = []string{"output_text", "output_json", "output_tools", "choices", "finish_reason"}

// find returns what a path selects: the value, or the array of values if there are several.
func (s *subject) find(p *path) (json.RawMessage, error) {
	if strings.HasPrefix(p.text, "sample.output_tools") {
		s.lacking = s.lacking || !s.listed
	}
	document, err := s.document(p)
	if err != nil {
		return nil, err
	}
	values, err := p.path.Select(document)
	if err != nil {
		return nil, errors.New("{{" + p.text + "}}: " + err.Error())
	}
	if p.ofItem {
		values = slices.DeleteFunc(values, jsontext.IsNull)
	}
	switch len(values) {
	case 0:
		return nil, &missingError{p}
	case 1:
		return bytes.TrimSpace(values[0]), nil
	}
	return json.RawMessage("[" + string(bytes.Join(rawBytes(values), []byte(","))) + "]"), nil
}

func rawBytes(values []json.RawMessage) [][]byte {
	raw := make([][]byte, len(values))
	for i := range values {
		raw[i] = values[i]
	}
	return raw
}

func (s *subject) document(p *path) (*jsonselect.Document, error) {
	var err error
	if p.ofItem {
		if s.item == nil {
			s.item, err = s.itemDocument()
		}
		return s.item, err
	}
	if s.produced == nil {
		s.produced, err = s.sampleDocument()
	}
	return s.produced, err
}

// itemDocument has the input, the reference output and the metadata, and their members as its own. Of members with the same name, those
// of the input come first, then those of the reference output.
func (s *subject) itemDocument() (*jsonselect.Document, error) {
	metadata, err := json.Marshal(s.Metadata)
	if err != nil {
		return nil, err
	}
	parts := []jsonselect.Member{ // the last counts
		{Name: "metadata", Value: metadata}, {Name: "reference_output", Value: s.ReferenceOutput}, {Name: "input", Value: s.Input},
	}
	parts = slices.DeleteFunc(parts, func(m jsonselect.Member) bool { return jsontext.IsNull(m.Value) })
	var members []jsonselect.Member
	for _, part := range parts {
		var own map[string]json.RawMessage
		if json.Unmarshal(part.Value, &own) != nil { // no object
			continue
		}
		for _, name := range jsonvalue.SortedKeys(own) {
			members = append(members, jsonselect.Member{Name: name, Value: own[name]})
		}
	}
	return jsonselect.NewDocument(append(members, parts...)), nil
}

func (s *subject) sampleDocument() (*jsonselect.Document, error) {
	if jsontext.IsNull(s.Output) && jsontext.IsNull(s.Message) && s.ToolCalls == nil {
		return nil, errNothing
	}
	output, err := jsontext.Encode(s.outputText())
	if err != nil {
		return nil, err
	}
	members := []jsonselect.Member{{Name: "output_text", Value: output}}
	if value := s.outputJSON(); value != nil {
		members = append(members, jsonselect.Member{Name: "output_json", Value: value})
	}
	if s.callsKnown() {
		tools, err := jsontext.Encode(chatCalls(s.ToolCalls))
		if err != nil {
			return nil, err
		}
		members = append(members, jsonselect.Member{Name: "output_tools", Value: tools})
	}
	if s.FinishReason != "" {
		reason, err := jsontext.Encode(s.FinishReason)
		if err != nil {
			return nil, err
		}
		members = append(members, jsonselect.Member{Name: "finish_reason", Value: reason})
	}
	if !jsontext.IsNull(s.Message) {
		choices, err := jsontext.Encode([]map[string]any{{"index": 0, "message": s.Message, "finish_reason": s.FinishReason}})
		if err != nil {
			return nil, err
		}
		members = append(members, jsonselect.Member{Name: "choices", Value: choices})
	}
	return jsonselect.NewDocument(members), nil
}

// outputText is the output as a text. It is empty for a model that answered without one, such as with tool calls only.
func (s *subject) outputText() string {
	if jsontext.IsNull(s.Output) {
		return ""
	}
	return jsontext.Text(bytes.TrimSpace(s.Output))
}

// outputJSON is the output as JSON, nil for a text that is not JSON.
func (s *subject) outputJSON() json.RawMessage {
	if jsontext.IsNull(s.Output) {
		return nil
	}
	output := bytes.TrimSpace(s.Output)
	if output[0] != '"' {
		return output
	}
	if text := []byte(jsontext.Text(output)); json.Valid(text) {
		return bytes.TrimSpace(text)
	}
	return nil
}

// calls returns the tool calls, and whether they are known.
func (s *subject) calls() ([]ToolCall, bool) {
	s.lacking = s.lacking || !s.listed
	return s.ToolCalls, s.callsKnown()
}

func (s *subject) callsKnown() bool { return s.ToolCalls != nil || !jsontext.IsNull(s.Message) }

// number notes whether a number is lacking, and returns it.
func (s *subject) number(n *float64) *float64 {
	s.lacking = s.lacking || n == nil
	return n
}

// chatCall is a tool call as in OpenAI's chat completions.
type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name string `json:"name"`
	// Arguments is JSON as a text.
	Arguments string `json:"arguments"`
}

func chatCalls(calls []ToolCall) []chatCall {
	chat := make([]chatCall, len(calls))
	for i := range calls {
		chat[i] = chatCall{calls[i].ID, "function", chatFunction{calls[i].Name, jsontext.Text(bytes.TrimSpace(calls[i].Arguments))}}
	}
	return chat
}
