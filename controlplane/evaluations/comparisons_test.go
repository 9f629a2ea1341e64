package evaluations_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

func comparison(t *testing.T, e *apitest.Env, as apitest.Option, id uuid.UUID) contract.Comparison {
	t.Helper()
	return apitest.Must[contract.Comparison](t, e.Do(t, http.MethodGet, "/v1/comparisons/"+id.String(), nil, as), http.StatusOK)
}

// compared waits for the summary of a comparison.
func compared(t *testing.T, e *apitest.Env, as apitest.Option, id uuid.UUID) (ended contract.Comparison) {
	t.Helper()
	if !assert.Eventually(t, func() bool {
		e.Clock.Advance(20 * time.Millisecond) // a connection waits after a 429
		ended = comparison(t, e, as, id)
		return ended.Summary != nil
	}, apitest.EvaluationTime, 50*time.Millisecond) {
		require.FailNow(t, "no summary", "%s: %+v, %+v", ended.Status, ended.Progress, ended.Error)
	}
	requireAdditive(t, &ended)
	return ended
}

// requireAdditive requires that the counts of a comparison add up.
func requireAdditive(t *testing.T, c *contract.Comparison) {
	t.Helper()
	a := &c.Accounting
	require.Equal(t, a.Items, a.Scored+a.TargetFailed+a.JudgeFailed+a.Skipped+a.Pending, "%+v", a)
	require.Equal(t, c.Progress.Total, a.Outputs+a.OutputsFailed+a.OutputsSkipped+a.OutputsPending, "%+v", a)
	require.Equal(t, c.Progress.Done, a.Outputs+a.OutputsFailed+a.OutputsSkipped)
	require.Equal(t, c.Progress.Failed, a.OutputsFailed)
	require.Equal(t, c.Progress.Skipped, a.OutputsSkipped)
	require.Equal(t, c.Dataset.ItemCount, a.Items)
}

func comparisonItems(t *testing.T, e *apitest.Env, as apitest.Option, id uuid.UUID, query string) contract.ComparisonItemPage {
	t.Helper()
	return apitest.Must[contract.ComparisonItemPage](t, e.Do(t, http.MethodGet, "/v1/comparisons/"+id.String()+"/items"+query, nil, as), http.StatusOK)
}

func metricOf(t *testing.T, c *contract.Comparison, name string) contract.ComparisonMetric {
	t.Helper()
	for _, m := range c.Summary.Metrics {
		if m.Name == name {
			return m
		}
	}
	require.Fail(t, "no metric "+name)
	return contract.ComparisonMetric{}
}

func TestComparison(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Answering})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	e.Price(t, as, project.Id, "model-a")
	e.Price(t, as, project.Id, "model-b")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(60)...)

	body := apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"repeats":2,"max_cost_usd":1,"name":"B against A"`)
	estimate := apitest.Must[contract.EvaluationEstimate](t, e.Do(t, http.MethodPost, "/v1/comparisons/_actions/estimate", body, as), http.StatusOK)
	assert.EqualValues(t, 60, estimate.Items)
	assert.EqualValues(t, 240, estimate.Calls)
	require.NotNil(t, estimate.CostHighUsd)
	assert.Less(t, *estimate.CostLowUsd, *estimate.CostHighUsd)

	started := e.Compare(t, as, body)
	assert.Equal(t, contract.EvaluationStatusQueued, started.Status)
	requireAdditive(t, &started)
	ended := compared(t, e, as, started.Id)
	assert.Equal(t, contract.EvaluationStatusSucceeded, ended.Status)
	assert.Nil(t, ended.StopReason)
	assert.EqualValues(t, 60, ended.Accounting.Scored)
	assert.EqualValues(t, 240, ended.Accounting.Outputs)
	assert.Equal(t, contract.Pilot, ended.Estimate.Basis)
	assert.Positive(t, ended.Cost.Usd)
	assert.EqualValues(t, 240, ended.Cost.Calls)
	assert.Zero(t, ended.Cost.UnknownCalls)
	assert.InDelta(t, ended.Cost.Usd, sumOf(t, e, as, started.Id), 1e-9)

	correct := metricOf(t, &ended, "correct")
	assert.InDelta(t, 40.0/60, *correct.A.Mean, 1e-9)
	assert.InDelta(t, 54.0/60, *correct.B.Mean, 1e-9)
	assert.InDelta(t, 14.0/60, *correct.Difference.Estimate, 1e-9)
	assert.Equal(t, contract.EvaluationVerdictBBetter, correct.Verdict)
	assert.EqualValues(t, 18, correct.Improved, "multiples of 3 but not of 30")
	assert.EqualValues(t, 4, correct.Regressed, "10, 20, 40, 50")
	assert.EqualValues(t, 38, correct.Unchanged)
	assert.Nil(t, correct.IntentionToTreat)
	assert.Contains(t, ended.Summary.Sentence, "is better than A (model-a) on correct: +23.3 points")

	regressed := comparisonItems(t, e, as, started.Id, "?outcome=regressed")
	require.Len(t, regressed.Data, 4)
	for _, item := range regressed.Data {
		require.Len(t, item.Repeats, 2)
		first := item.Repeats[0]
		assert.Equal(t, `"unknown"`, string(*first.B.Output))
		assert.Equal(t, item.ReferenceOutput, first.A.Output)
		assert.NotNil(t, first.A.RunId)
		assert.NotNil(t, first.A.DurationMs)
		assert.True(t, *first.A.Scores[0].Pass)
		assert.False(t, *first.B.Scores[0].Pass)
		alone := apitest.Must[contract.ComparisonItem](t, e.Do(t, http.MethodGet, "/v1/comparisons/"+started.Id.String()+"/items/"+item.ItemId.String(), nil, as), http.StatusOK)
		assert.NotNil(t, alone.Repeats[0].A.Message)
	}
	assert.Empty(t, comparisonItems(t, e, as, started.Id, "?status=target_failed").Data)

	// The sides take turns: of the first calls, no side has more than one more.
	counted := map[string]int{}
	for _, request := range server.Requests() {
		counted[request.Model]++
	}
	assert.Equal(t, map[string]int{"model-a": 120, "model-b": 120}, counted)

	path := "/v1/comparisons/" + started.Id.String()
	report := e.Do(t, http.MethodGet, path+"/report?format=markdown", nil, as)
	require.Equal(t, http.StatusOK, report.Code, report.Body.String())
	assert.Contains(t, report.Body.String(), "60 items: 60 scored, 0 without an output")
	assert.Contains(t, report.Body.String(), ": regressed (-1)")
	junit := e.Do(t, http.MethodGet, path+"/report?format=junit", nil, as)
	assert.Contains(t, junit.Body.String(), `tests="61" failures="0" errors="0" skipped="0"`, "the verdict is no failure, and single items are none")
	assert.Contains(t, junit.Body.String(), `<property name="outcome" value="regressed">`)
	summarized := apitest.Must[contract.EvaluationReport](t, e.Do(t, http.MethodGet, path+"/report?token_budget=500", nil, as), http.StatusOK)
	assert.EqualValues(t, 4, int64(len(summarized.Items))+summarized.ItemsLeftOut)

	lines := strings.Split(strings.TrimSpace(e.Do(t, http.MethodGet, path+"/export", nil, as).Body.String()), "\n")
	assert.Len(t, lines, 240)
	assert.True(t, json.Valid([]byte(lines[0])))
	assert.Len(t, strings.Split(strings.TrimSpace(e.Do(t, http.MethodGet, path+"/export?format=csv", nil, as).Body.String()), "\n"), 241)

	// Again, with the same order.
	again := apitest.Must[contract.Comparison](t, e.Do(t, http.MethodPost, path+"/_actions/rerun", nil, as), http.StatusCreated)
	assert.Equal(t, metricOf(t, &ended, "correct"), metricOf(t, new(compared(t, e, as, again.Id)), "correct"))
	assert.Equal(t, comparisonItems(t, e, as, started.Id, "").Data[0].ItemId, comparisonItems(t, e, as, again.Id, "").Data[0].ItemId)

	page := apitest.Must[contract.ComparisonPage](t, e.Do(t, http.MethodGet, "/v1/comparisons?dataset_id="+dataset.Id.String(), nil, as), http.StatusOK)
	assert.Len(t, page.Data, 2)
	assert.Equal(t, again.Id, page.Data[0].Id, "the newest first")
	assert.Equal(t, "dataset_in_use", apitest.WantProblem(t, e.Do(t, http.MethodDelete, "/v1/datasets/"+dataset.Id.String(), nil, as), http.StatusConflict).Code)
	renamed := apitest.Must[contract.Comparison](t, e.Do(t, http.MethodPatch, path, `{"name":"other"}`, as), http.StatusOK)
	assert.Equal(t, "other", renamed.Name)
	assert.Equal(t, "nothing_missing", apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"/_actions/resume", `{}`, as), http.StatusConflict).Code)
	assert.Equal(t, "evaluation_finished", apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"/_actions/cancel", nil, as), http.StatusConflict).Code)
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path, nil, as).Code)
	apitest.WantProblem(t, e.Do(t, http.MethodGet, path, nil, as), http.StatusNotFound)
}

// sumOf returns the sum of the costs of all outputs.
func sumOf(t *testing.T, e *apitest.Env, as apitest.Option, id uuid.UUID) (sum float64) {
	t.Helper()
	for _, item := range comparisonItems(t, e, as, id, "?limit=500").Data {
		for _, repeat := range item.Repeats {
			for _, output := range []*contract.EvaluationOutput{repeat.A, repeat.B} {
				if output != nil && output.CostUsd != nil {
					sum += *output.CostUsd
				}
			}
		}
	}
	return sum
}

// TestEvaluationsNameNothingForeign names what another tenant has, and what nobody has, within the bodies of evaluations.
func TestEvaluationsNameNothingForeign(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{})
	mine := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(2)...)
	other := apitest.Cookie(e.AddMember(t, "bob@example.com", "owner", uuid.Nil))
	theirProject := apitest.Must[contract.ProjectPage](t, e.Do(t, http.MethodGet, "/v1/projects", nil, other), http.StatusOK).Data[0].Id
	theirs := e.Connect(t, other, theirProject, "openai", server, "")
	comparison, evalRun, item := e.FillEvaluations(t, other, theirProject, theirs.Id, "theirs")
	prompt := e.CreatePrompt(t, other, theirProject, "theirs", "one")
	messages := `"messages":[{"role":"user","content":"{{question}}"}],"model_config":{"model":"text"}`
	run := e.BeginEvalRun(t, as, project.Id, dataset.Id, "")
	judged := fmt.Sprintf(`{"project_id":%q,"name":"x","dataset_id":%q,`, project.Id, dataset.Id)
	ruled := fmt.Sprintf(`{"project_id":%q,"name":"x","run_filter":"","sample_rate":1,"max_cost_usd_per_day":1,`, project.Id)
	for _, test := range []struct{ path, body, foreign string }{
		{"/v1/comparisons", apitest.ComparisonBody(project.Id, dataset.Id, mine.Id, `,"a":{"provider_id":"%s",`+messages+`}`), theirs.Id.String()},
		{"/v1/comparisons", apitest.ComparisonBody(project.Id, dataset.Id, mine.Id, fmt.Sprintf(`,"a":{"provider_id":%q,"model_config":{"model":"text"},"prompt":{"id":"%%s"}}`, mine.Id)), prompt.Id.String()},
		{"/v1/comparisons", apitest.ComparisonBody(project.Id, dataset.Id, mine.Id, `,"b":{"eval_run_id":"%s"}`), evalRun},
		{"/v1/comparisons", apitest.ComparisonBody(project.Id, dataset.Id, mine.Id, `,"b":{"eval_run_id":"%s"}`), comparison},
		{"/v1/eval-runs/" + run.Id.String() + "/results", `{"items":[{"item_id":"%s","repeat":1,"output":1}]}`, item},
		{"/v1/eval-runs", fmt.Sprintf(`{"project_id":%q,"name":"x","dataset_id":%q,"target":{"external":true},"item_ids":["%%s"]}`, project.Id, dataset.Id), item},
		{"/v1/eval-runs", judged + `"target":{"outputs":"reference"},"panels":[{"name":"p","judges":[{"name":"j","provider_id":"%s","model_config":{"model":"text"},"ready_made":"helpfulness"}]}]}`, theirs.Id.String()},
		{"/v1/eval-runs", judged + fmt.Sprintf(`"target":{"outputs":"reference"},"panels":[{"name":"p","judges":[{"name":"j","provider_id":%q,"model_config":{"model":"text"},"scale":{"type":"binary"},"prompt":{"id":"%%s"}}]}]}`, mine.Id), prompt.Id.String()},
		{"/v1/eval-runs", judged + `"target":{"eval_run_id":"%s"}}`, evalRun},
		{"/v1/judges/_actions/test", fmt.Sprintf(`{"project_id":%q,"judge":{"name":"j","provider_id":"%%s","model_config":{"model":"text"},"ready_made":"helpfulness"},"samples":[{"output":"x"}]}`, project.Id), theirs.Id.String()},
		{"/v1/eval-rules", ruled + `"panels":[{"name":"p","judges":[{"name":"j","provider_id":"%s","model_config":{"model":"text"},"ready_made":"helpfulness"}]}]}`, theirs.Id.String()},
		{"/v1/eval-rules", ruled + fmt.Sprintf(`"panels":[{"name":"p","judges":[{"name":"j","provider_id":%q,"model_config":{"model":"text"},"scale":{"type":"binary"},"prompt":{"id":"%%s"}}]}]}`, mine.Id), prompt.Id.String()},
		{"/v1/gates/_actions/check", fmt.Sprintf(`{"candidate":"%%s","baseline":%q,"metric":"x","margin":0}`, run.Id), evalRun},
		{"/v1/gates/_actions/plan", fmt.Sprintf(`{"candidate":"%%s","baseline":%q,"metric":"x","margin":0}`, run.Id), evalRun},
	} {
		foreign := e.Do(t, http.MethodPost, test.path, fmt.Sprintf(test.body, test.foreign), as)
		unknown := e.Do(t, http.MethodPost, test.path, fmt.Sprintf(test.body, apitest.NoSuchID), as)
		assert.Equal(t, http.StatusUnprocessableEntity, foreign.Code, foreign.Body.String())
		assert.Equal(t, apitest.WithoutRequestID(unknown), apitest.WithoutRequestID(foreign))
	}
	// A key that may evaluate, but not read datasets or prompts, sends neither to a model.
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeEvalsWrite).Key)
	assert.Equal(t, "scope_missing", apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/comparisons", apitest.ComparisonBody(project.Id, dataset.Id, mine.Id, ""), key), http.StatusForbidden).Code)
}

// TestComparisonOfFaultyProvider compares while about a third of the calls fail in all ways: everything is counted, and nothing is guessed.
func TestComparisonOfFaultyProvider(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	faults := []provider.Reply{
		{Error: &provider.Error{Status: http.StatusInternalServerError, Type: "server_error", Message: "broken"}},
		{Error: &provider.Error{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Message: "slow down"}, Header: http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"10"}}},
		{Text: "cut off", Fault: provider.Cut, After: 1},
		{Text: "broken", Fault: provider.BadJSON, After: 1},
		{Refusal: "I can't assist with that."},
		{Error: &provider.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: "no"}},
	}
	lasting := func(n int) bool { return n%20 == 0 }
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		n := apitest.NumberIn(q)
		switch {
		case lasting(n): // the same at each attempt
			return new(faults[n/20%len(faults)])
		case n%10 < 3 && q.Repeat < 1: // it passes: after an error, the same call tries again; after a broken answer, which was paid, it does not
			return new(faults[n%4])
		}
		return apitest.Answering(q)
	}})
	made := e.Connect(t, as, project.Id, "openai", server, `,"max_concurrency":50`)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(120)...)
	ended := compared(t, e, as, e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, "")).Id)
	require.Equal(t, contract.EvaluationStatusSucceeded, ended.Status, "%+v", ended.Error)
	a := &ended.Accounting
	assert.Zero(t, a.Pending)
	assert.EqualValues(t, 97, a.Scored, "with the refusal, which is an output")
	assert.EqualValues(t, 5+18, a.TargetFailed, "5 last, and 18 answers were broken")
	assert.Equal(t, 2*a.TargetFailed, a.OutputsFailed)
	sum := int64(0)
	for _, reason := range a.Reasons {
		sum += reason.Count
	}
	assert.GreaterOrEqual(t, sum, a.OutputsFailed)
	correct := metricOf(t, &ended, "correct")
	assert.Equal(t, a.Scored, correct.Difference.N)
	require.NotNil(t, correct.IntentionToTreat)
	assert.EqualValues(t, 120, correct.IntentionToTreat.N)
	assert.Greater(t, ended.Cost.Calls, ended.Progress.Total, "repeated requests are counted")
	failed := comparisonItems(t, e, as, ended.Id, "?status=target_failed")
	require.Len(t, failed.Data, 23)
	assert.NotNil(t, failed.Data[0].Repeats[0].A.Error)
	lines := strings.Split(strings.TrimSpace(e.Do(t, http.MethodGet, "/v1/comparisons/"+ended.Id.String()+"/export", nil, as).Body.String()), "\n")
	assert.Len(t, lines, 240)

	// What failed is made again, and what did not is not.
	before := len(server.Requests())
	again := apitest.Must[contract.Comparison](t, e.Do(t, http.MethodPost, "/v1/comparisons/"+ended.Id.String()+"/_actions/resume", `{"retry_failed":true}`, as), http.StatusOK)
	assert.EqualValues(t, 240-46, again.Progress.Done)
	retried := compared(t, e, as, ended.Id)
	assert.EqualValues(t, 10, retried.Accounting.OutputsFailed)
	assert.LessOrEqual(t, len(server.Requests())-before, 36+10*5)
}

// TestReportOfHostileNames has a table whose names try to leave their cell, and a cost that is small, but not 0.
func TestReportOfHostileNames(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: func(*provider.Request) *provider.Reply {
		return &provider.Reply{Text: "1", Usage: &provider.Usage{Input: 1, Output: 1}}
	}})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	e.Price(t, as, project.Id, "model-a")
	e.Price(t, as, project.Id, "model-b")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(1)...)
	hostile := strings.Replace(apitest.ExactGrader, `"correct"`, `"a\\| b | <b>&lt;b&gt; _c_"`, 1)
	ended := compared(t, e, as, e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"graders":[`+hostile+`]`)).Id)
	text := e.Do(t, http.MethodGet, "/v1/comparisons/"+ended.Id.String()+"/report?format=markdown", nil, as).Body.String()
	assert.Contains(t, text, `| a\\\| b \| &lt;b>&amp;lt;b&amp;gt; _c_ | 0 | 0 |`)
	assert.InDelta(t, 0.000022, ended.Cost.Usd, 1e-12)
	assert.Contains(t, text, "Cost: $0.000022 in 2 requests")
}

func TestComparisonEndsAtItsCap(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: func(*provider.Request) *provider.Reply {
		return &provider.Reply{Text: "1", Usage: &provider.Usage{Input: 100, Output: 20}}
	}})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(40)...)
	unpriced := e.Do(t, http.MethodPost, "/v1/comparisons", apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"max_cost_usd":1`), as)
	assert.Equal(t, "price_unknown", apitest.WantProblem(t, unpriced, http.StatusUnprocessableEntity).Code)
	e.Price(t, as, project.Id, "model-a")
	e.Price(t, as, project.Id, "model-b")
	// A call costs $0.0003, and reserves more.
	ended := compared(t, e, as, e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"max_cost_usd":0.02`)).Id)
	assert.Equal(t, contract.EvaluationStatusSucceeded, ended.Status)
	require.NotNil(t, ended.StopReason)
	assert.Equal(t, contract.ComparisonStopReasonMaxCost, *ended.StopReason)
	assert.LessOrEqual(t, ended.Cost.Usd+ended.Cost.UnknownAtMostUsd, 0.02)
	assert.Greater(t, ended.Cost.Usd, 0.01, "what a call does not use comes back")
	assert.True(t, ended.Summary.Partial)
	assert.Positive(t, ended.Accounting.Pending)
	apitest.Must[contract.Comparison](t, e.Do(t, http.MethodPost, "/v1/comparisons/"+ended.Id.String()+"/_actions/resume", `{"max_cost_usd":1}`, as), http.StatusOK)
	whole := compared(t, e, as, ended.Id)
	assert.Nil(t, whole.StopReason)
	assert.Zero(t, whole.Accounting.Pending)
	assert.EqualValues(t, 80, whole.Cost.Calls, "no call was made twice")

	// The budget of the connection ends it, too.
	apitest.Must[contract.Provider](t, e.Do(t, http.MethodPatch, "/v1/providers/"+made.Id.String(), `{"monthly_budget_usd":0.03}`, as), http.StatusOK)
	spent := compared(t, e, as, e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, "")).Id)
	require.NotNil(t, spent.StopReason)
	assert.Equal(t, contract.ComparisonStopReasonBudget, *spent.StopReason)
}

func TestComparisonIsCancelledAndResumed(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	slow := make(chan struct{})
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		if apitest.NumberIn(q) >= 10 {
			<-slow
		}
		return apitest.Answering(q)
	}})
	made := e.Connect(t, as, project.Id, "openai", server, `,"max_concurrency":4`)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(20)...)
	started := e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, ""))
	path := "/v1/comparisons/" + started.Id.String()
	require.Eventually(t, func() bool { return len(server.Requests()) >= 4 }, apitest.EvaluationTime, 50*time.Millisecond)
	assert.Equal(t, "evaluation_running", apitest.WantProblem(t, e.Do(t, http.MethodDelete, path, nil, as), http.StatusConflict).Code)
	assert.Equal(t, "evaluation_running", apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"/_actions/resume", "{}", as), http.StatusConflict).Code)
	for range 2 {
		apitest.Must[contract.Comparison](t, e.Do(t, http.MethodPost, path+"/_actions/cancel", nil, as), http.StatusOK)
	}
	cancelled := compared(t, e, as, started.Id)
	assert.Equal(t, contract.EvaluationStatusCancelled, cancelled.Status)
	assert.Positive(t, cancelled.Accounting.Pending)
	assert.GreaterOrEqual(t, cancelled.Cost.Calls, int64(4))
	var running int
	require.NoError(t, e.DB.QueryRow(t.Context(), "SELECT count(*) FROM provider_calls WHERE status = 'running'").Scan(&running))
	assert.Zero(t, running, "the cost has the end of every call")
	stored, before := cancelled.Progress.Done, int64(len(server.Requests()))
	close(slow)
	apitest.Must[contract.Comparison](t, e.Do(t, http.MethodPost, path+"/_actions/resume", "{}", as), http.StatusOK)
	whole := compared(t, e, as, started.Id)
	assert.Equal(t, contract.EvaluationStatusSucceeded, whole.Status)
	assert.EqualValues(t, 20, whole.Accounting.Scored)
	// The attempt that was cancelled may have begun a few more calls before it heard of that.
	assert.LessOrEqual(t, int64(len(server.Requests())), before+40-stored+8, "what is stored is not made again")
}

func TestComparisonOfIncompatibleItems(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Answering})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	items := append(apitest.Questions(6), `{"key":"other","input":{"text":"number 7"},"reference_output":"7"}`, `{"key":"plain","input":"number 8"}`)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", items...)
	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/comparisons", apitest.ComparisonBody(project.Id, dataset.Id, made.Id, ""), as), http.StatusUnprocessableEntity)
	assert.Equal(t, "items_incompatible", refused.Code)
	assert.Equal(t, "body.a.variables_map.question", (*refused.Errors)[0].Location)
	assert.Contains(t, (*refused.Errors)[0].Message, "is missing in 2 items, such as other, plain")
	estimate := apitest.Must[contract.EvaluationEstimate](t, e.Do(t, http.MethodPost, "/v1/comparisons/_actions/estimate", apitest.ComparisonBody(project.Id, dataset.Id, made.Id, ""), as), http.StatusOK)
	assert.EqualValues(t, 2, estimate.IncompatibleItems)
	assert.EqualValues(t, 12, estimate.Calls)
	assert.Equal(t, []string{"model-a", "model-b"}, estimate.UnpricedModels)
	assert.Nil(t, estimate.CostHighUsd)

	ended := compared(t, e, as, e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"on_incompatible":"skip","repeats":2`)).Id)
	assert.EqualValues(t, 2, ended.Accounting.Skipped)
	assert.EqualValues(t, 8, ended.Accounting.OutputsSkipped)
	assert.EqualValues(t, 6, ended.Accounting.Scored)
	skipped := comparisonItems(t, e, as, ended.Id, "?status=skipped")
	require.Len(t, skipped.Data, 2)
	assert.Contains(t, *skipped.Data[0].Reason, "question is missing")

	// A map says where the values are; the whole input is a variable, too.
	side := func(text, mapped string) string {
		return fmt.Sprintf(`{"provider_id":%q,"messages":[{"role":"user","content":%q}],"model_config":{"model":"model-b"},"variables_map":%s}`, made.Id, text, mapped)
	}
	body := apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"a":`+side("{{input}}", `{}`)+`,"b":`+side("{{key}}", `{"key":"reference_output"}`))
	mapped := apitest.Must[contract.EvaluationEstimate](t, e.Do(t, http.MethodPost, "/v1/comparisons/_actions/estimate", body, as), http.StatusOK)
	assert.Zero(t, mapped.IncompatibleItems, "%+v", mapped.Missing)
	wrong := apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"a":`+side("{{x}}", `{"x":"output.text"}`))
	assert.Equal(t, "body.a.variables_map.x", (*apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/comparisons", wrong, as), http.StatusUnprocessableEntity).Errors)[0].Location)
}

func TestComparisonStopsEarly(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		if q.Model == "model-a" {
			return &provider.Reply{Text: "unknown"}
		}
		return apitest.Answering(q)
	}})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(100)...)
	ended := compared(t, e, as, e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"stop_early":true`)).Id)
	require.NotNil(t, ended.StopReason)
	assert.Equal(t, contract.ComparisonStopReasonDecided, *ended.StopReason)
	assert.InDelta(t, 0.4, *ended.Summary.StoppedAt, 1e-9)
	assert.EqualValues(t, 60, ended.Accounting.Pending)
	correct := metricOf(t, &ended, "correct")
	assert.Equal(t, contract.EvaluationVerdictBBetter, correct.Verdict)
	assert.Greater(t, correct.Difference.Confidence, 0.99)
	assert.Len(t, server.Requests(), 80)
}

// TestComparisonWithoutFailedOutputs has a side B that fails just where it would be wrong. It is not called better for that.
func TestComparisonWithoutFailedOutputs(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		n := apitest.NumberIn(q)
		switch {
		case q.Model == "model-b" && n%4 > 1:
			return &provider.Reply{Error: &provider.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: "no"}}
		case q.Model == "model-a" && n%2 == 1:
			return &provider.Reply{Text: "unknown"}
		}
		return &provider.Reply{Text: strconv.Itoa(n)}
	}})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(80)...)
	ended := compared(t, e, as, e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, "")).Id)
	correct := metricOf(t, &ended, "correct")
	assert.InDelta(t, 0.5, *correct.Difference.Estimate, 1e-9)
	assert.Less(t, *correct.Difference.PAdjusted, 0.001)
	assert.InDelta(t, 0, *correct.IntentionToTreat.Estimate, 1e-9)
	assert.Equal(t, contract.EvaluationVerdictInconclusive, correct.Verdict)
	assert.Contains(t, ended.Summary.Sentence, "Whether B differs from A on correct cannot be told: +50.0 points")
	assert.Contains(t, ended.Summary.Sentence, "40 items; with failed outputs as 0 0.0 points")
}

// TestComparisonThatNobodyCanFinish has a model that does not exist. It does not ask for it hundreds of times.
func TestComparisonThatNobodyCanFinish(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(200)...)
	body := apitest.ComparisonBody(project.Id, dataset.Id, made.Id, fmt.Sprintf(`,"a":{"provider_id":%q,"messages":[{"role":"user","content":"{{question}}"}],"model_config":{"model":"error-404"}}`, made.Id))
	ended := compared(t, e, as, e.Compare(t, as, body).Id)
	assert.Equal(t, contract.EvaluationStatusFailed, ended.Status)
	require.NotNil(t, ended.Error)
	assert.Equal(t, "model_not_found", ended.Error.Code)
	assert.Less(t, len(server.Requests()), 150)
	assert.Positive(t, ended.Accounting.Pending)
}

func TestComparisonOfToolCalls(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		if q.Model == "model-a" {
			return &provider.Reply{Text: "It is sunny."}
		}
		return &provider.Reply{ToolCalls: []provider.ToolCall{{Name: "get_weather", Arguments: `{"city":"Oslo"}`}}}
	}})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "weather", `{"input":{"question":"number 1"}}`, `{"input":{"question":"number 2"}}`)
	side := func(model string) string {
		return fmt.Sprintf(`{"provider_id":%q,"messages":[{"role":"user","content":"{{question}}"}],"tools":[%s],"model_config":{"model":%q}}`, made.Id, apitest.WeatherTool, model)
	}
	body := apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"a":`+side("model-a")+`,"b":`+side("model-b")+`,"graders":[{"name":"calls","type":"tool_use","tools":["get_weather"],"min":1}]`)
	ended := compared(t, e, as, e.Compare(t, as, body).Id)
	require.Equal(t, contract.EvaluationStatusSucceeded, ended.Status)
	calls := metricOf(t, &ended, "calls")
	assert.InDelta(t, 0, *calls.A.Mean, 0)
	assert.InDelta(t, 1, *calls.B.Mean, 0)
	item := comparisonItems(t, e, as, ended.Id, "").Data[0]
	assert.Nil(t, item.Repeats[0].B.Output)
}

func TestGradeSample(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	grade := func(graders, sample string) string {
		return fmt.Sprintf(`{"project_id":%q,"graders":[%s],"sample":%s}`, project.Id, graders, sample)
	}
	w := e.Do(t, http.MethodPost, "/v1/graders/_actions/grade", grade(apitest.ExactGrader, `{"output":"Paris","reference_output":"Paris"}`), as)
	assert.InDelta(t, 1, *apitest.Must[contract.GradeResult](t, w, http.StatusOK).Scores[0].Score, 0)
	for graders, location := range map[string]string{
		`{"name":"x","type":"unknown"}`:                                    "body.graders[0].type",
		apitest.ExactGrader + "," + apitest.ExactGrader:                    "body.graders[1].name",
		strings.Replace(apitest.ExactGrader, `"correct"`, `"cost_usd"`, 1): "body.graders[0].name",
		strings.Replace(apitest.ExactGrader, `"correct"`, `"a\u0000"`, 1):  "body.graders[0].name",
		`{"name":"x","type":"python","source":"x"}`:                        "body.graders[0].type",
	} {
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/graders/_actions/grade", grade(graders, `{}`), as), http.StatusUnprocessableEntity)
		assert.Equal(t, location, (*refused.Errors)[0].Location, graders)
	}
}

// TestComparisonStopsEarlyAtAnOddPlace has a number of items of which a quarter is no whole number: the interval still says its confidence.
func TestComparisonStopsEarlyAtAnOddPlace(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		if q.Model == "model-a" {
			return &provider.Reply{Text: "unknown"}
		}
		return apitest.Answering(q)
	}})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(90)...)
	ended := compared(t, e, as, e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"stop_early":true`)).Id)
	require.NotNil(t, ended.StopReason)
	correct := metricOf(t, &ended, "correct")
	assert.Greater(t, correct.Difference.Confidence, 0.95)
	assert.Equal(t, contract.EvaluationVerdictBBetter, correct.Verdict)
	resumed := e.Do(t, http.MethodPost, "/v1/comparisons/"+ended.Id.String()+"/_actions/resume", `{}`, as)
	assert.Equal(t, "evaluation_decided", apitest.WantProblem(t, resumed, http.StatusConflict).Code)
	without := apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"stop_early":true,"graders":[]`)
	assert.Equal(t, "body.stop_early", (*apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/comparisons", without, as), http.StatusUnprocessableEntity).Errors)[0].Location)
}

// TestComparisonWithANewCap resumes under a cap what has no price.
func TestComparisonWithANewCap(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	slow := make(chan struct{})
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		if apitest.NumberIn(q) > 0 {
			<-slow
		}
		return apitest.Answering(q)
	}})
	made := e.Connect(t, as, project.Id, "openai", server, `,"max_concurrency":2`)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(40)...)
	started := e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, ""))
	require.Eventually(t, func() bool { return len(server.Requests()) >= 2 }, apitest.EvaluationTime, 50*time.Millisecond)
	apitest.Must[contract.Comparison](t, e.Do(t, http.MethodPost, "/v1/comparisons/"+started.Id.String()+"/_actions/cancel", nil, as), http.StatusOK)
	compared(t, e, as, started.Id)
	close(slow)
	apitest.Must[contract.Comparison](t, e.Do(t, http.MethodPost, "/v1/comparisons/"+started.Id.String()+"/_actions/resume", `{"max_cost_usd":1}`, as), http.StatusOK)
	ended := compared(t, e, as, started.Id)
	assert.Equal(t, contract.EvaluationStatusFailed, ended.Status)
	assert.Equal(t, "price_unknown", ended.Error.Code)
}

// TestWaitingComparisonsHoldUpNobody has two projects whose comparisons wait for a provider and have all places. The comparison and the
// import of a third one go on, and nothing is called twice.
func TestWaitingComparisonsHoldUpNobody(t *testing.T) {
	t.Parallel()
	e, recorded := apitest.NewRecorded(t)
	e.SetUp(t)
	release := make(chan struct{})
	blocking := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		<-release
		return apitest.Answering(q)
	}})
	answering := provider.Start(t, provider.Options{Answer: apitest.Answering})
	member := func(name string, server *provider.Server, more string) (apitest.Option, uuid.UUID, string) {
		as := apitest.Cookie(e.AddMember(t, name+"@example.com", "owner", uuid.Nil))
		project := apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, as), http.StatusOK).Projects[0].Id
		made := e.Connect(t, as, project, "openai", server, more)
		dataset := e.CreateDatasetOf(t, as, project, "numbers", apitest.Questions(2)...)
		return as, dataset.Id, apitest.ComparisonBody(project, dataset.Id, made.Id, "")
	}
	type waiting struct {
		as apitest.Option
		id uuid.UUID
	}
	var held []waiting
	for _, name := range []string{"bert", "cleo"} {
		as, _, body := member(name, blocking, `,"max_concurrency":1`)
		for range 17 {
			held = append(held, waiting{as, e.Compare(t, as, body).Id})
		}
	}
	e.Work(t)
	require.Eventually(t, func() bool { return e.Count(t, "SELECT count(*) FROM evaluations WHERE status = 'running'") == 32 }, apitest.EvaluationTime, 50*time.Millisecond)
	dora, dataset, body := member("dora", answering, "")
	assert.Equal(t, contract.EvaluationStatusSucceeded, compared(t, e, dora, e.Compare(t, dora, body).Id).Status)
	imported := e.SendFile(t, dora, dataset, "", apitest.TypeCSV, "question\n1\n")
	require.Eventually(t, func() bool {
		found := apitest.Must[contract.Import](t, e.Do(t, http.MethodGet, "/v1/imports/"+imported.Id.String(), nil, dora), http.StatusOK)
		return found.Status == "succeeded" || found.Status == "failed"
	}, apitest.EvaluationTime, 50*time.Millisecond)
	close(release)
	for _, one := range held {
		ended := compared(t, e, one.as, one.id)
		assert.Equal(t, contract.EvaluationStatusSucceeded, ended.Status)
		assert.EqualValues(t, 4, ended.Cost.Calls)
	}
	assert.Len(t, blocking.Requests(), 4*len(held), "no call was made twice")
	require.Eventually(t, func() bool { return len(recorded()) >= 4*(len(held)+1) }, apitest.EvaluationTime, 50*time.Millisecond)
	assert.Len(t, recorded(), 4*(len(held)+1), "a call that gave up its wait is no run")
	assert.Equal(t, []string{"ok"}, slices.Compact(slices.Sorted(maps.Values(recorded()))))
}

// TestComparisonOfGroups compares items of four customers: B is right for those of two, and A for those of the others.
func TestComparisonOfGroups(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		n := apitest.NumberIn(q)
		if (q.Model == "model-b") == (n%4 < 3) {
			return &provider.Reply{Text: strconv.Itoa(n)}
		}
		return &provider.Reply{Text: "unknown"}
	}})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	items := apitest.Questions(40)
	for i := range items {
		items[i] = strings.TrimSuffix(items[i], "}") + fmt.Sprintf(`,"metadata":{"customer":{"id":"\u0000 %d"}}}`, i%4)
	}
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", items...)
	alone := compared(t, e, as, e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, "")).Id)
	correct := metricOf(t, &alone, "correct")
	assert.Equal(t, contract.EvaluationVerdictBBetter, correct.Verdict)
	assert.Nil(t, correct.Groups)
	assert.Nil(t, alone.GroupBy)
	assert.Equal(t, &[]contract.EvaluationCondition{}, alone.Summary.Conditions)

	grouped := compared(t, e, as, e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"group_by":"metadata.customer.id"`)).Id)
	correct = metricOf(t, &grouped, "correct")
	assert.Equal(t, "metadata.customer.id", *grouped.GroupBy)
	assert.EqualValues(t, 4, *correct.Groups)
	assert.Equal(t, "clustered_t", correct.Difference.Test)
	assert.Equal(t, contract.EvaluationVerdictInconclusive, correct.Verdict)
	assert.Contains(t, grouped.Summary.Sentence, "40 items in 4 groups")

	for _, path := range []string{"output.text", "metadata.custumer.id"} {
		wrong := apitest.ComparisonBody(project.Id, dataset.Id, made.Id, fmt.Sprintf(`,"group_by":%q`, path))
		assert.Equal(t, "body.group_by", (*apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/comparisons", wrong, as), http.StatusUnprocessableEntity).Errors)[0].Location)
	}
}
