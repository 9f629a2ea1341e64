package llm

import (
	"encoding/json"
	"fmt"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// openAIBody returns the body of a chat completion.
func openAIBody(r *Request, s *structure, stream bool) ([]byte, error) {
	if err := checkNumbers(r); err != nil {
		return nil, err
	}
	messages, err := openAIMessages(r.Messages, s.instruction())
	if err != nil {
		return nil, err
	}
	if err := checkList("tools", r.Tools); err != nil {
		return nil, err
	}
	var body object
	body.set("model", r.Model)
	body.set("messages", messages)
	openAITools(&body, r, s)
	openAIFormat(&body, r, s)
	if r.Temperature != nil {
		body.set("temperature", *r.Temperature)
	}
	if r.TopP != nil {
		body.set("top_p", *r.TopP)
	}
	if r.MaxOutputTokens != nil {
		name := r.TokenParameter
		if name == "" {
			name = MaxCompletionTokens
		}
		body.set(string(name), *r.MaxOutputTokens)
		// A server may obey either name, and the larger number would be no limit.
		for _, other := range []TokenParameter{MaxCompletionTokens, MaxTokens} {
			if hasExtra(r, string(other)) {
				return nil, invalid("extra."+string(other), fmt.Sprintf("extra.%s and max_output_tokens are both set.", other), "Set max_output_tokens alone.")
			}
		}
	}
	if len(r.Stop) > 0 {
		body.set("stop", r.Stop)
	}
	if r.Seed != nil {
		body.set("seed", *r.Seed)
	}
	if r.ReasoningEffort != nil {
		body.set("reasoning_effort", *r.ReasoningEffort)
	}
	if stream {
		body.set("stream", true)
		if !r.OmitStreamUsage && !hasExtra(r, "stream_options") {
			body.set("stream_options", map[string]bool{"include_usage": true})
		}
	}
	if err := addExtra(&body, r); err != nil {
		return nil, err
	}
	return body.encode(), nil
}

func openAITools(body *object, r *Request, s *structure) {
	tools, choice := r.Tools, r.ToolChoice
	if s.tool != "" {
		tools = append(append([]json.RawMessage{}, r.Tools...), s.answerTool())
		choice = s.choice(r)
	}
	if len(tools) > 0 {
		body.set("tools", tools)
	}
	if !jsontext.IsNull(choice) {
		body.set("tool_choice", choice)
	}
	if r.ParallelToolCalls != nil {
		body.set("parallel_tool_calls", *r.ParallelToolCalls)
	}
}

func openAIFormat(body *object, r *Request, s *structure) {
	switch {
	case jsontext.IsNull(r.ResponseFormat):
	case s.schema == nil || s.strategy == Native:
		body.set("response_format", r.ResponseFormat)
	case s.strategy == JSONMode:
		body.set("response_format", map[string]string{"type": "json_object"})
	}
}

// openAIMessages returns the messages without the members that are Anthropic's. An instruction is added to the first
// message if that one is the system's, because many servers take a system message in no other place.
func openAIMessages(messages []json.RawMessage, instruction string) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(messages)+1)
	for i, raw := range messages {
		message, err := members(raw)
		if err != nil {
			return nil, invalid("messages", fmt.Sprintf("messages[%d] is not valid: %s.", i, err), "")
		}
		if i == 0 && instruction != "" {
			if role := text(message["role"]); role == "system" || role == "developer" {
				if message["content"], err = appendText(message["content"], instruction); err != nil {
					return nil, invalid("messages", fmt.Sprintf("messages[%d].content is not valid: %s.", i, err), "")
				}
				raw = jsontext.MustEncode(message)
			} else {
				out = append(out, jsontext.MustEncode(map[string]string{"role": "system", "content": instruction}))
			}
		}
		if message["anthropic_content"] != nil {
			delete(message, "anthropic_content")
			delete(message, "reasoning_content")
			raw = jsontext.MustEncode(message)
		}
		out = append(out, raw)
	}
	return out, nil
}

// appendText adds a text to the content of a message.
func appendText(content json.RawMessage, addition string) (json.RawMessage, error) {
	if jsontext.IsNull(content) {
		return jsontext.MustEncode(addition), nil
	}
	if content[0] == '"' {
		return jsontext.MustEncode(text(content) + "\n\n" + addition), nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, err
	}
	return jsontext.MustEncode(append(parts, jsontext.MustEncode(map[string]string{"type": "text", "text": addition}))), nil
}
