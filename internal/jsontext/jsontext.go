// Package jsontext writes and reads single JSON values.
package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode returns a value as JSON. Unlike json.Marshal, it leaves <, > and & as they are.
func Encode(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode as JSON: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// MustEncode is like Encode but panics if the value cannot be encoded. It is for types that always can be.
func MustEncode(value any) json.RawMessage {
	raw, err := Encode(value)
	if err != nil {
		panic(fmt.Sprintf("%T: %v", value, err))
	}
	return raw
}

// Compact returns a value without space between its tokens. What is not JSON stays as it is.
func Compact(raw json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return raw
	}
	return out.Bytes()
}

// IsNull reports whether a value is absent or null. Space around it does not count.
func IsNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// IsString reports whether a value is a string. No space may precede it.
func IsString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// IsObject reports whether a value is an object. No space may precede it.
func IsObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// IsArray reports whether a value is an array. No space may precede it.
func IsArray(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '[' }

// Text returns the text of a string, and any other value as it is written, without the space around it.
func Text(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	var text string
	if IsString(raw) && json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// String is like Text but returns an empty text for null.
func String(raw json.RawMessage) string {
	if IsNull(raw) {
		return ""
	}
	return Text(raw)
}

// Members reads an object. It returns nil for anything else.
func Members(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

// List reads an array. It returns nil for anything else.
func List(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// Equal reports whether two values are written the same.
func Equal(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
