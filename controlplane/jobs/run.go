package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/looptrace/looptrace/internal/postgres"
)

// errGivenUp ends the context of jobs when their process stops or cannot reach the database.
var errGivenUp = errors.New("the process gives its jobs up")

// Run works on jobs until the context ends. While the database is not available, it waits.
func (q *Queue) Run(ctx context.Context) {
	for told := false; ctx.Err() == nil; {
		err := q.work(ctx)
		if err == nil || ctx.Err() != nil {
			told = false
			continue
		}
		if !told {
			q.log.WarnContext(ctx, "jobs wait for PostgreSQL; will retry", "error", err)
			told = true
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// work works on jobs until the context ends, which returns nil, or until the process could not say that it is alive for too long.
func (q *Queue) work(ctx context.Context) error {
	id := postgres.NewID().String()
	if err := q.alive(ctx, id); err != nil {
		return err
	}
	client, err := river.NewClient(riverpgxv5.New(q.pool), &river.Config{
		ID: id, Workers: q.workers, JobTimeout: -1, Logger: quiet(q.log), PeriodicJobs: q.periodic,
		Queues: map[string]river.QueueConfig{
			river.QueueDefault: {MaxWorkers: maxRunning}, Calls: {MaxWorkers: maxCalling}, Summaries: {MaxWorkers: maxSummarizing}, Scans: {MaxWorkers: maxScanning},
			Rules: {MaxWorkers: maxScoring}, Checks: {MaxWorkers: maxChecking},
		},
	})
	if err != nil {
		return fmt.Errorf("open the queue of jobs: %w", err)
	}
	working, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	if err := client.Start(working); err != nil {
		return fmt.Errorf("start to work on jobs: %w", err)
	}
	err = q.watch(ctx, id)
	giveUp(errGivenUp)
	return errors.Join(err, q.stop(context.WithoutCancel(ctx), client, id))
}

// stop waits for the jobs to end, and says that the process is gone.
func (q *Queue) stop(ctx context.Context, client *river.Client[pgx.Tx], id string) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	select {
	case <-client.Stopped():
	case <-ctx.Done():
		return errors.New("jobs did not stop in time") // others take them when the process is found to be gone
	}
	_, err := q.db.Exec(ctx, "remove worker", pgx.NamedArgs{"id": id})
	return err
}

// watch says that the process is alive, and gives the jobs of processes that are gone to others.
func (q *Queue) watch(ctx context.Context, id string) error {
	seen := time.Now()
	tick := time.NewTicker(seenEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := q.alive(ctx, id)
		if err == nil {
			seen = time.Now()
			_, err = q.db.Exec(ctx, "rescue jobs", pgx.NamedArgs{"gone": goneAfter})
		}
		if err != nil && time.Since(seen) > aloneAfter {
			return err
		}
	}
}

func (q *Queue) alive(ctx context.Context, id string) error {
	_, err := q.db.Exec(ctx, "see worker", pgx.NamedArgs{"id": id})
	return err
}
