// Package problem defines the errors that clients receive, and writes them as RFC 9457 problem details.
//
// A package returns an [Error] of a [Kind], with its code and detail. The handler that answers the client calls [Of]
// and writes the [Document].
package problem

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Kind classifies errors by what the client can do about them.
type Kind int

// The kinds, with the HTTP status of each.
const (
	Internal             Kind = iota // 500: a defect
	Malformed                        // 400: the request cannot be parsed
	Unauthenticated                  // 401: log in, or send a valid key
	Forbidden                        // 403: ask for a scope or a role
	NotFound                         // 404: it does not exist, or not for this caller
	MethodNotAllowed                 // 405
	Timeout                          // 408: the body did not arrive in time
	Conflict                         // 409: the resource is not in the state that the request assumes
	Precondition                     // 412: the resource has changed since it was read
	TooLarge                         // 413: the body
	UnsupportedMediaType             // 415: the body
	Misdirected                      // 421: the host
	Invalid                          // 422: correct the fields
	RateLimited                      // 429: wait
	Unavailable                      // 503: a dependency does not answer; retry
	TooExpensive                     // 503: the query exceeds a limit; narrow it
	PaymentRequired                  // 402: a limit of money does not allow it
	BadGateway                       // 502: a server of others that the request needs failed
)

var statuses = [...]int{
	Internal: http.StatusInternalServerError, Malformed: http.StatusBadRequest, Unauthenticated: http.StatusUnauthorized,
	Forbidden: http.StatusForbidden, NotFound: http.StatusNotFound, MethodNotAllowed: http.StatusMethodNotAllowed,
	Timeout: http.StatusRequestTimeout, Conflict: http.StatusConflict, Precondition: http.StatusPreconditionFailed,
	TooLarge: http.StatusRequestEntityTooLarge, UnsupportedMediaType: http.StatusUnsupportedMediaType,
	Misdirected: http.StatusMisdirectedRequest, Invalid: http.StatusUnprocessableEntity, RateLimited: http.StatusTooManyRequests,
	Unavailable: http.StatusServiceUnavailable, TooExpensive: http.StatusServiceUnavailable,
	PaymentRequired: http.StatusPaymentRequired, BadGateway: http.StatusBadGateway,
}

// Codes that several packages use. A code is stable: clients branch on it.
const (
	CodeNotFound         = "not_found"
	CodeNameTaken        = "name_taken"
	CodeRateLimited      = "rate_limited"
	CodeValidationFailed = "validation_failed"
	CodeDependency       = "dependency_unavailable"
)

// Error is an error that the client receives.
type Error struct {
	Kind Kind
	Code string
	// Detail is one or two sentences for a person: what is wrong, and what to do.
	Detail string
	// Fields are the invalid values of the request, for an [Invalid] error.
	Fields []Field
	// RetryAfter is when the client may retry. 0 means unknown.
	RetryAfter time.Duration
}

// Field is an invalid value of a request.
type Field struct {
	// Location is the location of the value, such as body.name, query.cursor or header.Idempotency-Key.
	Location string `json:"location"`
	Message  string `json:"message"`
	// Value is the value if it is short and not secret.
	Value any `json:"value,omitempty"`
}

func (e *Error) Error() string {
	if len(e.Fields) > 0 {
		return e.Fields[0].Location + " " + e.Fields[0].Message
	}
	return e.Detail
}

// Missing returns the error for a resource that does not exist or that the caller may not see. The two cases are
// indistinguishable.
func Missing() *Error {
	return &Error{Kind: NotFound, Code: CodeNotFound, Detail: "This resource does not exist or was deleted."}
}

// DependencyRetry is when a request that needed a store may be sent again.
const DependencyRetry = 2 * time.Second

// DependencyDown returns the error for a store that does not answer. The store may have executed the request: only
// its answer is missing.
func DependencyDown(store string) *Error {
	return &Error{
		Kind: Unavailable, Code: CodeDependency, RetryAfter: DependencyRetry,
		Detail: store + " is not answering. Try again in a few seconds. If it does not come back, `looptrace doctor` says what is wrong.",
	}
}

// InvalidFields returns the error for invalid fields of a request.
func InvalidFields(fields ...Field) *Error {
	return &Error{Kind: Invalid, Code: CodeValidationFailed, Detail: "The request is not valid.", Fields: fields}
}

// InvalidField is [InvalidFields] for one field.
func InvalidField(location, message string) *Error {
	return InvalidFields(Field{Location: location, Message: message})
}

// Of returns the error for the client: the first [Error] in err's tree, with the fields of all [Invalid] ones. It
// returns nil if there is none.
func Of(err error) *Error {
	var first *Error
	if !errors.As(err, &first) {
		return nil
	}
	if first.Kind != Invalid {
		return first
	}
	all := *first
	all.Fields = fieldsOf(err)
	return &all
}

// Is reports whether the client's error is of the kind.
func Is(err error, kind Kind) bool {
	e := Of(err)
	return e != nil && e.Kind == kind
}

func fieldsOf(err error) []Field {
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself
	case *Error:
		return e.Fields
	case interface{ Unwrap() error }:
		return fieldsOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		var fields []Field
		for _, one := range e.Unwrap() {
			fields = append(fields, fieldsOf(one)...)
		}
		return fields
	}
	return nil
}

// Document is the JSON form of an error.
type Document struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	// RequestID identifies the request in the log. It is empty if requests have no ids.
	RequestID string  `json:"request_id,omitempty"`
	Errors    []Field `json:"errors,omitempty"`
}

// ContentType is the media type of a [Document].
const ContentType = "application/problem+json"

// NewDocument returns a document.
func NewDocument(status int, code, detail, requestID string) Document {
	return Document{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code, RequestID: requestID,
	}
}

// Document returns the error's JSON form.
func (e *Error) Document(requestID string) Document {
	d := NewDocument(statuses[e.Kind], e.Code, e.Detail, requestID)
	d.Errors = e.Fields
	return d
}

// Write writes the error as the response.
func (e *Error) Write(w http.ResponseWriter, requestID string) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	e.Document(requestID).Write(w)
}

// Write writes the document as the response.
func (d Document) Write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", ContentType)
	w.WriteHeader(d.Status)
	_ = json.NewEncoder(w).Encode(d) // the client may be gone
}
