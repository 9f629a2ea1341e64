// Package execute makes the outputs and votes that evaluations lack, as jobs, and scores outputs that belong to no evaluation.
package execute

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

//go:embed queries.sql
var queries string

const (
	// callAttempts and callWait limit the calls of a model. Nobody waits for one of them, and a slot that is not free is no failure.
	callAttempts = 5
	callWait     = 24 * time.Hour
	// endTime is how long the end of calls that were cancelled is waited for.
	endTime = 10 * time.Second
	// maxCalls is how many outputs are made at once, whatever connections allow.
	maxCalls = 256
)

// Worker works on evaluations as jobs, and scores outputs that belong to no evaluation.
type Worker struct {
	db          postgres.DB
	evaluations *evaluations.Service
	results     *results.Reader
	datasets    *datasets.Service
	providers   *providers.Service
	completions *completions.Service
	runs        Runs
	now         func() time.Time
}

// New returns a worker on the database, which does the jobs of the queue. now is the clock.
func New(
	pool *pgxpool.Pool, queue *work.Queue, stored *evaluations.Service, read *results.Reader, sets *datasets.Service, models *providers.Service, completed *completions.Service, recorded Runs,
	now func() time.Time,
) *Worker {
	s := &Worker{postgres.NewDB(pool, queries), stored, read, sets, models, completed, recorded, postgres.Clock(now)}
	work.Register(queue, s.run)
	work.Register(queue, s.resummarize)
	queue.Recover(work.Kind{
		Name: "evaluation", DB: s.db, List: "list lost evaluations", SetJob: "set job of evaluation",
		Job: func(lost work.Lost) river.JobArgs { return evaluations.NewJob(lost.ID, lost.Queue()) },
	})
	return s
}

// attempt works on an evaluation.
type attempt struct {
	*Worker
	id        uuid.UUID
	e         evaluations.Evaluation
	config    evaluations.Config
	renderers [2]*evaluations.Renderer
	graders   []*grader.Grader
	caller    completions.Caller
	// about is in the metadata of the runs of votes.
	about         map[string]any
	panels        []evaluations.ReadyPanel
	budget        *providers.Budget
	calls         int // at once
	stopping      stopping
	stoppedJudges stoppedJudges
}

// run does the job of an evaluation.
func (s *Worker) run(ctx context.Context, args evaluations.Job, last bool) error {
	a := &attempt{Worker: s, id: uuid.New(), stopping: stopping{reached: make(chan struct{})}}
	job, _ := work.JobOf(ctx)
	begun, err := s.db.Exec(ctx, "begin evaluation", pgx.NamedArgs{"id": args.EvaluationID, "attempt": a.id, "job": job, "now": s.now()})
	if err != nil || begun == 0 { // it ended, was deleted, or has another job
		return err
	}
	return work.Attempt(ctx, "evaluation", last, func(ctx context.Context) error {
		err := a.do(ctx, args.EvaluationID)
		if ctx.Err() != nil { // perhaps by a cancellation, whose job waits for what this one stores
			_, left := s.db.Exec(context.WithoutCancel(ctx), "leave evaluation", pgx.NamedArgs{"id": args.EvaluationID, "attempt": a.id})
			err = errors.Join(err, left)
		}
		return err
	}, func(ctx context.Context, failed *problem.Error) error {
		return a.end(ctx, evaluations.StatusFailed, nil, failed, nil)
	})
}

// load reads the evaluation of the attempt.
func (a *attempt) load(ctx context.Context, id uuid.UUID) error {
	owner, err := postgres.Many[struct {
		ProjectID uuid.UUID
		Kind      evaluations.Type
	}](ctx, a.db, "get evaluation of job", pgx.NamedArgs{"id": id, "attempt": a.id})
	if err != nil {
		return err
	}
	if len(owner) == 0 {
		return work.ErrFenced
	}
	if a.e, err = a.evaluations.Get(ctx, access.Grant{Projects: access.OfJob(owner[0].ProjectID)}, owner[0].Kind, id); err != nil {
		return err
	}
	if a.config, err = a.e.ReadConfig(); err != nil {
		return err
	}
	if a.graders, err = evaluations.ParseGraders("graders", a.config.Graders); err != nil {
		return err
	}
	a.panels, err = a.config.ReadPanels("panels", a.e.Kind)
	return err
}

// do makes the outputs that are missing, and summarizes.
func (a *attempt) do(ctx context.Context, id uuid.UUID) error {
	if err := a.load(ctx, id); err != nil {
		return err
	}
	if a.e.Unfinished() {
		return a.makeAll(ctx)
	}
	// It was cancelled, or is an eval-run without judges that was finished.
	if err := a.closeCancelled(ctx); err != nil {
		return err
	}
	if a.config.Sent(a.e.Kind) {
		if err := a.readRuns(ctx); err != nil {
			return err
		}
	}
	return a.finish(ctx, a.e.Status, nil, nil, nil)
}

// untilDone repeats a step until it is done, at most for endTime. late says to the step that it is the last one.
func untilDone(ctx context.Context, step func(late bool) (done bool, err error)) error {
	for until := time.Now().Add(endTime); ; {
		late := time.Now().After(until)
		if done, err := step(late); done || late || err != nil {
			return err
		}
		select {
		case <-time.After(endTime / 50):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// closeCancelled waits until the attempt that a cancellation ended has stored what was answered before, at most for endTime. Later it
// stores nothing more.
func (a *attempt) closeCancelled(ctx context.Context) error {
	return untilDone(ctx, func(late bool) (bool, error) {
		closed, err := a.db.Exec(ctx, "close evaluation", pgx.NamedArgs{"id": a.e.ID, "attempt": a.id, "late": late})
		if err == nil && closed == 0 && late {
			err = work.ErrFenced
		}
		return closed > 0, err
	})
}

// makeAll makes the outputs and votes that are missing.
func (a *attempt) makeAll(ctx context.Context) error {
	// Calls of an attempt before this one have no process any more.
	if err := a.providers.EndEvaluationCalls(ctx, a.e.ID); err != nil {
		return err //nolint:wrapcheck // it names the statement
	}
	if err := a.forgetStops(ctx); err != nil {
		return err
	}
	if a.config.Sent(a.e.Kind) {
		if err := a.readRuns(ctx); err != nil {
			return err
		}
	}
	err := a.prepare(ctx)
	if refused := problem.Of(err); refused != nil && refused.Kind != problem.Unavailable {
		return a.finish(ctx, evaluations.StatusFailed, nil, refused, nil)
	}
	if err != nil {
		return err
	}
	if err := a.probe(ctx); err != nil {
		return err
	}
	at, err := a.make(ctx)
	if err != nil {
		return err
	}
	if a.stopping.failure != nil {
		return a.finish(ctx, evaluations.StatusFailed, nil, a.stopping.failure, nil)
	}
	var stopped *evaluations.StopReason
	if a.stopping.reason != "" {
		stopped = &a.stopping.reason
	}
	return a.finish(ctx, evaluations.StatusSucceeded, stopped, nil, at)
}

// prepare opens the connections.
func (a *attempt) prepare(ctx context.Context) error {
	counted := map[uuid.UUID]bool{}
	for i := range a.config.Sides {
		side := &a.config.Sides[i]
		if !side.Calls() {
			continue
		}
		r, err := evaluations.NewRenderer(evaluations.SideNames[i], side)
		if err != nil {
			return err
		}
		a.renderers[i] = r
		if err := a.connect(ctx, counted, side.ProviderID, side.ProviderName, r.Config.Model); err != nil {
			return err
		}
	}
	for i := range a.panels {
		for j := range a.panels[i].All {
			one := &a.panels[i].All[j]
			if err := a.connect(ctx, counted, one.Definition().ProviderID, one.Stored.ProviderName, one.Config.Model); err != nil {
				return err
			}
		}
	}
	// Some more than the connections allow grade outputs, or wait for a slot.
	a.calls = min(maxCalls, a.calls+a.calls/4+2)
	cost, err := a.providers.EvaluationCost(ctx, a.e.ID)
	if err != nil {
		return err //nolint:wrapcheck // it names the statement
	}
	a.budget = providers.NewBudget(a.e.MaxCostNanousd, cost.Cost+cost.Bounded)
	a.about = map[string]any{"evaluation_id": a.e.ID, "dataset_id": a.e.DatasetID}
	a.caller = completions.Caller{
		Projects: access.OfJob(a.e.ProjectID), Project: a.e.ProjectID, Feature: featureOf(a.e.Kind), Source: runmodel.SourceEvaluation,
		User: a.e.CreatedByID, KeyName: a.e.AuthorKey, Evaluation: &a.e.ID, Attempts: callAttempts, MaxWait: callWait,
	}
	if a.e.AuthorEmail != nil {
		a.caller.Email = *a.e.AuthorEmail
	}
	return nil
}

// connect checks a connection, and counts the calls that it allows at once.
func (a *attempt) connect(ctx context.Context, counted map[uuid.UUID]bool, provider uuid.UUID, name, model string) error {
	connection, err := a.providers.Connect(ctx, access.OfJob(a.e.ProjectID), provider, model)
	if problem.Is(err, problem.NotFound) {
		err = deletedConnection(name)
	}
	if err != nil {
		return err //nolint:wrapcheck // it is for the user
	}
	if !counted[provider] {
		a.calls += connection.Provider.MaxConcurrency
		counted[provider] = true
	}
	return nil
}

// finalCost returns what the requests cost. Those that a cancellation ended are known a moment later: it waits for them for a while.
func (a *attempt) finalCost(ctx context.Context) (cost providers.EvaluationCost, err error) {
	err = untilDone(ctx, func(bool) (bool, error) {
		cost, err = a.providers.EvaluationCost(ctx, a.e.ID)
		return cost.Running == 0, err //nolint:wrapcheck // it names the statement
	})
	return cost, err
}

// end stores the end of the evaluation.
func (a *attempt) end(ctx context.Context, status evaluations.Status, stopped *evaluations.StopReason, failure *problem.Error, results *results.Results) error {
	args := pgx.NamedArgs{
		"id": a.e.ID, "attempt": a.id, "status": status, "stop_reason": stopped, "error_code": nil, "error_detail": nil, "accounting": nil, "cost": nil, "summary": nil, "primary": nil,
		"votes_skipped": nil, "votes_done": nil, "now": a.now(),
	}
	if failure != nil {
		args["error_code"], args["error_detail"] = failure.Code, utf8text.Storable(failure.Error())
	}
	if results != nil {
		cost, err := a.finalCost(ctx)
		if err != nil {
			return err
		}
		summary := any(results.Summary)
		if a.e.Kind == evaluations.EvalRun {
			summary = results.EvalRunSummary()
		}
		args["primary"] = results.Summary.PrimaryMetric
		if votes := results.Accounting.Votes; votes != nil {
			args["votes_skipped"], args["votes_done"] = votes.Skipped, votes.Total-votes.Pending
		}
		for name, value := range map[string]any{"accounting": results.Accounting, "cost": cost, "summary": summary} {
			text, err := json.Marshal(value)
			if err != nil {
				return fmt.Errorf("encode the %s: %w", name, err)
			}
			args[name] = string(text)
		}
	}
	changed, err := a.db.Exec(ctx, "end evaluation", args)
	if err == nil && changed == 0 {
		return work.ErrFenced
	}
	return err
}

// finish summarizes, stores what became of the items, and ends the evaluation.
func (a *attempt) finish(ctx context.Context, status evaluations.Status, stopped *evaluations.StopReason, failure *problem.Error, decidedAt *float64) error {
	r, err := a.results.Measure(ctx, &a.e, &a.config, a.panels, int32(a.e.ItemCount))
	if err != nil {
		return err
	}
	if a.e.Kind == evaluations.Comparison {
		if err := r.Summarize(decidedAt); err != nil {
			return err
		}
	}
	type itemRow struct {
		Number  int                               `json:"number"`
		Status  evaluations.ItemStatus            `json:"status"`
		Metrics map[string]evaluations.ItemMetric `json:"metrics"`
	}
	rows := make([]itemRow, 0, BatchSize)
	for i := range r.Items {
		if item := &r.Items[i]; item.Status != evaluations.ItemSkipped {
			rows = append(rows, itemRow{i + 1, item.Status, item.Metrics})
		}
		if len(rows) < BatchSize && i < len(r.Items)-1 {
			continue
		}
		text, err := json.Marshal(rows)
		if err != nil {
			return fmt.Errorf("encode items: %w", err)
		}
		stored, err := a.db.Exec(ctx, "store items", pgx.NamedArgs{"id": a.e.ID, "attempt": a.id, "rows": string(text)})
		if err != nil {
			return err
		}
		if stored == 0 && len(rows) > 0 {
			return work.ErrFenced
		}
		rows = rows[:0]
	}
	if err := a.storePanelScores(ctx, r.PanelScores); err != nil {
		return err
	}
	return a.end(ctx, status, stopped, failure, r)
}

// storePanelScores stores what panels say of outputs beside their other scores.
func (a *attempt) storePanelScores(ctx context.Context, scores []results.PanelScore) error {
	names := make([]string, len(a.panels))
	for i := range a.panels {
		names[i] = a.panels[i].Name
	}
	for chunk := range slices.Chunk(scores, BatchSize) {
		text, err := json.Marshal(chunk)
		if err != nil {
			return fmt.Errorf("encode the scores of panels: %w", err)
		}
		stored, err := a.db.Exec(ctx, "store panel scores", pgx.NamedArgs{"id": a.e.ID, "attempt": a.id, "names": names, "rows": string(text)})
		if err != nil {
			return err
		}
		if stored == 0 {
			return work.ErrFenced
		}
	}
	return nil
}

// BatchSize is how many items are stored by one statement.
const BatchSize = 2000

// featureOf is the feature of the calls for an evaluation of a type.
func featureOf(kind evaluations.Type) providers.Feature {
	if kind == evaluations.EvalRun {
		return providers.FeatureEvaluation
	}
	return providers.FeatureComparison
}
