package runmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Kinds of Content.
const (
	// ContentMessage is one message of gen_ai.input.messages or gen_ai.output.messages.
	ContentMessage = "message"
	// ContentInstructions is a whole gen_ai.system_instructions, ContentToolDefinitions a whole
	// gen_ai.tool.definitions.
	ContentInstructions    = "instructions"
	ContentToolDefinitions = "tool_definitions"
	// ContentResource is the attributes of a resource as a JSON object.
	ContentResource = "resource"
)

// searchableMembers are the members of a message under which every string is text that a person or a model
// wrote or read (gen_ai-input-messages.json and gen_ai-output-messages.json of the GenAI conventions).
var searchableMembers = []string{"content", "arguments", "response", "result"}

// ContentID is the identity of a content within a run: the hash of its kind and its JSON text.
func ContentID(kind, text string) uint64 {
	var d xxhash.Digest
	d.Reset()
	_, _ = d.WriteString(kind) // a hash never returns an error
	_, _ = d.Write([]byte{0})
	_, _ = d.WriteString(text)
	return max(d.Sum64(), 1) // 0 means absent
}

// SplitContent takes the searchable strings of a message out of its JSON text, in document order, and leaves
// "" in their places. JoinContent puts them back. Contents of other kinds are not searched and stay whole.
func SplitContent(kind, text string) (frame string, texts []string, err error) {
	if kind != ContentMessage {
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(text)); err != nil {
			return "", nil, fmt.Errorf("parse %s: %w", kind, err)
		}
		return compact.String(), nil, nil
	}
	message, err := parseJSON(text)
	if err != nil {
		return "", nil, fmt.Errorf("parse %s: %w", kind, err)
	}
	frame, texts = splitMessage(message)
	return frame, texts, nil
}

func splitMessage(message any) (frame string, texts []string) {
	var b strings.Builder
	_ = writeJSON(&b, message, false, func(s string, searchable bool) (string, error) { // replace never fails here
		if searchable || s == "" {
			texts = append(texts, s)
			return "", nil
		}
		return s, nil
	})
	return b.String(), texts
}

var errFrame = errors.New("content frame and texts do not fit")

// JoinContent rebuilds the JSON text of a content.
func JoinContent(kind, frame string, texts []string) (json.RawMessage, error) {
	if kind != ContentMessage {
		return json.RawMessage(frame), nil
	}
	message, err := parseJSON(frame)
	if err != nil {
		return nil, fmt.Errorf("parse %s frame: %w", kind, err)
	}
	var b strings.Builder
	err = writeJSON(&b, message, false, func(s string, _ bool) (string, error) {
		if s != "" {
			return s, nil
		}
		if len(texts) == 0 {
			return "", errFrame
		}
		s, texts = texts[0], texts[1:]
		return s, nil
	})
	if err != nil {
		return nil, err
	}
	if len(texts) > 0 {
		return nil, errFrame
	}
	return json.RawMessage(b.String()), nil
}

func parseJSON(text string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the JSON value")
	}
	return value, nil
}

// writeJSON writes value with the members of every object in sorted order, which is what makes the order
// of a frame's strings a fixed one. Each string value passes through replace first.
func writeJSON(b *strings.Builder, value any, searchable bool, replace func(s string, searchable bool) (string, error)) error {
	switch value := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		b.WriteByte('{')
		for i, key := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, key)
			b.WriteByte(':')
			if err := writeJSON(b, value[key], searchable || slices.Contains(searchableMembers, key), replace); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, element := range value {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(b, element, searchable, replace); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case string:
		s, err := replace(value, searchable)
		if err != nil {
			return err
		}
		writeString(b, s)
	case json.Number:
		b.WriteString(value.String())
	case bool:
		if value {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	default:
		b.WriteString("null")
	}
	return nil
}

func writeString(b *strings.Builder, s string) {
	encoder := json.NewEncoder(trimNewline{b})
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string always encodes, and a strings.Builder never fails
}

// trimNewline drops the newline that json.Encoder writes after each value.
type trimNewline struct{ b *strings.Builder }

func (w trimNewline) Write(p []byte) (int, error) {
	w.b.Write(bytes.TrimSuffix(p, []byte("\n")))
	return len(p), nil
}

// splitElements cuts the text of a JSON array into the texts of its elements. It looks only at quotes and
// brackets: whether each element is valid JSON shows when it is parsed. ok is false where the text is not
// an array.
func splitElements(text string) (elements []string, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return nil, false
	}
	inner := text[1 : len(text)-1]
	depth, start, quoted := 0, 0, false
	for i := 0; i < len(inner); i++ {
		c := inner[i]
		switch {
		case quoted:
			switch c {
			case '\\':
				i++
			case '"':
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
			if depth < 0 {
				return nil, false
			}
		case c == ',' && depth == 0:
			elements = append(elements, strings.TrimSpace(inner[start:i]))
			start = i + 1
		}
	}
	if quoted || depth != 0 {
		return nil, false
	}
	if last := strings.TrimSpace(inner[start:]); last != "" || len(elements) > 0 {
		elements = append(elements, last)
	}
	return elements, true
}

// MessageText returns the role of a message and its text parts, joined by newlines. calls tells that the
// message asks for a tool call. A message of another shape than the conventions' has none of them.
func MessageText(text json.RawMessage) (role, joined string, calls bool) {
	message, err := parseJSON(string(text))
	if err != nil {
		return "", "", false
	}
	return messageText(message)
}

func messageText(message any) (role, joined string, calls bool) {
	members, _ := message.(map[string]any)
	role, _ = members["role"].(string)
	parts, _ := members["parts"].([]any)
	var texts []string
	for _, part := range parts {
		part, _ := part.(map[string]any)
		switch part["type"] {
		case "text":
			if content, ok := part["content"].(string); ok && content != "" {
				texts = append(texts, content)
			}
		case "tool_call", "server_tool_call":
			calls = true
		}
	}
	return role, strings.Join(texts, "\n"), calls
}
