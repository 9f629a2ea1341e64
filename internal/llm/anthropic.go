package llm

import (
	"encoding/json"
	"fmt"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// anthropicBody returns the body of a request for a message.
func anthropicBody(r *Request, s *structure, stream bool) ([]byte, error) {
	if err := checkNumbers(r); err != nil {
		return nil, err
	}
	if r.Seed != nil {
		return nil, &Error{
			Kind: InvalidParameter, Parameter: "seed", Unsupported: true, Message: "Anthropic's API has no seed.", Suggestion: "Leave out seed.",
		}
	}
	c, err := convertMessages(r.Messages)
	if err != nil {
		return nil, err
	}
	if instruction := anthropicInstruction(s); instruction != "" {
		c.system = append(c.system, textBlock(instruction))
	}
	var body object
	body.set("model", r.Model)
	if r.MaxOutputTokens != nil {
		body.set("max_tokens", *r.MaxOutputTokens)
	} else if !hasExtra(r, "max_tokens") {
		body.set("max_tokens", DefaultMaxTokens)
	}
	if len(c.system) > 0 {
		body.set("system", c.system)
	}
	body.set("messages", c.messages)
	if err := anthropicTools(&body, r, s); err != nil {
		return nil, err
	}
	if err := anthropicOutput(&body, r, s); err != nil {
		return nil, err
	}
	if r.Temperature != nil {
		body.set("temperature", *r.Temperature)
	}
	if r.TopP != nil {
		body.set("top_p", *r.TopP)
	}
	if len(r.Stop) > 0 {
		body.set("stop_sequences", r.Stop)
	}
	if stream {
		body.set("stream", true)
	}
	if err := addExtra(&body, r); err != nil {
		return nil, err
	}
	return body.encode(), nil
}

// anthropicInstruction is what the system prompt says about the answer: the API has no mode for any JSON.
func anthropicInstruction(s *structure) string {
	if s.any {
		return "Answer with one JSON object and nothing else."
	}
	return s.instruction()
}

// thinks reports whether a request asks for thinking by its effort. The effort none switches it off.
func thinks(r *Request) bool { return r.ReasoningEffort != nil && *r.ReasoningEffort != "none" }

// anthropicOutput sets the format of the answer and the effort. With an effort, the model decides itself how much it
// thinks, and shows a summary.
func anthropicOutput(body *object, r *Request, s *structure) error {
	var output object
	if thinks(r) {
		output.set("effort", *r.ReasoningEffort)
	}
	if s.schema != nil && s.strategy == Native {
		schema, err := describe(s.schema)
		if err != nil {
			return invalid("response_format", "The schema is not valid: "+err.Error()+".", "")
		}
		output.set("format", map[string]any{"type": "json_schema", "schema": schema})
	}
	if len(output.names) > 0 {
		body.set("output_config", output.encode())
	}
	if r.ReasoningEffort == nil || hasExtra(r, "thinking") {
		return nil
	}
	if thinks(r) {
		body.set("thinking", map[string]string{"type": "adaptive", "display": "summarized"})
	} else {
		body.set("thinking", map[string]string{"type": "disabled"})
	}
	return nil
}

// describe puts the description of a schema, for which the API has no place of its own, into the schema.
func describe(s *answerSchema) (json.RawMessage, error) {
	schema, err := members(s.Schema)
	if err != nil {
		return nil, err
	}
	if s.Description == "" || schema["description"] != nil {
		return s.Schema, nil
	}
	schema["description"] = jsontext.MustEncode(s.Description)
	return jsontext.MustEncode(schema), nil
}

func anthropicTools(body *object, r *Request, s *structure) error {
	given, choice := r.Tools, r.ToolChoice
	if s.tool != "" {
		given = append(append([]json.RawMessage{}, r.Tools...), s.answerTool())
		choice = s.choice(r)
		if thinks(r) || hasExtra(r, "thinking") {
			choice = jsontext.MustEncode("auto") // the API does not take a forced tool together with thinking
		}
	}
	tools := make([]json.RawMessage, 0, len(given))
	for i, raw := range given {
		tool, err := anthropicTool(raw)
		if err != nil {
			return invalid("tools", fmt.Sprintf("tools[%d] is not valid: %s.", i, err), "")
		}
		tools = append(tools, tool)
	}
	if len(tools) > 0 {
		body.set("tools", tools)
	}
	return anthropicChoice(body, choice, r.ParallelToolCalls)
}

// anthropicTool converts a function. Tools of another type are Anthropic's own.
func anthropicTool(raw json.RawMessage) (json.RawMessage, error) {
	tool, err := members(raw)
	if err != nil {
		return nil, err
	}
	if text(tool["type"]) != "function" {
		return raw, nil
	}
	function, err := members(tool["function"])
	if err != nil {
		return nil, fmt.Errorf("function: %w", err)
	}
	if schema := function["parameters"]; jsontext.IsNull(schema) {
		function["input_schema"] = json.RawMessage(`{"type":"object"}`)
	} else {
		function["input_schema"] = schema
	}
	delete(function, "parameters")
	for name, value := range function {
		if jsontext.IsNull(value) {
			delete(function, name)
		}
	}
	for name, value := range tool { // such as cache_control
		if name != "type" && name != "function" {
			function[name] = value
		}
	}
	return jsontext.MustEncode(function), nil
}

func anthropicChoice(body *object, choice json.RawMessage, parallel *bool) error {
	var out object
	var mode string
	switch {
	case jsontext.IsNull(choice):
		if parallel == nil {
			return nil
		}
		out.set("type", "auto")
	case json.Unmarshal(choice, &mode) == nil:
		kind, known := map[string]string{"auto": "auto", "none": "none", "required": "any"}[mode]
		if !known {
			return invalid("tool_choice", fmt.Sprintf("The tool choice %q is not known.", mode), "It must be auto, none, required or a function.")
		}
		out.set("type", kind)
	default:
		var named struct {
			Type     string `json:"type"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		if err := json.Unmarshal(choice, &named); err != nil {
			return invalid("tool_choice", "The tool choice is not valid: "+err.Error()+".", "")
		}
		if named.Type != "function" {
			body.set("tool_choice", choice) // Anthropic's own form
			return nil
		}
		out.set("type", "tool")
		out.set("name", named.Function.Name)
	}
	if parallel != nil && string(out.values["type"]) != `"none"` {
		out.set("disable_parallel_tool_use", !*parallel)
	}
	body.set("tool_choice", out.encode())
	return nil
}
