package runsreceiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kerr"
	"google.golang.org/grpc/codes"

	"github.com/looptrace/looptrace/internal/jsonpull"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/requestbody"
)

// refusalError is a reason to refuse a request. All that a client can get are listed below: the HTTP status, a stable
// code (also the outcome in the metric), the gRPC code for OTLP, and the detail.
type refusalError struct {
	status     int
	code       string
	rpc        codes.Code
	detail     string
	retryAfter int             // in seconds, if a retry can help
	fields     []problem.Field // values that fail validation
	allow      string          // the methods that are allowed
}

var (
	malformed = refusalError{
		status: http.StatusBadRequest, code: "malformed", rpc: codes.InvalidArgument,
		detail: "The body cannot be parsed.",
	}
	unauthenticated = refusalError{
		status: http.StatusUnauthorized, code: "unauthenticated", rpc: codes.Unauthenticated,
		detail: "A valid key is required.",
	}
	forbidden = refusalError{
		status: http.StatusForbidden, code: "forbidden", rpc: codes.PermissionDenied,
		detail: "This key lacks the scope ingest:write.",
	}
	notFound = refusalError{
		status: http.StatusNotFound, code: "not_found", rpc: codes.NotFound,
		detail: "There is nothing here. Ingest serves POST /v1/runs, /v1/traces, /v1/logs and /v1/metrics.",
	}
	methodNotAllowed = refusalError{
		status: http.StatusMethodNotAllowed, code: "method_not_allowed", rpc: codes.Unimplemented,
		detail: "Only POST is allowed here.", allow: http.MethodPost,
	}
	bodyTimeout = refusalError{
		status: http.StatusRequestTimeout, code: "body_timeout", rpc: codes.DeadlineExceeded,
		detail: "The body did not arrive in time.",
	}
	bodyTooLarge = refusalError{
		status: http.StatusRequestEntityTooLarge, code: "body_too_large", rpc: codes.InvalidArgument,
		detail: "The body is larger than the limit, as sent or decompressed.",
	}
	bodyTooDense = refusalError{
		status: http.StatusRequestEntityTooLarge, code: "body_too_dense", rpc: codes.InvalidArgument,
		detail: "The body holds more values than may be decoded at once.",
	}
	windowTooLarge = refusalError{
		status: http.StatusRequestEntityTooLarge, code: "window_too_large", rpc: codes.InvalidArgument,
		detail: "The zstd window is larger than 8 MiB, the largest of the zstd content coding.",
	}
	recordTooLarge = refusalError{
		status: http.StatusRequestEntityTooLarge, code: "record_too_large", rpc: codes.InvalidArgument,
		detail: "The queue takes no record of this size: send fewer runs or spans in one request.",
	}
	unsupportedMediaType = refusalError{
		status: http.StatusUnsupportedMediaType, code: "unsupported_media_type", rpc: codes.InvalidArgument,
		detail: "The content type is not supported.",
	}
	unsupportedEncoding = refusalError{
		status: http.StatusUnsupportedMediaType, code: "unsupported_encoding", rpc: codes.InvalidArgument,
		detail: "The content encoding is not supported: send gzip, zstd, deflate or none.",
	}
	invalid = refusalError{
		status: http.StatusUnprocessableEntity, code: "invalid", rpc: codes.InvalidArgument,
		detail: "The body fails validation.",
	}
	rateLimited = refusalError{
		status: http.StatusTooManyRequests, code: "rate_limited", rpc: codes.ResourceExhausted,
		detail: "Too many requests.", retryAfter: 1,
	}
	overloaded = refusalError{
		status: http.StatusServiceUnavailable, code: "overloaded", rpc: codes.Unavailable,
		detail: "Too many bytes are being received at the moment.", retryAfter: 1,
	}
	queueUnavailable = refusalError{
		status: http.StatusServiceUnavailable, code: "queue_unavailable", rpc: codes.Unavailable,
		detail: "The queue did not take the request: nothing was accepted.", retryAfter: 5,
	}
	unavailable = refusalError{
		status: http.StatusServiceUnavailable, code: "unavailable", rpc: codes.Unavailable,
		detail: "A dependency is down: nothing was accepted.", retryAfter: 5,
	}
	clientGone = refusalError{
		status: 499, code: "client_gone", rpc: codes.Canceled,
		detail: "The client went away.", // only counted: nobody receives it
	}
	internal = refusalError{
		status: http.StatusInternalServerError, code: "internal", rpc: codes.Internal,
		detail: "The service has a fault.",
	}
)

func (r *refusalError) Error() string { return r.code + ": " + r.detail }

// because returns the refusal with another detail.
func (r *refusalError) because(detail string) *refusalError {
	with := *r
	with.detail = detail
	return &with
}

// refusalOfRoute returns the refusal of a route that is not served.
func refusalOfRoute(route string) *refusalError {
	if signals[route] == nil {
		return &notFound
	}
	return notFound.because(fmt.Sprintf("This collector has no pipeline that takes %s here. OTEL_%s_EXPORTER=none stops an SDK from sending them.",
		route, strings.ToUpper(route)))
}

// refusalOfBody returns the refusal of a body that could not be read, decompressed or parsed.
func refusalOfBody(err error) *refusalError {
	var (
		known  *refusalError
		size   *http.MaxBytesError
		syntax *jsonpull.SyntaxError
		sent   *requestbody.Error
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &size), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return &bodyTooLarge
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return &windowTooLarge
	case errors.Is(err, jsonpull.ErrWeight):
		return &bodyTooDense
	case errors.As(err, &sent) && sent.Stopped():
		return unavailable.because("The service stops: nothing was accepted.")
	case errors.As(err, &sent) && sent.Late():
		return &bodyTimeout
	case errors.Is(err, jsonpull.ErrDepth):
		return malformed.because(fmt.Sprintf("The body nests deeper than %d levels.", maxDepth))
	case errors.Is(err, context.DeadlineExceeded):
		return &overloaded
	case errors.Is(err, context.Canceled):
		return &clientGone
	case errors.As(err, &syntax):
		return malformed.because("The body is " + syntax.Error() + ".")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return malformed.because("The body ends early.")
	default:
		return malformed.because("The body cannot be parsed: " + err.Error() + ".")
	}
}

// refusalOfConsumer returns the refusal if the spans were not accepted. All reasons but one are temporary, even some
// that the Collector calls permanent (a missing topic or permission). Nothing was accepted, so the client should
// retry rather than drop its data. ctx is the request's own: a cancellation from the queue may come from another
// request whose record was in the same batch.
func refusalOfConsumer(ctx context.Context, err error) *refusalError {
	switch {
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		return &recordTooLarge
	case ctx.Err() != nil:
		return &clientGone
	default:
		return &queueUnavailable
	}
}

// refusalOfStatus returns the refusal for a status from another package: the Collector's HTTP server, or a middleware
// extension.
func refusalOfStatus(status int) refusalError {
	switch status {
	case http.StatusBadRequest:
		return malformed
	case http.StatusUnauthorized:
		return unauthenticated
	case http.StatusForbidden:
		return forbidden
	case http.StatusNotFound:
		return notFound
	case http.StatusMethodNotAllowed:
		return methodNotAllowed
	case http.StatusRequestEntityTooLarge:
		return bodyTooLarge
	case http.StatusUnsupportedMediaType:
		return unsupportedMediaType
	case http.StatusTooManyRequests:
		return rateLimited
	case http.StatusServiceUnavailable:
		return unavailable
	}
	r := internal
	if status < http.StatusInternalServerError {
		r = malformed
		r.code, r.detail = "refused", "The request was refused."
	}
	r.status = status
	return r
}
