package datasets

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
)

// WriteRuns adds items made from whole runs, in one revision, in a transaction of the caller. Of a run that the dataset has an item of, that
// item stays as it is. It returns the items of all runs in their order, without the misfits.
func (s *Service) WriteRuns(ctx context.Context, tx pgx.Tx, grant access.Grant, dataset uuid.UUID, items []NewItem, note string) (Written, []Item, error) {
	db := s.db.On(tx)
	written, err := s.write(ctx, db, grant, dataset, Write{
		Items: items, Mode: ModeAppend, Kind: KindRuns, SkipMisfits: true, Note: note, oncePerRun: true,
	}, func(int) string { return "body" })
	if err != nil {
		return written, nil, err
	}
	found, err := postgres.Many[Item](ctx, db, "get items at", pgx.NamedArgs{"dataset": dataset, "revision": written.Revision, "ordinals": written.Ordinals})
	if err != nil {
		return written, nil, err
	}
	byOrdinal := make(map[int64]*Item, len(found))
	for i := range found {
		byOrdinal[found[i].Ordinal] = &found[i]
	}
	list := make([]Item, len(written.Ordinals))
	for i, ordinal := range written.Ordinals {
		list[i] = *byOrdinal[ordinal]
	}
	return written, list, nil
}

// ofRuns returns the first item of the newest revision that was made from each run of the rows as a whole.
func (s *Service) ofRuns(ctx context.Context, tx postgres.DB, dataset uuid.UUID, rows []row) (map[uuid.UUID]*stored, error) {
	runs := make([]*uuid.UUID, len(rows))
	for i := range rows {
		runs[i] = rows[i].SourceRunID
	}
	found, err := postgres.Many[struct {
		stored
		SourceRunID uuid.UUID
	}](ctx, tx, "find items of runs", pgx.NamedArgs{"dataset": dataset, "runs": runs})
	if err != nil {
		return nil, err
	}
	byRun := make(map[uuid.UUID]*stored, len(found))
	for i := range found {
		if run := found[i].SourceRunID; byRun[run] == nil {
			byRun[run] = &found[i].stored
		}
	}
	return byRun, nil
}
