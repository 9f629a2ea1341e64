package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/checkout"
)

// TestPromptsDocument runs the commands of docs/prompts.md.
func TestPromptsDocument(t *testing.T) {
	t.Parallel()
	output := runDocument(t, "docs/prompts.md", "prompts:read", "prompts:write", "runs:read")
	for _, want := range []string{
		"changed messages[0].content", "added variables.tone", "in a calm tone", "moved to 2 by document", "created to 1 by document",
	} {
		assert.Contains(t, output, want)
	}
}

// TestDatasetsDocument runs the commands of docs/datasets.md.
func TestDatasetsDocument(t *testing.T) {
	t.Parallel()
	output := runDocument(t, "docs/datasets.md", "datasets:read", "datasets:write")
	for _, want := range []string{
		`{"added":2,"removed":0,"revision":1,"unchanged":0,"updated":0}`, "capital-fr\ncapital-it\nrevision 2: append, 3 items", `{"added":1,"removed":0,"changed":0}`,
	} {
		assert.Contains(t, output, want)
	}
}

// runDocument runs the commands of a document in their order, as its reader does, and returns what they print.
func runDocument(t *testing.T, document string, scopes ...string) string {
	t.Helper()
	p := newProject(t)
	root, err := checkout.Root()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, document))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(blocks), 2)
	dir := t.TempDir()
	export, err := os.ReadFile(filepath.Join(root, "internal/promptimport/testdata/langfuse-prompts.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "export.json"), export, 0o600))
	key, err := p.Key(t.Context(), "document", scopes...)
	require.NoError(t, err)
	script := []string{"set -euo pipefail", "looptrace() { " + filepath.Join(root, "_build/looptrace") + ` "$@" || [ $? -eq 1 ]; }`} // 1: something was rejected
	for _, block := range blocks {
		if strings.Contains(block[1], "export LOOPTRACE_ENDPOINT") {
			continue
		}
		script = append(script, block[1])
	}
	command := exec.CommandContext(t.Context(), "bash", "-c", strings.Join(script, "\n"))
	command.Dir = dir
	command.Env = append(os.Environ(), "LOOPTRACE_ENDPOINT="+p.web(), "LOOPTRACE_API_KEY="+key, "LOOPTRACE_PROJECT="+p.ProjectID)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(output)
}
