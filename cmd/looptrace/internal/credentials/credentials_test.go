package credentials_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/credentials"
)

var files = []string{"session-secret", "postgres-password", "clickhouse-password", "queue-password"}

func TestOpenMakesEachOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := credentials.Read(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, credentials.Check(dir), "the first start makes them")

	first, err := credentials.Open(dir)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, secret := range []string{first.SessionSecret, first.Postgres, first.ClickHouse, first.Queue} {
		assert.Regexp(t, `^[0-9a-f]{64}$`, secret)
		seen[secret] = true
	}
	assert.Len(t, seen, 4, "each is another one")
	for _, name := range files {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), name)
	}

	again, err := credentials.Open(dir)
	require.NoError(t, err)
	assert.Equal(t, first, again)
	copied := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, exec.CommandContext(t.Context(), "cp", "-r", dir, copied).Run())
	again, err = credentials.Read(copied)
	require.NoError(t, err)
	assert.Equal(t, first, again)

	require.NoError(t, os.Remove(filepath.Join(dir, "queue-password")))
	again, err = credentials.Open(dir)
	require.NoError(t, err)
	assert.NotEqual(t, first.Queue, again.Queue)
	assert.Equal(t, first.Postgres, again.Postgres)
}

func TestWhatIsWrongIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir, path string) error
		says  string
	}{
		"open to others": {func(_ *testing.T, _, path string) error { return os.Chmod(path, 0o640) }, "chmod 600"},
		"cut short":      {func(_ *testing.T, _, path string) error { return os.Truncate(path, 10) }, "is damaged"},
		"empty":          {func(_ *testing.T, _, path string) error { return os.Truncate(path, 0) }, "is damaged"},
		"a link": {func(_ *testing.T, dir, path string) error {
			if err := os.Rename(path, filepath.Join(dir, "elsewhere")); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(dir, "elsewhere"), path)
		}, "not an ordinary file"},
		"gone, but not PostgreSQL's data": {func(_ *testing.T, dir, path string) error {
			if err := os.Mkdir(filepath.Join(dir, "postgres"), 0o700); err != nil {
				return err
			}
			return os.Remove(path)
		}, "restore the file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, err := credentials.Open(dir)
			require.NoError(t, err)
			path := filepath.Join(dir, "postgres-password")
			require.NoError(t, c.spoil(t, dir, path))
			err = credentials.Check(dir)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, path)
			assert.NotContains(t, strings.TrimSpace(err.Error()), "\n", "one line")
		})
	}
}
