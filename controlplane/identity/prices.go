package identity

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/prices"
)

// PriceOverride is a project's own price of a model.
type PriceOverride struct {
	ID uuid.UUID
	prices.Override
}

// PriceOverrides lists the prices of their own of a project that the principal sees, by model.
func (s *Service) PriceOverrides(ctx context.Context, p *Principal, project uuid.UUID) ([]PriceOverride, error) {
	if err := p.authorizeSight(project); err != nil {
		return nil, err
	}
	return s.store.priceOverrides(ctx, project)
}

// CreatePriceOverride gives a project a price of its own. Ingest hears of it.
func (s *Service) CreatePriceOverride(ctx context.Context, p *Principal, project uuid.UUID, o prices.Override) (PriceOverride, error) {
	if err := p.Authorize(project, apikey.ScopeAdmin); err != nil {
		return PriceOverride{}, err
	}
	if err := checkOverride(&o); err != nil {
		return PriceOverride{}, err
	}
	return s.store.createPriceOverride(ctx, project, newID(), o)
}

// SetPriceOverride replaces a project's own price.
func (s *Service) SetPriceOverride(ctx context.Context, p *Principal, project, id uuid.UUID, o prices.Override) (PriceOverride, error) {
	if err := p.Authorize(project, apikey.ScopeAdmin); err != nil {
		return PriceOverride{}, err
	}
	if err := checkOverride(&o); err != nil {
		return PriceOverride{}, err
	}
	return s.store.setPriceOverride(ctx, project, id, o)
}

// DeletePriceOverride takes a project's own price away.
func (s *Service) DeletePriceOverride(ctx context.Context, p *Principal, project, id uuid.UUID) error {
	if err := p.Authorize(project, apikey.ScopeAdmin); err != nil {
		return err
	}
	return s.store.deletePriceOverride(ctx, project, id)
}

// checkOverride puts the names of a price into the form in which they are matched, and returns an [InvalidError] for each
// field that cannot be used.
func checkOverride(o *prices.Override) error {
	o.Normalize()
	// As PostgreSQL keeps it.
	o.From = o.From.UTC().Truncate(time.Microsecond)
	if year := o.From.Year(); !o.From.IsZero() && (year < 1970 || year > latestYear) {
		return &InvalidError{Field: "valid_from", Message: "must be between 1970 and 2261"}
	}
	err := o.Validate()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var errs []error
	for _, one := range joined.Unwrap() {
		var invalid *prices.InvalidError
		if !errors.As(one, &invalid) {
			return err
		}
		errs = append(errs, &InvalidError{Field: invalid.Field, Message: invalid.Message})
	}
	return errors.Join(errs...)
}

// mostOverrides bounds the prices of a project's own: all of them are kept in memory by whoever prices spans.
const mostOverrides = 1000

// What is wrong with a price beside its numbers.
var (
	errPriceTaken   = &InvalidError{Field: "model", Message: "has a price of the project's own from that moment on already"}
	errTooManyOwned = &InvalidError{Field: "model", Message: "is one too many: a project has at most 1000 prices of its own"}
)
