package httpapi

import (
	"io"

	"github.com/gin-gonic/gin"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

// RateLimits bound the requests of callers. Bytes count the bodies of requests and answers.
type RateLimits struct {
	Limiter *ratelimit.Limiter
	// Key bounds each key, Project all keys of a project together, User the sessions of each user.
	Key, Project, User ratelimit.Limits
}

// claims are the buckets that a request is charged to.
func (l *RateLimits) claims(p *access.Principal) []ratelimit.Claim {
	claim := func(kind ratelimit.Kind, id string, limits ratelimit.Limits) ratelimit.Claim {
		return ratelimit.Claim{Subject: ratelimit.Subject{Kind: kind, ID: id}, Limits: limits}
	}
	if p.User != nil {
		return []ratelimit.Claim{claim(ratelimit.User, p.User.ID.String(), l.User)}
	}
	return []ratelimit.Claim{
		claim(ratelimit.Key, p.Key.ID.String(), l.Key),
		claim(ratelimit.Project, p.Key.ProjectID.String(), l.Project),
	}
}

// limit refuses requests over a limit before any work is done. It runs after authenticate.
func (a *api) limit(c *gin.Context) {
	claims := a.limits.claims(callOf(c.Request.Context()).principal)
	size := int64(defaultMaxBody) // no more than this is read
	op := callOf(c.Request.Context()).operation
	if op != nil {
		size = op.maxBody
	}
	if declared := c.Request.ContentLength; declared >= 0 {
		size = min(size, declared)
	}
	streamed := &countedBody{ReadCloser: c.Request.Body}
	if op != nil && op.streamBody { // it may be larger than a burst
		size = 0
		c.Request.Body = streamed
	}
	decision := a.limits.Limiter.Admit(ratelimit.Cost{ratelimit.Requests: 1, ratelimit.Bytes: uint64(size)}, claims...)
	if decision.Limited {
		for _, field := range decision.Fields() {
			c.Header(field.Name, field.Value)
		}
	}
	if !decision.Allowed {
		a.fail(c, &problem.Error{
			Kind: problem.RateLimited, Code: problem.CodeRateLimited, Detail: decision.Detail(), RetryAfter: decision.Delay(ratelimit.Jitter),
		})
		return
	}
	defer func() { // a broken answer costs the bytes sent
		a.limits.Limiter.Charge(ratelimit.Cost{ratelimit.Bytes: uint64(max(0, c.Writer.Size())) + streamed.read}, claims...)
	}()
	c.Next()
}

// countedBody counts the bytes that are read.
type countedBody struct {
	io.ReadCloser
	read uint64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += uint64(n)
	return n, err //nolint:wrapcheck // a reader's error is passed on
}
