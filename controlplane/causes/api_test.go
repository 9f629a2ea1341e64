package causes_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// orderTrace is a run that began some time ago. Its tool fails, or it ends well.
func orderTrace(temperature float64, instructions string, ago time.Duration, fails bool) (uuid.UUID, ptrace.Traces) {
	steps := apitest.OrderAgent
	if fails {
		steps = steps[:2]
	}
	run, td := apitest.AgentTrace(steps)
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	// The trace of apitest began an hour ago.
	moved := func(at pcommon.Timestamp) pcommon.Timestamp {
		return pcommon.NewTimestampFromTime(at.AsTime().Add(time.Hour - ago))
	}
	for i := range spans.Len() {
		span := spans.At(i)
		span.SetStartTimestamp(moved(span.StartTimestamp()))
		span.SetEndTimestamp(moved(span.EndTimestamp()))
		if operation, _ := span.Attributes().Get("gen_ai.operation.name"); operation.Str() == "chat" {
			span.Attributes().PutDouble("gen_ai.request.temperature", temperature)
			span.Attributes().PutStr("gen_ai.system_instructions", `[{"type":"text","content":"`+instructions+`"}]`)
		}
		if fails && (i == 0 || i == spans.Len()-1) {
			span.Status().SetCode(ptrace.StatusCodeError)
			span.Status().SetMessage("the order is closed")
			span.Attributes().PutStr("error.type", "OrderError")
		}
	}
	return run, td
}

// TestCandidates goes from a group of failures to the plan of a batch that tests the first candidate.
func TestCandidates(t *testing.T) {
	t.Parallel()
	e, session, project, send := apitest.NewReplayEnv(t)
	as := apitest.Cookie(session)
	const instructions = "You help with orders."
	var failed, good []uuid.UUID
	for i := range 12 {
		ago := time.Duration(20+i) * time.Minute
		temperature := 1.2
		if i == 5 {
			temperature = .2
		}
		run, td := orderTrace(temperature, instructions, ago, true)
		send(td)
		failed = append(failed, run)
		run, td = orderTrace(.2, instructions, ago+20*time.Minute, false)
		send(td)
		good = append(good, run)
	}
	in := "?project_id=" + project.Id.String()
	groups := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, "/v1/agent/failed-runs"+in, nil, as), http.StatusOK)
	require.Len(t, groups.Data, 1)
	path := "/v1/agent/failed-runs/" + groups.Data[0].Fingerprint + "/candidates" + in
	found := apitest.Must[contract.FailureCandidates](t, e.Do(t, http.MethodGet, path, nil, as), http.StatusOK)
	assert.Equal(t, contract.CandidateRuns{Read: 12, Matched: 12}, found.Failed)
	assert.Equal(t, contract.CandidateRuns{Read: 12, Matched: 12}, found.Good)
	require.NotEmpty(t, found.Candidates)
	first := found.Candidates[0]
	assert.Equal(t, "parameter:temperature=1.2", first.Key)
	assert.Equal(t, "The parameter temperature is 1.2 instead of 0.2", first.Title)
	assert.Equal(t, contract.CandidateShare{Count: 11, Of: 12}, first.Failed)
	assert.Equal(t, contract.CandidateShare{Count: 0, Of: 12}, first.Good)
	assert.True(t, first.Separates)
	assert.Less(t, first.PAdjusted, .05)
	require.NotNil(t, first.Edits)
	edits, err := json.Marshal(first.Edits)
	require.NoError(t, err)
	assert.JSONEq(t, `[{"target":"all","set":{"params":{"temperature":0.2}}}]`, string(edits))
	assert.Len(t, first.MovesWith, 1, "the agent has another release with another parameter")
	for _, c := range found.Candidates[1:] {
		assert.Equal(t, c.Kind == "agent_release", c.Separates, c.Key)
	}

	t.Run("what differs between two runs", func(t *testing.T) {
		require.NotNil(t, found.LastGood)
		assert.Equal(t, failed[len(failed)-1], found.FirstFailed.RunId)
		assert.Equal(t, good[0], found.LastGood.RunId, "the newest before the first failed one")
		require.Len(t, found.Differences, 2)
		assert.Equal(t, first.Title, found.Differences[0].Title)
	})
	t.Run("its batch", func(t *testing.T) {
		body := map[string]any{
			"project_id": project.Id, "plan": true, "edits": first.Edits, "good_runs": 4,
			"run_filter": "fingerprint=" + url.QueryEscape(groups.Data[0].Fingerprint),
		}
		plan := apitest.Must[contract.ReplayBatchPlan](t, e.Do(t, http.MethodPost, "/v1/replay-batches", body, as), http.StatusOK)
		assert.Equal(t, int64(12), plan.MatchedRuns)
		require.Len(t, plan.Runs, 16)
		for _, run := range plan.Runs {
			assert.Nil(t, run.NotReplayable, run.RunId)
		}
	})
	t.Run("by MCP", func(t *testing.T) {
		server := httptest.NewServer(e.API)
		t.Cleanup(server.Close)
		client := apitest.ConnectMCP(t, server.URL+"/mcp", e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
		type failures struct {
			TokensUsed int `json:"tokens_used"`
			Groups     []struct {
				Candidates []struct {
					Failed    string `json:"failed"`
					Good      string `json:"good"`
					Separates bool   `json:"separates"`
					Recorded  string `json:"recorded"`
				} `json:"candidates"`
			} `json:"groups"`
		}
		one, _ := apitest.CallTool[failures](t, client, "runs.failures", map[string]any{"fingerprint": groups.Data[0].Fingerprint})
		require.Len(t, one.Groups, 1)
		require.NotEmpty(t, one.Groups[0].Candidates)
		shown := one.Groups[0].Candidates[0]
		assert.Equal(t, "11 of 12", shown.Failed)
		assert.Equal(t, "0 of 12", shown.Good)
		assert.True(t, shown.Separates)
		assert.Regexp(t, `(?s)^<\d{6} candidate>The parameter temperature is 1.2 instead of 0.2.*edits: .*"temperature":0.2`, shown.Recorded)
		const most = 2000 // a part of the way from a group to a tested cause
		assert.LessOrEqual(t, one.TokensUsed, most)
	})
	t.Run("none", func(t *testing.T) {
		other := "/v1/agent/failed-runs/fp:v3:0123456789abcdef/candidates" + in
		apitest.WantProblem(t, e.Do(t, http.MethodGet, other, nil, as), http.StatusNotFound)
	})
}
