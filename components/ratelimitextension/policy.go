package ratelimitextension

import (
	"context"
	"math"

	"go.opentelemetry.io/collector/client"

	"github.com/looptrace/looptrace/internal/ratelimit"
)

// Names of the attributes of the auth data.
const (
	attributeProjectID = "project_id"
	attributeKeyID     = "key_id"
	// attributeLimits is a map[string]float64 that overrides single limits of the configuration. Its names are
	// <key|project>_<requests|bytes|spans>_<per_second|burst>. A rate of 0 is no limit; a rate without a burst has
	// a burst of one second.
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
	if overrides, ok := auth.GetAttribute(attributeLimits).(map[string]float64); ok && len(overrides) > 0 {
		override(&bounds.key, &keyNames, overrides)
		override(&bounds.project, &projectNames, overrides)
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

type limitNames [len(ratelimit.Limits{})]struct{ rate, burst string }

var (
	keyNames     = namesOf(ratelimit.Key)
	projectNames = namesOf(ratelimit.Project)
)

func namesOf(kind ratelimit.Kind) limitNames {
	var names limitNames
	for i := range names {
		prefix := kind.String() + "_" + ratelimit.Measure(i).String() + "_"
		names[i].rate, names[i].burst = prefix+"per_second", prefix+"burst"
	}
	return names
}

// override replaces the limits that are given. A value that no bucket can have is passed over: the configuration
// stands.
func override(limits *ratelimit.Limits, names *limitNames, given map[string]float64) {
	for i := range limits {
		rate, hasRate := given[names[i].rate]
		burst, hasBurst := given[names[i].burst]
		if hasRate && rate >= 0 && rate <= maxRate {
			limits[i] = ratelimit.Limit{}
			if rate > 0 {
				limits[i] = ratelimit.Limit{Rate: rate, Burst: math.Ceil(rate)}
			}
		}
		if hasBurst && burst >= 1 && burst <= maxRate && limits[i].Rate > 0 {
			limits[i].Burst = math.Floor(burst)
		}
	}
}
