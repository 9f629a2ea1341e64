package datasets

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// locked is a dataset that a transaction has locked against other writes.
type locked struct {
	Revision                           int
	ItemCount                          int64
	LastOrdinal                        int64
	InputSchema, ReferenceOutputSchema *string
}

// errBusy is returned if another write takes long.
var errBusy = &problem.Error{
	Kind: problem.Conflict, Code: "dataset_busy", Detail: "An import is running on this dataset. Nothing was changed. Try again in a minute.",
}

func (s *Service) lock(ctx context.Context, tx postgres.DB, grant access.Grant, dataset uuid.UUID, base *int) (locked, error) {
	if _, err := tx.Exec(ctx, "limit locks", nil); err != nil {
		return locked{}, err
	}
	found, err := postgres.One[locked](ctx, tx, "lock dataset", pgx.NamedArgs{"projects": grant.IDs(), "dataset": dataset, "now": s.now()})
	switch {
	case postgres.Locked(err):
		err = errBusy
	case err == nil:
		err = found.checkBase(base)
	}
	return found, err
}

// checkBase refuses a write that is based on an earlier revision.
func (l *locked) checkBase(base *int) error {
	if base == nil || *base == l.Revision {
		return nil
	}
	return &problem.Error{
		Kind: problem.Conflict, Code: "stale_base_revision",
		Detail: fmt.Sprintf("The dataset is now at revision %d. Check what changed, then write with base_revision %d.", l.Revision, l.Revision),
	}
}
