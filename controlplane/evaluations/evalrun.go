package evaluations

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/jobs"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/validate"
)

// maxMissing is how many items without a result are named.
const maxMissing = 100

// WantedRun is an eval-run to begin, whose results come from outside.
type WantedRun struct {
	Name     string
	Dataset  uuid.UUID
	Revision *int
	Split    string
	// Items are the only ones, nil for all.
	Items          []uuid.UUID
	Repeats        int
	Graders        []json.RawMessage
	Primary        string
	Branch, Commit string
	Metadata       map[string]string
}

// MissingResult is an item without all of its results.
type MissingResult struct {
	ItemID  uuid.UUID
	Key     *string
	Repeats []int32
}

// Begin begins an eval-run.
func (s *Service) Begin(ctx context.Context, grant access.Grant, n *WantedRun) (Evaluation, error) {
	project, err := grant.Project()
	if err != nil {
		return Evaluation{}, err
	}
	if err := n.check(); err != nil {
		return Evaluation{}, err
	}
	set, err := s.datasets.Get(ctx, grant, n.Dataset)
	if problem.Is(err, problem.NotFound) || err == nil && set.ProjectID != project {
		return Evaluation{}, problem.InvalidField("body.dataset_id", "is no dataset of the project")
	}
	if err != nil {
		return Evaluation{}, err //nolint:wrapcheck // it names the statement
	}
	revision := set.Revision
	if n.Revision != nil {
		if revision = *n.Revision; revision > set.Revision {
			return Evaluation{}, problem.InvalidField("body.revision", fmt.Sprintf("is not a revision of the dataset: the newest is %d", set.Revision))
		}
	}
	items, err := s.wantedItems(ctx, grant, n, revision)
	if err != nil {
		return Evaluation{}, err
	}
	config, err := json.Marshal(Config{Graders: n.Graders})
	if err != nil {
		return Evaluation{}, fmt.Errorf("encode the configuration: %w", err)
	}
	metadata, err := json.Marshal(n.Metadata)
	if err != nil {
		return Evaluation{}, fmt.Errorf("encode the metadata: %w", err)
	}
	id, now := postgres.NewID(), s.now()
	args := pgx.NamedArgs{
		"id": id, "project": project, "kind": EvalRun, "status": StatusRunning, "name": n.Name, "dataset": n.Dataset, "revision": revision, "split": orNull(n.Split),
		"items": len(items), "repeats": n.Repeats, "seed": 0, "config": string(config), "primary": orNull(n.Primary), "max_cost": nil, "allow_unpriced": true, "job": nil,
		"total": len(items) * n.Repeats, "skipped": 0, "estimate": "{}", "a_eval_run": nil, "b_eval_run": nil, "branch": orNull(n.Branch), "commit": orNull(n.Commit),
		"metadata": string(metadata), "author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": now, "started": now,
	}
	var created Evaluation
	err = s.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		db := s.db.On(tx)
		if _, err := db.Exec(ctx, "create evaluation", args); err != nil {
			return err
		}
		if err := storeItems(ctx, tx, id, items); err != nil {
			return err
		}
		var err error
		created, err = s.get(ctx, db, grant.Projects, EvalRun, id)
		return err
	})
	return created, err
}

func (n *WantedRun) check() error {
	for location, text := range map[string]string{"body.name": n.Name, "body.branch": n.Branch, "body.commit": n.Commit} {
		if text == "" {
			continue
		}
		if err := validate.Printable(location, text); err != nil {
			return err //nolint:wrapcheck // it is for the client
		}
	}
	graders, err := ParseGraders("body.graders", n.Graders)
	if err != nil {
		return err
	}
	if IsMeasured(n.Primary) {
		return problem.InvalidField("body.primary_metric", fmt.Sprintf("is %q, which is no score", n.Primary))
	}
	if n.Primary == "" && len(graders) > 0 {
		n.Primary = graders[0].Name()
	}
	if n.Metadata == nil {
		n.Metadata = map[string]string{}
	}
	for key, value := range n.Metadata {
		if plain(key+value) != key+value {
			return problem.InvalidField("body.metadata."+key, "has characters that cannot be stored")
		}
	}
	return nil
}

// wantedItems returns the items of an eval-run.
func (s *Service) wantedItems(ctx context.Context, grant access.Grant, n *WantedRun, revision int) ([]plannedItem, error) {
	wanted := map[uuid.UUID]bool{}
	for _, id := range n.Items {
		wanted[id] = true
	}
	var items []plannedItem
	err := s.datasets.Export(ctx, grant, n.Dataset, datasets.ItemsQuery{Revision: &revision, Split: n.Split}, func(item *datasets.Item) error {
		if len(n.Items) > 0 && !wanted[item.ItemID] {
			return nil
		}
		if len(items) >= min(maxItems, maxOutputs/n.Repeats) {
			return problem.InvalidField("body.dataset_id", fmt.Sprintf("has too many items in this revision and split: an eval-run has at most %d items and %d results", maxItems, maxOutputs))
		}
		delete(wanted, item.ItemID)
		items = append(items, plannedItem{id: item.ItemID, ordinal: item.Ordinal, key: item.Key, hash: item.ContentHash})
		return nil
	})
	switch {
	case err != nil:
		return nil, err //nolint:wrapcheck // it is for the client
	case len(wanted) > 0:
		for i, id := range n.Items {
			if wanted[id] {
				return nil, problem.InvalidField(fmt.Sprintf("body.item_ids[%d]", i), "is no item of this revision and split")
			}
		}
	case len(items) == 0:
		return nil, problem.InvalidField("body.dataset_id", "has no items in this revision and split")
	}
	return items, nil
}

// Finish ends an eval-run. A job summarizes it. It returns some of the items whose results are missing.
func (s *Service) Finish(ctx context.Context, grant access.Grant, id uuid.UUID) (Evaluation, []MissingResult, error) {
	finished, err := s.change(ctx, grant, EvalRun, id, func(ctx context.Context, tx postgres.DB, e *Evaluation) error {
		switch e.Status {
		case StatusSucceeded:
			return nil
		case StatusRunning:
			return s.addJob(ctx, tx, "finish evaluation", jobArgs{e.ID, jobs.Summaries}, nil)
		default:
			return errEnded
		}
	})
	if err != nil {
		return finished, nil, err
	}
	if finished.OutputsDone == finished.OutputsTotal {
		return finished, nil, nil
	}
	missing, err := postgres.Many[MissingResult](ctx, s.db, "list missing results", pgx.NamedArgs{"id": id, "repeats": finished.Repeats, "limit": maxMissing})
	return finished, missing, err
}
