package datasets

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// ItemEdit is an update of one item. Members that are nil do not change. Key and Split are JSON texts, or null for none.
type ItemEdit struct {
	Key, Split                       json.RawMessage
	Input, ReferenceOutput, Metadata json.RawMessage
	Tags                             *[]string
	Note                             string
	BaseRevision                     *int
}

// EditItem changes an item in a new revision. If nothing changes, there is no new revision.
func (s *Service) EditItem(ctx context.Context, grant access.Grant, dataset, id uuid.UUID, edit ItemEdit) (Item, error) {
	var edited Item
	err := s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		found, err := s.lock(ctx, tx, grant, dataset, edit.BaseRevision)
		if err != nil {
			return err
		}
		before, err := s.item(ctx, tx, dataset, id, found.Revision)
		if err != nil {
			return err
		}
		schemas, err := schemasOf(found.InputSchema, found.ReferenceOutputSchema)
		if err != nil {
			return err
		}
		item, err := edit.apply(&before)
		if err != nil {
			return err
		}
		rows, err := prepare(ctx, []NewItem{item}, schemas, func(int) string { return "body" })
		if err = errors.Join(err, validate.Text("body.note", edit.Note)); err != nil {
			return err
		}
		existing, err := s.matching(ctx, tx, dataset, rows)
		if err != nil {
			return err
		}
		p := plan{kept: map[uuid.UUID]bool{}}
		for i := range existing {
			switch same := &existing[i]; {
			case same.ItemID == id:
				p.update(&rows[0], same)
			case same.Key != nil && item.Key != nil && *same.Key == *item.Key:
				return problem.InvalidField("body.key", "is that of another item")
			}
		}
		if len(p.ids) == 0 { // neither its key nor its content is as before
			p.update(&rows[0], &stored{ItemID: id, Ordinal: before.Ordinal})
		}
		if p.updated > 0 {
			args := pgx.NamedArgs{"dataset": dataset, "revision": found.Revision + 1, "replaced": p.replaced, "now": s.now()}
			if _, err := tx.Exec(ctx, "remove items", args); err != nil {
				return err
			}
			if err := p.insert(ctx, tx, args); err != nil {
				return err
			}
			found.Revision++
			err := s.addRevision(ctx, tx, grant, dataset, Revision{
				Revision: found.Revision, Kind: kindEdit, Updated: 1, ItemCount: found.ItemCount, Note: edit.Note,
			}, found.LastOrdinal)
			if err != nil {
				return err
			}
		}
		edited, err = s.item(ctx, tx, dataset, id, found.Revision)
		return err
	})
	return edited, err
}

func (e *ItemEdit) apply(before *Item) (NewItem, error) {
	item := NewItem{
		Key: before.Key, Input: json.RawMessage(before.Input), ReferenceOutput: json.RawMessage(before.ReferenceOutput),
		Metadata: json.RawMessage(before.Metadata), Split: before.Split, Tags: before.Tags,
		SourceRunID: before.SourceRunID, SourceSpanID: before.SourceSpanID,
	}
	for _, part := range []struct {
		location string
		given    json.RawMessage
		to       **string
	}{{"body.key", e.Key, &item.Key}, {"body.split", e.Split, &item.Split}} {
		if part.given == nil {
			continue
		}
		*part.to = nil
		if err := json.Unmarshal(part.given, part.to); err != nil {
			return NewItem{}, problem.InvalidField(part.location, "must be a text or null")
		}
	}
	if e.Input != nil {
		item.Input = e.Input
	}
	if e.ReferenceOutput != nil {
		item.ReferenceOutput = e.ReferenceOutput
	}
	if e.Metadata != nil {
		item.Metadata = e.Metadata
	}
	if e.Tags != nil {
		item.Tags = *e.Tags
	}
	return item, nil
}

// RemoveItem removes an item in a new revision.
func (s *Service) RemoveItem(ctx context.Context, grant access.Grant, dataset, id uuid.UUID) error {
	return s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		found, err := s.lock(ctx, tx, grant, dataset, nil)
		if err != nil {
			return err
		}
		item, err := s.item(ctx, tx, dataset, id, found.Revision)
		if err != nil {
			return err
		}
		args := pgx.NamedArgs{"dataset": dataset, "revision": found.Revision + 1, "replaced": []int64{item.Ordinal}}
		if _, err := tx.Exec(ctx, "remove items", args); err != nil {
			return err
		}
		return s.addRevision(ctx, tx, grant, dataset, Revision{
			Revision: found.Revision + 1, Kind: kindDelete, Removed: 1, ItemCount: found.ItemCount - 1,
		}, found.LastOrdinal)
	})
}
