package ratelimitextension

import (
	"context"

	"go.opentelemetry.io/collector/client"

	"github.com/looptrace/looptrace/internal/ratelimit"
)

// Attributes of the auth data.
const (
	attributeProjectID = "project_id"
	attributeKeyID     = "key_id"
	// attributeLimits is a ratelimit.Overrides that replaces configured limits.
	attributeLimits = "limits"
)

// policy holds the limits of a caller.
type policy struct {
	key, project ratelimit.Limits
}

// caller is who is charged for a request.
type caller struct {
	claims [2]ratelimit.Claim
	n      int
}

func (c *caller) all() []ratelimit.Claim { return c.claims[:c.n] }

// callerOf returns the caller in the request's auth data, if any.
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
