// Package replays replays recorded runs with edits, and says whether an edit had an effect. A job makes the attempts; what it stored is
// never made again. The engine is controlplane/replays/engine, the verdict controlplane/replays/verdict.
package replays

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

//go:embed queries.sql
var queries string

// Status is what became of a replay or an attempt.
type Status string

// The statuses.
const (
	StatusQueued    Status = "queued"
	StatusRunning   Status = "running"
	StatusSucceeded Status = "succeeded"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// Role is whether an attempt has the edits.
type Role string

// The roles.
const (
	Control   Role = "control"
	Treatment Role = "treatment"
)

var (
	errRunning = &problem.Error{Kind: problem.Conflict, Code: "replay_running", Detail: "The replay is still running. Cancel it, or wait until it ends."}
	errInBatch = &problem.Error{Kind: problem.Conflict, Code: "replay_in_batch", Detail: "The replay belongs to a batch. Cancel, extend or delete the batch."}
)

// ErrNothingMissing refuses an extension that adds no attempt.
var ErrNothingMissing = &problem.Error{Kind: problem.Conflict, Code: "nothing_missing", Detail: "All attempts have run. To run more, ask for a higher number."}

// Service manages replays.
type Service struct {
	db        postgres.DB
	jobs      *work.Queue
	runs      *runs.Service
	providers *providers.Service
	recorder  *recording.Recorder
	judges    Judges
	now       func() time.Time
	log       *slog.Logger
}

// New returns a service on the database, which works on replays as jobs of the queue. now is the clock.
func New(
	pool *pgxpool.Pool, queue *work.Queue, recorded *runs.Service, models *providers.Service, recorder *recording.Recorder, judges Judges, now func() time.Time,
	log *slog.Logger,
) *Service {
	s := &Service{postgres.NewDB(pool, queries), queue, recorded, models, recorder, judges, postgres.Clock(now), log}
	work.Register(queue, s.run)
	queue.Recover(work.Kind{
		Name: "replay", DB: s.db, List: "list lost replays", SetJob: "set job of replay",
		Job: func(lost work.Lost) river.JobArgs { return jobArgs{lost.ID, lost.Queue()} },
	})
	return s
}

// Replay is a replay of a run.
type Replay struct {
	ID        uuid.UUID
	ProjectID uuid.UUID
	Name      string
	RunID     uuid.UUID
	RunName   string
	// Config is a [Config] as JSON.
	Config     string
	Controls   int
	Treatments int
	// Looks are the earlier verdicts that could have found an effect.
	Looks          int
	MaxCostNanousd *providers.Money
	AllowUnpriced  bool
	// Estimate is an [Estimate] as JSON.
	Estimate    string
	Status      Status
	StopReason  *string
	ErrorCode   *string
	ErrorDetail *string
	JobID       *int64
	// BatchID is that of the batch that it belongs to, nil for none.
	BatchID *uuid.UUID
	// Cost is a [providers.EvaluationCost] as JSON, and Verdict a verdict. Both are nil before the end.
	Cost        *string
	Verdict     *string
	CreatedAt   time.Time
	StartedAt   *time.Time
	FinishedAt  *time.Time
	AuthorEmail *string
	AuthorKey   *string
	CreatedByID *uuid.UUID
	// Total, Done and Failed count attempts.
	Total, Done, Failed int
}

// unfinished reports whether it waits or runs.
func (r *Replay) unfinished() bool { return r.Status == StatusQueued || r.Status == StatusRunning }

// ReadConfig returns how the run is replayed.
func (r *Replay) ReadConfig() (Config, error) {
	var config Config
	if err := json.Unmarshal([]byte(r.Config), &config); err != nil {
		return config, fmt.Errorf("read the configuration of replay %s: %w", r.ID, err)
	}
	return config, nil
}

// ReadEstimate returns what the replay was expected to take.
func (r *Replay) ReadEstimate() (Estimate, error) {
	var estimate Estimate
	if err := json.Unmarshal([]byte(r.Estimate), &estimate); err != nil {
		return estimate, fmt.Errorf("read the estimate of replay %s: %w", r.ID, err)
	}
	return estimate, nil
}

// Filter selects replays. Zero fields select all.
type Filter struct {
	Run    *uuid.UUID
	Status Status
	// Batch selects the replays of a batch. Without it and without a run, those of batches are left out.
	Batch *uuid.UUID
}

// Listed is a replay in a list: its Config has only who makes the calls, and its Verdict only the word and the sentence.
type Listed struct {
	Replay
	// Edits says what each edit changes, without contents: a list of objects with the target and, as set, the name of what it sets, as JSON.
	Edits string
}

// List returns a page of replays, the newest first.
func (s *Service) List(ctx context.Context, grant access.Grant, filter Filter, page postgres.Page) ([]Listed, bool, error) {
	return postgres.List[Listed](ctx, s.db, "list replays", page, pgx.NamedArgs{"projects": grant.IDs(), "run": filter.Run, "status": filter.Status, "batch": filter.Batch})
}

// Get returns a replay.
func (s *Service) Get(ctx context.Context, grant access.Grant, id uuid.UUID) (Replay, error) {
	return s.get(ctx, s.db, grant.Projects, id)
}

func (s *Service) get(ctx context.Context, db postgres.DB, in access.Projects, id uuid.UUID) (Replay, error) {
	return postgres.One[Replay](ctx, db, "get replay", pgx.NamedArgs{"projects": in.IDs(), "id": id})
}

// Attempt is an attempt as it is stored.
type Attempt struct {
	Number int
	Role   Role
	Index  int
	Status Status
	RunID  uuid.UUID
	Reused bool
	// StopReason is nil before the end.
	StopReason *engine.StopReason
	// Detail says what happened to an attempt that ended before its end, and Remedy what to do. Neither has a text of the run.
	Detail *string
	Remedy *string
	// Result is a [Result] as JSON, nil before the end. [Service.Details] has the rest.
	Result     *string
	StartedAt  *time.Time
	FinishedAt *time.Time
}

// Attempts returns the attempts of a replay in the order in which they are made.
func (s *Service) Attempts(ctx context.Context, r *Replay) ([]Attempt, error) {
	return postgres.Many[Attempt](ctx, s.db, "list attempts", pgx.NamedArgs{"id": r.ID})
}

// Details returns what an attempt that ended did.
func (s *Service) Details(ctx context.Context, r *Replay, number int) (details Details, err error) {
	stored, err := postgres.One[struct{ Details *string }](ctx, s.db, "get details", pgx.NamedArgs{"id": r.ID, "number": number})
	if err != nil || stored.Details == nil {
		return details, err
	}
	if err := json.Unmarshal([]byte(*stored.Details), &details); err != nil {
		return details, fmt.Errorf("read what attempt %d of replay %s did: %w", number, r.ID, err)
	}
	return details, nil
}

// CostOf returns what the requests of a replay cost so far.
func (s *Service) CostOf(ctx context.Context, r *Replay) (cost providers.EvaluationCost, err error) {
	if r.Cost == nil {
		return s.providers.EvaluationCost(ctx, r.ID) //nolint:wrapcheck // it names the statement
	}
	if err := json.Unmarshal([]byte(*r.Cost), &cost); err != nil {
		return cost, fmt.Errorf("read the cost of replay %s: %w", r.ID, err)
	}
	return cost, nil
}

// Delete deletes a replay. The runs of its attempts stay.
func (s *Service) Delete(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	found, err := s.Get(ctx, grant, id)
	if err != nil {
		return err
	}
	switch {
	case found.BatchID != nil:
		return errInBatch
	case found.unfinished():
		return errRunning
	}
	err = s.db.Delete(ctx, "delete replay", pgx.NamedArgs{"projects": grant.IDs(), "id": id})
	if errors.Is(err, postgres.ErrNotFound) { // it was extended or deleted in the meantime
		if _, err := s.Get(ctx, grant, id); err == nil {
			return errRunning
		}
	}
	return err
}

// Rename changes the name of a replay.
func (s *Service) Rename(ctx context.Context, grant access.Grant, id uuid.UUID, name string) (Replay, error) {
	if err := validate.Printable("body.name", name); err != nil {
		return Replay{}, err
	}
	return s.change(ctx, grant, id, func(ctx context.Context, tx postgres.DB, _ *Replay) error {
		_, err := tx.Exec(ctx, "rename replay", pgx.NamedArgs{"projects": grant.IDs(), "id": id, "name": name})
		return err
	})
}

// jobArgs name the replay of a job.
type jobArgs struct {
	ReplayID uuid.UUID `json:"replay_id"`
	queue    string
}

// Kind is that of the jobs.
func (jobArgs) Kind() string { return "replay" }

// Queue is the queue of the job.
func (a jobArgs) Queue() string { return a.queue }

// Cancel cancels a replay. A job judges what is there. One that has ended stays as it is.
func (s *Service) Cancel(ctx context.Context, grant access.Grant, id uuid.UUID) (Replay, error) {
	return s.change(ctx, grant, id, func(ctx context.Context, tx postgres.DB, r *Replay) error {
		if !r.unfinished() {
			return nil
		}
		if r.BatchID != nil {
			return errInBatch
		}
		if r.JobID != nil {
			if err := s.jobs.Cancel(ctx, tx.PGX(), *r.JobID); err != nil {
				return err
			}
		}
		if err := s.jobs.Give(ctx, tx, r.ProjectID, jobArgs{r.ID, work.Summaries}, func(job int64) (int64, error) {
			return tx.Exec(ctx, "cancel replay", pgx.NamedArgs{"id": r.ID, "job": job, "now": s.now()})
		}); err != nil {
			return err
		}
		return s.cancelAttempts(ctx, tx, r.ID, nil, StopCancelled)
	})
}

// cancelAttempts ends the attempts that have not ended. What they did so far is removed: it has texts of the run.
func (s *Service) cancelAttempts(ctx context.Context, tx postgres.DB, id uuid.UUID, try *uuid.UUID, stop engine.StopReason) error {
	detail, remedy := NotMade(stop)
	args := pgx.NamedArgs{"id": id, "try": try, "stop": stop, "detail": detail, "remedy": remedy, "now": s.now()}
	if _, err := tx.Exec(ctx, "cancel attempts", args); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "remove steps", pgx.NamedArgs{"id": id, "number": nil})
	return err
}

// Extension is more attempts of a replay. Nil members stay.
type Extension struct {
	Controls, Treatments *int
	MaxCost              *providers.Money
}

// Counts returns how many attempts there shall be.
func (e *Extension) Counts(controls, treatments int, executor engine.Executor) (int, int, error) {
	for _, n := range []struct {
		name string
		to   *int
		from *int
	}{{"controls", e.Controls, &controls}, {"treatments", e.Treatments, &treatments}} {
		switch {
		case n.to == nil:
		case *n.to < *n.from:
			return 0, 0, problem.InvalidField("body."+n.name, fmt.Sprintf("must be %d or more: attempts that were made stay", *n.from))
		case *n.to > 1 && executor == engine.ExecutorCassette:
			return 0, 0, problem.InvalidField("body."+n.name, "must be at most 1: nothing varies where no model is called")
		default:
			*n.from = *n.to
		}
	}
	return controls, treatments, nil
}

// Extend makes the attempts that are missing, those that failed, and more. What there is stays if the recording is no longer the same.
func (s *Service) Extend(ctx context.Context, grant access.Grant, id uuid.UUID, more Extension) (Replay, error) {
	if err := s.sameRecording(ctx, grant, id); err != nil {
		return Replay{}, err
	}
	return s.change(ctx, grant, id, func(ctx context.Context, tx postgres.DB, r *Replay) error {
		if r.BatchID != nil {
			return errInBatch
		}
		if r.unfinished() {
			return errRunning
		}
		config, err := r.ReadConfig()
		if err != nil {
			return err
		}
		if config.Edits.Removed() {
			return ErrEditRemoved
		}
		controls, treatments, err := more.Counts(r.Controls, r.Treatments, config.Executor)
		if err != nil {
			return err
		}
		if r.JobID != nil { // it may still judge
			if err := s.jobs.Cancel(ctx, tx.PGX(), *r.JobID); err != nil {
				return err
			}
		}
		again, err := tx.Exec(ctx, "open attempts again", pgx.NamedArgs{"id": r.ID})
		if err != nil {
			return err
		}
		added := attemptsOf(&config, nil, r.Controls, r.Treatments, controls, treatments)
		if again == 0 && len(added) == 0 && r.Status != StatusFailed {
			return ErrNothingMissing
		}
		if err := addAttempts(ctx, tx, r.ID, added); err != nil {
			return err
		}
		return s.jobs.Give(ctx, tx, r.ProjectID, jobArgs{r.ID, work.Calls}, func(job int64) (int64, error) {
			return tx.Exec(ctx, "extend replay", pgx.NamedArgs{"id": r.ID, "job": job, "controls": controls, "treatments": treatments, "max_cost": more.MaxCost})
		})
	})
}
