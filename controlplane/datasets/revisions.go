package datasets

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Revision says what a revision changed.
type Revision struct {
	Revision int
	// Kind is append, upsert, replace, edit, delete, runs or import.
	Kind                    string
	Added, Updated, Removed int64
	ItemCount               int64
	Note                    string
	CreatedAt               time.Time
	Author
}

// Revisions returns a page of the revisions of a dataset, the newest first.
func (s *Service) Revisions(ctx context.Context, grant access.Grant, dataset uuid.UUID, page postgres.Page) ([]Revision, bool, error) {
	if _, err := s.Get(ctx, grant, dataset); err != nil {
		return nil, false, err
	}
	return postgres.List[Revision](ctx, s.db, "list revisions", page, pgx.NamedArgs{"dataset": dataset})
}

// maxDiffed is how many items may have been written between two revisions that are compared. More take longer than a statement may.
const maxDiffed = 200_000

// Diff is what a revision changes in another one.
type Diff struct {
	Added, Removed, Changed int64
	// Changes are a page of the changed items, in the order of the items.
	Changes []ItemChange
	HasMore bool
}

// ItemChange is an item that two revisions have differently.
type ItemChange struct {
	ItemID uuid.UUID
	// Before and After are nil for an item that was added or removed.
	Before, After *Item
}

// Diff returns a page of what the revision to changes in the revision from.
func (s *Service) Diff(ctx context.Context, grant access.Grant, dataset uuid.UUID, from, to int, page postgres.Page) (Diff, error) {
	found, err := s.Get(ctx, grant, dataset)
	if err != nil {
		return Diff{}, err
	}
	if from > found.Revision || to > found.Revision {
		return Diff{}, problem.Missing()
	}
	args := pgx.NamedArgs{"dataset": dataset, "from": from, "to": to, "low": min(from, to), "high": max(from, to)}
	written, err := postgres.One[struct{ Items int64 }](ctx, s.db, "count what was written between revisions", args)
	if err != nil {
		return Diff{}, err
	}
	if written.Items > maxDiffed {
		return Diff{}, &problem.Error{
			Kind: problem.Invalid, Code: "diff_too_large",
			Detail: fmt.Sprintf("Between the revisions %d and %d %d items were written, and at most %d can be compared. Compare revisions that are closer together, or export both and compare the files.",
				from, to, written.Items, maxDiffed),
		}
	}
	counts, err := postgres.One[struct{ Added, Removed, Changed int64 }](ctx, s.db, "count changes", args)
	if err != nil {
		return Diff{}, err
	}
	diff := Diff{Added: counts.Added, Removed: counts.Removed, Changed: counts.Changed}
	changed, more, err := postgres.List[struct{ ItemID uuid.UUID }](ctx, s.db, "list changes", page, args)
	if err != nil {
		return Diff{}, err
	}
	diff.HasMore = more
	ids := make([]uuid.UUID, len(changed))
	for i, one := range changed {
		ids[i] = one.ItemID
	}
	before, err := s.itemsOf(ctx, dataset, ids, from)
	if err != nil {
		return Diff{}, err
	}
	after, err := s.itemsOf(ctx, dataset, ids, to)
	if err != nil {
		return Diff{}, err
	}
	for _, id := range ids {
		diff.Changes = append(diff.Changes, ItemChange{id, before[id], after[id]})
	}
	return diff, nil
}

func (s *Service) itemsOf(ctx context.Context, dataset uuid.UUID, ids []uuid.UUID, revision int) (map[uuid.UUID]*Item, error) {
	items, err := postgres.Many[Item](ctx, s.db, "get items", pgx.NamedArgs{"dataset": dataset, "items": ids, "revision": revision})
	if err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]*Item, len(items))
	for i := range items {
		byID[items[i].ItemID] = &items[i]
	}
	return byID, nil
}
