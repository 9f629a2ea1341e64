// Package rules scores runs as they come. A rule takes a share of the runs that match its filter, and scores each of them once with graders
// and judges. One job finds runs that were written and have ended, others score them.
package rules

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations/execute"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

//go:embed queries.sql
var queries string

const (
	// findEvery is how often runs are looked for.
	findEvery = 5 * time.Second
	// quietTime is how long nothing of a run must have been written for it to be taken.
	quietTime = 30 * time.Second
	// maxFound is how many runs of a rule are found at a time, and maxPages how many times in a pass.
	maxFound, maxPages = 1000, 10
	// catchUpTime is how far back a rule goes that is resumed.
	catchUpTime = 7 * 24 * time.Hour
	// maxRules is how many rules a project has.
	maxRules = 100
)

// Status is what a rule does.
type Status string

// The statuses.
const (
	Active  Status = "active"
	Paused  Status = "paused"
	Stopped Status = "stopped"
)

// RunStatus is what became of a run.
type RunStatus string

// The statuses of runs.
const (
	Pending      RunStatus = "pending"
	Scored       RunStatus = "scored"
	PartlyScored RunStatus = "partly_scored"
	Failed       RunStatus = "failed"
	Skipped      RunStatus = "skipped"
	OverBudget   RunStatus = "over_budget"
)

// Errors for the client.
var (
	// ErrNameTaken is returned if the project has a rule of the name.
	ErrNameTaken = &problem.Error{Kind: problem.Conflict, Code: problem.CodeNameTaken, Detail: "This project already has a rule with this name."}
	errTooMany   = problem.InvalidField("body.name", fmt.Sprintf("is one too many: a project has at most %d rules", maxRules))
)

// Filters reads the filter of a rule, a query string, as a filter of the project's runs. An error that is [problem.Invalid] says what is
// wrong with it.
type Filters func(project uuid.UUID, text string) (runs.Filter, error)

// Service manages rules, and scores runs by them.
type Service struct {
	db      postgres.DB
	jobs    *work.Queue
	runs    *runs.Service
	judging *execute.Worker
	filters Filters
	now     func() time.Time
	log     *slog.Logger
}

// findArgs are those of the job that looks for runs.
type findArgs struct{}

// Kind is that of the job.
func (findArgs) Kind() string { return "eval_rules" }

// scoreArgs name the rule of a job that scores runs.
type scoreArgs struct {
	RuleID uuid.UUID `json:"rule_id"`
}

// Kind is that of the jobs.
func (scoreArgs) Kind() string { return "eval_rule" }

// Queue is the queue of the job.
func (scoreArgs) Queue() string { return work.Rules }

// Once is whether one that waits or runs is enough.
func (scoreArgs) Once() bool { return true }

// New returns a service on the database, which works as jobs of the queue. now is the clock.
func New(
	pool *pgxpool.Pool, queue *work.Queue, reader *runs.Service, judging *execute.Worker, filters Filters, now func() time.Time, log *slog.Logger,
) *Service {
	s := &Service{postgres.NewDB(pool, queries), queue, reader, judging, filters, postgres.Clock(now), log}
	work.Repeat(queue, findEvery, findArgs{}, func(ctx context.Context, _ findArgs, _ bool) error {
		if err := s.Find(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "look for runs to score; will retry", "error", err)
		}
		return nil
	})
	work.Register(queue, func(ctx context.Context, args scoreArgs, _ bool) error { return s.Score(ctx, args.RuleID) })
	return s
}

// Rule scores runs as they come.
type Rule struct {
	ID         uuid.UUID
	ProjectID  uuid.UUID
	Name       string
	Version    int
	Status     Status
	StopCode   *string
	StopDetail *string
	StopRemedy *string
	StoppedAt  *time.Time
	RunFilter  string
	SampleRate float64
	// GroupBy is by what runs belong together: session, user, or the path of a member of the metadata.
	GroupBy string
	// Scoring is an [evaluations.Scoring] as JSON.
	Scoring        string
	MaxCostNanousd *providers.Money
	AllowUnpriced  bool
	// MarkWrittenAt and MarkRunID are the place up to which written runs were looked at. Runs that ended before TakesFrom are not taken.
	MarkWrittenAt time.Time
	MarkRunID     uuid.UUID
	TakesFrom     time.Time
	CreatedByID   *uuid.UUID
	AuthorEmail   *string
	AuthorKey     *string
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// ReadScoring returns the graders and panels.
func (r *Rule) ReadScoring() (execute.Scoring, error) {
	var scoring execute.Scoring
	if err := json.Unmarshal([]byte(r.Scoring), &scoring); err != nil {
		return scoring, fmt.Errorf("read the scoring of rule %s: %w", r.ID, err)
	}
	return scoring, nil
}

// List returns a page of rules, by name. An empty status selects all.
func (s *Service) List(ctx context.Context, grant access.Grant, status Status, page postgres.Page) ([]Rule, bool, error) {
	return postgres.List[Rule](ctx, s.db, "list rules", page, pgx.NamedArgs{"projects": grant.IDs(), "status": status})
}

// Get returns a rule.
func (s *Service) Get(ctx context.Context, grant access.Grant, id uuid.UUID) (Rule, error) {
	return s.get(ctx, s.db, grant.Projects, id)
}

func (s *Service) get(ctx context.Context, db postgres.DB, in access.Projects, id uuid.UUID) (Rule, error) {
	return postgres.One[Rule](ctx, db, "get rule", pgx.NamedArgs{"projects": in.IDs(), "id": id})
}

// Create makes a rule that is active. It returns [ErrNameTaken] if the name is in use.
func (s *Service) Create(ctx context.Context, grant access.Grant, w *Wanted) (Rule, error) {
	project, err := grant.Project()
	if err != nil {
		return Rule{}, err
	}
	args, err := s.check(ctx, grant, project, w)
	if err != nil {
		return Rule{}, err
	}
	args["id"], args["project"], args["nowhere"], args["author"], args["author_key"] = postgres.NewID(), project, uuid.Nil, grant.CreatedBy(), grant.CreatedByKey()
	var created Rule
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		// The lock keeps concurrent requests from exceeding the limit together.
		if _, err := tx.Exec(ctx, "lock project", args); err != nil {
			return err
		}
		count, err := postgres.One[struct{ Rules int }](ctx, tx, "count rules", args)
		if err != nil {
			return err
		}
		if count.Rules >= maxRules {
			return errTooMany
		}
		if _, err := tx.Exec(ctx, "create rule", args); err != nil {
			return err
		}
		created, err = s.get(ctx, tx, grant.Projects, args["id"].(uuid.UUID))
		return err
	})
	return created, nameTaken(err)
}

func nameTaken(err error) error {
	if postgres.Violates(err, "eval_rules_project_id_name_key") {
		return ErrNameTaken
	}
	return err
}

// Update changes a rule to what is wanted, which it was when before was read. A change of what is scored, or how, counts the version up, and
// is that by which runs are scored that are waiting.
func (s *Service) Update(ctx context.Context, grant access.Grant, before *Rule, w *Wanted) (Rule, error) {
	grant.Projects = grant.Only(before.ProjectID)
	args, err := s.check(ctx, grant, before.ProjectID, w)
	if err != nil {
		return Rule{}, err
	}
	changed := 0
	if args["run_filter"] != before.RunFilter || args["group_by"] != before.GroupBy || !w.sameScoring {
		changed = 1
	}
	args["id"], args["changed"] = before.ID, changed
	return s.change(ctx, grant, before.ID, func(ctx context.Context, tx postgres.DB, r *Rule) error {
		if !r.UpdatedAt.Equal(before.UpdatedAt) {
			return &problem.Error{Kind: problem.Conflict, Code: "rule_changed", Detail: "Someone changed the rule in the meantime. Reload it, then make your change again."}
		}
		if _, err := tx.Exec(ctx, "update rule", args); err != nil {
			return nameTaken(err)
		}
		_, err := tx.Exec(ctx, "move pending runs", args)
		return err
	})
}

// change changes a rule under a lock.
func (s *Service) change(ctx context.Context, grant access.Grant, id uuid.UUID, do func(context.Context, postgres.DB, *Rule) error) (Rule, error) {
	var changed Rule
	err := s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		if _, err := postgres.One[struct{ ID uuid.UUID }](ctx, tx, "lock rule", pgx.NamedArgs{"projects": grant.IDs(), "id": id}); err != nil {
			return err
		}
		found, err := s.get(ctx, tx, grant.Projects, id)
		if err != nil {
			return err
		}
		if err := do(ctx, tx, &found); err != nil {
			return err
		}
		changed, err = s.get(ctx, tx, grant.Projects, id)
		return err
	})
	return changed, err
}

// Pause ends the taking of runs. A rule that stopped stays so.
func (s *Service) Pause(ctx context.Context, grant access.Grant, id uuid.UUID) (Rule, error) {
	return s.change(ctx, grant, id, func(ctx context.Context, tx postgres.DB, _ *Rule) error {
		_, err := tx.Exec(ctx, "pause rule", pgx.NamedArgs{"id": id, "now": s.now()})
		return err
	})
}

// Resume makes a rule active again. With catchUp, runs are taken that ended while it was not, of the last seven days.
func (s *Service) Resume(ctx context.Context, grant access.Grant, id uuid.UUID, catchUp bool) (Rule, error) {
	return s.change(ctx, grant, id, func(ctx context.Context, tx postgres.DB, _ *Rule) error {
		from := s.now()
		if catchUp {
			from = from.Add(-catchUpTime)
		}
		_, err := tx.Exec(ctx, "resume rule", pgx.NamedArgs{"id": id, "now": s.now(), "from": from, "nowhere": uuid.Nil})
		return err
	})
}

// Delete deletes a rule with what it did. The scores of runs stay.
func (s *Service) Delete(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	if _, err := s.Get(ctx, grant, id); err != nil { // unlike the deletion, it does not wait long for a database that does not answer
		return err
	}
	return s.db.LongDelete(ctx, "delete rule", pgx.NamedArgs{"projects": grant.IDs(), "id": id})
}

// codeDeleted says that a run was deleted.
const codeDeleted = "run_deleted"

// Forget removes what rules keep of runs that are deleted. Each is still counted, as skipped.
func (s *Service) Forget(ctx context.Context, in access.Projects, ids []uuid.UUID) error {
	args := pgx.NamedArgs{"projects": in.IDs(), "runs": ids, "code": codeDeleted, "detail": "The run was deleted.", "now": s.now()}
	return s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		for _, statement := range []string{"forget runs", "forget votes", "forget scores"} { // the first one locks, so that no worker adds to them
			if _, err := tx.Exec(ctx, statement, args); err != nil {
				return err
			}
		}
		return nil
	})
}

// stop stops a rule by itself.
func (s *Service) stop(ctx context.Context, r *Rule, code, detail string) error {
	stopped, err := s.db.Exec(ctx, "stop rule", pgx.NamedArgs{
		"id": r.ID, "version": r.Version, "code": code, "detail": utf8text.Storable(detail), "remedy": remedyOf(code), "now": s.now(),
	})
	if err == nil && stopped > 0 {
		s.log.WarnContext(ctx, "a rule stopped", "rule_id", r.ID, "project_id", r.ProjectID, "code", code)
	}
	return err
}
