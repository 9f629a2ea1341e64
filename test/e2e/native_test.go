package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

// nativeRuns posts a run as an application without OpenTelemetry does: when it starts, step by step, and again
// when it ends.
func (s *story) nativeRuns(t *testing.T) {
	id := uuid.NewString()
	s.needle = id
	start := time.Now().UTC().Add(-time.Minute).Truncate(time.Millisecond)
	at := func(seconds int) string {
		return start.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339Nano)
	}
	const retrieval, answering = "00000000000000a1", "00000000000000a2"

	s.post(t, "", 1, 0, map[string]any{"sdk": "e2e", "runs": []any{map[string]any{
		"run_id": id, "name": "needle in the haystack", "start_time": at(0),
		"inputs": "Which canton has the most lakes?", "session_id": "e2e-session", "user_id": "ada",
		"tags": []string{"e2e", "lakes"}, "metadata": map[string]any{"ticket": 4711}, "environment": "test", "release": "1.2.3",
	}}})
	running := s.awaitRun(t, id, hasStatus("running"))
	assert.Nil(t, running.EndTime)
	assert.Nil(t, running.Usage)
	assert.Equal(t, "agent", running.Kind)

	s.post(t, "gzip", 0, 1, map[string]any{"spans": []any{map[string]any{
		"span_id": retrieval, "run_id": id, "name": "search the atlas", "kind": "retriever",
		"start_time": at(1), "end_time": at(2), "inputs": map[string]any{"query": "lakes"}, "outputs": "Bern, Graubünden",
	}}})
	s.post(t, "zstd", 0, 1, map[string]any{"spans": []any{map[string]any{
		"span_id": answering, "run_id": id, "parent_span_id": retrieval, "name": "answer", "kind": "llm",
		"start_time": at(3), "end_time": at(5), "model": "claude-haiku", "provider": "anthropic", "cost_usd": 0.0125,
		"usage": map[string]any{"input_tokens": 40, "output_tokens": 9, "reasoning_output_tokens": 4}, "outputs": "Graubünden, I think",
	}}})
	s.awaitRun(t, id, ofSpans(3))
	s.post(t, "", 1, 1, map[string]any{
		"runs":  []any{map[string]any{"run_id": id, "name": "needle in the haystack", "start_time": at(0), "end_time": at(6), "outputs": "Graubünden"}},
		"spans": []any{map[string]any{"span_id": answering, "run_id": id, "name": "answer", "start_time": at(3), "outputs": "Graubünden"}},
	})
	ended := s.awaitRun(t, id, func(r run) error { return errors.Join(ofSpans(3)(r), hasStatus("ok")(r)) })
	assert.Equal(t, "needle in the haystack", ended.Name)
	assert.Equal(t, "Which canton has the most lakes?", deref(ended.Inputs), "what the second post leaves out stays")
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

	spans := s.spans(t, id)
	require.Len(t, spans, 3)
	assert.Equal(t, []int{0, 1, 2}, []int{spans[0].Depth, spans[1].Depth, spans[2].Depth})
	assert.JSONEq(t, `{"query":"lakes"}`, deref(spans[1].Inputs))
	assert.Equal(t, "llm", spans[2].Kind, "what the second post leaves out stays")
	assert.Equal(t, "Graubünden", deref(spans[2].Outputs), "what the second post says replaces")
	assert.Equal(t, "anthropic", deref(spans[2].Provider))
}

func hasStatus(want string) func(run) error {
	return func(r run) error {
		if r.Status == want {
			return nil
		}
		return fmt.Errorf("its status is %s instead of %s", r.Status, want)
	}
}

// post sends a native envelope, compressed as encoding says, and holds the answer to what was sent.
func (s *story) post(t *testing.T, encoding string, runs, spans int, envelope map[string]any) {
	t.Helper()
	body, err := json.Marshal(envelope)
	require.NoError(t, err)
	header := http.Header{"Content-Type": {product.JSON}, "X-Api-Key": {s.ingestKey}}
	switch encoding {
	case "gzip":
		body = gzipped(t, body)
	case "zstd":
		encoder, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		body = encoder.EncodeAll(body, nil)
	}
	if encoding != "" {
		header.Set("Content-Encoding", encoding)
	}
	answer, err := product.Do(t.Context(), http.MethodPost, s.web()+"/v1/runs", header, body)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, answer.Status, "%s", answer.Body)
	var accepted struct {
		Status    string `json:"status"`
		Runs      int    `json:"accepted_runs"`
		Spans     int    `json:"accepted_spans"`
		RequestID string `json:"request_id"`
	}
	require.NoError(t, json.Unmarshal(answer.Body, &accepted))
	assert.Equal(t, "queued", accepted.Status)
	assert.Equal(t, runs, accepted.Runs)
	assert.Equal(t, spans, accepted.Spans)
	assert.NotEmpty(t, accepted.RequestID)
}

func gzipped(t *testing.T, body []byte) []byte {
	t.Helper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	_, err := writer.Write(body)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return buffer.Bytes()
}
