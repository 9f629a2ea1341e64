package provider

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

type object = map[string]any

func openAIUsage(u *Usage) object {
	input := object{"cached_tokens": u.CacheRead, "audio_tokens": 0}
	if u.CacheWrite > 0 {
		input["cache_write_tokens"] = u.CacheWrite
	}
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details": input,
		"completion_tokens_details": object{
			"reasoning_tokens": u.Reasoning, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
		},
	}
}

func openAIFinish(r *Reply) string {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.ToolCalls) > 0:
		return "tool_calls"
	default:
		return "stop"
	}
}

// openAIHead has the members that an answer shares with its chunks.
func openAIHead(q *Request, r *Reply, kind string) object {
	head := object{
		"id": q.id("chatcmpl-", "completion", 29), "object": kind, "created": time.Now().Unix(), "model": r.Model,
	}
	if !r.NoFingerprint {
		head["system_fingerprint"] = cmp.Or(r.Fingerprint, "fp_"+r.Model)
	}
	if q.Protocol == OpenAI {
		head["service_tier"] = "default"
	}
	return head
}

func openAICompletion(q *Request, r *Reply) object {
	message := object{"role": "assistant", "content": r.Text, "refusal": nil, "annotations": []any{}}
	if r.Reasoning != "" && !r.HideReasoning {
		message["reasoning_content"] = r.Reasoning
	}
	if r.Refusal != "" {
		message["content"], message["refusal"] = nil, r.Refusal
	}
	if len(r.ToolCalls) > 0 {
		if r.Text == "" {
			message["content"] = nil
		}
		var calls []object
		for i, c := range r.ToolCalls {
			calls = append(calls, object{
				"id": q.callID(c, i), "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments},
			})
		}
		message["tool_calls"] = calls
	}
	choice := object{"index": 0, "message": message, "logprobs": nil, "finish_reason": openAIFinish(r)}
	completion := openAIHead(q, r, "chat.completion")
	if q.Protocol == Azure {
		choice["content_filter_results"] = unfiltered()
		completion["prompt_filter_results"] = []object{{"prompt_index": 0, "content_filter_results": unfiltered()}}
	}
	completion["choices"] = []object{choice}
	if !r.NoUsage {
		completion["usage"] = openAIUsage(r.Usage)
	}
	return completion
}

func unfiltered() object {
	safe := object{"filtered": false, "severity": "safe"}
	return object{"hate": safe, "self_harm": safe, "sexual": safe, "violence": safe}
}

// callID makes up an id where the script has none.
func (r *Request) callID(c ToolCall, index int) string {
	if c.ID != "" {
		return c.ID
	}
	prefix := "call_"
	if r.Protocol == Anthropic {
		prefix = "toolu_01"
	}
	return r.id(prefix, "call "+strconv.Itoa(index), 22)
}

func openAIEvents(q *Request, r *Reply) []event {
	var events []event
	chunk := func(text string, token bool, delta object, finish any) {
		data := openAIHead(q, r, "chat.completion.chunk")
		choice := object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}
		if q.Protocol == Azure {
			choice["content_filter_results"] = object{}
			if token {
				choice["content_filter_results"] = unfiltered()
			}
		}
		data["choices"] = []object{choice}
		if q.includeUsage {
			data["usage"] = nil
		}
		if q.obfuscate && q.Protocol == OpenAI {
			data["obfuscation"] = strings.Repeat("x", max(1, 16-len(text)%16))
		}
		events = append(events, event{data: data, text: text, token: token})
	}
	if q.Protocol == Azure {
		events = append(events, event{data: object{
			"id": "", "object": "", "created": 0, "model": "", "choices": []any{},
			"prompt_filter_results": []object{{"prompt_index": 0, "content_filter_results": unfiltered()}},
		}})
	}
	first := object{"role": "assistant", "content": "", "refusal": nil}
	if len(r.ToolCalls) > 0 && r.Text == "" {
		first["content"] = nil
	}
	chunk("", false, first, nil)
	if !r.HideReasoning {
		for _, p := range pieces(r.Reasoning) {
			chunk(p, true, object{"reasoning_content": p}, nil)
		}
	}
	for _, p := range r.Pieces {
		chunk(p, true, object{"content": p}, nil)
	}
	for _, p := range pieces(r.Refusal) {
		chunk(p, true, object{"refusal": p}, nil)
	}
	for i, c := range r.ToolCalls {
		chunk("", false, object{"tool_calls": []object{{
			"index": i, "id": q.callID(c, i), "type": "function", "function": object{"name": c.Name, "arguments": ""},
		}}}, nil)
		for _, p := range fragments(c.Arguments) {
			chunk(p, true, object{"tool_calls": []object{{"index": i, "function": object{"arguments": p}}}}, nil)
		}
	}
	chunk("", false, object{}, openAIFinish(r))
	if q.includeUsage && !r.NoUsage {
		data := openAIHead(q, r, "chat.completion.chunk")
		data["choices"], data["usage"] = []any{}, openAIUsage(r.Usage)
		events = append(events, event{data: data})
	}
	return append(events, event{data: "[DONE]"})
}
