package providers

import (
	"fmt"
	"strings"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/problem"
)

// callError is the error of a call for the client. It wraps the provider's.
type callError struct {
	problem *problem.Error
	cause   *llm.Error
}

func (e *callError) Error() string   { return e.problem.Detail }
func (e *callError) Unwrap() []error { return []error{e.problem, e.cause} }

// codes are the codes of errors that the client cannot avoid by another request, with what to do about them.
var codes = map[llm.ErrorKind]struct{ code, remedy string }{
	llm.Authentication: {"provider_key_refused", "Enter a valid API key in Settings → Providers."},
	llm.Permission:     {"provider_permission_denied", "Use an API key that may call this model."},
	llm.NotFound:       {"model_not_found", "Check the name of the model, and the base address of the connection."},
	llm.RateLimited:    {"provider_rate_limited", "Try again later, or lower the connection's limits."},
	llm.QuotaExceeded:  {"provider_quota_exceeded", "The account at the provider has no quota left: add some there."},
	llm.Overloaded:     {"provider_overloaded", "Try again later."},
	llm.Server:         {"provider_error", "Try again later."},
	llm.Timeout:        {"provider_timeout", "Try again, or check the server at the base address."},
	llm.Unreachable:    {"provider_unreachable", "Check the base address of the connection, and that its server runs."},
	llm.BrokenStream:   {"provider_broken_answer", "The answer ended before it was complete. Try again."},
	llm.Garbage:        {"provider_broken_answer", "The answer is not what the API describes. Check the base address and the kind of the connection."},
}

// failed returns the error for the client.
func (c *completion) failed(failed *llm.Error) error {
	return &callError{problemOf(&c.Provider, failed), failed}
}

func problemOf(p *Provider, failed *llm.Error) *problem.Error {
	said := sentence(failed.Message)
	switch failed.Kind {
	case llm.InvalidParameter:
		field := problem.Field{Location: "body.model_config", Message: strings.TrimSpace(failed.Suggestion + " " + said)}
		if failed.Parameter != "" {
			field.Location += "." + failed.Parameter
		}
		switch failed.Parameter {
		case "tools", "response_format", "messages":
			field.Location = "body." + failed.Parameter
		}
		return &problem.Error{Kind: problem.Invalid, Code: "parameter_refused", Detail: fmt.Sprintf("The connection %q refuses the request: %s", p.Name, field.Message), Fields: []problem.Field{field}}
	case llm.ContextLength:
		return &problem.Error{Kind: problem.Invalid, Code: "context_length_exceeded", Detail: "The messages are too long for the model: " + said, Fields: []problem.Field{{Location: "body.messages", Message: said}}}
	case llm.ContentFilter:
		return &problem.Error{Kind: problem.Invalid, Code: "content_refused", Detail: "The provider refuses the content: " + said, Fields: []problem.Field{{Location: "body.messages", Message: said}}}
	case llm.AddressNotAllowed:
		return &problem.Error{Kind: problem.Invalid, Code: "address_not_allowed", Detail: said, Fields: []problem.Field{{Location: "provider.base_url", Message: said}}}
	}
	known, ok := codes[failed.Kind]
	if !ok {
		known.code = "provider_error"
	}
	out := &problem.Error{Kind: problem.BadGateway, Code: known.code, Detail: strings.TrimSpace(fmt.Sprintf("The connection %q failed: %s %s", p.Name, said, known.remedy))}
	if failed.RetryAfter != nil {
		out.RetryAfter = *failed.RetryAfter
	}
	return out
}

// sentence ends a text with a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text != "" && !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return text
}

// CodeDeleted is the code of the failure of a call whose connection was deleted.
const CodeDeleted = "provider_deleted"

// IsPermanent reports whether a failure of calls with a code lasts until a person changes the configuration.
func IsPermanent(code string) bool {
	switch code {
	case "provider_key_refused", "provider_key_unreadable", "provider_permission_denied", "provider_quota_exceeded", "model_not_found", "parameter_refused",
		"address_not_allowed", "validation_failed", "price_unknown", CodeDeleted:
		return true
	}
	return false
}
