package provider

import (
	"encoding/json"
	"slices"
)

// anthropicUsage counts uncached input apart from the cache.
func anthropicUsage(u *Usage, output int) object {
	return object{
		"input_tokens":                u.Input - u.CacheRead - u.CacheWrite,
		"cache_creation_input_tokens": u.CacheWrite,
		"cache_read_input_tokens":     u.CacheRead,
		"cache_creation":              object{"ephemeral_5m_input_tokens": u.CacheWrite, "ephemeral_1h_input_tokens": 0},
		"output_tokens":               output,
		"service_tier":                "standard",
	}
}

func anthropicStop(r *Reply) (reason string, sequence, details any) {
	switch {
	case r.Refusal != "" || r.Finish == "refusal":
		return "refusal", nil, object{"type": "refusal", "category": nil, "explanation": nil}
	case r.Finish != "":
		reason = r.Finish
	case len(r.ToolCalls) > 0:
		reason = "tool_use"
	case r.StopSequence != "":
		return "stop_sequence", r.StopSequence, nil
	default:
		reason = "end_turn"
	}
	return reason, nil, nil
}

func anthropicHead(q *Request, r *Reply) object {
	return object{
		"id": q.id("msg_01", "message", 22), "type": "message", "role": "assistant", "model": r.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "stop_details": nil,
	}
}

func anthropicMessage(q *Request, r *Reply) object {
	blocks := []object{}
	if r.Reasoning != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": r.Reasoning, "signature": sign(r.Reasoning)})
	}
	if text := r.Text + r.Refusal; text != "" {
		blocks = append(blocks, object{"type": "text", "text": text})
	}
	for i, c := range r.ToolCalls {
		blocks = append(blocks, object{"type": "tool_use", "id": q.callID(c, i), "name": c.Name, "input": json.RawMessage(c.Arguments)})
	}
	message := anthropicHead(q, r)
	message["content"] = blocks
	message["stop_reason"], message["stop_sequence"], message["stop_details"] = anthropicStop(r)
	usage := anthropicUsage(r.Usage, r.Usage.Output)
	if r.Usage.Reasoning > 0 {
		usage["output_tokens_details"] = object{"thinking_tokens": r.Usage.Reasoning}
	}
	message["usage"] = usage
	return message
}

func anthropicEvents(q *Request, r *Reply) []event {
	var events []event
	add := func(name string, data object) {
		data["type"] = name
		events = append(events, event{name: name, data: data})
	}
	index := -1
	block := func(start object) {
		index++
		add("content_block_start", object{"index": index, "content_block": start})
	}
	delta := func(kind, member, text string, token bool) {
		add("content_block_delta", object{"index": index, "delta": object{"type": kind, member: text}})
		events[len(events)-1].text, events[len(events)-1].token = text, token
	}
	stop := func() { add("content_block_stop", object{"index": index}) }

	message := anthropicHead(q, r)
	message["usage"] = anthropicUsage(r.Usage, 1)
	add("message_start", object{"message": message})
	add("ping", object{})
	if r.Reasoning != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""})
		for _, p := range pieces(r.Reasoning) {
			delta("thinking_delta", "thinking", p, true)
		}
		delta("signature_delta", "signature", sign(r.Reasoning), false)
		stop()
	}
	if texts := append(slices.Clone(r.Pieces), pieces(r.Refusal)...); len(texts) > 0 {
		block(object{"type": "text", "text": ""})
		for _, p := range texts {
			delta("text_delta", "text", p, true)
		}
		stop()
	}
	for i, c := range r.ToolCalls {
		block(object{"type": "tool_use", "id": q.callID(c, i), "name": c.Name, "input": object{}})
		delta("input_json_delta", "partial_json", "", false)
		for _, p := range fragments(c.Arguments) {
			delta("input_json_delta", "partial_json", p, true)
		}
		stop()
	}
	reason, sequence, details := anthropicStop(r)
	usage := anthropicUsage(r.Usage, r.Usage.Output)
	delete(usage, "cache_creation")
	delete(usage, "service_tier")
	if r.Usage.Reasoning > 0 {
		usage["output_tokens_details"] = object{"thinking_tokens": r.Usage.Reasoning}
	}
	add("message_delta", object{
		"delta": object{"stop_reason": reason, "stop_sequence": sequence, "stop_details": details}, "usage": usage,
	})
	add("message_stop", object{})
	return events
}
