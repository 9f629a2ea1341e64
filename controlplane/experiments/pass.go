package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/postgres"
)

// Pass finds the runs of evaluations that were written since the pass before, adds what they report to eval-runs, and finishes those that
// are quiet. What one project sent does not stop the others.
func (s *Service) Pass(ctx context.Context) error {
	caughtUp, err := s.find(ctx)
	if err != nil {
		return fmt.Errorf("find written runs: %w", err)
	}
	due, err := postgres.Many[dueRun](ctx, s.db, "list due runs", pgx.NamedArgs{"now": s.now(), "limit": maxRuns})
	if err != nil {
		return err
	}
	var errs []error
	for len(due) > 0 && ctx.Err() == nil {
		n := 1
		for n < len(due) && n < runsAtOnce && due[n].ProjectID == due[0].ProjectID {
			n++
		}
		errs = append(errs, s.read(ctx, due[0].ProjectID, due[:n]))
		due = due[n:]
	}
	if err := errors.Join(errs...); err != nil || !caughtUp {
		return err
	}
	return s.finishQuiet(ctx)
}

// find notes the runs that were written since the mark. It reports whether it found all.
func (s *Service) find(ctx context.Context) (caughtUp bool, err error) {
	listed, err := postgres.Many[struct{ ID uuid.UUID }](ctx, s.db, "list projects", nil)
	if err != nil || len(listed) == 0 {
		return true, err
	}
	ids := make([]uuid.UUID, len(listed))
	for i := range listed {
		ids[i] = listed[i].ID
	}
	projects := access.OfJob(ids...)
	if _, err := s.db.Exec(ctx, "create mark", pgx.NamedArgs{"now": s.now().Add(-clockDifference), "nowhere": uuid.Nil}); err != nil {
		return false, err
	}
	at, err := postgres.One[struct {
		WrittenAt        time.Time
		ProjectID, RunID uuid.UUID
	}](ctx, s.db, "get mark", nil)
	if err != nil {
		return false, err
	}
	mark := runs.Mark{Written: at.WrittenAt, ProjectID: at.ProjectID, RunID: at.RunID}
	page := mark
	for range maxPages {
		found, next, settled, err := s.runs.WrittenEvaluations(ctx, projects, page, maxFound)
		if err != nil {
			return false, err //nolint:wrapcheck // it says what it does
		}
		to := mark.Settled(next, settled)
		moved, err := s.note(ctx, found, mark, to)
		if err != nil || !moved {
			return false, err // another process finds them
		}
		if page, mark = next, to; len(found) < maxFound {
			return true, nil
		}
	}
	return false, nil
}

// note notes runs and moves the mark, or does nothing if it is not where it was.
func (s *Service) note(ctx context.Context, found []runs.WrittenRun, from, to runs.Mark) (moved bool, err error) {
	projects, ids, written := make([]uuid.UUID, len(found)), make([]uuid.UUID, len(found)), make([]time.Time, len(found))
	for i := range found {
		projects[i], ids[i], written[i] = found[i].ProjectID, found[i].RunID, found[i].Written
	}
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		changed, err := tx.Exec(ctx, "move mark", pgx.NamedArgs{
			"written": to.Written, "project": to.ProjectID, "run": to.RunID, "old_written": from.Written, "old_project": from.ProjectID, "old_run": from.RunID,
		})
		if err != nil || changed == 0 {
			return err
		}
		moved = true
		if len(found) == 0 {
			return nil
		}
		_, err = tx.Exec(ctx, "note runs", pgx.NamedArgs{"projects": projects, "runs": ids, "written": written, "now": s.now()})
		return err
	})
	return moved && err == nil, err
}

// dueRun is a run to read.
type dueRun struct {
	ProjectID, RunID uuid.UUID
	WrittenAt        time.Time
}

// read reads runs of a project. Those that cannot be read or added are tried again later.
func (s *Service) read(ctx context.Context, project uuid.UUID, due []dueRun) error {
	ids := make([]uuid.UUID, len(due))
	for i := range due {
		ids[i] = due[i].RunID
	}
	failed, err := s.add(ctx, project, ids)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var done []uuid.UUID
	var written []time.Time
	for i := range due {
		if !slices.Contains(failed, due[i].RunID) {
			done, written = append(done, due[i].RunID), append(written, due[i].WrittenAt)
		}
	}
	_, removed := s.db.Exec(ctx, "remove runs", pgx.NamedArgs{"project": project, "runs": done, "written": written})
	if len(failed) == 0 {
		return errors.Join(err, removed)
	}
	_, postponed := s.db.Exec(ctx, "postpone runs", pgx.NamedArgs{"project": project, "runs": failed, "now": s.now()})
	return errors.Join(err, removed, postponed)
}

// finishQuiet finishes the eval-runs to which no results came for a while.
func (s *Service) finishQuiet(ctx context.Context) error {
	before := s.now().Add(-quietTime)
	quiet, err := postgres.Many[experiment](ctx, s.db, "list quiet experiments", pgx.NamedArgs{"before": before, "max_reads": maxReads, "limit": maxFinished})
	if err != nil {
		return err
	}
	for i := range quiet {
		e := &quiet[i]
		// Noted first: without it, results that come late would take the eval-run for one that a person ended.
		if _, err := s.db.Exec(ctx, "finish experiment", pgx.NamedArgs{"id": e.ID, "now": s.now(), "before": before}); err != nil {
			return err
		}
		if _, _, err := s.growing.Finish(ctx, grantOf(e.ProjectID), e.ID); err != nil {
			return fmt.Errorf("finish eval-run %s: %w", e.ID, err)
		}
	}
	return nil
}
