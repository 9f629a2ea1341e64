package rules

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/execute"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

const (
	// workTime is how long a job of a rule works, so that those of other rules have their turn.
	workTime = time.Minute
	// leaseTime is how long a worker has runs without saying that it still works on them, which it does each renewEvery.
	leaseTime, renewEvery = time.Minute, 15 * time.Second
	// leased is how many runs a worker takes at once, and scoredAtOnce how many of them it scores at once.
	leased, scoredAtOnce = 50, 16
	// callAttempts and callWait limit the call of a judge. What fails longer is tried again after retryAfter.
	callAttempts, callWait = 2, time.Minute
	// maxPermanentFailures is how many votes may fail one after the other, for a reason that only a person can fix, before the rule stops.
	maxPermanentFailures = 10
	// soon is when a run is tried again that had to wait, for a place or money that others use or for a database.
	soon = 10 * time.Second
)

// retryAfter are the times after which a run is tried again whose judges failed in a way that may pass.
var retryAfter = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute}

// worker scores runs by a rule.
type worker struct {
	*Service
	id      uuid.UUID
	rule    Rule
	in      access.Projects
	scorer  *execute.Scorer
	caller  completions.Caller
	stopped atomic.Bool
}

// leasedRun is a run that a worker has.
type leasedRun struct {
	RunID    uuid.UUID
	Attempts int
	// CountedNanousd is what counts in the budget of CountedDay. Lost is whether a worker is gone that may have paid for votes that are not stored.
	CountedNanousd providers.Money
	CountedDay     *time.Time
	Lost           bool
	votes          []evaluations.Vote
	calls          []grader.ToolCall
	newestReserved providers.Money
	costUnknown    bool
}

// Score scores the runs that a rule has taken and that are due. What is there by others is left to them.
func (s *Service) Score(ctx context.Context, id uuid.UUID) error {
	for until := time.Now().Add(workTime); time.Now().Before(until) && !work.IsPreempted(ctx); {
		w, err := s.worker(ctx, id)
		if err != nil || w == nil {
			return err
		}
		n, err := w.work(ctx)
		if err != nil || n == 0 || w.stopped.Load() {
			return err
		}
	}
	return nil // there may be more, for which a job is added
}

// worker returns a worker for a rule, nil if it stopped or was deleted.
func (s *Service) worker(ctx context.Context, id uuid.UUID) (*worker, error) {
	rule, err := postgres.One[Rule](ctx, s.db, "get rule of job", pgx.NamedArgs{"id": id})
	if errors.Is(err, postgres.ErrNotFound) {
		return nil, nil //nolint:nilnil // there is nothing to do
	}
	if err != nil {
		return nil, err
	}
	w := &worker{Service: s, id: uuid.New(), rule: rule, in: access.OfJob(rule.ProjectID)}
	scoring, err := rule.ReadScoring()
	if err != nil {
		return nil, err
	}
	w.scorer, err = s.judging.NewScorer(&scoring)
	if refused := problem.Of(err); refused != nil && refused.Kind == problem.Invalid {
		return nil, s.stop(ctx, &rule, refused.Code, refused.Error())
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it does
	}
	w.caller = completions.Caller{
		Projects: w.in, Project: rule.ProjectID, Feature: providers.FeatureEvaluation, Source: runmodel.SourceEvaluation,
		User: rule.CreatedByID, KeyName: rule.AuthorKey, Evaluation: &rule.ID, Attempts: callAttempts, MaxWait: callWait,
	}
	if rule.AuthorEmail != nil {
		w.caller.Email = *rule.AuthorEmail
	}
	return w, nil
}

// work scores some runs, and returns how many it took.
func (w *worker) work(ctx context.Context) (int, error) {
	now := w.now()
	list, err := postgres.Many[leasedRun](ctx, w.db, "lease runs", pgx.NamedArgs{
		"id": w.rule.ID, "version": w.rule.Version, "worker": w.id, "now": now, "lease": now.Add(leaseTime), "limit": leased,
	})
	if err != nil || len(list) == 0 {
		return 0, err
	}
	working, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { w.renew(working) })
	defer renewing.Wait()
	defer cancel()

	outcomes, landed := make(chan outcome), make(chan struct{})
	go func() {
		defer close(landed)
		w.flushAll(context.WithoutCancel(ctx), outcomes) // what was paid is stored, also if the process stops
	}()
	err = w.scoreAll(work.WithoutPreemption(ctx), list, outcomes) // the batch has its money reserved
	close(outcomes)
	<-landed
	return len(list), err
}

// renew says that the worker still works on its runs.
func (w *worker) renew(ctx context.Context) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := w.db.Exec(ctx, "renew leases", pgx.NamedArgs{"id": w.rule.ID, "worker": w.id, "lease": w.now().Add(leaseTime)}); err != nil && ctx.Err() == nil {
			w.log.WarnContext(ctx, "renew the leases of runs; will retry", "rule_id", w.rule.ID, "error", err)
		}
	}
}

// scoreAll scores runs, several at once. Each has an outcome, also with an error.
func (w *worker) scoreAll(ctx context.Context, list []leasedRun, outcomes chan<- outcome) error {
	left := make(map[uuid.UUID]*leasedRun, len(list))
	ids, selected := make([]uuid.UUID, len(list)), make([]runs.SelectedRun, len(list))
	for i := range list {
		left[list[i].RunID], ids[i], selected[i].RunID = &list[i], list[i].RunID, list[i].RunID
	}
	err := w.readMore(ctx, left, ids)
	if err == nil {
		var group errgroup.Group
		group.SetLimit(scoredAtOnce)
		err = w.runs.Sources(ctx, w.in, selected, nil, func(source *runs.Source) error {
			t := left[source.Run.RunID]
			delete(left, source.Run.RunID)
			group.Go(func() error {
				outcomes <- w.score(ctx, t, source)
				return nil
			})
			return ctx.Err()
		})
		_ = group.Wait() // each has an outcome
	}
	for _, t := range left {
		if err != nil {
			outcomes <- w.again(t, soon)
		} else {
			outcomes <- t.skip(codeDeleted, "The run was deleted.")
		}
	}
	if err != nil {
		return fmt.Errorf("read runs to score: %w", err)
	}
	return nil
}

// readMore reads votes that were made before, and tool calls.
func (w *worker) readMore(ctx context.Context, list map[uuid.UUID]*leasedRun, ids []uuid.UUID) error {
	votes, err := w.votesOf(ctx, w.rule.ID, ids)
	if err != nil {
		return err
	}
	calls, err := w.runs.ToolCalls(ctx, w.in, ids)
	if err != nil {
		return err //nolint:wrapcheck // it says what it does
	}
	for id, t := range list {
		for i := range votes[id] {
			if votes[id][i].version == w.rule.Version {
				t.votes = append(t.votes, votes[id][i].Vote)
			}
		}
		if found, known := calls[id]; known {
			t.calls = make([]grader.ToolCall, len(found))
			for i := range found {
				t.calls[i] = grader.ToolCall(found[i])
			}
		}
	}
	return nil
}

// score scores a run.
func (w *worker) score(ctx context.Context, t *leasedRun, source *runs.Source) outcome {
	if w.stopped.Load() {
		return w.again(t, 0)
	}
	sample, skipped, err := sampleOf(source)
	if err != nil {
		return w.failed(ctx, t, err)
	}
	if skipped != "" {
		return t.skip("cannot_be_scored", "The run "+skipped+".")
	}
	sample.ToolCalls = t.calls
	request := &execute.ScoreRequest{
		Sample: sample, Votes: t.votes, Caller: w.caller, AllowUnpriced: w.rule.AllowUnpriced,
		About: map[string]any{"eval_rule_id": w.rule.ID, "eval_rule": w.rule.Name, "judged_run_id": t.RunID},
		Keep:  func(ctx context.Context, v *evaluations.Vote) error { return w.keep(ctx, t.RunID, v) },
	}
	if refused, err := w.reserve(ctx, t, request); err != nil || refused != nil {
		if err != nil {
			return w.failed(ctx, t, err)
		}
		return *refused
	}
	scored, err := w.scorer.Score(ctx, request)
	if err != nil {
		return w.failed(ctx, t, err)
	}
	t.CountedNanousd += scored.Spent
	made := w.outcome(ctx, t, scored)
	made.group = groupKey(w.rule.GroupBy, source, sample)
	return made
}

// failed returns the outcome of an error.
func (w *worker) failed(ctx context.Context, t *leasedRun, err error) outcome {
	refused := problem.Of(err)
	switch {
	case errors.Is(err, work.ErrFenced):
		return outcome{} // it is not this worker's any more
	case refused != nil && refused.Kind == problem.NotFound:
		return w.stopRule(ctx, t, refused)
	case refused != nil && refused.Kind == problem.Invalid:
		return t.skip("cannot_be_judged", refused.Error())
	}
	// What was reserved stays counted: calls may have been made.
	t.CountedNanousd += t.newestReserved
	t.costUnknown = t.newestReserved > 0
	if ctx.Err() != nil {
		return w.again(t, 0)
	}
	w.log.WarnContext(ctx, "score a run; will retry", "rule_id", w.rule.ID, "run_id", t.RunID, "error", err)
	return w.again(t, soon)
}

// stopRule stops the rule. The run waits.
func (w *worker) stopRule(ctx context.Context, t *leasedRun, why *problem.Error) outcome {
	w.stopped.Store(true)
	if err := w.stop(ctx, &w.rule, why.Code, why.Error()); err != nil {
		w.log.WarnContext(ctx, "stop a rule; will retry", "rule_id", w.rule.ID, "error", err)
	}
	return w.again(t, 0)
}

// keep stores a vote, and counts failures that only a person can fix.
func (w *worker) keep(ctx context.Context, run uuid.UUID, v *evaluations.Vote) error {
	args := pgx.NamedArgs{
		"id": w.rule.ID, "run": run, "worker": w.id, "version": w.rule.Version, "panel": v.Panel, "judge": v.Judge, "vote": v.Vote, "panel_name": v.PanelName, "judge_name": v.JudgeName,
		"escalated": v.Escalated, "status": v.Status, "value": v.Value, "score": v.Score, "label": v.Label, "pass": v.Pass, "reason": v.Reason, "raw": v.Raw, "error_code": v.ErrorCode,
		"error_detail": v.ErrorDetail, "truncated": v.Truncated, "requests": v.Requests, "model": v.Model, "judge_run": v.RunID, "duration_ms": v.DurationMS, "input_tokens": v.Input,
		"output_tokens": v.Output, "cache_read_tokens": v.CacheRead, "cache_write_tokens": v.CacheWrite, "reasoning_tokens": v.Reasoning, "cost_nanousd": v.CostNanousd, "created_at": v.CreatedAt,
	}
	stored, err := w.db.Exec(ctx, "store vote", args)
	if err == nil && stored == 0 {
		err = work.ErrFenced
	}
	switch {
	case err != nil:
		return err
	case v.Status == "ok":
		_, err = w.db.Exec(ctx, "reset failures", args)
		return err
	case !v.FailedPermanently():
		return nil
	}
	counted, err := postgres.One[struct{ Failures int }](ctx, w.db, "count failure", args)
	if errors.Is(err, postgres.ErrNotFound) { // it was changed or deleted
		return nil
	}
	if err == nil && counted.Failures >= maxPermanentFailures {
		w.stopped.Store(true)
		err = w.stop(ctx, &w.rule, *v.ErrorCode, fmt.Sprintf("The judge %q failed %d times in a row: %s", v.JudgeName, maxPermanentFailures, *v.ErrorDetail))
	}
	return err
}

// reserve reserves the most that the missing votes on a run can cost in the budget of the day. It returns an outcome if that is not there.
func (w *worker) reserve(ctx context.Context, t *leasedRun, request *execute.ScoreRequest) (*outcome, error) {
	if w.rule.MaxCostNanousd == nil || !w.scorer.Judges() {
		return nil, nil //nolint:nilnil // nothing is called
	}
	most, err := w.scorer.Most(ctx, request)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it does
	}
	request.MaxCost = &most
	t.costUnknown = t.Lost && most > 0
	today := day(w.now())
	if t.CountedDay != nil && !t.CountedDay.Equal(today) {
		t.CountedNanousd = 0
	}
	var refused *outcome
	err = w.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		args := pgx.NamedArgs{
			"projects": w.in.IDs(), "id": w.rule.ID, "run": t.RunID, "worker": w.id, "version": w.rule.Version, "day": today, "counted": t.CountedNanousd + most,
		}
		if _, err := tx.Exec(ctx, "lock rule", args); err != nil {
			return err
		}
		others, err := postgres.One[struct{ Counted, Held providers.Money }](ctx, tx, "read day", args)
		if err != nil {
			return err
		}
		left := *w.rule.MaxCostNanousd - others.Counted - t.CountedNanousd
		switch {
		case left >= most:
		case left+others.Held >= most: // what others reserved may come back
			refused = new(w.again(t, soon))
			return nil
		default:
			refused = new(t.end(OverBudget, "over_budget", fmt.Sprintf("The votes can cost up to $%.6f, and max_cost_usd_per_day leaves $%.6f of the day.", most.Dollars(), max(0, left).Dollars())))
			return nil
		}
		reserved, err := tx.Exec(ctx, "reserve", args)
		if err == nil && reserved == 0 {
			err = work.ErrFenced
		}
		return err
	})
	if err == nil && refused == nil {
		t.newestReserved = most
	}
	return refused, err
}
