// Package diagnoses asks a model why runs failed, and keeps of its claims those that quote what was recorded. A quote is looked up in the
// recorded step by code: see [find].
package diagnoses

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
	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

//go:embed queries.sql
var queries string

// Status is what became of a diagnosis.
type Status string

// The statuses.
const (
	StatusQueued    Status = "queued"
	StatusRunning   Status = "running"
	StatusSucceeded Status = "succeeded"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

var errRunning = &problem.Error{Kind: problem.Conflict, Code: "diagnosis_running", Detail: "The diagnosis is still running. Cancel it, or wait until it ends."}

// Groups reads groups of failed runs.
type Groups interface {
	Get(ctx context.Context, projects access.Projects, filter runs.Filter, window time.Duration, fingerprint string) (failures.Page, error)
}

// Recordings reads runs as replays do.
type Recordings interface {
	Replayability(ctx context.Context, projects access.Projects, run uuid.UUID) (*recorded.Recording, error)
}

// Service manages diagnoses.
type Service struct {
	db          postgres.DB
	jobs        *work.Queue
	runs        *runs.Service
	groups      Groups
	recordings  Recordings
	providers   *providers.Service
	completions *completions.Service
	fenceKey    []byte
	now         func() time.Time
}

// New returns a service on the database, which works on diagnoses as jobs of the queue. The marks around recorded text follow from fenceKey.
// now is the clock.
func New(
	pool *pgxpool.Pool, queue *work.Queue, stored *runs.Service, groups Groups, recordings Recordings, models *providers.Service, completed *completions.Service,
	fenceKey []byte, now func() time.Time,
) *Service {
	s := &Service{postgres.NewDB(pool, queries), queue, stored, groups, recordings, models, completed, fenceKey, postgres.Clock(now)}
	work.Register(queue, s.run)
	queue.Recover(work.Kind{
		Name: "diagnosis", DB: s.db, List: "list lost diagnoses", SetJob: "set job of diagnosis",
		Job: func(lost work.Lost) river.JobArgs { return jobArgs{lost.ID} },
	})
	return s
}

// jobArgs name the diagnosis of a job.
type jobArgs struct {
	DiagnosisID uuid.UUID `json:"diagnosis_id"`
}

// Kind is that of the jobs.
func (jobArgs) Kind() string { return "diagnosis" }

// Queue is the queue of the jobs.
func (jobArgs) Queue() string { return work.Calls }

// Diagnosis is what a model was asked, and what it claimed.
type Diagnosis struct {
	ID        uuid.UUID
	ProjectID uuid.UUID
	Name      string
	// Fingerprint is nil where runs were named.
	Fingerprint *string
	// Config is a [Config], Answer an [Answer] and Result a [Result], as JSON. The last two are nil before there is one.
	Config         string
	MaxCostNanousd *providers.Money
	AllowUnpriced  bool
	Status         Status
	ErrorCode      *string
	ErrorDetail    *string
	JobID          *int64
	Answer         *string
	Result         *string
	CreatedAt      time.Time
	StartedAt      *time.Time
	FinishedAt     *time.Time
	AuthorEmail    *string
	AuthorKey      *string
	CreatedByID    *uuid.UUID
}

// Config is what is asked of whom, about which runs.
type Config struct {
	ProviderID   uuid.UUID `json:"provider_id"`
	ProviderName string    `json:"provider_name"`
	Model        string    `json:"model"`
	// PromptVersion is that of the instructions to the model.
	PromptVersion int `json:"prompt_version"`
	// Group says what is known of the group, in words. Names in it are safe, and recorded text is between marks.
	Group    string     `json:"group"`
	Runs     []AskedRun `json:"runs"`
	Estimate Estimate   `json:"estimate"`
}

// AskedRun is a run that the model sees.
type AskedRun struct {
	RunID uuid.UUID `json:"run_id"`
	Name  string    `json:"name"`
	// Good is whether the run ended well. The others failed.
	Good bool `json:"good"`
}

// Answer is what the model answered.
type Answer struct {
	// Content is the JSON of the answer, empty if it had none that can be read. Finish is why the model ended.
	Content string `json:"content"`
	Finish  string `json:"finish"`
	// Model is the one that answered, as the provider says.
	Model string `json:"model"`
	// RunID is the recorded run of the call.
	RunID uuid.UUID `json:"run_id"`
	// Asked is how often the model was asked.
	Asked        int    `json:"asked"`
	InputTokens  *int64 `json:"input_tokens"`
	OutputTokens *int64 `json:"output_tokens"`
}

// Result is what is kept of an answer.
type Result struct {
	Claims []Claim `json:"claims"`
	// Dropped counts the claims that were dropped, by the reason.
	Dropped map[Reason]int `json:"dropped"`
}

// decode reads a part of a row, nil if it has none.
func decode[T any](part string, of uuid.UUID, text *string) (*T, error) {
	if text == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	value := new(T)
	if err := json.Unmarshal([]byte(*text), value); err != nil {
		return nil, fmt.Errorf("read the %s of diagnosis %s: %w", part, of, err)
	}
	return value, nil
}

// ReadConfig returns what is asked.
func (d *Diagnosis) ReadConfig() (*Config, error) {
	return decode[Config]("configuration", d.ID, &d.Config)
}

// ReadAnswer returns what the model answered, nil before.
func (d *Diagnosis) ReadAnswer() (*Answer, error) { return decode[Answer]("answer", d.ID, d.Answer) }

// ReadResult returns what is kept of the answer, nil before the end.
func (d *Diagnosis) ReadResult() (*Result, error) { return decode[Result]("result", d.ID, d.Result) }

// Filter selects diagnoses. Zero fields select all.
type Filter struct {
	Fingerprint string
	Status      Status
}

// List returns a page of diagnoses, the newest first.
func (s *Service) List(ctx context.Context, grant access.Grant, filter Filter, page postgres.Page) ([]Diagnosis, bool, error) {
	return postgres.List[Diagnosis](ctx, s.db, "list diagnoses", page, pgx.NamedArgs{
		"projects": grant.IDs(), "id": nil, "fingerprint": filter.Fingerprint, "status": filter.Status,
	})
}

// Get returns a diagnosis.
func (s *Service) Get(ctx context.Context, grant access.Grant, id uuid.UUID) (Diagnosis, error) {
	return s.get(ctx, s.db, grant.Projects, id)
}

func (s *Service) get(ctx context.Context, db postgres.DB, in access.Projects, id uuid.UUID) (Diagnosis, error) {
	return postgres.One[Diagnosis](ctx, db, "list diagnoses", pgx.NamedArgs{"projects": in.IDs(), "id": id, "fingerprint": "", "status": "", "limit": 1, "offset": 0})
}

// CostOf returns what the requests of a diagnosis cost so far.
func (s *Service) CostOf(ctx context.Context, d *Diagnosis) (providers.EvaluationCost, error) {
	return s.providers.EvaluationCost(ctx, d.ID) //nolint:wrapcheck // it names the statement
}

// Delete deletes a diagnosis. The run of its call stays.
func (s *Service) Delete(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	err := s.db.Delete(ctx, "delete diagnosis", pgx.NamedArgs{"projects": grant.IDs(), "id": id})
	if errors.Is(err, postgres.ErrNotFound) {
		if _, err := s.Get(ctx, grant, id); err == nil {
			return errRunning
		}
	}
	return err
}

// Cancel cancels a diagnosis. One that has ended stays as it is.
func (s *Service) Cancel(ctx context.Context, grant access.Grant, id uuid.UUID) (changed Diagnosis, err error) {
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		cancelled, err := tx.Exec(ctx, "cancel diagnosis", pgx.NamedArgs{"projects": grant.IDs(), "id": id, "now": s.now()})
		if err != nil {
			return err
		}
		if changed, err = s.get(ctx, tx, grant.Projects, id); err != nil {
			return err
		}
		if cancelled > 0 && changed.JobID != nil {
			return s.jobs.Cancel(ctx, tx.PGX(), *changed.JobID)
		}
		return nil
	})
	return changed, err
}
