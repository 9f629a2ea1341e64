package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/browser"
)

// TestPrompts edits, publishes and imports prompts in the browser, and reads the usage of one.
func TestPrompts(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.browser = browser.New(t, filepath.Join("output", t.Name()))
	export, err := os.ReadFile("../../controlplane/prompts/importing/testdata/langfuse-prompts.json")
	require.NoError(t, err)
	name := "support/triage"
	for i := range 6 {
		p.sendPromptCall(t, name, fmt.Sprint(1+i%2), i == 5)
	}
	p.play(t, "prompts", map[string]any{"name": name, "langfuse": string(export)}, nil)
	t.Run("viewer", func(t *testing.T) {
		p.play(t, "promptsviewer", map[string]any{
			"name": name, "email": "ann-" + uuid.NewString()[:8] + "@example.com", "password": "plum gravel otter kiln",
		}, nil)
	})
}

// sendPromptCall sends a run with one model call that names a prompt and its version, and waits until it is stored.
func (p *project) sendPromptCall(t *testing.T, name, version string, fails bool) {
	t.Helper()
	id, start := uuid.NewString(), time.Now().UTC().Add(-time.Minute)
	at := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339Nano) }
	call := map[string]any{
		"run_id": id, "span_id": "00000000000000c1", "name": "chat", "kind": "llm", "provider": "openai", "model": "gpt-4o-mini",
		"usage": map[string]any{"input_tokens": 1000, "output_tokens": 500}, "start_time": at(0), "end_time": at(2 * time.Second),
		"attributes": map[string]any{"gen_ai.prompt.name": name, "gen_ai.prompt.version": version},
	}
	one := map[string]any{"run_id": id, "name": "triage a ticket", "kind": "agent", "start_time": at(0), "end_time": at(2 * time.Second)}
	if fails {
		one["status"], one["error"] = "error", map[string]any{"type": "NoTeam", "message": "no team fits"}
	}
	p.post(t, "", 1, 1, map[string]any{"runs": []any{one}, "spans": []any{call}})
	p.awaitRun(t, id, ofSpans(2))
}
