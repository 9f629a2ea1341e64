package playground

import "encoding/json"

// formatName is the name of a schema that was recorded without one: APIs want some.
const formatName = "answer"

// format restores a response format. OpenAI's two APIs and Anthropic's, Pydantic AI and others that record the schema
// alone write it in their ways.
func (o *Opened) format(where string, raw json.RawMessage) {
	if o.ResponseFormat != nil {
		return
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		switch {
		case isObject(text):
			raw = json.RawMessage(text)
		case text == "json_object" || text == "text":
			raw = json.RawMessage(`{"type":"` + text + `"}`)
		default:
			o.miss(where, "is only the name of a response format: "+clipped(text))
			return
		}
	}
	var format struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"schema"`
		JSON        json.RawMessage `json:"json_schema"`
		Strict      *bool           `json:"strict"`
		Properties  json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(raw, &format) != nil {
		o.miss(where, "is a response format of another API: "+clipped(string(raw)))
		return
	}
	switch {
	case format.Type == "text":
	case format.Type == "json_object":
		o.ResponseFormat = json.RawMessage(`{"type":"json_object"}`)
	case format.Type == "json_schema" && !isEmpty(format.JSON):
		var inner struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"schema"`
			Strict      *bool           `json:"strict"`
		}
		if json.Unmarshal(format.JSON, &inner) != nil || isEmpty(inner.Schema) {
			o.miss(where, "has no schema")
			return
		}
		o.schemaFormat(where, inner.Name, inner.Description, inner.Schema, inner.Strict)
	case format.Type == "json_schema" && !isEmpty(format.Schema):
		o.schemaFormat(where, format.Name, format.Description, format.Schema, format.Strict)
	case format.Type == "" && !isEmpty(format.JSON):
		o.schemaFormat(where, format.Name, format.Description, format.JSON, format.Strict)
	case !isEmpty(format.Properties):
		o.schemaFormat(where, formatName, "", raw, nil)
	default:
		o.miss(where, "is a response format of another API: "+clipped(string(raw)))
	}
}

// schema restores a schema that was recorded alone.
func (o *Opened) schema(where, schema, name, description string) {
	if schema == "" || o.ResponseFormat != nil {
		return
	}
	if !isObject(schema) {
		o.miss(where, "is no schema: "+clipped(schema))
		return
	}
	o.schemaFormat(where, name, description, json.RawMessage(schema), nil)
}

func (o *Opened) schemaFormat(where, name, description string, schema json.RawMessage, strict *bool) {
	if name == "" {
		name = formatName
	}
	text, err := json.Marshal(struct {
		Type   string `json:"type"`
		Schema any    `json:"json_schema"`
	}{"json_schema", struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"schema"`
		Strict      *bool           `json:"strict,omitempty"`
	}{name, description, lowerTypes(schema), strict}})
	if err != nil {
		o.miss(where, "is no schema: "+clipped(string(schema)))
		return
	}
	o.ResponseFormat = text
}
