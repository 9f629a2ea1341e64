package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/looptrace/looptrace/internal/postgres"
)

const (
	// sweepEvery is how often work without a job is looked for. lostAfter is how old it must be: the transaction that adds it may be under way.
	sweepEvery = 10 * time.Second
	lostAfter  = time.Minute
)

// Lost is work that has not ended and has no job, for example after a restore of a backup. Ended is whether only its result is missing.
type Lost struct {
	ID, ProjectID uuid.UUID
	Ended         bool
}

// Queue is that of work that calls models. Where only its result is missing, nothing is called.
func (l Lost) Queue() string {
	if l.Ended {
		return Summaries
	}
	return Calls
}

// Kind is how a kind of work finds its jobs.
type Kind struct {
	Name string
	// DB has the statements. List names one that lists [Lost] work that began @before a time. SetJob names one that stores a @job, at a time @now,
	// with the work that has an @id, unless it has ended or has a job.
	DB           postgres.DB
	List, SetJob string
	// Job returns the arguments of a job.
	Job func(Lost) river.JobArgs
}

// Recover gives work of a kind a job again that has none. It must be called before [Queue.Run].
func (q *Queue) Recover(kind Kind) { q.kinds = append(q.kinds, kind) }

// sweep gives all lost work jobs, again and again until the context ends.
func (q *Queue) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := q.Requeue(ctx); err != nil && ctx.Err() == nil {
			q.log.WarnContext(ctx, "give work without a job one again; will retry", "error", err)
		}
	}
}

// Requeue gives all lost work jobs.
func (q *Queue) Requeue(ctx context.Context) error {
	var errs []error
	for i := range q.kinds {
		errs = append(errs, q.requeue(ctx, &q.kinds[i]))
	}
	return errors.Join(errs...)
}

func (q *Queue) requeue(ctx context.Context, kind *Kind) error {
	lost, err := postgres.Many[Lost](ctx, kind.DB, kind.List, pgx.NamedArgs{"before": q.now().Add(-lostAfter)})
	if err != nil {
		return err
	}
	for _, one := range lost {
		err = kind.DB.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
			return q.Give(ctx, tx, one.ProjectID, kind.Job(one), func(job int64) (int64, error) {
				return tx.Exec(ctx, kind.SetJob, pgx.NamedArgs{"id": one.ID, "job": job, "now": q.now()})
			})
		})
		if err != nil {
			return fmt.Errorf("give the %s %s a job again: %w", kind.Name, one.ID, err)
		}
	}
	return nil
}

// Give adds a job that keep stores with its work. If that changes nothing, because another process was faster or the work has ended, there is
// no job.
func (q *Queue) Give(ctx context.Context, tx postgres.DB, project uuid.UUID, args river.JobArgs, keep func(job int64) (changed int64, err error)) error {
	job, err := q.Add(ctx, tx.PGX(), project, args)
	if err != nil {
		return err
	}
	changed, err := keep(job)
	if err == nil && changed == 0 {
		return q.Cancel(ctx, tx.PGX(), job)
	}
	return err
}
