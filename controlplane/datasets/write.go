package datasets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Mode is how a write treats items that the dataset has.
type Mode string

// The modes.
const (
	// ModeAppend adds all items. A key that exists is an error.
	ModeAppend Mode = "append"
	// ModeUpsert updates the items whose key exists and adds the others.
	ModeUpsert Mode = "upsert"
	// ModeReplace is ModeUpsert, and removes the items that are not given. An item without a key stays if its content is
	// given.
	ModeReplace Mode = "replace"
)

// Kinds of revisions that are no modes.
const (
	kindEdit   = "edit"
	kindDelete = "delete"
	// KindRuns is a revision with items made from runs.
	KindRuns = "runs"
)

// NewItem is an item to write. Input, ReferenceOutput and Metadata are JSON; nil is null, or no members.
type NewItem struct {
	Key                              *string
	Input, ReferenceOutput, Metadata json.RawMessage
	Split                            *string
	Tags                             []string
	SourceRunID                      *uuid.UUID
	SourceSpanID                     *string

	// What unreadable has found.
	checked bool
	wrong   []misfit
}

// Write is a write of many items in one revision.
type Write struct {
	Items []NewItem
	Mode  Mode
	// Kind is that of the revision; empty is the mode.
	Kind string
	// BaseRevision, if it is not nil, must be the newest revision.
	BaseRevision *int
	// MaxRemoved limits how many items a replace may remove. Nil is no limit.
	MaxRemoved *int
	// Dedupe leaves out items whose content the dataset or an earlier one of the items has.
	Dedupe bool
	// SkipMisfits leaves out items that do not fit the schema of the dataset, instead of failing.
	SkipMisfits bool
	DryRun      bool
	Note        string

	// oncePerRun leaves out items of runs that the dataset has an item of.
	oncePerRun bool
}

// Written is what a write changed.
type Written struct {
	// Revision is the newest one afterwards.
	Revision                           int
	Added, Updated, Removed, Unchanged int
	// ItemIDs are in the order of the items. For a dry run, those of items that would be added are [uuid.Nil].
	ItemIDs []uuid.UUID
	// Ordinals are those of ItemIDs.
	Ordinals []int64
	// Misfits are the items that SkipMisfits has left out, with what does not fit. They have no ItemIDs.
	Misfits []Misfit
}

// Misfit is an item that does not fit the schema of its dataset.
type Misfit struct {
	// Index is that of the item in the write.
	Index int
	Text  string
}

// errDryRun rolls a transaction back.
var errDryRun = errors.New("dry run")

// Write writes items in one revision, all or none. If nothing changes, there is no new revision.
func (s *Service) Write(ctx context.Context, grant access.Grant, dataset uuid.UUID, w Write) (Written, error) {
	location := func(i int) string { return fmt.Sprintf("body.items[%d]", i) }
	for i := range w.Items {
		w.Items[i].unreadable() // outside of the transaction, whose time is limited
	}
	var written Written
	err := s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		var err error
		written, err = s.write(ctx, tx, grant, dataset, w, location)
		if err == nil && w.DryRun {
			err = errDryRun
		}
		return err
	})
	if errors.Is(err, errDryRun) {
		err = nil
	}
	return written, err
}

// Add adds one item, in a revision of its own.
func (s *Service) Add(ctx context.Context, grant access.Grant, dataset uuid.UUID, item NewItem, w Write) (Item, error) {
	w.Items, w.Mode = []NewItem{item}, ModeAppend
	var added Item
	err := s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		written, err := s.write(ctx, tx, grant, dataset, w, func(int) string { return "body" })
		if err == nil {
			added, err = s.item(ctx, tx, dataset, written.ItemIDs[0], written.Revision)
		}
		return err
	})
	return added, err
}

// stored is an item that the newest revision has.
type stored struct {
	ItemID      uuid.UUID
	Ordinal     int64
	Key         *string
	ContentHash []byte
	ItemHash    []byte
}

func (s *Service) write(
	ctx context.Context, tx postgres.DB, grant access.Grant, dataset uuid.UUID, w Write, location func(int) string,
) (Written, error) {
	found, err := s.lock(ctx, tx, grant, dataset, w.BaseRevision)
	if err != nil {
		return Written{}, err
	}
	schemas, err := schemasOf(found.InputSchema, found.ReferenceOutputSchema)
	if err != nil {
		return Written{}, fmt.Errorf("read the schemas of %s: %w", dataset, err)
	}
	var misfits []Misfit
	if w.SkipMisfits {
		w.Items, misfits = schemas.fitting(ctx, w.Items)
	}
	rows, err := prepare(ctx, w.Items, schemas, location)
	if err = errors.Join(err, validate.Text("body.note", w.Note)); err != nil {
		return Written{}, err
	}
	existing, err := s.matching(ctx, tx, dataset, rows)
	if err != nil {
		return Written{}, err
	}
	p := plan{mode: w.Mode, dedupe: w.Dedupe, next: found.LastOrdinal, byKey: map[string]*stored{}, byContent: map[string][]*stored{}, kept: map[uuid.UUID]bool{}}
	if w.oncePerRun {
		if p.byRun, err = s.ofRuns(ctx, tx, dataset, rows); err != nil {
			return Written{}, err
		}
	}
	for i := range existing {
		p.know(&existing[i])
	}
	for i := range rows {
		p.place(&rows[i], location(i))
	}
	if err := errors.Join(p.errs...); err != nil {
		return Written{}, err
	}
	written := Written{Revision: found.Revision, Added: p.added, Updated: p.updated, Unchanged: p.unchanged, ItemIDs: p.ids, Ordinals: p.ordinals, Misfits: misfits}
	if w.Mode == ModeReplace {
		count, err := postgres.One[struct{ Items int }](ctx, tx, "count others", pgx.NamedArgs{"dataset": dataset, "kept": p.keptIDs()})
		if err != nil {
			return Written{}, err
		}
		written.Removed = count.Items
		if w.MaxRemoved != nil && written.Removed > *w.MaxRemoved {
			return Written{}, &problem.Error{
				Kind: problem.Conflict, Code: "too_many_removed",
				Detail: fmt.Sprintf("The write would remove %d items, more than max_removed (%d). Nothing was changed.", written.Removed, *w.MaxRemoved),
			}
		}
	}
	if written.Added+written.Updated+written.Removed == 0 {
		return written, nil
	}
	if err := s.limits.checkItems(found.ItemCount, found.ItemCount+int64(written.Added-written.Removed)); err != nil {
		return Written{}, err
	}
	written.Revision++
	args := pgx.NamedArgs{"dataset": dataset, "revision": written.Revision, "kept": p.keptIDs(), "replaced": p.replaced, "now": s.now()}
	if w.Mode == ModeReplace {
		if _, err := tx.Exec(ctx, "remove others", args); err != nil {
			return Written{}, err
		}
	}
	if len(p.replaced) > 0 {
		if _, err := tx.Exec(ctx, "remove items", args); err != nil {
			return Written{}, err
		}
	}
	if err := p.insert(ctx, tx, args); err != nil {
		return Written{}, err
	}
	kind := w.Kind
	if kind == "" {
		kind = string(w.Mode)
	}
	err = s.addRevision(ctx, tx, grant, dataset, Revision{
		Revision: written.Revision, Kind: kind, Added: int64(written.Added), Updated: int64(written.Updated), Removed: int64(written.Removed),
		ItemCount: found.ItemCount + int64(written.Added-written.Removed), Note: w.Note,
	}, p.next)
	if w.DryRun {
		added := map[uuid.UUID]bool{}
		for i := range rows {
			if rows[i].isNew {
				added[rows[i].itemID] = true
			}
		}
		for i, id := range written.ItemIDs { // also those that equal one that is new
			if added[id] {
				written.ItemIDs[i] = uuid.Nil
			}
		}
	}
	return written, err
}

// addRevision stores a revision and makes it the newest.
func (s *Service) addRevision(ctx context.Context, tx postgres.DB, grant access.Grant, dataset uuid.UUID, r Revision, lastOrdinal int64) error {
	args := pgx.NamedArgs{
		"dataset": dataset, "revision": r.Revision, "kind": r.Kind, "added": r.Added, "updated": r.Updated, "removed": r.Removed,
		"item_count": r.ItemCount, "note": r.Note, "last_ordinal": lastOrdinal,
		"author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": s.now(),
	}
	if _, err := tx.Exec(ctx, "add revision", args); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "set revision", args)
	return err
}

// matching returns the items of the newest revision that have the key or the content of one of the rows.
func (s *Service) matching(ctx context.Context, tx postgres.DB, dataset uuid.UUID, rows []row) ([]stored, error) {
	keys := []string{} // nil would be NULL, which no item is unequal to
	hashes := make([][]byte, len(rows))
	for i := range rows {
		if rows[i].Key != nil {
			keys = append(keys, *rows[i].Key)
		}
		hashes[i] = rows[i].contentHash[:]
	}
	return postgres.Many[stored](ctx, tx, "find items", pgx.NamedArgs{"dataset": dataset, "keys": keys, "hashes": hashes})
}

// plan decides what becomes of each item.
type plan struct {
	mode      Mode
	dedupe    bool
	next      int64 // the last ordinal
	byKey     map[string]*stored
	byContent map[string][]*stored
	byRun     map[uuid.UUID]*stored
	// kept are the existing items that stay in the dataset. replaced are the ordinals of those that change.
	kept     map[uuid.UUID]bool
	replaced []int64
	rows     []*row
	ids      []uuid.UUID
	ordinals []int64 // of ids
	errs     []error

	added, updated, unchanged int
}

func (p *plan) know(s *stored) {
	if s.Key != nil {
		p.byKey[*s.Key] = s
	}
	p.byContent[string(s.ContentHash)] = append(p.byContent[string(s.ContentHash)], s)
}

func (p *plan) place(r *row, location string) {
	if r.Key != nil {
		if same := p.byKey[*r.Key]; same != nil {
			if p.mode == ModeAppend {
				p.errs = append(p.errs, problem.InvalidField(location+".key", "is in the dataset already; use the mode upsert to update the item"))
				return
			}
			p.update(r, same)
			return
		}
	}
	if r.SourceRunID != nil && p.byRun[*r.SourceRunID] != nil {
		p.keep(p.byRun[*r.SourceRunID])
		return
	}
	if p.dedupe {
		if same := p.byContent[string(r.contentHash[:])]; len(same) > 0 {
			p.keep(same[0])
			return
		}
	}
	if p.mode == ModeReplace && r.Key == nil {
		for _, same := range p.byContent[string(r.contentHash[:])] {
			if same.Key == nil && !p.kept[same.ItemID] {
				p.update(r, same)
				return
			}
		}
	}
	p.next++
	r.itemID, r.ordinal, r.isNew = postgres.NewID(), p.next, true
	p.rows, p.ids, p.ordinals = append(p.rows, r), append(p.ids, r.itemID), append(p.ordinals, r.ordinal)
	p.added++
	if p.dedupe {
		p.byContent[string(r.contentHash[:])] = []*stored{{ItemID: r.itemID, Ordinal: r.ordinal}}
	}
}

func (p *plan) keep(same *stored) {
	p.kept[same.ItemID] = true
	p.ids, p.ordinals = append(p.ids, same.ItemID), append(p.ordinals, same.Ordinal)
	p.unchanged++
}

func (p *plan) update(r *row, same *stored) {
	if bytes.Equal(r.itemHash[:], same.ItemHash) {
		p.keep(same)
		return
	}
	p.kept[same.ItemID] = true
	r.itemID, r.ordinal = same.ItemID, same.Ordinal
	p.replaced, p.rows = append(p.replaced, same.Ordinal), append(p.rows, r)
	p.ids, p.ordinals = append(p.ids, r.itemID), append(p.ordinals, r.ordinal)
	p.updated++
}

func (p *plan) keptIDs() []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(p.kept))
	for id := range p.kept {
		ids = append(ids, id)
	}
	return ids
}

// insert stores the rows of the plan.
func (p *plan) insert(ctx context.Context, tx postgres.DB, args pgx.NamedArgs) error {
	if len(p.rows) == 0 {
		return nil
	}
	var (
		ordinals                          []int64
		ids                               []uuid.UUID
		keys, splits, spans               []*string
		inputs, references, metadata, tag []string
		runs                              []*uuid.UUID
		contents, items                   [][]byte
	)
	for _, r := range p.rows {
		tags, err := json.Marshal(r.Tags)
		if err != nil {
			return fmt.Errorf("encode tags: %w", err)
		}
		ordinals, ids, keys, splits = append(ordinals, r.ordinal), append(ids, r.itemID), append(keys, r.Key), append(splits, r.Split)
		inputs, references = append(inputs, string(r.Input)), append(references, string(r.ReferenceOutput))
		metadata, tag = append(metadata, string(r.Metadata)), append(tag, string(tags))
		runs, spans = append(runs, r.SourceRunID), append(spans, r.SourceSpanID)
		contents, items = append(contents, r.contentHash[:]), append(items, r.itemHash[:])
	}
	args["ordinals"], args["ids"], args["keys"], args["splits"], args["inputs"] = ordinals, ids, keys, splits, inputs
	args["references"], args["metadata"], args["tags"], args["runs"], args["spans"], args["contents"], args["items"] = references, metadata, tag, runs, spans, contents, items
	_, err := tx.Exec(ctx, "add items", args)
	return err
}
