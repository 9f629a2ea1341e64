package preflight_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/layout"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/preflight"
)

// oneLine asserts that a problem is one line that contains all parts.
func oneLine(t *testing.T, err error, parts ...string) {
	t.Helper()
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "\n")
	for _, part := range parts {
		assert.Contains(t, err.Error(), part)
	}
}

func TestPort(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, text, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	number, err := strconv.Atoi(text)
	require.NoError(t, err)
	port := layout.Port{Number: number, Use: "the queue"}

	oneLine(t, preflight.Port(port), "port "+text, "the queue", "in use", "--port-offset")
	require.NoError(t, listener.Close())
	assert.NoError(t, preflight.Port(port))
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	require.NoError(t, preflight.Folder(dir))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	oneLine(t, preflight.Folder(filepath.Join(file, "data")), file, "not a directory", "--data")
	oneLine(t, preflight.Folder("/proc/looptrace"), "/proc/looptrace", "--data")
}

func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o500))
	oneLine(t, preflight.Folder(dir), dir, "permission denied", "--data")
}

func TestSpace(t *testing.T) {
	t.Parallel()
	require.NoError(t, preflight.Space(filepath.Join(t.TempDir(), "not", "there")))
	if _, err := os.Stat("/proc/self"); err == nil { // a file system without any space
		oneLine(t, preflight.Space("/proc/self"), "/proc/self", "0 MiB left", "--data")
	}
}

func TestMissingParts(t *testing.T) {
	t.Parallel()
	tree := layout.Tree{Root: t.TempDir()}
	oneLine(t, preflight.Engines(tree), tree.Engines(), "make build", "npm ci")
	oneLine(t, preflight.Parts(tree), tree.Collector(), tree.ControlPlane(), "index.html", "make build")
}

func TestLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pid := strconv.Itoa(os.Getpid())
	_, running := preflight.Running(dir)
	assert.False(t, running)

	lock, err := preflight.Acquire(dir)
	require.NoError(t, err)
	assert.False(t, lock.Unclean)
	holder, running := preflight.Running(dir)
	assert.True(t, running)
	assert.Equal(t, pid, holder)
	_, err = preflight.Acquire(dir)
	oneLine(t, err, "already running", "process "+pid, dir)

	require.NoError(t, lock.Release())
	_, running = preflight.Running(dir)
	assert.False(t, running)
	lock, err = preflight.Acquire(dir)
	require.NoError(t, err)
	assert.False(t, lock.Unclean, "the last one ended in order")
	require.NoError(t, lock.Release())

	require.NoError(t, os.WriteFile(filepath.Join(dir, "lock"), []byte("1"), 0o600))
	lock, err = preflight.Acquire(dir)
	require.NoError(t, err)
	assert.True(t, lock.Unclean, "the last one was killed")
	require.NoError(t, lock.Release())
	raw, err := os.ReadFile(filepath.Join(dir, "lock"))
	require.NoError(t, err)
	assert.Empty(t, strings.TrimSpace(string(raw)))
}
