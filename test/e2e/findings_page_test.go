package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/provider"
)

// TestFindings keeps what a batch of replays showed about a failure in the browser, and promotes it.
func TestFindings(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	models := provider.Start(t, provider.Options{Answer: orderModel})
	p.create(t, "/v1/providers", map[string]any{"project_id": p.ProjectID, "name": "Scripted", "kind": "openai", "base_url": models.URL + "/v1", "api_key": models.Key})
	p.create(t, "/v1/prompts", map[string]any{
		"project_id": p.ProjectID, "name": "orders", "version": map[string]any{"messages": []map[string]string{{"role": "system", "content": "You help customers."}}},
	})
	cookie := http.Header{"Cookie": {p.Cookie}}
	read := func(path string, into any) {
		answer := p.do(t, http.MethodGet, path, cookie, nil)
		require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
		require.NoError(t, json.Unmarshal(answer.Body, into))
	}
	var runID string
	for range 2 {
		runID = p.sendAgent(t, true)
		p.create(t, "/v1/runs/"+runID+"/scores", map[string]any{"name": "asked", "value": false})
	}
	var run struct {
		Failure struct {
			Fingerprint string `json:"fingerprint"`
		} `json:"failure"`
	}
	require.Eventually(t, func() bool {
		read("/v1/runs/"+runID, &run)
		return run.Failure.Fingerprint != ""
	}, waitTime, 200*time.Millisecond, "the run has failed")
	fingerprint := run.Failure.Fingerprint
	batch := p.create(t, "/v1/replay-batches", map[string]any{
		"project_id": p.ProjectID, "name": "asks first", "run_filter": "fingerprint=" + url.QueryEscape(fingerprint), "allow_unpriced": true,
		"edits":   []any{map[string]any{"target": "all", "set": map[string]any{"system_prompt": "Ask before you change anything."}}},
		"outcome": map[string]any{"name": "asked", "type": "string_check", "operation": "ilike", "input": "{{sample.output_text}}", "reference": "Shall I"},
	})
	require.Eventually(t, func() bool {
		var ended struct {
			Result any `json:"result"`
		}
		read("/v1/replay-batches/"+batch, &ended)
		return ended.Result != nil
	}, waitTime, 200*time.Millisecond, "the batch has a result")
	p.play(t, "findings", map[string]any{"runId": runID, "fingerprint": fingerprint, "batch": batch}, nil)
}
