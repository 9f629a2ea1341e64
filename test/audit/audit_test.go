// Package audit tests scripts/audit with small vulnerability databases.
package audit

import (
	"archive/zip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/checkout"
)

type dependency struct{ ecosystem, name string }

// used are dependencies of this repository, one of each kind of lock file.
var used = []dependency{{"Go", "github.com/gin-gonic/gin"}, {"Go", "stdlib"}, {"npm", "react"}, {"PyPI", "pytest"}}

func TestAudit(t *testing.T) {
	t.Parallel()
	status, output := audit(t, database(t, "0.0.1", used...))
	assert.Zero(t, status, output)
	for _, one := range used {
		status, output := audit(t, database(t, "9999.0.0", one))
		assert.Equal(t, 1, status, output)
		assert.Contains(t, output, one.name)
	}
}

// TestNotAudited checks that an audit that did not run fails visibly.
func TestNotAudited(t *testing.T) {
	t.Parallel()
	incomplete := database(t, "0.0.1")
	require.NoError(t, os.Remove(filepath.Join(incomplete, "npm", "all.zip")))
	broken := database(t, "0.0.1")
	require.NoError(t, os.WriteFile(filepath.Join(broken, "npm", "all.zip"), []byte("no zip"), 0o600))
	for _, folder := range []string{"", filepath.Join(t.TempDir(), "absent"), incomplete} {
		status, output := audit(t, folder)
		assert.Equal(t, 2, status, output)
		assert.Contains(t, output, "NOT AUDITED")
	}
	status, output := audit(t, broken)
	assert.NotZero(t, status, output)
}

func audit(t *testing.T, folder string) (status int, output string) {
	t.Helper()
	root, err := checkout.Root()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "scripts", "audit"))
	cmd.Env = append(os.Environ(), "AUDIT_DB="+folder)
	out, err := cmd.CombinedOutput()
	if err != nil {
		var ended *exec.ExitError
		require.ErrorAs(t, err, &ended, string(out))
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// database creates a folder in OSV's export format, in which the dependencies are vulnerable in every version below
// one.
func database(t *testing.T, fixed string, vulnerable ...dependency) string {
	t.Helper()
	folder := t.TempDir()
	for _, ecosystem := range []string{"Go", "npm", "PyPI"} {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, ecosystem), 0o700))
		file, err := os.Create(filepath.Join(folder, ecosystem, "all.zip"))
		require.NoError(t, err)
		archive := zip.NewWriter(file)
		for _, one := range vulnerable {
			if one.ecosystem != ecosystem {
				continue
			}
			kind := "SEMVER"
			if ecosystem == "PyPI" {
				kind = "ECOSYSTEM"
			}
			entry, err := archive.Create("TEST-" + filepath.Base(one.name) + ".json")
			require.NoError(t, err)
			require.NoError(t, json.NewEncoder(entry).Encode(map[string]any{
				"schema_version": "1.6.0", "id": "TEST-" + filepath.Base(one.name), "modified": "2026-01-01T00:00:00Z", "summary": "made up",
				"affected": []any{map[string]any{
					"package": map[string]string{"ecosystem": ecosystem, "name": one.name},
					"ranges":  []any{map[string]any{"type": kind, "events": []any{map[string]string{"introduced": "0"}, map[string]string{"fixed": fixed}}}},
				}},
			}))
		}
		require.NoError(t, archive.Close())
		require.NoError(t, file.Close())
	}
	return folder
}
