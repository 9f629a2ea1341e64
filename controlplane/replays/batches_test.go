package replays_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

const helping = `"edits":[{"target":"all","set":{"system_prompt":"Always help customers with their orders."}}],
	"outcome":{"name":"cancelled","type":"string_check","operation":"ilike","input":"{{sample.output_text}}","reference":"is cancelled"}`

// TestReplayBatch tests a cause: an edit over runs that failed, and over runs of the same name that were good.
func TestReplayBatch(t *testing.T) {
	t.Parallel()
	e, session, project, send := apitest.NewReplayEnv(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.AnswerHelpfully})
	connection := e.Connect(t, as, project.Id, "openai", server, "").Id
	var chosen []string
	for range 12 {
		run, td := apitest.RefusedTrace(t)
		send(td)
		chosen = append(chosen, fmt.Sprintf("%q", run))
	}
	for range 8 {
		_, td := apitest.AgentTrace(apitest.OrderAgent)
		send(td)
	}
	gone := fmt.Sprintf("%q", uuid.New())
	body := func(runs []string, more string) string {
		return fmt.Sprintf(`{"project_id":%q,"provider_id":%q,"run_ids":[%s],%s%s}`, project.Id, connection, strings.Join(runs, ","), helping, more)
	}

	plan := apitest.Must[contract.ReplayBatchPlan](t, e.Do(t, http.MethodPost, "/v1/replay-batches", body(append(chosen, gone), `,"good_runs":6,"plan":true`), as), http.StatusOK)
	assert.Empty(t, server.Requests(), "a plan calls nothing")
	assert.Equal(t, []string{"System prompt “Always help customers with their orders.” in all model calls"}, plan.Edits, "it holds for all runs")
	require.Len(t, plan.Runs, 19)
	assert.Equal(t, "run_deleted", plan.Runs[12].NotReplayable.Code)
	assert.EqualValues(t, (12*1+6*3)*4, plan.Calls)
	assert.InDelta(t, 0.493, *plan.Detectable, 0.001)
	assert.InDelta(t, 0.0005, *plan.AttainableP, 0.0001)
	require.NotNil(t, plan.DurationMs)

	created := apitest.Must[contract.ReplayBatch](t, e.Do(t, http.MethodPost, "/v1/replay-batches", body(append(chosen, gone), `,"good_runs":6`), as), http.StatusCreated)
	path := "/v1/replay-batches/" + created.Id.String()
	ended := e.BatchEnded(t, as, created.Id)
	require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
	assert.Equal(t, plan.Edits, ended.EditsText)
	result := ended.Result
	assert.EqualValues(t, "better", result.Chosen.Verdict)
	assert.Equal(t, map[string]int64{"repaired": 12, "not_replayable": 1}, result.Chosen.Runs)
	assert.EqualValues(t, 24, result.Chosen.Edited.Attempts)
	assert.InDelta(t, 24, result.Chosen.Edited.Sum, 0)
	assert.InDelta(t, 0, result.Chosen.Unedited.Sum, 0)
	assert.InDelta(t, 1, *result.Chosen.Difference, 1e-9)
	assert.Less(t, (*result.Chosen.Ci)[0], 0.95, "12 runs do not show that all others are repaired")
	assert.EqualValues(t, "cannot_tell", result.Good.Verdict)
	assert.Equal(t, map[string]int64{"kept": 6}, result.Good.Runs)
	assert.Contains(t, result.Sentence, "The edit repairs failed runs: with the edit 24 of 24 attempts end well, unedited 0 of 24")
	assert.Contains(t, result.Sentence, "Of good runs with the edit 12 of 12 attempts end well, unedited 12 of 12")
	assert.Contains(t, result.Sentence, "1 of 13 chosen runs cannot be replayed.")
	assert.Equal(t, 72, ended.Progress.Done)
	assert.EqualValues(t, 120, ended.Cost.Calls)

	repaired := apitest.Must[contract.ReplayBatchRunPage](t, e.Do(t, http.MethodGet, path+"/runs?outcome=repaired&limit=5", nil, as), http.StatusOK)
	require.Len(t, repaired.Data, 5)
	assert.True(t, repaired.HasMore)
	replay := "/v1/replays/" + repaired.Data[0].ReplayId.String()
	one := apitest.Must[contract.Replay](t, e.Do(t, http.MethodGet, replay, nil, as), http.StatusOK)
	assert.Equal(t, created.Id, *one.BatchId)
	assert.Len(t, one.Attempts, 4)
	apitest.WantProblem(t, e.Do(t, http.MethodDelete, replay, nil, as), http.StatusConflict)
	apitest.WantProblem(t, e.Do(t, http.MethodPost, replay+"/_actions/extend", `{"treatments":3}`, as), http.StatusConflict)
	query := "/v1/replays?project_id=" + project.Id.String()
	assert.Empty(t, apitest.Must[contract.ReplayPage](t, e.Do(t, http.MethodGet, query, nil, as), http.StatusOK).Data)
	assert.Len(t, apitest.Must[contract.ReplayPage](t, e.Do(t, http.MethodGet, query+"&batch_id="+created.Id.String(), nil, as), http.StatusOK).Data, 18)
	work := apitest.Must[contract.WorkPage](t, e.Do(t, http.MethodGet, "/v1/work?project_id="+project.Id.String(), nil, as), http.StatusOK)
	require.Len(t, work.Data, 1)
	assert.EqualValues(t, "replay_batch", work.Data[0].Kind)

	apitest.Must[contract.ReplayBatch](t, e.Do(t, http.MethodPost, path+"/_actions/extend", `{"treatments":3}`, as), http.StatusOK)
	more := e.BatchEnded(t, as, created.Id)
	assert.Equal(t, 90, more.Progress.Done)
	assert.EqualValues(t, 150, more.Cost.Calls, "what was made is not made again")
	assert.Greater(t, more.Result.Chosen.Confidence, ended.Result.Chosen.Confidence, "a second look has a smaller level")

	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path, nil, as).Code)
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM replays"))
}

// TestReplayBatchWithoutGrader has no outcomes: nobody knows whether runs are repaired.
func TestReplayBatchWithoutGrader(t *testing.T) {
	t.Parallel()
	e, session, project, send := apitest.NewReplayEnv(t)
	as := apitest.Cookie(session)
	e.Work(t)
	e.Connect(t, as, project.Id, "openai", provider.Start(t, provider.Options{Answer: apitest.AnswerHelpfully}), "")
	for range 3 {
		_, td := apitest.RefusedTrace(t)
		send(td)
	}
	create := func(more string) string {
		return fmt.Sprintf(`{"project_id":%q,"run_filter":"agent_name=orders",%s}`, project.Id, more)
	}
	created := apitest.Must[contract.ReplayBatch](t, e.Do(t, http.MethodPost, "/v1/replay-batches", create(`"edits":[{"target":"all","set":{"system_prompt":"Always help."}}]`), as), http.StatusCreated)
	ended := e.BatchEnded(t, as, created.Id)
	assert.Equal(t, "agent_name=orders", *ended.RunFilter)
	assert.EqualValues(t, "unknown", ended.Result.Chosen.Verdict)
	assert.Equal(t, map[string]int64{"unknown": 3}, ended.Result.Chosen.Runs)
	assert.Nil(t, ended.Result.Good)
	assert.Contains(t, ended.Result.Sentence, "Whether the edit repairs failed runs is unknown: the batch has no grader of outcomes.")

	for more, location := range map[string]string{
		`"edits":[{"target":{"span_id":"00000000000000aa"},"set":{"model":"m"}}]`:                               "body.edits[0].target.span_id",
		`"run_ids":["` + uuid.NewString() + `"],"edits":[{"target":"all","set":{"model":"m"}}]`:                 "body",
		`"good_runs":5,"provider_id":"` + uuid.NewString() + `","edits":[{"target":"all","set":{"model":"m"}}]`: "body.provider_id",
	} {
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/replay-batches", create(more), as), http.StatusUnprocessableEntity)
		require.NotNil(t, refused.Errors, more)
		assert.Equal(t, location, (*refused.Errors)[0].Location)
	}
	none := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/replay-batches",
		fmt.Sprintf(`{"project_id":%q,"run_filter":"agent_name=nobody","edits":[{"target":"all","set":{"model":"m"}}]}`, project.Id), as), http.StatusUnprocessableEntity)
	assert.Equal(t, "body.run_filter", (*none.Errors)[0].Location)
}

// TestReplayBatchIsInterrupted stops the worker in the middle, and then ends at its cap. Nothing is made twice.
func TestReplayBatchIsInterrupted(t *testing.T) {
	t.Parallel()
	e, session, project, send := apitest.NewReplayEnv(t)
	as := apitest.Cookie(session)
	e.Price(t, as, project.Id, apitest.AgentModel)
	var calls atomic.Int64
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		calls.Add(1)
		return apitest.AnswerHelpfully(q)
	}})
	connection := e.Connect(t, as, project.Id, "openai", server, `,"max_concurrency":2`).Id
	for range 10 {
		_, td := apitest.RefusedTrace(t)
		send(td)
	}
	stop := e.Work(t)
	body := fmt.Sprintf(`{"project_id":%q,"provider_id":%q,"run_filter":"agent_name=orders","max_cost_usd":10,%s}`, project.Id, connection, helping)
	created := apitest.Must[contract.ReplayBatch](t, e.Do(t, http.MethodPost, "/v1/replay-batches", body, as), http.StatusCreated)
	require.Eventually(t, func() bool { return calls.Load() >= 5 }, apitest.ReplayTime, time.Millisecond)
	stop()
	e.Work(t)
	ended := e.BatchEnded(t, as, created.Id)
	require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
	assert.Equal(t, map[string]int64{"repaired": 10}, ended.Result.Chosen.Runs)
	assert.LessOrEqual(t, calls.Load(), int64(42), "at most the calls that were under way are made again")
	assert.Equal(t, 40, e.Count(t, "SELECT count(*) FROM replay_attempts"))

	capped := strings.Replace(body, `"max_cost_usd":10`, `"max_cost_usd":0.002`, 1)
	created = apitest.Must[contract.ReplayBatch](t, e.Do(t, http.MethodPost, "/v1/replay-batches", capped, as), http.StatusCreated)
	ended = e.BatchEnded(t, as, created.Id)
	require.NotNil(t, ended.StopReason, "%s", ended.Result.Sentence)
	assert.EqualValues(t, "max_cost", *ended.StopReason)
	assert.LessOrEqual(t, ended.Cost.Usd, 0.002)
	assert.Less(t, ended.Progress.Done, ended.Progress.Total, "runs that it did not come to have no attempts")
	assert.Positive(t, ended.Result.Chosen.Runs["unknown"])
	assert.EqualValues(t, 10, ended.Result.Chosen.Runs["unknown"]+ended.Result.Chosen.Runs["repaired"], "%v", ended.Result.Chosen.Runs)

	cancelled := apitest.Must[contract.ReplayBatch](t, e.Do(t, http.MethodPost, "/v1/replay-batches", body, as), http.StatusCreated)
	path := "/v1/replay-batches/" + cancelled.Id.String()
	apitest.Must[contract.ReplayBatch](t, e.Do(t, http.MethodPost, path+"/_actions/cancel", nil, as), http.StatusOK)
	ended = e.BatchEnded(t, as, cancelled.Id)
	assert.EqualValues(t, "cancelled", ended.Status)
	apitest.Must[contract.ReplayBatch](t, e.Do(t, http.MethodPost, path+"/_actions/extend", `{}`, as), http.StatusOK)
	ended = e.BatchEnded(t, as, cancelled.Id)
	assert.EqualValues(t, "succeeded", ended.Status)
	assert.Equal(t, map[string]int64{"repaired": 10}, ended.Result.Chosen.Runs)
}

// TestReplayBatchFromRecordings: the recorded durations decide a shorter timeout, and the result says what follows from it, and where that ends.
func TestReplayBatchFromRecordings(t *testing.T) {
	t.Parallel()
	e, session, project, send := apitest.NewReplayEnv(t)
	as := apitest.Cookie(session)
	e.Work(t)
	for range 3 {
		_, td := apitest.AgentTrace(apitest.OrderAgent)
		send(td)
	}
	created := apitest.Must[contract.ReplayBatch](t, e.Do(t, http.MethodPost, "/v1/replay-batches", fmt.Sprintf(
		`{"project_id":%q,"run_filter":"agent_name=orders","edits":[{"target":{"kind":"tool","name":"find_order"},"set":{"timeout_ms":10}}]}`, project.Id), as), http.StatusCreated)
	assert.Equal(t, []string{"Timeout of 10 ms in calls of the tool find_order"}, created.EditsText)
	ended := e.BatchEnded(t, as, created.Id)
	require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
	assert.Zero(t, ended.Cost.Calls)
	assert.EqualValues(t, "unknown", ended.Result.Chosen.Verdict)
	effect, err := json.Marshal(ended.Result.Chosen.Effect)
	require.NoError(t, err)
	var read readVerdict
	require.NoError(t, json.Unmarshal(effect, &read))
	assert.Equal(t, "deterministic_effect", read.Verdict)
	assert.Contains(t, ended.Result.Sentence, "times out. What follows is not in the recording")
	assert.Contains(t, ended.Result.Sentence, "Replay with model calls.")
}
