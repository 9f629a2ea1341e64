package engines_test

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/engines"
)

func TestClickHouseGivesEachTestItsOwnDatabase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"one", "other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options, err := clickhouse.ParseDSN(engines.EmptyClickHouse(t))
			require.NoError(t, err)
			conn, err := clickhouse.Open(options)
			require.NoError(t, err)
			defer conn.Close()

			// The same table name in both: it would collide in one database.
			require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (x UInt64) ENGINE = MergeTree ORDER BY x"))
			require.NoError(t, conn.Exec(t.Context(), "INSERT INTO t SELECT number FROM numbers(10)"))
			var count uint64
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM t").Scan(&count))
			require.EqualValues(t, 10, count)
		})
	}
}

func TestClickHouseServerKeepsItsDataOverAStop(t *testing.T) {
	t.Parallel()
	server, database := engines.ClickHouseServer(t)
	options, err := clickhouse.ParseDSN(server.URL(database))
	require.NoError(t, err)
	conn, err := clickhouse.Open(options)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (x UInt64) ENGINE = MergeTree ORDER BY x"))
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO t SELECT number FROM numbers(10)"))

	server.Stop(t)
	require.Error(t, conn.Exec(t.Context(), "SELECT 1"))
	server.Start(t)

	conn, err = clickhouse.Open(options)
	require.NoError(t, err)
	defer conn.Close()
	var count uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM t").Scan(&count))
	require.EqualValues(t, 10, count)
}

func TestPostgresGivesEachTestItsOwnMigratedDatabase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"one", "other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := pgx.Connect(t.Context(), engines.Postgres(t))
			require.NoError(t, err)
			defer conn.Close(t.Context())

			// The same email in both: it would collide in one database.
			_, err = conn.Exec(t.Context(), "INSERT INTO users (email, password_hash) VALUES ('ann@example.com', 'x')")
			require.NoError(t, err)
		})
	}
}

func TestPostgresServerKeepsItsDataOverAStop(t *testing.T) {
	t.Parallel()
	server, database := engines.PostgresServer(t)
	conn, err := pgx.Connect(t.Context(), server.URL(database))
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "INSERT INTO users (email, password_hash) VALUES ('ann@example.com', 'x')")
	require.NoError(t, err)

	server.Stop(t)
	_, err = conn.Exec(t.Context(), "SELECT 1")
	require.Error(t, err)
	server.Start(t)

	conn, err = pgx.Connect(t.Context(), server.URL(database))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var count int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM users").Scan(&count))
	require.Equal(t, 1, count)
}
