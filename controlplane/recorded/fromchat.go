package recorded

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// FromChat converts messages of chat completions to the GenAI conventions. ToChat of the result is the same as messages,
// but for spaces, the order of members, members that are null or empty, and reasoning_content beside anthropic_content.
func FromChat(messages []json.RawMessage) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(messages))
	for i, raw := range messages {
		var err error
		if out[i], err = fromChat(raw); err != nil {
			return nil, fmt.Errorf("convert messages[%d]: %w", i, err)
		}
	}
	return out, nil
}

func fromChat(raw json.RawMessage) (json.RawMessage, error) {
	chat := jsontext.Members(raw)
	role := jsontext.String(chat["role"])
	if !jsontext.IsString(chat["role"]) || role == "" || chat["parts"] != nil {
		return raw, nil
	}
	parts := []any{}
	if role == RoleTool {
		response := chat["content"]
		if jsontext.IsNull(response) {
			response = json.RawMessage(`""`)
		}
		parts = append(parts, map[string]any{"type": typeToolResponse, "id": idOf(chat["tool_call_id"]), "response": response})
	} else if blocks := jsontext.List(chat[KeyAnthropic]); len(blocks) > 0 {
		parts = blockParts(chat, blocks)
	} else {
		if text := jsontext.String(chat[KeyReasoning]); jsontext.IsString(chat[KeyReasoning]) && text != "" {
			parts = append(parts, map[string]any{"type": typeReasoning, "content": text})
		}
		parts = append(append(parts, contentParts(chat["content"])...), callParts(chat[KeyToolCalls])...)
	}
	message := map[string]any{"role": role, "parts": parts}
	for _, name := range append([]string{"name"}, keptMembers...) {
		if !jsontext.IsNull(chat[name]) {
			message[name] = chat[name]
		}
	}
	out, err := jsontext.Encode(message)
	if err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	return out, nil
}

// idOf returns the id of a call, or null.
func idOf(raw json.RawMessage) any {
	if jsontext.IsNull(raw) {
		return nil
	}
	return raw
}

// contentParts converts a content.
func contentParts(content json.RawMessage) []any {
	if jsontext.IsNull(content) {
		return nil
	}
	list := jsontext.List(content)
	if list == nil {
		if text := jsontext.String(content); text != "" {
			return []any{map[string]any{"type": TypeText, "content": text}}
		}
		return nil
	}
	parts := make([]any, len(list))
	for i, raw := range list {
		parts[i] = contentPart(raw)
	}
	return parts
}

func contentPart(raw json.RawMessage) any {
	part := jsontext.Members(raw)
	switch jsontext.String(part["type"]) {
	case TypeText:
		if jsontext.IsString(part["text"]) && part["content"] == nil {
			text := maps.Clone(part)
			delete(text, "text")
			text["content"] = part["text"]
			return text
		}
	case "image_url":
		if len(part) != 2 {
			break
		}
		image := jsontext.Members(part["image_url"])
		if len(image) != 1 || !jsontext.IsString(image["url"]) {
			break
		}
		url := jsontext.String(image["url"])
		if media, data, ok := dataURL(url); ok {
			return map[string]any{"type": "blob", "modality": "image", "mime_type": media, "content": data}
		}
		return map[string]any{"type": "uri", "modality": "image", "uri": url}
	case "input_audio":
		audio := jsontext.Members(part["input_audio"])
		if format := jsontext.String(audio["format"]); len(part) == 2 && len(audio) == 2 && jsontext.IsString(audio["data"]) && jsontext.IsString(audio["format"]) && !strings.Contains(format, "/") {
			return map[string]any{"type": "blob", "modality": "audio", "mime_type": "audio/" + format, "content": audio["data"]}
		}
	case "file":
		file := jsontext.Members(part["file"])
		if len(part) != 2 || len(file) != 1 {
			break
		}
		if jsontext.IsString(file["file_id"]) && jsontext.String(file["file_id"]) != "" {
			return map[string]any{"type": "file", "file_id": file["file_id"]}
		}
		if media, data, ok := dataURL(jsontext.String(file["file_data"])); ok {
			return map[string]any{"type": "blob", "modality": "document", "mime_type": media, "content": data}
		}
	}
	return raw
}

// dataURL returns the media type and the data of a data: URL in base64.
func dataURL(url string) (media, data string, ok bool) {
	rest, found := strings.CutPrefix(url, "data:")
	head, data, comma := strings.Cut(rest, ",")
	media, base64 := strings.CutSuffix(head, ";base64")
	return media, data, found && comma && base64
}

// callParts converts tool calls. Arguments stay the text that the model wrote.
func callParts(raw json.RawMessage) []any {
	var parts []any
	for _, one := range jsontext.List(raw) {
		call := jsontext.Members(one)
		function := jsontext.Members(call["function"])
		if function == nil || !jsontext.IsString(function["arguments"]) || !jsontext.IsString(function["name"]) || len(function) != 2 {
			parts = append(parts, one)
			continue
		}
		part := map[string]any{}
		for name, value := range call {
			if name != "type" && name != "function" {
				part[name] = value
			}
		}
		part["type"], part["name"] = typeToolCall, function["name"]
		part["id"] = idOf(call["id"])
		part["arguments"] = argumentsOf(jsontext.String(function["arguments"]))
		parts = append(parts, part)
	}
	return parts
}

// argumentsOf returns arguments as a JSON object if that has the same text, else as a string.
func argumentsOf(text string) json.RawMessage {
	if jsontext.Members(json.RawMessage(text)) != nil {
		if same, err := jsontext.Encode(json.RawMessage(text)); err == nil && string(same) == text {
			return same
		}
	}
	return jsontext.MustEncode(text)
}

// blockParts converts the blocks of an answer of Anthropic's. If its content or its calls were edited, they replace those
// of the blocks.
func blockParts(chat map[string]json.RawMessage, blocks []json.RawMessage) []any {
	var said []string
	var called []string
	for _, raw := range blocks {
		block := jsontext.Members(raw)
		switch jsontext.String(block["type"]) {
		case TypeText:
			said = append(said, jsontext.String(block["text"]))
		case "tool_use":
			input, _ := Canonical(string(block["input"]))
			called = append(called, jsontext.String(block["id"])+" "+jsontext.String(block["name"])+" "+input)
		}
	}
	var calls []string
	for _, call := range callsOf(chat[KeyToolCalls]) {
		input, _ := Canonical(call.Arguments)
		calls = append(calls, call.ID+" "+call.Name+" "+input)
	}
	same := strings.Join(said, "") == textOf(chat["content"]) && slices.Equal(called, calls)
	var parts []any
	for _, raw := range blocks {
		block := jsontext.Members(raw)
		switch kind := jsontext.String(block["type"]); {
		case kind == "thinking" && jsontext.IsString(block["signature"]):
			parts = append(parts, map[string]any{"type": typeReasoning, "content": block["thinking"], "signature": block["signature"]})
		case kind == TypeText && same:
			parts = append(parts, map[string]any{"type": TypeText, "content": block["text"]})
		case kind == "tool_use" && same:
			parts = append(parts, map[string]any{"type": typeToolCall, "id": block["id"], "name": block["name"], "arguments": block["input"]})
		case kind != TypeText && kind != "tool_use":
			parts = append(parts, raw)
		}
	}
	if !same {
		parts = append(append(parts, contentParts(chat["content"])...), callParts(chat[KeyToolCalls])...)
	}
	return parts
}
