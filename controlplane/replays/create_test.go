package replays

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/recorded/edit"
)

// TestStepsOfAny names steps in words that hold for all runs.
func TestStepsOfAny(t *testing.T) {
	t.Parallel()
	for want, target := range map[string]edit.Target{
		"all model calls":              {All: true},
		"model calls of orders":        {Kind: "model", Name: "orders"},
		"all tool calls":               {Kind: "tool"},
		"calls of the tool search":     {Kind: "tool", Name: "search"},
		"all steps of the kind agent":  {Kind: "agent"},
		"steps with the name planning": {Kind: "chain", Name: "planning"},
		"step 00f067aa0ba902b7":        {SpanID: "00f067aa0ba902b7"},
	} {
		assert.Equal(t, want, stepsOfAny(&target))
	}
}
