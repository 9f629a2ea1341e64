package providers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/llm"
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
	// listLifetime is how long a provider's list, or its refusal, is used again.
	listLifetime = time.Minute
)

// modelList is what a provider answered when it was asked for its models.
type modelList struct {
	turn chan struct{} // has one element while the provider is asked
	// of is which version of the connection was asked, and at is when; zero before the first answer.
	of, at   time.Time
	models   []llm.Model
	unlisted string
}

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
	list, unlisted, err := s.list(ctx, p)
	if err != nil {
		return nil, "", err
	}
	for _, model := range list {
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

// list returns the models that the provider listed within the last minute, or asks it. That counts in the connection's calls a minute; if
// there is no place for it, an older list of this process serves.
func (s *Service) list(ctx context.Context, p *Provider) (models []llm.Model, unlisted string, err error) {
	list := s.listOf(p.ID)
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	select {
	case list.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, "", fmt.Errorf("wait for the list of models: %w", context.Cause(ctx))
	}
	defer func() { <-list.turn }()
	isCurrent := list.of.Equal(p.UpdatedAt)
	if isCurrent && s.now().Sub(list.at) < listLifetime {
		return list.models, list.unlisted, nil
	}
	client, err := s.client(p)
	if err != nil {
		return nil, "", err
	}
	counted, err := s.calls.Exec(ctx, "count a list of models", pgx.NamedArgs{"provider": p.ID, "now": s.now()})
	switch {
	case err != nil:
		return nil, "", err
	case counted == 0 && isCurrent:
		return list.models, list.unlisted, nil
	case counted == 0:
		return nil, "The models were not listed: the connection has reached its limit of calls per minute, or the provider asked to wait. Try again later.", nil
	}
	found, err := client.Models(ctx)
	var failed *llm.Error
	switch {
	case errors.As(err, &failed):
		unlisted = problemOf(p, failed).Detail
	case err != nil:
		return nil, "", err //nolint:wrapcheck // it names the address
	}
	list.of, list.at, list.models, list.unlisted = p.UpdatedAt, s.now(), found[:min(len(found), maxModels)], unlisted
	return list.models, list.unlisted, nil
}

// listOf returns the place of a connection's list. It forgets those that are long over.
func (s *Service) listOf(provider uuid.UUID) *modelList {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists[provider] == nil {
		maps.DeleteFunc(s.lists, func(_ uuid.UUID, l *modelList) bool {
			select {
			case l.turn <- struct{}{}: // nobody asks
				defer func() { <-l.turn }()
				return s.now().Sub(l.at) > time.Hour
			default:
				return false
			}
		})
		s.lists[provider] = &modelList{turn: make(chan struct{}, 1)}
	}
	return s.lists[provider]
}
