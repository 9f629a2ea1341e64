package projects

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

type limitsRow struct {
	Limits ratelimit.Overrides
}

// Limits returns the project's overrides of the configured ingest limits.
func (s *Service) Limits(ctx context.Context, grant access.Grant) (ratelimit.Overrides, error) {
	id, err := grant.Project()
	if err != nil {
		return nil, err
	}
	row, err := postgres.One[limitsRow](ctx, s.db, "read limits", pgx.NamedArgs{"project": id})
	return row.Limits, err
}

// SetLimits replaces the project's overrides of the ingest limits and returns them. Ingest loads them with the
// project's keys.
func (s *Service) SetLimits(ctx context.Context, grant access.Grant, limits ratelimit.Overrides) (ratelimit.Overrides, error) {
	id, err := grant.Project()
	if err != nil {
		return nil, err
	}
	if err := checkLimits(limits); err != nil {
		return nil, err
	}
	row, err := postgres.One[limitsRow](ctx, s.db, "set limits", pgx.NamedArgs{"project": id, "limits": limits, "now": s.now()})
	return row.Limits, err
}

// checkLimits returns an error for each value out of range.
func checkLimits(limits ratelimit.Overrides) error {
	var errs []error
	for _, kind := range []ratelimit.Kind{ratelimit.Key, ratelimit.Project} {
		for _, measure := range []ratelimit.Measure{ratelimit.Requests, ratelimit.Bytes, ratelimit.Spans} {
			location := "body." + kind.String() + "." + measure.String()
			rate, hasRate := limits[ratelimit.RateName(kind, measure)]
			burst, hasBurst := limits[ratelimit.BurstName(kind, measure)]
			if hasRate && (rate < 0 || rate > ratelimit.MaxRate) {
				errs = append(errs, problem.InvalidField(location+".rate", "must be between 0 and 1000000000000"))
			}
			switch {
			case !hasBurst:
			case burst < 1 || burst > ratelimit.MaxRate:
				errs = append(errs, problem.InvalidField(location+".burst", "must be between 1 and 1000000000000"))
			case hasRate && rate == 0:
				errs = append(errs, problem.InvalidField(location+".burst", "must be absent where the rate is 0, which is no limit"))
			}
		}
	}
	return errors.Join(errs...)
}
