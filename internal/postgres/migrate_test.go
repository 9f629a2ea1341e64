package postgres_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/engines"
)

var update = flag.Bool("update", false, "write the golden files anew")

// lines are the rows of a query with one column of text.
func lines(t *testing.T, pool *pgxpool.Pool, query string) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), query)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return all
}

func TestMigrateRefusesAnOlderBuild(t *testing.T) {
	t.Parallel()
	for name, tables := range map[string][]string{
		"its table of versions": {"goose_db_version"},
		"no table of versions":  {"projects"},
		"both":                  {"goose_db_version", "projects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := engines.EmptyPostgres(t)
			pool := open(t, url)
			for _, table := range tables {
				_, err := pool.Exec(t.Context(), "CREATE TABLE "+table+" (version_id bigint)")
				require.NoError(t, err)
			}
			err := postgres.Migrate(t.Context(), url)
			require.ErrorIs(t, err, postgres.ErrOlderBuild)
			database := lines(t, pool, "SELECT current_database()::text")[0]
			require.EqualError(t, err, "the PostgreSQL database "+database+" was made by an older build of Looptrace, which cannot be upgraded; use a fresh database")
			assert.Equal(t, tables, lines(t, pool, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"), "nothing was changed")
		})
	}
}

// TestSchema compares the schema with testdata/schema.txt. Only a new migration may change it: released files are never edited.
func TestSchema(t *testing.T) {
	t.Parallel()
	pool := open(t, engines.Postgres(t))
	var got strings.Builder
	for _, part := range []struct{ name, query string }{
		{"columns", `SELECT format('%s.%s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod))
				|| CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END || coalesce(' DEFAULT ' || pg_get_expr(adbin, adrelid), '')
			FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
			WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped AND relname != 'schema_migrations'
			ORDER BY relname, attnum`},
		{"constraints", `SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
			WHERE connamespace = 'public'::regnamespace AND contype != 'n' AND conrelid != 'schema_migrations'::regclass ORDER BY conrelid::regclass::text, conname`},
		{"indexes", `SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename != 'schema_migrations' ORDER BY tablename, indexname`},
		{"triggers", `SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgrelid::regclass::text, tgname`},
		{"functions", `SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY proname`},
	} {
		got.WriteString("== " + part.name + "\n" + strings.Join(lines(t, pool, part.query), "\n") + "\n")
	}
	const golden = "testdata/schema.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String(), "to accept a new migration: go test ./internal/postgres -run TestSchema -update")
}

// TestLabelsGetTheirScale has labels from before migration 31, of a panel with one scale in all eval-runs, and of one with two.
func TestLabelsGetTheirScale(t *testing.T) {
	t.Parallel()
	pool := open(t, engines.Postgres(t))
	exec := func(statements string) {
		t.Helper()
		_, err := pool.Exec(t.Context(), statements)
		require.NoError(t, err)
	}
	exec(`DROP TABLE evaluation_stopped_judges; ALTER TABLE evaluation_labels DROP CONSTRAINT evaluation_labels_pkey, DROP COLUMN scale_hash, DROP COLUMN scale;
		ALTER TABLE evaluation_labels ADD PRIMARY KEY (project_id, score, item_hash, output_hash, author)`)
	const panels = `{"panels":[{"name":"one","judges":[{"definition":{"scale":{"type":"ordinal","min":1,"max":5}}}]},{"name":"two","judges":[{"definition":{"scale":{"type":"ordinal","min":1,"max":%MAX%}}}]}]}`
	insert := `INSERT INTO evaluations (project_id, kind, name, dataset_id, revision, item_count, repeats, seed, config, allow_unpriced, status, outputs_total, estimate, created_at)
		SELECT p.id, 'eval_run', 'judged', uuidv7(), 1, 1, 1, 1, c.config, true, 'succeeded', 1, '{}', now()
		FROM (VALUES (` + strings.Join([]string{`'` + strings.ReplaceAll(panels, "%MAX%", "5") + `'`, `'` + strings.ReplaceAll(panels, "%MAX%", "3") + `'`, `'{"panels":null}'`}, "), (") + `)) c (config),
			(VALUES ('01985f6e-0000-7000-8000-000000000001'::uuid)) p (id)`
	const withoutProject = "BEGIN; SET LOCAL session_replication_role = replica; "
	exec(withoutProject + insert + `;
		INSERT INTO evaluation_labels (project_id, score, item_hash, output_hash, author, value, note, created_at)
		SELECT '01985f6e-0000-7000-8000-000000000001', score, 'item', 'output', 'user:1', 3, '', now() FROM (VALUES ('one'), ('two'), ('gone')) s (score); COMMIT`)
	migration, err := os.ReadFile("migrations/00031_judging.sql")
	require.NoError(t, err)
	exec(withoutProject + string(migration) + "; COMMIT")
	assert.Equal(t, []string{"gone: unknown", `one: {"max": 5, "min": 1, "type": "ordinal"}`, "two: unknown"},
		lines(t, pool, "SELECT score || ': ' || coalesce(scale::text, 'unknown') FROM evaluation_labels ORDER BY score"))
}

// TestDaysOfRulesAreCounted has runs of rules from before migration 37: of two days, one that a worker has, and some that count nothing.
func TestDaysOfRulesAreCounted(t *testing.T) {
	t.Parallel()
	pool := open(t, engines.Postgres(t))
	exec := func(statements string) {
		t.Helper()
		_, err := pool.Exec(t.Context(), statements)
		require.NoError(t, err)
	}
	exec(`DROP TRIGGER eval_rule_runs_count_days ON eval_rule_runs; DROP FUNCTION count_eval_rule_days; DROP TABLE eval_rule_days;
		CREATE INDEX eval_rule_runs_counted_day_idx ON eval_rule_runs (rule_id, counted_day) WHERE counted_nanousd > 0`)
	const withoutRule = "BEGIN; SET LOCAL session_replication_role = replica; "
	exec(withoutRule + `INSERT INTO eval_rule_runs (rule_id, run_id, run_name, version, status, worker, day, taken_at, next_attempt, counted_nanousd, counted_day)
		SELECT '01985f6e-0000-7000-8000-000000000001', uuidv7(), 'run', 1, r.status, r.worker, now(), now(), now(), r.counted, r.day::date
		FROM (VALUES ('scored', NULL, 5, '2026-01-01'), ('failed', NULL, 7, '2026-01-01'), ('pending', NULL, 11, '2026-01-02'), ('pending', uuidv7(), 13, '2026-01-02'),
			('scored', NULL, 17, NULL), ('skipped', NULL, 0, '2026-01-03')) r (status, worker, counted, day); COMMIT`)
	migration, err := os.ReadFile("migrations/00037_eval_rule_days.sql")
	require.NoError(t, err)
	exec(withoutRule + string(migration) + "; COMMIT")
	days := "SELECT day || ': ' || counted_nanousd || ', ' || held_nanousd FROM eval_rule_days ORDER BY day"
	assert.Equal(t, []string{"2026-01-01: 12, 0", "2026-01-02: 24, 13"}, lines(t, pool, days))
	exec("UPDATE eval_rule_runs SET status = 'scored', worker = NULL, counted_nanousd = 12 WHERE counted_nanousd = 13")
	assert.Equal(t, []string{"2026-01-01: 12, 0", "2026-01-02: 23, 0"}, lines(t, pool, days))
}
