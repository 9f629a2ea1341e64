package genaicostprocessor

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/prices"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// soon limits the wait for a change to take effect, well below the refresh interval.
const soon = 5 * time.Second

func project(t *testing.T, pool *pgxpool.Pool, name string) (id string) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), `
		WITH o AS (INSERT INTO organizations (name) VALUES ($1) RETURNING id),
		w AS (INSERT INTO workspaces (organization_id, name) SELECT id, 'w' FROM o RETURNING id)
		INSERT INTO projects (workspace_id, name) SELECT id, 'p' FROM w RETURNING id::text`, name).Scan(&id))
	return id
}

func open(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string, arguments ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql, arguments...)
	require.NoError(t, err)
}

// costOf returns the cost of a call of gpt-4o with 1000 and 500 tokens for a project: 0.0075 by the table.
func costOf(t *testing.T, p *costProcessor, projectID string) (cost any, version string) {
	t.Helper()
	td := spanOf(map[string]any{
		runmodel.KeyProviderName: "openai", runmodel.KeyRequestModel: "gpt-4o",
		runmodel.KeyInputTokens: int64(1000), runmodel.KeyOutputTokens: int64(500),
	})
	if projectID != "" {
		td.ResourceSpans().At(0).Resource().Attributes().PutStr(runmodel.KeyProjectID, projectID)
	}
	require.NoError(t, p.ConsumeTraces(t.Context(), td))
	return attributesOf(td)
}

func attributesOf(td ptrace.Traces) (cost any, version string) {
	attributes := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().AsRaw()
	version, _ = attributes[runmodel.KeyPriceVersion].(string)
	return attributes[runmodel.KeyCostUSD], version
}

func config(url string) *Config {
	return &Config{DatabaseURL: configopaque.String(url), RefreshInterval: time.Hour}
}

func TestOverridesOfAProject(t *testing.T) {
	t.Parallel()
	url := engines.Postgres(t)
	pool := open(t, url)
	mine, other := project(t, pool, "mine"), project(t, pool, "other")
	exec(t, pool, "INSERT INTO price_overrides (project_id, provider, model, input, output) VALUES ($1, 'openai', 'gpt-4o', 1, 4)", mine)
	p, _, _ := started(t, config(url))

	// Prices that exist at the start apply from the first span on.
	cost, version := costOf(t, p, mine)
	assert.InEpsilon(t, 0.003, cost, 1e-12)
	assert.Regexp(t, `^project:\d+$`, version)
	for _, id := range []string{other, "", "not a project"} {
		cost, version = costOf(t, p, id)
		assert.InEpsilon(t, 0.0075, cost, 1e-12)
		assert.Equal(t, prices.Default().Version, version)
	}

	// A change takes effect, and has its own version.
	_, before := costOf(t, p, mine)
	exec(t, pool, "UPDATE price_overrides SET input = 2")
	assert.Eventually(t, func() bool { cost, _ := costOf(t, p, mine); return cost == 0.004 }, soon, 10*time.Millisecond)
	_, after := costOf(t, p, mine)
	assert.NotEqual(t, before, after)

	// A project's other prices do not change. A new price takes effect, and so does a deletion.
	exec(t, pool, "INSERT INTO price_overrides (project_id, model, input, output) VALUES ($1, 'gpt-*', 10, 0)", other)
	assert.Eventually(t, func() bool { cost, _ := costOf(t, p, other); return cost == 0.01 }, soon, 10*time.Millisecond)
	exec(t, pool, "DELETE FROM price_overrides WHERE project_id = $1", other)
	assert.Eventually(t, func() bool { cost, _ := costOf(t, p, other); return cost == 0.0075 }, soon, 10*time.Millisecond)
	exec(t, pool, "DELETE FROM projects WHERE id = $1", mine)
	assert.Eventually(t, func() bool { cost, _ := costOf(t, p, mine); return cost == 0.0075 }, soon, 10*time.Millisecond)
}

func TestPostgresAway(t *testing.T) {
	t.Parallel()
	server, database := engines.PostgresServer(t)
	require.NoError(t, postgres.Migrate(t.Context(), server.URL(database)))
	pool := open(t, server.URL(database))
	mine := project(t, pool, "mine")
	exec(t, pool, "INSERT INTO price_overrides (project_id, model, input, output) VALUES ($1, 'gpt-4o', 1, 4)", mine)
	running, _, _ := started(t, config(server.URL(database)))
	cost, _ := costOf(t, running, mine)
	require.InEpsilon(t, 0.003, cost, 1e-12)

	// The last known prices apply. If none were ever read, no cost is better than a wrong one.
	server.Stop(t)
	cost, _ = costOf(t, running, mine)
	require.InEpsilon(t, 0.003, cost, 1e-12)
	fresh, _, telemetry := started(t, config(server.URL(database)))
	cost, version := costOf(t, fresh, mine)
	assert.Nil(t, cost)
	assert.Empty(t, version)
	cost, _ = costOf(t, fresh, "") // no project, no prices of its own
	assert.InEpsilon(t, 0.0075, cost, 1e-12)
	unread, err := telemetry.GetMetric("otelcol_genaicost_spans")
	require.NoError(t, err)
	assert.NotEmpty(t, unread)

	// Once PostgreSQL is back, all prices are known.
	server.Start(t)
	for _, p := range []*costProcessor{fresh, running} {
		assert.Eventually(t, func() bool { cost, _ := costOf(t, p, mine); return cost == 0.003 }, 4*5*time.Second, 50*time.Millisecond)
	}
	pool.Reset()
	exec(t, pool, "UPDATE price_overrides SET input = 2")
	for _, p := range []*costProcessor{fresh, running} {
		assert.Eventually(t, func() bool { cost, _ := costOf(t, p, mine); return cost == 0.004 }, 4*5*time.Second, 50*time.Millisecond)
	}
}

// Start does not wait until PostgreSQL answers, which it never does here, and Shutdown ends what it left running.
func TestStartWithoutPostgres(t *testing.T) {
	t.Parallel()
	p, _, _ := started(t, config("postgres://looptrace@127.0.0.1:1/looptrace?sslmode=disable"))
	cost, _ := costOf(t, p, "0198a1b2-0000-7000-8000-000000000001")
	assert.Nil(t, cost)
	require.NoError(t, p.Shutdown(context.WithoutCancel(t.Context())))
}
