package runs

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// Limits of what clients sent in a row of a list, in bytes of JSON. They bound a page however large its runs are. A run or span by itself
// is not cut.
const (
	// MaxListedText is for one text, such as a name, an id or a message.
	MaxListedText = 1 << 10
	// maxListedList is for each of tags, models, tools and prompts.
	maxListedList = 4 << 10
	// maxListedMetadata is for the metadata.
	maxListedMetadata = 8 << 10
	// maxPage is the approximate size of a page. A page of spans ends there, unless it has only one span.
	maxPage = 16 << 20
)

// cutter cuts what is read for a list, and notes which members of the answer it has cut.
type cutter struct {
	members []string
}

func (c *cutter) note(member string) {
	if !slices.Contains(c.members, member) {
		c.members = append(c.members, member)
	}
}

func (c *cutter) text(member string, limit int, texts ...*string) {
	for _, text := range texts {
		var cut bool
		if *text, cut = truncate(*text, limit); cut {
			c.note(member)
		}
	}
}

func (c *cutter) list(member string, list []string) []string {
	left := maxListedList
	for i := range list {
		text, cut := truncate(list[i], left)
		if left -= jsonSize(text) + len(`"",`); cut || left < 0 {
			c.note(member)
			return list[:i]
		}
	}
	return list
}

// prompts keeps the first prompts that fit.
func (c *cutter) prompts(r *runmodel.Run) {
	left := maxListedList
	for i := range r.PromptIDs {
		left -= jsonSize(r.PromptIDs[i]) + jsonSize(r.PromptNames[i]) + jsonSize(r.PromptVersions[i]) + len(`{"id":"","name":"","version":""},`)
		if left < 0 {
			c.note("prompts")
			r.PromptIDs, r.PromptNames, r.PromptVersions = r.PromptIDs[:i], r.PromptNames[:i], r.PromptVersions[:i]
			return
		}
	}
}

// metadata keeps the smallest members that fit, and the beginning of the first that does not.
func (c *cutter) metadata(object map[string]string) map[string]string {
	sizes := make(map[string]int, len(object))
	total := 0
	for key, value := range object {
		sizes[key] = jsonSize(key) + jsonSize(value) + len(`"":"",`)
		total += sizes[key]
	}
	if total <= maxListedMetadata {
		return object
	}
	c.note("metadata")
	keys := slices.SortedFunc(maps.Keys(object), func(a, b string) int { return cmp.Or(cmp.Compare(sizes[a], sizes[b]), cmp.Compare(a, b)) })
	left := maxListedMetadata
	kept := map[string]string{}
	for _, key := range keys {
		if left < sizes[key] {
			if left -= jsonSize(key) + len(`"":"",`); left > 0 {
				kept[key], _ = truncate(object[key], left)
			}
			break
		}
		kept[key] = object[key]
		left -= sizes[key]
	}
	return kept
}

// cutRun cuts what was read as listedRunColumns.
func cutRun(r *runmodel.Run) []string {
	var c cutter
	c.text("name", MaxListedText, &r.Name)
	c.text("error", MaxListedText, &r.ErrorType, &r.ErrorMessage)
	c.text("session_id", MaxListedText, &r.SessionID)
	c.text("conversation_id", MaxListedText, &r.ConversationID)
	c.text("user_id", MaxListedText, &r.UserID)
	c.text("agent_name", MaxListedText, &r.AgentName)
	c.text("environment", MaxListedText, &r.Environment)
	c.text("release", MaxListedText, &r.Release)
	c.text("prompt", MaxListedText, &r.PromptID, &r.PromptName, &r.PromptVersion)
	c.prompts(r)
	c.text("failure", MaxListedText, &r.FailingName, &r.FailingType)
	r.Tags, r.Models, r.Tools = c.list("tags", r.Tags), c.list("models", r.Models), c.list("tools", r.Tools)
	r.Metadata = c.metadata(r.Metadata)
	return c.members
}

// cutSpan cuts what was read as listedColumns, except inputs and outputs.
func cutSpan(s *runmodel.Span) []string {
	var c cutter
	c.text("name", MaxListedText, &s.Name)
	c.text("kind", MaxListedText, &s.Kind)
	c.text("operation", MaxListedText, &s.Operation)
	c.text("status", MaxListedText, &s.Status)
	c.text("error", MaxListedText, &s.ErrorType)
	c.text("service_name", MaxListedText, &s.ServiceName)
	c.text("dialect", MaxListedText, &s.Dialect)
	c.text("framework", MaxListedText, &s.Framework)
	c.text("provider", MaxListedText, &s.Provider)
	c.text("request_model", MaxListedText, &s.RequestModel)
	c.text("response_model", MaxListedText, &s.ResponseModel)
	c.text("tool", MaxListedText, &s.ToolName, &s.ToolCallID)
	c.text("agent_name", MaxListedText, &s.AgentName)
	c.text("session_id", MaxListedText, &s.SessionID)
	c.text("conversation_id", MaxListedText, &s.ConversationID)
	c.text("user_id", MaxListedText, &s.UserID)
	c.text("prompt", MaxListedText, &s.PromptID, &s.PromptName, &s.PromptVersion)
	c.text("price_version", MaxListedText, &s.PriceVersion)
	c.text("error", maxListedPayload, &s.ErrorMessage, &s.ErrorStack)
	if len(s.ToolArguments) > maxListedPayload || len(s.ToolResult) > maxListedPayload {
		c.note("tool")
	}
	s.FinishReasons = c.list("finish_reasons", s.FinishReasons)
	return c.members
}

// truncate returns the beginning of a text that fits into limit bytes of JSON, and whether it cut the text.
func truncate(text string, limit int) (string, bool) {
	if len(text)*maxRuneInJSON <= limit {
		return text, false
	}
	size := 0
	for i, r := range text {
		if size += runeSize(r); size > limit {
			return text[:i], true
		}
	}
	return text, false
}

// jsonSize is how many bytes a text takes in JSON, without its quotes.
func jsonSize(text string) int {
	size := 0
	for _, r := range text {
		size += runeSize(r)
	}
	return size
}

// maxRuneInJSON is how many bytes a byte of a text can take in JSON: \u0000.
const maxRuneInJSON = 6

func runeSize(r rune) int {
	switch r {
	case '"', '\\', '\n', '\r', '\t', '\b', '\f':
		return len(`\n`)
	case '<', '>', '&', '\u2028', '\u2029', utf8.RuneError: // escaped, or written for invalid UTF-8
		return maxRuneInJSON
	}
	if r < ' ' {
		return maxRuneInJSON
	}
	return utf8.RuneLen(r)
}

// maxListedPayload is how many bytes of an input or output a list of spans shows.
const maxListedPayload = 2048

// shorten cuts the payloads and other long texts of a listed span.
func (s *Span) shorten() {
	s.Cut = cutSpan(&s.Span)
	inputs := cmp.Or(s.Span.Inputs, s.ToolArguments, s.InputPreview)
	outputs := cmp.Or(s.Span.Outputs, s.ToolResult, s.OutputPreview)
	s.Inputs, s.Outputs = nonEmpty(cutText(inputs)), nonEmpty(cutText(outputs))
	s.ToolArguments, s.ToolResult = cutText(s.ToolArguments), cutText(s.ToolResult)
	s.Truncated = true
}

func cutText(text string) string {
	return utf8text.Bytes(text, maxListedPayload)
}

// shortenPage shortens spans and returns how many of them fit a page, at least one.
func shortenPage(spans []Span) int {
	size := 0
	for i := range spans {
		spans[i].shorten()
		if size += spans[i].size(); size > maxPage && i > 0 {
			return i
		}
	}
	return len(spans)
}

// size is the approximate size of a span in bytes.
func (s *Span) size() int {
	size := s.ownSize()
	for _, list := range [][]json.RawMessage{s.SystemInstructions, s.InputMessages, s.OutputMessages, s.ToolDefinitions} {
		for _, text := range list {
			size += len(text)
		}
	}
	return size
}

// ownSize is size without the contents.
func (s *Span) ownSize() int {
	size := len(s.Name) + len(s.ErrorMessage) + len(s.ErrorStack) + len(s.Span.Inputs) + len(s.Span.Outputs) + len(s.ToolArguments) + len(s.ToolResult) + len(s.Span.Events) + len(s.Span.Links)
	for key, value := range s.Span.Attributes {
		size += len(key) + len(value)
	}
	return size
}
