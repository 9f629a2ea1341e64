package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKillEvalRun kills the control plane in the middle of an eval-run with three judges. It finishes: every vote is there once, each cost is
// counted once, and only calls that were under way are made again.
func TestKillEvalRun(t *testing.T) {
	items, kills := scaled(200, 1000), scaled(1, 5)
	models := []string{"pass-60@100ms", "pass-70@100ms", "pass-80@100ms"}
	e := newEvaluating(t, items, models...)
	var judges []string
	for _, model := range models {
		judges = append(judges, fmt.Sprintf(`{"name":%q,"provider_id":%q,"model_config":{"model":%q,"max_output_tokens":100},"rubric":"Is it right?","scale":{"type":"binary"}}`,
			model, e.connection, model))
	}
	id := e.post("/v1/eval-runs", fmt.Sprintf(`{"project_id":%q,"name":"judged","dataset_id":%q,"target":{"outputs":"reference"},"max_cost_usd":100,
		"panels":[{"name":"right","judges":[%s]}]}`, e.project, e.dataset, strings.Join(judges, ",")))
	e.path = "/v1/eval-runs/" + id
	total := int64(items * len(judges))
	ended := e.kill(total, total+int64(len(judges)), kills) // each judge has a canary
	require.EqualValues(t, items, ended.Accounting.Scored)
	require.Equal(t, total, ended.Accounting.Votes.Total)
	require.Equal(t, total, ended.Accounting.Votes.OK)

	seen, cost := map[string]bool{}, 0.0
	for line := range bytes.Lines(e.do(http.MethodGet, e.path+"/export", "")) {
		var one struct {
			ItemID string `json:"item_id"`
			Output struct {
				Votes []struct {
					Judge   string
					Cached  bool
					CostUSD float64 `json:"cost_usd"`
				}
			}
		}
		require.NoError(t, json.Unmarshal(line, &one))
		for _, vote := range one.Output.Votes {
			at := one.ItemID + vote.Judge
			require.False(t, seen[at], "a vote is there twice")
			require.False(t, vote.Cached)
			seen[at] = true
			cost += vote.CostUSD
		}
	}
	require.Len(t, seen, int(total))
	e.requireCost(&ended, cost)
}
