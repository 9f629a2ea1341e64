package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/prompts/prompttemplate"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
)

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
		stored[i] = jsontext.Compact(text)
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
	names := template.Names()
	for i, message := range template.Messages {
		if name, ok := message["name"].(string); ok && message["type"] == "placeholder" && slices.Contains(names, name) {
			c.fail(fmt.Sprintf("messages[%d].name", i), "is also the name of a variable; choose another one")
		}
	}
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
		stored[i] = jsontext.Compact(text)
		switch err := json.Unmarshal(text, &tool); {
		case err != nil:
			c.fail(path, `must have the form {"type": "function", "function": {"name", "description", "parameters"}}`)
		case tool.Type == nil || *tool.Type == "":
			c.fail(path+".type", "must be the type of the tool, such as function")
		case *tool.Type == "function" && tool.Function.Name == "":
			c.fail(path+".function.name", "is needed")
		case *tool.Type == "function" && names[tool.Function.Name]:
			c.fail(path+".function.name", "is the name of another tool, too")
		case *tool.Type == "function" && !jsontext.IsNull(tool.Function.Parameters) && tool.Function.Parameters[0] != '{':
			c.fail(path+".function.parameters", "must be a JSON Schema, an object")
		}
		names[tool.Function.Name] = true
	}
	return stored
}

func (c *checker) responseFormat(text json.RawMessage) json.RawMessage {
	if jsontext.IsNull(text) {
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
	case format.Type == "json_schema" && (jsontext.IsNull(format.JSONSchema.Schema) || format.JSONSchema.Schema[0] != '{'):
		c.fail("response_format.json_schema.schema", "must be a JSON Schema, an object")
	}
	return jsontext.Compact(text)
}

// variables checks declarations and adds those of the texts.
func (c *checker) variables(text json.RawMessage, template *prompttemplate.Prompt) json.RawMessage {
	declared := map[string]json.RawMessage{}
	if !jsontext.IsNull(text) {
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
		v.Default, v.Example = jsontext.Compact(v.Default), jsontext.Compact(v.Example)
		stored[name] = v
		if v.Default != nil {
			value, err := decode(v.Default)
			if err != nil || value != nil && !(prompttemplate.Variable{Type: v.Type}).Accepts(value) {
				c.fail(path+".default", "must be of the type "+string(v.Type))
			}
			if err := json.Unmarshal(v.Default, new(any)); err != nil {
				c.fail(path+".default", "has a number that is out of range; write it as text")
				delete(stored, name)
			}
		}
	}
	for _, name := range template.Names() {
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
	for _, one := range err.(interface{ Unwrap() []error }).Unwrap() {
		var text *prompttemplate.TextError
		if errors.As(one, &text) {
			fields = append(fields, problem.Field{Location: c.location + "." + text.Path, Message: text.Err.Error()})
		}
	}
	return problem.InvalidFields(fields...)
}
