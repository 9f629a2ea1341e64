package clickhouse

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestSlowIsNotSilent checks that a statement may take much longer than the timeout, as long as ClickHouse works on
// it.
func TestSlowIsNotSilent(t *testing.T) {
	t.Parallel()
	const silence = 2 * time.Second
	conn, err := open(engines.ClickHouse(t), silence)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	began := time.Now()
	var n uint64
	require.NoError(t, conn.QueryRow(t.Context(),
		"SELECT count() FROM numbers(50) WHERE sleepEachRow(0.1) = 0 SETTINGS max_block_size = 1").Scan(&n))
	assert.Equal(t, uint64(50), n)
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE slow (n UInt64) ORDER BY n"))
	require.NoError(t, conn.Exec(t.Context(),
		"INSERT INTO slow SELECT number FROM numbers(50) WHERE sleepEachRow(0.1) = 0 SETTINGS max_block_size = 1"))
	assert.Greater(t, time.Since(began), 4*silence)
	require.NoError(t, conn.Exec(t.Context(), "SELECT 1"), "what was read does not end the wait for what is asked next")
}

// TestFrozenServer checks that connections to a halted ClickHouse, known and new ones, are closed, and that it is
// used again when it continues.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	server, database := engines.ClickHouseServer(t)
	url := server.URL(database)
	const silence = 5 * time.Second // inserting must not take as long on a busy machine
	conn, err := open(url, silence)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	writer, err := newWriter(t.Context(), url, silence)
	require.NoError(t, err)
	defer writer.Close()
	project := uuid.New()
	rows := make([]runmodel.SharedContent, 20)
	for i := range rows { // more than a socket buffers
		rows[i] = runmodel.SharedContent{ProjectID: project, ContentID: uint64(i), Frame: "{}", Texts: []string{strings.Repeat("x", 1<<20)}}
	}
	insert := func() error { return writer.InsertSharedContents(t.Context(), rows) }
	read := func() error {
		var one uint8
		return conn.QueryRow(t.Context(), "SELECT 1").Scan(&one)
	}
	score := func() error {
		return InsertScores(t.Context(), conn, []runmodel.Score{{ProjectID: project, RunID: uuid.New(), ScoreID: uuid.New(), CreatedAt: time.Now()}})
	}
	operations := map[string]func() error{
		"insert": insert, "read": read, "score": score,
		"delete": func() error { return DeleteRuns(t.Context(), conn, project, []uuid.UUID{uuid.New()}, time.Now()) },
		"ping":   func() error { return conn.Ping(t.Context()) },
	}
	all := func(check func(name string, err error)) {
		var running sync.WaitGroup
		for name, operation := range operations {
			running.Go(func() { check(name, operation()) })
		}
		running.Wait()
	}
	all(func(name string, err error) { assert.NoError(t, err, name) })
	// In the middle of a statement.
	slow := make(chan error, 1)
	go func() {
		var n uint64
		slow <- conn.QueryRow(t.Context(), "SELECT count() FROM numbers(1200) WHERE sleepEachRow(0.1) = 0 SETTINGS max_block_size = 1").Scan(&n)
	}()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var n uint64
		assert.NoError(c, conn.QueryRow(t.Context(), "SELECT count() FROM system.processes WHERE query LIKE '%numbers(1200)%'").Scan(&n))
		assert.Equal(c, uint64(2), n) // and this one
	}, time.Minute, 20*time.Millisecond)

	server.Freeze(t)
	require.ErrorIs(t, <-slow, errSilent)
	began := time.Now()
	for range 2 { // with existing connections and with new ones
		all(func(name string, err error) { assert.Error(t, err, name) })
	}
	assert.Less(t, time.Since(began), 2*time.Minute, "the driver alone waits 5 minutes for an answer")

	server.Thaw(t)
	for name, operation := range operations {
		require.Eventually(t, func() bool { return operation() == nil }, time.Minute, 50*time.Millisecond, name)
	}
	require.NoError(t, insert(), "storing it again changes nothing")
	var n uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM shared_contents FINAL WHERE project_id = ?", project).Scan(&n))
	assert.Equal(t, uint64(len(rows)), n)
}
