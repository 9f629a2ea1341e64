package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// importDatasets returns the command `looptrace import datasets` with these arguments, and what it prints.
func (p *project) importDatasets(t *testing.T, stdin string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	binary, err := filepath.Abs(filepath.Join("..", "..", "_build", "looptrace"))
	require.NoError(t, err)
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd = exec.CommandContext(t.Context(), binary, append([]string{"import", "datasets"}, args...)...)
	cmd.Env = []string{"LOOPTRACE_API_KEY=" + p.adminKey, "LOOPTRACE_ENDPOINT=" + p.web()}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), stdout, stderr
	return cmd, stdout, stderr
}

// storedDataset is a dataset as the API lists it.
type storedDataset struct {
	ID        string `json:"id"`
	Revision  int    `json:"revision"`
	ItemCount int    `json:"item_count"`
}

func (p *project) dataset(t *testing.T, name string) storedDataset {
	t.Helper()
	var page struct{ Data []storedDataset }
	status, err := p.get(t.Context(), "/v1/datasets?name="+name, &page)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Len(t, page.Data, 1)
	return page.Data[0]
}

// TestImportDatasets imports files with the command: a new dataset, rows that are rejected, a mapping, and other formats.
func TestImportDatasets(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	run := func(stdin string, args ...string) (stdout, stderr string, status int) {
		t.Helper()
		cmd, out, errs := p.importDatasets(t, stdin, args...)
		if err := cmd.Run(); err != nil {
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "faq.csv")
	require.NoError(t, os.WriteFile(file, []byte("id,question,answer,score\na,\"Why,\nso?\",Because.,1\nb,How?,So.,many\nc,Who?,Me.,3\n"), 0o600))

	_, errs, status := run("", file, "--dry-run")
	assert.Equal(t, "looptrace: there is no dataset faq, and a dry run creates none: create it in Looptrace under Datasets, where it stays empty, or name one with --dataset\n", errs)
	assert.Equal(t, 1, status)

	mapping := filepath.Join(dir, "mapping.json")
	require.NoError(t, os.WriteFile(mapping, []byte(`{"shape": "columns", "key": "id", "input": ["question"], "reference_output": "answer",
		"metadata": ["score"], "types": {"score": "number"}}`), 0o600))
	out, errs, status := run("", file, "--mapping", "@"+mapping)
	assert.Regexp(t, `^created the dataset faq\nrejected  line 4, column score: .* \(many\)\n$`, out)
	assert.Regexp(t, `^looptrace: the import failed: 1 of 3 rows `, errs)
	assert.Equal(t, 1, status)
	assert.Zero(t, p.dataset(t, "faq").Revision)

	out, errs, status = run("", file, "--mapping", "@"+mapping, "--dry-run")
	for _, want := range []string{
		`csv, utf-8, delimiter ","` + "\n", "column    score, number, such as 1\n", `mapping   {"shape":"columns","input":["question"],"reference_output":"answer","metadata":["score"],"key":"id",`,
		`item      line 2: {"input":{"question":"Why,\nso?"},`, "rejected  line 4, column score: ", "Nothing was imported. Of all 3 rows, 1 would be rejected.\n",
	} {
		assert.Contains(t, out, want)
	}
	assert.Equal(t, "looptrace: rejected: 1\n", errs)
	assert.Equal(t, 1, status)

	rejected := filepath.Join(dir, "rejected.csv")
	out, _, status = run("", file, "--mapping", "@"+mapping, "--on-error", "skip", "--errors", rejected, "--note", "from the test")
	assert.Contains(t, out, "faq: revision 1, 2 added, 0 updated, 0 removed, 0 unchanged, 1 rejected\n")
	assert.Zero(t, status)
	saved, err := os.ReadFile(rejected)
	require.NoError(t, err)
	assert.Regexp(t, `^line,column,reason,value\n4,score,.*,many\n$`, string(saved))
	var page struct {
		Data []struct {
			Key             string         `json:"key"`
			Input           map[string]any `json:"input"`
			ReferenceOutput string         `json:"reference_output"`
			Metadata        map[string]any `json:"metadata"`
		} `json:"data"`
	}
	_, err = p.get(t.Context(), "/v1/datasets/"+p.dataset(t, "faq").ID+"/items", &page)
	require.NoError(t, err)
	require.Len(t, page.Data, 2)
	first := page.Data[0]
	assert.Equal(t, []any{"a", map[string]any{"question": "Why,\nso?"}, "Because.", map[string]any{"score": json.Number("1")}}, []any{first.Key, first.Input, first.ReferenceOutput, first.Metadata})

	out, _, status = run(`{"input": "Who?"}`+"\n", "-", "--dataset", "faq", "--project", p.ProjectID, "--format", "jsonl", "--mode", "replace", "--max-removed", "2")
	assert.Equal(t, "faq: revision 2, 1 added, 0 updated, 2 removed, 0 unchanged, 0 rejected\n", out)
	assert.Zero(t, status)
	_, errs, status = run(`{"input": "No one"}`+"\n", "-", "--dataset", "faq", "--format", "jsonl", "--mode", "replace", "--max-removed", "0")
	assert.Contains(t, errs, "looptrace: the import failed: ")
	assert.Equal(t, 1, status)
	out, _, _ = run(`{"input": "Who?"}`+"\n", "-", "--dataset", "faq", "--format", "jsonl", "--dedupe")
	assert.Equal(t, "faq: no new revision, 0 added, 0 updated, 0 removed, 1 unchanged, 0 rejected\n", out)

	testdata := filepath.Join("..", "..", "controlplane", "datasets", "datasetfile", "mapping", "testdata")
	for _, name := range []string{"pyarrow.parquet", "openpyxl.xlsx", "openai_chat.jsonl", "langfuse.json", "phoenix.csv", "promptfoo.yaml"} {
		out, errs, status := run("", filepath.Join(testdata, name), "--dataset", "formats "+name, "--on-error", "skip")
		assert.Regexp(t, `: revision 1, [1-9]\d* added`, out, "%s: %s", name, errs)
		assert.Zero(t, status)
	}

	_, errs, status = run("", file, "--mode", "wrong")
	assert.Contains(t, errs, "query.mode: must be one of append, upsert, replace")
	assert.Equal(t, 1, status)
}

// TestInterruptedImportOfADataset interrupts the command while the server imports a large file.
func TestInterruptedImportOfADataset(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	file := filepath.Join(t.TempDir(), "large.jsonl")
	var rows strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&rows, `{"key": "k-%d", "input": {"question": "What is %d plus one?"}, "reference_output": %d}`+"\n", i, i, i+1)
	}
	require.NoError(t, os.WriteFile(file, []byte(rows.String()), 0o600))
	cmd, out, errs := p.importDatasets(t, "", file)
	require.NoError(t, cmd.Start())
	var page struct {
		Data []struct {
			Status string `json:"status"`
			Phase  string `json:"phase"`
		} `json:"data"`
	}
	require.Eventually(t, func() bool {
		var datasets struct{ Data []storedDataset }
		_, err := p.get(t.Context(), "/v1/datasets?name=large", &datasets)
		if err != nil || len(datasets.Data) == 0 {
			return false
		}
		_, err = p.get(t.Context(), "/v1/datasets/"+datasets.Data[0].ID+"/imports", &page)
		return err == nil && len(page.Data) == 1 && page.Data[0].Status == "running"
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	assert.Equal(t, 1, exit.ExitCode())
	assert.Equal(t, "created the dataset large\n", out.String())
	assert.Contains(t, errs.String(), "looptrace: cancelled: nothing was imported\n")
	large := p.dataset(t, "large")
	assert.Zero(t, large.Revision)
	_, err := p.get(t.Context(), "/v1/datasets/"+large.ID+"/imports", &page)
	require.NoError(t, err)
	assert.Equal(t, "cancelled", page.Data[0].Status)
}
