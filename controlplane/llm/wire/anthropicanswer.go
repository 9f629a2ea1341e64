package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// AnthropicReader reads messages and the events of their streams.
type AnthropicReader struct {
	Answer *Answer
	begun  bool
	blocks []*block
	usage  anthropicUsage
}

// block is a content block that is being received.
type block struct {
	kind    string
	members map[string]json.RawMessage
	// grown are the texts that arrive in fragments, by member.
	grown map[string]*strings.Builder
	call  *toolCall
	input strings.Builder
}

type anthropicUsage struct {
	InputTokens              tokens `json:"input_tokens"`
	OutputTokens             tokens `json:"output_tokens"`
	CacheReadInputTokens     tokens `json:"cache_read_input_tokens"`
	CacheCreationInputTokens tokens `json:"cache_creation_input_tokens"`
	CacheCreation            struct {
		Ephemeral1hInputTokens tokens `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	OutputTokensDetails struct {
		ThinkingTokens tokens `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	ServiceTier string `json:"service_tier"`
}

// usage counts the cached input as a part of the input, which the API counts apart.
func (u *anthropicUsage) usage() *llm.Usage {
	if u.InputTokens.int64 == nil && u.OutputTokens.int64 == nil {
		return nil
	}
	out := &llm.Usage{
		Output: u.OutputTokens.int64, CacheRead: u.CacheReadInputTokens.int64, CacheWrite: u.CacheCreationInputTokens.int64,
		CacheWrite1h: u.CacheCreation.Ephemeral1hInputTokens.int64, Reasoning: u.OutputTokensDetails.ThinkingTokens.int64,
	}
	if u.InputTokens.int64 != nil {
		sum := *u.InputTokens.int64
		for _, part := range []*int64{out.CacheRead, out.CacheWrite} {
			if part != nil {
				sum += *part
			}
		}
		out.Input = &sum
	}
	return out
}

type anthropicMessage struct {
	ID         string            `json:"id"`
	Model      string            `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      json.RawMessage   `json:"usage"`
}

// Complete reports whether the answer has its end, even without the last event.
func (r *AnthropicReader) Complete() bool { return r.Answer.finish != "" }

// Whole reads an answer that is not streamed.
func (r *AnthropicReader) Whole(body []byte) error {
	var message anthropicMessage
	if err := json.Unmarshal(body, &message); err != nil {
		return &llm.GarbageError{What: "the response is not a message: " + err.Error()}
	}
	if message.Content == nil {
		return &llm.GarbageError{What: "the response has no content"}
	}
	r.head(&message)
	if len(message.Content) > maxCalls {
		return errCalls
	}
	for _, raw := range message.Content {
		if err := r.start(raw); err != nil {
			return err
		}
		if err := r.stop(len(r.blocks) - 1); err != nil {
			return err
		}
	}
	r.end(message.StopReason, nil)
	return r.Answer.Check()
}

// head reads the beginning of a message.
func (r *AnthropicReader) head(message *anthropicMessage) {
	r.Answer.id, r.Answer.model = message.ID, message.Model
	r.count(message.Usage)
}

// count takes over the counts that are told; later ones replace earlier ones. All are unknown if they are not valid.
func (r *AnthropicReader) count(raw json.RawMessage) {
	if jsontext.IsNull(raw) {
		return
	}
	if json.Unmarshal(raw, &r.usage) != nil {
		r.usage = anthropicUsage{}
	}
	r.Answer.usage, r.Answer.serviceTier = r.usage.usage(), r.usage.ServiceTier
}

// end ends the answer. Servers that imitate the API report failures by a reason that Anthropic does not have, with an error
// or without.
func (r *AnthropicReader) end(reason string, err json.RawMessage) {
	r.Answer.finish = anthropicFinish(reason)
	switch {
	case !saysNothing(err):
		r.Answer.Failed = failed(err)
	case isFailure(reason):
		r.Answer.Failed = ended(reason)
	}
	r.keep()
}

func anthropicFinish(reason string) string {
	switch reason {
	case "end_turn", "stop_sequence":
		return "stop"
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "tool_use":
		return "tool_calls"
	}
	return reason
}

// Event reads an event of a stream. It returns true if it is the last one.
func (r *AnthropicReader) Event(data []byte) (bool, error) {
	var event struct {
		Type         string           `json:"type"`
		Index        int              `json:"index"`
		Message      anthropicMessage `json:"message"`
		ContentBlock json.RawMessage  `json:"content_block"`
		Delta        json.RawMessage  `json:"delta"`
		Usage        json.RawMessage  `json:"usage"`
	}
	if err := json.Unmarshal(data, &event); err != nil {
		return false, &llm.GarbageError{What: "an event is not valid: " + err.Error()}
	}
	switch event.Type {
	case "message_start":
		r.begun = true
		r.head(&event.Message)
		r.usage.OutputTokens = tokens{} // what is counted so far is not the answer's
		r.Answer.usage = r.usage.usage()
		return false, nil
	case "content_block_start":
		if len(r.blocks) == maxCalls {
			return false, errCalls
		}
		if event.Index != len(r.blocks) {
			return false, &llm.GarbageError{What: fmt.Sprintf("the content block %d follows %d others", event.Index, len(r.blocks))}
		}
		return false, r.start(event.ContentBlock)
	case "content_block_delta":
		if event.Index < 0 || event.Index >= len(r.blocks) {
			return false, &llm.GarbageError{What: fmt.Sprintf("a delta is of the content block %d, which has not begun", event.Index)}
		}
		return false, r.grow(r.blocks[event.Index], event.Delta)
	case "message_delta":
		var delta struct {
			StopReason string          `json:"stop_reason"`
			Error      json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(event.Delta, &delta); err != nil {
			return false, &llm.GarbageError{What: "message_delta is not valid: " + err.Error()}
		}
		if delta.StopReason != "" {
			r.end(delta.StopReason, delta.Error)
		}
		r.count(event.Usage)
		return false, nil
	case "content_block_stop":
		return false, r.stop(event.Index)
	case "message_stop":
		if !r.begun {
			return true, &llm.GarbageError{What: "the stream has no message"}
		}
		return true, nil
	}
	return false, nil // ping, and what the API adds: it asks to ignore those
}

// start begins a block with what it has from the beginning.
func (r *AnthropicReader) start(raw json.RawMessage) error {
	values, err := llm.Members(raw)
	if err != nil {
		return &llm.GarbageError{What: "a content block is not valid: " + err.Error()}
	}
	b := &block{kind: llm.TextOf(values["type"]), members: values, grown: map[string]*strings.Builder{}}
	r.blocks = append(r.blocks, b)
	switch b.kind {
	case "text":
		return r.Answer.addText(llm.TextOf(values["text"]))
	case "thinking":
		return r.Answer.addReasoning(llm.TextOf(values["thinking"]))
	case "tool_use":
		b.call = r.Answer.newCall(llm.TextOf(values["id"]), llm.TextOf(values["name"]))
		return r.Answer.addArguments(b.call, true, "")
	}
	return nil
}

// stop ends a block. A call whose arguments did not come in fragments has them from the beginning.
func (r *AnthropicReader) stop(index int) error {
	if index < 0 || index >= len(r.blocks) {
		return &llm.GarbageError{What: fmt.Sprintf("the content block %d ends and has not begun", index)}
	}
	b := r.blocks[index]
	if b.call == nil || b.input.Len() > 0 {
		return nil
	}
	input := "{}"
	if !jsontext.IsNull(b.members["input"]) {
		input = string(jsontext.MustEncode(b.members["input"]))
	}
	b.input.WriteString(input)
	return r.Answer.addArguments(b.call, false, input)
}

// grow adds a delta to a block.
func (r *AnthropicReader) grow(b *block, raw json.RawMessage) error {
	var delta struct {
		Type        string          `json:"type"`
		Text        string          `json:"text"`
		Thinking    string          `json:"thinking"`
		Signature   string          `json:"signature"`
		PartialJSON string          `json:"partial_json"`
		Citation    json.RawMessage `json:"citation"`
	}
	if err := json.Unmarshal(raw, &delta); err != nil {
		return &llm.GarbageError{What: "a delta is not valid: " + err.Error()}
	}
	switch delta.Type {
	case "text_delta":
		b.add("text", delta.Text)
		return r.Answer.addText(delta.Text)
	case "thinking_delta":
		b.add("thinking", delta.Thinking)
		return r.Answer.addReasoning(delta.Thinking)
	case "signature_delta":
		b.add("signature", delta.Signature)
	case "input_json_delta":
		b.input.WriteString(delta.PartialJSON)
		if b.call != nil {
			return r.Answer.addArguments(b.call, false, delta.PartialJSON)
		}
	case "citations_delta":
		b.members["citations"] = merge(map[string]json.RawMessage{"c": orEmpty(b.members["citations"])},
			map[string]json.RawMessage{"c": jsontext.MustEncode([]json.RawMessage{delta.Citation})})["c"]
	}
	return nil
}

func orEmpty(list json.RawMessage) json.RawMessage {
	if llm.IsEmpty(list) {
		return nil
	}
	return list
}

// keep puts the blocks into the message if chat completions cannot express them.
func (r *AnthropicReader) keep() {
	plain := true
	blocks := make([]json.RawMessage, 0, len(r.blocks))
	for _, b := range r.blocks {
		if b.kind != "text" && b.kind != "tool_use" || !jsontext.IsNull(b.members["citations"]) {
			plain = false
		}
		if b.call != nil && b.call.final {
			continue // the answer, which is not a call that a next request could answer
		}
		blocks = append(blocks, b.encode())
	}
	if !plain {
		r.Answer.others = map[string]json.RawMessage{"anthropic_content": jsontext.MustEncode(blocks)}
	}
}

func (b *block) add(member, fragment string) {
	if b.grown[member] == nil {
		b.grown[member] = &strings.Builder{}
	}
	b.grown[member].WriteString(fragment)
}

func (b *block) encode() json.RawMessage {
	values := maps.Clone(b.members)
	for name, s := range b.grown {
		values[name] = jsontext.MustEncode(llm.TextOf(values[name]) + s.String())
	}
	if input := b.input.String(); json.Valid([]byte(input)) {
		values["input"] = json.RawMessage(input)
	}
	return jsontext.MustEncode(values)
}

// AnthropicModels reads a page of the list of models, and returns where the next one begins.
func AnthropicModels(body []byte) ([]llm.Model, string, error) {
	var page struct {
		Data []struct {
			ID             string    `json:"id"`
			DisplayName    string    `json:"display_name"`
			CreatedAt      time.Time `json:"created_at"`
			MaxInputTokens *int64    `json:"max_input_tokens"`
			MaxTokens      *int64    `json:"max_tokens"`
		} `json:"data"`
		HasMore bool   `json:"has_more"`
		LastID  string `json:"last_id"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, "", &llm.GarbageError{What: "the response is not a list of models: " + err.Error()}
	}
	models := make([]llm.Model, 0, len(page.Data))
	for _, e := range page.Data {
		models = append(models, llm.Model{
			ID: e.ID, Name: e.DisplayName, Created: e.CreatedAt, MaxInputTokens: e.MaxInputTokens, MaxOutputTokens: e.MaxTokens,
		})
	}
	if !page.HasMore {
		return models, "", nil
	}
	return models, page.LastID, nil
}
