package playground

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// members are the members of a configuration by the names that APIs and frameworks give them. Those with a dot are
// members of extra.
var members = map[string]string{
	"temperature": "temperature", "top_p": "top_p", "topP": "top_p", "seed": "seed", "stop": "stop", "stop_sequences": "stop", "stopSequences": "stop",
	"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens", "max_output_tokens": "max_output_tokens",
	"maxTokens": "max_output_tokens", "maxOutputTokens": "max_output_tokens", "max_tokens_to_sample": "max_output_tokens",
	"reasoning_effort": "reasoning_effort", "reasoningEffort": "reasoning_effort", "reasoning.level": "reasoning_effort", "effort": "reasoning_effort",
	"tool_choice": "tool_choice", "toolChoice": "tool_choice", "tool_config": "tool_choice",
	"top_k": "extra.top_k", "topK": "extra.top_k", "frequency_penalty": "extra.frequency_penalty", "frequencyPenalty": "extra.frequency_penalty",
	"presence_penalty": "extra.presence_penalty", "presencePenalty": "extra.presence_penalty", "logit_bias": "extra.logit_bias",
	"logprobs": "extra.logprobs", "top_logprobs": "extra.top_logprobs", "verbosity": "extra.verbosity", "service_tier": "extra.service_tier",
	"thinking": "extra.thinking", "parallel_tool_calls": "extra.parallel_tool_calls", "parallelToolCalls": "extra.parallel_tool_calls",
	"n": "extra.n", "choice.count": "extra.n", "candidate_count": "extra.n",
}

// defaults are values that say what APIs do without the member. Many recordings state them although the call did not.
var defaults = map[string][]string{
	"extra.frequency_penalty": {"0", "0.0"}, "extra.presence_penalty": {"0", "0.0"}, "extra.top_logprobs": {"0"}, "extra.logprobs": {"false"},
	"extra.verbosity": {`"medium"`}, "extra.service_tier": {`"auto"`, `"default"`}, "extra.parallel_tool_calls": {"true"}, "extra.n": {"1"},
	"max_output_tokens": {"-1", `"Infinity"`},
}

// unneeded are parameters that change nothing of an answer, that messages and tools have already, or that tell of the
// answer.
var unneeded = []string{
	"model", "model_name", "model_id", "stream", "stream_options", "streaming", "is_stream", "tools", "functions", "function_tools", "messages", "contents",
	"prompt", "input", "type", "_type", "user", "metadata", "labels", "timeout", "max_retries", "maxRetries", "maxSteps", "num_retries", "n_jobs", "store",
	"prompt_cache_key", "prompt_cache_retention", "safety_identifier", "background", "truncation", "http_options", "encoding_format", "encoding_formats",
	"context_window", "num_output", "is_chat_model", "is_function_calling_model", "system_role", "id", "object", "created_at", "completed_at", "status",
	"billing", "usage", "tool_usage", "error", "incomplete_details", "output", "allow_image_output", "prompted_output_template", "instruction_parts",
	"tool_visibility", "revealed_tool_names", "deferred_capability_ids", "stream_cursor",
}

// invocations are attributes with the parameters of a call as a JSON object, or as its member.
var invocations = []struct{ key, member string }{
	{"llm.invocation_parameters", ""},
	{"langfuse.observation.model.parameters", ""},
	{"model_request_parameters", ""},
	{"request_data", ""},
	{"langsmith.metadata.ls_invocation_params", ""},
	{"gcp.vertex.agent.llm_request", "config"},
	{"genkit:input", "config"},
}

// requestPrefixes begin attributes that are parameters each.
var requestPrefixes = []string{"gen_ai.request.", "gen_ai.openai.request.", "openai.request.", "ai.settings.", "ai.prompt.toolChoice"}

// parameterReader reads the parameters of a recorded call.
type parameterReader struct {
	*Opened
	config, extra map[string]json.RawMessage
	system        string
}

// parameters restores the model, its parameters and the response format.
func (o *Opened) parameters(r *Recorded) (*parameterReader, error) {
	p := &parameterReader{Opened: o, config: map[string]json.RawMessage{}, extra: map[string]json.RawMessage{}}
	if r.Model != "" {
		text, err := json.Marshal(r.Model)
		if err != nil {
			return nil, fmt.Errorf("encode a model: %w", err)
		}
		p.config["model"] = text
	} else {
		o.miss("model_config.model", "was not recorded")
	}
	for _, key := range slices.Sorted(maps.Keys(r.Attributes)) {
		for _, prefix := range requestPrefixes {
			if name, ok := strings.CutPrefix(key, prefix); ok && r.Attributes[key] != "" {
				if name == "" {
					name = "toolChoice"
				}
				p.parameter(key, name, jsonOf(r.Attributes[key]))
			}
		}
	}
	for _, one := range invocations {
		var all map[string]json.RawMessage
		text := r.Attributes[one.key]
		if json.Unmarshal([]byte(text), &all) != nil {
			continue
		}
		where := one.key
		if one.member != "" {
			where += "." + one.member
			inner := all[one.member]
			if all = nil; json.Unmarshal(inner, &all) != nil {
				continue
			}
		}
		p.all(where, all)
	}
	p.schema("ai.schema", r.Attributes["ai.schema"], r.Attributes["ai.schema.name"], r.Attributes["ai.schema.description"])
	if o.ResponseFormat == nil && r.Attributes["gen_ai.output.type"] == "json" {
		o.miss("response_format", "was JSON, of a schema that was not recorded")
	}
	p.withoutTools()
	if len(p.extra) > 0 {
		text, err := json.Marshal(p.extra)
		if err != nil {
			return nil, fmt.Errorf("encode parameters: %w", err)
		}
		p.config["extra"] = text
	}
	text, err := json.Marshal(p.config)
	if err != nil {
		return nil, fmt.Errorf("encode parameters: %w", err)
	}
	o.Config = text
	return p, nil
}

// withoutTools leaves out what APIs refuse of a call without tools.
func (p *parameterReader) withoutTools() {
	if len(p.Tools) > 0 {
		return
	}
	if choice := p.config["tool_choice"]; choice != nil {
		delete(p.config, "tool_choice")
		if text := string(choice); text != `"auto"` && text != `"none"` {
			p.miss("model_config.tool_choice", "is "+text+", though no tools were recorded")
		}
	}
	delete(p.extra, "parallel_tool_calls")
}

// all restores the members of an object of parameters.
func (p *parameterReader) all(where string, all map[string]json.RawMessage) {
	var native struct {
		Mode  string `json:"output_mode"`
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters_json_schema,omitempty"`
		} `json:"output_tools"`
		Text *bool `json:"allow_text_output"`
	}
	text, err := json.Marshal(all)
	if err == nil && json.Unmarshal(text, &native) == nil && (native.Mode != "" || native.Tools != nil) {
		p.pydantic(where, native.Mode, all["output_object"])
		for i, tool := range native.Tools {
			definition, err := json.Marshal(map[string]any{"type": typeFunction, "function": map[string]any{
				"name": tool.Name, "description": tool.Description, "parameters": tool.Parameters,
			}})
			if err != nil {
				p.miss(fmt.Sprintf("%s.output_tools[%d]", where, i), "is no definition of a tool")
				continue
			}
			p.tool(fmt.Sprintf("%s.output_tools[%d]", where, i), definition)
		}
		if len(native.Tools) > 0 && native.Text != nil && !*native.Text {
			p.set(where+".allow_text_output", "tool_choice", json.RawMessage(`"required"`))
		}
		for _, name := range []string{"output_mode", "output_object", "output_tools", "allow_text_output"} {
			delete(all, name)
		}
	}
	for _, name := range []string{"response_schema", "responseSchema", "response_json_schema", "responseJsonSchema"} {
		if !isEmpty(all[name]) { // it says more than that the answer is JSON
			delete(all, "response_mime_type")
			delete(all, "responseMimeType")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p.parameter(where+"."+name, name, all[name])
	}
}

// pydantic restores the output that Pydantic AI asked for.
func (p *parameterReader) pydantic(where, mode string, output json.RawMessage) {
	if mode != "native" || isEmpty(output) {
		if !isEmpty(output) && mode != "tool" {
			p.miss(where+".output_object", fmt.Sprintf("is a schema of the output mode %q; the messages ask for it", mode))
		}
		return
	}
	p.format(where+".output_object", output)
}

// parameter restores a parameter, or says that it does not.
func (p *parameterReader) parameter(where, name string, value json.RawMessage) {
	switch text := string(value); {
	case text == "null" || text == "{}" || text == "[]" || text == `""`, slices.Contains(unneeded, name), strings.HasPrefix(name, "context."):
	case slices.Contains(defaults[members[name]], text):
	case members[name] != "":
		p.set(where, members[name], value)
	case name == "system" || name == "instructions" || name == "system_instruction":
		if json.Unmarshal(value, &p.system) != nil {
			p.miss(where, "are instructions that are no text")
		}
	case slices.Contains([]string{"response_format", "responseFormat", "format", "structured_output_schema", "response_json_schema", "responseJsonSchema", "response_schema", "responseSchema"}, name):
		p.format(where, value)
	case name == "response_mime_type" || name == "responseMimeType":
		if text == `"application/json"` && p.ResponseFormat == nil {
			p.format(where, json.RawMessage(`{"type":"json_object"}`))
		}
	case name == "output" && text == `"object"`:
	case slices.Contains([]string{"reasoning", "text", "output_config", "generation_config", "generationConfig", "extra_body", "model_kwargs"}, name) && isObject(text):
		var inner map[string]json.RawMessage
		if json.Unmarshal(value, &inner) == nil {
			p.all(where, inner)
		}
	default:
		p.miss(where, "is a parameter that a playground does not know: "+clipped(text))
	}
}

func clipped(text string) string { return utf8text.Cut(text, 100) }

// set restores a member. The first value of a member wins.
func (p *parameterReader) set(where, member string, value json.RawMessage) {
	into := p.config
	name, isExtra := strings.CutPrefix(member, "extra.")
	if isExtra {
		into = p.extra
	}
	if into[name] != nil {
		return
	}
	fitting, reason := fittingValue(member, value)
	if name == "tool_choice" {
		fitting, reason = p.choice(value)
	}
	if reason != "" {
		p.miss(where, reason+": "+clipped(string(value)))
		return
	}
	into[name] = fitting
}

// fittingValue returns a value of the type that a member has, or why there is none.
func fittingValue(member string, value json.RawMessage) (fitting json.RawMessage, reason string) {
	text := string(value)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	switch member {
	case "temperature", "top_p":
		number, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(number) || number < 0 || member == "top_p" && number > 1 || number > 10 {
			return nil, "is no value of " + member
		}
		// A text such as ".5" is no number of JSON.
		return json.RawMessage(strconv.FormatFloat(number, 'g', -1, 64)), ""
	case "max_output_tokens", "seed":
		number, err := strconv.ParseFloat(text, 64)
		if err != nil || number != float64(int64(number)) || member != "seed" && number < 1 {
			return nil, "is no value of " + member
		}
		return json.RawMessage(strconv.FormatInt(int64(number), 10)), ""
	case "stop":
		var list []string
		if json.Unmarshal(value, &list) != nil {
			list = []string{text}
		}
		if isObject(text) {
			return nil, "is no list of texts"
		}
		quoted, err := json.Marshal(slices.DeleteFunc(list, func(one string) bool { return one == "" }))
		if err != nil || len(list) > 16 {
			return nil, "is no list of up to 16 texts"
		}
		return quoted, ""
	case "reasoning_effort":
		if value[0] != '"' {
			return nil, "is no reasoning effort"
		}
	case "extra.n":
		return nil, "asks for several answers, and a playground shows one"
	}
	return value, ""
}

// choice returns a tool choice as chat completions have it, or why there is none.
func (p *parameterReader) choice(value json.RawMessage) (fitting json.RawMessage, reason string) {
	var named struct {
		Type, Mode, Name, ToolName string
		Function                   struct{ Name string }
		Allowed                    []string        `json:"allowed_function_names"`
		Single                     *bool           `json:"disable_parallel_tool_use"`
		Google                     json.RawMessage `json:"function_calling_config"`
	}
	var mode string
	if json.Unmarshal(value, &mode) != nil {
		if json.Unmarshal(value, &named) != nil {
			return nil, "is no tool choice"
		}
		if named.Google != nil {
			return p.choice(named.Google)
		}
		mode = named.Type + named.Mode
	}
	if named.Single != nil && *named.Single {
		p.extra["parallel_tool_calls"] = json.RawMessage("false")
	}
	name := named.Name + named.ToolName + named.Function.Name
	if len(named.Allowed) == 1 {
		name = named.Allowed[0]
	}
	switch known := strings.ToLower(mode); {
	case name != "":
		return toolNamed(name), ""
	case known == "any" && len(named.Allowed) == 0:
		return json.RawMessage(`"required"`), ""
	case known == "auto" || known == "none" || known == "required":
		return json.RawMessage(`"` + known + `"`), ""
	case slices.ContainsFunc(p.Tools, func(tool json.RawMessage) bool { return bytes.Contains(tool, []byte(`"name":"`+mode+`"`)) }):
		return toolNamed(mode), ""
	}
	return nil, "is a tool choice of another API"
}

func toolNamed(name string) json.RawMessage {
	text, err := json.Marshal(map[string]any{"type": typeFunction, "function": map[string]string{"name": name}})
	if err != nil {
		return nil // texts are always encoded
	}
	return text
}

// jsonOf returns a value as JSON: as it is, or as a string.
func jsonOf(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage(`""`) // a string is always encoded
	}
	return text
}
