package start

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Growth is what a job adds to an eval-run whose items become known while it runs. The same growth may be added again.
type Growth struct {
	// ID is that of the eval-run. It is begun with the items, unless it was begun before: one that was deleted is not begun again.
	ID    uuid.UUID
	Begun bool
	Name  string
	// Metadata is what the eval-run begins with; [Service.Describe] replaces it.
	Metadata map[string]string
	Dataset  uuid.UUID
	// Revision has the items with the ordinals, which are added.
	Revision int
	Ordinals []int64
	// Results replace those of the same items. Their repeat is 1.
	Results []Result
	// Reopen is whether an eval-run that was finished goes on.
	Reopen bool
}

// ErrDatasetChanged is returned for a revision that has other contents of items that the eval-run has: it would mean something else.
var ErrDatasetChanged = &problem.Error{
	Kind: problem.Conflict, Code: "dataset_changed", Detail: "The dataset has other contents of items that the eval-run has. No items were added.",
}

// Grow begins an eval-run with repeats of 1, or adds to it. It reports whether that changed it.
func (s *Starter) Grow(ctx context.Context, grant access.Grant, g *Growth) (changed bool, err error) {
	project, err := grant.Project()
	if err != nil {
		return false, err
	}
	if len(g.Ordinals) == 0 {
		same, err := s.hasResults(ctx, grant, g)
		if err != nil || same {
			return false, err
		}
	}
	contents, err := s.datasets.ItemsAt(ctx, g.Dataset, g.Revision, g.Ordinals)
	if err != nil {
		return false, err //nolint:wrapcheck // it names the statement
	}
	var grown evaluations.Evaluation
	err = s.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		db := s.db.On(tx)
		if !g.Begun && len(contents) > 0 {
			if err := s.beginGrowing(ctx, db, grant, project, g, len(contents)); err != nil {
				return err
			}
		}
		e, err := s.evaluations.Lock(ctx, tx, grant, evaluations.EvalRun, g.ID)
		if err != nil {
			return err
		}
		if err := s.reopen(ctx, db, &e, g.Reopen); err != nil {
			return err
		}
		if err := s.addItems(ctx, db, &e, g, contents); err != nil {
			return err
		}
		grown, err = s.evaluations.GetIn(ctx, tx, grant, evaluations.EvalRun, g.ID)
		return err
	})
	if err != nil {
		return false, err
	}
	rows, err := s.resultRows(ctx, &grown, g.Results, true)
	if err != nil {
		return false, err
	}
	_, err = s.evaluations.Change(ctx, grant, evaluations.EvalRun, g.ID, func(ctx context.Context, tx pgx.Tx, e *evaluations.Evaluation) error {
		if e.Status != evaluations.StatusRunning {
			return evaluations.ErrEnded
		}
		return s.storeResults(ctx, tx, e, rows, true, &Added{})
	})
	return err == nil, err
}

// hasResults reports whether an eval-run has the results already.
func (s *Starter) hasResults(ctx context.Context, grant access.Grant, g *Growth) (bool, error) {
	e, err := s.evaluations.Get(ctx, grant, evaluations.EvalRun, g.ID)
	if err != nil {
		return false, err
	}
	rows, err := s.resultRows(ctx, &e, g.Results, true)
	if err != nil {
		return false, err
	}
	before, err := s.findResults(ctx, s.db, &e, rows)
	if err != nil {
		return false, err
	}
	for i := range rows {
		if at := rows[i].in(before); at < 0 || !bytes.Equal(before[at].ResultHash, rows[i].hash) {
			return false, nil
		}
	}
	return true, nil
}

// beginGrowing begins the eval-run unless there is one.
func (s *Starter) beginGrowing(ctx context.Context, db postgres.DB, grant access.Grant, project uuid.UUID, g *Growth, items int) error {
	config, err := json.Marshal(evaluations.Config{Graders: []json.RawMessage{}})
	if err != nil {
		return fmt.Errorf("encode the configuration: %w", err)
	}
	metadata, err := json.Marshal(g.Metadata)
	if err != nil {
		return fmt.Errorf("encode the metadata: %w", err)
	}
	now := s.now()
	_, err = db.Exec(ctx, "create growing evaluation", pgx.NamedArgs{
		"id": g.ID, "project": project, "kind": evaluations.EvalRun, "status": evaluations.StatusRunning, "name": g.Name, "dataset": g.Dataset, "revision": g.Revision,
		"items": items, "config": string(config), "metadata": string(metadata), "author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": now,
	})
	return err
}

// reopen lets an eval-run go on that was finished.
func (s *Starter) reopen(ctx context.Context, db postgres.DB, e *evaluations.Evaluation, allowed bool) error {
	switch {
	case e.Status == evaluations.StatusRunning:
		return nil
	case !allowed || e.Status != evaluations.StatusSucceeded:
		return evaluations.ErrEnded
	}
	if e.JobID != nil { // it may still summarize
		if err := s.jobs.Cancel(ctx, db.PGX(), *e.JobID); err != nil {
			return err //nolint:wrapcheck // it says what it does
		}
	}
	if _, err := db.Exec(ctx, "forget metrics", pgx.NamedArgs{"id": e.ID}); err != nil {
		return err
	}
	_, err := db.Exec(ctx, "reopen evaluation", pgx.NamedArgs{"id": e.ID})
	return err
}

// addItems adds the items that the eval-run does not have.
func (s *Starter) addItems(ctx context.Context, db postgres.DB, e *evaluations.Evaluation, g *Growth, contents []datasets.Item) error {
	if len(contents) == 0 {
		return nil
	}
	before, err := postgres.Many[struct {
		Ordinal     int64
		ContentHash []byte
	}](ctx, db, "list contents", pgx.NamedArgs{"id": e.ID})
	if err != nil {
		return err
	}
	if g.Revision != e.Revision {
		ordinals, hashes := make([]int64, len(before)), make([][]byte, len(before))
		for i := range before {
			ordinals[i], hashes[i] = before[i].Ordinal, before[i].ContentHash
		}
		kept, err := s.datasets.HasContents(ctx, e.DatasetID, g.Revision, ordinals, hashes)
		switch {
		case err != nil:
			return err //nolint:wrapcheck // it names the statement
		case !kept:
			return ErrDatasetChanged
		}
	}
	ids, ordinals, keys, hashes := make([]uuid.UUID, len(contents)), make([]int64, len(contents)), make([]*string, len(contents)), make([][]byte, len(contents))
	for i := range contents {
		ids[i], ordinals[i], keys[i], hashes[i] = contents[i].ItemID, contents[i].Ordinal, contents[i].Key, contents[i].ContentHash
	}
	if _, err := db.Exec(ctx, "add items", pgx.NamedArgs{"id": e.ID, "items": ids, "ordinals": ordinals, "keys": keys, "hashes": hashes}); err != nil {
		return err
	}
	_, err = db.Exec(ctx, "count items", pgx.NamedArgs{"id": e.ID, "revision": g.Revision})
	return err
}

// ItemsByKey returns the ids of the items of an eval-run with the keys.
func (s *Starter) ItemsByKey(ctx context.Context, grant access.Grant, id uuid.UUID, keys []string) (map[string]uuid.UUID, error) {
	found, err := postgres.Many[struct {
		Key    string
		ItemID uuid.UUID
	}](ctx, s.db, "find items by key", pgx.NamedArgs{"projects": grant.IDs(), "kind": evaluations.EvalRun, "id": id, "keys": keys})
	if err != nil {
		return nil, err
	}
	ids := make(map[string]uuid.UUID, len(found))
	for _, f := range found {
		ids[f.Key] = f.ItemID
	}
	return ids, nil
}

// Describe replaces the metadata of an eval-run.
func (s *Starter) Describe(ctx context.Context, grant access.Grant, id uuid.UUID, metadata map[string]string) error {
	text, err := json.Marshal(metadata)
	if err != nil {
		return fmt.Errorf("encode the metadata: %w", err)
	}
	return s.db.Delete(ctx, "describe evaluation", pgx.NamedArgs{"projects": grant.IDs(), "kind": evaluations.EvalRun, "id": id, "metadata": string(text)})
}
