package runmodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// What a step says of how it went (Span.Said), as far as code can tell. It is empty for what is unknown: nothing was recorded, or a version
// of Looptrace before this column stored the span.
const (
	// SaidError is a tool's result that is an error, whatever the status of the call is.
	SaidError = "error"
	// SaidResult is any other result of a tool.
	SaidResult = "result"
	// SaidNothing is an answer of a model that was recorded and has nothing in it, or only reasoning.
	SaidNothing = "nothing"
	// SaidText is an answer with text. SaidFailure is one whose text speaks of something that did not work.
	SaidText    = "text"
	SaidFailure = "failure"
	// SaidUnread is an answer in another language than English: whether it speaks of a failure is unknown.
	SaidUnread = "unread"
	// SaidOther is an answer with a call of a tool, an image or the like.
	SaidOther = "other"
)

// longestCompared limits the arguments and results that are brought into a canonical form, in bytes. Longer ones are compared as they are.
const longestCompared = 64 << 10

// Summarize fills in what the rules of signals read instead of the span's arguments, result, answer and attributes. answers are its output messages.
func (s *Span) Summarize(answers string) {
	arguments, result := s.ToolArguments, s.ToolResult
	if s.EffectiveKind() == KindTool {
		arguments, result = cmp.Or(arguments, s.Inputs), cmp.Or(result, s.Outputs)
	}
	s.CallHash, s.ResultHash, s.SideEffects = valueHash(arguments), valueHash(result), s.RecordedEffects()
	switch {
	case result != "" && isErrorResult(result):
		s.Said = SaidError
	case result != "":
		s.Said = SaidResult
	case answers != "":
		s.Said = saidIn(answers)
	}
}

// valueHash is the same for JSON that differs in white space and the order of members only. It is 0 for an empty text.
func valueHash(text string) uint64 {
	if text == "" {
		return 0
	}
	if len(text) <= longestCompared && isJSON(text) {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var value any
		if decoder.Decode(&value) == nil && !decoder.More() {
			if canonical, err := json.Marshal(value); err == nil {
				return max(xxhash.Sum64(canonical), 1)
			}
		}
	}
	return max(xxhash.Sum64String(text), 1)
}

// errorPrefix matches how frameworks write the error of a tool into its result: tau-bench, AutoGen and smolagents ("Error: …"), LangGraph's
// ToolNode ("Error executing tool …", "Error: …"), the OpenAI Agents SDK ("An error occurred while running the tool"), Strands ("Error: …"),
// Python's exceptions and their tracebacks.
var errorPrefix = regexp.MustCompile(`^(?i:error(?: executing| calling| running| invoking| in)?\b[^:\n]{0,80}:|an error occurred while running the tool|` +
	`tool (?:call|execution) failed|traceback \(most recent call last\):)|^[A-Z][A-Za-z]*(?:Error|Exception)(?:: |\()`)

// isErrorResult reports whether the result of a tool says that the call failed: by its beginning, or by a member `error`, `isError` or
// `is_error`.
func isErrorResult(result string) bool {
	text := strings.TrimSpace(result)
	if strings.HasPrefix(text, `"`) {
		text = strings.TrimSpace(PlainJSON(json.RawMessage(text[:min(len(text), longestCompared)])))
	}
	if !strings.HasPrefix(text, "{") {
		return errorPrefix.MatchString(text[:min(len(text), PreviewLength)])
	}
	if len(text) > longestCompared || !strings.Contains(text, "rror") {
		return false
	}
	var members struct {
		Error   json.RawMessage `json:"error"`
		IsError bool            `json:"is_error"`
		MCP     bool            `json:"isError"`
	}
	if json.Unmarshal([]byte(text), &members) != nil {
		return false
	}
	switch string(bytes.TrimSpace(members.Error)) {
	case "", "null", "false", `""`, "{}", "[]", "0":
		return members.IsError || members.MCP
	}
	return true
}

// failureWords matches words by which an answer speaks of something that did not work.
var failureWords = regexp.MustCompile(`(?i)\b(?:err(?:or|ors|ored)?|fail(?:s|ed|ure|ures|ing)?|unable|unavailable|unfortunately|sorry|apolog\w*|cannot|can['’]?t|could ?n['’]?t|` +
	`could not|did ?n['’]?t|did not|does ?n['’]?t|does not|was ?n['’]?t|was not|were ?n['’]?t|not (?:able|found|possible|available|allowed|work\w*|exist\w*)|` +
	`no (?:such|results?|matching|information|data|record)|invalid|denied|problem|issue|trouble|timed? ?out|unsuccessful\w*|went wrong|missing|however|instead|retry|try again|transfer\w*)\b`)

// saidIn says what output messages have in them.
func saidIn(messages string) string {
	var list []struct {
		Parts []json.RawMessage `json:"parts"`
	}
	if json.Unmarshal([]byte(messages), &list) != nil || len(list) == 0 {
		return ""
	}
	var text strings.Builder
	for _, message := range list {
		if message.Parts == nil {
			return "" // not in the form of the conventions
		}
		for _, raw := range message.Parts {
			var part struct {
				Type    string  `json:"type"`
				Content *string `json:"content"`
			}
			if json.Unmarshal(raw, &part) != nil {
				return SaidOther
			}
			switch part.Type {
			case "reasoning", "thinking":
			case "text":
				if part.Content == nil {
					return "" // the text was left out of the recording
				}
				text.WriteString(*part.Content)
				text.WriteByte('\n')
			default:
				return SaidOther
			}
		}
	}
	said := strings.TrimSpace(text.String())
	switch {
	case said == "":
		return SaidNothing
	case failureWords.MatchString(said):
		return SaidFailure
	case !isEnglish(said):
		return SaidUnread
	}
	return SaidText
}

// englishWords matches words that are frequent in English and in no other language.
var englishWords = regexp.MustCompile(`(?i)\b(?:the|is|are|and|you|your|have|has|it|this|that|with|for|of|to|will|been)\b`)

// isEnglish reports whether a text has at least one English word in twelve.
func isEnglish(text string) bool {
	const most, every = 4 << 10, 12
	text = text[:min(len(text), most)]
	return len(englishWords.FindAllString(text, -1))*every >= len(strings.Fields(text))
}
