package batches

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
	"github.com/riverqueue/river"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

//go:embed queries.sql
var queries string

var errRunning = &problem.Error{Kind: problem.Conflict, Code: "replay_batch_running", Detail: "The batch is still running. Cancel it, or wait until it ends."}

// Service manages batches.
type Service struct {
	db        postgres.DB
	jobs      *work.Queue
	replays   *replays.Service
	runs      *runs.Service
	providers *providers.Service
	now       func() time.Time
}

// New returns a service on the database, which works on batches as jobs of the queue. now is the clock.
func New(pool *pgxpool.Pool, queue *work.Queue, single *replays.Service, recorded *runs.Service, models *providers.Service, now func() time.Time) *Service {
	s := &Service{postgres.NewDB(pool, queries), queue, single, recorded, models, postgres.Clock(now)}
	work.Register(queue, s.run)
	queue.Recover(work.Kind{
		Name: "replay batch", DB: s.db, List: "list lost batches", SetJob: "set job of batch",
		Job: func(lost work.Lost) river.JobArgs { return jobArgs{lost.ID, lost.Queue()} },
	})
	return s
}

// Part is why a run is in a batch.
type Part string

// The parts: runs that were chosen, as they failed, and runs that were drawn from those that ended well.
const (
	Chosen Part = "chosen"
	Good   Part = "good"
)

// RunOutcome is what became of a run of a batch. An attempt ends well if its outcome is 0.5 or more.
type RunOutcome string

// The outcomes. The first four are of chosen runs, the next three of good ones. Mixed is of both: some edited attempts end well.
const (
	// Repaired: all edited attempts end well, and no unedited one.
	Repaired RunOutcome = "repaired"
	// RecoversUnedited: all edited attempts end well, and an unedited one, too.
	RecoversUnedited RunOutcome = "recovers_unedited"
	StillFailing     RunOutcome = "still_failing"
	Mixed            RunOutcome = "mixed"
	// Kept: all edited attempts end well.
	Kept RunOutcome = "kept"
	// Broken: no edited attempt ends well, and all unedited ones.
	Broken RunOutcome = "broken"
	// FailsUnedited: no edited attempt ends well, and not all unedited ones.
	FailsUnedited RunOutcome = "fails_unedited"
	// OutcomeUnknown: no edited or no unedited attempt has an outcome.
	OutcomeUnknown RunOutcome = "unknown"
	NotReplayable  RunOutcome = "not_replayable"
)

// Config is what a batch edits, and how its runs are replayed. It is the same for ever.
type Config struct {
	Executor     engine.Executor              `json:"executor"`
	ProviderID   *uuid.UUID                   `json:"provider_id"`
	ProviderName string                       `json:"provider_name"`
	Edits        edit.Stored                  `json:"edits"`
	Texts        []string                     `json:"texts"`
	Tools        map[string]engine.ToolPolicy `json:"tools"`
	Outcome      json.RawMessage              `json:"outcome,omitempty"`
	Panel        json.RawMessage              `json:"panel,omitempty"`
	// RunFilter has the query parameters that chose the runs, empty for ids. Matched is how many runs it found.
	RunFilter string           `json:"run_filter,omitempty"`
	Matched   uint64           `json:"matched"`
	Estimate  replays.Estimate `json:"estimate"`
}

// Graded reports whether something says how attempts ended.
func (c *Config) Graded() bool { return len(c.Outcome) > 0 || len(c.Panel) > 0 }

// Batch is a batch of replays.
type Batch struct {
	ID        uuid.UUID
	ProjectID uuid.UUID
	Name      string
	// Config is a [Config] as JSON.
	Config         string
	Controls       int
	Treatments     int
	Looks          int
	MaxCostNanousd *providers.Money
	AllowUnpriced  bool
	Status         replays.Status
	StopReason     *string
	ErrorCode      *string
	ErrorDetail    *string
	JobID          *int64
	// Result is a [Result] as JSON, nil before the end.
	Result      *string
	CreatedAt   time.Time
	StartedAt   *time.Time
	FinishedAt  *time.Time
	AuthorEmail *string
	AuthorKey   *string
	CreatedByID *uuid.UUID
	// Chosen and Good count runs, Planned those of which it is known whether they can be replayed, and NotReplayable those that cannot.
	Chosen, Good, Planned, NotReplayable int
	// Total, Done and Failed count attempts of runs that can be replayed.
	Total, Done, Failed int
}

func (b *Batch) unfinished() bool {
	return b.Status == replays.StatusQueued || b.Status == replays.StatusRunning
}

// ReadConfig returns how the runs are replayed.
func (b *Batch) ReadConfig() (config Config, err error) {
	if err := json.Unmarshal([]byte(b.Config), &config); err != nil {
		return config, fmt.Errorf("read the configuration of batch %s: %w", b.ID, err)
	}
	return config, nil
}

// ReadResult returns the result, nil before the end.
func (b *Batch) ReadResult() (*Result, error) {
	if b.Result == nil {
		return nil, nil //nolint:nilnil // there is none yet
	}
	var result Result
	if err := json.Unmarshal([]byte(*b.Result), &result); err != nil {
		return nil, fmt.Errorf("read the result of batch %s: %w", b.ID, err)
	}
	return &result, nil
}

// Run is a run of a batch.
type Run struct {
	Number int
	RunID  uuid.UUID
	// RunName is empty for a run that was not read yet.
	RunName  string
	Part     Part
	ReplayID *uuid.UUID
	// Code and Detail say why it cannot be replayed.
	Code, Detail *string
	Outcome      *RunOutcome
	Status       *replays.Status
	// Total and Done count its attempts.
	Total, Done int
}

// List returns a page of batches, the newest first.
func (s *Service) List(ctx context.Context, grant access.Grant, status replays.Status, page postgres.Page) ([]Batch, bool, error) {
	return postgres.List[Batch](ctx, s.db, "list batches", page, pgx.NamedArgs{"projects": grant.IDs(), "id": nil, "status": status})
}

// Get returns a batch.
func (s *Service) Get(ctx context.Context, grant access.Grant, id uuid.UUID) (Batch, error) {
	return s.get(ctx, s.db, grant.Projects, id)
}

func (s *Service) get(ctx context.Context, db postgres.DB, in access.Projects, id uuid.UUID) (Batch, error) {
	return postgres.One[Batch](ctx, db, "list batches", pgx.NamedArgs{"projects": in.IDs(), "id": id, "status": "", "limit": 1, "offset": 0})
}

// ByID returns those of the batches that exist, with what they edit and show. Their runs and attempts are not counted.
func (s *Service) ByID(ctx context.Context, in access.Projects, ids []uuid.UUID) ([]Batch, error) {
	rows, err := postgres.Many[struct {
		ID     uuid.UUID
		Name   string
		Config string
		Status replays.Status
		Result *string
	}](ctx, s.db, "get batches", pgx.NamedArgs{"projects": in.IDs(), "ids": ids})
	found := make([]Batch, len(rows))
	for i, row := range rows {
		found[i] = Batch{ID: row.ID, Name: row.Name, Config: row.Config, Status: row.Status, Result: row.Result}
	}
	return found, err
}

// FailedRuns returns the runs of a batch that were chosen because they failed.
func (s *Service) FailedRuns(ctx context.Context, in access.Projects, id uuid.UUID) ([]uuid.UUID, error) {
	rows, err := postgres.Many[struct{ RunID uuid.UUID }](ctx, s.db, "list failed runs of batch", pgx.NamedArgs{"projects": in.IDs(), "id": id})
	ids := make([]uuid.UUID, len(rows))
	for i := range rows {
		ids[i] = rows[i].RunID
	}
	return ids, err
}

// RunsOf returns a page of the runs of a batch, those with an outcome only if one is given.
func (s *Service) RunsOf(ctx context.Context, b *Batch, outcome RunOutcome, page postgres.Page) ([]Run, bool, error) {
	return postgres.List[Run](ctx, s.db, "list runs of batch", page, pgx.NamedArgs{"id": b.ID, "outcome": outcome})
}

// CostOf returns what the requests of a batch cost so far.
func (s *Service) CostOf(ctx context.Context, b *Batch) (cost providers.EvaluationCost, err error) {
	result, err := b.ReadResult()
	if err != nil {
		return cost, err
	}
	if result != nil {
		return result.Cost, nil
	}
	return s.cost(ctx, b.ID)
}

func (s *Service) cost(ctx context.Context, id uuid.UUID) (providers.EvaluationCost, error) {
	members, err := s.members(ctx, id)
	if err != nil {
		return providers.EvaluationCost{}, err
	}
	return s.providers.EvaluationCost(ctx, members...) //nolint:wrapcheck // it names the statement
}

// members returns the replays of a batch.
func (s *Service) members(ctx context.Context, id uuid.UUID) ([]uuid.UUID, error) {
	rows, err := postgres.Many[struct{ ID uuid.UUID }](ctx, s.db, "list ids of replays of batch", pgx.NamedArgs{"id": id})
	ids := make([]uuid.UUID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids, err
}

// Rename changes the name of a batch.
func (s *Service) Rename(ctx context.Context, grant access.Grant, id uuid.UUID, name string) (Batch, error) {
	if err := validate.Printable("body.name", name); err != nil {
		return Batch{}, err
	}
	return s.change(ctx, grant, id, func(ctx context.Context, tx postgres.DB, _ *Batch) error {
		_, err := tx.Exec(ctx, "rename batch", pgx.NamedArgs{"id": id, "name": name})
		return err
	})
}

// Delete deletes a batch with its replays. The runs of their attempts stay.
func (s *Service) Delete(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	_, err := s.Get(ctx, grant, id)
	if err != nil {
		return err
	}
	err = s.db.Delete(ctx, "delete batch", pgx.NamedArgs{"projects": grant.IDs(), "id": id})
	if errors.Is(err, postgres.ErrNotFound) {
		if _, err := s.Get(ctx, grant, id); err == nil {
			return errRunning
		}
	}
	return err
}

// Cancel cancels a batch. A job says what the attempts that ended show. One that has ended stays as it is.
func (s *Service) Cancel(ctx context.Context, grant access.Grant, id uuid.UUID) (Batch, error) {
	return s.change(ctx, grant, id, func(ctx context.Context, tx postgres.DB, b *Batch) error {
		if !b.unfinished() {
			return nil
		}
		if b.JobID != nil {
			if err := s.jobs.Cancel(ctx, tx.PGX(), *b.JobID); err != nil {
				return err
			}
		}
		if err := s.jobs.Give(ctx, tx, b.ProjectID, jobArgs{b.ID, work.Summaries}, func(job int64) (int64, error) {
			return tx.Exec(ctx, "cancel batch", pgx.NamedArgs{"id": b.ID, "job": job, "now": s.now()})
		}); err != nil {
			return err
		}
		return s.endMembers(ctx, tx, b.ID, replays.StatusCancelled, replays.StopCancelled)
	})
}

// endMembers ends the replays of a batch that have not ended, with their attempts.
func (s *Service) endMembers(ctx context.Context, tx postgres.DB, id uuid.UUID, status replays.Status, stop engine.StopReason) error {
	detail, remedy := replays.NotMade(stop)
	args := pgx.NamedArgs{"id": id, "status": status, "stop": stop, "detail": detail, "remedy": remedy, "now": s.now()}
	for _, statement := range []string{"cancel attempts of batch", "remove steps of batch", "end replays of batch"} {
		if _, err := tx.Exec(ctx, statement, args); err != nil {
			return err
		}
	}
	return nil
}

// Extend makes the attempts that are missing, those that failed, and more of each run.
func (s *Service) Extend(ctx context.Context, grant access.Grant, id uuid.UUID, more replays.Extension) (Batch, error) {
	return s.change(ctx, grant, id, func(ctx context.Context, tx postgres.DB, b *Batch) error {
		if b.unfinished() {
			return errRunning
		}
		config, err := b.ReadConfig()
		if err != nil {
			return err
		}
		if config.Edits.Removed() {
			return replays.ErrEditRemoved
		}
		controls, treatments, err := more.Counts(b.Controls, b.Treatments, config.Executor)
		if err != nil {
			return err
		}
		if b.JobID != nil { // it may still judge
			if err := s.jobs.Cancel(ctx, tx.PGX(), *b.JobID); err != nil {
				return err
			}
		}
		again, err := tx.Exec(ctx, "open attempts of batch again", pgx.NamedArgs{"id": b.ID})
		if err != nil {
			return err
		}
		if again == 0 && controls == b.Controls && treatments == b.Treatments && b.Planned == b.Chosen+b.Good && b.Status != replays.StatusFailed {
			return replays.ErrNothingMissing
		}
		members, err := postgres.Many[struct {
			ID                   uuid.UUID
			Config               string
			Controls, Treatments int
		}](ctx, tx, "list replays of batch", pgx.NamedArgs{"id": b.ID})
		if err != nil {
			return err
		}
		for _, one := range members {
			r := replays.Replay{ID: one.ID, Config: one.Config}
			config, err := r.ReadConfig()
			if err != nil {
				return err
			}
			to, from := [2]int{controls, treatments}, [2]int{one.Controls, one.Treatments}
			if config.Executor == engine.ExecutorCassette { // nothing varies
				to = from
			}
			if err := s.replays.AddAttempts(ctx, tx.PGX(), r.ID, &config, from, to); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "extend replay of batch", pgx.NamedArgs{"id": r.ID, "controls": to[0], "treatments": to[1]}); err != nil {
				return err
			}
		}
		return s.jobs.Give(ctx, tx, b.ProjectID, jobArgs{b.ID, work.Calls}, func(job int64) (int64, error) {
			return tx.Exec(ctx, "extend batch", pgx.NamedArgs{"id": b.ID, "job": job, "controls": controls, "treatments": treatments, "max_cost": more.MaxCost})
		})
	})
}

// change changes a batch under a lock.
func (s *Service) change(ctx context.Context, grant access.Grant, id uuid.UUID, do func(context.Context, postgres.DB, *Batch) error) (Batch, error) {
	return replays.ChangeLocked(ctx, s.db, "lock batch", grant, id, s.get, do)
}
