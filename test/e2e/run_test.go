package e2e

import (
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestRunPage reads a failed run, and the costs of runs without one.
func TestRunPage(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	unpriced := p.sendCall(t, "e2e", "e2e-model-"+uuid.NewString()[:8])
	longNames := p.sendCall(t, "e2e", strings.Repeat("model", 40))
	p.awaitRun(t, longNames, ofSpans(2))
	p.awaitRun(t, unpriced, ofSpans(2))
	p.play(t, "run", map[string]any{
		"runId": p.sendTrip(t), "trip": readTrip(t), "unpriced": unpriced, "withoutModel": p.sendRuns(t, 1),
		"longNames": longNames,
	}, nil)
}

// TestRunViews opens each view of a run and compares it with a second run.
func TestRunViews(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	other, _ := p.sendNativeRun(t)
	p.play(t, "views", map[string]any{"runId": p.sendTrip(t), "otherRunId": other.RunID, "trip": readTrip(t)}, nil)
}

// TestLongRun reads a run of 10,000 spans.
func TestLongRun(t *testing.T) {
	t.Parallel()
	const spans = 10_000
	p := newProject(t)
	p.play(t, "long", map[string]any{"runId": p.sendLongRun(t, spans), "spans": spans}, nil)
}
