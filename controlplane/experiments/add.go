package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/start"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// add adds what runs of a project report. It returns those that could not be read or added.
func (s *Service) add(ctx context.Context, project uuid.UUID, ids []uuid.UUID) (failed []uuid.UUID, err error) {
	found, err := s.runs.ExperimentSpans(ctx, access.OfJob(project), ids)
	if err != nil {
		return ids, err //nolint:wrapcheck // it says what it does
	}
	for i := range found {
		if found[i].Partial {
			s.log.WarnContext(ctx, "a run has too many spans of experiments; the first are used", "project_id", project, "run_id", found[i].RunID)
		}
	}
	results := resultsOf(found)
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(results)) {
		for chunk := range slices.Chunk(results[id], growAtOnce) {
			if err := s.addTo(ctx, project, chunk); err != nil {
				errs = append(errs, fmt.Errorf("add to the experiment %q of project %s: %w", id, project, err))
				for _, r := range chunk {
					failed = append(failed, r.runID)
				}
			}
		}
	}
	return failed, errors.Join(errs...)
}

// addTo adds results of one experiment to its eval-run. Results that were added change nothing.
func (s *Service) addTo(ctx context.Context, project uuid.UUID, results []*result) error {
	e, err := s.experiment(ctx, project, results[0])
	if err != nil || e == nil {
		return err
	}
	used, refused, err := s.claim(ctx, e, results)
	if err != nil {
		return err
	}
	grown := false
	if len(used) > 0 {
		var more bool
		if grown, more, err = s.grow(ctx, e, used); err != nil {
			return err
		}
		refused = refused || more
	}
	// In this order: an attempt that ends in between is made again.
	if grown || refused {
		if err := s.describe(ctx, e); err != nil {
			return err
		}
	}
	if !grown {
		return nil
	}
	_, err = s.db.Exec(ctx, "note growth", pgx.NamedArgs{"id": e.ID, "now": s.now()})
	return err
}

// experiment returns the experiment of a result, which it creates if it is new. It is nil if the project has too many new ones.
func (s *Service) experiment(ctx context.Context, project uuid.UUID, first *result) (*experiment, error) {
	metadata, err := json.Marshal(first.metadata)
	if err != nil {
		return nil, fmt.Errorf("encode the metadata: %w", err)
	}
	args := pgx.NamedArgs{"project": project, "external": first.externalID}
	found, err := postgres.One[experiment](ctx, s.db, "get experiment", args)
	if !errors.Is(err, postgres.ErrNotFound) {
		return &found, err
	}
	now := s.now()
	if _, err := s.db.Exec(ctx, "create experiment", pgx.NamedArgs{
		"id": postgres.NewID(), "project": project, "external": first.externalID, "name": first.name, "metadata": string(metadata), "now": now,
		"since": now.Add(-24 * time.Hour), "limit": maxNew,
	}); err != nil {
		return nil, err
	}
	found, err = postgres.One[experiment](ctx, s.db, "get experiment", args)
	if errors.Is(err, postgres.ErrNotFound) {
		s.log.WarnContext(ctx, "a project begins too many experiments of Langfuse in a day; one was left out", "project_id", project, "limit", maxNew, "run_id", first.runID)
		return nil, nil //nolint:nilnil // it is left out
	}
	return &found, err
}

// claim decides which results are used: the first one of an item, for ever. refused is whether there are others.
func (s *Service) claim(ctx context.Context, e *experiment, results []*result) (used []*result, refused bool, err error) {
	runIDs, keys := make([]uuid.UUID, len(results)), make([]string, len(results))
	for i, r := range results {
		runIDs[i], keys[i] = r.runID, utf8text.Storable(r.key)
	}
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		used, refused = nil, false
		if _, err := postgres.One[struct{ ID uuid.UUID }](ctx, tx, "lock experiment", pgx.NamedArgs{"id": e.ID}); err != nil {
			return err
		}
		stored, err := postgres.Many[struct {
			RunID   uuid.UUID
			SpanID  int64
			ItemKey *string
			Unused  *string
		}](ctx, tx, "find results", pgx.NamedArgs{"id": e.ID, "runs": runIDs, "keys": keys})
		if err != nil {
			return err
		}
		count, err := postgres.One[struct{ Results int }](ctx, tx, "count used results", pgx.NamedArgs{"id": e.ID})
		if err != nil {
			return err
		}
		type place struct {
			run  uuid.UUID
			span int64
		}
		known, taken := map[place]bool{}, map[string]bool{}
		for _, r := range stored {
			known[place{r.RunID, r.SpanID}] = r.Unused == nil
			if r.Unused == nil {
				taken[*r.ItemKey] = true
			}
		}
		args := struct {
			runs   []uuid.UUID
			spans  []int64
			keys   []*string
			unused []*string
		}{}
		for _, r := range results {
			at := place{r.runID, int64(r.spanID)}
			if isUsed, ok := known[at]; ok {
				if isUsed && r.unused == "" {
					used = append(used, r)
				} else {
					refused = true
				}
				continue
			}
			switch {
			case r.unused != "":
			case taken[r.key]:
				r.unused = unusedSecond
			case count.Results >= maxItems:
				r.unused = unusedTooMany
			}
			args.runs, args.spans, args.keys = append(args.runs, at.run), append(args.spans, at.span), append(args.keys, nil)
			args.unused = append(args.unused, nil)
			last := len(args.runs) - 1
			if r.unused != "" {
				refused, args.unused[last] = true, &r.unused
				continue
			}
			args.keys[last], taken[r.key] = &r.key, true
			count.Results++
			used = append(used, r)
		}
		if len(args.runs) == 0 {
			return nil
		}
		_, err = tx.Exec(ctx, "add results", pgx.NamedArgs{"id": e.ID, "runs": args.runs, "spans": args.spans, "keys": args.keys, "unused": args.unused})
		return err
	})
	return used, refused, err
}

// grow adds claimed results to the eval-run. It reports whether that changed it, and whether some could not be used.
func (s *Service) grow(ctx context.Context, e *experiment, used []*result) (grown, refused bool, err error) {
	keys := make([]string, len(used))
	for i, r := range used {
		keys[i] = r.key
	}
	items, err := s.growing.ItemsByKey(ctx, grantOf(e.ProjectID), e.ID, keys)
	if err != nil {
		return false, false, err //nolint:wrapcheck // it names the statement
	}
	known, fresh := []*result{}, []*result{}
	for _, r := range used {
		if _, ok := items[r.key]; ok {
			known = append(known, r)
		} else {
			fresh = append(fresh, r)
		}
	}
	// Apart: results of new items may have to be refused, and those of others not.
	if len(known) > 0 {
		changed, err := s.growBy(ctx, e, known, items, &start.Growth{})
		if err != nil && unusedBecause(err) == "" { // else they are later versions of results that stay
			return false, false, err
		}
		grown = changed || err == nil && !e.Begun
	}
	if len(fresh) == 0 {
		return grown, false, nil
	}
	var growth start.Growth
	taken, misfits, err := s.writeItems(ctx, e, fresh, items, &growth)
	if err != nil {
		return grown, false, err
	}
	if len(taken) > 0 {
		changed, err := s.growBy(ctx, e, taken, items, &growth)
		if why := unusedBecause(err); why != "" {
			misfits, err = append(misfits, taken...), s.refuse(ctx, e, why, taken)
		}
		if err != nil {
			return grown, len(misfits) > 0, err
		}
		grown = grown || changed
	}
	return grown, len(misfits) > 0, nil
}

// growBy adds results of items to the eval-run.
func (s *Service) growBy(ctx context.Context, e *experiment, results []*result, items map[string]uuid.UUID, growth *start.Growth) (changed bool, err error) {
	if growth.Metadata, err = e.metadata(); err != nil {
		return false, err
	}
	growth.ID, growth.Begun, growth.Name, growth.Reopen = e.ID, e.Begun, e.Name, e.FinishedAt != nil
	for _, r := range results {
		r.result.ItemID = items[r.key]
		growth.Results = append(growth.Results, r.result)
	}
	return s.growing.Grow(ctx, grantOf(e.ProjectID), growth) //nolint:wrapcheck // the caller tells what it means
}

// refuse notes why claimed results are not used after all.
func (s *Service) refuse(ctx context.Context, e *experiment, why string, results []*result) error {
	if len(results) == 0 {
		return nil
	}
	keys := make([]string, len(results))
	for i, r := range results {
		keys[i] = r.key
	}
	_, err := s.db.Exec(ctx, "refuse results", pgx.NamedArgs{"id": e.ID, "unused": why, "keys": keys})
	return err
}

// unusedBecause returns why an eval-run does not take results, or "" for other errors.
func unusedBecause(err error) string {
	switch {
	case errors.Is(err, evaluations.ErrEnded):
		return unusedEnded
	case errors.Is(err, start.ErrDatasetChanged):
		return unusedChanged
	case errors.Is(err, postgres.ErrNotFound):
		return unusedDeletedRun
	default:
		return ""
	}
}

// writeItems writes the items of results to their dataset, for the growth. It adds the ids of items that were taken, and refuses the results
// of the others.
func (s *Service) writeItems(
	ctx context.Context, e *experiment, results []*result, items map[string]uuid.UUID, growth *start.Growth,
) (taken, misfits []*result, err error) {
	var dataset uuid.UUID
	switch begun, err := s.evaluations.Get(ctx, grantOf(e.ProjectID), evaluations.EvalRun, e.ID); {
	case err == nil:
		dataset = begun.DatasetID
	case !errors.Is(err, postgres.ErrNotFound):
		return nil, nil, err //nolint:wrapcheck // it names the statement
	case e.Begun:
		return nil, results, s.refuse(ctx, e, unusedDeletedRun, results)
	default:
		if dataset, err = s.dataset(ctx, e.ProjectID, results[0]); err != nil {
			return nil, nil, err
		}
	}
	write := datasets.Write{Mode: datasets.ModeUpsert, SkipMisfits: true, Note: "Items of the experiment " + e.Name}
	for _, r := range results {
		write.Items = append(write.Items, datasets.NewItem{Key: &r.key, Input: r.input, ReferenceOutput: r.reference, Metadata: r.itemMetadata})
	}
	written, err := s.datasets.Write(ctx, grantOf(e.ProjectID), dataset, write)
	if problem.Is(err, problem.Invalid) {
		s.log.WarnContext(ctx, "a dataset refuses items of an experiment", "project_id", e.ProjectID, "eval_run_id", e.ID, "error", err)
		return nil, results, s.refuse(ctx, e, unusedRefused, results)
	}
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // it says what it does
	}
	for i, r := range results {
		if slices.ContainsFunc(written.Misfits, func(m datasets.Misfit) bool { return m.Index == i }) {
			misfits = append(misfits, r)
			continue
		}
		items[r.key] = written.ItemIDs[len(taken)]
		taken = append(taken, r)
	}
	growth.Dataset, growth.Revision, growth.Ordinals = dataset, written.Revision, written.Ordinals
	return taken, misfits, s.refuse(ctx, e, unusedMisfit, misfits)
}

const (
	// maxSameName is how many datasets of other origin may have the name of one that is to be made.
	maxSameName = 20
	// maxDatasetName is the length of a dataset's name.
	maxDatasetName = 128
)

// datasetDescription marks the datasets that this package makes.
const datasetDescription = "Items of experiments that an SDK of Langfuse ran. Their keys are Langfuse's ids."

// dataset returns the dataset for the items of an experiment.
func (s *Service) dataset(ctx context.Context, project uuid.UUID, r *result) (uuid.UUID, error) {
	source := "experiments:" + r.set
	if r.metadata["langfuse.dataset_id"] != "" {
		source = "dataset:" + r.set
	}
	args := pgx.NamedArgs{"project": project, "source": source}
	type kept struct{ DatasetID uuid.UUID }
	found, err := postgres.One[kept](ctx, s.db, "get dataset", args)
	if !errors.Is(err, postgres.ErrNotFound) {
		return found.DatasetID, err
	}
	if args["dataset"], err = s.newDataset(ctx, project, "Langfuse "+r.set); err != nil {
		return uuid.Nil, err
	}
	if _, err := s.db.Exec(ctx, "keep dataset", args); err != nil {
		return uuid.Nil, err
	}
	found, err = postgres.One[kept](ctx, s.db, "get dataset", args)
	return found.DatasetID, err
}

// newDataset makes a dataset. It takes one that an earlier attempt made and did not keep.
func (s *Service) newDataset(ctx context.Context, project uuid.UUID, name string) (uuid.UUID, error) {
	grant := grantOf(project)
	for n := range maxSameName {
		suffix := ""
		if n > 0 {
			suffix = " " + strconv.Itoa(n+1)
		}
		name := line(name, maxDatasetName-len(suffix)) + suffix
		made, err := s.datasets.Create(ctx, grant, datasets.Change{Name: &name, Description: new(datasetDescription)})
		if !errors.Is(err, datasets.ErrNameTaken) {
			return made.ID, err //nolint:wrapcheck // it says what it does
		}
		same, _, err := s.datasets.List(ctx, grant, datasets.Filter{Name: name}, postgres.Page{Limit: 1})
		if err != nil {
			return uuid.Nil, err //nolint:wrapcheck // it names the statement
		}
		if len(same) == 1 && same[0].Revision == 0 && same[0].Description == datasetDescription {
			return same[0].ID, nil
		}
	}
	return uuid.Nil, fmt.Errorf("the names %q to %q are taken by other datasets: rename one", name, name+" "+strconv.Itoa(maxSameName))
}

// describe writes what the experiment says of itself, and what is not used, into the metadata of its eval-run.
func (s *Service) describe(ctx context.Context, e *experiment) error {
	metadata, err := e.metadata()
	if err != nil {
		return err
	}
	unused, err := postgres.Many[struct {
		Unused  string
		Results int
	}](ctx, s.db, "count unused results", pgx.NamedArgs{"id": e.ID})
	if err != nil {
		return err
	}
	counts, sum := make([]string, len(unused)), 0
	for i, u := range unused {
		counts[i] = fmt.Sprintf("%s: %d", u.Unused, u.Results)
		sum += u.Results
	}
	if sum > 0 {
		metadata["langfuse.unused_results"] = fmt.Sprintf("%d (%s)", sum, strings.Join(counts, ", "))
	}
	err = s.growing.Describe(ctx, grantOf(e.ProjectID), e.ID, metadata)
	if errors.Is(err, postgres.ErrNotFound) { // nothing of it could be used, or it was deleted
		return nil
	}
	return err //nolint:wrapcheck // it names the statement
}
