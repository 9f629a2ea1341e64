package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/browser"
)

// TestDatasets fills, edits and compares datasets in the browser.
func TestDatasets(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.browser = browser.New(t, filepath.Join("output", t.Name()))
	run, _ := p.sendNativeRun(t)
	large := p.createDataset(t, "large")
	for part := range 10 {
		items := make([]any, 1000)
		for i := range items {
			items[i] = oddItem(part*1000+i, run.RunID)
		}
		p.writeItems(t, large, map[string]any{"mode": "append", "items": items, "note": fmt.Sprintf("Part %d", part+1)})
	}
	input := map[string]any{"large": large, "runId": run.RunID, "emptyProject": newProject(t).ProjectID}
	t.Run("large", func(t *testing.T) { p.play(t, "datasetslarge", input, nil) })
	t.Run("items", func(t *testing.T) { p.play(t, "datasets", input, nil) })
	t.Run("near-duplicates", func(t *testing.T) {
		p.play(t, "datasetsneardup", map[string]any{"large": large, "neardup": p.similarItems(t)}, nil)
	})
	t.Run("import", func(t *testing.T) {
		p.play(t, "datasetsimport", map[string]any{"files": importFiles(t)}, nil)
	})
	t.Run("failing", func(t *testing.T) { p.play(t, "datasetsfailing", input, nil) })
	t.Run("viewer", func(t *testing.T) {
		p.play(t, "datasetsviewer", map[string]any{
			"large": large, "email": "ann-" + uuid.NewString()[:8] + "@example.com", "password": "plum gravel otter kiln",
		}, nil)
	})
}

// oddItem makes an item: plain, long, in other scripts, or without a key.
func oddItem(i int, run string) map[string]any {
	item := map[string]any{
		"key": fmt.Sprintf("faq-%05d", i), "input": map[string]any{"question": fmt.Sprintf("How do I reset password %d?", i)},
		"reference_output": "Open Settings, then Security.", "split": []string{"train", "test", "dev"}[i%3], "tags": []string{"faq"},
	}
	switch i % 10 {
	case 1:
		item["input"] = map[string]any{"messages": []any{
			map[string]any{"role": "system", "content": strings.Repeat("You answer questions about invoices. ", 60)},
			map[string]any{"role": "user", "content": "Why was I charged twice?"},
		}}
		item["metadata"] = map[string]any{"source": "support", "ticket": json.Number("1234567890123456789"), "nested": map[string]any{"a": []any{1, 2, 3}}}
	case 2:
		item["input"], item["reference_output"] = "كيف يمكنني إعادة تعيين كلمة المرور؟", "افتح الإعدادات ثم الأمان."
		item["tags"] = []string{"rtl", "arabic", "faq", "security", "password"}
	case 3:
		item["input"], item["reference_output"] = "パスワードを忘れました 😀", map[string]any{"答え": "設定 → セキュリティ"}
	case 4:
		delete(item, "key")
		delete(item, "reference_output")
		item["source_run_id"] = run
	case 5:
		item["input"], item["reference_output"] = []any{1, 2.5, map[string]any{"none": nil}, true}, false
		delete(item, "split")
		delete(item, "tags")
	case 6:
		item["key"] = fmt.Sprintf("a-very-long-key-without-any-space-%s-%05d", strings.Repeat("x", 80), i)
	}
	return item
}

// similarItems makes a dataset with near-duplicates, also across splits and in another script.
func (p *project) similarItems(t *testing.T) string {
	t.Helper()
	dataset := p.createDataset(t, "similar")
	var items []any
	for _, item := range [][3]string{
		{"moons", "train", "Which planet of the solar system has the most moons today?"},
		{"moons-short", "train", "Which planet of the solar system has the most moons?"},
		{"copy", "test", "which planet of the Solar System  has the most moons today"},
		{"fr", "test", "What is the capital of France?"},
		{"it", "train", "What is the capital of Italy?"},
		{"one", "train", "1"},
		{"two", "test", "2"},
		{"empty", "test", ""},
		{"ar", "", "كيف يمكنني إعادة تعيين كلمة المرور الخاصة بي في التطبيق؟"},
		{"ar-again", "", "كيف يمكنني إعادة تعيين كلمة المرور الخاصة بي في التطبيق"},
		{"long-" + strings.Repeat("x", 90), "train", "Something else entirely: how long is the warranty of the blue lamp?"},
		{"other", "test", "When does the shop close on Sunday?"},
	} {
		one := map[string]any{"key": item[0], "input": map[string]any{"question": item[2]}, "reference_output": "An answer."}
		if item[1] != "" {
			one["split"] = item[1]
		}
		items = append(items, one)
	}
	p.writeItems(t, dataset, map[string]any{"items": items})
	return dataset
}

// importFiles writes files to import, and returns their paths by name.
func importFiles(t *testing.T) map[string]string {
	t.Helper()
	var long strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&long, "{\"key\": \"long-%d\", \"input\": {\"question\": \"Question %d?\"}, \"reference_output\": \"Answer %d.\"}\n", i, i, i)
	}
	paths, dir := map[string]string{}, t.TempDir()
	for name, content := range map[string]string{
		"faq.csv": "id;question;context;answer;topic;score\n" +
			"q1;What is RAG?;\"Retrieval; then generation\";An architecture;ai;1\n" +
			"q2;ما هو سؤالك؟;;جواب;ar;0.5\n" +
			"q3;\"Two\nlines\";c;d;ai;2\n",
		"bad.csv": "id,question,answer,score\nq1,New question?,New answer,1\nq4,Fourth?,Answer,high\nq5,Fifth?,Answer,3\n",
		"chat.jsonl": `{"messages": [{"role": "system", "content": "You answer."}, {"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hello!"}]}` + "\n" +
			`{"messages": [{"role": "user", "content": "Bye?"}, {"role": "assistant", "content": "Bye!"}]}` + "\n",
		"long.jsonl":   long.String(),
		"broken.jsonl": "{\"input\": \"a\"}\n{\"input\": \n",
		"empty.csv":    "",
		"picture.png":  "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
	} {
		paths[name] = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(paths[name], []byte(content), 0o600))
	}
	return paths
}

// createDataset creates an empty dataset and returns its id.
func (p *project) createDataset(t *testing.T, name string) string {
	t.Helper()
	answer := p.do(t, http.MethodPost, "/v1/datasets", bearer(p.adminKey), map[string]any{"project_id": p.ProjectID, "name": name})
	require.Equal(t, http.StatusCreated, answer.Status, "%s", answer.Body)
	var created struct {
		ID string `json:"id"`
	}
	require.NoError(t, json.Unmarshal(answer.Body, &created))
	return created.ID
}

func (p *project) writeItems(t *testing.T, dataset string, body map[string]any) {
	t.Helper()
	answer := p.do(t, http.MethodPost, "/v1/datasets/"+dataset+"/items", bearer(p.adminKey), body)
	require.Equal(t, http.StatusCreated, answer.Status, "%s", answer.Body)
}
