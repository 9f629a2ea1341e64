package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/engines"
)

const (
	uniqueViolation = "23505"
	checkViolation  = "23514"
)

func open(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func TestMigratorsAtOnceDoNotCollide(t *testing.T) {
	t.Parallel()
	url := engines.EmptyPostgres(t)
	var group errgroup.Group
	for range 4 {
		group.Go(func() error { return postgres.Migrate(t.Context(), url) })
	}
	require.NoError(t, group.Wait())

	var applied, distinct int
	require.NoError(t, open(t, url).QueryRow(t.Context(),
		"SELECT count(*), count(DISTINCT version_id) FROM schema_migrations").Scan(&applied, &distinct))
	assert.Equal(t, distinct, applied, "a migration was applied twice")
}

// A killed migrator's session is ended by PostgreSQL, which rolls the open migration back and releases the lock. Here
// the session is ended from outside.
func TestMigrateAfterAKill(t *testing.T) {
	t.Parallel()
	url := engines.EmptyPostgres(t)
	pool := open(t, url)
	// The first migration stops here: the index on its table waits for this name.
	blocker, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = blocker.Exec(t.Context(), "CREATE TABLE users_email_key ()")
	require.NoError(t, err)

	killed := make(chan error, 1)
	go func() { killed <- postgres.Migrate(t.Context(), url) }()
	require.Eventually(t, func() bool {
		var ended int
		err := pool.QueryRow(t.Context(), `
			SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'CREATE UNIQUE INDEX users_email_key%'`).Scan(&ended)
		return err == nil && ended > 0
	}, 20*time.Second, 10*time.Millisecond)
	require.Error(t, <-killed)
	require.NoError(t, blocker.Rollback(t.Context()))

	var tables int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE tablename = 'users'").Scan(&tables))
	require.Zero(t, tables, "half a migration stayed")
	require.NoError(t, postgres.Migrate(t.Context(), url))
	require.NoError(t, postgres.Migrate(t.Context(), url), "a repeat changes nothing")
}

func TestOpenWhilePostgresIsAway(t *testing.T) {
	t.Parallel()
	server, database := engines.PostgresServer(t)
	server.Stop(t)
	pool := open(t, server.URL(database))
	require.Error(t, pool.Ping(t.Context()))
	server.Start(t)
	require.NoError(t, pool.Ping(t.Context()))

	var zone, name string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT current_setting('timezone'), current_setting('application_name')").Scan(&zone, &name))
	assert.Equal(t, "UTC", zone)
	assert.Equal(t, "looptrace", name)
}

func TestBadAddressKeepsThePassword(t *testing.T) {
	t.Parallel()
	const bad = "postgres://ann:hunter2@127.0.0.1:notaport/looptrace"
	_, err := postgres.Open(t.Context(), bad)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
	err = postgres.Migrate(t.Context(), bad)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}

func TestConstraints(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		statements []string
		code       string
	}{
		"an email in two spellings is one account": {
			statements: []string{
				"INSERT INTO users (email, password_hash) VALUES ('Ann@Example.com', 'x')",
				"INSERT INTO users (email, password_hash) VALUES ('ann@example.com', 'x')",
			},
			code: uniqueViolation,
		},
		"setup is done once": {
			statements: []string{
				"INSERT INTO bootstrap (user_id) VALUES (uuidv7())",
				"INSERT INTO bootstrap (user_id) VALUES (uuidv7())",
			},
			code: uniqueViolation,
		},
		"a role is one of four": {
			statements: []string{
				"WITH o AS (INSERT INTO organizations (name) VALUES ('o') RETURNING id), u AS (INSERT INTO users (email, password_hash) VALUES ('a@b', 'x') RETURNING id) " +
					"INSERT INTO organization_members (organization_id, user_id, role) SELECT o.id, u.id, 'root' FROM o, u",
			},
			code: checkViolation,
		},
		"limits are numbers": {
			statements: []string{
				"WITH o AS (INSERT INTO organizations (name) VALUES ('o') RETURNING id), " +
					"w AS (INSERT INTO workspaces (organization_id, name) SELECT id, 'w' FROM o RETURNING id) " +
					`INSERT INTO projects (workspace_id, name, limits) SELECT id, 'p', '{"project_spans_per_second": "5"}' FROM w`,
			},
			code: checkViolation,
		},
		"a session has a hash, not a token": {
			statements: []string{
				"WITH u AS (INSERT INTO users (email, password_hash) VALUES ('a@b', 'x') RETURNING id) " +
					"INSERT INTO sessions (token_sha256, user_id, expires_at) SELECT 'token', u.id, now() + interval '1 day' FROM u",
			},
			code: checkViolation,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := open(t, engines.Postgres(t))
			last := len(tt.statements) - 1
			for _, statement := range tt.statements[:last] {
				_, err := pool.Exec(t.Context(), statement)
				require.NoError(t, err)
			}
			_, err := pool.Exec(t.Context(), tt.statements[last])
			require.Equal(t, tt.code, codeOf(err), "%v", err)
		})
	}
}

func addProject(t *testing.T, pool *pgxpool.Pool, name string) (id string) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), `
		WITH o AS (INSERT INTO organizations (name) VALUES ($1) RETURNING id),
		w AS (INSERT INTO workspaces (organization_id, name) SELECT id, $1 FROM o RETURNING id)
		INSERT INTO projects (workspace_id, name) SELECT id, $1 FROM w RETURNING id::text`, name).Scan(&id))
	return id
}

// addPrice returns the revision of a new price.
func addPrice(t *testing.T, pool *pgxpool.Pool, project, model string) (revision int64) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(),
		"INSERT INTO price_overrides (project_id, model, input, output) VALUES ($1, $2, 1, 1) RETURNING revision", project, model).Scan(&revision))
	return revision
}

func changePrice(t *testing.T, pool *pgxpool.Pool, project, model string) (revision int64) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(),
		"UPDATE price_overrides SET input = input + 1 WHERE project_id = $1 AND model = $2 RETURNING revision", project, model).Scan(&revision))
	return revision
}

func TestPriceRevisionsAreCountedByProject(t *testing.T) {
	t.Parallel()
	pool := open(t, engines.Postgres(t))
	mine, theirs := addProject(t, pool, "mine"), addProject(t, pool, "theirs")
	assert.Equal(t, int64(1), addPrice(t, pool, mine, "a"))
	assert.Equal(t, int64(1), addPrice(t, pool, theirs, "a"))
	assert.Equal(t, int64(2), changePrice(t, pool, theirs, "a"))
	assert.Equal(t, int64(2), addPrice(t, pool, mine, "b"))
	_, err := pool.Exec(t.Context(), "DELETE FROM price_overrides WHERE project_id = $1", mine)
	require.NoError(t, err)
	assert.Equal(t, int64(3), addPrice(t, pool, mine, "a"), "a revision names one price")
	assert.Equal(t, int64(4), changePrice(t, pool, mine, "a"))

	// Concurrent changes have different revisions.
	group, ctx := errgroup.WithContext(t.Context())
	for range 4 {
		group.Go(func() error {
			for range 10 {
				if _, err := pool.Exec(ctx, "UPDATE price_overrides SET input = input + 1 WHERE project_id = $1", mine); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	assert.Equal(t, int64(45), changePrice(t, pool, mine, "a"))
}

// Two concurrent setups: the second waits for the first and then fails.
func TestBootstrapHasOneWinner(t *testing.T) {
	t.Parallel()
	pool := open(t, engines.Postgres(t))
	setup := func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO bootstrap (user_id) VALUES (uuidv7())")
			return err
		})
	}
	results := make(chan error)
	const setups = 8
	for range setups {
		go func() { results <- setup(t.Context()) }()
	}
	won := 0
	for range setups {
		if err := <-results; err == nil {
			won++
		} else {
			assert.Equal(t, uniqueViolation, codeOf(err))
		}
	}
	assert.Equal(t, 1, won)
}

func TestKeyChangesAreNotified(t *testing.T) {
	t.Parallel()
	url := engines.Postgres(t)
	pool := open(t, url)
	listener, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close(context.WithoutCancel(t.Context())) })
	_, err = listener.Exec(t.Context(), "LISTEN looptrace_api_keys")
	require.NoError(t, err)

	key := apikey.Mint()
	hash := key.Hash()
	steps := []struct {
		name, statement string
		args            []any
		silent          bool
	}{
		{
			name: "insert",
			statement: `
				WITH o AS (INSERT INTO organizations (name) VALUES ('o') RETURNING id),
				w AS (INSERT INTO workspaces (organization_id, name) SELECT id, 'w' FROM o RETURNING id),
				p AS (INSERT INTO projects (workspace_id, name) SELECT id, 'p' FROM w RETURNING id)
				INSERT INTO api_keys (project_id, name, public_id, secret_sha256, scopes)
				SELECT id, 'k', $1, $2, '{ingest:write}' FROM p`,
			args: []any{key.PublicID(), hash[:]},
		},
		{name: "use", statement: "UPDATE api_keys SET last_used_at = now()", silent: true},
		{name: "rename", statement: "UPDATE api_keys SET name = 'other'", silent: true},
		{name: "revoke", statement: "UPDATE api_keys SET revoked_at = now()"},
		{name: "another name of the project", statement: "UPDATE projects SET name = 'other'", silent: true},
		{name: "the same limits of the project", statement: "UPDATE projects SET limits = '{}'", silent: true},
		{name: "limits of a project whose keys are revoked", statement: `UPDATE projects SET limits = '{"key_spans_burst": 1}'`, silent: true},
		{name: "restore", statement: "UPDATE api_keys SET revoked_at = NULL"},
		{name: "limits of the project", statement: `UPDATE projects SET limits = '{"project_spans_per_second": 5}'`},
		{name: "delete by cascade", statement: "DELETE FROM organizations"},
	}
	for _, step := range steps {
		_, err := pool.Exec(t.Context(), step.statement, step.args...)
		require.NoError(t, err, step.name)
		// A marker ends the wait if nothing is due: notifications arrive in the order of their commits.
		_, err = pool.Exec(t.Context(), "SELECT pg_notify('looptrace_api_keys', 'marker')")
		require.NoError(t, err)
		var got []string
		for {
			notification, err := listener.WaitForNotification(t.Context())
			require.NoError(t, err)
			if notification.Payload == "marker" {
				break
			}
			got = append(got, notification.Payload)
		}
		if step.silent {
			assert.Empty(t, got, step.name)
		} else {
			assert.Equal(t, []string{key.PublicID()}, got, step.name)
		}
	}
}

func codeOf(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}
