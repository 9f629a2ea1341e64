package start

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/problem"
)

var (
	errDecided = &problem.Error{Kind: problem.Conflict, Code: "evaluation_decided", Detail: "It stopped early, because the primary metric is decided. To make all outputs, start it again without stop_early."}
	errNothing = &problem.Error{Kind: problem.Conflict, Code: "nothing_missing", Detail: "No output is missing. To run the failed ones again, set retry_failed."}
)

// Resume makes the outputs and votes that are missing of an evaluation that ended, and with retryFailed those that failed. maxCost is the
// new cap, nil to keep the one before.
func (s *Starter) Resume(ctx context.Context, grant access.Grant, kind evaluations.Type, id uuid.UUID, retryFailed bool, maxCost *providers.Money) (evaluations.Evaluation, error) {
	if _, err := s.evaluations.Get(ctx, grant, kind, id); err != nil { // unlike the rest, it does not wait long for a database that does not answer
		return evaluations.Evaluation{}, err
	}
	var resumed evaluations.Evaluation
	err := s.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		db := s.db.On(tx)
		e, err := s.evaluations.Lock(ctx, tx, grant, kind, id)
		if err != nil {
			return err
		}
		config, err := e.ReadConfig()
		if err != nil {
			return err
		}
		if err := resumable(&e, &config, retryFailed); err != nil {
			return err
		}
		if err := evaluations.CheckRemoved("panels", config.Panels); err != nil {
			return err
		}
		if e.JobID != nil { // it may still summarize
			if err := s.jobs.Cancel(ctx, tx, *e.JobID); err != nil {
				return err //nolint:wrapcheck // it says what it does
			}
		}
		statements := []string{"forget metrics"}
		if retryFailed {
			if statements = append(statements, "remove failed votes"); !config.Sent(kind) {
				statements = append(statements, "remove failed outputs")
			}
		}
		for _, name := range statements { // without the limit of time of other statements: these are up to a million rows
			if _, err := tx.Exec(ctx, s.db.Statement(name), pgx.NamedArgs{"id": id}); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := s.jobs.Give(ctx, db, e.ProjectID, evaluations.NewJob(id, work.Calls), func(job int64) (int64, error) {
			return db.Exec(ctx, "resume evaluation", pgx.NamedArgs{"id": id, "max_cost": maxCost, "job": job})
		}); err != nil {
			return err
		}
		resumed, err = s.evaluations.GetIn(ctx, tx, grant, kind, id)
		return err
	})
	return resumed, err
}

// resumable returns an error if there is nothing to resume.
func resumable(e *evaluations.Evaluation, config *evaluations.Config, retryFailed bool) error {
	switch {
	case config.Sent(e.Kind) && len(config.Panels) == 0:
		return errSent(config)
	case e.Unfinished():
		return evaluations.ErrRunning
	case e.StopReason != nil && *e.StopReason == evaluations.StopDecided:
		return errDecided
	case (e.OutputsTotal == e.OutputsDone || config.Sent(e.Kind)) && e.VotesTotal == e.VotesDone && e.Summary != nil && (!retryFailed || e.OutputsFailed+e.VotesFailed == 0):
		return errNothing
	}
	return nil
}
