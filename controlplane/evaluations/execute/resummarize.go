package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
)

// resummarizeWait is the time between two looks whether an evaluation has its first summary.
const resummarizeWait = 5 * time.Second

// newSummary returns the summary of what has ended. A comparison was decided where it was before.
func (a *attempt) newSummary(r *results.Results) (any, error) {
	if a.e.Kind == evaluations.EvalRun {
		return r.EvalRunSummary(), nil
	}
	before, err := results.ReadSummary(&a.e)
	if err != nil {
		return nil, err
	}
	var decidedAt *float64
	if before != nil {
		decidedAt = before.StoppedAt
	}
	err = r.Summarize(decidedAt)
	return r.Summary, err
}

// resummarize summarizes an evaluation that has ended with the labels of now. It calls no model, and only the summary changes. A job
// that begins later takes the evaluation over.
func (s *Worker) resummarize(ctx context.Context, args evaluations.SummaryJob, _ bool) error {
	a := &attempt{Worker: s, id: uuid.New()}
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
	r, err := a.results.Measure(ctx, &a.e, &a.config, a.panels, int32(a.e.ItemCount))
	if err != nil {
		return err
	}
	summary, err := a.newSummary(r)
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
