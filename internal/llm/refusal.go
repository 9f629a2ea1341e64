package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// statusOverloaded is Anthropic's.
const statusOverloaded = 529

// refusal is the error that a provider sends, in whichever form.
type refusal struct {
	message, code, kind, param string
	// provider is the name of the provider behind an aggregator.
	provider string
	status   int
}

const (
	// maxWrappers limits how deep an error is looked for in others, maxErrors how many of a list are read.
	maxWrappers = 12
	maxErrors   = 4
	// maxProvider limits the name of a provider, in runes.
	maxProvider = 100
	// maxVague is more bytes than a message has that says nothing.
	maxVague = 200
)

// readRefusal reads the forms of errors: OpenAI's and Anthropic's {"error": {…}}, {"error": "…"} of Ollama, the members
// at the top of older vLLM, {"detail": …} of FastAPI, Google's list of one, and a text. An aggregator may wrap any of these
// in its own, also as text.
func readRefusal(body []byte) refusal {
	r := readText(string(withoutMark(body)), maxWrappers)
	if top, err := members(body); err == nil {
		for _, name := range []string{"error", "detail", "message"} {
			if r.message == "" && !jsontext.IsNull(top[name]) {
				r.message = string(jsontext.MustEncode(top[name]))
			}
		}
	}
	return r
}

// readText reads a text that may be an error as JSON, or have one in it, as the lines of a stream have and some libraries write:
// "BadRequestError: GeminiException - {…}".
func readText(said string, depth int) refusal {
	said = strings.TrimSpace(said)
	if depth == 0 || !utf8.ValidString(said) || page([]byte(said)) != "" {
		return refusal{}
	}
	if json.Valid([]byte(said)) && strings.ContainsAny(said[:1], `{["`) {
		return readError(json.RawMessage(said), depth-1)
	}
	at := strings.IndexByte(said, '{')
	var found json.RawMessage
	if at < 0 || json.NewDecoder(strings.NewReader(said[at:])).Decode(&found) != nil {
		return refusal{message: said}
	}
	if values, err := members(found); err != nil || jsontext.IsNull(values["error"]) {
		return refusal{message: said} // a value that the text is about
	}
	r := readError(found, depth-1)
	if r.message == "" {
		return refusal{message: said}
	}
	if before := said[:at]; !strings.HasSuffix(strings.TrimSpace(before), "data:") {
		r.message = before + r.message + said[at+len(found):]
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
func readError(raw json.RawMessage, depth int) refusal {
	if depth == 0 || jsontext.IsNull(raw) {
		return refusal{}
	}
	switch raw[0] {
	case '"':
		return readText(text(raw), depth)
	case '[':
		var list []json.RawMessage
		_ = json.Unmarshal(raw, &list) // it was read before
		var all refusal
		for _, element := range list[:min(len(list), maxErrors)] {
			all.take(readError(element, depth-1), "; ")
		}
		return all
	case '{':
	default:
		return refusal{}
	}
	values, _ := members(raw)
	var r refusal
	for _, name := range messageNames {
		if raw := values[name]; text(raw) != "" && vague(r.message) {
			own := readText(text(raw), depth-1)
			if r.message == "" || !vague(own.message) {
				r = own
			}
		}
	}
	if place := placeOf(values); place != "" && r.message != "" {
		r.message = place + ": " + r.message
	}
	for _, name := range []string{"provider_name", "provider"} {
		r.provider = cmp.Or(r.provider, text(values[name]))
	}
	r.code = cmp.Or(r.code, text(values["code"]), text(values["status"])) // Google's code is its status
	r.kind = cmp.Or(r.kind, text(values["type"]), text(values["error_type"]))
	r.param = cmp.Or(r.param, text(values["param"]))
	for _, name := range []string{"code", "status", "status_code"} {
		r.status = cmp.Or(r.status, readStatus(values[name]))
	}
	own := r.message
	for _, name := range wrapperNames {
		behind := readError(values[name], depth-1)
		switch {
		case name == "error" && own != "" && text(values[name]) != "" && !strings.Contains(behind.message, " "):
			r.code = cmp.Or(r.code, behind.message) // {"error": "invalid_request", "message": "…"}
			continue
		case name == "raw" && behind.message == "" && !saysNothing(values[name]):
			behind.message = rawText(values[name]) // in no form that is known
		}
		r.take(behind, ": ")
	}
	for _, name := range detailNames {
		isRead := name == "detail" && text(values[name]) != "" // as a message
		if !isRead && vague(r.message) {
			r.take(readError(values[name], depth-1), ": ")
		}
	}
	return r
}

// rawText returns a value as it is, without a page for people.
func rawText(raw json.RawMessage) string {
	said := cmp.Or(text(raw), string(jsontext.MustEncode(raw)))
	if page([]byte(said)) != "" {
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
	return cmp.Or(strings.Join(names, "."), text(values["field"]))
}

// take adds what another error says, which stands in this one or beside it. What a message without content leaves open, the other
// one tells.
func (r *refusal) take(other refusal, between string) {
	switch {
	case other.message == "", strings.Contains(r.message, other.message), r.message != "" && vague(other.message):
	case vague(r.message):
		r.message = other.message
	case !strings.Contains(other.message, r.message):
		r.message = strings.TrimRight(r.message, ". ") + between + other.message
	default:
		r.message = other.message
	}
	r.code, r.kind, r.param = cmp.Or(other.code, r.code), cmp.Or(other.kind, r.kind), cmp.Or(other.param, r.param)
	r.provider, r.status = cmp.Or(other.provider, r.provider), cmp.Or(r.status, other.status)
}

// vagueWords are all that a message has which says no more than that something failed: "Provider returned error".
var vagueWords = regexp.MustCompile(`(?i)^(?:\b(?:the|an?|ai|llm|api|http|model|provider|upstream|server|service|backend|gateway|proxy|remote|internal|unknown|unexpected|bad|` +
	`invalid|error|errors|exception|failure|failed|fail|request|response|call|inference|completion|has|was|is|returned|returns|responded|occurred|received|from|` +
	`with|by|on|in|at|status|code|unprocessable|entity|content|something|went|wrong|\d{3})\b|[\s\pP])*$`)

func vague(message string) bool { return len(message) <= maxVague && vagueWords.MatchString(message) }

// readStatus returns the HTTP status of an error that a number or a text of digits is, or 0.
func readStatus(raw json.RawMessage) int {
	digits := string(raw)
	if said := text(raw); said != "" {
		digits = said
	}
	status, err := strconv.Atoi(digits)
	if err != nil || status < http.StatusBadRequest || status >= 600 {
		return 0
	}
	return status
}

// told is the message with the provider that it comes from.
func (r *refusal) told() string {
	name := utf8text.Cut(r.provider, maxProvider)
	if name == "" || strings.Contains(strings.ToLower(r.message), strings.ToLower(name)) {
		return r.message
	}
	return name + ": " + r.message
}

// refused classifies an error that the provider sends.
// https://platform.openai.com/docs/guides/error-codes, https://platform.claude.com/docs/en/api/errors
func refused(c *call, response *http.Response, body []byte) *Error {
	r := readRefusal(body)
	status := response.StatusCode
	if status < http.StatusBadRequest {
		status = r.statusOfType()
	}
	e := &Error{Message: r.told(), Code: r.code, Type: r.kind}
	if r.message == "" {
		e.Message = strings.TrimSpace(http.StatusText(status) + "." + page(body))
	}
	lower := strings.ToLower(r.message + " " + r.code + " " + r.kind)
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(lower, word) {
				return true
			}
		}
		return false
	}
	switch {
	case has("insufficient_quota", "billing_error", "credit balance is too low", "billing_hard_limit"), status == http.StatusPaymentRequired:
		e.Kind, e.Suggestion = QuotaExceeded, "Add credit to the provider's account, or raise its limit."
	case status == http.StatusUnauthorized, has("invalid_api_key", "api key not valid", "pass a valid api key"):
		e.Kind, e.Parameter, e.Suggestion = Authentication, "api_key", "Check the key of the connection."
	case status == http.StatusForbidden:
		e.Kind, e.Suggestion = Permission, "The key may not do this, or not with this model."
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone, has("model_not_found"):
		notFound(e, has("model", "deployment"))
	case status == http.StatusTooManyRequests:
		e.Kind, e.Retryable = RateLimited, true
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		e.Kind, e.Retryable = Timeout, true
	case status == http.StatusServiceUnavailable, status == statusOverloaded:
		e.Kind, e.Retryable = Overloaded, true
	case status == http.StatusConflict, status >= http.StatusInternalServerError:
		e.Kind, e.Retryable = Server, status != http.StatusNotImplemented
	case status == http.StatusRequestEntityTooLarge,
		has("context_length_exceeded", "maximum context length", "prompt is too long", "exceed context limit", "context window", "request_too_large"):
		e.Kind, e.Parameter, e.Suggestion = ContextLength, "messages", "Shorten the messages, or choose a model with a larger context."
	case has("content_filter", "content_policy_violation", "responsibleaipolicyviolation", "content management policy"):
		e.Kind, e.Parameter = ContentFilter, "messages"
	default:
		e.Kind = InvalidParameter
		explain(e, c, r)
	}
	return e
}

func notFound(e *Error, model bool) {
	e.Kind = NotFound
	if model {
		e.Parameter, e.Suggestion = "model", "Check the name of the model, and that the key may use it."
	} else {
		e.Parameter, e.Suggestion = "base_url", checkAddress
	}
}

// statusOfType is the status that an error would have if the response had not begun with another one.
func (r *refusal) statusOfType() int {
	if r.status != 0 {
		return r.status
	}
	word := strings.ToLower(r.kind + " " + r.code)
	for _, known := range []struct {
		word   string
		status int
	}{
		{"overloaded", statusOverloaded},
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
