package start

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// maxMissing is how many items without a result are named.
const maxMissing = 100

// MissingResult is an item without all of its results.
type MissingResult struct {
	ItemID  uuid.UUID
	Key     *string
	Repeats []int32
}

// errTooLate is returned for results that are sent after the end.
var errTooLate = &problem.Error{
	Kind: problem.Conflict, Code: "evaluation_finished", Detail: "The eval-run has ended and accepts no more results. Nothing was stored. Start another one, and send all results to it.",
}

// errExternal is returned for what only a job does.
var errExternal = &problem.Error{Kind: problem.Conflict, Code: "target_external", Detail: "Its results came from your program. Run the program again."}

// errRecorded is the same for recorded runs.
var errRecorded = &problem.Error{
	Kind: problem.Conflict, Code: "target_external", Detail: "Its outputs are those of recorded runs. Start another eval-run with the same run_filter: it has the runs that match then.",
}

func errSent(c *evaluations.Config) error {
	if c.Target.Type == evaluations.TargetRuns {
		return errRecorded
	}
	return errExternal
}

// errOwnOutputs is returned for what only a program outside does.
var errOwnOutputs = &problem.Error{Kind: problem.Conflict, Code: "target_not_external", Detail: "Its outputs do not come from outside: a job gets them."}

// Finish ends the sending of results to an eval-run. A job judges and summarizes them. It returns some of the items whose results are missing.
func (s *Starter) Finish(ctx context.Context, grant access.Grant, id uuid.UUID) (evaluations.Evaluation, []MissingResult, error) {
	finished, err := s.evaluations.Change(ctx, grant, evaluations.EvalRun, id, func(ctx context.Context, tx pgx.Tx, e *evaluations.Evaluation) error {
		config, err := e.ReadConfig()
		switch {
		case err != nil:
			return err
		case !config.Sent(evaluations.EvalRun):
			return errOwnOutputs
		case e.Status == evaluations.StatusSucceeded, e.Unfinished() && e.JobID != nil:
			return nil
		case receives(e):
			return s.endSending(ctx, tx, e.ProjectID, e.ID, &config)
		}
		return evaluations.ErrEnded
	})
	if err != nil {
		return finished, nil, err
	}
	if finished.OutputsDone == finished.OutputsTotal {
		return finished, nil, nil
	}
	missing, err := postgres.Many[MissingResult](ctx, s.db, "list missing results", pgx.NamedArgs{"id": id, "repeats": finished.Repeats, "limit": maxMissing})
	return finished, missing, err
}

// endSending adds the job that judges and summarizes the results that are there.
func (s *Starter) endSending(ctx context.Context, tx pgx.Tx, project, id uuid.UUID, config *evaluations.Config) error {
	db := s.db.On(tx)
	if len(config.Panels) > 0 {
		return s.jobs.Give(ctx, db, project, evaluations.NewJob(id, work.Calls), func(job int64) (int64, error) {
			return db.Exec(ctx, "judge evaluation", pgx.NamedArgs{"id": id, "job": job, "now": s.now()})
		})
	}
	return s.jobs.Give(ctx, db, project, evaluations.NewJob(id, work.Summaries), func(job int64) (int64, error) {
		return db.Exec(ctx, "finish evaluation", pgx.NamedArgs{"id": id, "job": job, "now": s.now()})
	})
}

// receives reports whether results are sent to it.
func receives(e *evaluations.Evaluation) bool {
	return e.Status == evaluations.StatusRunning && e.JobID == nil
}
