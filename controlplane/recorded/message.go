package recorded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looptrace/looptrace/controlplane/llm/openaichat"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// Roles and types of chat completions and of the conventions.
const (
	RoleSystem    = "system"
	RoleDeveloper = "developer"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"

	TypeText = "text"

	typeReasoning, typeToolCall, typeToolResponse = "reasoning", "tool_call", "tool_call_response"
	typeRedactedThinking                          = "redacted_thinking"

	KeyAnthropic = "anthropic_content"
	KeyReasoning = "reasoning_content"
	KeyToolCalls = "tool_calls"
)

// keptMembers are members of chat messages that the conventions do not have and that servers take back.
var keptMembers = []string{"refusal", "reasoning_details", "function_call", "audio", "thinking_blocks"}

// ToChat converts messages of the GenAI conventions to the shape of chat completions. System instructions become the
// first message; a first message that repeats them is left out. A message with results of tools becomes one message for
// each of them. Parts that chat completions do not have are kept as they are.
func ToChat(instructions, messages []json.RawMessage) ([]json.RawMessage, error) {
	var out []json.RawMessage
	if len(instructions) > 0 {
		message, err := jsontext.Encode(map[string]any{"role": RoleSystem, "parts": instructions})
		if err != nil {
			return nil, fmt.Errorf("encode instructions: %w", err)
		}
		if out, err = toGroup(message); err != nil {
			return nil, err
		}
	}
	repeated := out
	for i, raw := range messages {
		group, err := toGroup(raw)
		if err != nil {
			return nil, err
		}
		if i > 0 || len(repeated) != 1 || len(group) != 1 || !bytes.Equal(group[0], repeated[0]) {
			out = append(out, group...)
		}
	}
	return out, nil
}

// toGroup converts a message to those that it becomes.
func toGroup(raw json.RawMessage) ([]json.RawMessage, error) {
	message := jsontext.Members(raw)
	parts := jsontext.List(message["parts"])
	if message == nil || jsontext.String(message["role"]) == "" || parts == nil {
		return []json.RawMessage{raw}, nil
	}
	var extras recordedParts
	for i, part := range parts {
		parts[i] = extras.read(part)
	}
	var err error
	if message["parts"], err = jsontext.Encode(parts); err != nil {
		return nil, fmt.Errorf("encode the parts of a message: %w", err)
	}
	simple, err := jsontext.Encode(message)
	if err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	group, err := openaichat.Messages(nil, []json.RawMessage{simple})
	if err != nil {
		return nil, fmt.Errorf("convert a message: %w", err)
	}
	own := len(group) - len(extras.results)
	for i := range extras.results {
		if group[own+i], err = extras.result(i, group[own+i], message); err != nil {
			return nil, err
		}
	}
	if own == 1 {
		if group[0], err = extras.complete(group[0], message, parts); err != nil {
			return nil, err
		}
		if len(group) > 1 && jsontext.String(message["role"]) != RoleAssistant {
			group = append(group[1:], group[0]) // results come before what the user says to them
		}
	}
	return group, nil
}

// recordedParts is what package openaichat leaves out of the parts of a message.
type recordedParts struct {
	calls   []map[string]json.RawMessage // further members of tool calls
	results []json.RawMessage            // what tools returned
	signed  bool
}

// read returns the part in the form in which openaichat keeps it.
func (e *recordedParts) read(raw json.RawMessage) json.RawMessage {
	part := jsontext.Members(raw)
	switch kind := jsontext.String(part["type"]); {
	case kind == TypeText && jsontext.IsString(part["content"]) && len(part) > len([]string{"type", "content"}):
		part["text"] = part["content"]
		delete(part, "content")
		if kept, err := jsontext.Encode(part); err == nil {
			return kept
		}
	case kind == typeReasoning && jsontext.IsString(part["signature"]), kind == typeRedactedThinking:
		e.signed = true
	case kind == typeToolCall:
		for _, known := range []string{"type", "id", "name", "arguments"} {
			delete(part, known)
		}
		e.calls = append(e.calls, part)
	case kind == typeToolResponse:
		result := part["response"]
		if result == nil {
			result = part["result"]
		}
		e.results = append(e.results, result)
	}
	return raw
}

// result completes a message with a result of a tool: content that has the parts of chat completions stays a list.
func (e *recordedParts) result(i int, raw json.RawMessage, message map[string]json.RawMessage) (json.RawMessage, error) {
	result := jsontext.Members(raw)
	if IsContentList(e.results[i]) {
		result["content"] = e.results[i]
	}
	if jsontext.String(message["role"]) == RoleTool && jsontext.IsString(message["name"]) && len(e.results) == 1 {
		result["name"] = message["name"]
	}
	out, err := jsontext.Encode(result)
	if err != nil {
		return nil, fmt.Errorf("encode the result of a tool: %w", err)
	}
	return out, nil
}

// IsContentList reports whether a value is a content of chat completions that is a list.
func IsContentList(raw json.RawMessage) bool {
	list := jsontext.List(raw)
	for _, one := range list {
		part := jsontext.Members(one)
		switch kind := jsontext.String(part["type"]); kind {
		case "text", "image_url", "input_audio", "file":
			if part[kind] == nil {
				return false
			}
		default:
			return false
		}
	}
	return len(list) > 0
}

// complete adds what openaichat leaves out.
func (e *recordedParts) complete(raw json.RawMessage, message map[string]json.RawMessage, parts []json.RawMessage) (json.RawMessage, error) {
	chat := jsontext.Members(raw)
	if chat == nil {
		return raw, nil
	}
	changed := false
	for _, name := range keptMembers {
		if !jsontext.IsNull(message[name]) && chat[name] == nil {
			chat[name] = message[name]
			changed = true
		}
	}
	if calls := jsontext.List(chat[KeyToolCalls]); len(calls) == len(e.calls) {
		for i := range calls {
			if len(e.calls[i]) == 0 {
				continue
			}
			call := jsontext.Members(calls[i])
			for name, value := range e.calls[i] {
				if call[name] == nil {
					call[name] = value
				}
			}
			var err error
			if calls[i], err = jsontext.Encode(call); err != nil {
				return nil, fmt.Errorf("encode a tool call: %w", err)
			}
			changed = true
		}
		if changed {
			list, err := jsontext.Encode(calls)
			if err != nil {
				return nil, fmt.Errorf("encode tool calls: %w", err)
			}
			if len(calls) > 0 {
				chat[KeyToolCalls] = list
			}
		}
	}
	if e.signed && jsontext.String(message["role"]) == RoleAssistant {
		blocks, err := anthropicBlocks(parts)
		if err != nil {
			return nil, err
		}
		chat[KeyAnthropic] = blocks
		changed = true
	}
	if !changed {
		return raw, nil
	}
	out, err := jsontext.Encode(chat)
	if err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	return out, nil
}

// anthropicBlocks returns the parts of an answer with signed reasoning as the blocks that Anthropic's API wants back.
func anthropicBlocks(parts []json.RawMessage) (json.RawMessage, error) {
	blocks := make([]json.RawMessage, 0, len(parts))
	for _, raw := range parts {
		part := jsontext.Members(raw)
		block := map[string]json.RawMessage{}
		switch jsontext.String(part["type"]) {
		case typeReasoning:
			if !jsontext.IsString(part["signature"]) {
				continue // the API takes no reasoning without a signature
			}
			block["type"], block["thinking"], block["signature"] = jsontext.MustEncode("thinking"), part["content"], part["signature"]
		case TypeText:
			if jsontext.String(part["content"]) == "" {
				continue
			}
			block["type"], block["text"] = jsontext.MustEncode(TypeText), part["content"]
		case typeToolCall:
			input := json.RawMessage(jsontext.String(part["arguments"]))
			if jsontext.Members(input) == nil {
				input = json.RawMessage("{}")
			}
			block["type"], block["id"], block["name"], block["input"] = jsontext.MustEncode("tool_use"), jsontext.MustEncode(jsontext.String(part["id"])), part["name"], input
		default:
			blocks = append(blocks, raw)
			continue
		}
		out, err := jsontext.Encode(block)
		if err != nil {
			return nil, fmt.Errorf("encode a block: %w", err)
		}
		blocks = append(blocks, out)
	}
	out, err := jsontext.Encode(blocks)
	if err != nil {
		return nil, fmt.Errorf("encode blocks: %w", err)
	}
	return out, nil
}

// ToolsFromChat converts definitions of tools of chat completions to the GenAI conventions.
func ToolsFromChat(tools []json.RawMessage) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(tools))
	for i, raw := range tools {
		tool := jsontext.Members(raw)
		function := jsontext.Members(tool["function"])
		if jsontext.String(tool["type"]) != "function" || function == nil {
			out[i] = raw
			continue
		}
		function["type"] = jsontext.MustEncode("function")
		var err error
		if out[i], err = jsontext.Encode(function); err != nil {
			return nil, fmt.Errorf("encode a tool: %w", err)
		}
	}
	return out, nil
}

// textOf returns the text of a content: a string, or the text parts of a list, one in a line.
func textOf(content json.RawMessage) string {
	if jsontext.IsString(content) {
		return jsontext.String(content)
	}
	var lines []string
	for _, raw := range jsontext.List(content) {
		part := jsontext.Members(raw)
		for _, name := range []string{"text", "content"} {
			if jsontext.IsString(part[name]) {
				lines = append(lines, jsontext.String(part[name]))
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}
