package evaluations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
)

// resummarizeWait is the time between two looks whether an evaluation has its first summary.
const resummarizeWait = 5 * time.Second

// resummarizeArgs name an evaluation to summarize again because labels changed.
type resummarizeArgs struct {
	EvaluationID uuid.UUID `json:"evaluation_id"`
}

// Kind is that of the jobs.
func (resummarizeArgs) Kind() string { return "evaluation_summary" }

// Queue is the queue of the job.
func (resummarizeArgs) Queue() string { return work.Summaries }

// changeLabel changes a label, and adds a job for each evaluation of the dataset that has its output and its panel, unless one waits.
//
// The lock on the evaluations makes sure that no label is lost: a job that was seen waiting locks its evaluation before it reads labels,
// which is after the commit.
func (s *Service) changeLabel(ctx context.Context, args pgx.NamedArgs, change func(context.Context, postgres.DB) error) error {
	return s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		type labelled struct{ ID, ProjectID uuid.UUID }
		found, err := postgres.Many[labelled](ctx, tx, "lock labelled evaluations", args)
		if err != nil {
			return err
		}
		if err := change(ctx, tx); err != nil {
			return err
		}
		ids := make([]uuid.UUID, len(found))
		for i := range found {
			ids[i] = found[i].ID
		}
		// A statement of its own, which sees what became of jobs while the one before waited.
		lacking, err := postgres.Many[labelled](ctx, tx, "list evaluations to summarize again", pgx.NamedArgs{"ids": ids, "job": resummarizeArgs{}.Kind()})
		if err != nil {
			return err
		}
		for _, one := range lacking {
			if _, err := s.jobs.Add(ctx, tx.PGX(), one.ProjectID, resummarizeArgs{one.ID}); err != nil {
				return err //nolint:wrapcheck // it says what it does
			}
		}
		return nil
	})
}

// summaryAgain returns the summary of what has ended. A comparison was decided where it was before.
func (a *attempt) summaryAgain(r *results) (any, error) {
	if a.e.Kind == EvalRun {
		return evalRunSummary(r, &a.e, &a.config), nil
	}
	before, err := a.e.ReadSummary()
	if err != nil {
		return nil, err
	}
	var decidedAt *float64
	if before != nil {
		decidedAt = before.StoppedAt
	}
	err = a.summarize(r, decidedAt)
	return r.summary, err
}

// resummarize summarizes an evaluation that has ended with the labels of now. It calls no model, and only the summary changes. A job
// that begins later takes the evaluation over.
func (s *Service) resummarize(ctx context.Context, args resummarizeArgs, _ bool) error {
	a := &attempt{Service: s, id: uuid.New()}
	begun, err := s.db.Exec(ctx, "begin summary", pgx.NamedArgs{"id": args.EvaluationID, "attempt": a.id})
	if err != nil {
		return err
	}
	if begun == 0 {
		open, err := postgres.Many[struct{ ID uuid.UUID }](ctx, s.db, "find evaluation to be summarized", pgx.NamedArgs{"id": args.EvaluationID})
		if err == nil && len(open) > 0 { // its own job may have read the labels already
			err = &work.RetryLaterError{After: resummarizeWait}
		}
		return err
	}
	if err := a.load(ctx, args.EvaluationID); errors.Is(err, work.ErrFenced) {
		return nil
	} else if err != nil {
		return err
	}
	r, err := a.read(ctx, int32(a.e.ItemCount))
	if err != nil {
		return err
	}
	summary, err := a.summaryAgain(r)
	if err != nil {
		return err
	}
	text, err := json.Marshal(summary)
	if err != nil {
		return fmt.Errorf("encode the summary: %w", err)
	}
	_, err = s.db.Exec(ctx, "replace summary", pgx.NamedArgs{"id": a.e.ID, "attempt": a.id, "summary": string(text)})
	return err
}
