package clickhouse

import (
	"database/sql"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/test/engines"
)

var update = flag.Bool("update", false, "write the golden files anew")

func openDB(t *testing.T, url string) *sql.DB {
	t.Helper()
	opts, err := ch.ParseDSN(url)
	require.NoError(t, err)
	db := ch.OpenDB(opts)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// lines are the rows of a query with one column of text.
func lines(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer func() { assert.NoError(t, rows.Close()) }()
	var all []string
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		all = append(all, line)
	}
	require.NoError(t, rows.Err())
	return all
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	url := engines.EmptyClickHouse(t)
	require.NoError(t, Migrate(t.Context(), url))
	require.NoError(t, Migrate(t.Context(), url), "again changes nothing")

	// A migrator that was killed before it recorded a migration repeats it.
	db := openDB(t, url)
	_, err := db.ExecContext(t.Context(), "TRUNCATE TABLE schema_migrations")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO schema_migrations (version_id, is_applied) VALUES (0, 1)")
	require.NoError(t, err)
	require.NoError(t, Migrate(t.Context(), url))
}

func TestMigratorsAtOnceDoNotCollide(t *testing.T) {
	t.Parallel()
	url := engines.EmptyClickHouse(t)
	var group errgroup.Group
	for range 4 {
		group.Go(func() error { return Migrate(t.Context(), url) })
	}
	require.NoError(t, group.Wait())
	var applied, distinct uint64
	require.NoError(t, openDB(t, url).QueryRowContext(t.Context(), "SELECT count(), uniqExact(version_id) FROM schema_migrations").Scan(&applied, &distinct))
	assert.Equal(t, distinct, applied, "a migration was applied twice")
}

func TestMigrateRefusesAnOlderBuild(t *testing.T) {
	t.Parallel()
	for name, tables := range map[string][]string{
		"its table of versions": {"goose_db_version"},
		"no table of versions":  {"spans"},
		"both":                  {"goose_db_version", "runs", "spans"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := engines.EmptyClickHouse(t)
			db := openDB(t, url)
			for _, table := range tables {
				_, err := db.ExecContext(t.Context(), "CREATE TABLE "+table+" (version_id Int64) ENGINE = MergeTree ORDER BY version_id")
				require.NoError(t, err)
			}
			err := Migrate(t.Context(), url)
			require.ErrorIs(t, err, ErrOlderBuild)
			database := lines(t, db, "SELECT currentDatabase()")[0]
			require.EqualError(t, err, "the ClickHouse database "+database+" was made by an older build of Looptrace, which cannot be upgraded; use a fresh database")
			assert.Equal(t, tables, lines(t, db, "SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name"), "nothing was changed")
		})
	}
}

// TestSchema compares the schema with testdata/schema.sql. Only a new migration may change it: released files are never edited.
func TestSchema(t *testing.T) {
	t.Parallel()
	url := engines.EmptyClickHouse(t)
	require.NoError(t, Migrate(t.Context(), url))
	db := openDB(t, url)
	tables := lines(t, db, `SELECT formatQuery(replaceAll(create_table_query, concat(database, '.'), '')) FROM system.tables
		WHERE database = currentDatabase() AND name != 'schema_migrations' ORDER BY name`)
	got := strings.Join(tables, ";\n\n") + ";\n"
	const golden = "testdata/schema.sql"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "to accept a new migration: go test ./internal/clickhouse -run TestSchema -update")
}

// TestSetTextIndex switches the text indexes off and on: stored rows are indexed too, and a repeated migration
// changes nothing.
func TestSetTextIndex(t *testing.T) {
	t.Parallel()
	for wanted, want := range map[TextIndex][]string{
		TextIndexOn: {"contents_text", "shared_contents_text", "spans_text"}, TextIndexOff: nil,
	} {
		t.Run(wanted.String(), func(t *testing.T) {
			t.Parallel()
			url := engines.EmptyClickHouse(t)
			require.NoError(t, Migrate(t.Context(), url))
			db := openDB(t, url)
			require.NoError(t, SetTextIndex(t.Context(), url, TextIndexOff))
			_, err := db.ExecContext(t.Context(), `INSERT INTO spans (project_id, run_id, span_id, version, start_time, name)
				SELECT generateUUIDv4(), generateUUIDv4(), 1, 1, now(), 'before'`)
			require.NoError(t, err)
			// ClickHouse refuses to add an index while it still drops the one of that name.
			require.Eventually(t, func() bool { return SetTextIndex(t.Context(), url, wanted) == nil }, 30*time.Second, 50*time.Millisecond)
			require.NoError(t, Migrate(t.Context(), url))
			assert.Equal(t, want, lines(t, db, "SELECT name FROM system.data_skipping_indices WHERE database = currentDatabase() AND name LIKE '%_text' ORDER BY name"))
			assert.EventuallyWithT(t, func(c *assert.CollectT) {
				var indexed, undone int
				assert.NoError(c, db.QueryRowContext(t.Context(), `SELECT countIf(secondary_indices_compressed_bytes > 0) FROM system.parts
					WHERE database = currentDatabase() AND table = 'spans' AND active`).Scan(&indexed))
				assert.NoError(c, db.QueryRowContext(t.Context(), "SELECT count() FROM system.mutations WHERE database = currentDatabase() AND NOT is_done").Scan(&undone))
				assert.Equal(c, min(len(want), 1), indexed, "stored rows are indexed")
				assert.Zero(c, undone)
			}, 30*time.Second, 50*time.Millisecond)
		})
	}
}
