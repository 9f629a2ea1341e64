package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/test/browser"
)

// TestRunItems adds runs to a dataset in the browser: a run, a span of it, selected runs, and all that match.
func TestRunItems(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.browser = browser.New(t, filepath.Join("output", t.Name()))
	var ids []string
	for i := range 7 {
		ids = append(ids, p.sendChat(t, fmt.Sprintf("Question %d: what is the capital?", i), fmt.Sprintf("Answer %d", i)))
	}
	running := uuid.NewString()
	p.post(t, "", 1, 0, map[string]any{"runs": []any{map[string]any{
		"run_id": running, "name": "still running", "kind": "agent", "start_time": time.Now().UTC().Add(-2 * time.Minute).Format(time.RFC3339Nano), "inputs": "Question?",
	}}})
	p.awaitRun(t, running, ofSpans(1))
	p.play(t, "runitems", map[string]any{"runIds": ids}, nil)
}
