package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// StatusOverloaded is Anthropic's.
const StatusOverloaded = 529

// Refusal is the error that a provider sends, in whichever form.
type Refusal struct {
	Message, Code, Kind, Param string
	// provider is the name of the provider behind an aggregator.
	provider string
	Status   int
}

const (
	// maxWrappers limits how deep an error is looked for in others, maxErrors how many of a list are read.
	maxWrappers = 12
	maxErrors   = 4
	// MaxProvider limits the name of a provider, in runes.
	MaxProvider = 100
	// maxVague is more bytes than a message has that says nothing.
	maxVague = 200
)

// ReadRefusal reads the forms of errors: OpenAI's and Anthropic's {"error": {…}}, {"error": "…"} of Ollama, the members
// at the top of older vLLM, {"detail": …} of FastAPI, Google's list of one, and a text. An aggregator may wrap any of these
// in its own, also as text.
func ReadRefusal(body []byte) Refusal {
	r := readText(string(WithoutMark(body)), maxWrappers)
	if top, err := llm.Members(body); err == nil {
		for _, name := range []string{"error", "detail", "message"} {
			if r.Message == "" && !jsontext.IsNull(top[name]) {
				r.Message = string(jsontext.MustEncode(top[name]))
			}
		}
	}
	return r
}

// readText reads a text that may be an error as JSON, or have one in it, as the lines of a stream have and some libraries write:
// "BadRequestError: GeminiException - {…}".
func readText(said string, depth int) Refusal {
	said = strings.TrimSpace(said)
	if depth == 0 || !utf8.ValidString(said) || Page([]byte(said)) != "" {
		return Refusal{}
	}
	if json.Valid([]byte(said)) && strings.ContainsAny(said[:1], `{["`) {
		return readError(json.RawMessage(said), depth-1)
	}
	at := strings.IndexByte(said, '{')
	var found json.RawMessage
	if at < 0 || json.NewDecoder(strings.NewReader(said[at:])).Decode(&found) != nil {
		return Refusal{Message: said}
	}
	if values, err := llm.Members(found); err != nil || jsontext.IsNull(values["error"]) {
		return Refusal{Message: said} // a value that the text is about
	}
	r := readError(found, depth-1)
	if r.Message == "" {
		return Refusal{Message: said}
	}
	if before := said[:at]; !strings.HasSuffix(strings.TrimSpace(before), "data:") {
		r.Message = before + r.Message + said[at+len(found):]
	}
	return r
}

// messageNames are the members that say what is wrong. The last ones often say no more than the status.
var messageNames = []string{
	"message", "msg", "Message", "errorMessage", "error_message", "error_msg", "status_msg", "description", "error_description", "detail", "title",
}

// wrapperNames are the members that may have the error of what is behind. detailNames may, too, but often have what a message
// says already: they are asked if there is none that says something. raw is OpenRouter's.
var (
	wrapperNames = []string{"error", "metadata", "raw", "upstream_error", "provider_error", "original_error", "cause"}
	detailNames  = []string{"response", "body", "data", "base_resp", "detail", "details", "errors", "fieldViolations"}
)

// readError reads the value of an error.
func readError(raw json.RawMessage, depth int) Refusal {
	if depth == 0 || jsontext.IsNull(raw) {
		return Refusal{}
	}
	switch raw[0] {
	case '"':
		return readText(llm.TextOf(raw), depth)
	case '[':
		var list []json.RawMessage
		_ = json.Unmarshal(raw, &list) // it was read before
		var all Refusal
		for _, element := range list[:min(len(list), maxErrors)] {
			all.take(readError(element, depth-1), "; ")
		}
		return all
	case '{':
	default:
		return Refusal{}
	}
	values, _ := llm.Members(raw)
	var r Refusal
	for _, name := range messageNames {
		if raw := values[name]; llm.TextOf(raw) != "" && vague(r.Message) {
			own := readText(llm.TextOf(raw), depth-1)
			if r.Message == "" || !vague(own.Message) {
				r = own
			}
		}
	}
	if place := placeOf(values); place != "" && r.Message != "" {
		r.Message = place + ": " + r.Message
	}
	for _, name := range []string{"provider_name", "provider"} {
		r.provider = cmp.Or(r.provider, llm.TextOf(values[name]))
	}
	r.Code = cmp.Or(r.Code, llm.TextOf(values["code"]), llm.TextOf(values["status"])) // Google's code is its status
	r.Kind = cmp.Or(r.Kind, llm.TextOf(values["type"]), llm.TextOf(values["error_type"]))
	r.Param = cmp.Or(r.Param, llm.TextOf(values["param"]))
	for _, name := range []string{"code", "status", "status_code"} {
		r.Status = cmp.Or(r.Status, readStatus(values[name]))
	}
	own := r.Message
	for _, name := range wrapperNames {
		behind := readError(values[name], depth-1)
		switch {
		case name == "error" && own != "" && llm.TextOf(values[name]) != "" && !strings.Contains(behind.Message, " "):
			r.Code = cmp.Or(r.Code, behind.Message) // {"error": "invalid_request", "message": "…"}
			continue
		case name == "raw" && behind.Message == "" && !saysNothing(values[name]):
			behind.Message = rawText(values[name]) // in no form that is known
		}
		r.take(behind, ": ")
	}
	for _, name := range detailNames {
		isRead := name == "detail" && llm.TextOf(values[name]) != "" // as a message
		if !isRead && vague(r.Message) {
			r.take(readError(values[name], depth-1), ": ")
		}
	}
	return r
}

// rawText returns a value as it is, without a page for people.
func rawText(raw json.RawMessage) string {
	said := cmp.Or(llm.TextOf(raw), string(jsontext.MustEncode(raw)))
	if Page([]byte(said)) != "" {
		return ""
	}
	return said
}

// placeOf returns the place of an error in the request, as FastAPI and Google tell it.
func placeOf(values map[string]json.RawMessage) string {
	var path []any
	_ = json.Unmarshal(values["loc"], &path) // none, if it is no list
	var names []string
	for i, name := range path {
		if i > 0 || name != "body" {
			names = append(names, fmt.Sprint(name))
		}
	}
	return cmp.Or(strings.Join(names, "."), llm.TextOf(values["field"]))
}

// take adds what another error says, which stands in this one or beside it. What a message without content leaves open, the other
// one tells.
func (r *Refusal) take(other Refusal, between string) {
	switch {
	case other.Message == "", strings.Contains(r.Message, other.Message), r.Message != "" && vague(other.Message):
	case vague(r.Message):
		r.Message = other.Message
	case !strings.Contains(other.Message, r.Message):
		r.Message = strings.TrimRight(r.Message, ". ") + between + other.Message
	default:
		r.Message = other.Message
	}
	r.Code, r.Kind, r.Param = cmp.Or(other.Code, r.Code), cmp.Or(other.Kind, r.Kind), cmp.Or(other.Param, r.Param)
	r.provider, r.Status = cmp.Or(other.provider, r.provider), cmp.Or(r.Status, other.Status)
}

// vagueWords are all that a message has which says no more than that something failed: "Provider returned error".
var vagueWords = regexp.MustCompile(`(?i)^(?:\b(?:the|an?|ai|llm|api|http|model|provider|upstream|server|service|backend|gateway|proxy|remote|internal|unknown|unexpected|bad|` +
	`invalid|error|errors|exception|failure|failed|fail|request|response|call|inference|completion|has|was|is|returned|returns|responded|occurred|received|from|` +
	`with|by|on|in|at|status|code|unprocessable|entity|content|something|went|wrong|\d{3})\b|[\s\pP])*$`)

func vague(message string) bool { return len(message) <= maxVague && vagueWords.MatchString(message) }

// readStatus returns the HTTP status of an error that a number or a text of digits is, or 0.
func readStatus(raw json.RawMessage) int {
	digits := string(raw)
	if said := llm.TextOf(raw); said != "" {
		digits = said
	}
	status, err := strconv.Atoi(digits)
	if err != nil || status < http.StatusBadRequest || status >= 600 {
		return 0
	}
	return status
}

// Told is the message with the provider that it comes from.
func (r *Refusal) Told() string {
	name := utf8text.Cut(r.provider, MaxProvider)
	if name == "" || strings.Contains(strings.ToLower(r.Message), strings.ToLower(name)) {
		return r.Message
	}
	return name + ": " + r.Message
}

// StatusOfType is the status that an error would have if the response had not begun with another one.
func (r *Refusal) StatusOfType() int {
	if r.Status != 0 {
		return r.Status
	}
	word := strings.ToLower(r.Kind + " " + r.Code)
	for _, known := range []struct {
		word   string
		status int
	}{
		{"overloaded", StatusOverloaded},
		{"rate_limit", http.StatusTooManyRequests},
		{"quota", http.StatusTooManyRequests},
		{"resource_exhausted", http.StatusTooManyRequests},
		{"system_resource", http.StatusServiceUnavailable}, // DeepSeek's
		{"unavailable", http.StatusServiceUnavailable},
		{"authentication", http.StatusUnauthorized},
		{"permission", http.StatusForbidden},
		{"not_found", http.StatusNotFound},
		{"timeout", http.StatusGatewayTimeout},
		{"deadline_exceeded", http.StatusGatewayTimeout},
		{"too_large", http.StatusRequestEntityTooLarge},
		{"server_error", http.StatusInternalServerError},
		{"api_error", http.StatusInternalServerError},
		{"content_filter", http.StatusBadRequest},
		{"context_length", http.StatusBadRequest},
		{"invalid", http.StatusBadRequest},
	} {
		if strings.Contains(word, known.word) {
			return known.status
		}
	}
	return http.StatusInternalServerError
}

// WithoutMark removes a byte order mark from the beginning of a text.
func WithoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// Page describes a body that is a page for people, or returns "".
func Page(body []byte) string {
	start := strings.ToLower(strings.TrimSpace(string(body[:min(len(body), 4096)])))
	if !strings.HasPrefix(start, "<!doctype") && !strings.HasPrefix(start, "<html") {
		return ""
	}
	if title := pageTitle.FindStringSubmatch(string(body[:min(len(body), 4096)])); title != nil {
		return fmt.Sprintf(" It is an HTML page (%.100s).", strings.TrimSpace(title[1]))
	}
	return " It is an HTML page."
}

var pageTitle = regexp.MustCompile(`(?is)<title>(.*?)</title>`)
