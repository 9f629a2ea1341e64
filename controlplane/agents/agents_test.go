package agents_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestReleases stores runs of two releases, of which the second fails more often, is slower and has other scores.
func TestReleases(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	now := time.Now().UTC().Truncate(time.Second)
	var stored [][]runmodel.Span
	add := func(i int, message, instructions, model string) []runmodel.Span {
		run := apitest.AgentRun(project.Id, now.Add(-time.Duration(i+1)*time.Hour), "search", message, nil)
		call := &run[1]
		call.RequestModel, call.InputMessageIDs, call.InstructionsTextID, call.InstructionsID = model, []uint64{1}, 1, 2
		call.AgentParts = map[string]string{runmodel.PartInstructions: instructions, runmodel.PartTool + "search": "t1"}
		stored = append(stored, run)
		return run
	}
	var scores []runmodel.Score
	score := func(run []runmodel.Span, name, kind string, number float64) {
		scores = append(scores, runmodel.Score{
			ProjectID: project.Id, RunID: run[0].RunID, ScoreID: run[0].RunID, Version: uint64(now.UnixNano()), Name: name, ValueKind: kind, Number: &number,
		})
	}
	for i := range 40 {
		run := add(100+i, []string{"", "", "", "gone"}[i%4], "a1", "gpt-5")
		score(run, "helpful", runmodel.ScoreNumber, float64(i%3))
	}
	for i := range 40 {
		run := add(i, []string{"gone", "gone", "gone", ""}[i%4], "b2", "gpt-5")
		run[0].EndTime = run[0].StartTime.Add(time.Duration(5+i%3) * time.Second)
		score(run, "helpful", runmodel.ScoreNumber, float64(5+i%3))
	}
	run := apitest.AgentRun(project.Id, now.Add(-time.Minute), "search", "", nil) // records no messages
	stored = append(stored, run)
	apitest.StoreSpans(t, address, stored...)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	require.NoError(t, clickhouse.InsertScores(t.Context(), conn, scores))

	of := "?project_id=" + project.Id.String()
	list := apitest.Must[contract.AgentPage](t, e.Do(t, http.MethodGet, "/v1/agents"+of, nil, key), http.StatusOK)
	require.Len(t, list.Data, 1)
	assert.Equal(t, [3]int64{81, 80, 2}, [3]int64{list.Data[0].RunCount, list.Data[0].ReleasedRunCount, list.Data[0].ReleaseCount})
	assert.Equal(t, "helper", list.Data[0].Agent)

	got := apitest.Must[contract.AgentReleases](t, e.Do(t, http.MethodGet, "/v1/agents/releases"+of+"&agent=helper", nil, key), http.StatusOK)
	assert.Equal(t, [4]int64{81, 1, 2, 2}, [4]int64{got.RunCount, got.WithoutReleaseCount, got.ReleaseCount, got.InstructionsCount})
	assert.Equal(t, contract.Compared, got.Instructions)
	require.Len(t, got.Releases, 2)
	second, first := got.Releases[0], got.Releases[1]
	assert.Nil(t, first.Difference)
	assert.Equal(t, []contract.AgentChange{{Part: "instructions", Before: new("a1"), After: new("b2")}}, second.Changes)
	assert.Equal(t, map[string]string{"model": "gpt-5", "instructions": "b2", "tool:search": "t1"}, map[string]string(second.Parts))
	assert.InDelta(t, .25, *first.Failures.Value, 1e-9)
	assert.InDelta(t, .75, *second.Failures.Value, 1e-9)
	assert.InDelta(t, .5, *second.Difference.Failures.Value, 1e-9)
	assert.Equal(t, contract.AgentVerdictHigher, second.Difference.Failures.Verdict)
	assert.InDelta(t, 1000, *first.DurationMs.Value, 1e-9)
	assert.Equal(t, contract.AgentVerdictHigher, second.Difference.DurationMs.Verdict)
	assert.Nil(t, second.CostUsd.Value, "no cost is known")
	assert.Equal(t, contract.AgentVerdictCannotTell, second.Difference.CostUsd.Verdict)
	require.Len(t, second.Scores, 1)
	assert.Equal(t, "helpful", second.Scores[0].Name)
	assert.Equal(t, int64(40), second.Scores[0].Count)
	assert.InDelta(t, 5, (*second.Difference.Scores[0].Difference.Ci)[0], 1)
	assert.Equal(t, contract.AgentVerdictHigher, second.Difference.Scores[0].Difference.Verdict)

	t.Run("filter", func(t *testing.T) {
		runs := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs"+of+"&limit=100&agent_release="+*first.AgentRelease, nil, key), http.StatusOK)
		assert.Len(t, runs.Data, 40)
		assert.Equal(t, *first.AgentRelease, *runs.Data[0].AgentRelease)
		stats := apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, "/v1/runs/stats"+of+"&group_by=agent_release", nil, key), http.StatusOK)
		require.Len(t, stats.Groups, 3, "one has no release")
	})
	t.Run("group of failures", func(t *testing.T) {
		groups := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, "/v1/agent/failed-runs"+of, nil, key), http.StatusOK)
		require.Len(t, groups.Data, 1)
		require.NotNil(t, groups.Data[0].BeganIn)
		assert.Equal(t, *first.AgentRelease, groups.Data[0].BeganIn.AgentRelease)
		groups = apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, "/v1/agent/failed-runs"+of+"&agent_release="+*second.AgentRelease, nil, key), http.StatusOK)
		require.Len(t, groups.Data, 1)
		assert.Nil(t, groups.Data[0].BeganIn)
	})
	t.Run("run", func(t *testing.T) {
		path := "/v1/runs/" + first.LastRun.RunId.String() + "/agent"
		agent := apitest.Must[contract.RunAgent](t, e.Do(t, http.MethodGet, path, nil, key), http.StatusOK)
		assert.Equal(t, first.AgentRelease, agent.AgentRelease)
		assert.NotNil(t, agent.SpanId)
		assert.Nil(t, agent.Missing)
		agent = apitest.Must[contract.RunAgent](t, e.Do(t, http.MethodGet, "/v1/runs/"+run[0].RunID.String()+"/agent", nil, key), http.StatusOK)
		assert.Nil(t, agent.AgentRelease)
		assert.Equal(t, contract.RunAgentMissingNoInstructions, *agent.Missing)
	})
	t.Run("none", func(t *testing.T) {
		none := apitest.Must[contract.AgentReleases](t, e.Do(t, http.MethodGet, "/v1/agents/releases"+of+"&agent="+url.QueryEscape("a/b"), nil, key), http.StatusOK)
		assert.Empty(t, none.Releases)
	})
}

// TestInstructionsOfEveryRun stores runs with instructions of their own, which are no releases.
func TestInstructionsOfEveryRun(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	now := time.Now().UTC()
	var stored [][]runmodel.Span
	for i := range 20 {
		run := apitest.AgentRun(project.Id, now.Add(-time.Duration(i+1)*time.Hour), "search", "", nil)
		run[1].InputMessageIDs, run[1].InstructionsTextID = []uint64{1}, 1
		run[1].RequestModel = []string{"new", "old"}[i/10]
		run[1].AgentParts = map[string]string{runmodel.PartInstructions: run[0].RunID.String()}
		stored = append(stored, run)
	}
	apitest.StoreSpans(t, address, stored...)
	path := "/v1/agents/releases?agent=helper&project_id=" + project.Id.String()
	got := apitest.Must[contract.AgentReleases](t, e.Do(t, http.MethodGet, path, nil, key), http.StatusOK)
	assert.Equal(t, contract.Ignored, got.Instructions)
	assert.Equal(t, [2]int64{20, 2}, [2]int64{got.InstructionsCount, got.ReleaseCount})
	require.Len(t, got.Releases, 2)
	assert.Nil(t, got.Releases[0].AgentRelease)
	assert.Equal(t, int64(10), got.Releases[0].AgentReleaseCount)
	assert.Equal(t, []contract.AgentChange{{Part: "model", Before: new("old"), After: new("new")}}, got.Releases[0].Changes)
	got = apitest.Must[contract.AgentReleases](t, e.Do(t, http.MethodGet, path+"&instructions=compared", nil, key), http.StatusOK)
	assert.Len(t, got.Releases, 20)
}
