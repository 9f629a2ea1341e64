package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/programs"
)

// TestLangfuseExperiment runs an experiment with Langfuse's stock SDK, and finds its eval-run.
func TestLangfuseExperiment(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	python := programs.Python(t, "e2e-langfuse", "python/langfuse-requirements.txt")
	program := programs.Command(t.Context(), python, "python/experiment.py")
	program.Env = append(program.Env, "LOOPTRACE_ENDPOINT="+p.product.Ports.URL(product.Web), "LOOPTRACE_API_KEY="+p.ingestKey)
	first, err := uuid.Parse(strings.TrimSpace(string(programs.Output(t, program))))
	require.NoError(t, err)

	as := http.Header{"Cookie": {p.Cookie}}
	read := func(path string, into any) {
		t.Helper()
		answer := p.do(t, http.MethodGet, path, as, nil)
		require.Equal(t, http.StatusOK, answer.Status, string(answer.Body))
		require.NoError(t, json.Unmarshal(answer.Body, into))
	}
	var list struct {
		Data []struct {
			ID, Name string
			Dataset  struct{ Name string }
			Progress struct{ Done, Failed, Total int }
			Metadata map[string]string
		}
	}
	require.Eventually(t, func() bool {
		read("/v1/eval-runs?project_id="+p.ProjectID, &list)
		return len(list.Data) == 1 && list.Data[0].Progress.Done == 4
	}, time.Minute, 200*time.Millisecond)
	run := list.Data[0]
	assert.Equal(t, "capitals", run.Name)
	assert.Equal(t, "Langfuse capitals", run.Dataset.Name)
	assert.Equal(t, "none", run.Metadata["model"])
	assert.Equal(t, 1, run.Progress.Failed)

	type item struct {
		Input     struct{ Country string }
		Reference string `json:"reference_output"`
		Metadata  map[string]string
		Repeats   []struct {
			Result struct {
				Output *string
				Error  *struct{ Code, Detail string }
				RunID  string `json:"run_id"`
				Scores []struct {
					Name, Reason string
					Pass         *bool
				}
			}
		}
	}
	var items map[string]item
	require.Eventually(t, func() bool { // evaluators may arrive later
		var page struct{ Data []item }
		read("/v1/eval-runs/"+run.ID+"/items", &page)
		items = map[string]item{}
		scores := 0
		for _, one := range page.Data {
			items[one.Input.Country] = one
			scores += len(one.Repeats[0].Result.Scores)
		}
		return scores == 3
	}, time.Minute, 200*time.Millisecond)
	require.Len(t, items, 4)
	france := items["France"].Repeats[0].Result
	assert.Equal(t, "Paris", *france.Output)
	assert.Equal(t, first.String(), france.RunID)
	assert.True(t, *france.Scores[0].Pass)
	assert.Equal(t, "expected Paris", france.Scores[0].Reason)
	assert.Equal(t, "Madrid", items["Spain"].Reference)
	assert.Equal(t, map[string]string{"continent": "Europe"}, items["Spain"].Metadata)
	assert.False(t, *items["Spain"].Repeats[0].Result.Scores[0].Pass)
	assert.Equal(t, "RuntimeError", items["Norway"].Repeats[0].Result.Error.Code)
	assert.Equal(t, "no model", items["Norway"].Repeats[0].Result.Error.Detail)
}
