package genaispans

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// keyContentState says why received content was not mapped: it was truncated or removed before it was sent.
const keyContentState = "looptrace.content.state"

// applyMessages writes messages in the newest format. Messages that have it already stay unchanged.
func (x *span) applyMessages(to target, c *candidate) {
	if c.kind == fromCanonical {
		x.putString(to, c.text)
		return
	}
	text := c.text
	if c.kind == fromAttribute {
		text = valueText(c.value)
	}
	if x.isCanonical(to, text) {
		if c.source != fields[to].key {
			x.putString(to, text)
		}
		return
	}
	if state := contentState(text); state != "" {
		x.putOwnString(ownContentState, state)
		if state != stateTruncated {
			return
		}
	}
	role := "user"
	if to == toOutputMessages {
		role = "assistant"
	}
	if w, ok := messagesOf(x.buffer(encodedLen(len(text))), text, role); ok {
		x.putString(to, x.keep(w.b))
	}
}

// isCanonical reports whether messages have the newest format already. Each call of an agent repeats the messages of
// the call before it: that prefix is not checked again.
func (x *span) isCanonical(to target, text string) bool {
	seen := len(x.history) - len("]")
	if seen < 0 || len(text) <= seen || text[:seen] != x.history[:seen] {
		seen = 0
	}
	if !isCanonicalFrom(text, seen) {
		return false
	}
	if to == toInputMessages && strings.HasSuffix(text, "}]") {
		x.history = text
	}
	return true
}

const (
	stateTruncated = "truncated"
	stateRedacted  = "redacted"
	stateAbsent    = "not captured"
)

// contentState recognizes the placeholders that instrumentations write instead of content.
func contentState(text string) string {
	const maxMarker = 64
	trimmed := strings.TrimSpace(text)
	if len(trimmed) <= maxMarker {
		switch unquoted(trimmed) {
		case "<REDACTED>", "__REDACTED__", "[REDACTED]":
			return stateRedacted
		case "{}", "<not serializable>", "[]":
			return stateAbsent
		}
		if strings.HasPrefix(trimmed, "[Scrubbed due to ") {
			return stateRedacted
		}
	}
	tail := trimmed[max(0, len(trimmed)-maxMarker):]
	if strings.Contains(tail, "[TRUNCATED") || strings.HasSuffix(tail, "...[truncated]") {
		return stateTruncated
	}
	return ""
}

// applyInstructions writes system instructions as a list of parts.
func (x *span) applyInstructions(c *candidate) {
	text := c.text
	if c.kind == fromAttribute {
		text = valueText(c.value)
	}
	if c.kind != fromText && canonicalInstructions(text) {
		if c.source != fields[toSystemInstructions].key {
			x.putString(toSystemInstructions, text)
		}
		return
	}
	if contentState(text) == stateRedacted {
		x.putOwnString(ownContentState, stateRedacted)
		return
	}
	w := writer{b: append(x.buffer(encodedLen(len(text))), '[')}
	w.instructions(text, c.kind == fromText)
	w.b = append(w.b, ']')
	if w.parts > 0 {
		x.putString(toSystemInstructions, x.keep(w.b))
	}
}

// instructions writes the parts of a string, a list of strings or parts, a message, or an object that has parts.
func (w *writer) instructions(text string, plain bool) {
	trimmed := strings.TrimSpace(text)
	if !plain {
		if inner, ok := jsonString(trimmed); ok {
			w.text(inner)
			return
		}
		if elements, ok := parseArray(trimmed); ok {
			for _, element := range elements {
				w.instruction(element)
			}
			return
		}
		if strings.HasPrefix(trimmed, "{") && isJSON(trimmed) {
			w.instruction(trimmed)
			return
		}
	}
	if trimmed != "" {
		w.text(text)
	}
}

func (w *writer) instruction(element string) {
	o, ok := parseObject(element)
	switch {
	case !ok:
		w.jsonText(element)
	case o.get("role", "parts") != "" && o.get("type") == "":
		w.content(o.get("parts", "content"))
	default:
		w.partOf(o, element)
	}
}

// applyDocuments writes retrieved documents without the object that wraps each of them.
func (x *span) applyDocuments(c *candidate) {
	if c.kind == fromCanonical {
		x.putString(toRetrievalDocuments, c.text)
		return
	}
	text := c.plain()
	elements, ok := parseArray(text)
	if !ok {
		x.applyAny(toRetrievalDocuments, c)
		return
	}
	b := append(x.buffer(len(text)), '[')
	for i, element := range elements {
		if i > 0 {
			b = append(b, ',')
		}
		if o, isObject := parseObject(element); isObject && len(o) == 1 && o.at("document") != nil {
			element = o.get("document")
		}
		b = append(b, element...)
	}
	b = append(b, ']')
	if c.source != fields[toRetrievalDocuments].key || string(b) != text {
		x.putString(toRetrievalDocuments, x.keep(b))
	}
}

// applyTools writes tool definitions as a list of {type, name, description, parameters}.
func (x *span) applyTools(c *candidate) {
	if c.kind == fromCanonical {
		x.putString(toToolDefinitions, c.text)
		return
	}
	text := c.text
	if c.kind == fromAttribute {
		text = valueText(c.value)
		if c.value.Type() == pcommon.ValueTypeSlice { // a list of strings of JSON
			text = sliceJSON(c.value.Slice())
		}
	}
	if canonicalTools(text) {
		if c.source != fields[toToolDefinitions].key {
			x.putString(toToolDefinitions, text)
		}
		return
	}
	b, n := appendTools(append(x.buffer(encodedLen(len(text))), '['), text, 0)
	if n > 0 {
		x.putString(toToolDefinitions, x.keep(append(b, ']')))
	}
}

// sliceJSON joins a list of strings of JSON into one JSON array.
func sliceJSON(slice pcommon.Slice) string {
	b := []byte{'['}
	for i, element := range slice.All() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, jsonOrString(valueText(element))...)
	}
	return string(append(b, ']'))
}

// appendTools appends the tools of a list, or of an object that wraps a list, and returns their new number.
func appendTools(b []byte, text string, n int) ([]byte, int) {
	elements, ok := parseArray(text)
	if !ok {
		o, isObject := parseObject(text)
		if !isObject {
			return b, n
		}
		if inner := o.get("tools", "function_tools", "functionDeclarations", "function_declarations"); inner != "" {
			return appendTools(b, inner, n)
		}
		elements = []string{text}
	}
	for _, element := range elements {
		if plain, isString := jsonString(element); isString {
			element = plain
		}
		if o, isObject := parseObject(element); isObject {
			if inner := o.get("functionDeclarations", "function_declarations"); inner != "" {
				b, n = appendTools(b, inner, n)
				continue
			}
		}
		if appended, good := appendTool(b, element, n > 0); good {
			b, n = appended, n+1
		}
	}
	return b, n
}

// appendTool appends a tool's definition in any format: OpenAI's {type, function}, Anthropic's {name, input_schema},
// Bedrock's {toolSpec}, Gemini's declarations, the AI SDK's, or a bare name.
func appendTool(b []byte, text string, more bool) ([]byte, bool) {
	o, ok := parseObject(text)
	if !ok {
		text = strings.TrimSpace(text)
		if text == "" || strings.ContainsAny(text, "{}\n") {
			return b, false
		}
		return appendFlatTool(b, object{{"name", string(appendString(nil, text))}}, more), true
	}
	if function := o.at("function"); function != nil {
		return appendFlatTool(b, function, more), true
	}
	if spec := o.at("toolSpec"); spec != nil {
		o = spec
		if schema := o.at("inputSchema"); schema != nil && schema.get("json") != "" {
			o = append(o, member{"parameters", schema.get("json")})
		}
	}
	if o.get("name", "tool.name") == "" {
		if o.str("type") == "" {
			return b, false
		}
		if more {
			b = append(b, ',')
		}
		return append(b, text...), true // a built-in tool of the provider: {type: web_search}
	}
	return appendFlatTool(b, o, more), true
}

func appendFlatTool(b []byte, o object, more bool) []byte {
	if more {
		b = append(b, ',')
	}
	kind := o.str("type")
	if kind == "" || kind == "custom" {
		kind = "function"
	}
	b = append(b, `{"type":`...)
	b = appendString(b, kind)
	b = append(b, `,"name":`...)
	b = appendString(b, o.plain("name", "tool.name"))
	if description := o.get("description", "tool.description"); description != "" {
		b = append(b, `,"description":`...)
		b = append(b, description...)
	}
	parameters := o.get("parameters", "input_schema", "inputSchema", "parameters_json_schema", "parametersJsonSchema")
	if parameters = decoded(parameters); parameters != "" {
		b = append(b, `,"parameters":`...)
		b = append(b, parameters...)
	}
	if strict := o.get("strict"); strict == "true" || strict == "false" {
		b = append(b, `,"strict":`...)
		b = append(b, strict...)
	}
	return append(b, '}')
}
