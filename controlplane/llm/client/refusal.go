package client

import (
	"net/http"
	"strings"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/wire"
)

// refused classifies an error that the provider sends.
// https://platform.openai.com/docs/guides/error-codes, https://platform.claude.com/docs/en/api/errors
func refused(c *call, response *http.Response, body []byte) *llm.Error {
	r := wire.ReadRefusal(body)
	status := response.StatusCode
	if status < http.StatusBadRequest {
		status = r.StatusOfType()
	}
	e := &llm.Error{Message: r.Told(), Code: r.Code, Type: r.Kind}
	if r.Message == "" {
		e.Message = strings.TrimSpace(http.StatusText(status) + "." + wire.Page(body))
	}
	lower := strings.ToLower(r.Message + " " + r.Code + " " + r.Kind)
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
		e.Kind, e.Suggestion = llm.QuotaExceeded, "Add credit to the provider's account, or raise its limit."
	case status == http.StatusUnauthorized, has("invalid_api_key", "api key not valid", "pass a valid api key"):
		e.Kind, e.Parameter, e.Suggestion = llm.Authentication, "api_key", "Check the key of the connection."
	case status == http.StatusForbidden:
		e.Kind, e.Suggestion = llm.Permission, "The key may not do this, or not with this model."
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone, has("model_not_found"):
		notFound(e, has("model", "deployment"))
	case status == http.StatusTooManyRequests:
		e.Kind, e.Retryable = llm.RateLimited, true
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		e.Kind, e.Retryable = llm.Timeout, true
	case status == http.StatusServiceUnavailable, status == wire.StatusOverloaded:
		e.Kind, e.Retryable = llm.Overloaded, true
	case status == http.StatusConflict, status >= http.StatusInternalServerError:
		e.Kind, e.Retryable = llm.Server, status != http.StatusNotImplemented
	case status == http.StatusRequestEntityTooLarge,
		has("context_length_exceeded", "maximum context length", "prompt is too long", "exceed context limit", "context window", "request_too_large"):
		e.Kind, e.Parameter, e.Suggestion = llm.ContextLength, "messages", "Shorten the messages, or choose a model with a larger context."
	case has("content_filter", "content_policy_violation", "responsibleaipolicyviolation", "content management policy"):
		e.Kind, e.Parameter = llm.ContentFilter, "messages"
	default:
		e.Kind = llm.InvalidParameter
		explain(e, c, r)
	}
	return e
}

func notFound(e *llm.Error, model bool) {
	e.Kind = llm.NotFound
	if model {
		e.Parameter, e.Suggestion = "model", "Check the name of the model, and that the key may use it."
	} else {
		e.Parameter, e.Suggestion = "base_url", checkAddress
	}
}
