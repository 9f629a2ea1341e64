package datasets

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Item is an item as a revision wrote it. Input, ReferenceOutput and Metadata are JSON.
type Item struct {
	ItemID          uuid.UUID
	Ordinal         int64
	Key             *string
	Input           string
	ReferenceOutput string
	Metadata        string
	Split           *string
	Tags            []string
	SourceRunID     *uuid.UUID
	SourceSpanID    *string
	// ContentHash is that of input and reference output.
	ContentHash []byte
	// AddedIn is the revision that wrote it.
	AddedIn   int
	CreatedAt time.Time
}

// ItemsQuery selects items of a revision.
type ItemsQuery struct {
	// Revision is nil for the newest.
	Revision           *int
	Split, Tag, Search string
	// SourceRunID selects items from the run. Nil selects all.
	SourceRunID   *uuid.UUID
	Limit, Offset int
	// Cursor is the NextCursor of the page before.
	Cursor string
}

// ItemPage is a page of the items of a revision.
type ItemPage struct {
	Items    []Item
	Revision int
	HasMore  bool
	// NextCursor is empty on the last page.
	NextCursor string
}

// ErrNoRevision is returned for a revision that the dataset does not have.
var ErrNoRevision = problem.InvalidField("query.revision", "is not a revision of the dataset")

var (
	errCursor            = problem.InvalidField("query.cursor", "is not a next_cursor of this dataset")
	errCursorWithOffset  = problem.InvalidField("query.offset", "must be absent if there is a cursor")
	errCursorAndRevision = problem.InvalidField("query.revision", "must be absent if there is a cursor, which keeps the revision")
)

// cursor is where a page ends.
type cursor struct {
	Revision int   `json:"r"`
	Ordinal  int64 `json:"o"`
}

func (c cursor) text() string {
	text, _ := json.Marshal(c) // numbers always encode
	return base64.RawURLEncoding.EncodeToString(text)
}

func readCursor(text string) (c cursor, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &c) != nil || c.Revision < 0 || c.Ordinal < 0 {
		return cursor{}, errCursor
	}
	return c, nil
}

// Items returns a page of the items of a revision, in the order in which they were added.
func (s *Service) Items(ctx context.Context, grant access.Grant, dataset uuid.UUID, q ItemsQuery) (ItemPage, error) {
	var after cursor
	if q.Cursor != "" {
		switch {
		case q.Offset > 0:
			return ItemPage{}, errCursorWithOffset
		case q.Revision != nil:
			return ItemPage{}, errCursorAndRevision
		}
		var err error
		if after, err = readCursor(q.Cursor); err != nil {
			return ItemPage{}, err
		}
		q.Revision = &after.Revision
	}
	found, err := s.Get(ctx, grant, dataset)
	if err != nil {
		return ItemPage{}, err
	}
	page := ItemPage{Revision: found.Revision}
	if q.Revision != nil {
		if page.Revision = *q.Revision; page.Revision > found.Revision {
			return ItemPage{}, ErrNoRevision
		}
	}
	page.Items, page.HasMore, err = postgres.List[Item](ctx, s.db, "list items", postgres.Page{Limit: q.Limit, Offset: q.Offset}, pgx.NamedArgs{
		"dataset": dataset, "revision": page.Revision, "after": after.Ordinal, "split": q.Split, "tag": q.Tag, "search": postgres.Containing(q.Search),
		"source_run": q.SourceRunID,
	})
	if page.HasMore {
		page.NextCursor = cursor{page.Revision, page.Items[len(page.Items)-1].Ordinal}.text()
	}
	return page, err
}

// ItemsAt returns the items of a revision with the ordinals, in their order, for a job.
func (s *Service) ItemsAt(ctx context.Context, dataset uuid.UUID, revision int, ordinals []int64) ([]Item, error) {
	return postgres.Many[Item](ctx, s.db, "get items at", pgx.NamedArgs{"dataset": dataset, "revision": revision, "ordinals": ordinals})
}

// HasContents reports whether a revision has items with all of the ordinals and hashes of contents, which are pairs, for a job.
func (s *Service) HasContents(ctx context.Context, dataset uuid.UUID, revision int, ordinals []int64, hashes [][]byte) (bool, error) {
	found, err := postgres.One[struct{ Items int }](ctx, s.db, "count contents", pgx.NamedArgs{"dataset": dataset, "revision": revision, "ordinals": ordinals, "hashes": hashes})
	return found.Items == len(ordinals), err
}

// Item returns an item of a revision, nil for the newest.
func (s *Service) Item(ctx context.Context, grant access.Grant, dataset, item uuid.UUID, revision *int) (Item, error) {
	found, err := s.Get(ctx, grant, dataset)
	if err != nil {
		return Item{}, err
	}
	at := found.Revision
	if revision != nil {
		if at = *revision; at > found.Revision {
			return Item{}, ErrNoRevision
		}
	}
	return s.item(ctx, s.db, dataset, item, at)
}

func (s *Service) item(ctx context.Context, db postgres.DB, dataset, item uuid.UUID, revision int) (Item, error) {
	return postgres.One[Item](ctx, db, "get item", pgx.NamedArgs{"dataset": dataset, "item": item, "revision": revision})
}
