// Package openaichat converts messages and tool definitions of the GenAI conventions (gen-ai-input-messages.json,
// gen-ai-output-messages.json) to the shape of OpenAI's chat completions.
package openaichat

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// message is a message of chat completions.
type message struct {
	Role string `json:"role"`
	Name string `json:"name,omitempty"`
	// Content is a string, a list of parts, or nil for null.
	Content any `json:"content"`
	// Reasoning is not OpenAI's. Other servers of its API use this name.
	Reasoning  string     `json:"reasoning_content,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name string `json:"name"`
	// Arguments is JSON as text.
	Arguments string `json:"arguments"`
}

type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type imagePart struct {
	Type     string `json:"type"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

type audioPart struct {
	Type       string `json:"type"`
	InputAudio struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
}

type filePart struct {
	Type string `json:"type"`
	File file   `json:"file"`
}

type file struct {
	ID   string `json:"file_id,omitempty"`
	Data string `json:"file_data,omitempty"`
}

// recorded is a message of the conventions.
type recorded struct {
	Role  string            `json:"role"`
	Name  string            `json:"name"`
	Parts []json.RawMessage `json:"parts"`
}

// part is a part of a recorded message.
type part struct {
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	ID        json.RawMessage `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Response  json.RawMessage `json:"response"`
	Result    json.RawMessage `json:"result"`
	Modality  string          `json:"modality"`
	MIMEType  string          `json:"mime_type"`
	URI       string          `json:"uri"`
	FileID    string          `json:"file_id"`
}

const roleSystem = "system"

// Messages converts system instructions, which become the first message, and messages. Some instrumentations record the
// instructions as the first message, too: it is then left out. What has no counterpart in chat completions is kept
// as it was recorded: a part of an unknown type, and a message that does not follow the conventions.
func Messages(instructions, messages []json.RawMessage) ([]json.RawMessage, error) {
	converted := []json.RawMessage{}
	if len(instructions) > 0 {
		var err error
		if converted, err = appendMessage(converted, recorded{Role: roleSystem, Parts: instructions}); err != nil {
			return nil, err
		}
	}
	for i, raw := range messages {
		var m recorded
		if err := json.Unmarshal(raw, &m); err != nil || m.Role == "" || m.Parts == nil {
			converted = append(converted, raw)
			continue
		}
		length := len(converted)
		var err error
		if converted, err = appendMessage(converted, m); err != nil {
			return nil, err
		}
		if i == 0 && length == 1 && m.Role == roleSystem && bytes.Equal(converted[0], converted[1]) {
			converted = converted[:1]
		}
	}
	return converted, nil
}

// appendMessage appends a message, and one for each result of a tool in it.
func appendMessage(to []json.RawMessage, m recorded) ([]json.RawMessage, error) {
	out := message{Role: m.Role, Name: m.Name}
	var content []any
	var results []message
	for _, raw := range m.Parts {
		var p part
		if err := json.Unmarshal(raw, &p); err != nil {
			content = append(content, raw)
			continue
		}
		switch {
		case p.Type == "text" && jsontext.IsString(p.Content):
			content = append(content, textPart{"text", jsontext.String(p.Content)})
		case p.Type == "reasoning" && jsontext.IsString(p.Content):
			out.Reasoning = join(out.Reasoning, jsontext.String(p.Content))
		case p.Type == "tool_call":
			// Agent Framework records some ids as lists.
			out.ToolCalls = append(out.ToolCalls, toolCall{jsontext.String(p.ID), "function", functionCall{p.Name, argumentsOf(p.Arguments)}})
		case p.Type == "tool_call_response":
			result := p.Response
			if result == nil {
				result = p.Result
			}
			results = append(results, message{Role: "tool", Content: jsontext.String(result), ToolCallID: jsontext.String(p.ID)})
		default:
			content = append(content, mediaOf(p, raw))
		}
	}
	if len(results) == 0 || len(content) > 0 || len(out.ToolCalls) > 0 || out.Reasoning != "" {
		out.Content = contentOf(content)
		results = append([]message{out}, results...)
	}
	for _, one := range results {
		text, err := jsontext.Encode(one)
		if err != nil {
			return nil, err
		}
		to = append(to, text)
	}
	return to, nil
}

// contentOf returns a text alone as a string, and anything else as parts.
func contentOf(parts []any) any {
	if len(parts) == 0 {
		return nil
	}
	if text, ok := parts[0].(textPart); ok && len(parts) == 1 {
		return text.Text
	}
	return parts
}

// mediaOf converts images, audio and files, and returns other parts as they are.
func mediaOf(p part, raw json.RawMessage) any {
	switch {
	case p.Type == "file" && p.FileID != "":
		return filePart{"file", file{ID: p.FileID}}
	case p.Type == "uri" && p.Modality == "image":
		return imageOf(p.URI)
	case p.Type != "blob" || !jsontext.IsString(p.Content):
		return raw
	}
	data := jsontext.String(p.Content)
	url := "data:" + p.MIMEType + ";base64," + data
	switch p.Modality {
	case "image":
		return imageOf(url)
	case "audio":
		audio := audioPart{Type: "input_audio"}
		_, format, _ := strings.Cut(p.MIMEType, "/")
		audio.InputAudio.Data, audio.InputAudio.Format = data, format
		return audio
	case "document":
		return filePart{"file", file{Data: url}}
	}
	return raw
}

func imageOf(url string) imagePart {
	image := imagePart{Type: "image_url"}
	image.ImageURL.URL = url
	return image
}

// argumentsOf returns the arguments of a call as text of JSON.
func argumentsOf(arguments json.RawMessage) string {
	if jsontext.IsNull(arguments) {
		return "{}"
	}
	return jsontext.String(arguments)
}

// Tools converts tool definitions. A definition that is no function, such as a built-in tool of a provider, is kept as it was recorded.
func Tools(definitions []json.RawMessage) ([]json.RawMessage, error) {
	tools := make([]json.RawMessage, len(definitions))
	for i, raw := range definitions {
		var d struct {
			Type        string          `json:"type"`
			Name        string          `json:"name"`
			Description json.RawMessage `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
			Strict      *bool           `json:"strict"`
			Function    json.RawMessage `json:"function"`
		}
		if err := json.Unmarshal(raw, &d); err != nil || d.Type != "" && d.Type != "function" || d.Name == "" || d.Function != nil {
			tools[i] = raw
			continue
		}
		var err error
		if tools[i], err = jsontext.Encode(struct {
			Type     string `json:"type"`
			Function any    `json:"function"`
		}{"function", struct {
			Name        string          `json:"name"`
			Description json.RawMessage `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters,omitempty"`
			Strict      *bool           `json:"strict,omitempty"`
		}{d.Name, d.Description, d.Parameters, d.Strict}}); err != nil {
			return nil, err
		}
	}
	return tools, nil
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
