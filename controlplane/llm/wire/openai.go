package wire

import (
	"encoding/json"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// OpenAIBody returns the body of a chat completion.
func OpenAIBody(r *llm.Request, s *Structure, stream bool) ([]byte, error) {
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
	var body llm.Object
	body.Set("model", r.Model)
	body.Set("messages", messages)
	openAITools(&body, r, s)
	openAIFormat(&body, r, s)
	if r.Temperature != nil {
		body.Set("temperature", *r.Temperature)
	}
	if r.TopP != nil {
		body.Set("top_p", *r.TopP)
	}
	if r.MaxOutputTokens != nil {
		name := r.TokenParameter
		if name == "" {
			name = llm.MaxCompletionTokens
		}
		body.Set(string(name), *r.MaxOutputTokens)
		// A server may obey either name, and the larger number would be no limit.
		for _, other := range []llm.TokenParameter{llm.MaxCompletionTokens, llm.MaxTokens} {
			if HasExtra(r, string(other)) {
				return nil, llm.Invalid("extra."+string(other), fmt.Sprintf("extra.%s and max_output_tokens are both set.", other), "Set max_output_tokens alone.")
			}
		}
	}
	if len(r.Stop) > 0 {
		body.Set("stop", r.Stop)
	}
	if r.Seed != nil {
		body.Set("seed", *r.Seed)
	}
	if r.ReasoningEffort != nil {
		body.Set("reasoning_effort", *r.ReasoningEffort)
	}
	if stream {
		body.Set("stream", true)
		if !r.OmitStreamUsage && !HasExtra(r, "stream_options") {
			body.Set("stream_options", map[string]bool{"include_usage": true})
		}
	}
	if err := addExtra(&body, r); err != nil {
		return nil, err
	}
	return body.Encode(), nil
}

func openAITools(body *llm.Object, r *llm.Request, s *Structure) {
	tools, choice := r.Tools, r.ToolChoice
	if s.Tool != "" {
		tools = append(append([]json.RawMessage{}, r.Tools...), s.answerTool())
		choice = s.choice(r)
	}
	if len(tools) > 0 {
		body.Set("tools", tools)
	}
	if !jsontext.IsNull(choice) {
		body.Set("tool_choice", choice)
	}
	if r.ParallelToolCalls != nil {
		body.Set("parallel_tool_calls", *r.ParallelToolCalls)
	}
}

func openAIFormat(body *llm.Object, r *llm.Request, s *Structure) {
	switch {
	case jsontext.IsNull(r.ResponseFormat):
	case s.schema == nil || s.Strategy == llm.Native:
		body.Set("response_format", r.ResponseFormat)
	case s.Strategy == llm.JSONMode:
		body.Set("response_format", map[string]string{"type": "json_object"})
	}
}

// openAIMessages returns the messages without the members that are Anthropic's. An instruction is added to the first
// message if that one is the system's, because many servers take a system message in no other place.
func openAIMessages(messages []json.RawMessage, instruction string) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(messages)+1)
	for i, raw := range messages {
		message, err := llm.Members(raw)
		if err != nil {
			return nil, llm.Invalid("messages", fmt.Sprintf("messages[%d] is not valid: %s.", i, err), "")
		}
		if i == 0 && instruction != "" {
			if role := llm.TextOf(message["role"]); role == "system" || role == "developer" {
				if message["content"], err = appendText(message["content"], instruction); err != nil {
					return nil, llm.Invalid("messages", fmt.Sprintf("messages[%d].content is not valid: %s.", i, err), "")
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
		return jsontext.MustEncode(llm.TextOf(content) + "\n\n" + addition), nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, err
	}
	return jsontext.MustEncode(append(parts, jsontext.MustEncode(map[string]string{"type": "text", "text": addition}))), nil
}
