package engines_test

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/engines"
)

func TestClickHouseGivesEachTestItsOwnDatabase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"one", "other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options, err := clickhouse.ParseDSN(engines.ClickHouse(t))
			require.NoError(t, err)
			conn, err := clickhouse.Open(options)
			require.NoError(t, err)
			defer conn.Close() //nolint:errcheck // end of test

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
	defer conn.Close() //nolint:errcheck // end of test
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (x UInt64) ENGINE = MergeTree ORDER BY x"))
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO t SELECT number FROM numbers(10)"))

	server.Stop(t)
	require.Error(t, conn.Exec(t.Context(), "SELECT 1"))
	server.Start(t)

	conn, err = clickhouse.Open(options)
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // end of test
	var count uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM t").Scan(&count))
	require.EqualValues(t, 10, count)
}
