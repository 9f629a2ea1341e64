package importing

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// ModelConfig has the members of PromptModelConfig in the API.
type ModelConfig struct {
	Model           string                     `json:"model,omitempty"`
	Temperature     *float64                   `json:"temperature,omitempty"`
	TopP            *float64                   `json:"top_p,omitempty"`
	MaxOutputTokens *int64                     `json:"max_output_tokens,omitempty"`
	Stop            []string                   `json:"stop,omitempty"`
	Seed            *int64                     `json:"seed,omitempty"`
	ReasoningEffort string                     `json:"reasoning_effort,omitempty"`
	ToolChoice      json.RawMessage            `json:"tool_choice,omitempty"`
	Extra           map[string]json.RawMessage `json:"extra,omitempty"`
}

// modelMember is a member of ModelConfig.
type modelMember struct {
	// names are those that sources have for it, the preferred ones first.
	names []string
	// set takes a value, or says why not.
	set func(c *ModelConfig, raw json.RawMessage) (reason string)
}

var modelMembers = []modelMember{
	{[]string{"model", "model_name", "modelName"}, func(c *ModelConfig, raw json.RawMessage) string {
		name, ok := text(raw)
		if !ok || name == "" || len([]rune(name)) > 200 {
			return "is no name of 1 to 200 characters"
		}
		c.Model = name
		return ""
	}},
	{[]string{"temperature"}, func(c *ModelConfig, raw json.RawMessage) (reason string) {
		c.Temperature, reason = number(raw, 0, 10)
		return reason
	}},
	{[]string{"top_p", "topP"}, func(c *ModelConfig, raw json.RawMessage) (reason string) {
		c.TopP, reason = number(raw, 0, 1)
		return reason
	}},
	{[]string{"max_output_tokens", "max_completion_tokens", "max_tokens", "maxOutputTokens", "maxTokens", "max_tokens_to_sample"}, func(c *ModelConfig, raw json.RawMessage) (reason string) {
		c.MaxOutputTokens, reason = integer(raw, 1, 100_000_000)
		return reason
	}},
	{[]string{"stop", "stop_sequences", "stopSequences"}, func(c *ModelConfig, raw json.RawMessage) string {
		list := []string{}
		if one, ok := text(raw); ok {
			list = append(list, one)
		} else if err := json.Unmarshal(raw, &list); err != nil {
			return "is no list of texts"
		}
		if len(list) > 16 || slices.ContainsFunc(list, func(s string) bool { return s == "" || len([]rune(s)) > 1000 }) {
			return "has more than 16 texts, or one that is empty or longer than 1000 characters"
		}
		c.Stop = list
		return ""
	}},
	{[]string{"seed"}, func(c *ModelConfig, raw json.RawMessage) (reason string) {
		const maxSafe = 1<<53 - 1
		c.Seed, reason = integer(raw, -maxSafe, maxSafe)
		return reason
	}},
	{[]string{"reasoning_effort", "reasoningEffort"}, func(c *ModelConfig, raw json.RawMessage) string {
		effort, ok := text(raw)
		if !ok || effort == "" || len([]rune(effort)) > 64 {
			return "is no text of 1 to 64 characters"
		}
		c.ReasoningEffort = effort
		return ""
	}},
	{[]string{"tool_choice", "toolChoice"}, func(c *ModelConfig, raw json.RawMessage) (reason string) {
		c.ToolChoice, reason = toolChoice(raw)
		return reason
	}},
}

func number(raw json.RawMessage, least, most float64) (*float64, string) {
	var n float64
	if err := json.Unmarshal(raw, &n); err != nil {
		return nil, "is no number"
	}
	if n < least || n > most {
		return nil, fmt.Sprintf("%s is not between %g and %g", raw, least, most)
	}
	return &n, ""
}

func integer(raw json.RawMessage, least, most float64) (*int64, string) {
	n, reason := number(raw, least, most)
	if reason != "" {
		return nil, reason
	}
	whole := int64(*n)
	if float64(whole) != *n {
		return nil, fmt.Sprintf("%s is no integer", raw)
	}
	return &whole, ""
}

// toolChoice takes the shapes of chat completions, of the Responses API and of LangChain.
func toolChoice(raw json.RawMessage) (json.RawMessage, string) {
	if choice, ok := text(raw); ok {
		switch choice {
		case "auto", "none", "required":
			return raw, ""
		case "any":
			return json.RawMessage(`"required"`), ""
		default:
			return nil, shown(choice) + " is none of auto, none and required"
		}
	}
	o, ok := asObject(raw)
	if !ok {
		return nil, "is neither a text nor an object"
	}
	if o.text("type") == "function" && o["function"] == nil && o.text("name") != "" {
		return json.RawMessage(`{"type":"function","function":{"name":` + string(o["name"]) + `}}`), ""
	}
	return raw, ""
}

// isSecret reports whether a member may hold a secret. It is not imported.
func isSecret(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	for _, word := range []string{"api_key", "apikey", "secret", "password", "authorization", "access_token", "headers", "credentials"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// settings reads parameters of a model. Those without a member of their own become extra. Tools and the response format
// may be among them, see [builder.setTools].
func (b *builder) settings(o object, path string) {
	o = maps.Clone(o)
	c := &b.version.ModelConfig
	at := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if jsontext.IsNull(o[name]) {
			delete(o, name)
		} else if isSecret(name) {
			b.version.leaveOut(at(name), "may be a secret")
			delete(o, name)
		}
	}
	for _, m := range modelMembers {
		taken := ""
		for _, name := range m.names {
			raw, found := o[name]
			if !found {
				continue
			}
			delete(o, name)
			if taken != "" {
				b.version.leaveOut(at(name), "%s is used", taken)
			} else if reason := m.set(c, raw); reason != "" {
				b.version.leaveOut(at(name), "%s", reason)
			} else {
				taken = name
			}
		}
	}
	if reasoning, ok := asObject(o["reasoning"]); ok {
		delete(o, "reasoning")
		b.settings(object{"reasoning_effort": reasoning["effort"]}, path)
		delete(reasoning, "effort")
		b.leaveOutMembers(reasoning, at("reasoning"), "has no place in a prompt")
	}
	if raw, found := o["tools"]; found {
		delete(o, "tools")
		b.setTools(raw, at("tools"))
	}
	if raw, found := o["response_format"]; found {
		delete(o, "response_format")
		b.setResponseFormat(raw, at("response_format"))
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if c.Extra == nil {
			c.Extra = map[string]json.RawMessage{}
		}
		c.Extra[name] = o[name]
	}
}

// leaveOutMembers lists members that are not null.
func (b *builder) leaveOutMembers(o object, path, reason string) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !jsontext.IsNull(o[name]) {
			b.version.leaveOut(strings.TrimPrefix(path+"."+name, "."), "%s", reason)
		}
	}
}

// function is a tool of chat completions.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// setTools takes tools in the shapes of chat completions, the Responses API and Anthropic.
func (b *builder) setTools(raw json.RawMessage, path string) {
	items, isList := value{raw: raw}.list()
	if !isList {
		b.version.leaveOut(path, "is no list")
		return
	}
	var tools []json.RawMessage
	names := map[string]bool{}
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", path, i)
		o, isObject := item.object()
		if !isObject {
			b.version.leaveOut(at, "is no object")
			continue
		}
		tool, err := b.tool(o, item.raw, at)
		if err == nil {
			err = checkTool(tool, at, names)
		}
		if err != nil {
			b.fail(err)
			return
		}
		tools = append(tools, tool)
	}
	if len(tools) > maxTools {
		b.fail(reject(path, "has %d tools; a prompt has at most %d", len(tools), maxTools))
		return
	}
	if len(tools) == 0 {
		return
	}
	if b.version.Tools != nil {
		b.version.leaveOut(path, "the prompt has other tools")
		return
	}
	encoded, err := jsontext.Encode(tools)
	b.fail(err)
	b.version.Tools = encoded
}

// checkTool refuses tools that are not as in chat completions. names has the functions so far.
func checkTool(tool json.RawMessage, path string, names map[string]bool) error {
	o, _ := asObject(tool)
	f, _ := asObject(o["function"])
	name := f.text("name")
	switch kind := o.text("type"); {
	case kind == "":
		return reject(path, "has no type")
	case kind != "function":
		return nil
	case name == "":
		return reject(path, "is a function without a name")
	case names[name]:
		return reject(path, "is a second function %s", shown(name))
	case !jsontext.IsNull(f["parameters"]) && !jsontext.IsObject(f["parameters"]):
		return reject(path, "the parameters of %s are no JSON Schema", shown(name))
	}
	names[name] = true
	return nil
}

func (b *builder) tool(o object, raw json.RawMessage, path string) (json.RawMessage, error) {
	kind := o.text("type")
	if o["function"] != nil || kind != "function" && (kind != "" || o.text("name") == "") {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(o)), isSecret) {
			return raw, nil
		}
		o = maps.Clone(o)
		for _, name := range slices.Sorted(maps.Keys(o)) {
			if isSecret(name) && !jsontext.IsNull(o[name]) {
				b.version.leaveOut(path+"."+name, "may be a secret")
				delete(o, name)
			}
		}
		return jsontext.Encode(o)
	}
	f := function{Name: o.text("name"), Description: o.text("description"), Parameters: o["parameters"]}
	if jsontext.IsNull(f.Parameters) {
		f.Parameters = o["input_schema"]
	}
	if jsontext.IsNull(f.Parameters) {
		f.Parameters = nil
	}
	if raw := o["strict"]; !jsontext.IsNull(raw) {
		if err := json.Unmarshal(raw, &f.Strict); err != nil {
			b.version.leaveOut(path+".strict", "is no boolean")
		}
	}
	rest := maps.Clone(o)
	for _, name := range []string{"type", "name", "description", "parameters", "input_schema", "strict"} {
		delete(rest, name)
	}
	b.leaveOutMembers(rest, path, "functions of chat completions do not have it")
	return jsontext.Encode(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", f})
}

// setResponseFormat takes the shapes of chat completions and of text.format in the Responses API, and a bare JSON Schema.
func (b *builder) setResponseFormat(raw json.RawMessage, path string) {
	o, ok := asObject(raw)
	if !ok {
		b.version.leaveOut(path, "is no object")
		return
	}
	var err error
	kind, inner := o.text("type"), o
	switch {
	case kind == "text": // what a model does anyway
		return
	case o["json_schema"] != nil:
		inner, _ = asObject(o["json_schema"])
	case kind == "json_schema":
		raw, err = jsonSchema(o)
	case o["properties"] != nil:
		inner = object{"name": json.RawMessage(`"` + schemaName(o.text("title")) + `"`), "schema": raw}
		kind = "json_schema"
		raw, err = jsonSchema(inner)
	}
	if kind == "" || kind == "json_schema" && (inner.text("name") == "" || !jsontext.IsObject(inner["schema"])) {
		b.version.leaveOut(path, "is no response format with a type, and for json_schema a name and a schema")
		return
	}
	if err == nil {
		b.version.ResponseFormat, err = jsontext.Encode(raw)
	}
	b.fail(err)
}

// jsonSchema writes a response format with the members of json_schema.
func jsonSchema(o object) (json.RawMessage, error) {
	o = maps.Clone(o)
	maps.DeleteFunc(o, func(_ string, raw json.RawMessage) bool { return jsontext.IsNull(raw) })
	schema := struct {
		Name        json.RawMessage `json:"name,omitempty"`
		Description json.RawMessage `json:"description,omitempty"`
		Schema      json.RawMessage `json:"schema,omitempty"`
		Strict      json.RawMessage `json:"strict,omitempty"`
	}{o["name"], o["description"], o["schema"], o["strict"]}
	return jsontext.Encode(struct {
		Type       string `json:"type"`
		JSONSchema any    `json:"json_schema"`
	}{"json_schema", schema})
}

// schemaName makes a name that response formats may have.
func schemaName(title string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, title)
	if name == "" {
		return "response"
	}
	return name[:min(len(name), 64)]
}
