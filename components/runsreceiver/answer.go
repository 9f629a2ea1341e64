package runsreceiver

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
)

const (
	typeJSON     = "application/json"
	typeProtobuf = "application/x-protobuf"

	headerRequestID = "X-Request-Id"

	routeRuns    = "runs"
	routeTraces  = "traces"
	routeLogs    = "logs"
	routeMetrics = "metrics"
	routeOther   = "other"

	outcomeQueued = "queued"

	maxForeignBody = 4 << 10
)

// exchange is the answer to one request. It wraps the connection below everything that the HTTP server puts around
// the handlers. So errors of those layers (no key, no scope, key store away) are sent in the form of this API, with
// the request's id.
type exchange struct {
	http.ResponseWriter

	requestID string
	route     string
	otlp      bool   // an OTLP path: errors are a google.rpc.Status
	mediaType string // the request's media type, without parameters
	outcome   string

	own     bool // this package writes the answer
	held    int  // the status of another layer's error, which is rewritten
	foreign []byte
}

type exchangeKey struct{}

func newExchange(w http.ResponseWriter, req *http.Request) (*exchange, *http.Request) {
	x := &exchange{
		ResponseWriter: w,
		requestID:      requestID(req.Header.Get(headerRequestID)),
		route:          routeOf(req.URL.Path),
	}
	x.otlp = signals[x.route] != nil
	// A malformed header is treated like an unsupported type.
	x.mediaType, _, _ = mime.ParseMediaType(req.Header.Get("Content-Type"))
	w.Header().Set(headerRequestID, x.requestID)
	return x, req.WithContext(context.WithValue(req.Context(), exchangeKey{}, x))
}

// exchangeOf returns the exchange of a request, which always has one.
func exchangeOf(req *http.Request) *exchange {
	return req.Context().Value(exchangeKey{}).(*exchange)
}

func routeOf(path string) string {
	switch path {
	case "/v1/runs":
		return routeRuns
	case "/v1/traces":
		return routeTraces
	case "/v1/logs":
		return routeLogs
	case "/v1/metrics":
		return routeMetrics
	default:
		return routeOther
	}
}

// requestID returns the client's own id if it is fit for logs and headers, else a new one.
func requestID(sent string) string {
	fit := len(sent) > 0 && len(sent) <= 128 && strings.IndexFunc(sent, func(c rune) bool {
		return ('a' > c || c > 'z') && ('A' > c || c > 'Z') && ('0' > c || c > '9') && !strings.ContainsRune("-_.:/+=", c)
	}) < 0
	if fit {
		return sent
	}
	return uuid.Must(uuid.NewV7()).String()
}

// WriteHeader holds back errors from other packages.
func (x *exchange) WriteHeader(status int) {
	if x.held != 0 {
		return
	}
	if !x.own && status >= http.StatusBadRequest {
		x.held = status
		return
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write keeps the beginning of a held answer.
func (x *exchange) Write(b []byte) (int, error) {
	if x.held == 0 {
		return x.ResponseWriter.Write(b)
	}
	room := maxForeignBody - len(x.foreign)
	x.foreign = append(x.foreign, b[:min(room, len(b))]...)
	return len(b), nil
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// finish rewrites a held answer.
func (x *exchange) finish() {
	if x.held == 0 {
		return
	}
	r := refusalOfStatus(x.held)
	x.held = 0
	contentType, _, _ := mime.ParseMediaType(x.Header().Get("Content-Type"))
	switch contentType {
	// Problem details and statuses are written for the client, so their text is kept.
	case problem.ContentType:
		sent := problem.Document{Code: r.code, Detail: r.detail}
		if json.Unmarshal(x.foreign, &sent) == nil {
			r.code, r.detail = sent.Code, sent.Detail
		}
	case typeJSON:
		sent := rpcStatus{Message: r.detail}
		if json.Unmarshal(x.foreign, &sent) == nil {
			r.detail = sent.Message
		}
	case typeProtobuf:
		var sent spb.Status
		if proto.Unmarshal(x.foreign, &sent) == nil && sent.GetMessage() != "" {
			r.detail = sent.GetMessage()
		}
	case "text/plain":
		if text := strings.TrimSpace(string(x.foreign)); text != "" && r.status < http.StatusInternalServerError {
			r.detail = text
		}
	}
	x.refuse(x, &r)
}

// refuse answers with an error: problem details, or a google.rpc.Status on OTLP paths. It writes through w, which may
// contain layers of the server that observe the answer.
func (x *exchange) refuse(w http.ResponseWriter, r *refusalError) {
	h := w.Header()
	if r.retryAfter > 0 && h.Get("Retry-After") == "" {
		h.Set("Retry-After", strconv.Itoa(r.retryAfter))
	}
	if r.allow != "" {
		h.Set("Allow", r.allow)
	}
	if r.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	x.outcome = r.code
	switch {
	case !x.otlp:
		document := problem.NewDocument(r.status, r.code, r.detail, x.requestID)
		document.Errors = r.fields
		x.write(w, r.status, problem.ContentType, jsontext.MustEncode(document))
	case x.mediaType == typeProtobuf:
		answer := &spb.Status{Code: int32(r.rpc), Message: strings.ToValidUTF8(r.detail, "\uFFFD")}
		if delay, ok := retryDelay(h); ok {
			if info, err := anypb.New(&errdetails.RetryInfo{RetryDelay: durationpb.New(delay)}); err == nil { // always
				answer.Details = append(answer.Details, info)
			}
		}
		body, err := proto.Marshal(answer)
		if err != nil {
			body = nil // plain fields always marshal
		}
		x.write(w, r.status, typeProtobuf, body)
	default:
		// protojson varies its white space on purpose.
		answer := rpcStatus{Code: uint32(r.rpc), Message: r.detail}
		if delay, ok := retryDelay(h); ok {
			answer.Details = []retryInfo{{Type: typeURLRetryInfo, RetryDelay: fmt.Sprintf("%.0fs", delay.Seconds())}}
		}
		x.write(w, r.status, typeJSON, jsontext.MustEncode(answer))
	}
}

// accept answers that the request is queued.
func (x *exchange) accept(w http.ResponseWriter, status int, contentType string, body []byte) {
	x.outcome = outcomeQueued
	x.write(w, status, contentType, body)
}

func (x *exchange) write(w http.ResponseWriter, status int, contentType string, body []byte) {
	x.own = true
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// A write fails if the client is gone.
	_, _ = w.Write(body) //nolint:gosec // JSON, protobuf or plain text, never HTML, and never sniffed
}

type rpcStatus struct {
	Code    uint32      `json:"code"`
	Message string      `json:"message"`
	Details []retryInfo `json:"details,omitempty"`
}

// retryInfo is a google.rpc.RetryInfo, OTLP's equivalent of Retry-After.
type retryInfo struct {
	Type       string `json:"@type"`
	RetryDelay string `json:"retryDelay"`
}

const typeURLRetryInfo = "type.googleapis.com/google.rpc.RetryInfo"

// retryDelay returns the value of the answer's Retry-After header, whoever set it.
func retryDelay(h http.Header) (time.Duration, bool) {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	return time.Duration(seconds) * time.Second, err == nil
}
