package evaluations_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/provider"
)

// TestComparisonWhileItRuns has an item of each status, and one whose calls do not end.
func TestComparisonWhileItRuns(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	slow := make(chan struct{})
	answer := sync.OnceFunc(func() { close(slow) })
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		switch n := apitest.NumberIn(q); {
		case n == 1 && q.Repeat == 0:
			return &provider.Reply{Error: &provider.Error{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Message: "slow down"}, Header: http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"10"}}}
		case n == 3 && q.Model == "model-b" && q.Repeat == 0:
			return &provider.Reply{Error: &provider.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: "no"}}
		case n == 4:
			<-slow
		}
		return apitest.Answering(q)
	}})
	t.Cleanup(answer)
	made := e.Connect(t, as, project.Id, "openai", server, "")
	items := apitest.Questions(5)
	items[2] = `{"key":"q2","input":{"question":"number 2"}}` // nothing to compare with
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", items...)
	started := e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, ""))
	assert.Nil(t, started.Progress.CallsInFlight)
	var running contract.Comparison
	require.Eventually(t, func() bool {
		e.Clock.Advance(20 * time.Millisecond)
		running = comparison(t, e, as, started.Id)
		return running.Accounting.Pending == 1 && running.Progress.CallsInFlight != nil && *running.Progress.CallsInFlight == 2
	}, apitest.EvaluationTime, 50*time.Millisecond)
	requireAdditive(t, &running)
	assert.EqualValues(t, 2, running.Accounting.Scored)
	assert.EqualValues(t, 1, running.Accounting.TargetFailed)
	assert.EqualValues(t, 1, running.Accounting.JudgeFailed)
	assert.NotNil(t, running.Progress.LastRateLimitedAt)
	for status, keys := range map[string]string{"scored": "q0 q1", "judge_failed": "q2", "target_failed": "q3", "pending": "q4", "skipped": ""} {
		var found []string
		for _, item := range comparisonItems(t, e, as, started.Id, "?status="+status).Data {
			found = append(found, *item.Key)
		}
		assert.ElementsMatch(t, strings.Fields(keys), found, status)
	}
	answer()
	ended := compared(t, e, as, started.Id)
	assert.EqualValues(t, 3, ended.Accounting.Scored)
	assert.Nil(t, ended.Progress.CallsInFlight)
	assert.Nil(t, ended.Progress.LastRateLimitedAt)

	// Only what is made again is pending again.
	again := apitest.Must[contract.Comparison](t, e.Do(t, http.MethodPost, "/v1/comparisons/"+ended.Id.String()+"/_actions/resume", `{"retry_failed":true}`, as), http.StatusOK)
	assert.EqualValues(t, 1, again.Accounting.Pending)
	assert.EqualValues(t, 3, again.Accounting.Scored)
	assert.EqualValues(t, 4, compared(t, e, as, ended.Id).Accounting.Scored)
}

// TestEvalRunWhileItRuns replaces results, and lists long ones.
func TestEvalRunWhileItRuns(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(3)...)
	run := e.BeginEvalRun(t, as, project.Id, dataset.Id, `,"graders":[`+apitest.ExactGrader+`]`)
	path := "/v1/eval-runs/" + run.Id.String()
	long := `"` + strings.Repeat(`\u00e9\ud83d\ude00\u0000`, 50_000) + `"`
	e.SendResults(t, as, &run, func(item *contract.EvalRunItem, _ int) string {
		return map[string]string{"q0": `"output":` + long + `,"cost_usd":1000000`, "q1": `"error":{"code":"x"},"cost_usd":0.5`}[*item.Key]
	})
	read := func() contract.EvalRun {
		return apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodGet, path, nil, as), http.StatusOK)
	}
	counted := read()
	assert.EqualValues(t, 1, counted.Accounting.Scored)
	assert.EqualValues(t, 1, counted.Accounting.TargetFailed)
	assert.EqualValues(t, 1, counted.Accounting.Pending)
	assert.InDelta(t, 1_000_000.5, *counted.CostUsd, 1e-6)
	assert.Zero(t, counted.CostUnknownResults)
	scored := apitest.Must[contract.EvalRunItemPage](t, e.Do(t, http.MethodGet, path+"/items?status=scored", nil, as), http.StatusOK)
	require.Len(t, scored.Data, 1)
	listed := scored.Data[0].Repeats[0].Result
	assert.True(t, listed.OutputTruncated)
	assert.Less(t, len(*listed.Output), 3*4000)
	assert.Contains(t, string(*listed.Output), "\u00e9"+"\U0001F600")
	whole := apitest.Must[contract.EvalRunItem](t, e.Do(t, http.MethodGet, path+"/items/"+scored.Data[0].ItemId.String(), nil, as), http.StatusOK)
	assert.Equal(t, long, string(*whole.Repeats[0].Result.Output))
	assert.False(t, whole.Repeats[0].Result.OutputTruncated)
	apitest.WantProblem(t, e.Do(t, http.MethodGet, path+"/items/"+apitest.NoSuchID, nil, as), http.StatusNotFound)

	// Another result replaces the status and the cost.
	body := fmt.Sprintf(`{"replace":true,"items":[{"item_id":%q,"repeat":1,"error":{"code":"x"}}]}`, scored.Data[0].ItemId)
	apitest.Must[contract.EvalRunAdded](t, e.Do(t, http.MethodPost, path+"/results", body, as), http.StatusOK)
	counted = read()
	assert.EqualValues(t, 2, counted.Accounting.TargetFailed)
	assert.InDelta(t, 0.5, *counted.CostUsd, 1e-9)
	assert.EqualValues(t, 1, counted.CostUnknownResults)
	apitest.Must[contract.EvalRunFinished](t, e.Do(t, http.MethodPost, path+"/_actions/finish", nil, as), http.StatusOK)
	late := apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"/results", body, as), http.StatusConflict)
	assert.Equal(t, "evaluation_finished", late.Code)
	assert.Contains(t, *late.Detail, "Start another one")
}

// TestEvalRunsDoNotWaitForComparisons has as many comparisons as a process works on, whose calls do not end.
func TestEvalRunsDoNotWaitForComparisons(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	slow := make(chan struct{})
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		<-slow
		return apitest.Answering(q)
	}})
	t.Cleanup(func() { close(slow) })
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(1)...)
	const atOnce = 16
	for range atOnce + 2 {
		e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, ""))
	}
	running := func() int {
		return len(apitest.Must[contract.ComparisonPage](t, e.Do(t, http.MethodGet, "/v1/comparisons?status=running", nil, as), http.StatusOK).Data)
	}
	require.Eventually(t, func() bool { return running() == atOnce }, apitest.EvaluationTime, 50*time.Millisecond)
	run := e.BeginEvalRun(t, as, project.Id, dataset.Id, "")
	finishEvalRun(t, e, as, run.Id)
	assert.Equal(t, atOnce, running())
	queued := apitest.Must[contract.ComparisonPage](t, e.Do(t, http.MethodGet, "/v1/comparisons?status=queued", nil, as), http.StatusOK).Data
	require.Len(t, queued, 2)
	apitest.Must[contract.Comparison](t, e.Do(t, http.MethodPost, "/v1/comparisons/"+queued[0].Id.String()+"/_actions/cancel", nil, as), http.StatusOK)
	compared(t, e, as, queued[0].Id)
}

// TestCancelledComparisonKeepsAnswers cancels while answers wait to be stored: they are paid, and are kept.
func TestCancelledComparisonKeepsAnswers(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	slow := make(chan struct{})
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		if apitest.NumberIn(q) == 4 {
			<-slow // until the call is cancelled
		}
		return apitest.Answering(q)
	}})
	t.Cleanup(func() { close(slow) })
	made := e.Connect(t, as, project.Id, "openai", server, `,"max_concurrency":4`)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(5)...)
	// Nothing is stored while the table is locked.
	locked, released, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	release := sync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	go func() {
		done <- pgx.BeginFunc(t.Context(), e.DB, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), "LOCK TABLE evaluation_outputs IN EXCLUSIVE MODE")
			close(locked)
			<-released
			return err
		})
	}()
	<-locked
	started := e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, ""))
	succeeded := func() (n int) {
		require.NoError(t, e.DB.QueryRow(t.Context(), "SELECT count(*) FROM provider_calls WHERE status = 'succeeded'").Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return succeeded() == 8 }, apitest.EvaluationTime, 50*time.Millisecond)
	assert.Zero(t, comparison(t, e, as, started.Id).Progress.Done)
	apitest.Must[contract.Comparison](t, e.Do(t, http.MethodPost, "/v1/comparisons/"+started.Id.String()+"/_actions/cancel", nil, as), http.StatusOK)
	release()
	require.NoError(t, <-done)
	ended := compared(t, e, as, started.Id)
	assert.Equal(t, contract.EvaluationStatusCancelled, ended.Status)
	assert.EqualValues(t, 8, ended.Progress.Done)
	assert.EqualValues(t, 4, ended.Accounting.Scored)
	assert.EqualValues(t, 1, ended.Accounting.Pending)
}

// TestComparisonOutlivesAnOutage freezes PostgreSQL for longer than a statement may take, while calls are under way: none is made twice.
func TestComparisonOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	database, name := engines.PostgresServer(t)
	e := apitest.NewOn(t, database.URL(name), apitest.AbsentClickHouse)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	settling, stop := context.WithCancel(t.Context())
	var settled sync.WaitGroup
	settled.Go(func() { e.Providers.Run(settling) })
	t.Cleanup(func() { stop(); settled.Wait() })
	frozen := make(chan struct{})
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		<-frozen
		return apitest.Answering(q)
	}})
	answer := sync.OnceFunc(func() { close(frozen) })
	t.Cleanup(answer)
	made := e.Connect(t, as, project.Id, "openai", server, `,"max_concurrency":8`)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(40)...)
	started := e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, ""))
	inFlight := func() (n int) {
		require.NoError(t, e.DB.QueryRow(t.Context(), "SELECT count(*) FROM provider_calls WHERE status = 'running'").Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return inFlight() == 8 }, apitest.EvaluationTime, 50*time.Millisecond)
	database.Freeze(t)
	answer() // during the outage
	// No call's end can be stored, and then nothing of what it said: a request that is answered later waited as long.
	require.Eventually(t, func() bool { return strings.Count(e.Log.String(), "store the end of a model call") == 8 }, apitest.EvaluationTime, 50*time.Millisecond)
	require.Equal(t, http.StatusServiceUnavailable, e.Do(t, http.MethodGet, "/v1/comparisons/"+started.Id.String(), nil, as).Code)
	database.Thaw(t)
	require.Eventually(t, func() bool {
		return e.Do(t, http.MethodGet, "/v1/comparisons/"+started.Id.String(), nil, as).Code == http.StatusOK
	}, apitest.EvaluationTime, 50*time.Millisecond)
	ended := compared(t, e, as, started.Id)
	assert.Equal(t, contract.EvaluationStatusSucceeded, ended.Status, "%+v", ended.Error)
	assert.EqualValues(t, 40, ended.Accounting.Scored)
	requests := server.Requests()
	assert.Len(t, requests, 80)
	for _, request := range requests {
		assert.Zero(t, request.Repeat, "%s of %s was asked again", request.Last(), request.Model)
	}
}
