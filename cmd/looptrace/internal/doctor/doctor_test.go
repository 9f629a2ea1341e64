package doctor_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/doctor"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/layout"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/preflight"
)

func TestExamine(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	options := doctor.Options{Tree: layout.Tree{Root: t.TempDir()}, DataDir: dir, Ports: layout.NewPorts(45_000)}

	var out bytes.Buffer
	healthy, err := doctor.Examine(t.Context(), &out, options)
	require.NoError(t, err)
	assert.False(t, healthy)
	assert.Regexp(t, `(?m)^data folder +ok +.*created at the first start$`, out.String())
	assert.Regexp(t, `(?m)^engines +problem +.*make build`, out.String())
	assert.Regexp(t, `(?m)^instance +ok +not running$`, out.String())
	assert.NoDirExists(t, dir, "to examine changes nothing")

	require.NoError(t, preflight.Folder(dir))
	lock, err := preflight.Acquire(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lock.Release()) })
	out.Reset()
	healthy, err = doctor.Examine(t.Context(), &out, options)
	require.NoError(t, err)
	assert.False(t, healthy)
	assert.Regexp(t, `(?m)^instance +ok +running, process \d+$`, out.String())
	assert.NotRegexp(t, `(?m)^port `, out.String(), "the ports are its own")
	assert.Regexp(t, `(?m)^collector +problem +ask collector: .*connection refused$`, out.String(), "nothing of it runs")
}
