package replays

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
)

// change changes a replay under a lock.
func (s *Service) change(ctx context.Context, grant access.Grant, id uuid.UUID, do func(context.Context, postgres.DB, *Replay) error) (Replay, error) {
	return ChangeLocked(ctx, s.db, "lock replay", grant, id, s.get, do)
}

// ChangeLocked changes what a statement locks, and returns it as it is then.
func ChangeLocked[T any](
	ctx context.Context, db postgres.DB, lock string, grant access.Grant, id uuid.UUID,
	get func(context.Context, postgres.DB, access.Projects, uuid.UUID) (T, error), do func(context.Context, postgres.DB, *T) error,
) (changed T, err error) {
	err = db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		if _, err := postgres.One[struct{ ID uuid.UUID }](ctx, tx, lock, pgx.NamedArgs{"projects": grant.IDs(), "id": id}); err != nil {
			return err
		}
		found, err := get(ctx, tx, grant.Projects, id)
		if err != nil {
			return err
		}
		if err := do(ctx, tx, &found); err != nil {
			return err
		}
		changed, err = get(ctx, tx, grant.Projects, id)
		return err
	})
	return changed, err
}
