package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/bench/loadgen"
	"github.com/looptrace/looptrace/test/product"
)

// sendRuns sends runs of one span, of which every seventh failed, and waits until all are stored.
func (p *project) sendRuns(t *testing.T, count int) (lastID string) {
	t.Helper()
	const batchSize = 100
	start := time.Now().UTC().Add(-2 * time.Hour)
	runs, ids := make([]any, count), make([]string, count)
	for i := range runs {
		at := start.Add(time.Duration(i) * time.Second)
		ids[i] = uuid.NewString()
		one := map[string]any{
			"run_id": ids[i], "name": fmt.Sprintf("hay %d", i), "start_time": at, "end_time": at.Add(time.Second),
			"inputs": "Is this a needle?", "outputs": "No",
		}
		if i%7 == 0 {
			one["status"], one["error"] = "error", map[string]any{"type": "NoNeedle", "message": "it is hay"}
		}
		runs[i] = one
	}
	for batch := range slices.Chunk(runs, batchSize) {
		p.post(t, "", len(batch), 0, map[string]any{"runs": batch})
	}
	for _, id := range ids {
		p.awaitRun(t, id, ofSpans(1))
	}
	return ids[count-1]
}

// sendCall sends a run with one model call, of 1000 input and 500 output tokens, and returns its id.
func (p *project) sendCall(t *testing.T, provider, model string) string {
	t.Helper()
	id, start := uuid.NewString(), time.Now().UTC().Add(-time.Second)
	at := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339Nano) }
	p.post(t, "", 1, 1, map[string]any{
		"runs": []any{map[string]any{"run_id": id, "name": "a call of " + model, "start_time": at(0), "end_time": at(time.Second)}},
		"spans": []any{map[string]any{
			"run_id": id, "span_id": "00000000000000c1", "name": "chat", "kind": "llm", "provider": provider, "model": model,
			"usage": map[string]any{"input_tokens": 1000, "output_tokens": 500}, "start_time": at(0), "end_time": at(time.Second),
		}},
	})
	return id
}

// sendLongRun sends a run of the given number of spans and waits until all are stored.
func (p *project) sendLongRun(t *testing.T, spans int) (id string) {
	t.Helper()
	id = uuid.NewString()
	header := http.Header{"Content-Type": {product.JSON}, "X-Api-Key": {p.ingestKey}}
	for _, body := range loadgen.LongRun(id, spans, time.Now().Add(-4*time.Hour), 1) {
		answer, err := product.Do(t.Context(), http.MethodPost, p.web()+"/v1/runs", header, body)
		require.NoError(t, err)
		require.Equal(t, http.StatusAccepted, answer.Status, "%s", answer.Body)
	}
	p.awaitRun(t, id, ofSpans(spans))
	return id
}

// post sends a native envelope, compressed if encoding is not "". The answer must count the runs and spans given.
func (p *project) post(t *testing.T, encoding string, runs, spans int, envelope map[string]any) {
	t.Helper()
	body, err := json.Marshal(envelope)
	require.NoError(t, err)
	header := http.Header{"Content-Type": {product.JSON}, "X-Api-Key": {p.ingestKey}}
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
	answer, err := product.Do(t.Context(), http.MethodPost, p.web()+"/v1/runs", header, body)
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
