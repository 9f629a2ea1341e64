package playground

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// typeFunction is the type of tools and tool calls that are functions.
const typeFunction = "function"

// partTypes are the types of parts that messages may have.
var partTypes = []string{"text", "image_url", "input_audio", "file", "refusal"}

// sentRoles are roles that only frameworks know, by those that they send instead.
var sentRoles = map[string]string{"tool-call": "assistant", "tool-response": "user", "human": "user", "ai": "assistant", "model": "assistant"}

// callID is an id of a tool call that the APIs accept.
var callID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// conversation turns recorded messages into some that APIs accept: each tool call has an id of its own, and its result
// follows it. What that changes is listed.
type conversation struct {
	miss    func(what, reason string)
	tools   []json.RawMessage // definitions that were recorded as messages
	kept    []map[string]json.RawMessage
	open    []*openCall
	named   map[string]bool // ids that recorded results name
	used    map[string]bool // ids of calls
	made    int
	caller  map[string]json.RawMessage // the message of the open calls
	results int                        // how many results follow it
}

// openCall is a tool call that waits for its result.
type openCall struct {
	where, recorded, id, name string
}

// restore returns the messages.
func (c *conversation) restore(recorded []json.RawMessage) ([]json.RawMessage, error) {
	c.named, c.used = map[string]bool{}, map[string]bool{}
	for _, raw := range recorded {
		var m struct {
			ID any `json:"tool_call_id"`
		}
		if json.Unmarshal(raw, &m) == nil {
			if id, ok := m.ID.(string); ok && id != "" {
				c.named[id] = true
			}
		}
	}
	for i, raw := range recorded {
		if err := c.add(fmt.Sprintf("messages[%d]", i), raw); err != nil {
			return nil, err
		}
	}
	if err := c.closeCalls(); err != nil {
		return nil, err
	}
	out := make([]json.RawMessage, len(c.kept))
	for i, message := range c.kept {
		text, err := json.Marshal(message)
		if err != nil {
			return nil, fmt.Errorf("encode a message: %w", err)
		}
		out[i] = text
	}
	return out, nil
}

func (c *conversation) add(where string, raw json.RawMessage) error {
	var message map[string]json.RawMessage
	var role string
	if !decodes(raw, &message) || !decodes(message["role"], &role) {
		c.miss(where, "is no message")
		return nil
	}
	if sent, ok := sentRoles[role]; ok {
		c.miss(where+".role", fmt.Sprintf("is %q, which models do not know; it became %q", role, sent))
		role = sent
		message["role"] = json.RawMessage(`"` + sent + `"`)
	}
	if !slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, role) {
		c.miss(where, fmt.Sprintf("has the role %q, which models do not know", role))
		return nil
	}
	if err := c.content(where, message); err != nil {
		return err
	}
	if role == "tool" {
		return c.result(where, message)
	}
	calls, err := c.calls(where, role, message)
	if err != nil {
		return err
	}
	if len(c.open) > 0 && role == "assistant" && c.results == 0 && slices.ContainsFunc(c.open, func(one *openCall) bool { return c.named[one.recorded] }) {
		return c.join(message, calls) // parallel calls, recorded one by one
	}
	if err := c.closeCalls(); err != nil {
		return err
	}
	c.kept = append(c.kept, message)
	if len(calls) > 0 {
		c.open, c.caller, c.results = calls, message, 0
	}
	return nil
}

// content leaves out parts that chat completions do not have.
func (c *conversation) content(where string, message map[string]json.RawMessage) error {
	var parts []json.RawMessage
	if json.Unmarshal(message["content"], &parts) == nil && parts != nil {
		whole := make([]json.RawMessage, 0, len(parts))
		for j, part := range parts {
			var p struct {
				Type string `json:"type"`
			}
			if json.Unmarshal(part, &p) != nil || !slices.Contains(partTypes, p.Type) {
				c.miss(fmt.Sprintf("%s.content[%d]", where, j), fmt.Sprintf("is a part of the type %q, which chat completions do not have", p.Type))
				continue
			}
			whole = append(whole, part)
		}
		text, err := json.Marshal(whole)
		if err != nil {
			return fmt.Errorf("encode the parts of a message: %w", err)
		}
		message["content"] = text
	}
	if isEmpty(message["content"]) && isEmpty(message["tool_calls"]) {
		message["content"] = json.RawMessage(`""`)
	}
	return nil
}

func decodes(raw json.RawMessage, into any) bool { return json.Unmarshal(raw, into) == nil }

func isEmpty(raw json.RawMessage) bool {
	return jsontext.IsNull(raw) || string(raw) == "[]"
}

// calls gives each tool call of a message an id that no other has.
func (c *conversation) calls(where, role string, message map[string]json.RawMessage) ([]*openCall, error) {
	var recorded []json.RawMessage
	if isEmpty(message["tool_calls"]) {
		delete(message, "tool_calls")
		return nil, nil
	}
	if role != "assistant" || !decodes(message["tool_calls"], &recorded) {
		c.miss(where+".tool_calls", "are no tool calls of an assistant")
		delete(message, "tool_calls")
		return nil, nil
	}
	var calls []*openCall
	whole := []map[string]any{}
	for i, raw := range recorded {
		at := fmt.Sprintf("%s.tool_calls[%d]", where, i)
		var call struct {
			ID       string
			Function struct{ Name, Arguments string }
		}
		if json.Unmarshal(raw, &call) != nil || call.Function.Name == "" {
			c.miss(at, "is no call of a function")
			continue
		}
		arguments := call.Function.Arguments
		if strings.TrimSpace(arguments) == "" {
			arguments = "{}"
		}
		if !isObject(arguments) {
			c.miss(at+".function.arguments", "are no JSON object; they became its member input")
			text, err := json.Marshal(map[string]string{"input": arguments})
			if err != nil {
				return nil, fmt.Errorf("encode the arguments of a tool: %w", err)
			}
			arguments = string(text)
		}
		one := &openCall{where: at, recorded: call.ID, id: call.ID, name: call.Function.Name}
		if !callID.MatchString(one.id) || c.used[one.id] {
			one.id = c.newID()
			c.miss(at+".id", fmt.Sprintf("%s; the call and its result have the id %s", idProblem(call.ID), one.id))
		}
		c.used[one.id] = true
		calls = append(calls, one)
		whole = append(whole, map[string]any{"id": one.id, "type": typeFunction, "function": map[string]string{"name": one.name, "arguments": arguments}})
	}
	return calls, c.setCalls(message, whole)
}

func (*conversation) setCalls(message map[string]json.RawMessage, calls []map[string]any) error {
	delete(message, "tool_calls")
	if len(calls) == 0 {
		if isEmpty(message["content"]) {
			message["content"] = json.RawMessage(`""`)
		}
		return nil
	}
	text, err := json.Marshal(calls)
	if err != nil {
		return fmt.Errorf("encode tool calls: %w", err)
	}
	message["tool_calls"] = text
	return nil
}

func idProblem(id string) string {
	switch {
	case id == "":
		return "was not recorded"
	case !callID.MatchString(id):
		return "is none that APIs accept"
	}
	return "is that of an earlier call"
}

// newID returns an id that no recorded call or result has.
func (c *conversation) newID() string {
	for {
		c.made++
		if id := fmt.Sprintf("call_%d", c.made); !c.used[id] && !c.named[id] {
			return id
		}
	}
}

// join adds what an assistant says to its message with the open calls.
func (c *conversation) join(message map[string]json.RawMessage, calls []*openCall) error {
	var before, more []map[string]any
	for raw, into := range map[string]*[]map[string]any{string(c.caller["tool_calls"]): &before, string(message["tool_calls"]): &more} {
		if raw != "" && json.Unmarshal([]byte(raw), into) != nil {
			return fmt.Errorf("read tool calls: %.100s", raw)
		}
	}
	if content := message["content"]; !isEmpty(content) && string(content) != `""` {
		if isEmpty(c.caller["content"]) || string(c.caller["content"]) == `""` {
			c.caller["content"] = content
		} else {
			c.kept = slices.Insert(c.kept, len(c.kept)-1, map[string]json.RawMessage{"role": message["role"], "content": content})
		}
	}
	c.open = append(c.open, calls...)
	return c.setCalls(c.caller, append(before, more...))
}

// result adds the result of a tool after the call that it answers: the one with its id, or the first of its name or at
// all whose id no result names.
func (c *conversation) result(where string, message map[string]json.RawMessage) error {
	var id, name string
	for member, into := range map[string]*string{"tool_call_id": &id, "name": &name} {
		if raw := message[member]; !isEmpty(raw) && !decodes(raw, into) {
			c.miss(where, "is the result of a tool call that it does not name by a text")
			return nil
		}
	}
	if definition := definitionIn(message["content"]); id == "" && definition != nil {
		c.tools = append(c.tools, definition)
		return nil
	}
	at := slices.IndexFunc(c.open, func(one *openCall) bool { return id != "" && one.recorded == id })
	fits := at >= 0
	for _, sameName := range []bool{true, false} {
		if at < 0 {
			at = slices.IndexFunc(c.open, func(one *openCall) bool { return !c.named[one.recorded] && (!sameName || one.name == name) })
		}
	}
	if at < 0 {
		c.miss(where, "is the result of a tool call that was not recorded before it")
		return nil
	}
	call := c.open[at]
	c.open = slices.Delete(c.open, at, at+1)
	if !fits {
		c.miss(where+".tool_call_id", "names no call; it became that of the call of "+call.name)
	}
	return c.keepResult(call.id, message["content"])
}

// definitionIn returns the definition of a tool in the content of a message: Langfuse's handler for LangChain records
// tools as messages.
func definitionIn(content json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(content, &text) != nil {
		return nil
	}
	var tool struct {
		Type     string
		Function struct{ Name string }
	}
	if json.Unmarshal([]byte(text), &tool) != nil || tool.Type != typeFunction || tool.Function.Name == "" {
		return nil
	}
	return json.RawMessage(text)
}

func (c *conversation) keepResult(id string, content json.RawMessage) error {
	text, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("encode the id of a tool call: %w", err)
	}
	c.kept = append(c.kept, map[string]json.RawMessage{"role": json.RawMessage(`"tool"`), "tool_call_id": text, "content": content})
	c.results++
	return nil
}

// closeCalls gives calls whose result was not recorded an empty one.
func (c *conversation) closeCalls() error {
	for _, call := range c.open {
		c.miss(call.where, "has no recorded result; an empty one follows it. Write what "+call.name+" answered")
		if err := c.keepResult(call.id, json.RawMessage(`""`)); err != nil {
			return err
		}
	}
	c.open = nil
	return nil
}
