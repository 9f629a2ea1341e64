package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKillComparison kills the control plane in the middle of a comparison. It finishes: every output is there once, each cost is counted once,
// and only calls that were under way are made again.
func TestKillComparison(t *testing.T) {
	items, repeats, kills := scaled(60, 1000), scaled(2, 3), scaled(2, 5)
	e := newEvaluating(t, items, "echo@100ms", "text@100ms")
	side := func(model string) string {
		return fmt.Sprintf(`{"provider_id":%q,"messages":[{"role":"user","content":"{{question}}"}],"model_config":{"model":%q,"max_output_tokens":50}}`, e.connection, model)
	}
	id := e.post("/v1/comparisons", fmt.Sprintf(`{"project_id":%q,"dataset_id":%q,"a":%s,"b":%s,"repeats":%d,"max_cost_usd":100,
		"graders":[{"name":"same","type":"string_check","operation":"eq","input":"{{sample.output_text}}","reference":"{{item.reference_output}}"}]}`,
		e.project, e.dataset, side("text@100ms"), side("echo@100ms"), repeats))
	e.path = "/v1/comparisons/" + id
	total := int64(items * 2 * repeats)
	ended := e.kill(total, total, kills)
	require.EqualValues(t, items, ended.Accounting.Scored)
	require.Equal(t, total, ended.Accounting.Outputs)

	seen, cost := map[string]bool{}, 0.0
	for line := range bytes.Lines(e.do(http.MethodGet, e.path+"/export", "")) {
		var one struct {
			ItemID string `json:"item_id"`
			Side   string
			Repeat int
			Output struct {
				CostUSD float64 `json:"cost_usd"`
			}
		}
		require.NoError(t, json.Unmarshal(line, &one))
		at := fmt.Sprint(one.ItemID, one.Side, one.Repeat)
		require.False(t, seen[at], "an output is there twice")
		seen[at] = true
		cost += one.Output.CostUSD
	}
	require.Len(t, seen, int(total))
	e.requireCost(&ended, cost)
}
