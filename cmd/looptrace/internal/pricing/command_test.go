package pricing

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := New()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func TestListAndCheck(t *testing.T) {
	t.Parallel()
	out, err := execute(t, "list", "--search", "Gemini-2.5-PRO")
	require.NoError(t, err)
	assert.Contains(t, out, "gemini-2.5-pro ")
	assert.Contains(t, out, "above 200000 tokens")
	assert.NotContains(t, out, "gpt-4o")
	_, err = execute(t, "list", "--search", "nobody knows")
	require.Error(t, err)

	out, err = execute(t, "check", "claude-sonnet-5", "--provider", "anthropic", "--at", "2026-08-31")
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^anthropic +claude-sonnet-5 +2 +10 +0\.2 +2\.5 +4 *$`, out)
	assert.Regexp(t, `(?m)^version \d{4}-\d\d-\d\d, listed at https://`, out)
	_, err = execute(t, "check", "nobody-knows")
	require.ErrorContains(t, err, "no price is known")
	_, err = execute(t, "check", "gpt-4o", "--at", "yesterday")
	require.ErrorContains(t, err, "must be a date or a time")
}

func TestRepriceSaysWhatIsWrong(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	t.Setenv("CLICKHOUSE_URL", "")
	for message, args := range map[string][]string{
		`required flag(s) "from" not set`:  {"reprice"},
		"--from: must be a date or a time": {"reprice", "--from", "now"},
		"--from must be before --to":       {"reprice", "--from", "2026-02-01", "--to", "2026-02-01"},
		"--project must be a project's id": {"reprice", "--from", "2026-02-01", "--project", "mine"},
		"DATABASE_URL is not set":          {"reprice", "--from", "2026-02-01"},
	} {
		_, err := execute(t, args...)
		require.ErrorContains(t, err, message)
	}
	t.Setenv("DATABASE_URL", engines.Postgres(t))
	_, err := execute(t, "reprice", "--from", "2026-02-01")
	require.ErrorContains(t, err, "CLICKHOUSE_URL is not set")
}

// The command with both real stores: a project's own price must reach the row of a run.
func TestRepriceCommand(t *testing.T) {
	databaseURL, url := engines.Postgres(t), engines.ClickHouse(t)
	t.Setenv("DATABASE_URL", databaseURL)
	t.Setenv("CLICKHOUSE_URL", url)
	conn, err := clickhouse.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	writer, err := clickhouse.NewWriter(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(writer.Close)
	pool, err := postgres.Open(t.Context(), databaseURL)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	project := insertProject(t, pool)
	_, err = pool.Exec(t.Context(), "INSERT INTO price_overrides (project_id, provider, model, input, output, cache_read) VALUES ($1, '', 'gpt-4o', 1, 4, 0.5), ($1, 'openai', 'gpt-4o', 2, 8, NULL)", project)
	require.NoError(t, err)

	key := runmodel.RunKey{ProjectID: uuid.MustParse(project), RunID: uuid.New()}
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var spans []runmodel.Span
	for i, model := range []string{"gpt-4o", "nobody-knows"} {
		input, output := int64(1000), int64(500)
		spans = append(spans, runmodel.Span{
			ProjectID: key.ProjectID, RunID: key.RunID, SpanID: uint64(i + 1), Version: uint64(noon.UnixNano()), StartTime: noon, EndTime: noon.Add(time.Second),
			Operation: "chat", Provider: "openai", RequestModel: model, InputTokens: &input, OutputTokens: &output,
		})
	}
	require.NoError(t, writer.InsertSpans(t.Context(), spans))
	require.NoError(t, writer.InsertBounds(t.Context(), []clickhouse.Bounds{{
		ProjectID: key.ProjectID, RunID: key.RunID, FirstStart: noon, LastStart: noon, FirstBatch: spans[0].Version, LastBatch: spans[0].Version,
	}}))
	_, err = clickhouse.DeriveRuns(t.Context(), conn, writer, map[runmodel.RunKey][]runmodel.Span{key: nil}, 0)
	require.NoError(t, err)
	cost := func() (usd *float64) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT cost_usd FROM runs FINAL WHERE run_id = ?", key.RunID).Scan(&usd))
		return usd
	}
	out, err := execute(t, "reprice", "--from", "2026-11-20", "--to", "2026-11-21", "--dry-run")
	require.NoError(t, err)
	assert.Contains(t, out, "Nothing was written.")
	assert.Nil(t, cost())
	out, err = execute(t, "reprice", "--from", "2026-11-20", "--to", "2026-11-21", "--project", project)
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^  changed +1$`, out)
	assert.Regexp(t, `(?m)^runs updated +1$`, out)
	assert.Regexp(t, `(?m)^  "nobody-knows" +1$`, out)
	require.NotNil(t, cost())
	assert.InEpsilon(t, 0.006, *cost(), 1e-9, "the price that names the provider is the more specific one")

	out, err = execute(t, "check", "gpt-4o", "--project", project)
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^version project:\d+$`, out)
}

func insertProject(t *testing.T, pool *pgxpool.Pool) (id string) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), `
		WITH o AS (INSERT INTO organizations (name) VALUES ('o') RETURNING id),
		w AS (INSERT INTO workspaces (organization_id, name) SELECT id, 'w' FROM o RETURNING id)
		INSERT INTO projects (workspace_id, name) SELECT id, 'p' FROM w RETURNING id::text`).Scan(&id))
	return id
}
