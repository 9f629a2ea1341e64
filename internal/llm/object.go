package llm

import (
	"bytes"
	"encoding/json"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// object is a JSON object whose members are written in the order in which they were set.
type object struct {
	names  []string
	values map[string]json.RawMessage
}

// set adds a member. Its value must be one that JSON can express.
func (o *object) set(name string, value any) {
	raw, ok := value.(json.RawMessage)
	if !ok {
		raw = jsontext.MustEncode(value)
	}
	if o.values == nil {
		o.values = map[string]json.RawMessage{}
	}
	if _, found := o.values[name]; !found {
		o.names = append(o.names, name)
	}
	o.values[name] = raw
}

func (o *object) encode() json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, name := range o.names {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(jsontext.MustEncode(name))
		out.WriteByte(':')
		out.Write(o.values[name])
	}
	out.WriteByte('}')
	return out.Bytes()
}

// members reads a JSON object. Its values are not decoded.
func members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, err
	}
	if values == nil {
		return nil, errNotObject
	}
	return values, nil
}

// text returns the value of a JSON string, or "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
