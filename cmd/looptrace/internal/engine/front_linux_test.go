package engine_test

import (
	"fmt"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/looptrace/looptrace/test/freeport"
)

// TestClickHouseOutlivesMoreConnectionsThanItMayHaveFiles opens connections without logging in.
func TestClickHouseOutlivesMoreConnectionsThanItMayHaveFiles(t *testing.T) {
	t.Parallel()
	needEngines(t)
	addr := freeport.Take(t, 1)[0]
	process := startClickHouse(t, filepath.Join(t.TempDir(), "clickhouse"), addr)
	conn := openClickHouse(t, addr)
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", process.Process.Pid))
	require.NoError(t, err)
	// A server that has just started opens some more files.
	const spare, clients = 600, 1000
	limit := unix.Rlimit{Cur: uint64(len(files)) + spare, Max: uint64(len(files)) + spare}
	require.NoError(t, unix.Prlimit(process.Process.Pid, unix.RLIMIT_NOFILE, &limit, nil))

	idle := make([]net.Conn, clients)
	for i := range idle {
		idle[i], err = net.Dial("tcp", addr)
		require.NoError(t, err)
	}
	for _, client := range idle {
		require.NoError(t, client.Close())
	}
	require.Eventually(t, func() bool { return conn.Ping(t.Context()) == nil }, waitFor, tick)
	require.NoError(t, process.Process.Signal(syscall.Signal(0)), "the same process")
}
