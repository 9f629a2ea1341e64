package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

const nativeName = "needle in the haystack"

// sendNativeRun posts a run as an application without OpenTelemetry does: when it starts, after each step, and when it
// ends. It returns the run as it is then, and when it started.
func (p *project) sendNativeRun(t *testing.T) (ended run, start time.Time) {
	t.Helper()
	id := uuid.NewString()
	start = time.Now().UTC().Add(-time.Minute).Truncate(time.Millisecond)
	at := func(seconds int) string {
		return start.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339Nano)
	}
	const retrieval, answering = "00000000000000a1", "00000000000000a2"
	p.post(t, "", 1, 0, map[string]any{"sdk": "e2e", "runs": []any{map[string]any{
		"run_id": id, "name": nativeName, "start_time": at(0),
		"inputs": "Which canton has the most lakes?", "session_id": "e2e-session", "user_id": "ada",
		"tags": []string{"e2e", "lakes"}, "metadata": map[string]any{"ticket": 4711}, "environment": "test", "release": "1.2.3",
	}}})
	running := p.awaitRun(t, id, hasStatus("running"))
	assert.Nil(t, running.EndTime)
	assert.Nil(t, running.Usage)
	assert.Equal(t, "agent", running.Kind)

	p.post(t, "gzip", 0, 1, map[string]any{"spans": []any{map[string]any{
		"span_id": retrieval, "run_id": id, "name": "search the atlas", "kind": "retriever",
		"start_time": at(1), "end_time": at(2), "inputs": map[string]any{"query": "lakes"}, "outputs": "Bern, Graubünden",
	}}})
	p.post(t, "zstd", 0, 1, map[string]any{"spans": []any{map[string]any{
		"span_id": answering, "run_id": id, "parent_span_id": retrieval, "name": "answer", "kind": "llm",
		"start_time": at(3), "end_time": at(5), "model": "claude-haiku", "provider": "anthropic", "cost_usd": 0.0125,
		"usage": map[string]any{"input_tokens": 40, "output_tokens": 9, "reasoning_output_tokens": 4}, "outputs": "Graubünden, I think",
	}}})
	p.awaitRun(t, id, ofSpans(3))
	p.post(t, "", 1, 1, map[string]any{
		"runs":  []any{map[string]any{"run_id": id, "name": nativeName, "start_time": at(0), "end_time": at(6), "outputs": "Graubünden"}},
		"spans": []any{map[string]any{"span_id": answering, "run_id": id, "name": "answer", "start_time": at(3), "outputs": "Graubünden"}},
	})
	return p.awaitRun(t, id, func(r run) error { return errors.Join(ofSpans(3)(r), hasStatus("ok")(r)) }), start
}

// TestNativeRun reads a run that several requests have described.
func TestNativeRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	ended, start := p.sendNativeRun(t)
	assert.Equal(t, nativeName, ended.Name)
	assert.Equal(t, "Which canton has the most lakes?", deref(ended.Inputs), "a member that the second post omits stays")
	assert.Equal(t, "Graubünden", deref(ended.Outputs))
	assert.Equal(t, "e2e-session", deref(ended.SessionID))
	assert.Equal(t, "ada", deref(ended.UserID))
	assert.Equal(t, []string{"e2e", "lakes"}, ended.Tags)
	assert.Equal(t, map[string]string{"ticket": "4711"}, ended.Metadata)
	assert.Equal(t, "test", deref(ended.Environment))
	assert.Equal(t, "1.2.3", deref(ended.Release))
	assert.WithinDuration(t, start.Add(6*time.Second), deref(ended.EndTime), 0)
	assert.Equal(t, []string{"claude-haiku"}, ended.Models)
	assert.InDelta(t, 0.0125, deref(ended.CostUSD), 1e-12)
	input, output, reasoning, total := int64(40), int64(9), int64(4), int64(49)
	assert.Equal(t, &usage{Input: &input, Output: &output, Reasoning: &reasoning, Total: &total}, ended.Usage)

	spans := p.spans(t, ended.RunID)
	require.Len(t, spans, 3)
	assert.Equal(t, []int{0, 1, 2}, []int{spans[0].Depth, spans[1].Depth, spans[2].Depth})
	assert.JSONEq(t, `{"query":"lakes"}`, deref(spans[1].Inputs))
	assert.Equal(t, "llm", spans[2].Kind, "a member that the second post omits stays")
	assert.Equal(t, "Graubünden", deref(spans[2].Outputs), "a member in the second post replaces the first")
	assert.Equal(t, "anthropic", deref(spans[2].Provider))
	t.Run("exported to another project", func(t *testing.T) { p.copiesAsOTLP(t, ended, spans) })
}

// copiesAsOTLP exports a run that a person has scored as OTLP/JSON and sends it to another project, line by line.
func (p *project) copiesAsOTLP(t *testing.T, want run, wantSpans []span) {
	t.Helper()
	header := http.Header{"Cookie": {p.Cookie}}
	for _, score := range []map[string]any{
		{"name": "right", "value": true, "comment": "an \"atlas\" says so"}, {"name": "tone", "value": "dry", "span_id": wantSpans[2].SpanID},
	} {
		answer := p.do(t, http.MethodPost, "/v1/runs/"+want.RunID+"/scores", header, score)
		require.Equal(t, http.StatusCreated, answer.Status, "%s", answer.Body)
	}
	export := p.do(t, http.MethodGet, "/v1/runs/export?format=otlp_json&project_id="+p.ProjectID, header, nil)
	require.Equal(t, http.StatusOK, export.Status, "%s", export.Body)
	target := newProject(t)
	for range 2 { // the second time changes nothing
		for line := range bytes.Lines(export.Body) {
			answer, err := product.Post(t.Context(), p.product.Ports.URL(product.Ingest)+"/v1/traces", target.ingestKey, product.JSON, line)
			require.NoError(t, err)
			require.Equal(t, http.StatusAccepted, answer.Status, "%s", answer.Body)
		}
		assert.Equal(t, want, target.awaitRun(t, want.RunID, ofSpans(len(wantSpans))))
	}
	spans := target.spans(t, want.RunID)
	for i := range spans {
		for _, event := range spans[i].Events {
			assert.Equal(t, "gen_ai.evaluation.result", event.Name)
		}
		spans[i].Events = wantSpans[i].Events
	}
	assert.Equal(t, wantSpans, spans)
	type score struct {
		Name    string  `json:"name"`
		Value   any     `json:"value"`
		Comment *string `json:"comment"`
		SpanID  *string `json:"span_id"`
		Source  string  `json:"source"`
	}
	read := func(p *project) []score {
		var page struct {
			Data []score `json:"data"`
		}
		status, err := p.get(t.Context(), "/v1/runs/"+want.RunID+"/scores", &page)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
		return page.Data
	}
	assert.Len(t, read(p), 2)
	assert.ElementsMatch(t, read(p), read(target))
}

func hasStatus(want string) func(run) error {
	return func(r run) error {
		if r.Status == want {
			return nil
		}
		return fmt.Errorf("the status is %s instead of %s", r.Status, want)
	}
}
