package llm

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// Object is a JSON object whose members are written in the order in which they were set.
type Object struct {
	Names  []string
	Values map[string]json.RawMessage
}

// Set adds a member. Its value must be one that JSON can express.
func (o *Object) Set(name string, value any) {
	raw, ok := value.(json.RawMessage)
	if !ok {
		raw = jsontext.MustEncode(value)
	}
	if o.Values == nil {
		o.Values = map[string]json.RawMessage{}
	}
	if _, found := o.Values[name]; !found {
		o.Names = append(o.Names, name)
	}
	o.Values[name] = raw
}

// Encode writes the members in their order.
func (o *Object) Encode() json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, name := range o.Names {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(jsontext.MustEncode(name))
		out.WriteByte(':')
		out.Write(o.Values[name])
	}
	out.WriteByte('}')
	return out.Bytes()
}

// Members reads a JSON object. Its values are not decoded.
func Members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, err
	}
	if values == nil {
		return nil, errNotObject
	}
	return values, nil
}

// TextOf returns the value of a JSON string, or "" for anything else.
func TextOf(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// IsEmpty reports whether a JSON value is null, an empty text or an empty list.
func IsEmpty(value json.RawMessage) bool {
	return jsontext.IsNull(value) || string(value) == `""` || value[0] == '[' && len(bytes.TrimSpace(value[1:len(value)-1])) == 0
}

var errNotObject = errors.New("it is no JSON object")
