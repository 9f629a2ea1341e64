package provider

import (
	"fmt"
	"net/http"
	"strings"
)

// body is the error in the format of the protocol.
func (e *Error) body(protocol Protocol, requestID string) any {
	type object = map[string]any
	orNull := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	switch {
	case protocol == Anthropic:
		return struct {
			Type      string            `json:"type"`
			Error     map[string]string `json:"error"`
			RequestID string            `json:"request_id"`
		}{"error", map[string]string{"type": e.Type, "message": e.Message}, requestID}
	case protocol == Azure && e.Type == "":
		return object{"error": object{"code": e.Code, "message": e.Message}}
	default:
		return object{"error": object{"message": e.Message, "type": e.Type, "param": orNull(e.Param), "code": orNull(e.Code)}}
	}
}

// invalid is a request that OpenAI and Anthropic refuse with the same type.
func invalid(message string) *Error {
	return &Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: message}
}

// invalidParam is OpenAI's refusal of a parameter.
func invalidParam(param, code, message string) *Error {
	e := invalid(message)
	e.Param, e.Code = param, code
	return e
}

func unknownPath(protocol Protocol, r *http.Request) *Error {
	switch protocol {
	case Anthropic:
		return &Error{Status: http.StatusNotFound, Type: "not_found_error", Message: "Not Found"}
	case Azure:
		return &Error{Status: http.StatusNotFound, Code: "404", Message: "Resource not found"}
	default:
		return &Error{
			Status: http.StatusNotFound, Type: "invalid_request_error",
			Message: fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path),
		}
	}
}

// wrongKey repeats ends of the key as OpenAI does.
func wrongKey(protocol Protocol, key string) *Error {
	if protocol == Azure {
		return &Error{
			Status: http.StatusUnauthorized, Code: "401",
			Message: "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an " +
				"active subscription and use a correct regional API endpoint for your resource.",
		}
	}
	if key == "" {
		return &Error{
			Status: http.StatusUnauthorized, Type: "invalid_request_error",
			Message: "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth " +
				"(i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API " +
				"from your browser and are prompted for a username and password. You can obtain an API key from " +
				"https://platform.openai.com/account/api-keys.",
		}
	}
	shown := strings.Repeat("*", len(key))
	if len(key) > 12 {
		shown = key[:8] + strings.Repeat("*", len(key)-12) + key[len(key)-4:]
	}
	return &Error{
		Status: http.StatusUnauthorized, Type: "invalid_request_error", Code: "invalid_api_key",
		Message: "Incorrect API key provided: " + shown + ". You can find your API key at https://platform.openai.com/account/api-keys.",
	}
}

func forbidden(protocol Protocol, model string) *Error {
	switch protocol {
	case Anthropic:
		return &Error{
			Status: http.StatusForbidden, Type: "permission_error",
			Message: "Your API key does not have permission to use the specified resource.",
		}
	default:
		return &Error{
			Status: http.StatusForbidden, Type: "invalid_request_error", Code: "model_not_found",
			Message: "Project `proj_scripted` does not have access to model `" + model + "`",
		}
	}
}

func unknownModel(protocol Protocol, model string) *Error {
	switch protocol {
	case Anthropic:
		return &Error{Status: http.StatusNotFound, Type: "not_found_error", Message: "model: " + model}
	case Azure:
		return &Error{
			Status: http.StatusNotFound, Code: "DeploymentNotFound",
			Message: "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, " +
				"please wait a moment and try again.",
		}
	default:
		return &Error{
			Status: http.StatusNotFound, Type: "invalid_request_error", Code: "model_not_found",
			Message: "The model `" + model + "` does not exist or you do not have access to it.",
		}
	}
}

func rateLimited(protocol Protocol, model string) *Error {
	switch protocol {
	case Anthropic:
		return &Error{
			Status: http.StatusTooManyRequests, Type: "rate_limit_error",
			Message: "This request would exceed your account's rate limit. Please try again later.",
		}
	case Azure:
		return &Error{
			Status: http.StatusTooManyRequests, Code: "429",
			Message: "Requests to the ChatCompletions_Create Operation under Azure OpenAI API have exceeded call rate limit of your " +
				"current OpenAI S0 pricing tier. Please retry after 1 second.",
		}
	default:
		return &Error{
			Status: http.StatusTooManyRequests, Type: "requests", Code: "rate_limit_exceeded",
			Message: "Rate limit reached for " + model + " in organization org-scripted on requests per min (RPM): Limit 3, Used 3, " +
				"Requested 1. Please try again in 1s. Visit https://platform.openai.com/account/rate-limits to learn more.",
		}
	}
}

func noQuota(protocol Protocol) *Error {
	if protocol == Anthropic {
		return invalid("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or " +
			"purchase credits.")
	}
	return &Error{
		Status: http.StatusTooManyRequests, Type: "insufficient_quota", Code: "insufficient_quota",
		Message: "You exceeded your current quota, please check your plan and billing details. For more information on this error, " +
			"read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
	}
}

func tooLong(protocol Protocol, tokens int) *Error {
	if protocol == Anthropic {
		return invalid(fmt.Sprintf("prompt is too long: %d tokens > 8 maximum", tokens))
	}
	return invalidParam("messages", "context_length_exceeded", fmt.Sprintf("This model's maximum context length is 8 tokens. However, "+
		"your messages resulted in %d tokens. Please reduce the length of the messages.", tokens))
}

func broken(protocol Protocol) *Error {
	if protocol == Anthropic {
		return &Error{Status: http.StatusInternalServerError, Type: "api_error", Message: "Internal server error"}
	}
	return &Error{
		Status: http.StatusInternalServerError, Type: "server_error",
		Message: "The server had an error while processing your request. Sorry about that!",
	}
}

// overloaded is Anthropic's 529, for which OpenAI has 503.
func overloaded(protocol Protocol) *Error {
	if protocol == Anthropic {
		return &Error{Status: 529, Type: "overloaded_error", Message: "Overloaded"}
	}
	return &Error{
		Status: http.StatusServiceUnavailable, Type: "server_error",
		Message: "The server is currently overloaded with other requests. Sorry about that! You can retry your request, or contact " +
			"us through our help center at help.openai.com if the error persists.",
	}
}
