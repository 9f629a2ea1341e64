package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/looptrace/looptrace/internal/postgres"
)

const (
	// seenEvery is how often a working process stamps its lease of the jobs that it works on. Others take them when the stamp is older than
	// goneAfter.
	seenEvery = 3 * time.Second
	goneAfter = 20 * time.Second
	// aloneAfter is how long after its last stamp a process works on. The rest of goneAfter is the margin in which its jobs end: its clock
	// begins before a stamp is asked for, so that a database that is slow to answer makes it shorter and not longer.
	aloneAfter = 15 * time.Second
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
	stamp := func(ctx context.Context) error {
		_, err := q.db.Exec(ctx, "see worker", pgx.NamedArgs{"id": id})
		return err
	}
	stamped := time.Now()
	if err := stamp(ctx); err != nil {
		return err
	}
	queues := map[string]river.QueueConfig{}
	for name, n := range places {
		queues[name] = river.QueueConfig{MaxWorkers: n}
	}
	client, err := river.NewClient(riverpgxv5.New(q.pool), &river.Config{
		ID: id, Workers: q.workers, JobTimeout: -1, Logger: quiet(q.log), PeriodicJobs: q.periodic, Queues: queues,
	})
	if err != nil {
		return fmt.Errorf("open the queue of jobs: %w", err)
	}
	ended, unsubscribe := client.Subscribe(river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobCancelled, river.EventKindJobSnoozed)
	defer unsubscribe()
	working, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	if err := client.Start(working); err != nil {
		return fmt.Errorf("start to work on jobs: %w", err)
	}
	beside, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { q.wakeUpAfter(beside, ended) })
	group.Go(func() { q.listen(beside) })
	group.Go(func() { q.share(beside) })
	group.Go(func() { q.sweep(beside) })
	err = keep(ctx, stamped, stamp, func(ctx context.Context) error {
		_, err := q.db.Exec(ctx, "rescue jobs", pgx.NamedArgs{"gone": goneAfter})
		return err
	})
	giveUp(errGivenUp)
	cancel()
	group.Wait()
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

// keep renews the lease of the process by stamp, and gives the jobs of processes that are gone to others by rescue, until the context ends. It
// returns an error when the lease is too old to work on, whatever the database does.
func keep(ctx context.Context, stamped time.Time, stamp, rescue func(context.Context) error) error {
	tick := time.NewTicker(seenEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		until, cancel := context.WithDeadline(ctx, stamped.Add(aloneAfter))
		asked := time.Now()
		err := stamp(until)
		if err == nil {
			stamped = asked
			err = rescue(until)
		}
		cancel()
		if time.Since(stamped) >= aloneAfter {
			return errors.Join(errors.New("the lease of jobs was not renewed in time"), err)
		}
	}
}
