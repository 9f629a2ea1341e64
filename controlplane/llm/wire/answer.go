package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/llm"
)

// maxCalls is more tool calls, or blocks of content, than a model makes in an answer.
const maxCalls = 4096

var errCalls = &llm.GarbageError{What: fmt.Sprintf("the answer has more than %d tool calls or blocks", maxCalls)}

// Answer collects the parts of an answer as they arrive.
type Answer struct {
	Structure *Structure
	// Deliver passes on a delta.
	Deliver func(llm.Delta) error

	text, reasoning, refusal strings.Builder
	calls                    []*toolCall
	// others are further members of the message.
	others map[string]json.RawMessage

	// Failed is set if the answer ends as a failure.
	Failed *ReportedError

	finish                              string
	usage                               *llm.Usage
	id, model, fingerprint, serviceTier string
}

// toolCall is a tool call that is being received.
type toolCall struct {
	id, name  string
	arguments strings.Builder
	// others are further members, which some providers want back.
	others map[string]json.RawMessage
	index  int // among the tool calls that the caller sees
	final  bool
}

func (a *Answer) addText(s string) error {
	if s == "" {
		return nil
	}
	a.text.WriteString(s)
	return a.Deliver(llm.Delta{Text: s})
}

func (a *Answer) addReasoning(s string) error {
	if s == "" {
		return nil
	}
	a.reasoning.WriteString(s)
	return a.Deliver(llm.Delta{Reasoning: s})
}

// addRefusal is shown to the caller as a text: it is what the model says.
func (a *Answer) addRefusal(s string) error {
	if s == "" {
		return nil
	}
	a.refusal.WriteString(s)
	return a.Deliver(llm.Delta{Text: s})
}

// newCall begins a tool call. The answer's own tool is not one of the caller's.
func (a *Answer) newCall(id, name string) *toolCall {
	c := &toolCall{id: id, name: name, final: a.Structure.Tool != "" && name == a.Structure.Tool}
	for _, other := range a.calls {
		if !other.final {
			c.index++
		}
	}
	a.calls = append(a.calls, c)
	return c
}

// addArguments adds a fragment to a call. The first fragment of a call, which may be empty, tells its id and name.
func (a *Answer) addArguments(c *toolCall, first bool, fragment string) error {
	c.arguments.WriteString(fragment)
	if c.final {
		if fragment == "" {
			return nil
		}
		return a.Deliver(llm.Delta{Text: fragment})
	}
	d := llm.ToolCallDelta{Index: c.index, Arguments: fragment}
	if first {
		d.ID, d.Name = c.id, c.name
	} else if fragment == "" {
		return nil
	}
	return a.Deliver(llm.Delta{ToolCall: &d})
}

// Check refuses an answer that the provider says has failed, and one whose tool calls cannot be sent back. Arguments that
// are cut at the limit of tokens are not an error: the finish reason tells.
func (a *Answer) Check() error {
	if a.Failed != nil {
		return a.Failed
	}
	for _, c := range a.calls {
		if c.name == "" {
			return &llm.GarbageError{What: fmt.Sprintf("a tool call has no name (id %.64q)", c.id)}
		}
	}
	return nil
}

// Result returns the message and what is known about it.
func (a *Answer) Result() *llm.Result {
	said := []string{a.text.String()}
	var calls []json.RawMessage
	for _, c := range a.calls {
		if c.final {
			said = append(said, c.arguments.String())
			continue
		}
		calls = append(calls, c.encode())
	}
	content, answered := strings.Join(said, ""), len(said) > 1
	var message llm.Object
	message.Set("role", "assistant")
	if content == "" && (len(calls) > 0 || a.refusal.Len() > 0) {
		message.Set("content", nil)
	} else {
		message.Set("content", content)
	}
	if a.reasoning.Len() > 0 {
		message.Set("reasoning_content", a.reasoning.String())
	}
	if a.refusal.Len() > 0 {
		message.Set("refusal", a.refusal.String())
	}
	if len(calls) > 0 {
		message.Set("tool_calls", calls)
	}
	for _, name := range slices.Sorted(maps.Keys(a.others)) {
		if _, found := message.Values[name]; !found {
			message.Set(name, a.others[name])
		}
	}
	r := &llm.Result{
		Message: message.Encode(), FinishReason: a.finishReason(answered, len(calls)), Usage: a.usage,
		ResponseID: a.id, Model: a.model, Fingerprint: a.fingerprint, ServiceTier: a.serviceTier,
	}
	if a.Structure != nil {
		if answered {
			content = said[len(said)-1]
		}
		r.Structured = a.Structure.extract(content)
	}
	return r
}

// finishReason corrects what servers say of tool calls.
func (a *Answer) finishReason(answered bool, calls int) string {
	switch {
	case a.refusal.Len() > 0 && a.finish == "stop":
		return "refusal"
	case a.finish == "tool_calls" && calls == 0 && answered:
		return "stop"
	case a.finish == "stop" && calls > 0:
		return "tool_calls"
	}
	return a.finish
}

func (c *toolCall) encode() json.RawMessage {
	var call llm.Object
	call.Set("id", c.id)
	call.Set("type", "function")
	call.Set("function", map[string]string{"name": c.name, "arguments": c.arguments.String()})
	for _, name := range slices.Sorted(maps.Keys(c.others)) {
		call.Set(name, c.others[name])
	}
	return call.Encode()
}
