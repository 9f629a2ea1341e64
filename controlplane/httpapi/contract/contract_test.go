package contract

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGeneratedFilesAreFresh(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		text, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
		require.NoError(t, err, "%s", text)
	}
	same := func(name string) {
		t.Helper()
		want, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), "%s is stale: run make generate", name)
	}
	document := filepath.Join(folder, "openapi.gen.yaml")
	run("run", "../openapi/bundle", "../openapi", document)
	same("openapi.gen.yaml")

	config, err := os.ReadFile("oapi-codegen.yaml")
	require.NoError(t, err)
	elsewhere := filepath.Join(folder, "oapi-codegen.yaml")
	moved := strings.Replace(string(config), "output: api.gen.go", "output: "+filepath.Join(folder, "api.gen.go"), 1)
	require.NoError(t, os.WriteFile(elsewhere, []byte(moved), 0o600))
	run("tool", "oapi-codegen", "-config", elsewhere, document)
	same("api.gen.go")
}
