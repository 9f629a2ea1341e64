package batches

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/replays/verdict"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// atOnceLeast is how many replays of a batch are made at once at least, and atOnceMost at most. With two attempts of each role the former
// have more calls under way than most connections allow.
const atOnceLeast, atOnceMost = 8, 32

// jobArgs name the batch of a job.
type jobArgs struct {
	BatchID uuid.UUID `json:"batch_id"`
	queue   string
}

// Kind is that of the jobs.
func (jobArgs) Kind() string { return "replay_batch" }

// Queue is the queue of the job.
func (a jobArgs) Queue() string { return a.queue }

// try works on a batch.
type try struct {
	*Service
	id     uuid.UUID
	b      Batch
	config Config
	budget *providers.Budget

	mu sync.Mutex
	// judged has what the verdicts followed from, of replays that this try made. The others are read for the result.
	judged map[uuid.UUID]*verdict.Input
	// stop is why no more attempts are made. failure is set if a person must correct something first.
	stop    engine.StopReason
	failure *problem.Error
}

// run does the job of a batch.
func (s *Service) run(ctx context.Context, args jobArgs, last bool) error {
	t := &try{Service: s, id: uuid.New(), judged: map[uuid.UUID]*verdict.Input{}}
	job, _ := work.JobOf(ctx)
	begun, err := s.db.Exec(ctx, "begin batch", pgx.NamedArgs{"id": args.BatchID, "try": t.id, "job": job, "now": s.now()})
	if err != nil || begun == 0 { // it ended, was deleted, or has another job
		return err
	}
	return work.Attempt(ctx, "batch of replays", last, func(ctx context.Context) error { return t.do(ctx, args.BatchID) },
		func(ctx context.Context, failed *problem.Error) error {
			t.b.ID = args.BatchID
			return t.end(ctx, replays.StatusFailed, failed, nil)
		})
}

// do makes the replays that are missing, and says what they show.
func (t *try) do(ctx context.Context, id uuid.UUID) error {
	type project struct{ ProjectID uuid.UUID }
	owner, err := postgres.Many[project](ctx, t.db, "get batch of job", pgx.NamedArgs{"id": id, "try": t.id})
	if err != nil {
		return err
	}
	if len(owner) == 0 {
		return work.ErrFenced
	}
	if t.b, err = t.get(ctx, t.db, access.OfJob(owner[0].ProjectID), id); err != nil {
		return err
	}
	if t.config, err = t.b.ReadConfig(); err != nil {
		return err
	}
	if t.b.unfinished() {
		if err := t.replay(ctx); err != nil {
			return err
		}
	}
	result, err := t.judge(ctx)
	if err != nil {
		return err
	}
	status := t.b.Status
	switch {
	case t.failure != nil:
		status = replays.StatusFailed
	case t.b.unfinished():
		status = replays.StatusSucceeded
	}
	return t.end(ctx, status, t.failure, result)
}

// planRun stores a replay of a run, or why it cannot have one. It sets the id of the replay, unless there is none.
func (t *try) planRun(ctx context.Context, m *member) (*replays.Plan, error) {
	n := &replays.Wanted{
		Run: m.RunID, Edits: t.config.Edits.List, Executor: t.config.Executor, Provider: t.config.ProviderID, Controls: t.b.Controls, Treatments: t.b.Treatments,
		Tools: t.config.Tools, Outcome: t.config.Outcome, Panel: t.config.Panel, AllowUnpriced: t.b.AllowUnpriced,
	}
	p, code, err := t.planMember(ctx, access.Grant{Projects: access.OfJob(t.b.ProjectID)}, n, false)
	if err != nil && code == "" {
		if refused := problem.Of(err); refused != nil && refused.Kind == problem.Invalid { // the connection was deleted
			t.mu.Lock()
			defer t.mu.Unlock()
			t.failure = refused
			return nil, nil //nolint:nilnil // the batch ends
		}
		return nil, err
	}
	args := pgx.NamedArgs{"id": t.b.ID, "try": t.id, "number": m.Number, "replay": nil, "code": nil, "detail": nil}
	if err != nil {
		args["code"], args["detail"] = code, utf8text.Storable(problem.Of(err).Error())
		return nil, work.Change(ctx, t.db, "set replay of run", args)
	}
	id := postgres.NewID()
	args["replay"], m.ReplayID = id, &id
	return p, t.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		of := replays.InBatch{ID: id, Batch: t.b.ID, Author: t.b.CreatedByID, AuthorKey: t.b.AuthorKey}
		if err := t.replays.StoreInBatch(ctx, tx.PGX(), n, p, of); err != nil {
			return err
		}
		return work.Change(ctx, tx, "set replay of run", args)
	})
}

// member is a run of a batch while it is worked on.
type member struct {
	Number   int
	RunID    uuid.UUID
	Part     Part
	ReplayID *uuid.UUID
	// Code says why the run cannot be replayed, nil if it can, or was not planned.
	Code *string
	// Status is that of the replay, empty without one.
	Status replays.Status
}

// ended reports whether nothing is left to do for the run.
func (m *member) ended() bool {
	return m.Code != nil || m.ReplayID != nil && m.Status != replays.StatusQueued && m.Status != replays.StatusRunning
}

func (t *try) list(ctx context.Context) ([]member, error) {
	return postgres.Many[member](ctx, t.db, "list members", pgx.NamedArgs{"id": t.b.ID})
}

// replay makes the replays that have not ended, several at once. All of them have one budget. A run is planned when its turn comes, so that
// calls of other runs are under way meanwhile.
func (t *try) replay(ctx context.Context) error {
	list, err := t.list(ctx)
	if err != nil {
		return err
	}
	spent, err := t.cost(ctx, t.b.ID)
	if err != nil {
		return err
	}
	t.budget = providers.NewBudget(t.b.MaxCostNanousd, spent.Cost+spent.Bounded)
	// An error ends no calls of other replays, which are paid.
	var group errgroup.Group
	group.SetLimit(t.atOnce(ctx))
	failed := make(chan struct{})
	var once sync.Once
	for i := range list {
		one := &list[i]
		if one.ended() {
			continue
		}
		group.Go(func() error {
			select {
			case <-failed:
				return nil
			default:
			}
			if t.stopped() {
				return nil
			}
			if work.IsPreempted(ctx) {
				return work.ErrPreempted
			}
			err := t.member(ctx, one)
			if err != nil {
				once.Do(func() { close(failed) })
			}
			return err
		})
	}
	return group.Wait() //nolint:wrapcheck // by those who do the work
}

// atOnce is how many replays take all places of the connection while as many others are planned or judged. Without a connection, calls fail
// by themselves.
func (t *try) atOnce(ctx context.Context) int {
	if t.config.ProviderID == nil {
		return atOnceLeast
	}
	p, err := t.providers.Get(ctx, access.OfJob(t.b.ProjectID), *t.config.ProviderID)
	if err != nil {
		return atOnceLeast
	}
	return min(max(atOnceLeast, 2*p.MaxConcurrency/(t.b.Controls+t.b.Treatments)+1), atOnceMost)
}

// stopped reports whether no more attempts are made.
func (t *try) stopped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stop != "" || t.failure != nil
}

// member makes the replay of a run, which it plans first if that was not done.
func (t *try) member(ctx context.Context, m *member) error {
	var plan *replays.Plan
	if m.ReplayID == nil {
		var err error
		if plan, err = t.planRun(ctx, m); err != nil || m.ReplayID == nil {
			return err
		}
	}
	one := t.replays.Member(t.budget, plan)
	begun, err := t.db.Exec(ctx, "begin replay of batch", pgx.NamedArgs{"id": *m.ReplayID, "batch": t.b.ID, "batch_try": t.id, "try": one.Try(), "now": t.now()})
	if err != nil {
		return err
	}
	if begun == 0 {
		return work.ErrFenced
	}
	if err := one.Make(ctx, *m.ReplayID); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if evidence := one.Evidence(); evidence != nil {
		t.judged[*m.ReplayID] = evidence
	}
	if t.failure == nil && t.stop == "" {
		t.stop, t.failure = one.Stop()
	}
	return nil
}

// judge says what the replays show.
func (t *try) judge(ctx context.Context) (*Result, error) {
	list, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	found := make([]*verdict.Input, len(list))
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(plannedAtOnce)
	for i := range list {
		if list[i].ReplayID == nil {
			continue
		}
		if found[i] = t.judged[*list[i].ReplayID]; found[i] != nil {
			continue
		}
		group.Go(func() (err error) {
			found[i], err = t.replays.Evidence(reading, access.OfJob(t.b.ProjectID), *list[i].ReplayID)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // by those who do the work
	}
	evidence := map[Part][]verdict.Input{}
	numbers, outcomes := make([]int, len(list)), make([]string, len(list))
	counts := map[Part]map[RunOutcome]int{Chosen: {}, Good: {}}
	for i := range list {
		one := &list[i]
		outcome := OutcomeUnknown
		if one.Code != nil {
			outcome = NotReplayable
		}
		if in := found[i]; in != nil {
			in.Looks = t.b.Looks
			evidence[one.Part] = append(evidence[one.Part], *in)
			outcome = outcomeOf(one.Part, in)
		}
		counts[one.Part][outcome]++
		numbers[i], outcomes[i] = one.Number, string(outcome)
	}
	if _, err := t.db.Exec(ctx, "set outcomes of runs", pgx.NamedArgs{"id": t.b.ID, "try": t.id, "numbers": numbers, "outcomes": outcomes}); err != nil {
		return nil, err
	}
	cost, err := t.cost(ctx, t.b.ID)
	if err != nil {
		return nil, err
	}
	return resultOf(evidence, counts, t.config.Graded(), cost), nil
}

// end ends the batch, and what of it has not ended.
func (t *try) end(ctx context.Context, status replays.Status, failure *problem.Error, result *Result) error {
	args := pgx.NamedArgs{"id": t.b.ID, "try": t.id, "status": status, "stop": nil, "code": nil, "detail": nil, "result": nil, "now": t.now()}
	if t.stop == replays.StopMaxCost || t.stop == replays.StopBudget {
		args["stop"] = t.stop
	}
	if failure != nil {
		args["code"], args["detail"] = failure.Code, utf8text.Storable(failure.Error())
	}
	if result != nil {
		text, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("encode the result: %w", err)
		}
		args["result"] = string(text)
	}
	return t.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		if err := work.Change(ctx, tx, "end batch", args); err != nil {
			return err
		}
		stop, ended := replays.StopFailed, replays.StatusFailed
		if t.stop != "" {
			stop, ended = t.stop, replays.StatusSucceeded
		}
		return t.endMembers(ctx, tx, t.b.ID, ended, stop)
	})
}
