package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/requestbody"
)

// Errors before a service is asked. What a service finds wrong is in its own package.
var (
	errNoRoute          = problem.Missing()
	errMethodNotAllowed = &problem.Error{Kind: problem.MethodNotAllowed, Code: "method_not_allowed", Detail: "The resource does not have this method; see Allow."}
	errCrossOrigin      = &problem.Error{Kind: problem.Forbidden, Code: "cross_origin", Detail: "A browser may change things only from Looptrace's own pages."}
	errMalformedBody    = &problem.Error{Kind: problem.Malformed, Code: "malformed_body", Detail: "The body is not one JSON value in UTF-8."}
	errBodyTimeout      = &problem.Error{Kind: problem.Timeout, Code: "body_timeout", Detail: "The body did not arrive in time."}
	errStopping         = &problem.Error{
		Kind: problem.Unavailable, Code: problem.CodeDependency, RetryAfter: problem.DependencyDown().RetryAfter,
		Detail: "The service is stopping, and the request had not arrived. Nothing was changed.",
	}
	errInternal = &problem.Error{Kind: problem.Internal, Code: "internal", Detail: "Something went wrong on the server. The request id finds it in the log."}
)

// problemOf is what the client is refusal of an error.
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
	return errInternal
}

// statusClientClosedRequest is the access log's status for a client that went away before the answer.
const statusClientClosedRequest = 499

// fail answers the request with the problem that the error is, and logs what the client is not refusal.
func (a *api) fail(c *gin.Context, err error) {
	if errors.Is(err, context.Canceled) && c.Request.Context().Err() != nil {
		c.AbortWithStatus(statusClientClosedRequest) // nobody reads the answer
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

// challenge is the WWW-Authenticate of RFC 6750, which names an error only when a key was presented.
func challenge(code string, r *http.Request) string {
	const realm = `Bearer realm="looptrace"`
	if code == "unauthenticated" && !presentsKey(r) {
		return realm
	}
	return realm + `, error="invalid_token"`
}
