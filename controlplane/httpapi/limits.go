package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/internal/ratelimit"
)

// GetProjectLimits reads what a project may send.
func (a *api) GetProjectLimits(ctx context.Context, req GetProjectLimitsRequestObject) (GetProjectLimitsResponseObject, error) {
	limits, err := a.identity.Limits(ctx, callOf(ctx).principal, req.ProjectId)
	if err != nil {
		return nil, err
	}
	return GetProjectLimits200JSONResponse(projectLimitsOf(limits)), nil
}

// SetProjectLimits replaces what a project may send.
func (a *api) SetProjectLimits(ctx context.Context, req SetProjectLimitsRequestObject) (SetProjectLimitsResponseObject, error) {
	limits, err := a.identity.SetLimits(ctx, callOf(ctx).principal, req.ProjectId, overridesOf(*req.Body))
	if err != nil {
		return nil, err
	}
	return SetProjectLimits200JSONResponse(projectLimitsOf(limits)), nil
}

// projectLimitsOf shows overrides; a kind of which there is none is left out.
func projectLimitsOf(overrides ratelimit.Overrides) ProjectLimits {
	subject := func(kind ratelimit.Kind) *SubjectLimits {
		limits := SubjectLimits{
			Requests: limitOf(overrides, kind, ratelimit.Requests),
			Bytes:    limitOf(overrides, kind, ratelimit.Bytes),
			Spans:    limitOf(overrides, kind, ratelimit.Spans),
		}
		if limits == (SubjectLimits{}) {
			return nil
		}
		return &limits
	}
	return ProjectLimits{Key: subject(ratelimit.Key), Project: subject(ratelimit.Project)}
}

func limitOf(overrides ratelimit.Overrides, kind ratelimit.Kind, measure ratelimit.Measure) *RateLimit {
	rate, ok := overrides[ratelimit.RateName(kind, measure)]
	if !ok {
		return nil
	}
	limit := &RateLimit{Rate: rate}
	if burst, ok := overrides[ratelimit.BurstName(kind, measure)]; ok {
		whole := int64(burst)
		limit.Burst = &whole
	}
	return limit
}

func overridesOf(limits ProjectLimits) ratelimit.Overrides {
	overrides := ratelimit.Overrides{}
	for kind, subject := range map[ratelimit.Kind]*SubjectLimits{ratelimit.Key: limits.Key, ratelimit.Project: limits.Project} {
		if subject == nil {
			continue
		}
		for measure, limit := range map[ratelimit.Measure]*RateLimit{
			ratelimit.Requests: subject.Requests, ratelimit.Bytes: subject.Bytes, ratelimit.Spans: subject.Spans,
		} {
			if limit == nil {
				continue
			}
			overrides[ratelimit.RateName(kind, measure)] = limit.Rate
			if limit.Burst != nil {
				overrides[ratelimit.BurstName(kind, measure)] = float64(*limit.Burst)
			}
		}
	}
	return overrides
}
