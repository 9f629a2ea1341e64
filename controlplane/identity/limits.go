package identity

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

// Limits reads what a project that the principal sees may send, where it differs from the configuration of ingest.
func (s *Service) Limits(ctx context.Context, p *Principal, project uuid.UUID) (ratelimit.Overrides, error) {
	if err := p.authorizeSight(project); err != nil {
		return nil, err
	}
	return s.store.limits(ctx, project)
}

// SetLimits replaces what a project may send. Ingest hears of it with the project's keys.
func (s *Service) SetLimits(ctx context.Context, p *Principal, project uuid.UUID, limits ratelimit.Overrides) (ratelimit.Overrides, error) {
	if err := p.Authorize(project, apikey.ScopeAdmin); err != nil {
		return nil, err
	}
	if err := checkLimits(limits); err != nil {
		return nil, err
	}
	return s.store.setLimits(ctx, project, limits, s.now())
}

// checkLimits returns an [InvalidError] for each value that no bucket can have.
func checkLimits(limits ratelimit.Overrides) error {
	var errs []error
	for _, kind := range []ratelimit.Kind{ratelimit.Key, ratelimit.Project} {
		for _, measure := range []ratelimit.Measure{ratelimit.Requests, ratelimit.Bytes, ratelimit.Spans} {
			field := kind.String() + "." + measure.String()
			rate, hasRate := limits[ratelimit.RateName(kind, measure)]
			burst, hasBurst := limits[ratelimit.BurstName(kind, measure)]
			if hasRate && (rate < 0 || rate > ratelimit.MaxRate) {
				errs = append(errs, &InvalidError{Field: field + ".rate", Message: "must be between 0 and 1000000000000"})
			}
			switch {
			case !hasBurst:
			case burst < 1 || burst > ratelimit.MaxRate:
				errs = append(errs, &InvalidError{Field: field + ".burst", Message: "must be between 1 and 1000000000000"})
			case hasRate && rate == 0:
				errs = append(errs, &InvalidError{Field: field + ".burst", Message: "must be absent where the rate is 0, which is no limit"})
			}
		}
	}
	return errors.Join(errs...)
}
