package provider

import (
	"net/http"
	"strings"
	"time"
	"unicode"
)

// Reply is what the server answers. The zero value is an empty text.
type Reply struct {
	Text string
	// Reasoning precedes the text: thinking blocks of Anthropic, reasoning_content as vLLM and DeepSeek send it. OpenAI
	// itself counts reasoning and does not show it; see HideReasoning.
	Reasoning string
	// HideReasoning counts the reasoning and does not send it.
	HideReasoning bool
	ToolCalls     []ToolCall
	// Refusal is OpenAI's refusal instead of a text. Anthropic stops with the reason refusal.
	Refusal string
	// Finish is the finish reason in the words of the protocol. By default it is what the reply amounts to.
	Finish string
	// StopSequence is the sequence that ended the text, which Anthropic names.
	StopSequence string
	// Model is the model that answers, by default the one that was asked for.
	Model string
	// Fingerprint is that of OpenAI's version of the model, by default one for each model.
	Fingerprint string
	// NoFingerprint leaves it out, as most servers compatible with OpenAI do.
	NoFingerprint bool
	// Usage is counted where it is nil: a word is a token.
	Usage *Usage
	// NoUsage leaves out usage, as some servers compatible with OpenAI do.
	NoUsage bool
	// Pieces are the pieces in which Text is streamed, by default its words.
	Pieces []string

	// FirstToken is the time to the first token. OpenAI sends nothing before, not even the status; Anthropic sends the
	// beginning of the message.
	FirstToken time.Duration
	// PerToken is the time between two tokens.
	PerToken time.Duration

	// Header is added to the header of the answer.
	Header http.Header
	// Error is sent instead of an answer, in the format of the protocol.
	Error *Error
	// Raw is sent instead of an answer, as it is.
	Raw *Raw
	// Fault breaks the answer after After tokens.
	Fault Fault
	After int
}

// ToolCall is a call of a tool. The id is made up where it is empty.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}

// Usage counts tokens. Input includes what was cached, Output includes reasoning, for both protocols; each gets them as it
// counts them itself.
type Usage struct {
	Input, Output, CacheRead, CacheWrite, Reasoning int
}

// Error is an error of a provider.
type Error struct {
	Status  int
	Type    string
	Message string
	// Param and Code are OpenAI's; empty is null.
	Param, Code string
}

// Raw is an answer of which nothing belongs to a protocol.
type Raw struct {
	Status int
	Header http.Header
	Body   string
	// Repeat is how often the body is sent, 0 for once.
	Repeat int
}

// Fault is what goes wrong with an answer on its way.
type Fault string

// Faults. Where the answer is not a stream, its body breaks in the middle.
const (
	// Stall sends nothing at all until the client goes away.
	Stall Fault = "stall"
	// StallStream sends nothing more until the client goes away.
	StallStream Fault = "stall-stream"
	// Reset resets the connection.
	Reset Fault = "reset"
	// Cut ends the response cleanly without [DONE] or message_stop.
	Cut Fault = "cut"
	// ErrorEvent sends Reply.Error, by default that of an overloaded server, as an event and ends. An answer that is no
	// stream is the error.
	ErrorEvent Fault = "error-stream"
	// BadJSON sends an event of invalid JSON and goes on.
	BadJSON Fault = "bad-json"
	// BadSSE sends lines that are no server-sent events and ends.
	BadSSE Fault = "bad-sse"
)

// pieces splits a text into words with the space before them. Together they are the text.
func pieces(text string) []string {
	var all []string
	start, word := 0, false
	for i, r := range text {
		space := unicode.IsSpace(r)
		if space && word {
			all = append(all, text[start:i])
			start, word = i, false
		}
		word = word || !space
	}
	if start < len(text) {
		all = append(all, text[start:])
	}
	return all
}

// fragments splits a call's arguments so that each piece alone is no JSON.
func fragments(arguments string) []string {
	const size = 7
	var all []string
	runes := []rune(arguments)
	for len(runes) > size {
		all = append(all, string(runes[:size]))
		runes = runes[size:]
	}
	return append(all, string(runes))
}

// complete fills in what the reply leaves to the server, as far as the protocols agree.
func (r *Reply) complete(request *Request) {
	for _, stop := range request.Stop {
		if before, _, found := strings.Cut(r.Text, stop); found && stop != "" {
			r.Text, r.Pieces, r.StopSequence = before, nil, stop
		}
	}
	if r.Pieces == nil {
		r.Pieces = pieces(r.Text)
	}
	reasoning := pieces(r.Reasoning)
	if limit := request.MaxTokens - len(reasoning); request.MaxTokens > 0 && len(r.Pieces) > limit {
		r.Pieces = r.Pieces[:max(limit, 0)]
		r.Text, r.StopSequence = strings.Join(r.Pieces, ""), ""
		if r.Finish == "" {
			r.Finish = map[Protocol]string{Anthropic: "max_tokens"}[request.Protocol]
		}
		if r.Finish == "" {
			r.Finish = "length"
		}
	}
	if r.Model == "" {
		r.Model = request.Model
	}
	if r.Usage == nil {
		usage := Usage{Input: request.inputTokens(), Output: len(r.Pieces) + len(reasoning) + len(pieces(r.Refusal)), Reasoning: len(reasoning)}
		for _, c := range r.ToolCalls {
			usage.Output += 1 + len(fragments(c.Arguments))
		}
		r.Usage = &usage
	}
	for i := range r.ToolCalls {
		if r.ToolCalls[i].Arguments == "" {
			r.ToolCalls[i].Arguments = "{}"
		}
	}
}

// tokens counts the pieces that a whole answer takes time for.
func (r *Reply) tokens() int {
	count := len(r.Pieces) + len(pieces(r.Reasoning)) + len(pieces(r.Refusal))
	for _, c := range r.ToolCalls {
		count += len(fragments(c.Arguments))
	}
	return count
}
