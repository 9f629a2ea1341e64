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

// TestPromptsDocument runs the commands of docs/prompts.md in their order, as its reader does.
func TestPromptsDocument(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	root, err := checkout.Root()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs/prompts.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(blocks), 6)
	dir := t.TempDir()
	export, err := os.ReadFile(filepath.Join(root, "internal/promptimport/testdata/langfuse-prompts.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "export.json"), export, 0o600))
	key, err := p.Key(t.Context(), "prompts", "prompts:read", "prompts:write", "runs:read")
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
	t.Log(string(output))
	for _, want := range []string{
		"changed messages[0].content", "added variables.tone", "in a calm tone", "moved to 2 by prompts", "created to 1 by prompts",
	} {
		assert.Contains(t, string(output), want)
	}
}
