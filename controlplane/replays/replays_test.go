package replays_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// replayed waits for the end of a replay.
func replayed(t *testing.T, e *apitest.Env, as apitest.Option, id uuid.UUID) (ended contract.Replay) {
	t.Helper()
	if !assert.Eventually(t, func() bool {
		e.Clock.Advance(20 * time.Millisecond)
		ended = apitest.Must[contract.Replay](t, e.Do(t, http.MethodGet, "/v1/replays/"+id.String(), nil, as), http.StatusOK)
		return ended.Verdict != nil || ended.Status == contract.ReplayStatusFailed
	}, apitest.ReplayTime, 50*time.Millisecond) {
		require.FailNow(t, "no verdict", "%s: %+v, %+v\n%s", ended.Status, ended.Progress, ended.Error, e.Log)
	}
	if ended.Verdict != nil {
		requireFits(t, "ReplayVerdict", *ended.Verdict)
	}
	requireTold(t, &ended)
	return ended
}

// requireTold fails if an attempt that did not come to its own end does not say why, by a reason of the contract, and what to do.
func requireTold(t *testing.T, r *contract.Replay) {
	t.Helper()
	for _, a := range r.Attempts {
		require.NotNil(t, a.StopReason, "%+v", a)
		require.True(t, a.StopReason.Valid(), *a.StopReason)
		if *a.StopReason == contract.ReplayAttemptStopCompleted {
			require.Nil(t, a.Detail)
			continue
		}
		require.NotNil(t, a.Detail, *a.StopReason)
		require.NotNil(t, a.Remedy, *a.StopReason)
	}
}

// readVerdict is what tests read of a verdict.
type readVerdict struct {
	Verdict  string `json:"verdict"`
	Sentence string `json:"sentence"`
	Reasons  []struct {
		Code string `json:"code"`
		Text string `json:"text"`
	} `json:"reasons"`
	K, M, Looks int
	Alpha       float64
	Channels    map[string]struct {
		P     *float64 `json:"p"`
		Flags []string `json:"flags"`
	} `json:"channels"`
}

// verdictOf reads a verdict.
func verdictOf(t *testing.T, r *contract.Replay) (verdict readVerdict) {
	t.Helper()
	require.NotNil(t, r.Verdict, "%+v", r.Error)
	require.NoError(t, json.Unmarshal(*r.Verdict, &verdict))
	return verdict
}

// TestReplayOfAnAgent replays a run of an agent with another system prompt: the model is called again, tools are answered from the recording.
func TestReplayOfAnAgent(t *testing.T) {
	t.Parallel()
	e, session, project, send := apitest.NewReplayEnv(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.AnswerOrders})
	connection := e.Connect(t, as, project.Id, "openai", server, "").Id
	run, td := apitest.AgentTrace(apitest.OrderAgent)
	send(td)

	level := apitest.Must[contract.RunReplayability](t, e.Do(t, http.MethodGet, "/v1/runs/"+run.String()+"/replayability", nil, as), http.StatusOK)
	require.EqualValues(t, "full", level.Level, "%+v", level)
	assert.Equal(t, 3, level.ModelCalls)
	assert.Equal(t, 2, level.ToolCalls)

	body := func(more string) string {
		return fmt.Sprintf(`{"run_id":%q,"provider_id":%q,"edits":[{"target":"all","set":{"system_prompt":"You help customers. Ask before you change anything."}}]%s}`, run, connection, more)
	}
	plan := apitest.Must[contract.ReplayPlan](t, e.Do(t, http.MethodPost, "/v1/replays", body(`,"plan":true`), as), http.StatusOK)
	assert.EqualValues(t, "server", plan.Executor)
	require.Len(t, plan.Warnings, 1)
	assert.Equal(t, contract.SideEffectsUnknown, plan.Warnings[0].Code)
	assert.Contains(t, plan.Warnings[0].Detail, `"cancel_order", "find_order"`)
	assert.Empty(t, server.Requests(), "a plan calls nothing")
	require.Len(t, plan.Steps, 6)
	assert.EqualValues(t, "live", plan.Steps[1].Action)
	assert.True(t, plan.Steps[1].Edited)
	require.NotNil(t, plan.AttainableP)
	assert.InDelta(t, 4./126, *plan.AttainableP, .0001, "without a grader four channels are tested")

	created := apitest.Must[contract.Replay](t, e.Do(t, http.MethodPost, "/v1/replays", body(""), as), http.StatusCreated)
	ended := replayed(t, e, as, created.Id)
	require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
	require.Len(t, ended.Attempts, 9)
	for _, a := range ended.Attempts {
		require.EqualValues(t, "succeeded", a.Status, "%+v", a)
		assert.EqualValues(t, "completed", *a.StopReason)
		assert.NotNil(t, a.RunId)
		if a.Role == contract.Control {
			assert.Equal(t, 3, a.ModelCalls)
			assert.EqualValues(t, 2, a.Exposure["hit"], "%v", a.Exposure)
		} else {
			assert.Equal(t, 1, a.ModelCalls)
		}
	}
	assert.Len(t, server.Requests(), 5*3+4)
	assert.EqualValues(t, 5*3+4, ended.Cost.Calls)
	verdict := verdictOf(t, &ended)
	assert.Equal(t, "effect_attributable", verdict.Verdict, verdict.Sentence)

	// A control does what was recorded, and lists leave the runs of attempts out.
	shown := apitest.Must[contract.ReplayDiff](t, e.Do(t, http.MethodGet, "/v1/replays/"+created.Id.String()+"/diff?attempt=1", nil, as), http.StatusOK)
	assert.Zero(t, shown.Diff.Distance, "%+v", shown.Diff.Steps)
	assert.Equal(t, 6, shown.Diff.Counts.Same)
	edited := apitest.Must[contract.ReplayDiff](t, e.Do(t, http.MethodGet, "/v1/replays/"+created.Id.String()+"/diff?fold=false", nil, as), http.StatusOK)
	assert.EqualValues(t, "treatment", edited.Attempt.Role)
	assert.Positive(t, edited.Diff.Distance)
	assert.Zero(t, edited.OutsideConeDifferences)
	listed := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs?project_id="+project.Id.String(), nil, as), http.StatusOK)
	assert.Len(t, listed.Data, 1)
	listed = apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs?source=replay&project_id="+project.Id.String(), nil, as), http.StatusOK)
	assert.Len(t, listed.Data, 9)

	// A list has no contents of edits, and the verdict in words.
	page := apitest.Must[contract.ReplayPage](t, e.Do(t, http.MethodGet, "/v1/replays?run_id="+run.String(), nil, as), http.StatusOK)
	require.Len(t, page.Data, 1)
	summary := page.Data[0]
	assert.Equal(t, 1, summary.EditCount)
	require.Len(t, summary.Edits, 1)
	assert.JSONEq(t, `{"target":"all","set":"system_prompt"}`, string(summary.Edits[0]))
	assert.Equal(t, ended.Provider, summary.Provider)
	assert.Equal(t, ended.Estimate, summary.Estimate)
	assert.Equal(t, ended.Progress, summary.Progress)
	assert.Equal(t, ended.Cost, summary.Cost)
	assert.Equal(t, &contract.ReplayVerdictSummary{Verdict: "effect_attributable", Sentence: verdict.Sentence}, summary.Verdict)

	path := "/v1/replays/" + created.Id.String()
	assert.Equal(t, "Ask first", apitest.Must[contract.Replay](t, e.Do(t, http.MethodPatch, path, `{"name":"Ask first"}`, as), http.StatusOK).Name)
	assert.Equal(t, "Ask first", apitest.Must[contract.Replay](t, e.Do(t, http.MethodGet, path, nil, as), http.StatusOK).Name)
	apitest.WantProblem(t, e.Do(t, http.MethodPatch, path, `{"name":"a\u0007b"}`, as), http.StatusUnprocessableEntity)

	// The controls are used again.
	again := apitest.Must[contract.Replay](t, e.Do(t, http.MethodPost, "/v1/replays", fmt.Sprintf(
		`{"run_id":%q,"provider_id":%q,"edits":[{"target":"all","set":{"system_prompt":"You help customers with their orders. Be short."}}]}`, run, connection), as), http.StatusCreated)
	ended = replayed(t, e, as, again.Id)
	reused := 0
	for _, a := range ended.Attempts {
		if a.Reused {
			reused++
		}
	}
	assert.Equal(t, 5, reused)
	assert.Len(t, server.Requests(), 5*3+4+4*3)
	verdict = verdictOf(t, &ended)
	assert.Equal(t, "effect_attributable", verdict.Verdict)
	assert.Contains(t, verdict.Sentence, "changed the tokens", "a longer prompt has more, and the agent does the same")
}
