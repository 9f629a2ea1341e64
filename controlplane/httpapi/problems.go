package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/requestbody"
)

// Errors of requests that reach no service. Each service defines its own errors.
var (
	errNoRoute          = problem.Missing()
	errMethodNotAllowed = &problem.Error{Kind: problem.MethodNotAllowed, Code: "method_not_allowed", Detail: "The resource does not support this method; see the Allow header."}
	errCrossOrigin      = &problem.Error{Kind: problem.Forbidden, Code: "cross_origin", Detail: "The request comes from a page of another site. Send it from Looptrace's own pages."}
	errMalformedBody    = &problem.Error{Kind: problem.Malformed, Code: "malformed_body", Detail: "The body is not one JSON value in UTF-8."}
	errBrokenBody       = &problem.Error{Kind: problem.Malformed, Code: "malformed_body", Detail: "The body ends early, or its chunks are malformed."}
	errBodyTimeout      = &problem.Error{Kind: problem.Timeout, Code: "body_timeout", Detail: "The body did not arrive in time."}
	errStopping         = &problem.Error{
		Kind: problem.Unavailable, Code: problem.CodeDependency, RetryAfter: problem.DependencyRetry,
		Detail: "The service stopped before the whole request arrived. Nothing was changed; send it again.",
	}
	errInternal = &problem.Error{Kind: problem.Internal, Code: "internal", Detail: "The server had an internal error. Look for the request id in its log."}
)

// problemOf returns the problem that the client gets for an error: an internal one if no other applies.
func problemOf(err error) *problem.Error {
	var (
		tooLarge *http.MaxBytesError
		body     *requestbody.Error
	)
	switch {
	case errors.As(err, &tooLarge):
		return &problem.Error{
			Kind: problem.TooLarge, Code: "body_too_large", Detail: "The body is larger than " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes.",
		}
	case errors.As(err, &body) && body.Stopped():
		return errStopping
	case errors.As(err, &body) && body.Late():
		return errBodyTimeout
	}
	if refusal := problem.Of(err); refusal != nil {
		return refusal
	}
	if body != nil {
		return errBrokenBody
	}
	return errInternal
}

// statusClientClosedRequest is the access log's status for a client that went away before the answer.
const statusClientClosedRequest = 499

// fail answers the request with the problem of the error. It logs what the client is not told.
func (a *api) fail(c *gin.Context, err error) {
	if late := overdue(c.Request.Context()); late != nil {
		if endedByContext(err) {
			err = fmt.Errorf("%w: %w", late.problem(), err)
		}
	} else if errors.Is(err, context.Canceled) && c.Request.Context().Err() != nil {
		c.AbortWithStatus(statusClientClosedRequest) // no client to read the answer
		return
	}
	refusal := problemOf(err)
	id := callOf(c.Request.Context()).id
	switch refusal.Kind {
	case problem.Internal:
		a.log.Log(c, slog.LevelError, "request failed", "request_id", id, "code", refusal.Code, "error", err)
	case problem.Unavailable, problem.TooExpensive:
		a.log.Log(c, slog.LevelWarn, "request failed", "request_id", id, "code", refusal.Code, "error", err)
	case problem.Unauthenticated:
		c.Header("WWW-Authenticate", challenge(refusal.Code, c.Request))
	}
	c.Abort()
	refusal.Write(c.Writer, id)
}

// endedByContext reports whether an error may come from the end of the context, rather than from what the client sent.
func endedByContext(err error) bool {
	switch problemOf(err).Kind {
	case problem.Internal, problem.Unavailable, problem.TooExpensive:
		return true
	default:
		return false
	}
}

// challenge is the WWW-Authenticate of RFC 6750, which names an error only when a key was presented.
func challenge(code string, r *http.Request) string {
	const realm = `Bearer realm="looptrace"`
	if code == "unauthenticated" && !presentsKey(r) {
		return realm
	}
	return realm + `, error="invalid_token"`
}
