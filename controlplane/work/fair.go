package work

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/looptrace/looptrace/internal/postgres"
)

const (
	// channel is where a commit tells of work, and the process that shares out places tells which job must give its own to others.
	channel = "looptrace_work"
	// shareEvery is how often places are shared out, beside when one is free and when work was added, at most once in sharePause.
	shareEvery, sharePause = time.Second, 50 * time.Millisecond
	// turn is how long a job has its place before it must give it to a project that has none.
	turn = 3 * time.Second
)

// Preempted is closed when another project waits for the place of the job. A job that can stop between two steps stores what it has and
// returns an [RetryLaterError]; it runs again in its turn.
func Preempted(ctx context.Context) <-chan struct{} {
	return placeOf(ctx).preempted // nil, which never closes, outside of a job
}

// WithoutPreemption returns a context for a step that must not be left half-way, such as one that has paid for a part: a job that is
// preempted does the step again.
func WithoutPreemption(ctx context.Context) context.Context {
	stays := placeOf(ctx)
	stays.preempted = nil
	return context.WithValue(ctx, placeKey{}, stays)
}

// IsPreempted reports whether the job should give its place to another project.
func IsPreempted(ctx context.Context) bool {
	select {
	case <-Preempted(ctx):
		return true
	default:
		return false
	}
}

// ErrPreempted is what a job returns that gives its place to another project.
var ErrPreempted = &RetryLaterError{After: time.Second}

// enter adds a job to those that this process works on.
func (q *Queue) enter(ctx context.Context, job *rivertype.JobRow) (context.Context, func()) {
	preempted := make(chan struct{})
	q.mu.Lock()
	q.preempted[job.ID] = preempted
	q.mu.Unlock()
	return context.WithValue(ctx, placeKey{}, place{&job.ID, &job.Attempt, preempted}), func() {
		q.mu.Lock()
		delete(q.preempted, job.ID)
		q.mu.Unlock()
	}
}

// preempt tells a job of this process to give its place to others.
func (q *Queue) preempt(job int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if preempted, mine := q.preempted[job]; mine {
		close(preempted)
		delete(q.preempted, job)
	}
}

// wakeUpAfter shares out places again when jobs have ended.
func (q *Queue) wakeUpAfter(ctx context.Context, ended <-chan *river.Event) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			q.wakeUp()
		}
	}
}

func (q *Queue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// listen hears of work and of jobs that must leave until the context ends. What it misses, [Queue.share] finds a moment later.
func (q *Queue) listen(ctx context.Context) {
	postgres.Listener{
		Config: q.pool.Config().ConnConfig, Channel: channel,
		Opened: func(context.Context, *pgx.Conn) error { q.wakeUp(); return nil },
		Notified: func(_ context.Context, _ *pgx.Conn, payload string) error {
			if job, err := strconv.ParseInt(payload, 10, 64); err == nil {
				q.preempt(job)
			} else {
				q.wakeUp()
			}
			return nil
		},
		Lost: func(context.Context, error, time.Duration) {}, // share says it
	}.Run(ctx)
}

// share shares out the places of all queues until the context ends. Several processes may do it at once.
func (q *Queue) share(ctx context.Context) {
	tick := time.NewTicker(shareEvery)
	defer tick.Stop()
	for told := false; ; {
		err := q.shareOut(ctx)
		if err != nil && !told && ctx.Err() == nil {
			q.log.WarnContext(ctx, "share out the places of jobs; will retry", "error", err)
		}
		told = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(sharePause):
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-q.wake:
		}
	}
}

// shareOut gives free places to the jobs whose turn it is, and tells jobs to leave that others wait for.
func (q *Queue) shareOut(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(places))
	counts := make([]int, len(names))
	for i, name := range names {
		counts[i] = places[name]
	}
	return q.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		if _, err := tx.Exec(ctx, "lock places", nil); err != nil {
			return err
		}
		args := pgx.NamedArgs{"queues": names, "places": counts, "gone": goneAfter}
		if _, err := tx.Exec(ctx, "share out places", args); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "tell jobs to leave", pgx.NamedArgs{"queues": names, "places": counts, "gone": goneAfter, "turn": turn})
		return err
	})
}
