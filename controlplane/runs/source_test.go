package runs_test

import (
	"encoding/json"
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

// TestSourceOfRuns holds that every read of several runs, and a deletion by filter, leaves out the runs that Looptrace made unless the
// filter selects their source. Each by itself is readable.
func TestSourceOfRuns(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	secret := e.Mint(t, session, project.Id, contract.ScopeRunsRead, contract.ScopeRunsWrite).Key
	key := apitest.Bearer(secret)
	store := func(source string, ago time.Duration) uuid.UUID {
		id, start := uuid.New(), time.Now().UTC().Add(-ago)
		apitest.StoreSpans(t, address, []runmodel.Span{{
			ProjectID: project.Id, RunID: id, SpanID: 1, Version: 1, StartTime: start, EndTime: start.Add(time.Second), Name: "of " + source, Kind: "agent",
			SessionID: "s", Status: "error", ErrorType: "Unavailable", ErrorMessage: "no route", Inputs: "how far", Source: source,
		}})
		return id
	}
	want := map[string]int64{"user": 2, "playground": 1, "evaluation": 3, "replay": 1}
	sources := map[uuid.UUID]string{store("", 10*time.Minute): "user", store("batch", 9*time.Minute): "user"}
	for _, source := range []string{"playground", "evaluation", "evaluation", "evaluation", "replay"} {
		sources[store(source, time.Duration(len(sources))*time.Minute)] = source
	}
	want[""], want["all"] = want["user"], int64(len(sources))

	server := httptest.NewServer(e.API)
	t.Cleanup(server.Close)
	client := apitest.ConnectMCP(t, server.URL+"/mcp", secret)
	for source, want := range want {
		query := "?project_id=" + project.Id.String()
		arguments := map[string]any{"token_budget": 20_000}
		if source != "" {
			query += "&source=" + source
			arguments["source"] = source
		}
		get := func(path string) string { return path + query }
		page := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, get("/v1/runs"), nil, key), http.StatusOK)
		assert.Len(t, page.Data, int(want), source)
		for _, run := range page.Data {
			assert.Equal(t, sources[run.RunId], string(run.Source))
		}
		byDuration := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, get("/v1/runs")+"&order=-duration_ms", nil, key), http.StatusOK)
		assert.Len(t, byDuration.Data, int(want), source)
		found := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, get("/v1/runs")+"&search=far", nil, key), http.StatusOK)
		assert.Len(t, found.Data, int(want), source)
		stats := apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, get("/v1/runs/stats"), nil, key), http.StatusOK)
		assert.Equal(t, []int64{want, want}, []int64{stats.Total.Count, stats.Total.ErrorCount}, source)
		values := apitest.Must[contract.RunFieldValues](t, e.Do(t, http.MethodGet, get("/v1/runs/fields/session_id/values"), nil, key), http.StatusOK)
		assert.Equal(t, []contract.RunFieldValue{{Value: "s", Count: want}}, values.Data, source)
		failures := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, get("/v1/agent/failed-runs"), nil, key), http.StatusOK)
		assert.Equal(t, []int64{want, want}, []int64{failures.RunCount, failures.FailedRunCount}, source)
		threads := apitest.Must[contract.ThreadPage](t, e.Do(t, http.MethodGet, get("/v1/threads"), nil, key), http.StatusOK)
		require.Len(t, threads.Data, 1, source)
		assert.Equal(t, want, threads.Data[0].RunCount, source)
		thread := apitest.Must[contract.ThreadRuns](t, e.Do(t, http.MethodGet, get("/v1/threads/s"), nil, key), http.StatusOK)
		assert.Equal(t, want, thread.Thread.RunCount, source)
		assert.Len(t, thread.Data, int(want), source)
		export := e.Do(t, http.MethodGet, get("/v1/runs/export"), nil, key)
		require.Equal(t, http.StatusOK, export.Code, export.Body)
		assert.Equal(t, int(want), strings.Count(export.Body.String(), "\n"), source)
		assert.Equal(t, int(want), strings.Count(export.Body.String(), `"source":`), source)
		tool, _ := apitest.CallTool[apitest.FoundRuns](t, client, "runs.search", arguments)
		assert.Len(t, tool.Runs, int(want), source)
	}
	apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/runs?source=batch&project_id="+project.Id.String(), nil, key), http.StatusUnprocessableEntity)
	for id, source := range sources {
		run := apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+id.String(), nil, key), http.StatusOK)
		assert.Equal(t, source, string(run.Source))
	}

	remove := func(filter string, dryRun bool) contract.RunDeletion {
		body := fmt.Sprintf(`{"filter":{"project_id":%q%s},"dry_run":%t}`, project.Id, filter, dryRun)
		return apitest.Must[contract.RunDeletion](t, e.Do(t, http.MethodPost, "/v1/runs/_actions/delete", body, key), http.StatusOK)
	}
	for filter, want := range map[string]int64{``: 2, `,"source":"evaluation"`: 3, `,"source":"all"`: 7} {
		assert.Equal(t, want, remove(filter, true).Matched, filter)
	}
	assert.Equal(t, int64(2), remove(``, false).Deleted)
	assert.Equal(t, int64(5), remove(`,"source":"all"`, true).Matched, "a deletion without source leaves them")
	assert.Equal(t, int64(5), remove(`,"source":"all"`, false).Deleted)
}

// TestStreamOfSource follows the runs of the user and the evaluations of a project, each in a stream of its own.
func TestStreamOfSource(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	server := httptest.NewServer(e.API)
	t.Cleanup(server.Close)
	url := server.URL + "/v1/runs/stream?project_id=" + project.Id.String()
	streams := map[string]*apitest.Stream{"user": apitest.OpenStream(t, url, key), "evaluation": apitest.OpenStream(t, url+"&source=evaluation", key)}
	for _, s := range streams {
		require.Equal(t, http.StatusOK, s.Status)
		require.Equal(t, "ready", s.Next(t).Name)
	}
	start := time.Now().UTC()
	var spans [][]runmodel.Span
	for _, source := range []string{"evaluation", "", "replay", "evaluation", ""} {
		spans = append(spans, []runmodel.Span{{
			ProjectID: project.Id, RunID: uuid.New(), SpanID: 1, Version: 1, StartTime: start, EndTime: start.Add(time.Second), Name: "run", Kind: "agent", Source: source,
		}})
	}
	apitest.StoreSpans(t, address, spans...) // one insert: a stream that sends any has seen all
	for source, s := range streams {
		sent := map[uuid.UUID]bool{}
		for len(sent) < 2 {
			next := s.Next(t)
			require.Equal(t, "run", next.Name)
			var run contract.Run
			require.NoError(t, json.Unmarshal([]byte(next.Data), &run))
			assert.Equal(t, source, string(run.Source))
			sent[run.RunId] = true
		}
	}
}
