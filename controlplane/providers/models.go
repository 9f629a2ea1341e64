package providers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/internal/llm"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/prices"
)

const (
	// listTimeout limits the request for a provider's list of models.
	listTimeout = 15 * time.Second
	// calledSince is how old a call may be whose model is listed.
	calledSince = 30 * 24 * time.Hour
	// maxModels limits the list.
	maxModels = 2000
)

// Model is a model of a connection.
type Model struct {
	ID string
	// Listed is whether the provider lists it.
	Listed bool
	// Price is nil if it is unknown.
	Price *prices.Price
	Notes []Note
	// OutputStrategy is nil if the model was not asked for structured answers yet.
	OutputStrategy *llm.Strategy
}

// Models returns the models that the provider lists and those that the connection called, sorted by name. unlisted says why the
// provider gave no list; it is empty if it did.
func (s *Service) Models(ctx context.Context, p *Provider) (models []Model, unlisted string, err error) {
	known := map[string]*Model{}
	add := func(id string) *Model {
		if known[id] == nil {
			known[id] = &Model{ID: id, Notes: []Note{}}
		}
		return known[id]
	}
	client, err := s.client(p)
	if err != nil {
		return nil, "", err
	}
	listing, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := client.Models(listing)
	var failed *llm.Error
	switch {
	case errors.As(err, &failed):
		unlisted = problemOf(p, failed).Detail
	case err != nil:
		return nil, "", err
	}
	for _, model := range list[:min(len(list), maxModels)] {
		add(model.ID).Listed = true
	}
	called, err := postgres.Many[struct{ Model string }](ctx, s.db, "list called models", pgx.NamedArgs{
		"project": p.ProjectID, "provider": p.ID, "since": s.now().Add(-calledSince),
	})
	if err != nil {
		return nil, "", err
	}
	for _, row := range called {
		add(row.Model)
	}
	rows, err := postgres.Many[learned](ctx, s.db, "list models", pgx.NamedArgs{"provider": p.ID})
	if err != nil {
		return nil, "", err
	}
	for _, row := range rows {
		model := add(row.Model)
		model.OutputStrategy = row.OutputStrategy
		if model.Notes, err = row.notes(); err != nil {
			return nil, "", err
		}
	}
	matcher, err := s.prices.Matcher(ctx, p.ProjectID)
	if err != nil {
		return nil, "", err
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		known[id].Price = matcher.Find(providerName(p.BaseURL), id, s.now())
		models = append(models, *known[id])
	}
	return models, unlisted, nil
}
