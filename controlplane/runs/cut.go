package runs

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// What a row of a list has at most of what clients send, in bytes of JSON: a page is bounded however large its runs are. One run or span
// by itself is read whole.
const (
	// MaxListedText is how much of one text: a name, an id, a message.
	MaxListedText = 1 << 10
	// maxListedList is how much of the tags, models and tools, each.
	maxListedList = 4 << 10
	// maxListedMetadata is how much of the metadata.
	maxListedMetadata = 8 << 10
	// maxPage is about how much a page has. A page of spans ends there; one span may have more.
	maxPage = 16 << 20
)

// cutter cuts what is read for a list, and notes which members of the answer have more.
type cutter struct {
	members []string
}

func (c *cutter) note(member string) {
	if !slices.Contains(c.members, member) {
		c.members = append(c.members, member)
	}
}

func (c *cutter) text(member string, text *string, limit int) {
	var cut bool
	if *text, cut = truncate(*text, limit); cut {
		c.note(member)
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
	for _, member := range []struct {
		name string
		text *string
	}{
		{"name", &r.Name},
		{"error", &r.ErrorType},
		{"error", &r.ErrorMessage},
		{"session_id", &r.SessionID},
		{"conversation_id", &r.ConversationID},
		{"user_id", &r.UserID},
		{"agent_name", &r.AgentName},
		{"environment", &r.Environment},
		{"release", &r.Release},
		{"prompt", &r.PromptID},
		{"prompt", &r.PromptName},
		{"prompt", &r.PromptVersion},
		{"failure", &r.FailingName},
		{"failure", &r.FailingType},
	} {
		c.text(member.name, member.text, MaxListedText)
	}
	r.Tags, r.Models, r.Tools = c.list("tags", r.Tags), c.list("models", r.Models), c.list("tools", r.Tools)
	r.Metadata = c.metadata(r.Metadata)
	return c.members
}

// cutSpan cuts what was read as listedColumns, inputs and outputs apart.
func cutSpan(s *runmodel.Span) []string {
	var c cutter
	for _, member := range []struct {
		name string
		text *string
	}{
		{"name", &s.Name},
		{"kind", &s.Kind},
		{"operation", &s.Operation},
		{"status", &s.Status},
		{"error", &s.ErrorType},
		{"service_name", &s.ServiceName},
		{"dialect", &s.Dialect},
		{"framework", &s.Framework},
		{"provider", &s.Provider},
		{"request_model", &s.RequestModel},
		{"response_model", &s.ResponseModel},
		{"tool", &s.ToolName},
		{"tool", &s.ToolCallID},
		{"agent_name", &s.AgentName},
		{"session_id", &s.SessionID},
		{"conversation_id", &s.ConversationID},
		{"user_id", &s.UserID},
		{"prompt", &s.PromptID},
		{"prompt", &s.PromptName},
		{"prompt", &s.PromptVersion},
		{"price_version", &s.PriceVersion},
	} {
		c.text(member.name, member.text, MaxListedText)
	}
	c.text("error", &s.ErrorMessage, maxListedPayload)
	c.text("error", &s.ErrorStack, maxListedPayload)
	if len(s.ToolArguments) > maxListedPayload || len(s.ToolResult) > maxListedPayload {
		c.note("tool")
	}
	s.FinishReasons = c.list("finish_reasons", s.FinishReasons)
	return c.members
}

// fitting is the beginning of a text that has at most so many bytes in JSON, and whether there is more.
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

// jsonSize is how many bytes a text has in JSON, without its quotes.
func jsonSize(text string) int {
	size := 0
	for _, r := range text {
		size += runeSize(r)
	}
	return size
}

// maxRuneInJSON is how many bytes one of a text may be in JSON: \u0000.
const maxRuneInJSON = 6

func runeSize(r rune) int {
	switch r {
	case '"', '\\', '\n', '\r', '\t', '\b', '\f':
		return len(`\n`)
	case '<', '>', '&', '\u2028', '\u2029', utf8.RuneError: // escaped, or in place of what is no character
		return maxRuneInJSON
	}
	if r < ' ' {
		return maxRuneInJSON
	}
	return utf8.RuneLen(r)
}

// maxListedPayload is how much of an input or output a list of spans gives, in bytes.
const maxListedPayload = 2048

// abridge gives a listed span the beginnings of its inputs and outputs, and of what else is long.
func (s *Span) shorten() {
	s.Cut = cutSpan(&s.Span)
	inputs := cmp.Or(s.Span.Inputs, s.ToolArguments, s.InputPreview)
	outputs := cmp.Or(s.Span.Outputs, s.ToolResult, s.OutputPreview)
	s.Inputs, s.Outputs = nonEmpty(cutText(inputs)), nonEmpty(cutText(outputs))
	s.ToolArguments, s.ToolResult = cutText(s.ToolArguments), cutText(s.ToolResult)
	s.Truncated = true
}

func cutText(text string) string {
	if len(text) <= maxListedPayload {
		return text
	}
	return strings.ToValidUTF8(text[:maxListedPayload], "")
}

// abridged abridges spans and is how many of the first a page has room for: at least one.
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

// size is about how many bytes a span has.
func (s *Span) size() int {
	size := len(s.Name) + len(s.ErrorMessage) + len(s.ErrorStack) + len(s.Span.Inputs) + len(s.Span.Outputs) + len(s.ToolArguments) + len(s.ToolResult) + len(s.Span.Events) + len(s.Span.Links)
	for _, list := range [][]json.RawMessage{s.SystemInstructions, s.InputMessages, s.OutputMessages, s.ToolDefinitions} {
		for _, text := range list {
			size += len(text)
		}
	}
	for key, value := range s.Span.Attributes {
		size += len(key) + len(value)
	}
	return size
}
