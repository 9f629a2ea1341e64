package runs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestTracesWithoutGenAI holds that every read of several runs, and a deletion by filter, leaves out traces without a GenAI span
// unless the filter selects them. Each by itself is readable.
func TestTracesWithoutGenAI(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	secret := e.Mint(t, session, project.Id, contract.ScopeRunsRead, contract.ScopeRunsWrite).Key
	key := apitest.Bearer(secret)
	store := func(name string, ago time.Duration, inner runmodel.Span) uuid.UUID {
		id, start := uuid.New(), time.Now().UTC().Add(-ago)
		root := runmodel.Span{
			ProjectID: project.Id, RunID: id, SpanID: 1, Version: 1, StartTime: start, EndTime: start.Add(time.Second), Name: name, SessionID: "s",
			Status: "error", ErrorType: "Unavailable", ErrorMessage: "no route",
		}
		inner.ProjectID, inner.RunID, inner.SpanID, inner.ParentSpanID, inner.Version = project.Id, id, 2, 1, 2
		inner.StartTime, inner.EndTime = root.StartTime, root.EndTime
		apitest.StoreSpans(t, address, []runmodel.Span{root, inner})
		return id
	}
	var health []uuid.UUID
	for i := range 3 {
		health = append(health, store("GET /healthz", time.Duration(i+1)*time.Minute, runmodel.Span{Name: "SELECT"}))
	}
	chat := store("POST /chat", 10*time.Minute, runmodel.Span{Name: "invoke_agent support", Operation: "invoke_agent", AgentName: "support"})

	server := httptest.NewServer(e.API)
	t.Cleanup(server.Close)
	client := apitest.ConnectMCP(t, server.URL+"/mcp", secret)
	for traces, want := range map[string]int64{"": 1, "genai": 1, "other": 3, "all": 4} {
		query := "?project_id=" + project.Id.String()
		arguments := map[string]any{"token_budget": 20_000}
		if traces != "" {
			query += "&traces=" + traces
			arguments["traces"] = traces
		}
		get := func(path string) string { return path + query }
		page := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, get("/v1/runs"), nil, key), http.StatusOK)
		assert.Len(t, page.Data, int(want), traces)
		for _, run := range page.Data {
			assert.Equal(t, run.Name == "POST /chat", run.Genai)
		}
		byDuration := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, get("/v1/runs")+"&order=-duration_ms", nil, key), http.StatusOK)
		assert.Len(t, byDuration.Data, int(want), traces)
		stats := apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, get("/v1/runs/stats"), nil, key), http.StatusOK)
		assert.Equal(t, []int64{want, want}, []int64{stats.Total.Count, stats.Total.ErrorCount}, traces)
		values := apitest.Must[contract.RunFieldValues](t, e.Do(t, http.MethodGet, get("/v1/runs/fields/session_id/values"), nil, key), http.StatusOK)
		assert.Equal(t, []contract.RunFieldValue{{Value: "s", Count: want}}, values.Data, traces)
		failures := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, get("/v1/agent/failed-runs"), nil, key), http.StatusOK)
		assert.Equal(t, []int64{want, want}, []int64{failures.RunCount, failures.FailedRunCount}, traces)
		threads := apitest.Must[contract.ThreadPage](t, e.Do(t, http.MethodGet, get("/v1/threads"), nil, key), http.StatusOK)
		require.Len(t, threads.Data, 1, traces)
		assert.Equal(t, want, threads.Data[0].RunCount, traces)
		thread := apitest.Must[contract.ThreadRuns](t, e.Do(t, http.MethodGet, get("/v1/threads/s"), nil, key), http.StatusOK)
		assert.Equal(t, want, thread.Thread.RunCount, traces)
		assert.Len(t, thread.Data, int(want), traces)
		export := e.Do(t, http.MethodGet, get("/v1/runs/export"), nil, key)
		require.Equal(t, http.StatusOK, export.Code, export.Body)
		assert.Equal(t, int(want), strings.Count(export.Body.String(), "\n"), traces)
		found, _ := apitest.CallTool[apitest.FoundRuns](t, client, "runs.search", arguments)
		assert.Len(t, found.Runs, int(want), traces)
	}
	apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/runs?traces=none&project_id="+project.Id.String(), nil, key), http.StatusUnprocessableEntity)
	for _, id := range append(health, chat) {
		run := apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+id.String(), nil, key), http.StatusOK)
		assert.Equal(t, id == chat, run.Genai)
		if id == chat {
			assert.Equal(t, "agent", run.Kind)
		}
	}

	remove := func(filter string, dryRun bool) contract.RunDeletion {
		body := fmt.Sprintf(`{"filter":{"project_id":%q%s},"dry_run":%t}`, project.Id, filter, dryRun)
		return apitest.Must[contract.RunDeletion](t, e.Do(t, http.MethodPost, "/v1/runs/_actions/delete", body, key), http.StatusOK)
	}
	for filter, want := range map[string]int64{``: 1, `,"traces":"other"`: 3, `,"traces":"all"`: 4} {
		assert.Equal(t, want, remove(filter, true).Matched, filter)
	}
	assert.Equal(t, int64(1), remove(``, false).Deleted)
	assert.Equal(t, int64(3), remove(`,"traces":"all"`, true).Matched, "a deletion without traces leaves them")
	assert.Equal(t, int64(3), remove(`,"traces":"other"`, false).Deleted)
	assert.Zero(t, remove(`,"traces":"all"`, true).Matched)
}
