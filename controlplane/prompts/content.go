package prompts

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/prompttemplate"
)

// Content is what a version is made of, as JSON.
type Content struct {
	// Messages have the shape of OpenAI's chat completions. A message of the type "placeholder" stands for a list of
	// messages.
	Messages []json.RawMessage
	// Tools have the shape of OpenAI's chat completions.
	Tools []json.RawMessage
	// ResponseFormat is an object, or nil for none.
	ResponseFormat json.RawMessage
	// ModelConfig is an object with the model and its parameters.
	ModelConfig json.RawMessage
	// Variables is an object with declarations by name.
	Variables json.RawMessage
	// TemplateFormat is mustache or none.
	TemplateFormat string
	Missing        prompttemplate.Missing
}

// The template formats.
const (
	formatMustache = "mustache"
	formatNone     = "none"
)

// NewVersion is a version to save. Absent members of its content have their defaults.
type NewVersion struct {
	Content
	Note string
	// BaseVersion is the version that was edited. If it is not nil, it must be the newest.
	BaseVersion *int
}

// prepared is a valid version to save.
type prepared struct {
	NewVersion
	template prompttemplate.Prompt
	// hash identifies the content.
	hash [sha256.Size]byte
}

// variable is a declaration in the form in which it is stored.
type variable struct {
	Type        prompttemplate.Type `json:"type"`
	Required    bool                `json:"required"`
	Default     json.RawMessage     `json:"default,omitempty"`
	Description string              `json:"description,omitempty"`
	Example     json.RawMessage     `json:"example,omitempty"`
}

// prepare checks a version, and fills in defaults and the variables of its texts. location is that of the version in
// the request, such as "body". It returns an error for each invalid field.
func (v NewVersion) prepare(location string) (*prepared, error) {
	p := &prepared{NewVersion: v}
	if p.TemplateFormat == "" {
		p.TemplateFormat = formatMustache
	}
	if p.Missing == "" {
		p.Missing = prompttemplate.MissingError
	}
	check := checker{location: location}
	p.template = prompttemplate.Prompt{Plain: p.TemplateFormat == formatNone, Missing: p.Missing}
	p.Messages = check.messages(v.Messages, &p.template)
	p.Tools = check.tools(v.Tools)
	p.ResponseFormat = check.responseFormat(v.ResponseFormat)
	p.ModelConfig = v.ModelConfig
	if isNull(p.ModelConfig) {
		p.ModelConfig = json.RawMessage(`{}`)
	}
	p.ModelConfig = compact(p.ModelConfig)
	p.Variables = check.variables(v.Variables, &p.template)
	check.add(checkText(location+".note", v.Note))
	if err := errors.Join(check.errs...); err != nil {
		return nil, err
	}
	hash, err := p.contentHash()
	if err != nil {
		return nil, err
	}
	p.hash = hash
	return p, nil
}

// contentHash returns the SHA-256 of the content as JSON. The order of members counts only in tools and the response
// format, which models see as they are.
func (p *prepared) contentHash() ([sha256.Size]byte, error) {
	var content struct {
		Messages       []any                  `json:"messages"`
		Tools          []json.RawMessage      `json:"tools"`
		ResponseFormat json.RawMessage        `json:"response_format"`
		ModelConfig    any                    `json:"model_config"`
		Variables      any                    `json:"variables"`
		TemplateFormat string                 `json:"template_format"`
		Missing        prompttemplate.Missing `json:"missing"`
	}
	content.Tools, content.ResponseFormat, content.TemplateFormat, content.Missing = p.Tools, p.ResponseFormat, p.TemplateFormat, p.Missing
	content.Messages = make([]any, len(p.Messages))
	var err error
	for i, message := range p.Messages {
		content.Messages[i], err = decode(message)
		if err != nil {
			return [sha256.Size]byte{}, fmt.Errorf("read a message: %w", err)
		}
	}
	if content.ModelConfig, err = decode(p.ModelConfig); err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("read the model configuration: %w", err)
	}
	if content.Variables, err = decode(p.Variables); err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("read the variables: %w", err)
	}
	text, err := json.Marshal(content)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("encode the content: %w", err)
	}
	return sha256.Sum256(text), nil
}

// checker collects the errors of a version.
type checker struct {
	location string
	errs     []error
}

func (c *checker) add(err error) {
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

func (c *checker) fail(path, message string) {
	c.add(problem.InvalidField(c.location+"."+path, message))
}

var (
	roles           = []string{"system", "developer", "user", "assistant", "tool"}
	placeholderName = regexp.MustCompile(`^[\p{L}\p{N}\p{M}_.-]{1,64}$`)
)

func (c *checker) messages(messages []json.RawMessage, template *prompttemplate.Prompt) []json.RawMessage {
	stored := make([]json.RawMessage, len(messages))
	for i, text := range messages {
		path := fmt.Sprintf("messages[%d]", i)
		value, err := decode(text)
		message, ok := value.(map[string]any)
		if err != nil || !ok {
			c.fail(path, "must be an object")
			continue
		}
		stored[i] = compact(text)
		template.Messages = append(template.Messages, message)
		if message["type"] == "placeholder" {
			c.placeholder(path, message)
		} else {
			c.message(path, message)
		}
	}
	if len(c.errs) > 0 {
		return stored // indexes of the template's messages may not be those of the request
	}
	c.add(c.syntax(template.Check()))
	return stored
}

func (c *checker) placeholder(path string, message map[string]any) {
	name, ok := message["name"].(string)
	if !ok || !placeholderName.MatchString(name) {
		c.fail(path+".name", "must be the name of the placeholder: up to 64 letters, digits, and any of _ . -")
	}
	for _, member := range slices.Sorted(maps.Keys(message)) {
		if member != "type" && member != "name" {
			c.fail(path+"."+member, "is not a member of a placeholder")
		}
	}
}

func (c *checker) message(path string, message map[string]any) {
	role, _ := message["role"].(string)
	if !slices.Contains(roles, role) {
		c.fail(path+".role", "must be one of "+strings.Join(roles, ", ")+`; a placeholder has "type": "placeholder" instead`)
	}
	calls, hasCalls := message["tool_calls"]
	switch {
	case hasCalls && role != "assistant":
		c.fail(path+".tool_calls", "is only for the role assistant")
	case hasCalls:
		c.toolCalls(path+".tool_calls", calls)
	}
	if id, ok := message["tool_call_id"].(string); role == "tool" && (!ok || id == "") {
		c.fail(path+".tool_call_id", "is needed for the role tool")
	}
	switch content := message["content"].(type) {
	case string:
	case nil:
		if !hasCalls {
			c.fail(path+".content", "must be a text or a list of parts")
		}
	case []any:
		for i, part := range content {
			c.part(fmt.Sprintf("%s.content[%d]", path, i), part)
		}
	default:
		c.fail(path+".content", "must be a text or a list of parts")
	}
}

func (c *checker) part(path string, value any) {
	part, ok := value.(map[string]any)
	kind, isText := part["type"].(string)
	switch {
	case !ok:
		c.fail(path, "must be an object")
	case !isText || kind == "":
		c.fail(path+".type", "must be the type of the part, such as text or image_url")
	case kind == "text":
		if _, ok := part["text"].(string); !ok {
			c.fail(path+".text", "must be a text")
		}
	case kind == "image_url":
		image, _ := part["image_url"].(map[string]any)
		_, isURL := image["url"].(string)
		if _, isPlain := part["image_url"].(string); !isURL && !isPlain {
			c.fail(path+".image_url.url", "must be a text")
		}
	}
}

func (c *checker) toolCalls(path string, value any) {
	calls, ok := value.([]any)
	if !ok {
		c.fail(path, "must be a list")
		return
	}
	for i, one := range calls {
		call, _ := one.(map[string]any)
		function, _ := call["function"].(map[string]any)
		name, _ := function["name"].(string)
		_, hasArguments := function["arguments"].(string)
		if id, _ := call["id"].(string); id == "" || call["type"] == "function" && (name == "" || !hasArguments) {
			c.fail(fmt.Sprintf("%s[%d]", path, i), `must have the form {"id", "type": "function", "function": {"name", "arguments"}}; arguments are JSON as a text`)
		}
	}
}

func (c *checker) tools(tools []json.RawMessage) []json.RawMessage {
	stored := make([]json.RawMessage, len(tools))
	names := map[string]bool{}
	for i, text := range tools {
		path := fmt.Sprintf("tools[%d]", i)
		var tool struct {
			Type     *string `json:"type"`
			Function struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"function"`
		}
		stored[i] = compact(text)
		switch err := json.Unmarshal(text, &tool); {
		case err != nil:
			c.fail(path, `must have the form {"type": "function", "function": {"name", "description", "parameters"}}`)
		case tool.Type == nil || *tool.Type == "":
			c.fail(path+".type", "must be the type of the tool, such as function")
		case *tool.Type == "function" && tool.Function.Name == "":
			c.fail(path+".function.name", "is needed")
		case *tool.Type == "function" && names[tool.Function.Name]:
			c.fail(path+".function.name", "is the name of another tool, too")
		case *tool.Type == "function" && !isNull(tool.Function.Parameters) && tool.Function.Parameters[0] != '{':
			c.fail(path+".function.parameters", "must be a JSON Schema, an object")
		}
		names[tool.Function.Name] = true
	}
	return stored
}

func (c *checker) responseFormat(text json.RawMessage) json.RawMessage {
	if isNull(text) {
		return nil
	}
	var format struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	switch err := json.Unmarshal(text, &format); {
	case err != nil || format.Type == "":
		c.fail("response_format", `must have the form {"type": "json_schema", "json_schema": {"name", "schema"}}, {"type": "json_object"} or {"type": "text"}`)
	case format.Type == "json_schema" && format.JSONSchema.Name == "":
		c.fail("response_format.json_schema.name", "is needed")
	case format.Type == "json_schema" && (isNull(format.JSONSchema.Schema) || format.JSONSchema.Schema[0] != '{'):
		c.fail("response_format.json_schema.schema", "must be a JSON Schema, an object")
	}
	return compact(text)
}

// variables checks declarations and adds those of the texts.
func (c *checker) variables(text json.RawMessage, template *prompttemplate.Prompt) json.RawMessage {
	declared := map[string]json.RawMessage{}
	if !isNull(text) {
		if err := json.Unmarshal(text, &declared); err != nil {
			c.fail("variables", "must be an object")
			return nil
		}
	}
	stored := map[string]variable{}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		path := "variables." + name
		parsed, err := prompttemplate.Parse("{{" + name + "}}")
		if err != nil || !slices.Equal(parsed.Variables(), []string{name}) {
			c.fail(path, "is not a name; names have letters, digits, _ and -")
			continue
		}
		v := variable{Type: prompttemplate.TypeAny, Required: true}
		if err := json.Unmarshal(declared[name], &v); err != nil {
			c.fail(path, "must be a declaration such as {\"type\": \"string\"}")
			continue
		}
		v.Default, v.Example = compact(v.Default), compact(v.Example)
		stored[name] = v
		if v.Default != nil {
			value, err := decode(v.Default)
			if err != nil || value != nil && !(prompttemplate.Variable{Type: v.Type}).Accepts(value) {
				c.fail(path+".default", "must be of the type "+string(v.Type))
			}
		}
	}
	for _, name := range template.Inferred() {
		if _, ok := stored[name]; !ok {
			stored[name] = variable{Type: prompttemplate.TypeAny, Required: true}
		}
	}
	written, err := json.Marshal(stored)
	if err != nil {
		c.add(fmt.Errorf("encode the variables: %w", err))
		return nil
	}
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal(written, &raw); err != nil {
		c.add(fmt.Errorf("read the variables: %w", err))
		return nil
	}
	template.Variables, err = prompttemplate.ReadVariables(raw)
	c.add(err)
	return written
}

// syntax turns the errors of templates into those of fields.
func (c *checker) syntax(err error) error {
	if err == nil {
		return nil
	}
	var fields []problem.Field
	for _, one := range err.(interface{ Unwrap() []error }).Unwrap() { //nolint:errorlint // Check returns joined errors
		var text *prompttemplate.TextError
		if errors.As(one, &text) {
			fields = append(fields, problem.Field{Location: c.location + "." + text.Path, Message: text.Err.Error()})
		}
	}
	return problem.InvalidFields(fields...)
}

func isNull(text json.RawMessage) bool {
	return len(text) == 0 || string(text) == "null"
}

// compact returns JSON without space between its tokens. It was validated.
func compact(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return nil
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return text
	}
	return out.Bytes()
}

// decode reads JSON and keeps numbers as they are written.
func decode(text json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return value, nil
}

// decodeMessages reads messages for rendering.
func decodeMessages(messages []json.RawMessage) ([]map[string]any, error) {
	list := make([]map[string]any, 0, len(messages))
	for _, text := range messages {
		value, err := decode(text)
		if err != nil {
			return nil, err
		}
		message, ok := value.(map[string]any)
		if !ok {
			return nil, errors.New("a message is no object")
		}
		list = append(list, message)
	}
	return list, nil
}
