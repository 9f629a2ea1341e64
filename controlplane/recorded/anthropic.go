package recorded

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

var errBody = errors.New("the recorded request is no request of a chat")

// sentMembers are members of a body that say how the answer travels, and not what is asked.
var sentMembers = []string{"model", "messages", "tools", "system", "stream", "stream_options"}

// readBody reads the body of a request as it was sent.
func readBody(body []byte, anthropic bool) (Request, error) {
	members := jsontext.Members(body)
	messages := jsontext.List(members["messages"])
	if messages == nil {
		return Request{}, errBody
	}
	out := Request{Model: jsontext.String(members["model"]), Messages: messages, Tools: jsontext.List(members["tools"]), Params: map[string]json.RawMessage{}}
	for name, value := range members {
		if !slices.Contains(sentMembers, name) && !jsontext.IsNull(value) {
			out.Params[name] = value
		}
	}
	if !anthropic {
		return out, nil
	}
	out.Messages = nil
	if system := members["system"]; !jsontext.IsNull(system) {
		message, err := jsontext.Encode(map[string]json.RawMessage{"role": jsontext.MustEncode(RoleSystem), "content": system})
		if err != nil {
			return Request{}, fmt.Errorf("encode a message: %w", err)
		}
		out.Messages = append(out.Messages, message)
	}
	for i, raw := range messages {
		converted, err := fromAnthropic(raw)
		if err != nil {
			return Request{}, fmt.Errorf("convert messages[%d]: %w", i, err)
		}
		out.Messages = append(out.Messages, converted...)
	}
	for i, raw := range out.Tools {
		var err error
		if out.Tools[i], err = toolFromAnthropic(raw); err != nil {
			return Request{}, fmt.Errorf("convert tools[%d]: %w", i, err)
		}
	}
	return out, paramsFromAnthropic(out.Params)
}

// isAnthropic reports whether a body was sent to Anthropic's API.
func isAnthropic(provider string, body []byte) bool {
	if strings.Contains(strings.ToLower(provider), "anthropic") {
		return true
	}
	members := jsontext.Members(body)
	if !jsontext.IsNull(members["system"]) || !jsontext.IsNull(members["anthropic_version"]) {
		return true
	}
	return slices.ContainsFunc(jsontext.List(members["tools"]), func(raw json.RawMessage) bool { return jsontext.Members(raw)["input_schema"] != nil })
}

// fromAnthropic converts a message of Anthropic's API: results of tools become messages of their own.
func fromAnthropic(raw json.RawMessage) ([]json.RawMessage, error) {
	members := jsontext.Members(raw)
	blocks := jsontext.List(members["content"])
	if blocks == nil {
		return []json.RawMessage{raw}, nil
	}
	if jsontext.String(members["role"]) == RoleAssistant {
		message, err := answerFromAnthropic(blocks)
		return []json.RawMessage{message}, err
	}
	var out []json.RawMessage
	var content []json.RawMessage
	for _, raw := range blocks {
		block := jsontext.Members(raw)
		if jsontext.String(block["type"]) != "tool_result" {
			content = append(content, raw)
			continue
		}
		result := block["content"]
		if list := jsontext.List(result); len(list) == 1 && jsontext.String(jsontext.Members(list[0])["type"]) == TypeText && len(jsontext.Members(list[0])) == 2 {
			result = jsontext.Members(list[0])["text"]
		}
		if jsontext.IsNull(result) {
			result = json.RawMessage(`""`)
		}
		message, err := jsontext.Encode(map[string]json.RawMessage{"role": jsontext.MustEncode(RoleTool), "tool_call_id": block["tool_use_id"], "content": result})
		if err != nil {
			return nil, fmt.Errorf("encode the result of a tool: %w", err)
		}
		out = append(out, message)
	}
	if len(content) > 0 {
		message, err := jsontext.Encode(map[string]any{"role": RoleUser, "content": content})
		if err != nil {
			return nil, fmt.Errorf("encode a message: %w", err)
		}
		out = append(out, message)
	}
	return out, nil
}

// answerFromAnthropic converts the blocks of an answer. What chat completions cannot express stays in anthropic_content.
func answerFromAnthropic(blocks []json.RawMessage) (json.RawMessage, error) {
	var text, thought strings.Builder
	var calls []any
	keep := false
	for _, raw := range blocks {
		block := jsontext.Members(raw)
		switch jsontext.String(block["type"]) {
		case TypeText:
			text.WriteString(jsontext.String(block["text"]))
		case "tool_use":
			calls = append(calls, map[string]any{
				"id": jsontext.String(block["id"]), "type": "function", "function": map[string]string{"name": jsontext.String(block["name"]), "arguments": string(block["input"])},
			})
		case "thinking":
			thought.WriteString(jsontext.String(block["thinking"]))
			keep = true
		default:
			keep = true
		}
	}
	message := map[string]any{"role": RoleAssistant, "content": text.String()}
	if text.Len() == 0 && len(calls) > 0 {
		message["content"] = nil
	}
	if thought.Len() > 0 {
		message[KeyReasoning] = thought.String()
	}
	if len(calls) > 0 {
		message[KeyToolCalls] = calls
	}
	if keep {
		message[KeyAnthropic] = blocks
	}
	out, err := jsontext.Encode(message)
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	return out, nil
}

// toolFromAnthropic converts a definition. Tools of the server are kept as they are.
func toolFromAnthropic(raw json.RawMessage) (json.RawMessage, error) {
	tool := jsontext.Members(raw)
	if tool["input_schema"] == nil {
		return raw, nil
	}
	out := map[string]any{"type": "function"}
	function := map[string]json.RawMessage{"parameters": tool["input_schema"]}
	for name, value := range tool {
		switch name {
		case "input_schema", "type":
		case "name", "description", "strict":
			function[name] = value
		default:
			out[name] = value
		}
	}
	out["function"] = function
	text, err := jsontext.Encode(out)
	if err != nil {
		return nil, fmt.Errorf("encode a tool: %w", err)
	}
	return text, nil
}

// paramsFromAnthropic gives parameters the names of chat completions.
func paramsFromAnthropic(params map[string]json.RawMessage) error {
	if stop := params["stop_sequences"]; stop != nil {
		params["stop"] = stop
		delete(params, "stop_sequences")
	}
	choice := jsontext.Members(params["tool_choice"])
	var err error
	switch jsontext.String(choice["type"]) {
	case "auto", "none":
		params["tool_choice"] = choice["type"]
	case "any":
		params["tool_choice"] = jsontext.MustEncode("required")
	case "tool":
		params["tool_choice"], err = jsontext.Encode(map[string]any{"type": "function", "function": map[string]json.RawMessage{"name": choice["name"]}})
	}
	if err != nil {
		return fmt.Errorf("encode tool_choice: %w", err)
	}
	if off := string(choice["disable_parallel_tool_use"]); off == "true" || off == "false" {
		params["parallel_tool_calls"] = json.RawMessage(map[string]string{"true": "false", "false": "true"}[off])
	}
	return nil
}
