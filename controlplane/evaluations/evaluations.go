// Package evaluations owns what an evaluation is, with its configuration, panels, metrics and statuses, and its stored rows: it lists,
// reads, renames, cancels, labels and deletes them. An evaluation compares configurations over a dataset, or has the results of another
// program. The packages below this one read its results, report on them, make what is missing, and start it.
package evaluations

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

//go:embed queries.sql
var queries string

// Type is what an evaluation is.
type Type string

// The types.
const (
	Comparison Type = "comparison"
	EvalRun    Type = "eval_run"
)

// Status is what became of an evaluation.
type Status string

// The statuses.
const (
	StatusQueued    Status = "queued"
	StatusRunning   Status = "running"
	StatusSucceeded Status = "succeeded"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// StopReason is why an evaluation succeeded before all of its outputs were made.
type StopReason string

// The reasons.
const (
	StopMaxCost StopReason = "max_cost"
	StopBudget  StopReason = "budget"
	StopDecided StopReason = "decided"
)

// Errors of evaluations that run, or have ended.
var (
	ErrRunning = &problem.Error{Kind: problem.Conflict, Code: "evaluation_running", Detail: "It is still running. Cancel it, or wait until it ends."}
	ErrEnded   = &problem.Error{Kind: problem.Conflict, Code: "evaluation_finished", Detail: "It has already ended."}
	errInUse   = &problem.Error{Kind: problem.Conflict, Code: "evaluation_in_use", Detail: "A comparison uses its outputs. Delete the comparison first."}
)

// Service manages evaluations.
type Service struct {
	db        postgres.DB
	jobs      *work.Queue
	datasets  *datasets.Service
	providers *providers.Service
	now       func() time.Time
}

// New returns a service on the database. now is the clock.
func New(pool *pgxpool.Pool, queue *work.Queue, sets *datasets.Service, models *providers.Service, now func() time.Time) *Service {
	return &Service{postgres.NewDB(pool, queries), queue, sets, models, postgres.Clock(now)}
}

// Evaluation is a comparison or an eval-run.
type Evaluation struct {
	ID          uuid.UUID
	ProjectID   uuid.UUID
	Kind        Type
	Name        string
	DatasetID   uuid.UUID
	DatasetName string
	Revision    int
	Split       *string
	ItemCount   int64
	Repeats     int
	Seed        int64
	// Config is a [Config] as JSON.
	Config         string
	PrimaryMetric  *string
	MaxCostNanousd *providers.Money
	AllowUnpriced  bool
	Status         Status
	StopReason     *StopReason
	ErrorCode      *string
	ErrorDetail    *string
	JobID          *int64
	OutputsTotal   int64
	OutputsDone    int64
	OutputsFailed  int64
	OutputsSkipped int64
	VotesTotal     int64
	VotesDone      int64
	VotesFailed    int64
	VotesSkipped   int64
	Estimate       string
	Accounting     *string
	// Cost is a [providers.EvaluationCost] as JSON, nil before the end.
	Cost        *string
	Summary     *string
	CreatedAt   time.Time
	StartedAt   *time.Time
	FinishedAt  *time.Time
	AuthorEmail *string
	AuthorKey   *string
	CreatedByID *uuid.UUID
	// Branch, Commit and Metadata, a JSON object, are what an eval-run says of itself.
	Branch, Commit   *string
	Metadata         string
	SkippedItemCount int64
	// ResultsCostUSD is the sum of the costs of an eval-run's results, nil if none is known. ResultsCosted have one.
	ResultsCostUSD *float64
	ResultsCosted  int64
	// ItemCounts are numbers of items by [ItemStatus] as JSON, nil once it is summarized.
	ItemCounts *string
}

// Unfinished reports whether it waits or runs.
func (e *Evaluation) Unfinished() bool { return e.Status == StatusQueued || e.Status == StatusRunning }

// Ended returns when it ended, nil while it waits or runs.
func (e *Evaluation) Ended() *time.Time {
	if e.Unfinished() {
		return nil
	}
	return e.FinishedAt
}

// Filter selects evaluations. Zero fields select all.
type Filter struct {
	Dataset              *uuid.UUID
	Status               Status
	Name, Branch, Commit string
}

// List returns a page of evaluations of a type, the newest first.
func (s *Service) List(ctx context.Context, grant access.Grant, kind Type, filter Filter, page postgres.Page) ([]Evaluation, bool, error) {
	return postgres.List[Evaluation](ctx, s.db, "list evaluations", page, pgx.NamedArgs{
		"projects": grant.IDs(), "kind": kind, "dataset": filter.Dataset, "status": filter.Status, "name": filter.Name, "branch": filter.Branch, "commit": filter.Commit,
	})
}

// Get returns an evaluation of a type.
func (s *Service) Get(ctx context.Context, grant access.Grant, kind Type, id uuid.UUID) (Evaluation, error) {
	return get(ctx, s.db, grant, kind, id)
}

// GetIn returns an evaluation as a transaction sees it.
func (s *Service) GetIn(ctx context.Context, tx pgx.Tx, grant access.Grant, kind Type, id uuid.UUID) (Evaluation, error) {
	return get(ctx, s.db.On(tx), grant, kind, id)
}

func get(ctx context.Context, db postgres.DB, grant access.Grant, kind Type, id uuid.UUID) (Evaluation, error) {
	return postgres.One[Evaluation](ctx, db, "get evaluation", pgx.NamedArgs{"projects": grant.IDs(), "kind": kind, "id": id})
}

// CostOf returns what the requests of an evaluation cost so far.
func (s *Service) CostOf(ctx context.Context, e *Evaluation) (cost providers.EvaluationCost, err error) {
	if e.Cost == nil {
		return s.providers.EvaluationCost(ctx, e.ID) //nolint:wrapcheck // it names the statement
	}
	if err := json.Unmarshal([]byte(*e.Cost), &cost); err != nil {
		return cost, fmt.Errorf("read the cost of evaluation %s: %w", e.ID, err)
	}
	return cost, nil
}

// CallsOf returns how the calls of a comparison get on, nil if it does not run. cost is what [Service.CostOf] returns.
func (s *Service) CallsOf(ctx context.Context, e *Evaluation, config *Config, cost *providers.EvaluationCost) (*Calls, error) {
	if e.Kind != Comparison || e.Status != StatusRunning {
		return nil, nil //nolint:nilnil // there are none
	}
	var connections []uuid.UUID
	for i := range config.Sides {
		if config.Sides[i].EvalRunID == nil {
			connections = append(connections, config.Sides[i].ProviderID)
		}
	}
	limited, err := s.providers.LimitedOf(ctx, connections)
	return &Calls{cost.Running, limited}, err
}

// Calls are the calls of models that are under way, and when providers last refused some of these connections.
type Calls struct {
	InFlight int64
	providers.Limited
}

// Ended returns an eval-run that has a summary.
func (s *Service) Ended(ctx context.Context, grant access.Grant, location string, id uuid.UUID) (Evaluation, error) {
	e, err := s.Get(ctx, grant, EvalRun, id)
	if problem.Is(err, problem.NotFound) {
		return e, problem.InvalidField(location, "is no eval-run")
	}
	if err == nil && e.Summary == nil {
		err = &problem.Error{Kind: problem.Conflict, Code: "evaluation_running", Detail: fmt.Sprintf("The eval-run %q has no summary yet. Finish it, or wait a moment.", e.Name)}
	}
	return e, err
}

// Rename changes the name of an evaluation.
func (s *Service) Rename(ctx context.Context, grant access.Grant, kind Type, id uuid.UUID, name string) (Evaluation, error) {
	if err := validate.Printable("body.name", name); err != nil {
		return Evaluation{}, err
	}
	var changed Evaluation
	err := s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) (err error) {
		if err := tx.Delete(ctx, "rename evaluation", pgx.NamedArgs{"projects": grant.IDs(), "kind": kind, "id": id, "name": name}); err != nil {
			return err
		}
		changed, err = get(ctx, tx, grant, kind, id)
		return err
	})
	return changed, err
}

// Delete deletes an evaluation with its outputs. Their runs stay.
func (s *Service) Delete(ctx context.Context, grant access.Grant, kind Type, id uuid.UUID) error {
	found, err := s.Get(ctx, grant, kind, id) // unlike the deletion, it does not wait long for a database that does not answer
	if err != nil {
		return err
	}
	if found.Unfinished() {
		return ErrRunning
	}
	err = s.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return s.db.On(tx).LongDelete(ctx, "delete evaluation", pgx.NamedArgs{"projects": grant.IDs(), "kind": kind, "id": id})
	})
	switch {
	case postgres.Violates(err, "evaluations_a_eval_run_id_fkey"), postgres.Violates(err, "evaluations_b_eval_run_id_fkey"):
		return errInUse
	case errors.Is(err, postgres.ErrNotFound): // it was resumed or deleted in the meantime
		if _, err := s.Get(ctx, grant, kind, id); err == nil {
			return ErrRunning
		}
	}
	return err
}

// Job makes what is missing of an evaluation, and summarizes it.
type Job struct {
	EvaluationID uuid.UUID `json:"evaluation_id"`
	queue        string
}

// NewJob returns the job of an evaluation in a queue.
func NewJob(id uuid.UUID, queue string) Job { return Job{id, queue} }

// Kind is that of the jobs.
func (Job) Kind() string { return "evaluation" }

// Queue is the queue of the job.
func (j Job) Queue() string { return j.queue }

// Cancel cancels an evaluation. A job summarizes what is there.
func (s *Service) Cancel(ctx context.Context, grant access.Grant, kind Type, id uuid.UUID) (Evaluation, error) {
	return s.Change(ctx, grant, kind, id, func(ctx context.Context, tx pgx.Tx, e *Evaluation) error {
		switch {
		case e.Status == StatusCancelled:
			return nil
		case !e.Unfinished():
			return ErrEnded
		}
		if e.JobID != nil {
			if err := s.jobs.Cancel(ctx, tx, *e.JobID); err != nil {
				return err //nolint:wrapcheck // it says what it does
			}
		}
		db := s.db.On(tx)
		return s.jobs.Give(ctx, db, e.ProjectID, NewJob(e.ID, work.Summaries), func(job int64) (int64, error) {
			return db.Exec(ctx, "cancel evaluation", pgx.NamedArgs{"id": e.ID, "job": job, "now": s.now()})
		})
	})
}

// Lock locks an evaluation until the end of the transaction, and returns it.
func (s *Service) Lock(ctx context.Context, tx pgx.Tx, grant access.Grant, kind Type, id uuid.UUID) (Evaluation, error) {
	if _, err := postgres.One[struct{ ID uuid.UUID }](ctx, s.db.On(tx), "lock evaluation", pgx.NamedArgs{"projects": grant.IDs(), "kind": kind, "id": id}); err != nil {
		return Evaluation{}, err
	}
	return s.GetIn(ctx, tx, grant, kind, id)
}

// Change changes an evaluation under a lock, and returns what became of it.
func (s *Service) Change(
	ctx context.Context, grant access.Grant, kind Type, id uuid.UUID, do func(context.Context, pgx.Tx, *Evaluation) error,
) (Evaluation, error) {
	var changed Evaluation
	err := s.db.Tx(ctx, func(ctx context.Context, db postgres.DB) error {
		found, err := s.Lock(ctx, db.PGX(), grant, kind, id)
		if err != nil {
			return err
		}
		if err := do(ctx, db.PGX(), &found); err != nil {
			return err
		}
		changed, err = s.GetIn(ctx, db.PGX(), grant, kind, id)
		return err
	})
	return changed, err
}
