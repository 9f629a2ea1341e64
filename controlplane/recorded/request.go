package recorded

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// LLM returns the request to send. Params that llm.Request has no member for are in Extra. Its error is a problem.Error of
// kind Invalid that names the parameter whose value cannot be sent.
func (r *Request) LLM() (llm.Request, error) {
	out := llm.Request{Model: r.Model, Messages: r.Messages, Tools: r.Tools}
	extra := map[string]json.RawMessage{}
	var wrong []problem.Field
	for _, name := range slices.Sorted(maps.Keys(r.Params)) {
		value := r.Params[name]
		if jsontext.IsNull(value) || name == "stream" || name == "stream_options" {
			continue
		}
		var err error
		switch name {
		case "temperature":
			err = json.Unmarshal(value, &out.Temperature)
		case "top_p":
			err = json.Unmarshal(value, &out.TopP)
		case "max_tokens", "max_completion_tokens", "max_output_tokens":
			err = json.Unmarshal(value, &out.MaxOutputTokens)
			if name != "max_output_tokens" {
				out.TokenParameter = llm.TokenParameter(name)
			}
		case "stop":
			var one string
			if json.Unmarshal(value, &one) == nil {
				out.Stop = []string{one}
			} else {
				err = json.Unmarshal(value, &out.Stop)
			}
		case "seed":
			err = json.Unmarshal(value, &out.Seed)
		case "reasoning_effort":
			err = json.Unmarshal(value, &out.ReasoningEffort)
		case "parallel_tool_calls":
			err = json.Unmarshal(value, &out.ParallelToolCalls)
		case "tool_choice":
			out.ToolChoice = value
		case "response_format":
			out.ResponseFormat = value
		default:
			extra[name] = value
		}
		if err != nil {
			wrong = append(wrong, problem.Field{Location: "params." + name, Message: "has a value that cannot be sent: " + err.Error()})
		}
	}
	if len(wrong) > 0 {
		return llm.Request{}, problem.InvalidFields(wrong...)
	}
	if len(extra) > 0 {
		text, err := jsontext.Encode(extra)
		if err != nil {
			return llm.Request{}, fmt.Errorf("encode parameters: %w", err)
		}
		out.Extra = text
	}
	return out, nil
}

// ResponseOf returns the response that a result is.
func ResponseOf(result *llm.Result) Response {
	out := Response{
		Message: result.Message, FinishReason: result.FinishReason, Model: result.Model, ID: result.ResponseID, Fingerprint: result.Fingerprint,
	}
	if u := result.Usage; u != nil {
		out.Usage = &Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning}
	}
	return out
}

// Clone returns a request whose lists and parameters can be changed.
func (r *Request) Clone() Request {
	return Request{Model: r.Model, Messages: slices.Clone(r.Messages), Tools: slices.Clone(r.Tools), Params: maps.Clone(r.Params)}
}

// paramsOf reads the parameters of a span.
func paramsOf(span *Span) map[string]json.RawMessage {
	params := map[string]json.RawMessage{}
	add := func(key string, value json.RawMessage) {
		if name := runmodel.RequestParameter(key); name != "" && !jsontext.IsNull(value) && params[name] == nil {
			params[name] = value
		}
	}
	for key, text := range span.Attributes {
		value := jsontext.MustEncode(text)
		if trimmed := strings.TrimSpace(text); trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid([]byte(trimmed)) {
			value = json.RawMessage(trimmed)
		} else if _, err := strconv.ParseFloat(trimmed, 64); err == nil && json.Valid([]byte(trimmed)) {
			value = json.RawMessage(trimmed)
		}
		add(key, value)
	}
	for key, text := range span.AttributesJSON {
		if json.Valid([]byte(text)) {
			add(key, json.RawMessage(text))
		}
	}
	return params
}
