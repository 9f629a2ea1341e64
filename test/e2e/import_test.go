package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

// TestImportPrompts imports a file of another product with the command: first as a dry run, then for good, then again.
func TestImportPrompts(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	binary, err := filepath.Abs(filepath.Join("..", "..", "_build", "looptrace"))
	require.NoError(t, err)
	run := func(stdin string, args ...string) (stdout, stderr string, status int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"import", "prompts"}, args...)...)
		cmd.Env = []string{"LOOPTRACE_API_KEY=" + p.adminKey, "LOOPTRACE_ENDPOINT=" + p.product.Ports.URL(product.Web)}
		var out, errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader([]byte(stdin)), &out, &errs
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil {
			require.ErrorAs(t, err, &exit)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}

	const prompts = `created      support/ticket-triage, version 1, aliases staging
new version  support/ticket-triage, version 2, aliases production
  left out: labels: eu/west is no name for an alias
created      movie-critic, version 1, aliases production
created      Gro-e-prufen, version 1, from Größe prüfen!
  name, line 1: Größe prüfen! → Gro-e-prufen
`
	const rejected = `rejected     support/ticket-triage version 2
  messages[0].content, line 2: ` + "`@@@langfusePrompt:name=rules|label=production@@@`" + ` inserts another prompt: export the prompt with resolve=true
rejected     with sections version 1
  messages[0].content, line 3: ` + "`{{#vip}}`" + ` is no variable: the SDK of Langfuse for Python leaves it as text, that for JavaScript renders it; remove it
`
	file := filepath.Join("..", "..", "controlplane", "prompts", "importing", "testdata", "langfuse-prompts.json")
	out, errs, status := run("", file, "--dry-run")
	assert.Equal(t, prompts+rejected+"Nothing was saved. An import without --dry-run would report:\nlangfuse: 3 created, 1 with a new version, 0 unchanged, 2 rejected\n", out)
	assert.Equal(t, "looptrace: rejected: 2\n", errs)
	assert.Equal(t, 1, status)
	out, _, status = run("", file)
	assert.Equal(t, prompts+rejected+"langfuse: 3 created, 1 with a new version, 0 unchanged, 2 rejected\n", out, "the dry run must have saved nothing")
	assert.Equal(t, 1, status)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	out, _, _ = run(string(content), "-", "--project", p.ProjectID, "--format", "langfuse")
	assert.Contains(t, out, "unchanged    movie-critic, version 1\n")
	assert.Contains(t, out, "langfuse: 0 created, 0 with a new version, 4 unchanged, 2 rejected\n")

	for name, summary := range map[string]string{
		"openai-request.json": "openai: 1 created, 0 with a new version, 0 unchanged, 0 rejected\n", "chat.yaml": "promptfoo: 1 created, 0 with a new version, 0 unchanged, 0 rejected\n",
		"langsmith-commit.json": "langsmith: 1 created, 0 with a new version, 0 unchanged, 0 rejected\n",
	} {
		out, errs, status := run("", filepath.Join(filepath.Dir(file), name))
		assert.Contains(t, out, summary)
		assert.Empty(t, errs)
		assert.Zero(t, status)
	}

	out, errs, status = run("{\n  \"name\": ", "-")
	assert.Empty(t, out)
	assert.Contains(t, errs, "body.content: cannot be imported: line 2, column 11: the file is no JSON")
	assert.Equal(t, 1, status)
	_, errs, _ = run("x", "-", "--project", "mine")
	assert.Contains(t, errs, "body.project_id")
}
