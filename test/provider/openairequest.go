package provider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// openAIParams are the parameters of chat completions. Others are refused.
var openAIParams = map[string]bool{
	"audio": true, "frequency_penalty": true, "function_call": true, "functions": true, "logit_bias": true, "logprobs": true,
	"max_completion_tokens": true, "max_tokens": true, "messages": true, "metadata": true, "modalities": true, "model": true,
	"n": true, "parallel_tool_calls": true, "prediction": true, "presence_penalty": true, "prompt_cache_key": true,
	"prompt_cache_retention": true, "reasoning_effort": true, "response_format": true, "safety_identifier": true, "seed": true,
	"service_tier": true, "stop": true, "store": true, "stream": true, "stream_options": true, "temperature": true,
	"tool_choice": true, "tools": true, "top_logprobs": true, "top_p": true, "user": true, "verbosity": true,
	"web_search_options": true,
}

type openAIRequest struct {
	Model         string          `json:"model"`
	Messages      []openAIMessage `json:"messages"`
	Stream        bool            `json:"stream"`
	StreamOptions *struct {
		IncludeUsage       bool  `json:"include_usage"`
		IncludeObfuscation *bool `json:"include_obfuscation"`
	} `json:"stream_options"`
	Temperature         *float64 `json:"temperature"`
	N                   *int     `json:"n"`
	MaxTokens           *int     `json:"max_tokens"`
	MaxCompletionTokens *int     `json:"max_completion_tokens"`
	ReasoningEffort     string   `json:"reasoning_effort"`
	Tools               []struct {
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	ToolChoice        json.RawMessage `json:"tool_choice"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls"`
	Stop              json.RawMessage `json:"stop"`
	ResponseFormat    *struct {
		Type       string `json:"type"`
		JSONSchema *struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
			Strict bool            `json:"strict"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type openAIMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
}

// readOpenAI reads the body into the request and refuses what OpenAI refuses.
func readOpenAI(q *Request) *Error {
	var body openAIRequest
	var params map[string]json.RawMessage
	if err := json.Unmarshal(q.Body, &params); err != nil {
		return invalid("We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library " +
			"correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)")
	}
	if err := json.Unmarshal(q.Body, &body); err != nil {
		return invalid("Invalid type in the body: " + err.Error())
	}
	if q.Protocol == OpenAI {
		q.Model = body.Model
	}
	q.Stream = body.Stream
	lenient := strings.HasPrefix(q.Model, "reasoning-content") // as vLLM
	for name := range params {
		if !openAIParams[name] && !lenient {
			return invalidParam(name, "unknown_parameter", "Unknown parameter: '"+name+"'.")
		}
	}
	switch {
	case q.Model == "":
		return invalid("you must provide a model parameter")
	case params["messages"] == nil:
		return invalidParam("messages", "missing_required_parameter", "Missing required parameter: 'messages'.")
	case len(body.Messages) == 0:
		return invalidParam("messages", "empty_array", "Invalid 'messages': empty array. Expected an array with minimum length 1, but "+
			"got an empty array instead.")
	case body.StreamOptions != nil && !body.Stream:
		return invalidParam("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case body.Temperature != nil && *body.Temperature > 2:
		return invalidParam("temperature", "decimal_above_max_value", fmt.Sprintf("Invalid 'temperature': decimal above maximum value. "+
			"Expected a value <= 2, but got %v instead.", *body.Temperature))
	case body.N != nil && *body.N != 1:
		return invalidParam("n", "unsupported_value", "The scripted provider has one choice only.")
	case body.MaxTokens != nil && body.MaxCompletionTokens != nil:
		return invalidParam("max_tokens", "invalid_parameter_combination", "Setting 'max_tokens' and 'max_completion_tokens' at the "+
			"same time is not supported.")
	}
	q.includeUsage = body.StreamOptions != nil && body.StreamOptions.IncludeUsage
	q.obfuscate = !lenient && (body.StreamOptions == nil || body.StreamOptions.IncludeObfuscation == nil || *body.StreamOptions.IncludeObfuscation)
	for _, limit := range []*int{body.MaxTokens, body.MaxCompletionTokens} {
		if limit != nil {
			q.MaxTokens = *limit
		}
	}
	if refusal := readOpenAIMessages(q, body.Messages); refusal != nil {
		return refusal
	}
	for _, t := range body.Tools {
		q.Tools = append(q.Tools, Tool{Name: t.Function.Name, Schema: t.Function.Parameters})
	}
	if refusal := readOpenAIChoice(q, &body); refusal != nil {
		return refusal
	}
	return readOpenAIFormat(q, &body)
}

func readOpenAIMessages(q *Request, messages []openAIMessage) *Error {
	var open []string
	for i, m := range messages {
		at := "messages.[" + strconv.Itoa(i) + "]"
		if !slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, m.Role) {
			return invalidParam(fmt.Sprintf("messages[%d].role", i), "invalid_value", "Invalid value: '"+m.Role+"'. Supported values are: "+
				"'system', 'assistant', 'user', 'function', 'tool', and 'developer'.")
		}
		text, parts, err := content(m.Content)
		if err != nil {
			return invalidParam(at+".content", "invalid_type", "Invalid type for '"+at+".content': "+err.Error())
		}
		message := Message{Role: m.Role, Text: text}
		for _, p := range parts {
			switch p.Type {
			case "text", "refusal", "input_audio", "file":
			case "image_url":
				message.Images++
			default:
				return invalidParam(fmt.Sprintf("messages[%d].content", i), "invalid_value", "Invalid value: '"+p.Type+"'. Supported values "+
					"are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.")
			}
		}
		if m.Role == "tool" {
			if !slices.Contains(open, m.ToolCallID) {
				return invalidParam(at+".role", "", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "+ //nolint:misspell // their spelling
					"with 'tool_calls'.")
			}
			open = slices.DeleteFunc(open, func(id string) bool { return id == m.ToolCallID })
			message.Results = []string{m.ToolCallID}
		} else if len(open) > 0 {
			return unanswered(at, open)
		}
		for _, c := range m.ToolCalls {
			message.Calls = append(message.Calls, c.ID)
			open = append(open, c.ID)
		}
		q.Messages = append(q.Messages, message)
	}
	if len(open) > 0 {
		return unanswered("messages", open)
	}
	return nil
}

func unanswered(param string, calls []string) *Error {
	return invalidParam(param, "", "An assistant message with 'tool_calls' must be followed by tool messages responding to each "+
		"'tool_call_id'. The following tool_call_ids did not have response messages: "+strings.Join(calls, ", "))
}

func readOpenAIChoice(q *Request, body *openAIRequest) *Error {
	q.Parallel = body.ParallelToolCalls == nil || *body.ParallelToolCalls
	if len(q.Tools) == 0 {
		if len(body.ToolChoice) > 0 {
			return invalidParam("tool_choice", "", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
		}
		if body.ParallelToolCalls != nil {
			return invalidParam("parallel_tool_calls", "", "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed "+
				"when 'tools' are specified.")
		}
	}
	if len(body.ToolChoice) > 0 {
		var named struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		if json.Unmarshal(body.ToolChoice, &q.ToolChoice) != nil && json.Unmarshal(body.ToolChoice, &named) == nil {
			q.ToolChoice = named.Function.Name
			if !slices.ContainsFunc(q.Tools, func(t Tool) bool { return t.Name == q.ToolChoice }) {
				return invalidParam("tool_choice", "", "Tool choice '"+q.ToolChoice+"' not found in 'tools' parameter.")
			}
		}
		if q.ToolChoice == "auto" {
			q.ToolChoice = ""
		}
	}
	if !jsontext.IsNull(body.Stop) {
		var one string
		if json.Unmarshal(body.Stop, &one) == nil {
			q.Stop = []string{one}
		} else if err := json.Unmarshal(body.Stop, &q.Stop); err != nil {
			return invalidParam("stop", "invalid_type", "Invalid type for 'stop'.")
		}
		if len(q.Stop) > 4 {
			return invalidParam("stop", "array_above_max_length", "Invalid 'stop': array too long. Expected an array with maximum length 4.")
		}
	}
	return nil
}

func readOpenAIFormat(q *Request, body *openAIRequest) *Error {
	name, _, _ := strings.Cut(q.Model, "@")
	if body.ReasoningEffort != "" && !reasons(q.Protocol, name) {
		return invalid("Unrecognized request argument supplied: reasoning_effort")
	}
	if format := body.ResponseFormat; format != nil {
		switch format.Type {
		case "text":
		case "json_object":
			q.JSONObject = true
			if !strings.Contains(strings.ToLower(q.Prompt()), "json") {
				return invalidParam("messages", "", "'messages' must contain the word 'json' in some form, to use 'response_format' of type "+
					"'json_object'.")
			}
		case "json_schema":
			if format.JSONSchema == nil || format.JSONSchema.Name == "" {
				return invalidParam("response_format.json_schema.name", "missing_required_parameter", "Missing required parameter: "+
					"'response_format.json_schema.name'.")
			}
			q.Schema = format.JSONSchema.Schema
			if problem := strictness(q.Schema, "()"); format.JSONSchema.Strict && problem != "" {
				return invalidParam("response_format", "", "Invalid schema for response_format '"+format.JSONSchema.Name+"': "+problem)
			}
		default:
			return invalidParam("response_format.type", "invalid_value", "Invalid value: '"+format.Type+"'. Supported values are: "+
				"'json_object', 'json_schema', and 'text'.")
		}
	}
	modern := strings.HasPrefix(name, "gpt-5") || strings.HasPrefix(name, "o1") || strings.HasPrefix(name, "o3") || strings.HasPrefix(name, "o4")
	switch {
	case body.MaxTokens != nil && (name == "no-max-tokens" || modern):
		return invalidParam("max_tokens", "unsupported_parameter", "Unsupported parameter: 'max_tokens' is not supported with this model. "+
			"Use 'max_completion_tokens' instead.")
	case body.Temperature != nil && *body.Temperature != 1 && (name == "no-temperature" || modern):
		return invalidParam("temperature", "unsupported_value", fmt.Sprintf("Unsupported value: 'temperature' does not support %v with this "+
			"model. Only the default (1) value is supported.", *body.Temperature))
	}
	return nil
}
