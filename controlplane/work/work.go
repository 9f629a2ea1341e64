// Package work runs durable work on River, whose queue is in PostgreSQL. A job is added in the transaction that makes its work
// known, so neither exists without the other. A job may run more than once: its worker goes on from what it stored.
//
// The places of a queue are shared fairly: by organizations, by their projects, and in the order of time within a project.
package work

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/looptrace/looptrace/internal/postgres"
)

//go:embed queries.sql
var queries string

const (
	// stopTime limits how long jobs may take to stop.
	stopTime = 5 * time.Second
	// maxDelay is the longest wait before a job that failed runs again.
	maxDelay = time.Minute
)

// The names of queues. The jobs of one do not hold up those of another.
const (
	// Imports has jobs that read files, for minutes.
	Imports = river.QueueDefault
	// Calls has jobs that mostly wait for model providers, for hours.
	Calls = "calls"
	// Rules has jobs that score runs by rules. They wait for model providers, too, as long as runs come.
	Rules = "rules"
	// Checks has jobs that compare all items of a dataset, for minutes.
	Checks = "checks"
	// Scans has jobs of the installation that are added periodically, and look for work.
	Scans = "scans"
	// Summaries has jobs that somebody waits for.
	Summaries = "summaries"
)

// places are how many jobs of a queue a process works on at once. Jobs that call models mostly wait.
var places = map[string]int{Imports: 2, Calls: 32, Rules: 32, Checks: 2, Summaries: 4, Scans: 1}

// RetryLaterError is what a worker returns to be called again After a while. The job has not failed.
type RetryLaterError struct{ After time.Duration }

func (a *RetryLaterError) Error() string { return "the job goes on in " + a.After.String() }

// Queue adds jobs and works on them.
type Queue struct {
	pool    *pgxpool.Pool
	db      postgres.DB
	adding  *river.Client[pgx.Tx]
	workers *river.Workers
	// periodic are jobs that are added again and again.
	periodic []*river.PeriodicJob
	kinds    []Kind
	now      func() time.Time
	log      *slog.Logger

	// wake has an element when places may be free.
	wake chan struct{}
	mu   sync.Mutex
	// preempted are the jobs that this process works on. The channel is closed when the job must give its place to others.
	preempted map[int64]chan struct{}
}

// New returns the queue in the database. Nothing works on it until [Queue.Run].
func New(pool *pgxpool.Pool, now func() time.Time, log *slog.Logger) (*Queue, error) {
	adding, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: quiet(log)})
	if err != nil {
		return nil, fmt.Errorf("open the queue of jobs: %w", err)
	}
	return &Queue{
		pool: pool, db: postgres.NewDB(pool, queries), adding: adding, workers: river.NewWorkers(), now: now, log: log,
		wake: make(chan struct{}, 1), preempted: map[int64]chan struct{}{},
	}, nil
}

// quiet leaves out what River says about normal work, and about a database that does not answer: Run says that once.
func quiet(log *slog.Logger) *slog.Logger {
	return slog.New(levelHandler{log.Handler()})
}

type levelHandler struct{ slog.Handler }

func (h levelHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && h.Handler.Enabled(ctx, level)
}

// Func is what a worker does. Its context ends if the job is cancelled, or if the process must give it up. last is whether the
// job does not run again if it fails. [Preempted] says when others need its place.
type Func[T river.JobArgs] func(ctx context.Context, args T, last bool) error

// Register sets the work for jobs of a kind. It must be called before [Queue.Run].
func Register[T river.JobArgs](q *Queue, work Func[T]) {
	river.AddWorker(q.workers, &worker[T]{queue: q, work: work})
}

// Repeat sets the work for jobs of a kind, and adds one each interval, unless one still waits or runs in any process. One that fails is
// not tried again before the next. It must be called before [Queue.Run].
func Repeat[T river.JobArgs](q *Queue, each time.Duration, args T, work Func[T]) {
	Register(q, work)
	once := river.UniqueOpts{ByState: unfinished}
	q.periodic = append(q.periodic, river.NewPeriodicJob(river.PeriodicInterval(each), func() (river.JobArgs, *river.InsertOpts) {
		return args, &river.InsertOpts{Queue: Scans, MaxAttempts: 1, UniqueOpts: once}
	}, &river.PeriodicJobOpts{RunOnStart: true}))
}

// unfinished are the states of jobs that wait or run.
var unfinished = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
}

// worker is a River worker without a limit of time: [Queue.Run] notices processes that are gone.
type worker[T river.JobArgs] struct {
	river.WorkerDefaults[T]
	queue *Queue
	work  Func[T]
}

func (w *worker[T]) Timeout(*river.Job[T]) time.Duration { return -1 }

func (w *worker[T]) Work(ctx context.Context, job *river.Job[T]) error {
	ctx, left := w.queue.enter(ctx, job.JobRow)
	defer left()
	err := w.work(ctx, job.Args, job.Attempt >= job.MaxAttempts)
	if err != nil && errors.Is(context.Cause(ctx), errGivenUp) {
		return river.JobSnooze(0) // it is no attempt that failed
	}
	if again, ok := errors.AsType[*RetryLaterError](err); ok {
		return river.JobSnooze(again.After)
	}
	return err
}

// NextRetry waits longer after each attempt that failed, at most maxDelay.
func (w *worker[T]) NextRetry(job *river.Job[T]) time.Time {
	return time.Now().Add(min(maxDelay, time.Second<<min(job.Attempt-1, 10)))
}

// Add adds a job of a project in the transaction, and returns its id. It waits for a place that is fair. Arguments with a method Queue name
// the queue. Those with a method Once that returns true add no job while one with the same arguments waits or runs, whose id is returned.
func (q *Queue) Add(ctx context.Context, tx pgx.Tx, project uuid.UUID, args river.JobArgs) (int64, error) {
	options := &river.InsertOpts{Pending: true, Metadata: fmt.Appendf(nil, `{"project_id":%q}`, project)}
	if named, ok := args.(interface{ Queue() string }); ok {
		options.Queue = named.Queue()
	}
	if one, ok := args.(interface{ Once() bool }); ok && one.Once() {
		options.UniqueOpts = river.UniqueOpts{ByArgs: true, ByState: unfinished}
	}
	added, err := q.adding.InsertTx(ctx, tx, args, options)
	if err != nil {
		return 0, fmt.Errorf("add a job: %w", err)
	}
	if _, err := tx.Exec(ctx, q.db.Statement("tell of work")); err != nil { // at the commit
		return 0, fmt.Errorf("tell of a job: %w", err)
	}
	return added.Job.ID, nil
}

// Cancel cancels a job in the transaction. If it runs, its context ends soon after the commit. A job that does not exist is
// cancelled already.
func (q *Queue) Cancel(ctx context.Context, tx pgx.Tx, job int64) error {
	if _, err := q.adding.JobCancelTx(ctx, tx, job); err != nil && !errors.Is(err, rivertype.ErrNotFound) {
		return fmt.Errorf("cancel a job: %w", err)
	}
	return nil
}
