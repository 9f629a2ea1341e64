package llm

import (
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// ErrorKind classifies errors by what the caller can do about them.
type ErrorKind string

// The kinds.
const (
	Authentication    ErrorKind = "authentication"      // the provider does not accept the key
	Permission        ErrorKind = "permission"          // the key may not do this
	NotFound          ErrorKind = "not_found"           // the model or the address does not exist
	InvalidParameter  ErrorKind = "invalid_parameter"   // the request cannot be made so; see Parameter and Suggestion
	ContextLength     ErrorKind = "context_length"      // the request exceeds the model's context or the API's size
	ContentFilter     ErrorKind = "content_filter"      // the provider refused the content
	RateLimited       ErrorKind = "rate_limited"        // retry after RetryAfter
	QuotaExceeded     ErrorKind = "quota_exceeded"      // the account has no money or quota left
	Overloaded        ErrorKind = "overloaded"          // the provider has no capacity now
	Server            ErrorKind = "server"              // the provider failed
	Timeout           ErrorKind = "timeout"             // no byte in time, or the deadline of the context has passed
	Unreachable       ErrorKind = "unreachable"         // no connection
	AddressNotAllowed ErrorKind = "address_not_allowed" // the address policy forbids the address
	BrokenStream      ErrorKind = "broken_stream"       // the response ended before it was complete
	Garbage           ErrorKind = "garbage"             // the response is not what the API describes
	Cancelled         ErrorKind = "cancelled"           // the caller went away
)

// Error is a failed call. No part of it has the key or the value of a connection's header.
type Error struct {
	Kind ErrorKind
	// Status is the response's HTTP status, or 0 if there was no response.
	Status int
	// Parameter is the parameter at fault, by the name that Looptrace gives it (temperature, max_output_tokens,
	// response_format, tools, seed, stream_options, extra.top_k …). Empty if unknown.
	Parameter string
	// Unsupported reports that the model or the server does not take Parameter at all, whatever its value.
	Unsupported bool
	// Suggestion says what to change, for a person. It may be empty.
	Suggestion string
	// Message says what is wrong. If the provider said it, it is the provider's text, shortened.
	Message string
	// Code and Type are the provider's own words for the error. They may be empty.
	Code, Type string
	// RetryAfter is the time that the provider asks to wait. nil if it asks for none.
	RetryAfter *time.Duration
	RequestID  string
	RateLimit  map[string]string
	// Partial is what arrived of an answer before it failed, with the bodies. nil if no request was made or reached the
	// server, and for lists of models.
	Partial *Result
	// Retryable reports whether the same request may succeed later.
	Retryable bool

	Cause error
}

func (e *Error) Error() string {
	text := e.Message
	if e.Status >= http.StatusBadRequest {
		text = fmt.Sprintf("The provider answered %d: %s", e.Status, text)
	}
	if e.Suggestion != "" {
		text += " " + e.Suggestion
	}
	return text
}

// Unwrap returns the error of the connection, of the context or of the caller's callback.
func (e *Error) Unwrap() error { return e.Cause }

// Invalid returns the error for a request that cannot be made.
func Invalid(parameter, message, suggestion string) *Error {
	return &Error{Kind: InvalidParameter, Parameter: parameter, Message: message, Suggestion: suggestion}
}

// maxMessage is the maximum length of a message of a provider, in runes.
const maxMessage = 1000

// GarbageError is a response that is not what the API describes.
type GarbageError struct{ What string }

func (e *GarbageError) Error() string { return e.What }

// Shorten limits a text, and takes out what a terminal or a log would act on.
func Shorten(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return utf8text.Cut(s, maxMessage)
}
