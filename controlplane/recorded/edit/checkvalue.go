package edit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
)

// value checks what an edit sets.
func (c *checker) value(at string, s *Set) {
	switch {
	case s.Model != nil && *s.Model == "":
		c.wrong(at, "is empty: name a model.")
	case s.Model != nil && strings.ContainsFunc(*s.Model, unicode.IsControl):
		c.wrong(at, "is no name of a model: it has control characters.")
	case s.Params != nil:
		c.params(at, s.Params)
	case s.SystemPrompt != nil && *s.SystemPrompt == "":
		c.wrong(at, "is empty: to remove the system message, edit the messages of the call.")
	case s.Prompt != nil:
		c.messages(at+".messages", s.Prompt.Messages)
		for i, raw := range s.Prompt.Tools {
			c.tool(fmt.Sprintf("%s.tools[%d]", at, i), raw)
		}
		c.params(at+".params", s.Prompt.Params)
	case s.Messages != nil:
		c.messages(at, s.Messages)
	case len(s.Response) > 0:
		c.response(at, s.Response)
	case len(s.ToolSchema) > 0:
		c.tool(at, s.ToolSchema)
	case len(s.ToolResult) > 0 && !json.Valid(s.ToolResult):
		c.wrong(at, "is no JSON: give a string or another JSON value.")
	case s.ToolError != nil && *s.ToolError == ToolError{}:
		c.wrong(at, "is empty: give a type, a message or both.")
	case s.TimeoutMS != nil:
		c.number(at, *s.TimeoutMS, 1, maxMS)
	case s.Retries != nil:
		c.number(at, *s.Retries, 0, maxRetries)
	case s.Input != nil && *s.Input == "":
		c.wrong(at, "is empty: give the text of the new input.")
	}
}

func (c *checker) number(at string, n, least, most int64) {
	if n < least || n > most {
		c.wrong(at, "must be from %d to %d.", least, most)
	}
}

func (c *checker) params(at string, params map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		switch name {
		case "model", "messages", "tools":
			c.wrong(at+"."+name, "is no parameter: make another edit, of the %s.", map[string]string{"model": "model", "messages": "messages", "tools": "tool definition"}[name])
		case "stream", "stream_options", "":
			c.wrong(at+"."+name, "changes no answer: leave it out.")
		default:
			if !json.Valid(params[name]) {
				c.wrong(at+"."+name, "is no JSON value.")
			}
		}
	}
	// What a caller can be told now is not left to the provider.
	request := recorded.Request{Params: params}
	if _, err := request.LLM(); err != nil {
		if p := problem.Of(err); p != nil {
			for _, field := range p.Fields {
				c.wrong(at+field.Location[len("params"):], "%s", field.Message)
			}
		}
	}
}

func (c *checker) messages(at string, messages []json.RawMessage) {
	if len(messages) == 0 {
		c.wrong(at, "is empty: give at least one message.")
	}
	for i, raw := range messages {
		c.message(fmt.Sprintf("%s[%d]", at, i), raw)
	}
}

// message checks a message of chat completions.
func (c *checker) message(at string, raw json.RawMessage) {
	members := jsontext.Members(raw)
	role := jsontext.String(members["role"])
	switch {
	case members == nil:
		c.wrong(at, `is no message: give one of chat completions, such as {"role": "user", "content": "Hi"}.`)
	case members["parts"] != nil:
		c.wrong(at, "is a message of the GenAI conventions: give one of chat completions, with content instead of parts.")
	case !slices.Contains([]string{recorded.RoleSystem, recorded.RoleDeveloper, recorded.RoleUser, recorded.RoleAssistant, recorded.RoleTool}, role):
		c.wrong(at+".role", "is %.40q: it must be system, developer, user, assistant or tool.", role)
	case role == recorded.RoleTool && jsontext.String(members["tool_call_id"]) == "":
		c.wrong(at+".tool_call_id", "is missing: name the call that the message answers.")
	case !jsontext.IsNull(members["content"]) && !jsontext.IsString(members["content"]) && jsontext.List(members["content"]) == nil:
		c.wrong(at+".content", "must be a text or a list of parts.")
	case jsontext.IsNull(members["content"]) && len(jsontext.List(members[recorded.KeyToolCalls])) == 0 && jsontext.IsNull(members[recorded.KeyAnthropic]):
		c.wrong(at+".content", "is missing.")
	}
}

// response checks an answer.
func (c *checker) response(at string, raw json.RawMessage) {
	before := len(c.fields)
	c.message(at, raw)
	if len(c.fields) > before {
		return
	}
	members := jsontext.Members(raw)
	if jsontext.String(members["role"]) != recorded.RoleAssistant {
		c.wrong(at+".role", "must be assistant.")
	}
	if jsontext.IsNull(members[recorded.KeyToolCalls]) {
		return
	}
	list := jsontext.List(members[recorded.KeyToolCalls])
	if len(list) == 0 {
		c.wrong(at+".tool_calls", "must be a list of calls, or left out.")
	}
	for i, raw := range list {
		call := jsontext.Members(raw)
		function := jsontext.Members(call["function"])
		where := fmt.Sprintf("%s.tool_calls[%d]", at, i)
		switch {
		case jsontext.String(call["id"]) == "":
			c.wrong(where+".id", "is missing: results are matched by it.")
		case jsontext.String(function["name"]) == "":
			c.wrong(where+".function.name", "is missing.")
		case !jsontext.IsString(function["arguments"]) || jsontext.Members(json.RawMessage(jsontext.String(function["arguments"]))) == nil:
			c.wrong(where+".function.arguments", `must be a JSON object as text, such as "{}".`)
		}
	}
}

// tool checks a definition.
func (c *checker) tool(at string, raw json.RawMessage) {
	tool := jsontext.Members(raw)
	function := jsontext.Members(tool["function"])
	switch {
	case jsontext.String(tool["type"]) != "function" || function == nil:
		c.wrong(at, `is no definition of a function: give {"type": "function", "function": {"name": …, "parameters": …}}.`)
	case jsontext.String(function["name"]) == "":
		c.wrong(at+".function.name", "is missing.")
	case !jsontext.IsNull(function["parameters"]) && jsontext.Members(function["parameters"]) == nil:
		c.wrong(at+".function.parameters", "must be a JSON Schema.")
	}
}
