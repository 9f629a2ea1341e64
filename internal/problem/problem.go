// Package problem holds the errors that a client is told of, and writes them as RFC 9457 problem details.
//
// A package that finds something wrong returns an [Error] of a [Kind], with its code and detail. Whoever answers the client
// gives [Of] the error and writes the [Document].
package problem

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Kind sorts errors by what the client can do about them.
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
	Conflict                         // 409: the resource is in another state than the request assumes
	Precondition                     // 412: the resource has changed since it was read
	TooLarge                         // 413: the body
	UnsupportedMediaType             // 415: the body
	Misdirected                      // 421: the host
	Invalid                          // 422: correct the fields
	RateLimited                      // 429: wait
	Unavailable                      // 503: a dependency does not answer; retry
	TooExpensive                     // 503: the query takes more than one may; narrow it
)

var statuses = [...]int{
	Internal: http.StatusInternalServerError, Malformed: http.StatusBadRequest, Unauthenticated: http.StatusUnauthorized,
	Forbidden: http.StatusForbidden, NotFound: http.StatusNotFound, MethodNotAllowed: http.StatusMethodNotAllowed,
	Timeout: http.StatusRequestTimeout, Conflict: http.StatusConflict, Precondition: http.StatusPreconditionFailed,
	TooLarge: http.StatusRequestEntityTooLarge, UnsupportedMediaType: http.StatusUnsupportedMediaType,
	Misdirected: http.StatusMisdirectedRequest, Invalid: http.StatusUnprocessableEntity, RateLimited: http.StatusTooManyRequests,
	Unavailable: http.StatusServiceUnavailable, TooExpensive: http.StatusServiceUnavailable,
}

// Codes that several packages use. A code is stable: clients branch on it.
const (
	CodeNotFound         = "not_found"
	CodeNameTaken        = "name_taken"
	CodeRateLimited      = "rate_limited"
	CodeValidationFailed = "validation_failed"
	CodeDependency       = "dependency_unavailable"
)

// Error is an error that the client is told of.
type Error struct {
	Kind Kind
	Code string
	// Detail is one or two sentences for a person: what is wrong, and the remedy.
	Detail string
	// Fields are what is wrong with the request, of an [Invalid] error.
	Fields []Field
	// RetryAfter is when the client may try again; 0 says nothing.
	RetryAfter time.Duration
}

// Field is one value of a request that cannot be accepted.
type Field struct {
	// Location is where it is, such as body.name, query.cursor or header.Idempotency-Key.
	Location string `json:"location"`
	Message  string `json:"message"`
	// Value is what was sent, where it is short and no secret.
	Value any `json:"value,omitempty"`
}

func (e *Error) Error() string {
	if len(e.Fields) > 0 {
		return e.Fields[0].Location + " " + e.Fields[0].Message
	}
	return e.Detail
}

// Missing is the error about a resource that does not exist, or not for this caller: the two look the same.
func Missing() *Error {
	return &Error{Kind: NotFound, Code: CodeNotFound, Detail: "This resource does not exist or was deleted."}
}

// DependencyDown is the error about a store that does not answer. It promises nothing: a store may have done all of its work before
// its answer was lost.
func DependencyDown() *Error {
	return &Error{
		Kind: Unavailable, Code: CodeDependency, Detail: "The database is not answering. Try again in a few seconds.", RetryAfter: 2 * time.Second,
	}
}

// InvalidFields is the error about fields of a request.
func InvalidFields(fields ...Field) *Error {
	return &Error{Kind: Invalid, Code: CodeValidationFailed, Detail: "The request is not valid.", Fields: fields}
}

// InvalidField is [InvalidFields] for one.
func InvalidField(location, message string) *Error {
	return InvalidFields(Field{Location: location, Message: message})
}

// Of returns what the client is told of an error: the first [Error] in its tree, with the fields of all that are [Invalid];
// nil where there is none.
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

// Is tells whether the client is told of an error of the kind.
func Is(err error, kind Kind) bool {
	e := Of(err)
	return e != nil && e.Kind == kind
}

func fieldsOf(err error) []Field {
	switch e := err.(type) { //nolint:errorlint // it takes the tree apart itself
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

// Document is an error as it is sent.
type Document struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	// RequestID finds the request in the log. It is empty where requests have no ids.
	RequestID string  `json:"request_id,omitempty"`
	Errors    []Field `json:"errors,omitempty"`
}

// ContentType is the media type of a [Document].
const ContentType = "application/problem+json"

// NewDocument makes a document.
func NewDocument(status int, code, detail, requestID string) Document {
	return Document{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code, RequestID: requestID,
	}
}

// Document is the error as it is sent.
func (e *Error) Document(requestID string) Document {
	d := NewDocument(statuses[e.Kind], e.Code, e.Detail, requestID)
	d.Errors = e.Fields
	return d
}

// Write answers with the error.
func (e *Error) Write(w http.ResponseWriter, requestID string) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	e.Document(requestID).Write(w)
}

// Write answers with the document.
func (d Document) Write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", ContentType)
	w.WriteHeader(d.Status)
	_ = json.NewEncoder(w).Encode(d) // the client may be gone
}
