package rules

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// finding is a rule that looks for runs.
type finding struct {
	ID            uuid.UUID
	ProjectID     uuid.UUID
	Version       int
	RunFilter     string
	SampleRate    float64
	MarkWrittenAt time.Time
	MarkRunID     uuid.UUID
	TakesFrom     time.Time
}

// Find takes the runs for active rules that were written since they were looked for last, and adds jobs that score runs. What one rule finds
// does not stop the others.
func (s *Service) Find(ctx context.Context) error {
	active, err := postgres.Many[finding](ctx, s.db, "list active rules", nil)
	if err != nil {
		return err
	}
	if err := s.findAll(ctx, active); err != nil {
		return errors.Join(err, s.addJobs(ctx))
	}
	return s.addJobs(ctx)
}

// findAll takes the runs for rules.
func (s *Service) findAll(ctx context.Context, active []finding) error {
	if len(active) == 0 {
		return nil
	}
	var projects []uuid.UUID
	since := active[0].MarkWrittenAt
	for i := range active { // in order of projects
		if i == 0 || active[i].ProjectID != active[i-1].ProjectID {
			projects = append(projects, active[i].ProjectID)
		}
		if active[i].MarkWrittenAt.Before(since) {
			since = active[i].MarkWrittenAt
		}
	}
	written, err := s.runs.Written(ctx, access.OfJob(projects...), since, s.now().Add(-quietTime).Truncate(time.Millisecond))
	if err != nil {
		return err //nolint:wrapcheck // it says what it does
	}
	var errs []error
	var quiet []uuid.UUID
	for i := range active {
		r := &active[i]
		filter, err := s.filter(r.ProjectID, r.RunFilter)
		switch refused := problem.Of(err); {
		case refused != nil && refused.Kind == problem.Invalid:
			err = s.stop(ctx, &Rule{ID: r.ID, ProjectID: r.ProjectID, Version: r.Version}, codeFilter, "The filter cannot be read: "+refused.Error())
		case err == nil && !written.In(r.ProjectID):
			quiet = append(quiet, r.ID)
		case err == nil:
			err = s.find(ctx, access.OfJob(r.ProjectID), written, r, &filter)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("rule %s of project %s: %w", r.ID, r.ProjectID, err))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if len(quiet) > 0 {
		_, err := s.db.Exec(ctx, "move marks", pgx.NamedArgs{"ids": quiet, "written": written.Settled, "nowhere": uuid.Nil})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// find takes the runs for a rule.
func (s *Service) find(ctx context.Context, in access.Projects, written *runs.Written, r *finding, filter *runs.Filter) error {
	sample := runs.Sample{Filter: *filter, Of: r.ID, Share: r.SampleRate, EndedAfter: r.TakesFrom}
	mark := runs.Mark{Written: r.MarkWrittenAt, ProjectID: r.ProjectID, RunID: r.MarkRunID}
	at := mark
	for range maxPages {
		found, next, err := s.runs.WrittenSample(ctx, in, written, at, &sample, maxFound)
		if err != nil {
			return err //nolint:wrapcheck // it says what it does
		}
		to := mark.Settled(next, written.Settled)
		moved, err := s.take(ctx, r, found, mark, to)
		if err != nil || !moved || len(found) < maxFound {
			return err // without a move, another process takes them, or the rule was changed
		}
		at, mark = next, to
	}
	return nil
}

// take stores runs of a rule and moves its mark, or does nothing if that is not where it was. A run that the rule took before stays as it is.
func (s *Service) take(ctx context.Context, r *finding, found []runs.WrittenRun, from, to runs.Mark) (moved bool, err error) {
	ids, names := make([]uuid.UUID, len(found)), make([]string, len(found))
	for i := range found {
		ids[i], names[i] = found[i].RunID, utf8text.Storable(found[i].Name)
	}
	now := s.now()
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		changed, err := tx.Exec(ctx, "move mark", pgx.NamedArgs{
			"id": r.ID, "version": r.Version, "written": to.Written, "run": to.RunID, "old_written": from.Written, "old_run": from.RunID,
		})
		if err != nil || changed == 0 {
			return err
		}
		moved = true
		if len(found) == 0 {
			return nil
		}
		_, err = tx.Exec(ctx, "take runs", pgx.NamedArgs{"id": r.ID, "version": r.Version, "runs": ids, "names": names, "day": day(now), "now": now})
		return err
	})
	return moved && err == nil, err
}

// day is the day of a time in UTC.
func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// addJobs adds jobs for the rules with runs that are due.
func (s *Service) addJobs(ctx context.Context) error {
	due, err := postgres.Many[struct{ ID, ProjectID uuid.UUID }](ctx, s.db, "list rules with work", pgx.NamedArgs{"now": s.now()})
	if err != nil || len(due) == 0 {
		return err
	}
	return s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		for _, one := range due {
			if _, err := s.jobs.Add(ctx, tx.PGX(), one.ProjectID, scoreArgs{one.ID}); err != nil {
				return err //nolint:wrapcheck // it says what it does
			}
		}
		return nil
	})
}
