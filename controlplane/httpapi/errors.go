package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/allowedhost"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/internal/requestbody"
)

// The stable codes of problems.
const (
	codeUnauthenticated      = "unauthenticated"
	codeKeyRevoked           = "key_revoked"
	codeKeyExpired           = "key_expired"
	codeScopeMissing         = "scope_missing"
	codeCrossOrigin          = "cross_origin"
	codeNotFound             = "not_found"
	codeMethodNotAllowed     = "method_not_allowed"
	codeAlreadyBootstrapped  = "already_bootstrapped"
	codeNameTaken            = "name_taken"
	codeBodyTimeout          = "body_timeout"
	codeKeyReused            = "idempotency_key_reused"
	codeUnderWay             = "request_under_way"
	codeBodyTooLarge         = "body_too_large"
	codeUnsupportedMediaType = "unsupported_media_type"
	codeMalformedBody        = "malformed_body"
	codeValidationFailed     = "validation_failed"
	codeThrottled            = "throttled"
	codeRateLimited          = "rate_limited"
	codeDependency           = "dependency_unavailable"
	codeInternal             = "internal"
)

// What goes wrong before a service is asked.
var (
	errNoRoute              = errors.New("no such route")
	errMethodNotAllowed     = errors.New("method not allowed")
	errCrossOrigin          = errors.New("cross-origin request")
	errUnsupportedMediaType = errors.New("unsupported media type")
	errMalformedBody        = errors.New("malformed body")
)

// dependencyRetry is how long a client should leave a dependency that is down alone.
const dependencyRetry = 2 * time.Second

// underWayRetry is when a client may ask again for the answer to a request that is under way.
const underWayRetry = time.Second

// dependencyDetail promises nothing: a store may have done a part of its work, or all of it, before its answer was lost.
const dependencyDetail = "A service that this one depends on does not answer. Send the request again after a moment."

// answer is how an error is told to a client.
type answer struct {
	status     int
	code       string
	detail     string
	retryAfter time.Duration
	fields     []fieldError
}

// answers maps errors to what a client is told: the first that matches counts.
var answers = []struct {
	err error
	answer
}{
	{errNoRoute, answer{status: http.StatusNotFound, code: codeNotFound, detail: "No such resource."}},
	{errMethodNotAllowed, answer{status: http.StatusMethodNotAllowed, code: codeMethodNotAllowed, detail: "The resource does not have this method; see Allow."}},
	{errCrossOrigin, answer{status: http.StatusForbidden, code: codeCrossOrigin, detail: "A browser may change things only from Looptrace's own pages."}},
	{errUnsupportedMediaType, answer{status: http.StatusUnsupportedMediaType, code: codeUnsupportedMediaType, detail: "The body must be application/json without content encoding."}},
	{errMalformedBody, answer{status: http.StatusBadRequest, code: codeMalformedBody, detail: "The body is not one JSON value in UTF-8."}},

	{identity.ErrUnavailable, answer{status: http.StatusServiceUnavailable, code: codeDependency, detail: dependencyDetail, retryAfter: dependencyRetry}},
	{runs.ErrUnavailable, answer{status: http.StatusServiceUnavailable, code: codeDependency, detail: dependencyDetail, retryAfter: dependencyRetry}},
	{runs.ErrOffsetTooExpensive, answer{
		status: http.StatusServiceUnavailable, code: codeDependency, retryAfter: dependencyRetry,
		detail: "A page by offset searches all that comes before it, which takes more time or memory than one query may. " +
			"Leave offset out and go on by next_cursor: that gives what it found, and goes on from there.",
	}},
	{runs.ErrTooExpensive, answer{status: http.StatusServiceUnavailable, code: codeDependency, detail: "The query takes more time or memory than one may. A narrower filter or time range helps.", retryAfter: dependencyRetry}},

	{identity.ErrUnauthenticated, answer{status: http.StatusUnauthorized, code: codeUnauthenticated, detail: "A valid key or session is needed."}},
	{identity.ErrWrongPassword, answer{status: http.StatusUnauthorized, code: codeUnauthenticated, detail: "Email or password is wrong."}},
	{identity.ErrKeyRevoked, answer{status: http.StatusUnauthorized, code: codeKeyRevoked, detail: "The key is revoked."}},
	{identity.ErrKeyExpired, answer{status: http.StatusUnauthorized, code: codeKeyExpired, detail: "The key has expired."}},
	{identity.ErrNotFound, answer{status: http.StatusNotFound, code: codeNotFound, detail: "No such resource."}},
	{identity.ErrAlreadyBootstrapped, answer{status: http.StatusConflict, code: codeAlreadyBootstrapped, detail: "Setup was done already. Log in instead."}},
	{identity.ErrNameTaken, answer{status: http.StatusConflict, code: codeNameTaken, detail: "The workspace has a project of this name."}},
	{identity.ErrViewNameTaken, answer{status: http.StatusConflict, code: codeNameTaken, detail: "The page has a view of this name."}},
	{identity.ErrAttemptUnderWay, answer{status: http.StatusConflict, code: codeUnderWay, detail: "A request with this Idempotency-Key is under way. Ask again for its answer.", retryAfter: underWayRetry}},
	{identity.ErrAttemptDiffers, answer{
		status: http.StatusUnprocessableEntity, code: codeKeyReused, detail: "Another request was sent with this Idempotency-Key. Give each request one of its own, and its retries the same.",
		fields: []fieldError{{Location: "header." + idempotencyHeader, Message: "was used for another request"}},
	}},
	{identity.ErrAlreadyRevoked, answer{status: http.StatusConflict, code: codeKeyRevoked, detail: "The key is revoked already."}},
	{identity.ErrAlreadyExpired, answer{status: http.StatusConflict, code: codeKeyExpired, detail: "The key has expired already."}},

	{agentview.ErrNoSuchSpan, answer{status: http.StatusNotFound, code: codeNotFound, detail: "No such resource."}},
	{runs.ErrNotFound, answer{status: http.StatusNotFound, code: codeNotFound, detail: "No such resource."}},
	{runs.ErrTooManyWatches, answer{status: http.StatusTooManyRequests, code: codeRateLimited, detail: "The project has as many streams as it may. Close one.", retryAfter: streamRetry}},
	{runs.ErrWatchClosed, answer{status: http.StatusServiceUnavailable, code: codeDependency, detail: "The service ends. Connect again.", retryAfter: dependencyRetry}},
	{runs.ErrNoSuchField, answer{status: http.StatusNotFound, code: codeNotFound, detail: "No such resource."}},
	{runs.ErrTooManyBuckets, answer{
		status: http.StatusUnprocessableEntity, code: codeValidationFailed, detail: "The request is not valid.",
		fields: []fieldError{{Location: "query.bucket_seconds", Message: "must be longer: the window has more than 1,000 buckets of it"}},
	}},
	{runs.ErrNoSuchSpan, answer{
		status: http.StatusUnprocessableEntity, code: codeValidationFailed, detail: "The request is not valid.",
		fields: []fieldError{{Location: "body.span_id", Message: "is not a span of this run"}},
	}},
	{runs.ErrInvalidCursor, answer{
		status: http.StatusUnprocessableEntity, code: codeValidationFailed, detail: "The request is not valid.",
		fields: []fieldError{{Location: "query.cursor", Message: "is not a cursor of this list"}},
	}},
}

func answerTo(err error) answer {
	var (
		tooLarge  *http.MaxBytesError
		invalid   requestErrors
		scope     *identity.ScopeError
		throttled *identity.ThrottledError
		limited   *limitError
		foreign   *foreignHostError
		body      *requestbody.Error
	)
	switch {
	case errors.As(err, &tooLarge):
		return answer{
			status: http.StatusRequestEntityTooLarge, code: codeBodyTooLarge,
			detail: "The body is larger than " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes.",
		}
	case errors.As(err, &body) && body.Stopped():
		return answer{status: http.StatusServiceUnavailable, code: codeDependency, detail: "The service stops, and the request had not arrived. Nothing was changed.", retryAfter: dependencyRetry}
	case errors.As(err, &body) && body.Late():
		return answer{status: http.StatusRequestTimeout, code: codeBodyTimeout, detail: "The body did not arrive in time."}
	case errors.As(err, &foreign):
		return answer{status: http.StatusMisdirectedRequest, code: allowedhost.Code, detail: allowedhost.Refusal(foreign.host)}
	case errors.As(err, &invalid):
		return answer{
			status: http.StatusUnprocessableEntity, code: codeValidationFailed, detail: "The request is not valid.", fields: invalid,
		}
	case errors.As(err, &scope):
		return answer{status: http.StatusForbidden, code: codeScopeMissing, detail: "Needs " + scope.Needed + "."}
	case errors.As(err, &limited):
		return answer{
			status: http.StatusTooManyRequests, code: codeRateLimited, detail: limited.decision.Detail(),
			retryAfter: limited.decision.Delay(ratelimit.Jitter),
		}
	case errors.As(err, &throttled):
		return answer{
			status: http.StatusTooManyRequests, code: codeThrottled, detail: "Too many login attempts. Try again later.",
			retryAfter: throttled.RetryAfter,
		}
	}
	if fields := invalidFields(err); len(fields) > 0 {
		return answer{
			status: http.StatusUnprocessableEntity, code: codeValidationFailed, detail: "The request is not valid.", fields: fields,
		}
	}
	for _, a := range answers {
		if errors.Is(err, a.err) {
			return a.answer
		}
	}
	return answer{status: http.StatusInternalServerError, code: codeInternal, detail: "Something went wrong on the server. The request id finds it in the log."}
}

// invalidFields collects the [identity.InvalidError]s of an error, joined ones included.
func invalidFields(err error) []fieldError {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // a join is taken apart
		var fields []fieldError
		for _, e := range joined.Unwrap() {
			fields = append(fields, invalidFields(e)...)
		}
		return fields
	}
	var invalid *identity.InvalidError
	if errors.As(err, &invalid) {
		return []fieldError{{Location: "body." + invalid.Field, Message: invalid.Message}}
	}
	return nil
}

// fail answers the request with the problem that the error is, and logs what the client is not told.
func (a *api) fail(c *gin.Context, err error) {
	if errors.Is(err, context.Canceled) && c.Request.Context().Err() != nil {
		c.AbortWithStatus(statusClientClosedRequest) // nobody reads the answer
		return
	}
	ans := answerTo(err)
	id := callOf(c.Request.Context()).id
	if ans.status >= http.StatusInternalServerError {
		level := slog.LevelError
		if ans.code == codeDependency {
			level = slog.LevelWarn
		}
		a.log.Log(c, level, "request failed", "request_id", id, "code", ans.code, "error", err)
	}
	if ans.status == http.StatusUnauthorized {
		c.Header("WWW-Authenticate", challenge(ans.code, c.Request))
	}
	if ans.retryAfter > 0 {
		c.Header("Retry-After", strconv.Itoa(int(math.Ceil(ans.retryAfter.Seconds()))))
	}
	writeProblem(c, ans, id)
}

// statusClientClosedRequest is the access log's word for a client that went away before the answer.
const statusClientClosedRequest = 499

// challenge is the WWW-Authenticate of RFC 6750, which names an error only when a key was presented.
func challenge(code string, r *http.Request) string {
	const realm = `Bearer realm="looptrace"`
	if code == codeUnauthenticated && !presentsKey(r) {
		return realm
	}
	return realm + `, error="invalid_token"`
}

func writeProblem(c *gin.Context, ans answer, requestID string) {
	problem := Problem{
		Type: "about:blank", Title: http.StatusText(ans.status), Status: ans.status, Detail: &ans.detail,
		Code: ans.code, RequestId: requestID,
	}
	body, err := json.Marshal(struct {
		Problem
		// The generated field is of a type without a name.
		Errors []fieldError `json:"errors,omitempty"`
	}{problem, ans.fields})
	if err != nil {
		panic(err) // a value that was decoded from JSON or is text
	}
	c.Abort()
	c.Data(ans.status, "application/problem+json", append(body, '\n'))
}
