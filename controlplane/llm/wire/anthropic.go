package wire

import (
	"encoding/json"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// AnthropicBody returns the body of a request for a message.
func AnthropicBody(r *llm.Request, s *Structure, stream bool) ([]byte, error) {
	if err := checkNumbers(r); err != nil {
		return nil, err
	}
	if r.Seed != nil {
		return nil, &llm.Error{
			Kind: llm.InvalidParameter, Parameter: "seed", Unsupported: true, Message: "Anthropic's API has no seed.", Suggestion: "Leave out seed.",
		}
	}
	c, err := convertMessages(r.Messages)
	if err != nil {
		return nil, err
	}
	if instruction := anthropicInstruction(s); instruction != "" {
		c.system = append(c.system, textBlock(instruction))
	}
	var body llm.Object
	body.Set("model", r.Model)
	if r.MaxOutputTokens != nil {
		body.Set("max_tokens", *r.MaxOutputTokens)
	} else if !HasExtra(r, "max_tokens") {
		body.Set("max_tokens", llm.DefaultMaxTokens)
	}
	if len(c.system) > 0 {
		body.Set("system", c.system)
	}
	body.Set("messages", c.messages)
	if err := anthropicTools(&body, r, s); err != nil {
		return nil, err
	}
	if err := anthropicOutput(&body, r, s); err != nil {
		return nil, err
	}
	if r.Temperature != nil {
		body.Set("temperature", *r.Temperature)
	}
	if r.TopP != nil {
		body.Set("top_p", *r.TopP)
	}
	if len(r.Stop) > 0 {
		body.Set("stop_sequences", r.Stop)
	}
	if stream {
		body.Set("stream", true)
	}
	if err := addExtra(&body, r); err != nil {
		return nil, err
	}
	return body.Encode(), nil
}

// anthropicInstruction is what the system prompt says about the answer: the API has no mode for any JSON.
func anthropicInstruction(s *Structure) string {
	if s.Any {
		return "Answer with one JSON object and nothing else."
	}
	return s.instruction()
}

// thinks reports whether a request asks for thinking by its effort. The effort none switches it off.
func thinks(r *llm.Request) bool { return r.ReasoningEffort != nil && *r.ReasoningEffort != "none" }

// anthropicOutput sets the format of the answer and the effort. With an effort, the model decides itself how much it
// thinks, and shows a summary.
func anthropicOutput(body *llm.Object, r *llm.Request, s *Structure) error {
	var output llm.Object
	if thinks(r) {
		output.Set("effort", *r.ReasoningEffort)
	}
	if s.schema != nil && s.Strategy == llm.Native {
		schema, err := describe(s.schema)
		if err != nil {
			return llm.Invalid("response_format", "The schema is not valid: "+err.Error()+".", "")
		}
		output.Set("format", map[string]any{"type": "json_schema", "schema": schema})
	}
	if len(output.Names) > 0 {
		body.Set("output_config", output.Encode())
	}
	if r.ReasoningEffort == nil || HasExtra(r, "thinking") {
		return nil
	}
	if thinks(r) {
		body.Set("thinking", map[string]string{"type": "adaptive", "display": "summarized"})
	} else {
		body.Set("thinking", map[string]string{"type": "disabled"})
	}
	return nil
}

// describe puts the description of a schema, for which the API has no place of its own, into the schema.
func describe(s *answerSchema) (json.RawMessage, error) {
	schema, err := llm.Members(s.Schema)
	if err != nil {
		return nil, err
	}
	if s.Description == "" || schema["description"] != nil {
		return s.Schema, nil
	}
	schema["description"] = jsontext.MustEncode(s.Description)
	return jsontext.MustEncode(schema), nil
}

func anthropicTools(body *llm.Object, r *llm.Request, s *Structure) error {
	given, choice := r.Tools, r.ToolChoice
	if s.Tool != "" {
		given = append(append([]json.RawMessage{}, r.Tools...), s.answerTool())
		choice = s.choice(r)
		if thinks(r) || HasExtra(r, "thinking") {
			choice = jsontext.MustEncode("auto") // the API does not take a forced tool together with thinking
		}
	}
	tools := make([]json.RawMessage, 0, len(given))
	for i, raw := range given {
		tool, err := anthropicTool(raw)
		if err != nil {
			return llm.Invalid("tools", fmt.Sprintf("tools[%d] is not valid: %s.", i, err), "")
		}
		tools = append(tools, tool)
	}
	if len(tools) > 0 {
		body.Set("tools", tools)
	}
	return anthropicChoice(body, choice, r.ParallelToolCalls)
}

// anthropicTool converts a function. Tools of another type are Anthropic's own.
func anthropicTool(raw json.RawMessage) (json.RawMessage, error) {
	tool, err := llm.Members(raw)
	if err != nil {
		return nil, err
	}
	if llm.TextOf(tool["type"]) != "function" {
		return raw, nil
	}
	function, err := llm.Members(tool["function"])
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

func anthropicChoice(body *llm.Object, choice json.RawMessage, parallel *bool) error {
	var out llm.Object
	var mode string
	switch {
	case jsontext.IsNull(choice):
		if parallel == nil {
			return nil
		}
		out.Set("type", "auto")
	case json.Unmarshal(choice, &mode) == nil:
		kind, known := map[string]string{"auto": "auto", "none": "none", "required": "any"}[mode]
		if !known {
			return llm.Invalid("tool_choice", fmt.Sprintf("The tool choice %q is not known.", mode), "It must be auto, none, required or a function.")
		}
		out.Set("type", kind)
	default:
		var named struct {
			Type     string `json:"type"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		if err := json.Unmarshal(choice, &named); err != nil {
			return llm.Invalid("tool_choice", "The tool choice is not valid: "+err.Error()+".", "")
		}
		if named.Type != "function" {
			body.Set("tool_choice", choice) // Anthropic's own form
			return nil
		}
		out.Set("type", "tool")
		out.Set("name", named.Function.Name)
	}
	if parallel != nil && string(out.Values["type"]) != `"none"` {
		out.Set("disable_parallel_tool_use", !*parallel)
	}
	body.Set("tool_choice", out.Encode())
	return nil
}
