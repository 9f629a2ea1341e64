package work_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// addFor adds jobs of a project.
func addFor(t *testing.T, pool *pgxpool.Pool, queue *work.Queue, project uuid.UUID, names ...string) (ids []int64) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		for _, name := range names {
			id, err := queue.Add(t.Context(), tx, project, args{name})
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return nil
	}))
	return ids
}

// projectIn returns a project of an organization, nil for one of a new organization.
func projectIn(t *testing.T, pool *pgxpool.Pool, organization *uuid.UUID) uuid.UUID {
	t.Helper()
	if organization == nil {
		organization = new(uuid.New())
	}
	workspace, project := uuid.New(), uuid.New()
	for _, statement := range []string{
		"INSERT INTO organizations (id, name, created_at, updated_at) VALUES (@organization, 'o', now(), now()) ON CONFLICT DO NOTHING",
		"INSERT INTO workspaces (id, organization_id, name, created_at, updated_at) VALUES (@workspace, @organization, @name, now(), now())",
		"INSERT INTO projects (id, workspace_id, name, created_at, updated_at) VALUES (@project, @workspace, 'p', now(), now())",
	} {
		_, err := pool.Exec(t.Context(), statement, pgx.NamedArgs{"organization": organization, "workspace": workspace, "project": project, "name": workspace.String()})
		require.NoError(t, err)
	}
	return project
}

// running works on jobs that run until they are released, and tells which have begun.
type running struct {
	begun   chan string
	release chan struct{}
}

func newRunning() *running { return &running{make(chan string, 100), make(chan struct{})} }

func (r *running) do(ctx context.Context, a args, _ bool) error {
	r.begun <- a.Name
	select {
	case <-r.release:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TestProjectsShareTheirPlaces has a project with more jobs than there are places. Another one finds a place at once.
func TestProjectsShareTheirPlaces(t *testing.T) {
	t.Parallel()
	pool := open(t)
	r := newRunning()
	queue, _ := start(t, pool, r.do)
	busy := projectIn(t, pool, nil)
	first := addFor(t, pool, queue, busy, "busy 1", "busy 2", "busy 3")
	assert.Equal(t, "busy 1", <-r.begun)
	addFor(t, pool, queue, projectIn(t, pool, nil), "other")
	assert.Equal(t, "other", <-r.begun, "a project has half of the places")
	assert.Equal(t, "pending", state(t, pool, first[1]))
	close(r.release)
	assert.Equal(t, "busy 2", <-r.begun)
	assert.Equal(t, "busy 3", <-r.begun)
}

// TestOrganizationsShareTheirPlaces has two projects of an organization that wait before that of another one. When places are free, each
// organization gets one.
func TestOrganizationsShareTheirPlaces(t *testing.T) {
	t.Parallel()
	pool := open(t)
	r := newRunning()
	organization := uuid.New()
	queue, err := work.New(pool, time.Now, discard)
	require.NoError(t, err)
	addFor(t, pool, queue, projectIn(t, pool, &organization), "a 1", "a 2")
	addFor(t, pool, queue, projectIn(t, pool, &organization), "b 1")
	addFor(t, pool, queue, projectIn(t, pool, nil), "c 1")
	start(t, pool, r.do)
	assert.ElementsMatch(t, []string{"a 1", "c 1"}, []string{<-r.begun, <-r.begun})
	close(r.release)
	assert.ElementsMatch(t, []string{"a 2", "b 1"}, []string{<-r.begun, <-r.begun})
}

// TestJobsLeaveForOthers has all places taken by jobs that take long. A project without one gets the place of a job that can stop between
// two steps, which goes on later.
func TestJobsLeaveForOthers(t *testing.T) {
	t.Parallel()
	pool := open(t)
	var mu sync.Mutex
	turns := map[string]int{}
	begun := make(chan string, 100)
	queue, _ := start(t, pool, func(ctx context.Context, a args, _ bool) error {
		mu.Lock()
		turns[a.Name]++
		mu.Unlock()
		begun <- a.Name
		if a.Name == "newcomer" {
			return nil
		}
		select {
		case <-work.Preempted(ctx):
			assert.True(t, work.IsPreempted(ctx))
			assert.False(t, work.IsPreempted(work.WithoutPreemption(ctx)), "it is in the middle of a step")
			return work.ErrPreempted
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	addFor(t, pool, queue, projectIn(t, pool, nil), "long 1")
	addFor(t, pool, queue, projectIn(t, pool, nil), "long 2")
	<-begun
	<-begun
	newcomer := addFor(t, pool, queue, projectIn(t, pool, nil), "newcomer")[0]
	assert.Equal(t, "newcomer", <-begun)
	require.Eventually(t, func() bool { return state(t, pool, newcomer) == "completed" }, soon, 50*time.Millisecond)
	again := <-begun
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, 2, turns[again], "%s goes on", again)
	var failed int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE errors IS NOT NULL").Scan(&failed))
	assert.Zero(t, failed)
}

// TestAnotherJobLeaves has a job that is in the middle of a long step when it is told to leave. The next one leaves instead.
func TestAnotherJobLeaves(t *testing.T) {
	t.Parallel()
	pool := open(t)
	begun := make(chan string, 100)
	queue, _ := start(t, pool, func(ctx context.Context, a args, _ bool) error {
		begun <- a.Name
		if a.Name == "newcomer" {
			return nil
		}
		preempted := work.Preempted(ctx)
		if a.Name == "stays" {
			preempted = nil
		}
		select {
		case <-preempted:
			return work.ErrPreempted
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	addFor(t, pool, queue, projectIn(t, pool, nil), "stays")
	assert.Equal(t, "stays", <-begun)
	addFor(t, pool, queue, projectIn(t, pool, nil), "leaves")
	assert.Equal(t, "leaves", <-begun)
	addFor(t, pool, queue, projectIn(t, pool, nil), "newcomer")
	select {
	case next := <-begun:
		assert.Equal(t, "newcomer", next)
	case <-time.After(soon):
		assert.Fail(t, "the newcomer has no place")
	}
}

// TestLostWorkGetsAJobAgain has work whose job is gone.
func TestLostWorkGetsAJobAgain(t *testing.T) {
	t.Parallel()
	pool := open(t)
	_, err := pool.Exec(t.Context(), "CREATE TABLE things (id uuid PRIMARY KEY, project_id uuid NOT NULL, job_id bigint, created_at timestamptz NOT NULL)")
	require.NoError(t, err)
	db := postgres.NewDB(pool, `
-- name: list things
SELECT id, project_id, false AS ended FROM things WHERE created_at < @before AND job_id IS NULL

-- name: set job
UPDATE things SET job_id = @job WHERE id = @id AND job_id IS NULL
`)
	r := newRunning()
	queue, err := work.New(pool, time.Now, discard)
	require.NoError(t, err)
	work.Register(queue, r.do)
	queue.Recover(work.Kind{
		Name: "thing", DB: db, List: "list things", SetJob: "set job",
		Job: func(lost work.Lost) river.JobArgs { return args{lost.ID.String()} },
	})
	project, old, young := projectIn(t, pool, nil), uuid.New(), uuid.New()
	_, err = pool.Exec(t.Context(), "INSERT INTO things VALUES ($1, $3, NULL, now() - interval '2 minutes'), ($2, $3, NULL, now())", old, young, project)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, queue.Requeue(t.Context()))
	}
	var jobs []string
	rows, err := pool.Query(t.Context(), "SELECT args ->> 'name' FROM river_job")
	require.NoError(t, err)
	jobs, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	assert.Equal(t, []string{old.String()}, jobs)
}

func TestAttempt(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx         context.Context
		last        bool
		does, fails error
		want        error
		failed      bool
	}{
		"done":                             {ctx: t.Context(), last: true},
		"another attempt has it":           {ctx: t.Context(), last: true, does: work.ErrFenced},
		"comes again":                      {ctx: t.Context(), last: true, does: work.ErrPreempted, want: work.ErrPreempted},
		"tried again":                      {ctx: t.Context(), does: broken, want: broken},
		"the process stops":                {ctx: ended, last: true, does: broken, want: broken},
		"fails for good":                   {ctx: t.Context(), last: true, does: broken, want: broken, failed: true},
		"fails for good, and was replaced": {ctx: t.Context(), last: true, does: broken, fails: work.ErrFenced, want: broken, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			failed := false
			err := work.Attempt(c.ctx, "import", c.last, func(context.Context) error { return c.does }, func(_ context.Context, why *problem.Error) error {
				failed = true
				assert.Equal(t, "The import was tried several times and could not go on: broken", why.Detail)
				return c.fails
			})
			require.ErrorIs(t, err, c.want)
			require.NotErrorIs(t, err, work.ErrFenced)
			assert.Equal(t, c.failed, failed)
		})
	}
}

func TestRetryWaitsForAStore(t *testing.T) {
	t.Parallel()
	tries := 0
	require.NoError(t, work.Retry(t.Context(), func() error {
		if tries++; tries < 3 {
			return problem.DependencyDown("PostgreSQL")
		}
		return nil
	}))
	assert.Equal(t, 3, tries)
	broken := errors.New("broken")
	require.ErrorIs(t, work.Retry(t.Context(), func() error { return broken }), broken)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, work.Retry(ctx, func() error { return problem.DependencyDown("ClickHouse") }), context.Canceled)
}
