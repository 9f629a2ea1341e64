package playground

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/completions"
)

// Recorded is a recorded call of a model.
type Recorded struct {
	// Messages, Output and Tools have the shape of chat completions, as far as the recording can be converted.
	Messages []json.RawMessage
	Output   []json.RawMessage
	Tools    []json.RawMessage
	Model    string
	// Attributes are those of the GenAI conventions and the recorded ones, as text or JSON.
	Attributes map[string]string
	// Cut names contents that are not whole, with the reason.
	Cut []NotRestored
	// Later are the messages of a later model call that goes on from the answer, if there is one.
	Later []json.RawMessage
	// Calls are the tool calls of the run after the model call, in their order.
	Calls []RecordedCall
}

// RecordedCall is a recorded call of a tool.
type RecordedCall struct {
	Name, Arguments, Result string
	// Failure says how the call failed. Empty if it did not.
	Failure string
}

// NotRestored is a part of a recorded call that a playground cannot have.
type NotRestored struct {
	What, Reason string
}

// Opened is what a playground has of a recorded call.
type Opened struct {
	Messages       []json.RawMessage
	Output         json.RawMessage
	Tools          []json.RawMessage
	ResponseFormat json.RawMessage
	Config         json.RawMessage
	ToolAnswers    map[string]completions.ToolAnswer
	NotRestored    []NotRestored
}

// Open restores a recorded call, and lists what cannot be restored. Messages are numbered as they were recorded.
func Open(r *Recorded) (Opened, error) {
	o := Opened{NotRestored: r.Cut, ToolAnswers: map[string]completions.ToolAnswer{}}
	conversation := conversation{miss: o.miss}
	var err error
	if o.Messages, err = conversation.restore(r.Messages); err != nil {
		return Opened{}, err
	}
	if len(r.Output) > 0 {
		o.Output = r.Output[len(r.Output)-1]
	}
	for i, tool := range append(r.Tools, conversation.tools...) {
		o.tool(fmt.Sprintf("tools[%d]", i), tool)
	}
	parameters, err := o.parameters(r)
	if err != nil {
		return Opened{}, err
	}
	if err := o.instruct(parameters.system); err != nil {
		return Opened{}, err
	}
	if len(o.Messages) == 0 {
		o.miss("messages", "were not recorded")
	}
	if len(o.Tools) == 0 && slices.ContainsFunc(append(slices.Clone(o.Messages), o.Output), func(m json.RawMessage) bool { return len(completions.ToolCallsOf(m)) > 0 }) {
		o.miss("tools", "were not recorded, though some are called")
	}
	o.answers(r)
	return o, nil
}

func (o *Opened) miss(what, reason string) {
	o.NotRestored = append(o.NotRestored, NotRestored{what, reason})
}

// googleType is a type of a schema as Google's API writes it. Others write it in lower case.
var googleType = regexp.MustCompile(`"type"\s*:\s*"(STRING|NUMBER|INTEGER|BOOLEAN|ARRAY|OBJECT|NULL)"`)

func lowerTypes(schema json.RawMessage) json.RawMessage {
	return googleType.ReplaceAllFunc(schema, func(match []byte) []byte { return []byte(strings.ToLower(string(match))) })
}

// tool restores the definition of a tool.
func (o *Opened) tool(where string, tool json.RawMessage) {
	var t struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(tool, &t) != nil || t.Type == "" || t.Type == typeFunction && t.Function.Name == "" {
		o.miss(where, "is no definition of a tool")
		return
	}
	o.Tools = append(o.Tools, lowerTypes(tool))
}

// instruct puts instructions that only the parameters have before the messages.
func (o *Opened) instruct(instructions string) error {
	if instructions == "" || len(o.Messages) > 0 && slices.Contains([]string{"system", "developer"}, roleOf(o.Messages[0])) {
		return nil
	}
	text, err := json.Marshal(map[string]string{"role": "system", "content": instructions})
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	o.Messages = slices.Insert(o.Messages, 0, json.RawMessage(text))
	return nil
}

func roleOf(message json.RawMessage) string {
	var m struct {
		Role string `json:"role"`
	}
	if json.Unmarshal(message, &m) != nil {
		return ""
	}
	return m.Role
}

// answers restores the results of tools: first those that later messages have, as the model got them, then those of other
// recorded calls of tools. A recorded call whose arguments are no object, such as the only argument alone, has those of
// the call in the answer of the model.
func (o *Opened) answers(r *Recorded) {
	seen := o.seenResults(r)
	for _, one := range seen {
		o.addAnswer(one.Name, &one.Arguments, one.Result)
	}
	asked := map[string][]string{}
	for _, call := range completions.ToolCallsOf(o.Output) {
		asked[call.Name] = append(asked[call.Name], call.Arguments)
	}
	for _, call := range r.Calls {
		at := slices.IndexFunc(seen, func(one RecordedCall) bool {
			return one.Name == call.Name && (!isObject(call.Arguments) || completions.SameJSON(one.Arguments, call.Arguments))
		})
		known := len(o.ToolAnswers[call.Name].Recorded)
		switch {
		case at >= 0:
			seen = slices.Delete(seen, at, at+1)
		case call.Failure != "":
			o.miss("tool_answers."+call.Name, call.Failure)
		case call.Arguments == "" && call.Result == "":
			if known == 0 { // some frameworks record a call twice, and once without its content
				o.miss("tool_answers."+call.Name, "were not recorded")
			}
		case isObject(call.Arguments):
			o.addAnswer(call.Name, &call.Arguments, call.Result)
		case known < len(asked[call.Name]):
			o.addAnswer(call.Name, &asked[call.Name][known], call.Result)
		default:
			o.addAnswer(call.Name, nil, call.Result)
		}
	}
}

func (o *Opened) addAnswer(name string, arguments *string, content string) {
	answer := o.ToolAnswers[name]
	answer.Recorded = append(answer.Recorded, completions.RecordedResult{Arguments: arguments, Content: content})
	o.ToolAnswers[name] = answer
}

// seenResults returns the results in the later messages that the messages of the call itself do not have.
func (*Opened) seenResults(r *Recorded) (seen []RecordedCall) {
	earlier := map[string]bool{}
	for _, message := range r.Messages {
		for _, call := range completions.ToolCallsOf(message) {
			earlier[call.ID] = true
		}
	}
	calls := map[string]completions.ToolCall{}
	for _, message := range r.Later {
		for _, call := range completions.ToolCallsOf(message) {
			if call.ID != "" && !earlier[call.ID] {
				calls[call.ID] = call
			}
		}
		var result struct {
			ID      any             `json:"tool_call_id"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(message, &result) != nil {
			continue
		}
		id, _ := result.ID.(string)
		if call, ok := calls[id]; ok {
			var text string
			if json.Unmarshal(result.Content, &text) != nil {
				text = string(result.Content)
			}
			seen = append(seen, RecordedCall{Name: call.Name, Arguments: call.Arguments, Result: text})
			delete(calls, id)
		}
	}
	return seen
}

// CallIDs returns the ids of the tool calls of a message.
func CallIDs(message json.RawMessage) (ids []string) {
	for _, call := range completions.ToolCallsOf(message) {
		if call.ID != "" {
			ids = append(ids, call.ID)
		}
	}
	return ids
}

func isObject(text string) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &members) == nil && members != nil
}
