package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// Structure is the form of answer that a request asks for.
type Structure struct {
	Strategy llm.Strategy
	// schema is nil unless the response_format is json_schema.
	schema *answerSchema
	// Any is whether the response_format is json_object.
	Any bool
	// Tool is the name of the tool whose arguments are the answer, or "".
	Tool string
}

type answerSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      *bool           `json:"strict"`
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// NewStructure reads the response_format of a request. It returns a structure that asks for nothing if there is none.
func NewStructure(r *llm.Request) (*Structure, error) {
	s := &Structure{Strategy: r.Strategy}
	if s.Strategy == "" {
		s.Strategy = llm.Native
	}
	if !slices.Contains([]llm.Strategy{llm.Native, llm.Tool, llm.JSONMode, llm.Text}, s.Strategy) {
		return nil, llm.Invalid("strategy", fmt.Sprintf("The strategy %q is not known.", s.Strategy), "It must be native, tool, json_mode or text.")
	}
	if jsontext.IsNull(r.ResponseFormat) {
		return s, nil
	}
	var format struct {
		Type       string        `json:"type"`
		JSONSchema *answerSchema `json:"json_schema"`
	}
	if err := json.Unmarshal(r.ResponseFormat, &format); err != nil {
		return nil, llm.Invalid("response_format", "The response format is not valid: "+err.Error()+".", "")
	}
	switch format.Type {
	case "text":
		return s, nil
	case "json_object":
		s.Any = true
		return s, nil
	case "json_schema":
	default:
		return nil, llm.Invalid("response_format", fmt.Sprintf("The response format %q is not known.", format.Type), "Its type must be text, json_object or json_schema.")
	}
	if format.JSONSchema == nil || jsontext.IsNull(format.JSONSchema.Schema) {
		return nil, llm.Invalid("response_format", "The response format has no schema.", "Put it into json_schema.schema.")
	}
	s.schema = format.JSONSchema
	if s.Strategy != llm.Tool {
		return s, nil
	}
	var root struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(s.schema.Schema, &root) != nil || root.Type != "object" {
		return nil, llm.Invalid("response_format", "A tool call can answer with an object only, and the schema is of another type.",
			"Put the schema into a property of an object, or ask by another strategy.")
	}
	s.Tool = s.freeName(r.Tools)
	return s, nil
}

// freeName returns a name for the tool of the answer that no other tool has.
func (s *Structure) freeName(tools []json.RawMessage) string {
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
func (s *Structure) toolDescription() string {
	return strings.TrimSpace("Gives the final answer. Call it once, when the answer is known. " + s.schema.Description)
}

// instruction is what the system message says about the answer, or "".
func (s *Structure) instruction() string {
	if s.schema == nil {
		return ""
	}
	switch s.Strategy {
	case llm.JSONMode:
		return "Answer with one JSON object and nothing else. It must follow this JSON schema:\n" + s.schemaText()
	case llm.Text:
		return "End your answer with one line that begins with \"" + llm.AnswerMark + "\", followed by JSON on the same line. " +
			"It must follow this JSON schema:\n" + s.schemaText()
	case llm.Native, llm.Tool:
	}
	return ""
}

func (s *Structure) schemaText() string {
	schema := string(jsontext.MustEncode(s.schema.Schema))
	if s.schema.Description != "" {
		return s.schema.Description + "\n" + schema
	}
	return schema
}

// choice returns the tool_choice that makes the model answer by the tool, which a caller's own choice of one tool
// precedes: the answer comes in a later turn.
func (s *Structure) choice(r *llm.Request) json.RawMessage {
	var mode string
	forced := map[string]any{"type": "function", "function": map[string]string{"name": s.Tool}}
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
func (s *Structure) answerTool() json.RawMessage {
	var function, tool llm.Object
	function.Set("name", s.Tool)
	function.Set("description", s.toolDescription())
	function.Set("parameters", s.schema.Schema)
	if s.schema.Strict != nil {
		function.Set("strict", *s.schema.Strict)
	}
	tool.Set("type", "function")
	tool.Set("function", function.Encode())
	return tool.Encode()
}

// extract returns the JSON of an answer, or nil if it has none.
func (s *Structure) extract(answer string) json.RawMessage {
	if s.schema == nil && !s.Any {
		return nil
	}
	if s.schema != nil && s.Strategy == llm.Text {
		at := strings.LastIndex(answer, llm.AnswerMark)
		if at < 0 {
			return nil
		}
		answer = strings.TrimLeft(answer[at+len(llm.AnswerMark):], "* ") // models like to print marks in bold
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
