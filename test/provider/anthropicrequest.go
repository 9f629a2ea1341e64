package provider

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// anthropicParams are the parameters of messages. Others are refused.
var anthropicParams = map[string]bool{
	"cache_control": true, "container": true, "context_management": true, "inference_geo": true, "max_tokens": true,
	"messages": true, "metadata": true, "model": true, "output_config": true, "service_tier": true, "stop_sequences": true,
	"stream": true, "system": true, "temperature": true, "thinking": true, "tool_choice": true, "tools": true, "top_k": true,
	"top_p": true,
}

type anthropicRequest struct {
	Model     string          `json:"model"`
	MaxTokens *int            `json:"max_tokens"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Stream        bool     `json:"stream"`
	Temperature   *float64 `json:"temperature"`
	StopSequences []string `json:"stop_sequences"`
	Tools         []struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	ToolChoice *struct {
		Type                   string `json:"type"`
		Name                   string `json:"name"`
		DisableParallelToolUse bool   `json:"disable_parallel_tool_use"`
	} `json:"tool_choice"`
	Thinking *struct {
		Type         string `json:"type"`
		BudgetTokens int    `json:"budget_tokens"`
	} `json:"thinking"`
	OutputConfig *struct {
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

// readAnthropic reads the body into the request and refuses what Anthropic refuses.
func readAnthropic(q *Request) *Error {
	var body anthropicRequest
	var params map[string]json.RawMessage
	if err := json.Unmarshal(q.Body, &params); err != nil {
		return invalid("The request body is not valid JSON: " + err.Error())
	}
	if err := json.Unmarshal(q.Body, &body); err != nil {
		return invalid("Input should be of another type: " + err.Error())
	}
	q.Model, q.Stream, q.Stop = body.Model, body.Stream, body.StopSequences
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !anthropicParams[name] {
			return invalid(name + ": Extra inputs are not permitted")
		}
	}
	name, _, _ := strings.Cut(q.Model, "@")
	switch {
	case body.Model == "":
		return invalid("model: Field required")
	case body.MaxTokens == nil:
		return invalid("max_tokens: Field required")
	case *body.MaxTokens < 1:
		return invalid("max_tokens: Input should be greater than or equal to 1")
	case params["messages"] == nil:
		return invalid("messages: Field required")
	case len(body.Messages) == 0:
		return invalid("messages: at least one message is required")
	case body.Temperature != nil && (*body.Temperature < 0 || *body.Temperature > 1):
		return invalid("temperature: range: 0..1")
	case body.Temperature != nil && name == "no-temperature":
		return invalid("`temperature` is deprecated for this model.")
	}
	q.MaxTokens = *body.MaxTokens
	if refusal := readThinking(q, name, &body); refusal != nil {
		return refusal
	}
	system, _, err := content(body.System)
	if err != nil {
		return invalid("system: Input should be a valid list")
	}
	if system != "" {
		q.Messages = append(q.Messages, Message{Role: "system", Text: system})
	}
	if refusal := readAnthropicMessages(q, &body); refusal != nil {
		return refusal
	}
	for _, t := range body.Tools {
		q.Tools = append(q.Tools, Tool{Name: t.Name, Schema: t.InputSchema})
	}
	if choice := body.ToolChoice; choice != nil {
		q.Parallel = !choice.DisableParallelToolUse
		q.ToolChoice = map[string]string{"any": "required", "none": "none", "tool": choice.Name}[choice.Type]
		switch {
		case len(q.Tools) == 0:
			return invalid("tool_choice: may only be specified while providing tools.")
		case q.Thinks && (choice.Type == "any" || choice.Type == "tool"):
			return invalid("Thinking may not be enabled when tool_choice forces tool use.")
		case choice.Type == "tool" && !slices.ContainsFunc(q.Tools, func(t Tool) bool { return t.Name == choice.Name }):
			return invalid("Tool '" + choice.Name + "' not found in provided tools")
		}
	}
	if body.OutputConfig != nil && body.OutputConfig.Format != nil {
		q.Schema = body.OutputConfig.Format.Schema
		if problem := unsupported(q.Schema); problem != "" {
			return invalid("output_config.format.schema: " + problem)
		}
	}
	return nil
}

func readThinking(q *Request, name string, body *anthropicRequest) *Error {
	if body.Thinking == nil || body.Thinking.Type == "disabled" {
		return nil
	}
	q.Thinks = true
	enabled := body.Thinking.Type == "enabled"
	switch {
	case !reasons(Anthropic, name) && enabled:
		return invalid("'" + name + "' does not support thinking.")
	case !reasons(Anthropic, name):
		return invalid(body.Thinking.Type + " thinking is not supported on this model")
	case enabled && body.Thinking.BudgetTokens < 1024:
		return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case enabled && body.Thinking.BudgetTokens >= *body.MaxTokens:
		return invalid("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at " +
			"https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
	case body.Temperature != nil && *body.Temperature != 1:
		return invalid("`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at " +
			"https://docs.claude.com/en/docs/build-with-claude/extended-thinking#important-considerations-when-using-extended-thinking")
	}
	return nil
}

func readAnthropicMessages(q *Request, body *anthropicRequest) *Error {
	var open []string
	for i, m := range body.Messages {
		at := "messages." + strconv.Itoa(i)
		if m.Role != "user" && m.Role != "assistant" {
			return invalid(at + ".role: Input should be 'user' or 'assistant'")
		}
		text, blocks, err := content(m.Content)
		if err != nil {
			return invalid(at + ".content: Input should be a valid list")
		}
		if text == "" && len(blocks) == 0 && i < len(body.Messages)-1 {
			return invalid(at + ": all messages must have non-empty content except for the optional final assistant message")
		}
		message := Message{Role: m.Role, Text: text}
		for j, b := range blocks {
			where := at + ".content." + strconv.Itoa(j)
			switch b.Type {
			case "text":
				if b.Text == "" {
					return invalid("messages: text content blocks must be non-empty")
				}
			case "image", "document":
				message.Images++
			case "thinking":
				if b.Signature != sign(b.Thinking) {
					return invalid(where + ": Invalid `signature` in `thinking` block")
				}
				message.reasons = message.reasons || j == 0
			case "redacted_thinking":
				message.reasons = message.reasons || j == 0
			case "tool_use":
				message.Calls = append(message.Calls, b.ID)
			case "tool_result":
				if !slices.Contains(open, b.ToolUseID) {
					return invalid(where + ": unexpected `tool_use_id` found in `tool_result` blocks: " + b.ToolUseID + ". Each `tool_result` " +
						"block must have a corresponding `tool_use` block in the previous message.")
				}
				open = slices.DeleteFunc(open, func(id string) bool { return id == b.ToolUseID })
				result, _, err := content(b.Content)
				if err != nil {
					return invalid(where + ".tool_result.content: Input should be a valid list")
				}
				message.Results = append(message.Results, b.ToolUseID)
				message.Text = strings.TrimPrefix(message.Text+"\n"+result, "\n")
			default:
				return invalid(where + ": Input tag '" + b.Type + "' found using 'type' does not match any of the expected tags")
			}
		}
		if len(open) > 0 {
			return invalid(fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each "+
				"`tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, strings.Join(open, ", ")))
		}
		open = slices.Clone(message.Calls)
		if q.Thinks && len(message.Calls) > 0 && !message.reasons {
			return invalid(at + ".content.0.type: Expected `thinking` or `redacted_thinking`, but found `" + blocks[0].Type + "`. When " +
				"`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of " + //nolint:misspell // their spelling
				"`tool_use` and `tool_result` blocks). To avoid this requirement, disable `thinking`.")
		}
		q.Messages = append(q.Messages, message)
	}
	if len(open) > 0 {
		return invalid(fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each "+
			"`tool_use` block must have a corresponding `tool_result` block in the next message.", len(body.Messages)-1, strings.Join(open, ", ")))
	}
	return nil
}
