package llm

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// statusOverloaded is Anthropic's.
const statusOverloaded = 529

// refusal is the error that a provider sends, in whichever form.
type refusal struct {
	message, code, kind, param string
	status                     int
}

// readRefusal reads the forms of errors: OpenAI's and Anthropic's {"error": {…}}, {"error": "…"} of Ollama, the members
// at the top of older vLLM, {"detail": …} of FastAPI, and Google's list of one.
func readRefusal(body []byte) refusal {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	top, err := members(body)
	if err != nil {
		return refusal{}
	}
	inner := top
	if nested, err := members(top["error"]); err == nil {
		inner = nested
	}
	r := refusal{
		message: text(inner["message"]), code: text(inner["code"]), kind: text(inner["type"]), param: text(inner["param"]),
	}
	if number, err := strconv.Atoi(string(inner["code"])); err == nil {
		r.status = number
	}
	if r.code == "" {
		r.code = text(inner["status"]) // Google's
	}
	for _, other := range []string{"error", "detail", "message"} {
		if r.message == "" && !isNull(top[other]) {
			if r.message = text(top[other]); r.message == "" {
				r.message = string(encode(top[other]))
			}
		}
	}
	return r
}

// refused classifies an error that the provider sends.
// https://platform.openai.com/docs/guides/error-codes, https://platform.claude.com/docs/en/api/errors
func refused(c *call, response *http.Response, body []byte) *Error {
	r := readRefusal(body)
	status := response.StatusCode
	if status < http.StatusBadRequest {
		status = r.statusOfType()
	}
	e := &Error{Message: r.message, Code: r.code, Type: r.kind}
	if e.Message == "" {
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
	if r.status >= http.StatusBadRequest && r.status < 600 {
		return r.status
	}
	word := r.kind + " " + r.code
	for _, known := range []struct {
		word   string
		status int
	}{
		{"overloaded", statusOverloaded},
		{"rate_limit", http.StatusTooManyRequests},
		{"quota", http.StatusTooManyRequests},
		{"authentication", http.StatusUnauthorized},
		{"permission", http.StatusForbidden},
		{"not_found", http.StatusNotFound},
		{"timeout", http.StatusGatewayTimeout},
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
