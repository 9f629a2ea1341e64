package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestEvalRuns reads, compares, checks, cancels and deletes eval-runs in the browser.
func TestEvalRuns(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.play(t, "evalrunsempty", nil, nil)
	dataset := p.createDataset(t, "numbers")
	items := make([]any, 40)
	for i := range items {
		items[i] = map[string]any{"key": fmt.Sprintf("q%02d", i), "input": map[string]any{"question": fmt.Sprintf("number %d", i)}, "reference_output": strconv.Itoa(i)}
	}
	p.writeItems(t, dataset, map[string]any{"items": items})
	begin := func(branch string) string {
		return p.create(t, "/v1/eval-runs", map[string]any{
			"project_id": p.ProjectID, "name": "number-agent", "dataset_id": dataset, "target": map[string]any{"external": true}, "repeats": 2,
			"primary_metric": "correct", "branch": branch, "commit": "0d2f9c1a7b3e4f5d6c7b8a9f0e1d2c3b4a5f6e7d", "metadata": map[string]any{"model": "model-a"},
		})
	}
	baseline := begin("main")
	p.sendResults(t, baseline, 40, func(i int) bool { return i%3 != 0 }, nil)
	p.finishEvalRun(t, baseline)
	candidate := begin("faster-triage")
	p.sendResults(t, candidate, 40, func(i int) bool { return i%10 != 0 }, func(i int) bool { return i == 5 })
	p.finishEvalRun(t, candidate)
	running := begin("half-done")
	p.sendResults(t, running, 10, func(int) bool { return true }, nil)
	p.play(t, "evalruns", map[string]any{
		"dataset": dataset, "baseline": baseline, "candidate": candidate, "running": running,
		"email": "ann-" + uuid.NewString()[:8] + "@example.com", "password": "plum gravel otter kiln",
	}, nil)
}

// sendResults sends two results of each of the first items. An answer is right, or wrong; one that fails is an error.
func (p *project) sendResults(t *testing.T, run string, count int, right, fails func(int) bool) {
	t.Helper()
	answer := p.do(t, http.MethodGet, "/v1/eval-runs/"+run+"/items?limit=500", bearer(p.adminKey), nil)
	require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
	var page struct {
		Data []struct {
			ItemID string `json:"item_id"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal(answer.Body, &page))
	results := make([]any, 0, 2*count)
	for i, item := range page.Data[:count] {
		for repeat := 1; repeat <= 2; repeat++ {
			result := map[string]any{"item_id": item.ItemID, "repeat": repeat, "run_id": uuid.NewString(), "duration_ms": 800 + 10*i, "cost_usd": 0.001, "usage": map[string]any{"input_tokens": 100, "output_tokens": 20}}
			switch {
			case fails != nil && fails(i):
				result["error"] = map[string]any{"code": "TimeoutError", "detail": "The search tool did not answer."}
			case right(i):
				result["output"] = strconv.Itoa(i)
				result["scores"] = []any{map[string]any{"name": "correct", "score": 1, "pass": true}, map[string]any{"name": "brief", "score": 0.9}}
			default:
				result["output"] = "I don't know the number."
				result["scores"] = []any{map[string]any{"name": "correct", "score": 0, "pass": false, "reason": "It is no number."}, map[string]any{"name": "brief", "score": 0.4}}
			}
			results = append(results, result)
		}
	}
	sent := p.do(t, http.MethodPost, "/v1/eval-runs/"+run+"/results", bearer(p.adminKey), map[string]any{"items": results})
	require.Equal(t, http.StatusOK, sent.Status, "%s", sent.Body)
}

// finishEvalRun finishes an eval-run and waits for its summary.
func (p *project) finishEvalRun(t *testing.T, run string) {
	t.Helper()
	finished := p.do(t, http.MethodPost, "/v1/eval-runs/"+run+"/_actions/finish", bearer(p.adminKey), nil)
	require.Equal(t, http.StatusOK, finished.Status, "%s", finished.Body)
	require.Eventually(t, func() bool {
		answer := p.do(t, http.MethodGet, "/v1/eval-runs/"+run, bearer(p.adminKey), nil)
		var found struct {
			Summary json.RawMessage `json:"summary"`
		}
		return json.Unmarshal(answer.Body, &found) == nil && len(found.Summary) > 0 && string(found.Summary) != "null"
	}, waitTime, 100*time.Millisecond)
}
