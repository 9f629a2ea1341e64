package recorded

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/client"
	"github.com/looptrace/looptrace/controlplane/llm/openaichat"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// messageForms are the recorded forms of messages, by the first of the chat messages that each becomes.
type messageForms map[string][]MessageForm

// MessageForm is a recorded message and the chat messages that it becomes.
type MessageForm struct {
	Recorded json.RawMessage
	Group    []json.RawMessage
}

func (f messageForms) add(recorded json.RawMessage, group []json.RawMessage) {
	if len(group) == 0 {
		return
	}
	key := string(group[0])
	for _, known := range f[key] {
		if string(known.Recorded) == string(recorded) {
			return
		}
	}
	f[key] = append(f[key], MessageForm{recorded, group})
}

// modelCall reads a call of a model: the request and response as they were sent and received, if they were recorded, else
// those that the span's messages tell.
func (r *Recording) modelCall(i int, span *Span) *ModelCall {
	call := &ModelCall{Provider: span.Provider, CostUSD: span.CostUSD}
	r.talks[i] = r.convert(span)
	call.Request = Request{Model: cmp.Or(span.RequestModel, span.ResponseModel), Messages: r.talks[i].Messages(), Params: paramsOf(span)}
	if tools, err := openaichat.Tools(span.ToolDefinitions); err == nil {
		call.Request.Tools = tools
	}
	body := []byte(span.Attributes[KeyProviderRequest])
	kind := llm.OpenAI
	if len(body) > 0 && isAnthropic(span.Provider, body) {
		kind = llm.Anthropic
	}
	if len(body) > 0 {
		if sent, err := readBody(body, kind == llm.Anthropic); err == nil {
			sent.Model = cmp.Or(sent.Model, call.Request.Model)
			r.talks[i] = r.verbatim(span, sent.Messages)
			sent.Messages = r.talks[i].Messages()
			call.Request, call.Verbatim = sent, true
		}
	}
	if received := span.Attributes[KeyProviderResponse]; received != "" {
		if result, err := client.ReadResponse(kind, []byte(received)); err == nil {
			response := ResponseOf(result)
			call.Response = &response
		}
	}
	if call.Response == nil {
		call.Response = r.answerOf(span)
	}
	if call.Response != nil {
		call.Response.Model = cmp.Or(call.Response.Model, span.ResponseModel)
		call.Response.ID = cmp.Or(call.Response.ID, span.Attributes["gen_ai.response.id"])
		call.Response.Fingerprint = cmp.Or(call.Response.Fingerprint, span.Attributes["openai.response.system_fingerprint"], span.Attributes["gen_ai.openai.response.system_fingerprint"])
		if call.Response.FinishReason == "" && len(span.FinishReasons) > 0 {
			call.Response.FinishReason = span.FinishReasons[0]
		}
		if call.Response.Usage == nil && span.HasUsage() {
			call.Response.Usage = &Usage{
				Input: span.InputTokens, Output: span.OutputTokens, CacheRead: span.CacheReadTokens, CacheWrite: span.CacheWriteTokens, Reasoning: span.ReasoningTokens,
			}
		}
	}
	return call
}

// requestDigests name a recorded request, and its messages after the system's.
type requestDigests struct{ Request, Body Digest }

// RequestDigest is a digest in hexadecimal of what a model call of the recording asks, by the index of its step. Requests that are the same to the model
// have the same one. It is of zeros for other steps.
func (r *Recording) RequestDigest(step int) string {
	return hex.EncodeToString(r.Requests[step].Request[:])
}

// tailKey is what the requests of a loop have in common: the span above them, their first message, and whether they are those that were sent.
type tailKey struct {
	parent   uint64
	first    string
	verbatim bool
}

// tail is the request with a key that was converted last.
type tail struct {
	instructions, recorded []json.RawMessage
	history                *History
}

// convert converts the messages of a span, and keeps their recorded forms. It returns none if they cannot be sent. Those of the request before
// are not converted again.
func (r *Recording) convert(span *Span) *History {
	key := tailKey{parent: span.ParentSpanID}
	if len(span.InputMessages) > 0 {
		key.first = string(span.InputMessages[0])
	}
	before := r.tails[key]
	if before == nil || !beginsWith(span.InputMessages, before.recorded) || !slices.EqualFunc(before.instructions, span.SystemInstructions, jsontext.Equal) {
		system, err := ToChat(span.SystemInstructions, nil)
		if err != nil {
			return new(History).with(r.Cache, nil)
		}
		before = &tail{instructions: span.SystemInstructions, history: new(History).with(r.Cache, system)}
	}
	var more []json.RawMessage
	for i, raw := range span.InputMessages[len(before.recorded):] {
		group, err := r.groupOf(raw)
		if err != nil {
			return new(History).with(r.Cache, nil)
		}
		if system := before.history.raw; len(before.recorded)+i == 0 && len(system) == 1 && len(group) == 1 && bytes.Equal(group[0], system[0]) {
			continue
		}
		more = append(more, group...)
	}
	now := before.history.with(r.Cache, more)
	r.tails[key] = &tail{span.SystemInstructions, span.InputMessages, now}
	return now
}

// verbatim reads the messages of a request as it was sent.
func (r *Recording) verbatim(span *Span, messages []json.RawMessage) *History {
	key := tailKey{parent: span.ParentSpanID, verbatim: true}
	if len(messages) > 0 {
		key.first = string(messages[0])
	}
	var before *History
	if known := r.tails[key]; known != nil {
		before = known.history
	}
	now := before.Next(r.Cache, messages)
	r.tails[key] = &tail{history: now}
	return now
}

// groupOf converts a message. All later requests of a loop have it, too.
func (r *Recording) groupOf(raw json.RawMessage) ([]json.RawMessage, error) {
	if group, ok := r.groups[string(raw)]; ok {
		return group, nil
	}
	group, err := toGroup(raw)
	if err == nil {
		r.groups[string(raw)] = group
		r.Forms.add(raw, group)
	}
	return group, err
}

// answerOf returns the answer that the span's messages tell, nil for none. Some libraries record an answer in several messages.
func (r *Recording) answerOf(span *Span) *Response {
	if len(span.OutputMessages) == 0 {
		return nil
	}
	var answers []json.RawMessage
	for _, raw := range span.OutputMessages {
		group, err := r.groupOf(raw)
		if err != nil {
			return nil
		}
		for _, message := range group {
			if m := r.Cache.Read(message); m.Role == RoleAssistant {
				answers = append(answers, message)
			}
		}
	}
	switch len(answers) {
	case 0:
		return nil
	case 1:
		return &Response{Message: answers[0]}
	}
	joined, err := joinMessages(answers)
	if err != nil {
		return nil
	}
	return &Response{Message: joined}
}

// joinMessages joins messages of an assistant to one.
func joinMessages(messages []json.RawMessage) (json.RawMessage, error) {
	out := map[string]any{"role": RoleAssistant}
	var texts, thoughts string
	var parts, calls []json.RawMessage
	for _, raw := range messages {
		message := jsontext.Members(raw)
		if jsontext.IsString(message["content"]) {
			texts = join(texts, jsontext.String(message["content"]))
		} else {
			parts = append(parts, jsontext.List(message["content"])...)
		}
		thoughts = join(thoughts, jsontext.String(message[KeyReasoning]))
		calls = append(calls, jsontext.List(message[KeyToolCalls])...)
		for name, value := range message {
			if _, known := out[name]; !known && name != "content" && name != KeyReasoning && name != KeyToolCalls {
				out[name] = value
			}
		}
	}
	switch {
	case len(parts) > 0:
		if texts != "" {
			text, err := jsontext.Encode(map[string]string{"type": TypeText, "text": texts})
			if err != nil {
				return nil, err
			}
			parts = append([]json.RawMessage{text}, parts...)
		}
		out["content"] = parts
	case texts != "" || len(calls) == 0:
		out["content"] = texts
	default:
		out["content"] = nil
	}
	if thoughts != "" {
		out[KeyReasoning] = thoughts
	}
	if len(calls) > 0 {
		out[KeyToolCalls] = calls
	}
	return jsontext.Encode(out)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
