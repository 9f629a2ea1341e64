package e2e

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
)

// TestPrices reads the costs of model calls, and sets a price in the browser for a model without one.
func TestPrices(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	model := "e2e-model-" + uuid.NewString()[:8]
	priced, unknown := p.sendCall(t, "openai", "gpt-4o-2024-08-06"), p.sendCall(t, "e2e", model)
	// 1000 tokens at $2.5 a million and 500 at $10.
	assert.InEpsilon(t, 0.0075, deref(p.awaitRun(t, priced, ofSpans(2)).CostUSD), 1e-9)
	assert.Nil(t, p.awaitRun(t, unknown, ofSpans(2)).CostUSD, "an unknown cost is not 0")
	p.play(t, "prices", map[string]any{"model": model}, nil)
}
