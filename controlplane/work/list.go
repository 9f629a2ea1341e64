package work

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
)

// Filter selects work. Empty members select all.
type Filter struct {
	// State is "open" for work that waits or runs, and "ended" for the other.
	State string
	Kind  string
}

// Listed is work of a project, of any kind.
type Listed struct {
	ID, ProjectID uuid.UUID
	// Kind is import, near_duplicate_check, comparison, eval_run, replay, replay_batch or diagnosis.
	Kind      string
	DatasetID *uuid.UUID // nil for replays and diagnoses
	Name      string
	Status    string
	// Unit is what Done and Total count: rows, items, outputs, outputs_and_votes, attempts or calls. Total is nil until it is known.
	Unit                   string
	Done                   int64
	Total                  *int64
	ErrorCode, ErrorDetail *string
	AuthorEmail, AuthorKey *string
	CreatedAt              time.Time
	StartedAt, FinishedAt  *time.Time
	// WaitsFor is turn, retry, later or provider, nil if it runs or has ended. WaitsUntil is when it is tried again.
	WaitsFor   *string
	WaitsUntil *time.Time
	// Running is how many jobs of the project have a place in the queue, and Ahead how many older ones wait for one.
	Running, Ahead int
}

// List returns work, the newest first.
func (q *Queue) List(ctx context.Context, grant access.Grant, filter Filter, page postgres.Page) ([]Listed, bool, error) {
	return postgres.List[Listed](ctx, q.db, "list work", page, pgx.NamedArgs{"projects": grant.IDs(), "state": filter.State, "kind": filter.Kind})
}
