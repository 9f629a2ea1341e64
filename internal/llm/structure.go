package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

var errNotObject = errors.New("it is no JSON object")

// structure is the form of answer that a request asks for.
type structure struct {
	strategy Strategy
	// schema is nil unless the response_format is json_schema.
	schema *answerSchema
	// any is whether the response_format is json_object.
	any bool
	// tool is the name of the tool whose arguments are the answer, or "".
	tool string
}

type answerSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      *bool           `json:"strict"`
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// newStructure reads the response_format of a request. It returns a structure that asks for nothing if there is none.
func newStructure(r *Request) (*structure, error) {
	s := &structure{strategy: r.Strategy}
	if s.strategy == "" {
		s.strategy = Native
	}
	if !slices.Contains([]Strategy{Native, Tool, JSONMode, Text}, s.strategy) {
		return nil, invalid("strategy", fmt.Sprintf("The strategy %q is not known.", s.strategy), "It must be native, tool, json_mode or text.")
	}
	if jsontext.IsNull(r.ResponseFormat) {
		return s, nil
	}
	var format struct {
		Type       string        `json:"type"`
		JSONSchema *answerSchema `json:"json_schema"`
	}
	if err := json.Unmarshal(r.ResponseFormat, &format); err != nil {
		return nil, invalid("response_format", "The response format is not valid: "+err.Error()+".", "")
	}
	switch format.Type {
	case "text":
		return s, nil
	case "json_object":
		s.any = true
		return s, nil
	case "json_schema":
	default:
		return nil, invalid("response_format", fmt.Sprintf("The response format %q is not known.", format.Type), "Its type must be text, json_object or json_schema.")
	}
	if format.JSONSchema == nil || jsontext.IsNull(format.JSONSchema.Schema) {
		return nil, invalid("response_format", "The response format has no schema.", "Put it into json_schema.schema.")
	}
	s.schema = format.JSONSchema
	if s.strategy != Tool {
		return s, nil
	}
	var root struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(s.schema.Schema, &root) != nil || root.Type != "object" {
		return nil, invalid("response_format", "A tool call can answer with an object only, and the schema is of another type.",
			"Put the schema into a property of an object, or ask by another strategy.")
	}
	s.tool = s.freeName(r.Tools)
	return s, nil
}

// freeName returns a name for the tool of the answer that no other tool has.
func (s *structure) freeName(tools []json.RawMessage) string {
	taken := map[string]bool{}
	for _, tool := range tools {
		var named struct {
			Name     string `json:"name"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		if json.Unmarshal(tool, &named) == nil {
			taken[named.Name], taken[named.Function.Name] = true, true
		}
	}
	base := s.schema.Name
	if !toolName.MatchString(base) {
		base = "final_answer"
	}
	name := base
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%.60s_%d", base, i)
	}
	return name
}

// toolDescription describes the tool of the answer to the model.
func (s *structure) toolDescription() string {
	return strings.TrimSpace("Gives the final answer. Call it once, when the answer is known. " + s.schema.Description)
}

// instruction is what the system message says about the answer, or "".
func (s *structure) instruction() string {
	if s.schema == nil {
		return ""
	}
	switch s.strategy {
	case JSONMode:
		return "Answer with one JSON object and nothing else. It must follow this JSON schema:\n" + s.schemaText()
	case Text:
		return "End your answer with one line that begins with \"" + AnswerMark + "\", followed by JSON on the same line. " +
			"It must follow this JSON schema:\n" + s.schemaText()
	case Native, Tool:
	}
	return ""
}

func (s *structure) schemaText() string {
	schema := string(jsontext.MustEncode(s.schema.Schema))
	if s.schema.Description != "" {
		return s.schema.Description + "\n" + schema
	}
	return schema
}

// choice returns the tool_choice that makes the model answer by the tool, which a caller's own choice of one tool
// precedes: the answer comes in a later turn.
func (s *structure) choice(r *Request) json.RawMessage {
	var mode string
	forced := map[string]any{"type": "function", "function": map[string]string{"name": s.tool}}
	switch {
	case len(r.Tools) == 0:
		return jsontext.MustEncode(forced)
	case jsontext.IsNull(r.ToolChoice):
		return jsontext.MustEncode("required")
	case json.Unmarshal(r.ToolChoice, &mode) != nil:
		return r.ToolChoice
	case mode == "none":
		return jsontext.MustEncode(forced)
	}
	return jsontext.MustEncode("required")
}

// answerTool is the tool of the answer in the shape of chat completions.
func (s *structure) answerTool() json.RawMessage {
	var function, tool object
	function.set("name", s.tool)
	function.set("description", s.toolDescription())
	function.set("parameters", s.schema.Schema)
	if s.schema.Strict != nil {
		function.set("strict", *s.schema.Strict)
	}
	tool.set("type", "function")
	tool.set("function", function.encode())
	return tool.encode()
}

// extract returns the JSON of an answer, or nil if it has none.
func (s *structure) extract(answer string) json.RawMessage {
	if s.schema == nil && !s.any {
		return nil
	}
	if s.schema != nil && s.strategy == Text {
		at := strings.LastIndex(answer, AnswerMark)
		if at < 0 {
			return nil
		}
		answer = strings.TrimLeft(answer[at+len(AnswerMark):], "* ") // models like to print marks in bold
	}
	found := []byte(strings.TrimSpace(answer))
	if rest, fenced := bytes.CutPrefix(found, []byte("```")); fenced {
		rest = bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("```"))
		found = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimPrefix(rest, []byte("json")), []byte("JSON")))
	}
	if !json.Valid(found) {
		return nil
	}
	return found
}
