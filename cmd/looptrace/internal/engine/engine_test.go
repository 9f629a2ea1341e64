package engine_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/engine"
	"github.com/looptrace/looptrace/test/freeport"
)

const (
	waitFor = 20 * time.Second
	tick    = 20 * time.Millisecond
	folder  = engine.Folder("../../../../_build/engines")
)

// These make the test binary a ClickHouse server, because a process can run only one, once.
const (
	dataVariable = "ENGINE_TEST_DATA"
	addrVariable = "ENGINE_TEST_ADDR"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(dataVariable); dir != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		clickhouse := server(os.Getenv(addrVariable))
		clickhouse.Library, clickhouse.DataDir, clickhouse.MaxMemory = folder.ClickHouse(), dir, engine.MemoryCap()
		if err := clickhouse.Serve(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		stop()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func needEngines(t *testing.T) {
	t.Helper()
	if err := folder.Check(); err != nil {
		t.Skipf("the engines are not installed (npm ci in _build/engines): %v", err)
	}
}

func startClickHouse(t *testing.T, dir, addr string) *exec.Cmd {
	t.Helper()
	server := exec.CommandContext(t.Context(), os.Args[0])
	server.Env = append(os.Environ(), dataVariable+"="+dir, addrVariable+"="+addr, "TZ=America/New_York")
	server.Stderr = os.Stderr
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	return server
}

// openClickHouse waits until the server answers.
func server(addr string) engine.ClickHouse {
	return engine.ClickHouse{Addr: addr, Password: "correct horse", Database: "looptrace"}
}

func openClickHouse(t *testing.T, addr string) ch.Conn {
	t.Helper()
	opts, err := ch.ParseDSN(server(addr).URL())
	require.NoError(t, err)
	conn, err := ch.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.Eventually(t, func() bool { return conn.Ping(t.Context()) == nil }, waitFor, tick)
	return conn
}

// TestClickHouseOutlivesResetConnections resets new connections, and connections with an answer in flight.
func TestClickHouseOutlivesResetConnections(t *testing.T) {
	t.Parallel()
	needEngines(t)
	tcp := freeport.Take(t, 1)[0]
	process := startClickHouse(t, filepath.Join(t.TempDir(), "clickhouse"), tcp)
	conn := openClickHouse(t, tcp)
	for range 20 {
		fresh, err := net.Dial("tcp", tcp)
		require.NoError(t, err)
		require.NoError(t, fresh.(*net.TCPConn).SetLinger(0))
		require.NoError(t, fresh.Close())

		var reading net.Conn
		opts, err := ch.ParseDSN(server(tcp).URL())
		require.NoError(t, err)
		opts.DialContext = func(ctx context.Context, addr string) (net.Conn, error) {
			reading, err = (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			return reading, err
		}
		client, err := ch.Open(opts)
		require.NoError(t, err)
		rows, err := client.Query(t.Context(), "SELECT number, toString(number) FROM numbers(100000000)")
		require.NoError(t, err)
		require.True(t, rows.Next())
		require.NoError(t, reading.(*net.TCPConn).SetLinger(0))
		require.NoError(t, reading.Close())
		_ = rows.Close()   // its connection is gone
		_ = client.Close() // likewise
	}
	require.NoError(t, conn.Ping(t.Context()))
	require.NoError(t, process.Process.Signal(syscall.Signal(0)), "the same process")
}

// TestClickHouseStartsInAnyFolder uses a path with characters that are special in XML or SQL.
func TestClickHouseStartsInAnyFolder(t *testing.T) {
	t.Parallel()
	needEngines(t)
	addr := freeport.Take(t, 1)[0]
	startClickHouse(t, filepath.Join(t.TempDir(), `it's <R&D>, "data"`, "clickhouse"), addr)
	openClickHouse(t, addr)
}

func TestClickHouseKeepsWhatItTookThroughKillAndStop(t *testing.T) {
	t.Parallel()
	needEngines(t)
	dir, tcp := filepath.Join(t.TempDir(), "clickhouse"), freeport.Take(t, 1)[0]
	ctx := t.Context()

	process := startClickHouse(t, dir, tcp)
	conn := openClickHouse(t, tcp)
	var zone, databaseEngine string
	require.NoError(t, conn.QueryRow(ctx, "SELECT timezone()").Scan(&zone))
	assert.Equal(t, "UTC", zone)
	require.NoError(t, conn.QueryRow(ctx, "SELECT engine FROM system.databases WHERE name = 'looptrace'").Scan(&databaseEngine))
	assert.Equal(t, "Atomic", databaseEngine)
	require.NoError(t, conn.Exec(ctx, "CREATE TABLE t (id UInt64, text String) ENGINE = MergeTree ORDER BY id SETTINGS fsync_after_insert = 1"))
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO t")
	require.NoError(t, err)
	for id := range uint64(1000) {
		require.NoError(t, batch.Append(id, strconv.FormatUint(id, 10)))
	}
	require.NoError(t, batch.Send())

	require.NoError(t, process.Process.Kill())
	_ = process.Wait() // it was killed
	process = startClickHouse(t, dir, tcp)
	conn = openClickHouse(t, tcp)
	var count uint64
	require.NoError(t, conn.QueryRow(ctx, "SELECT count() FROM t WHERE text = toString(id)").Scan(&count))
	assert.Equal(t, uint64(1000), count)
	require.NoError(t, conn.Exec(ctx, "INSERT INTO t SETTINGS async_insert = 1, wait_for_async_insert = 0 VALUES (1000, '1000')"))

	require.NoError(t, process.Process.Signal(syscall.SIGTERM))
	require.NoError(t, process.Wait())
	startClickHouse(t, dir, tcp)
	conn = openClickHouse(t, tcp)
	require.NoError(t, conn.QueryRow(ctx, "SELECT count() FROM t").Scan(&count))
	assert.Equal(t, uint64(1001), count)

	var tables uint64
	require.NoError(t, conn.QueryRow(ctx, "SELECT count() FROM system.tables WHERE database = 'system' AND name LIKE '%\\_log'").Scan(&tables))
	assert.Zero(t, tables, "no log tables that grow")
}

// startPostgres returns a channel that closes when the server has ended.
func startPostgres(t *testing.T, p engine.Postgres) (*os.Process, <-chan struct{}) {
	t.Helper()
	require.NoError(t, p.Prepare(t.Context()))
	path, args := p.Command()
	server := exec.Command(path)
	server.Args, server.Env, server.SysProcAttr = args, engine.PostgresEnv(), &p.User.Attr
	require.NoError(t, server.Start())
	ended := make(chan struct{})
	go func() {
		_ = server.Wait() // killed or refused, the tests check the consequences
		close(ended)
	}()
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGQUIT) // it may have ended before
		<-ended
	})
	return server.Process, ended
}

func TestPostgresKeepsWhatItTookThroughAKill(t *testing.T) {
	t.Parallel()
	needEngines(t)
	runtime.LockOSThread() // permanently, as Prepare requires
	_, portText, err := net.SplitHostPort(freeport.Take(t, 1)[0])
	require.NoError(t, err)
	port, err := strconv.Atoi(portText)
	require.NoError(t, err)
	home, err := filepath.Abs(folder.Postgres())
	require.NoError(t, err)
	// Test folders are closed to other users, like root's home.
	p := engine.Postgres{Home: home, DataDir: filepath.Join(t.TempDir(), "postgres"), Port: port, Password: "secret"}
	p.User, err = engine.Unprivileged(p.Home, filepath.Dir(p.DataDir))
	require.NoError(t, err)
	ready := func() bool { return p.Ready(t.Context()) == nil }

	server, ended := startPostgres(t, p)
	require.Eventually(t, ready, waitFor, tick)
	conn, err := pgx.Connect(t.Context(), p.AdminURL())
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "CREATE TABLE t (id int); INSERT INTO t VALUES (7)")
	require.NoError(t, err)

	require.NoError(t, server.Kill())
	<-ended
	require.ErrorContains(t, p.Ready(t.Context()), "starting", "the file that a killed server leaves says nothing")
	// The connection above keeps a child of the killed server alive for a moment, and the next server refuses to start
	// meanwhile. A supervisor restarts it.
	for deadline := time.Now().Add(waitFor); !ready(); {
		require.True(t, time.Now().Before(deadline), "PostgreSQL starts again")
		_, ended := startPostgres(t, p)
		for running := true; running && !ready(); {
			select {
			case <-ended:
				running = false
			case <-time.After(tick):
			}
		}
	}
	conn, err = pgx.Connect(t.Context(), p.AdminURL())
	require.NoError(t, err)
	var id int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT id FROM t").Scan(&id))
	assert.Equal(t, 7, id)
	require.NoError(t, conn.Close(t.Context()))
}

func TestPostgresClearsStaleLocks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pid  int
		gone bool
	}{
		"another program has the id of the killed server": {pid: os.Getpid(), gone: true},
		"nobody has it": {pid: 1 << 30, gone: false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := engine.Postgres{Home: t.TempDir(), DataDir: t.TempDir()}
			lock := filepath.Join(p.DataDir, "postmaster.pid")
			require.NoError(t, os.WriteFile(lock, fmt.Appendln(nil, c.pid), 0o600))
			require.NoError(t, p.Prepare(t.Context()))
			if c.gone {
				assert.NoFileExists(t, lock)
			} else {
				assert.FileExists(t, lock, "PostgreSQL reads from it what the killed server has left in memory")
			}
		})
	}
}

// A copy of a data folder that root makes belongs to root.
func TestPostgresTakesOverACopy(t *testing.T) {
	t.Parallel()
	needEngines(t)
	if os.Geteuid() != 0 {
		t.Skip("only root runs PostgreSQL as another user")
	}
	runtime.LockOSThread() // permanently, as Prepare requires
	home, err := filepath.Abs(folder.Postgres())
	require.NoError(t, err)
	_, portText, err := net.SplitHostPort(freeport.Take(t, 1)[0])
	require.NoError(t, err)
	port, err := strconv.Atoi(portText)
	require.NoError(t, err)
	p := engine.Postgres{Home: home, DataDir: filepath.Join(t.TempDir(), "postgres"), Port: port, Password: "secret"}
	p.User, err = engine.Unprivileged(p.Home, filepath.Dir(p.DataDir))
	require.NoError(t, err)
	require.NoError(t, p.Prepare(t.Context()))
	copied := filepath.Join(filepath.Dir(p.DataDir), "copy")
	output, err := exec.CommandContext(t.Context(), "cp", "-r", p.DataDir, copied).CombinedOutput()
	require.NoError(t, err, "%s", output)
	p.DataDir = copied
	server, _ := startPostgres(t, p)
	require.Eventually(t, func() bool { return p.Ready(t.Context()) == nil }, waitFor, tick)
	// It runs as a user that runs nothing else: who shares one may signal the other's processes.
	info, err := os.Stat(fmt.Sprintf("/proc/%d", server.Pid))
	require.NoError(t, err)
	uid := info.Sys().(*syscall.Stat_t).Uid
	assert.NotZero(t, uid)
	_, err = user.LookupId(strconv.Itoa(int(uid)))
	require.ErrorAs(t, err, new(user.UnknownUserIdError))
}

func TestUnfinishedDatabasesAreMadeAnew(t *testing.T) {
	t.Parallel()
	needEngines(t)
	runtime.LockOSThread() // permanently, as Prepare requires
	home, err := filepath.Abs(folder.Postgres())
	require.NoError(t, err)
	p := engine.Postgres{Home: home, DataDir: filepath.Join(t.TempDir(), "postgres"), Password: "secret"}
	p.User, err = engine.Unprivileged(p.Home, filepath.Dir(p.DataDir))
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(p.DataDir+".new", 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(p.DataDir+".new", "half"), nil, 0o600))
	require.NoError(t, p.Prepare(t.Context()))
	assert.FileExists(t, filepath.Join(p.DataDir, "PG_VERSION"))
	assert.NoFileExists(t, filepath.Join(p.DataDir, "half"))
	assert.NoFileExists(t, p.DataDir+".password")
}

func TestCheckNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, engine.Folder(t.TempDir()).Check(), "libchdb.so")
}
