package failures_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// TestFailingStepsAgree holds that a run, the list, the agent view, MCP and Failures name the same failing step for each
// of the recorded failing programs. test/conformance holds that it is the right one.
func TestFailingStepsAgree(t *testing.T) {
	t.Parallel()
	const budget = 2000
	files, err := filepath.Glob(filepath.Join("..", "..", "test", "conformance", "testdata", "failing", "*", "*.json"))
	require.NoError(t, err)
	var payloads []string
	for _, file := range files {
		if filepath.Base(file) != "truth.json" {
			payloads = append(payloads, file)
		}
	}
	require.NotEmpty(t, payloads)
	e, address, project, secret := newReader(t)
	stored := apitest.StoreRecorded(t, address, project.Id, payloads)
	key := apitest.Bearer(secret)
	server := httptest.NewServer(e.API)
	t.Cleanup(server.Close)
	client := apitest.ConnectMCP(t, server.URL+"/mcp", secret)
	query := "?limit=100&project_id=" + project.Id.String()
	listed := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs"+query, nil, key), http.StatusOK).Data
	require.Len(t, listed, len(stored))
	groups := map[string]contract.FailedRunGroup{}
	for _, group := range apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, "/v1/agent/failed-runs"+query, nil, key), http.StatusOK).Data {
		groups[group.Fingerprint] = group
	}
	inGroups := 0
	for _, run := range listed {
		path := "/v1/runs/" + run.RunId.String()
		file := stored[run.RunId]
		outline := apitest.Must[contract.Outline](t, e.Do(t, http.MethodGet, path+"/outline", nil, key), http.StatusOK)
		view := apitest.Must[apitest.AgentView](t, e.Do(t, http.MethodGet, fmt.Sprintf("%s/agent-view?token_budget=%d", path, budget), nil, key), http.StatusOK)
		read, _ := apitest.CallTool[apitest.AgentView](t, client, "runs.read", map[string]any{"run_id": run.RunId.String(), "token_budget": budget})
		if run.Outcome == contract.OutcomeSucceeded {
			assert.Empty(t, outline.ErrorChain, file)
			assert.Empty(t, view.ErrorChain, file)
			assert.Empty(t, read.ErrorChain, file)
			assert.Nil(t, run.Failure, file)
			continue
		}
		require.NotEmpty(t, outline.ErrorChain, file)
		step := outline.ErrorChain[0]
		id := outline.Spans.SpanId[step]
		for name, answer := range map[string]apitest.AgentView{"agent view": view, "MCP": read} {
			require.NotEmpty(t, answer.ErrorChain, "%s, %s", file, name)
			assert.Equal(t, id, answer.ErrorChain[0].SpanID, "%s, %s", file, name)
			assert.Contains(t, apitest.SpanIDs(answer), id, "%s, %s", file, name)
		}
		if run.Outcome != contract.OutcomeFailed {
			assert.Nil(t, run.Failure, file)
			continue
		}
		require.NotNil(t, run.Failure, file)
		assert.Equal(t, id, run.Failure.SpanId, file)
		assert.Equal(t, outline.Strings[outline.Spans.Kind[step]], run.Failure.Step.Kind, file)
		group, ok := groups[run.Failure.Fingerprint]
		require.True(t, ok, file)
		assert.Equal(t, run.Failure.Step, group.Step, file)
		for _, failed := range append(group.Sample, group.Representative) {
			if failed.RunId == run.RunId {
				assert.Equal(t, id, failed.SpanId, file)
				assert.Equal(t, run.Failure.Step, failed.Step, file)
				inGroups++
			}
		}
	}
	assert.Positive(t, inGroups)
}
