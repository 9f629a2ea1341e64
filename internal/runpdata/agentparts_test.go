package runpdata

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

func TestAgentParts(t *testing.T) {
	t.Parallel()
	partsOf := func(raw map[string]any) map[string]string {
		rows := rowsOf(t, map[string]any{runmodel.KeyUserID: raw["user"]}, attributes(t, raw))
		require.Len(t, rows.Spans, 1)
		return rows.Spans[0].AgentParts
	}
	const tools = `[{"type":"function","name":"search"}]`
	want := partsOf(map[string]any{
		runmodel.KeyOperationName: "chat", runmodel.KeyToolDefinitions: tools, "gen_ai.request.temperature": 0.5, "user": "ann",
		runmodel.KeySystemInstructions: `[{"type":"text","content":"Help ann. It is 2026-01-02."}]`,
	})
	assert.Len(t, want, 3)
	assert.Equal(t, "0.5", want[runmodel.PartParameter+"temperature"])
	assert.Equal(t, want, partsOf(map[string]any{
		runmodel.KeyOperationName: "chat", runmodel.KeyToolDefinitions: ` [ {"name":"search", "type":"function"} ] `, "gen_ai.request.temperature": "0.50", "user": "bob",
		runmodel.KeyInputMessages: `[{"role":"system","parts":[{"type":"text","content":"Help bob. It is 2026-03-04."}]},{"role":"user","parts":[]}]`,
	}))
	assert.NotEqual(t, want, partsOf(map[string]any{
		runmodel.KeyOperationName: "chat", runmodel.KeyToolDefinitions: tools, "gen_ai.request.temperature": 0.5, "user": "ann",
		runmodel.KeySystemInstructions: `[{"type":"text","content":"Help ann at most 2 times. It is 2026-01-02."}]`,
	}))
	assert.Len(t, partsOf(map[string]any{runmodel.KeyOperationName: "invoke_agent", runmodel.KeyToolDefinitions: tools, "gen_ai.request.temperature": 1}), 1,
		"the parameters of a call alone count")
	assert.Nil(t, partsOf(map[string]any{"gen_ai.request.temperature": 1}))
}
