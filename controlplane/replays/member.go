package replays

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/replays/verdict"
	"github.com/looptrace/looptrace/internal/problem"
)

// InBatch is what a replay has of its batch.
type InBatch struct {
	ID, Batch uuid.UUID
	Author    *uuid.UUID
	AuthorKey *string
}

// StoreInBatch stores a replay of a batch with its attempts. It has no job of its own.
func (s *Service) StoreInBatch(ctx context.Context, tx pgx.Tx, n *Wanted, p *Plan, of InBatch) error {
	return s.store(ctx, s.db.On(tx), n, p, nil, pgx.NamedArgs{
		"id": of.ID, "job": nil, "batch": of.Batch, "max_cost": nil, "author": of.Author, "author_key": of.AuthorKey,
	})
}

// AddAttempts adds attempts to a replay of a batch: controls and treatments, of which it has some.
func (s *Service) AddAttempts(ctx context.Context, tx pgx.Tx, id uuid.UUID, config *Config, has, wanted [2]int) error {
	return addAttempts(ctx, s.db.On(tx), id, attemptsOf(config, nil, has[0], has[1], wanted[0], wanted[1]))
}

// Member is a try at a replay of a batch.
type Member struct{ try *try }

// Member begins a try at a replay within the budget of its batch. The plan is nil for a replay that was stored earlier.
func (s *Service) Member(budget *providers.Budget, plan *Plan) *Member {
	t := s.newTry(budget)
	if plan != nil {
		t.source = plan.source
	}
	return &Member{t}
}

// Try is the id of the try.
func (m *Member) Try() uuid.UUID { return m.try.id }

// Make makes the attempts that are missing, and judges.
func (m *Member) Make(ctx context.Context, id uuid.UUID) error { return m.try.do(ctx, id) }

// Evidence is what the verdict followed from, nil if there is none.
func (m *Member) Evidence() *verdict.Input { return m.try.judged }

// Stop is why no more attempts are made, empty if all were. The error is set if a person must correct something first.
func (m *Member) Stop() (engine.StopReason, *problem.Error) { return m.try.stop, m.try.failure }

// Evidence returns what the attempts of a replay did, nil if the recorded run is no longer what it was.
func (s *Service) Evidence(ctx context.Context, in access.Projects, id uuid.UUID) (*verdict.Input, error) {
	t := s.newTry(providers.NewBudget(nil, 0)) // no model is called
	var err error
	if t.r, err = s.get(ctx, s.db, in, id); err != nil {
		return nil, err
	}
	if t.config, err = t.r.ReadConfig(); err != nil {
		return nil, err
	}
	err = t.prepare(ctx)
	if refused := problem.Of(err); errors.Is(err, ErrRunDeleted) || refused != nil && refused.Kind == problem.Invalid {
		return nil, nil //nolint:nilnil // nothing is known of it any more
	}
	if err != nil {
		return nil, err
	}
	evidence, err := t.evidence(ctx)
	return &evidence, err
}
