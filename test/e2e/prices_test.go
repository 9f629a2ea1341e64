package e2e

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
)

// costs sends calls of models and reads what they cost; a model without a price gets one in the browser.
func (s *story) costs(t *testing.T) {
	model := "e2e-model-" + uuid.NewString()[:8]
	priced, unknown := s.call(t, "openai", "gpt-4o-2024-08-06"), s.call(t, "e2e", model)
	// 1000 tokens of $2.5 and 500 of $10 a million.
	assert.InEpsilon(t, 0.0075, deref(s.awaitRun(t, priced, ofSpans(2)).CostUSD), 1e-9)
	assert.Nil(t, s.awaitRun(t, unknown, ofSpans(2)).CostUSD, "an unknown cost is not 0")
	s.browser.Play(t, "prices", map[string]any{"base": s.web(), "projectId": s.projectID, "model": model}, nil)
}

// call sends a run with one call of a model, of 1000 and 500 tokens, and returns its id.
func (s *story) call(t *testing.T, provider, model string) string {
	t.Helper()
	id, start := uuid.NewString(), time.Now().UTC().Add(-time.Second)
	at := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339Nano) }
	s.post(t, "", 1, 1, map[string]any{
		"runs": []any{map[string]any{"run_id": id, "name": "a call of " + model, "start_time": at(0), "end_time": at(time.Second)}},
		"spans": []any{map[string]any{
			"run_id": id, "span_id": "00000000000000c1", "name": "chat", "kind": "llm", "provider": provider, "model": model,
			"usage": map[string]any{"input_tokens": 1000, "output_tokens": 500}, "start_time": at(0), "end_time": at(time.Second),
		}},
	})
	return id
}
