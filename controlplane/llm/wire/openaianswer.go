package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// OpenAIReader reads chat completions and their chunks, also as compatible servers write them.
type OpenAIReader struct {
	Answer *Answer
	begun  bool
	calls  []indexedCall
}

// indexedCall is a call by its index in the stream. Its first fragments may lack the name.
type indexedCall struct {
	index     int
	id        string
	others    map[string]json.RawMessage
	arguments []byte // until the name arrives
	call      *toolCall
}

type openAICompletion struct {
	ID                string          `json:"id"`
	Model             string          `json:"model"`
	SystemFingerprint string          `json:"system_fingerprint"`
	ServiceTier       string          `json:"service_tier"`
	Usage             json.RawMessage `json:"usage"`
	Choices           []openAIChoice  `json:"choices"`
}

type openAIChoice struct {
	Index   int             `json:"index"`
	Message json.RawMessage `json:"message"`
	Delta   json.RawMessage `json:"delta"`
	// FinishReason is a text, or an object of SGLang.
	FinishReason json.RawMessage `json:"finish_reason"`
	// NativeFinishReason is what the provider behind an aggregator said.
	NativeFinishReason json.RawMessage `json:"native_finish_reason"`
	Error              json.RawMessage `json:"error"`
}

// finish returns the finish reason, "" for none.
func (c *openAIChoice) finish() string {
	reason := llm.TextOf(c.FinishReason)
	if values, err := llm.Members(c.FinishReason); err == nil {
		reason = llm.TextOf(values["type"])
	}
	if reason == "function_call" {
		return "tool_calls"
	}
	return reason
}

type openAIUsage struct {
	PromptTokens        tokens `json:"prompt_tokens"`
	CompletionTokens    tokens `json:"completion_tokens"`
	TotalTokens         tokens `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens     tokens `json:"cached_tokens"`
		CacheWriteTokens tokens `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens tokens `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	// PromptCacheHitTokens is DeepSeek's.
	PromptCacheHitTokens tokens `json:"prompt_cache_hit_tokens"`
}

// readOpenAIUsage returns nil for a usage that is not valid: it is unknown then.
func readOpenAIUsage(raw json.RawMessage) *llm.Usage {
	var u openAIUsage
	if jsontext.IsNull(raw) || json.Unmarshal(raw, &u) != nil || u.PromptTokens.int64 == nil && u.CompletionTokens.int64 == nil {
		return nil
	}
	out := &llm.Usage{
		Input: u.PromptTokens.int64, Output: u.CompletionTokens.int64, CacheRead: u.PromptTokensDetails.CachedTokens.int64,
		CacheWrite: u.PromptTokensDetails.CacheWriteTokens.int64, Reasoning: u.CompletionTokensDetails.ReasoningTokens.int64,
	}
	if out.CacheRead == nil {
		out.CacheRead = u.PromptCacheHitTokens.int64
	}
	// Some servers count reasoning apart from the completion. The total shows it.
	if in, completion, total, reasoning := out.Input, out.Output, u.TotalTokens.int64, out.Reasoning; in != nil && completion != nil &&
		total != nil && reasoning != nil && *reasoning > 0 && *total == *in+*completion+*reasoning {
		sum := *completion + *reasoning
		out.Output = &sum
	}
	return out
}

// Complete reports whether the answer has its end, even without the last event.
func (o *OpenAIReader) Complete() bool { return o.Answer.finish != "" }

// Whole reads an answer that is not streamed.
func (o *OpenAIReader) Whole(body []byte) error {
	completion, err := o.head(body)
	if err != nil {
		return err
	}
	for i := range completion.Choices {
		choice := &completion.Choices[i]
		failed := choice.failure()
		if choice.Index != 0 || jsontext.IsNull(choice.Message) && failed == nil {
			continue // a call takes one answer
		}
		o.Answer.finish, o.Answer.Failed = choice.finish(), failed
		if !jsontext.IsNull(choice.Message) {
			if err := o.add(choice.Message); err != nil {
				return err
			}
		}
		return o.Answer.Check()
	}
	what := "the response has no choice with a message"
	if said := ReadRefusal(body).Message; said != "" {
		what += fmt.Sprintf(", and says %q", llm.Shorten(said))
	}
	return &llm.GarbageError{What: what}
}

// Event reads an event of a stream. It returns true if it is the last one.
func (o *OpenAIReader) Event(data []byte) (bool, error) {
	if bytes.Equal(data, []byte("[DONE]")) {
		if !o.begun {
			return true, &llm.GarbageError{What: "the stream has no choice"}
		}
		return true, nil
	}
	chunk, err := o.head(data)
	if err != nil {
		return false, err
	}
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if choice.Index != 0 {
			continue // a call takes one answer
		}
		o.begun = true
		if finish := choice.finish(); finish != "" {
			o.Answer.finish = finish
		}
		if failed := choice.failure(); failed != nil {
			o.Answer.Failed = failed
		}
		if !jsontext.IsNull(choice.Delta) {
			if err := o.add(choice.Delta); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// head reads what a completion and a chunk have in common.
func (o *OpenAIReader) head(data []byte) (*openAICompletion, error) {
	var c openAICompletion
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, &llm.GarbageError{What: "the response is not a chat completion: " + err.Error()}
	}
	a := o.Answer
	keep := func(field *string, value string) {
		if value != "" {
			*field = value
		}
	}
	keep(&a.id, c.ID)
	keep(&a.model, c.Model)
	keep(&a.fingerprint, c.SystemFingerprint)
	keep(&a.serviceTier, c.ServiceTier)
	if usage := readOpenAIUsage(c.Usage); usage != nil {
		a.usage = usage
	}
	return &c, nil
}

// add adds a message or a delta of one.
func (o *OpenAIReader) add(raw json.RawMessage) error {
	message, err := llm.Members(raw)
	if err != nil {
		return &llm.GarbageError{What: "the message is not valid: " + err.Error()}
	}
	a := o.Answer
	reasoning := llm.TextOf(message["reasoning_content"])
	if reasoning == "" {
		reasoning = llm.TextOf(message["reasoning"]) // OpenRouter, Ollama, newer vLLM
	}
	content, thought := contentText(message["content"])
	if err := a.addReasoning(reasoning + thought); err != nil {
		return err
	}
	if err := a.addText(content); err != nil {
		return err
	}
	if err := a.addRefusal(llm.TextOf(message["refusal"])); err != nil {
		return err
	}
	if !jsontext.IsNull(message["tool_calls"]) {
		var fragments []json.RawMessage
		if err := json.Unmarshal(message["tool_calls"], &fragments); err != nil {
			return &llm.GarbageError{What: "the tool calls are not valid: " + err.Error()}
		}
		for i, fragment := range fragments {
			if err := o.addCall(fragment, i); err != nil {
				return err
			}
		}
	}
	for _, known := range []string{"role", "content", "reasoning_content", "reasoning", "refusal", "tool_calls"} {
		delete(message, known)
	}
	a.others = merge(a.others, message)
	return nil
}

// contentText returns the text and the thoughts of a content, which some servers send as parts.
func contentText(raw json.RawMessage) (content, thought string) {
	if jsontext.IsNull(raw) || raw[0] == '"' {
		return llm.TextOf(raw), ""
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", ""
	}
	var texts, thoughts strings.Builder
	for _, p := range parts {
		texts.WriteString(p.Text)
		inner, _ := contentText(p.Thinking)
		thoughts.WriteString(inner)
	}
	return texts.String(), thoughts.String()
}

// addCall adds a fragment of a tool call. position is its place in the list, for servers that leave out the index.
func (o *OpenAIReader) addCall(raw json.RawMessage, position int) error {
	var fragment struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	others, err := llm.Members(raw)
	if err == nil {
		err = json.Unmarshal(raw, &fragment)
	}
	if err != nil {
		return &llm.GarbageError{What: "a tool call is not valid: " + err.Error()}
	}
	index := position
	if fragment.Index != nil {
		index = *fragment.Index
	}
	c := o.find(index, fragment.ID, fragment.Function.Name, fragment.Index != nil)
	if len(o.calls) > maxCalls {
		return errCalls
	}
	for _, known := range []string{"index", "id", "type", "function"} {
		delete(others, known)
	}
	arguments := llm.TextOf(fragment.Function.Arguments)
	if arguments == "" && len(fragment.Function.Arguments) > 0 && fragment.Function.Arguments[0] == '{' {
		arguments = strings.ToValidUTF8(string(fragment.Function.Arguments), "\ufffd") // Ollama's own form
	}
	if c.id == "" {
		c.id = fragment.ID
	}
	first := false
	if c.call == nil {
		c.others = merge(c.others, others)
		if fragment.Function.Name == "" {
			c.arguments = append(c.arguments, arguments...)
			return nil
		}
		first = true
		c.call = o.Answer.newCall(c.id, fragment.Function.Name)
		if c.call.id == "" {
			c.call.id = fmt.Sprintf("call_%d", len(o.Answer.calls)) // results are matched by it
		}
		arguments = string(c.arguments) + arguments
		others = c.others
	}
	c.call.others = merge(c.call.others, others)
	return o.Answer.addArguments(c.call, first, arguments)
}

// find returns the call that a fragment belongs to. Some servers give each call the index 0, or none: a fragment with
// another id and a name begins a call.
func (o *OpenAIReader) find(index int, id, name string, indexed bool) *indexedCall {
	for i := len(o.calls) - 1; i >= 0; i-- {
		c := &o.calls[i]
		begins := name != "" && id != "" && c.id != "" && id != c.id
		if !indexed {
			begins = name != "" && (id == "" || id != c.id)
		}
		if c.index == index && !begins {
			return c
		}
	}
	o.calls = append(o.calls, indexedCall{index: index, id: id})
	return &o.calls[len(o.calls)-1]
}

// merge adds members that this package does not know, so that they can be sent back: texts and lists grow, others are
// replaced. Empty ones are left out. What grows does so in place, because it may come in many thousands of fragments.
func merge(into, from map[string]json.RawMessage) map[string]json.RawMessage {
	for name, value := range from {
		if llm.IsEmpty(value) {
			continue
		}
		if into == nil {
			into = map[string]json.RawMessage{}
		}
		switch old := into[name]; {
		case old == nil:
			into[name] = value
		case old[0] == '"' && value[0] == '"':
			into[name] = append(old[:len(old)-1], value[1:]...)
		case old[0] == '[' && value[0] == '[':
			into[name] = append(append(old[:len(old)-1], ','), value[1:]...)
		default:
			into[name] = value
		}
	}
	return into
}

// OpenAIModels reads a list of models. Some servers answer with the list alone.
func OpenAIModels(body []byte) ([]llm.Model, string, error) {
	type entry struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		Created int64  `json:"created"`
	}
	var list struct {
		Data []entry `json:"data"`
	}
	err := json.Unmarshal(body, &list)
	if err != nil {
		err = json.Unmarshal(body, &list.Data)
	}
	if err != nil {
		return nil, "", &llm.GarbageError{What: "the response is not a list of models: " + err.Error()}
	}
	models := make([]llm.Model, 0, len(list.Data))
	for _, e := range list.Data {
		m := llm.Model{ID: e.ID, Name: e.Name}
		if e.Created > 0 {
			m.Created = time.Unix(e.Created, 0).UTC()
		}
		models = append(models, m)
	}
	return models, "", nil
}
