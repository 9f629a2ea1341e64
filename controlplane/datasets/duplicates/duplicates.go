// Package duplicates looks for near-duplicates in revisions of datasets: a check is a job that keeps the pairs it has found.
package duplicates

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

//go:embed queries.sql
var queries string

// DefaultThreshold is from which similarity on inputs are near-duplicates, if a check does not say it.
const DefaultThreshold = 0.8

const (
	// maxCheckedItems limits the memory of a check.
	maxCheckedItems = 2_000_000
	// keptChecks is how many checks of a dataset are kept.
	keptChecks = 5
	// previewLength is how much of an input is listed, in characters.
	previewLength = 2000
)

// Service manages checks.
type Service struct {
	db       postgres.DB
	jobs     *work.Queue
	datasets *datasets.Service
	now      func() time.Time
}

// New returns a service on the database, which does its checks as jobs of the queue. now is the clock.
func New(pool *pgxpool.Pool, queue *work.Queue, sets *datasets.Service, now func() time.Time) *Service {
	s := &Service{postgres.NewDB(pool, queries), queue, sets, postgres.Clock(now)}
	work.Register(queue, s.run)
	// An attempt that was replaced may have ended the job of the one that replaced it, which was killed later.
	queue.Recover(work.Kind{
		Name: "check", DB: s.db, List: "list lost checks", SetJob: "set job of check",
		Job: func(lost work.Lost) river.JobArgs { return jobArgs{lost.ID} },
	})
	return s
}

// Check is a search for near-duplicates in a revision.
type Check struct {
	ID, DatasetID uuid.UUID
	Revision      int
	// Threshold is the least similarity of a pair.
	Threshold float64
	// Status is queued, running, succeeded, failed or cancelled.
	Status string
	// Phase is what a running check does: reading or comparing.
	Phase *string
	// Total is how many items the revision has, Processed how many were read.
	Total, Processed int64
	// What follows is nil until the check has succeeded. WithoutText, Pairs, PairsAcross and PartlyCompared are those of [neardup.Result].
	WithoutText, Pairs, PairsAcross *int64
	// PairsListed is how many of the pairs can be listed.
	PairsListed, PartlyCompared *int64
	// Shared are the values that were left out, as a JSON array of objects with member, text and share.
	Shared                 *string
	ErrorCode, ErrorDetail *string
	JobID                  *int64
	CreatedAt              time.Time
	StartedAt, FinishedAt  *time.Time
	datasets.Author
}

// ItemPreview is an item of a pair.
type ItemPreview struct {
	ItemID     uuid.UUID
	Key, Split *string
	// Preview is the beginning of the input, which is JSON.
	Preview string
	// Truncated is whether the input is longer.
	Truncated bool
}

// Pair is two items with similar inputs.
type Pair struct {
	A, B       ItemPreview
	Similarity float64
	// Across is whether both have a split, and not the same.
	Across bool
}

// jobArgs are the arguments of the job of a check.
type jobArgs struct {
	CheckID uuid.UUID `json:"check_id"`
}

// Kind is the kind of the job.
func (jobArgs) Kind() string { return "near_duplicates" }

// Queue keeps checks from holding up imports.
func (jobArgs) Queue() string { return work.Checks }

// Query selects pairs of a check.
type Query struct {
	// Revision is that of the check. Nil selects the check that was started last.
	Revision *int
	// Across selects pairs across splits, or those inside of one. Nil selects all.
	Across *bool
	postgres.Page
}

// Start adds the job that looks for near-duplicates in a revision, nil for the newest. If the revision has a check with the
// threshold that has not failed, it returns that one and false.
func (s *Service) Start(ctx context.Context, grant access.Grant, dataset uuid.UUID, revision *int, threshold float64) (Check, bool, error) {
	found, err := s.datasets.Get(ctx, grant, dataset)
	if err != nil {
		return Check{}, false, err
	}
	at := found.Revision
	if revision != nil {
		if at = *revision; at > found.Revision {
			return Check{}, false, problem.InvalidField("body.revision", "is not a revision of the dataset")
		}
	}
	var (
		check Check
		added bool
	)
	find := func(ctx context.Context, tx postgres.DB) error {
		args := pgx.NamedArgs{"dataset": dataset, "revision": at}
		locked, err := postgres.Many[struct {
			ID        uuid.UUID
			Status    string
			Threshold float64
		}](ctx, tx, "lock check", args)
		if err != nil {
			return err
		}
		if len(locked) > 0 {
			before := locked[0]
			ended := before.Status == datasets.StatusFailed || before.Status == datasets.StatusCancelled
			switch unfinished := before.Status == datasets.StatusQueued || before.Status == datasets.StatusRunning; {
			case before.Threshold == threshold && !ended:
				check, err = postgres.One[Check](ctx, tx, "get check", pgx.NamedArgs{"check": before.ID})
				return err
			case unfinished:
				return errCheckRunning
			}
			if _, err := tx.Exec(ctx, "remove check", pgx.NamedArgs{"check": before.ID}); err != nil {
				return err
			}
		}
		added = true
		check, err = s.add(ctx, tx, grant, found.ProjectID, dataset, at, threshold)
		return err
	}
	if err = s.db.Tx(ctx, find); errors.Is(err, errCheckRunning) { // it may be this one, which another request has just started
		added = false
		err = s.db.Tx(ctx, find)
	}
	return check, added, err
}

var errCheckRunning = &problem.Error{
	Kind: problem.Conflict, Code: "check_running",
	Detail: "The dataset is being checked for near-duplicates, at another revision or threshold. Wait for that check, or cancel it.",
}

// add adds a check with its job.
func (s *Service) add(ctx context.Context, tx postgres.DB, grant access.Grant, project, dataset uuid.UUID, revision int, threshold float64) (Check, error) {
	id := postgres.NewID()
	job, err := s.jobs.Add(ctx, tx.PGX(), project, jobArgs{id})
	if err != nil {
		return Check{}, err
	}
	created, err := tx.Exec(ctx, "create check", pgx.NamedArgs{
		"id": id, "dataset": dataset, "revision": revision, "threshold": threshold, "job": job,
		"author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": s.now(),
	})
	if err == nil && created == 0 {
		err = errCheckRunning
	}
	if err == nil {
		_, err = tx.Exec(ctx, "remove old checks", pgx.NamedArgs{"dataset": dataset, "kept": keptChecks})
	}
	if err != nil {
		return Check{}, err
	}
	check, err := postgres.One[Check](ctx, tx, "get check", pgx.NamedArgs{"check": id})
	if err == nil && check.Total > maxCheckedItems {
		err = problem.InvalidField("body.revision", fmt.Sprintf("has %d items; at most %d can be checked. Check smaller datasets", check.Total, maxCheckedItems))
	}
	return check, err
}

// Pairs returns a check and a page of its pairs: those across splits first, then the most similar ones. The check is nil if there is
// none. hasMore is whether more pairs are listed.
func (s *Service) Pairs(ctx context.Context, grant access.Grant, dataset uuid.UUID, q Query) (check *Check, pairs []Pair, hasMore bool, err error) {
	found, err := s.datasets.Get(ctx, grant, dataset)
	if err != nil {
		return nil, nil, false, err
	}
	if q.Revision != nil && *q.Revision > found.Revision {
		return nil, nil, false, datasets.ErrNoRevision
	}
	checks, err := postgres.Many[Check](ctx, s.db, "find check", pgx.NamedArgs{"dataset": dataset, "revision": q.Revision})
	if err != nil || len(checks) == 0 {
		return nil, nil, false, err
	}
	check = &checks[0]
	listed, hasMore, err := postgres.List[struct {
		AItemID, BItemID uuid.UUID
		Similarity       float64
		Across           bool
	}](ctx, s.db, "list pairs", q.Page, pgx.NamedArgs{"check": check.ID, "across": q.Across})
	if err != nil || len(listed) == 0 {
		return check, nil, false, err
	}
	ids := make([]uuid.UUID, 0, 2*len(listed))
	for _, p := range listed {
		ids = append(ids, p.AItemID, p.BItemID)
	}
	items, err := postgres.Many[ItemPreview](ctx, s.db, "preview items", pgx.NamedArgs{
		"dataset": dataset, "items": ids, "revision": check.Revision, "length": previewLength,
	})
	if err != nil {
		return nil, nil, false, err
	}
	byID := make(map[uuid.UUID]ItemPreview, len(items))
	for _, i := range items {
		byID[i.ItemID] = i
	}
	for _, p := range listed {
		pairs = append(pairs, Pair{A: byID[p.AItemID], B: byID[p.BItemID], Similarity: p.Similarity, Across: p.Across})
	}
	return check, pairs, hasMore, nil
}

// Cancel cancels the check of a dataset that is not finished.
func (s *Service) Cancel(ctx context.Context, grant access.Grant, dataset uuid.UUID) (Check, error) {
	if _, err := s.datasets.Get(ctx, grant, dataset); err != nil {
		return Check{}, err
	}
	var check Check
	err := s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) (err error) {
		if check, err = postgres.One[Check](ctx, tx, "find check", pgx.NamedArgs{"dataset": dataset, "revision": nil}); err != nil {
			return err
		}
		args := pgx.NamedArgs{"check": check.ID, "now": s.now()}
		changed, err := tx.Exec(ctx, "cancel check", args)
		if err != nil {
			return err
		}
		if check, err = postgres.One[Check](ctx, tx, "get check", args); err != nil {
			return err
		}
		switch {
		case changed == 0 && check.Status != datasets.StatusCancelled:
			return &problem.Error{Kind: problem.Conflict, Code: "check_finished", Detail: "The check has " + check.Status + " already."}
		case changed > 0 && check.JobID != nil:
			return s.jobs.Cancel(ctx, tx.PGX(), *check.JobID)
		}
		return nil
	})
	return check, err
}
