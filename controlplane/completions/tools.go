package completions

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ToolCall is a call of a tool.
type ToolCall struct {
	ID, Name, Arguments string
}

// ToolAnswer says how calls of a tool are answered.
type ToolAnswer struct {
	// Content answers every call. If it is nil, Recorded does.
	Content  *string
	Recorded []RecordedResult
}

// RecordedResult is the result that a tool once had.
type RecordedResult struct {
	// Arguments are the arguments of the call as JSON. Nil answers the next call, whatever its arguments.
	Arguments *string
	Content   string
}

// toolAnswers are the answers of a tool that are left.
type toolAnswers struct {
	answer ToolAnswer
	used   map[int]bool
}

// resultsOf returns the results of the calls, or false if one has no answer.
func (c *Completing) resultsOf(calls []ToolCall) ([]string, bool) {
	results := make([]string, len(calls))
	for i, call := range calls {
		answers := c.answers[call.Name]
		if answers == nil {
			return nil, false
		}
		result, ok := answers.next(call.Arguments)
		if !ok {
			return nil, false
		}
		results[i] = result
	}
	return results, true
}

// next returns the answer to a call: a recorded one with equal arguments, else the next one for any.
func (t *toolAnswers) next(arguments string) (string, bool) {
	if t.answer.Content != nil {
		return *t.answer.Content, true
	}
	if t.used == nil {
		t.used = map[int]bool{}
	}
	for _, equal := range []bool{true, false} {
		for i, recorded := range t.answer.Recorded {
			fits := recorded.Arguments == nil
			if equal {
				fits = recorded.Arguments != nil && SameJSON(*recorded.Arguments, arguments)
			}
			if fits && !t.used[i] {
				t.used[i] = true
				return recorded.Content, true
			}
		}
	}
	return "", false
}

// SameJSON reports whether two texts have the same JSON value, or are the same text.
func SameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	left, err := json.Marshal(x)
	if err != nil {
		return false
	}
	right, err := json.Marshal(y)
	return err == nil && bytes.Equal(left, right)
}

// answer sends the result of a tool call to the next round.
func (c *Completing) answer(call ToolCall, content string) error {
	c.addToolSpan(call, content)
	if c.events != nil {
		if err := c.events.ToolResult(call, content); err != nil {
			return err
		}
	}
	message, err := json.Marshal(struct {
		Role       string `json:"role"`
		ToolCallID string `json:"tool_call_id"`
		Content    string `json:"content"`
	}{"tool", call.ID, content})
	if err != nil {
		return fmt.Errorf("encode the result of a tool: %w", err)
	}
	c.out.Added = append(c.out.Added, message)
	c.model.Messages = append(c.model.Messages[:len(c.model.Messages):len(c.model.Messages)], message)
	return nil
}

// ToolCallsOf returns the tool calls of a message.
func ToolCallsOf(message json.RawMessage) []ToolCall {
	var m struct {
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	calls := make([]ToolCall, len(m.ToolCalls))
	for i, call := range m.ToolCalls {
		calls[i] = ToolCall{call.ID, call.Function.Name, call.Function.Arguments}
	}
	return calls
}
