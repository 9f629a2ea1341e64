package runs_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// exportedRun is what the test reads of a row of an export.
type exportedRun struct {
	RunID         string  `parquet:"run_id"`
	Replayability *string `parquet:"replayability,optional,dict"`
}

func levelOf[T ~string](level *T) string {
	if level == nil {
		return ""
	}
	return string(*level)
}

// TestReplayabilityOfRuns stores runs of each level, and one as an earlier version did, and holds that runs say their level and that it
// selects them in every read of several runs and in a deletion.
func TestReplayabilityOfRuns(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	secret := e.Mint(t, session, project.Id, contract.ScopeRunsRead, contract.ScopeRunsWrite).Key
	key := apitest.Bearer(secret)
	levels := map[uuid.UUID]string{}
	store := func(level string, change func(*runmodel.Span)) {
		id, start := uuid.New(), time.Now().UTC().Add(-time.Duration(len(levels)+1)*time.Minute)
		root := runmodel.Span{ProjectID: project.Id, RunID: id, SpanID: 1, Version: 1, StartTime: start, EndTime: start.Add(3 * time.Second), Name: "agent", Kind: "agent", SessionID: "s", Status: "error", ErrorMessage: "no route"}
		call := runmodel.Span{
			ProjectID: project.Id, RunID: id, SpanID: 2, Version: 1, ParentSpanID: 1, StartTime: start, EndTime: start.Add(time.Second), Name: "chat", Kind: "llm",
			RequestModel: "m", InputMessageIDs: []uint64{1, 2}, OutputMessageIDs: []uint64{3},
		}
		again := call
		again.SpanID, again.StartTime, again.EndTime, again.InputMessageIDs = 3, start.Add(time.Second), start.Add(2*time.Second), []uint64{1, 2, 4}
		change(&again)
		spans := []runmodel.Span{root, call, again}
		if level == runmodel.ReplayNone {
			spans = spans[:1]
		}
		apitest.StoreSpans(t, address, spans)
		levels[id] = level
	}
	store(runmodel.ReplayNone, func(*runmodel.Span) {})
	store(runmodel.ReplayStructure, func(s *runmodel.Span) { s.InputMessageIDs = nil })
	store(runmodel.ReplayLLM, func(s *runmodel.Span) { s.InputMessageIDs[1] = 5 })
	store(runmodel.ReplayFull, func(*runmodel.Span) {})
	store(runmodel.ReplayFull, func(*runmodel.Span) {})
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	earlier, start := uuid.New(), time.Now().UTC().Add(-time.Hour)
	require.NoError(t, conn.Exec(t.Context(), `INSERT INTO runs (project_id, run_id, version, start_time, end_time, first_received, name, kind, status)
		VALUES (?, ?, 1, fromUnixTimestamp64Nano(?), fromUnixTimestamp64Nano(?), fromUnixTimestamp64Nano(?), 'earlier', 'agent', 'ok')`,
		project.Id, earlier, start.UnixNano(), start.UnixNano(), start.UnixNano()))
	levels[earlier] = ""

	server := httptest.NewServer(e.API)
	t.Cleanup(server.Close)
	client := apitest.ConnectMCP(t, server.URL+"/mcp", secret)
	for _, some := range [][]string{{runmodel.ReplayNone}, {runmodel.ReplayStructure}, {runmodel.ReplayLLM}, {runmodel.ReplayFull}, {runmodel.ReplayLLM, runmodel.ReplayFull}, nil} {
		want := 0
		for _, level := range levels {
			if some == nil || slices.Contains(some, level) {
				want++
			}
		}
		query := "?project_id=" + project.Id.String()
		for _, level := range some {
			query += "&replayability=" + level
		}
		get := func(path string) string { return path + query }
		page := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, get("/v1/runs"), nil, key), http.StatusOK)
		assert.Len(t, page.Data, want, query)
		for _, run := range page.Data {
			assert.Equal(t, levels[run.RunId], levelOf(run.Replayability))
		}
		byCost := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, get("/v1/runs")+"&order=-cost_usd", nil, key), http.StatusOK)
		assert.Len(t, byCost.Data, want, query)
		stats := apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, get("/v1/runs/stats"), nil, key), http.StatusOK)
		assert.EqualValues(t, want, stats.Total.Count, query)
		failures := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, get("/v1/agent/failed-runs"), nil, key), http.StatusOK)
		assert.EqualValues(t, want, failures.RunCount, query)
		export := e.Do(t, http.MethodGet, get("/v1/runs/export"), nil, key)
		require.Equal(t, http.StatusOK, export.Code, export.Body)
		assert.Equal(t, want, strings.Count(export.Body.String(), `"replayability":`), query)
		found, _ := apitest.CallTool[apitest.FoundRuns](t, client, "runs.search", map[string]any{"token_budget": 20_000, "replayability": append([]string{}, some...)})
		assert.Len(t, found.Runs, want, query)
	}
	threads := apitest.Must[contract.ThreadPage](t, e.Do(t, http.MethodGet, "/v1/threads?replayability=llm&project_id="+project.Id.String(), nil, key), http.StatusOK)
	assert.Len(t, threads.Data, 1)
	file := e.Do(t, http.MethodGet, "/v1/runs/export?format=parquet&project_id="+project.Id.String(), nil, key).Body.Bytes()
	rows, err := parquet.Read[exportedRun](bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	require.Len(t, rows, len(levels))
	for _, row := range rows {
		assert.Equal(t, levels[uuid.MustParse(row.RunID)], levelOf(row.Replayability))
	}
	apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/runs?replayability=some&project_id="+project.Id.String(), nil, key), http.StatusUnprocessableEntity)
	for id, level := range levels {
		if level == "" {
			continue // it has no spans
		}
		run := apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+id.String(), nil, key), http.StatusOK)
		assert.Equal(t, level, levelOf(run.Replayability))
		_, view := apitest.CallTool[apitest.AgentView](t, client, "runs.read", map[string]any{"run_id": id.String()})
		assert.Contains(t, view, `"replayability":"`+level+`"`)
	}
	body := fmt.Sprintf(`{"filter":{"project_id":%q,"replayability":["llm","full"]},"dry_run":false}`, project.Id)
	assert.EqualValues(t, 3, apitest.Must[contract.RunDeletion](t, e.Do(t, http.MethodPost, "/v1/runs/_actions/delete", body, key), http.StatusOK).Deleted)
}
