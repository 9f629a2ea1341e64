package ratelimitextension

import (
	"context"

	"go.opentelemetry.io/collector/client"

	"github.com/looptrace/looptrace/internal/ratelimit"
)

// Names of the attributes of the auth data.
const (
	attributeProjectID = "project_id"
	attributeKeyID     = "key_id"
	// attributeLimits is a ratelimit.Overrides over the limits of the configuration.
	attributeLimits = "limits"
)

// policy is what bounds a caller.
type policy struct {
	key, project ratelimit.Limits
}

// caller is whom a request is charged to.
type caller struct {
	claims [2]ratelimit.Claim
	n      int
}

func (c *caller) all() []ratelimit.Claim { return c.claims[:c.n] }

// callerOf is whom the request's auth data names; nobody where there is none.
func (l *rateLimit) callerOf(ctx context.Context) caller {
	var c caller
	auth := client.FromContext(ctx).Auth
	if auth == nil {
		return c
	}
	bounds := l.defaults
	if overrides, ok := auth.GetAttribute(attributeLimits).(ratelimit.Overrides); ok && len(overrides) > 0 {
		bounds.key.Override(ratelimit.Key, overrides)
		bounds.project.Override(ratelimit.Project, overrides)
	}
	if id, ok := auth.GetAttribute(attributeKeyID).(string); ok && id != "" {
		c.claims[c.n] = ratelimit.Claim{Subject: ratelimit.Subject{Kind: ratelimit.Key, ID: id}, Limits: bounds.key}
		c.n++
	}
	if id, ok := auth.GetAttribute(attributeProjectID).(string); ok && id != "" {
		c.claims[c.n] = ratelimit.Claim{Subject: ratelimit.Subject{Kind: ratelimit.Project, ID: id}, Limits: bounds.project}
		c.n++
	}
	return c
}
