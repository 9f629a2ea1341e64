package work_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/engines"
)

type args struct {
	Name string `json:"name"`
}

func (args) Kind() string { return "test" }

const soon = 20 * time.Second

var discard = slog.New(slog.DiscardHandler)

func open(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), engines.Postgres(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// start returns a queue that works on jobs until stop is called.
func start(t *testing.T, pool *pgxpool.Pool, do work.Func[args]) (queue *work.Queue, stop func()) {
	t.Helper()
	queue, err := work.New(pool, time.Now, discard)
	require.NoError(t, err)
	work.Register(queue, do)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		queue.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return queue, stop
}

func add(t *testing.T, pool *pgxpool.Pool, queue *work.Queue, name string) (id int64) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) (err error) {
		id, err = queue.Add(t.Context(), tx, uuid.New(), args{name})
		return err
	}))
	return id
}

func state(t *testing.T, pool *pgxpool.Pool, id int64) (state string) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT state::text FROM river_job WHERE id = $1", id).Scan(&state))
	return state
}

func TestJobsRunOnce(t *testing.T) {
	t.Parallel()
	pool := open(t)
	var ran atomic.Int32
	do := func(context.Context, args, bool) error { ran.Add(1); return nil }
	queue, _ := start(t, pool, do)
	start(t, pool, do)

	rolledBack := errors.New("rolled back")
	require.ErrorIs(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := queue.Add(t.Context(), tx, uuid.New(), args{"never"})
		return errors.Join(err, rolledBack)
	}), rolledBack)
	var last int64
	for range 10 {
		last = add(t, pool, queue, "once")
	}
	require.Eventually(t, func() bool { return state(t, pool, last) == "completed" && ran.Load() == 10 }, soon, 50*time.Millisecond)
}

func TestFailedJobsRunAgain(t *testing.T) {
	t.Parallel()
	pool := open(t)
	var ran atomic.Int32
	queue, _ := start(t, pool, func(context.Context, args, bool) error {
		if ran.Add(1) == 1 {
			return errors.New("not yet")
		}
		return nil
	})
	id := add(t, pool, queue, "retried")
	require.Eventually(t, func() bool { return state(t, pool, id) == "completed" }, soon, 50*time.Millisecond)
	assert.EqualValues(t, 2, ran.Load())
}

func TestJobsGoOnAgain(t *testing.T) {
	t.Parallel()
	pool := open(t)
	var ran atomic.Int32
	queue, _ := start(t, pool, func(context.Context, args, bool) error {
		if ran.Add(1) < 4 {
			return fmt.Errorf("not yet: %w", &work.RetryLaterError{After: 10 * time.Millisecond})
		}
		return nil
	})
	id := add(t, pool, queue, "waiting")
	require.Eventually(t, func() bool { return state(t, pool, id) == "completed" }, soon, 50*time.Millisecond)
	assert.EqualValues(t, 4, ran.Load())
	var failed int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT coalesce(array_length(errors, 1), 0) FROM river_job WHERE id = $1", id).Scan(&failed))
	assert.Zero(t, failed)
}

func TestCancelEndsTheContext(t *testing.T) {
	t.Parallel()
	pool := open(t)
	started, ended := make(chan struct{}), make(chan struct{})
	queue, _ := start(t, pool, func(ctx context.Context, _ args, _ bool) error {
		close(started)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	id := add(t, pool, queue, "cancelled")
	<-started
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return queue.Cancel(t.Context(), tx, id) }))
	<-ended
	require.Eventually(t, func() bool { return state(t, pool, id) == "cancelled" }, soon, 50*time.Millisecond)
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return queue.Cancel(t.Context(), tx, 1<<40) }), "a job that does not exist")
}

// TestStoppedProcessGivesJobsUp stops a process in the middle of a job. Another one takes it, and no attempt is counted as failed.
func TestStoppedProcessGivesJobsUp(t *testing.T) {
	t.Parallel()
	pool := open(t)
	started := make(chan struct{})
	queue, stop := start(t, pool, func(ctx context.Context, _ args, _ bool) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	})
	id := add(t, pool, queue, "moved")
	<-started
	stop()
	start(t, pool, func(context.Context, args, bool) error { return nil })
	require.Eventually(t, func() bool { return state(t, pool, id) == "completed" }, soon, 50*time.Millisecond)
	var failed int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT coalesce(array_length(errors, 1), 0) FROM river_job WHERE id = $1", id).Scan(&failed))
	assert.Zero(t, failed)
}

// TestJobsOfGoneProcesses has a job that runs at a process that was killed.
func TestJobsOfGoneProcesses(t *testing.T) {
	t.Parallel()
	pool := open(t)
	queue, err := work.New(pool, time.Now, discard)
	require.NoError(t, err)
	killed, alive := add(t, pool, queue, "killed"), add(t, pool, queue, "alive")
	_, err = pool.Exec(t.Context(), "UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now(), attempted_by = '{killed}' WHERE id = $1", killed)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now(), attempted_by = '{alive}' WHERE id = $1", alive)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "INSERT INTO job_workers VALUES ('killed', now() - interval '1 minute'), ('alive', now() + interval '1 hour')")
	require.NoError(t, err)
	start(t, pool, func(context.Context, args, bool) error { return nil })
	require.Eventually(t, func() bool { return state(t, pool, killed) == "completed" }, soon, 50*time.Millisecond)
	assert.Equal(t, "running", state(t, pool, alive))
}

// TestRepeatedJobs has two processes. A repeated job runs again and again, after a failure too, and never twice at a time.
func TestRepeatedJobs(t *testing.T) {
	t.Parallel()
	pool := open(t)
	var running, ran, together atomic.Int32
	for range 2 {
		queue, err := work.New(pool, time.Now, discard)
		require.NoError(t, err)
		work.Repeat(queue, 100*time.Millisecond, args{"repeated"}, func(context.Context, args, bool) error {
			if running.Add(1) > 1 {
				together.Add(1)
			}
			time.Sleep(150 * time.Millisecond) // longer than the interval
			running.Add(-1)
			if ran.Add(1) == 1 {
				return errors.New("not now")
			}
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			queue.Run(ctx)
		}()
		t.Cleanup(func() {
			cancel()
			<-done
		})
	}
	require.Eventually(t, func() bool { return ran.Load() >= 5 }, soon, 50*time.Millisecond)
	assert.Zero(t, together.Load())
}

// TestRiverSchema compares the tables of River with those that its own migrations make.
func TestRiverSchema(t *testing.T) {
	t.Parallel()
	pool := open(t)
	_, err := pool.Exec(t.Context(), "CREATE SCHEMA reference")
	require.NoError(t, err)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: "reference", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	describe := func(schema string) []string {
		rows, err := pool.Query(t.Context(), `
			SELECT format('%s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
			FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
			WHERE c.relnamespace = $1::text::regnamespace AND c.relkind = 'r' AND c.relname LIKE 'river\_%' AND c.relname <> 'river_migration' AND a.attnum > 0 AND NOT a.attisdropped
			UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = $1 AND tablename LIKE 'river\_%' AND tablename <> 'river_migration'
			UNION ALL SELECT format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
				WHERE connamespace = $1::text::regnamespace AND contype = 'c' AND conrelid::regclass::text LIKE '%river\_%' AND conrelid::regclass::text NOT LIKE '%river_migration'
			UNION ALL SELECT format('enum %s', string_agg(enumlabel, ' ' ORDER BY enumsortorder)) FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid WHERE t.typnamespace = $1::text::regnamespace
			ORDER BY 1`, schema)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		for i := range lines {
			lines[i] = strings.NewReplacer(schema+".", "", "IF NOT EXISTS ", "").Replace(lines[i])
		}
		return lines
	}
	want := describe("reference")
	require.Greater(t, len(want), 30)
	assert.ElementsMatch(t, want, describe("public"))
}
