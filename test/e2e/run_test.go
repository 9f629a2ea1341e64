package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
		"longNames": longNames, "suspected": p.sendSuspected(t),
	}, nil)
}

// sendSuspected sends a failed run of which two of three model calls may be why: one that cancels an order, and one that looks it up.
func (p *project) sendSuspected(t *testing.T) (runID string) {
	t.Helper()
	id, start := uuid.NewString(), time.Now().UTC().Add(-time.Minute)
	at := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339Nano) }
	failure := map[string]any{"type": "NotFound", "message": "no such order"}
	spans := []any{}
	for i, tool := range []string{"get_order", "cancel_order", "get_order"} {
		span := map[string]any{
			"run_id": id, "span_id": fmt.Sprintf("%016x", i+1), "name": "choose " + tool, "kind": "llm", "model": "gpt-4o-mini",
			"start_time": at(time.Duration(i) * time.Second), "end_time": at(time.Duration(i+1) * time.Second),
			"attributes": map[string]any{"gen_ai.output.messages": []any{map[string]any{"role": "assistant", "parts": []any{
				map[string]any{"type": "tool_call", "id": "1", "name": tool, "arguments": map[string]any{"order": i}},
			}}}},
		}
		if i == 2 {
			span["error"] = failure
		}
		spans = append(spans, span)
	}
	p.post(t, "", 1, len(spans), map[string]any{"spans": spans, "runs": []any{map[string]any{
		"run_id": id, "name": "order", "start_time": at(0), "end_time": at(time.Minute), "status": "error", "error": failure,
	}}})
	p.awaitRun(t, id, ofSpans(1+len(spans)))
	return id
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
