package evaluations_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// finishEvalRun finishes an eval-run, and waits for its summary.
func finishEvalRun(t *testing.T, e *apitest.Env, as apitest.Option, id uuid.UUID) (finished contract.EvalRun) {
	t.Helper()
	apitest.Must[contract.EvalRunFinished](t, e.Do(t, http.MethodPost, "/v1/eval-runs/"+id.String()+"/_actions/finish", nil, as), http.StatusOK)
	require.Eventually(t, func() bool {
		finished = apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodGet, "/v1/eval-runs/"+id.String(), nil, as), http.StatusOK)
		return finished.Summary != nil
	}, apitest.EvaluationTime, 50*time.Millisecond)
	a := &finished.Accounting
	require.Equal(t, a.Items, a.Scored+a.TargetFailed+a.JudgeFailed+a.Skipped+a.Pending)
	require.Equal(t, finished.Progress.Total, a.Outputs+a.OutputsFailed+a.OutputsSkipped+a.OutputsPending)
	return finished
}

// scoring returns results that are right except for the items whose number is a multiple of n.
func scoring(n int) func(*contract.EvalRunItem, int) string {
	return func(item *contract.EvalRunItem, _ int) string {
		var number int
		_, _ = fmt.Sscanf(*item.Key, "q%d", &number)
		output, score := string(*item.ReferenceOutput), 1
		if number%n == 0 {
			output, score = `"unknown"`, 0
		}
		return fmt.Sprintf(`"output":%s,"duration_ms":100,"cost_usd":0.001,"scores":[{"name":"own","score":%d,"pass":%t}]`, output, score, score == 1)
	}
}

func TestEvalRun(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(60)...)

	main := e.BeginEvalRun(t, as, project.Id, dataset.Id, `,"branch":"main","commit":"abc","metadata":{"ci":"yes"},"graders":[`+apitest.ExactGrader+`]`)
	assert.Equal(t, contract.EvaluationStatusRunning, main.Status)
	assert.EqualValues(t, 60, main.Progress.Total)
	added := e.SendResults(t, as, &main, scoring(3))
	assert.Equal(t, 60, added.Added)
	assert.Equal(t, 60, e.SendResults(t, as, &main, scoring(3)).Unchanged)
	finished := finishEvalRun(t, e, as, main.Id)
	assert.Equal(t, contract.EvaluationStatusSucceeded, finished.Status)
	assert.EqualValues(t, 60, finished.Accounting.Scored)
	assert.InDelta(t, 0.06, *finished.CostUsd, 1e-9)
	scores := map[string]contract.EvalRunMetric{}
	for _, m := range finished.Summary.Scores {
		scores[m.Name] = m
	}
	assert.InDelta(t, 40.0/60, *scores["correct"].Mean, 1e-9, "of a grader of the eval-run")
	assert.InDelta(t, 40.0/60, *scores["own"].Mean, 1e-9, "sent")
	assert.InDelta(t, 40.0/60, *scores["own"].PassRate, 1e-9)
	assert.InDelta(t, 100, *scores["duration_ms"].Mean, 1e-9)
	assert.Equal(t, map[string]string{"ci": "yes"}, finished.Metadata)
	path := "/v1/eval-runs/" + main.Id.String()
	late := fmt.Sprintf(`{"items":[{"item_id":%q,"repeat":1,"output":1}]}`, uuid.New())
	assert.Equal(t, "evaluation_finished", apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"/results", late, as), http.StatusConflict).Code)

	// A branch that is better, but has lost an item and failed at another.
	branch := e.BeginEvalRun(t, as, project.Id, dataset.Id, `,"branch":"faster","graders":[`+apitest.ExactGrader+`]`)
	e.SendResults(t, as, &branch, func(item *contract.EvalRunItem, repeat int) string {
		switch *item.Key {
		case "q1":
			return ""
		case "q2":
			return `"error":{"code":"TimeoutError","detail":"too slow"}`
		}
		return scoring(30)(item, repeat)
	})
	gate := func(candidate, baseline uuid.UUID, metric string, margin float64) contract.GateDecision {
		return checkGate(t, e, as, candidate, baseline, metric, margin)
	}
	unfinished := fmt.Sprintf(`{"candidate":%q,"baseline":%q,"metric":"correct","margin":0}`, branch.Id, main.Id)
	assert.Equal(t, "evaluation_running", apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/gates/_actions/check", unfinished, as), http.StatusConflict).Code)
	lost := finishEvalRun(t, e, as, branch.Id)
	assert.EqualValues(t, 1, lost.Accounting.Pending)
	assert.EqualValues(t, 1, lost.Accounting.TargetFailed)
	assert.True(t, lost.Summary.Partial)
	decided := gate(branch.Id, main.Id, "correct", 0.02)
	assert.Equal(t, contract.GateDecisionDecisionIncomplete, decided.Decision)
	assert.EqualValues(t, 2, decided.CandidateLost)
	assert.EqualValues(t, 58, decided.Paired)

	better := e.BeginEvalRun(t, as, project.Id, dataset.Id, `,"graders":[`+apitest.ExactGrader+`]`)
	e.SendResults(t, as, &better, scoring(30))
	finishEvalRun(t, e, as, better.Id)
	assert.Equal(t, contract.GateDecisionDecisionPass, gate(better.Id, main.Id, "correct", 0.02).Decision)
	worse := gate(main.Id, better.Id, "correct", 0.02)
	assert.Equal(t, contract.GateDecisionDecisionRegression, worse.Decision)
	assert.Contains(t, worse.Sentence, "Regression: correct is worse than the baseline by more than 2.0 points: −30.0 points")
	same := gate(main.Id, main.Id, "own", 0.01)
	assert.Equal(t, contract.GateDecisionDecisionInconclusive, same.Decision, "60 equal items do not show that the difference is below a point")
	assert.Equal(t, contract.GateDecisionDecisionPass, gate(main.Id, main.Id, "own", 0.2).Decision)
	wrong := fmt.Sprintf(`{"candidate":%q,"baseline":%q,"metric":"tone","margin":0}`, better.Id, main.Id)
	assert.Equal(t, "body.metric", (*apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/gates/_actions/check", wrong, as), http.StatusUnprocessableEntity).Errors)[0].Location)

	// The candidate has no score of the baseline's metric: it is incomplete. Failures are a metric like others.
	silent := e.BeginEvalRun(t, as, project.Id, dataset.Id, "")
	e.SendResults(t, as, &silent, func(item *contract.EvalRunItem, _ int) string {
		if *item.Key == "q2" {
			return `"error":{"code":"x"}`
		}
		return `"output":1`
	})
	finishEvalRun(t, e, as, silent.Id)
	decided = gate(silent.Id, main.Id, "correct", 0.02)
	assert.Equal(t, contract.GateDecisionDecisionIncomplete, decided.Decision)
	assert.EqualValues(t, 60, decided.CandidateLost)
	assert.Equal(t, contract.GateDecisionDecisionPass, gate(silent.Id, main.Id, "failures", 0.2).Decision)

	// The same eval-runs side by side.
	compared := compared(t, e, as, e.Compare(t, as, fmt.Sprintf(`{"project_id":%q,"dataset_id":%q,"a":{"eval_run_id":%q},"b":{"eval_run_id":%q}}`,
		project.Id, dataset.Id, main.Id, branch.Id)).Id)
	assert.Equal(t, contract.EvaluationStatusSucceeded, compared.Status, "%+v", compared.Error)
	assert.Equal(t, "agent main abc", compared.A.Name)
	assert.NotNil(t, compared.A.VariablesMap, "an object, also where no model is called")
	assert.EqualValues(t, 58, compared.Accounting.Scored)
	assert.EqualValues(t, 2, compared.Accounting.TargetFailed)
	failures := metricOf(t, &compared, "failures")
	assert.InDelta(t, 1.0/59, *failures.B.Mean, 1e-9, "what the eval-run does not have did not fail")
	shown := comparisonItems(t, e, as, compared.Id, "?limit=1").Data[0]
	assert.True(t, slices.ContainsFunc(shown.Metrics, func(m contract.ComparisonItemMetric) bool { return m.Name == "own" }), "%+v", shown.Metrics)
	own := metricOf(t, &compared, "own")
	assert.InDelta(t, 18.0/58, *own.Difference.Estimate, 1e-9)
	assert.Equal(t, contract.EvaluationVerdictBBetter, own.Verdict)
	assert.NotNil(t, own.IntentionToTreat)
	assert.Zero(t, compared.Cost.Calls)
	assert.Equal(t, "evaluation_in_use", apitest.WantProblem(t, e.Do(t, http.MethodDelete, path, nil, as), http.StatusConflict).Code)

	list := apitest.Must[contract.EvalRunPage](t, e.Do(t, http.MethodGet, "/v1/eval-runs?branch=main&name=agent&status=succeeded", nil, as), http.StatusOK)
	require.Len(t, list.Data, 1)
	assert.Equal(t, main.Id, list.Data[0].Id)
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/eval-runs/"+better.Id.String(), nil, as).Code)
}

// checkGate checks a gate.
func checkGate(t *testing.T, e *apitest.Env, as apitest.Option, candidate, baseline uuid.UUID, metric string, margin float64) contract.GateDecision {
	t.Helper()
	body := fmt.Sprintf(`{"candidate":%q,"baseline":%q,"metric":%q,"margin":%g}`, candidate, baseline, metric, margin)
	return apitest.Must[contract.GateDecision](t, e.Do(t, http.MethodPost, "/v1/gates/_actions/check", body, as), http.StatusOK)
}

// TestGateSaysWhatItLeavesOut compares eval-runs that have few items in common.
func TestGateSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(8)...)
	items := apitest.Must[contract.DatasetItemPage](t, e.Do(t, http.MethodGet, "/v1/datasets/"+dataset.Id.String()+"/items", nil, as), http.StatusOK).Data
	begin := func(first, last int) contract.EvalRun {
		var list []string
		for _, item := range items[first:last] {
			list = append(list, fmt.Sprintf("%q", item.Id))
		}
		return e.BeginEvalRun(t, as, project.Id, dataset.Id, `,"item_ids":[`+strings.Join(list, ",")+`]`)
	}
	scored := func(scores map[string]string) func(*contract.EvalRunItem, int) string {
		return func(item *contract.EvalRunItem, _ int) string {
			if scores[*item.Key] == "" {
				return `"error":{"code":"TimeoutError"}`
			}
			return `"output":"x","scores":[{"name":"own","score":` + scores[*item.Key] + `}]`
		}
	}
	baseline := begin(0, 6)
	e.SendResults(t, as, &baseline, scored(map[string]string{"q1": "0.9", "q2": "0.9", "q3": "0.9", "q4": "0.8", "q5": "1"}))
	finishEvalRun(t, e, as, baseline.Id)
	write := `{"mode":"upsert","items":[{"key":"q5","input":{"question":"number five"},"reference_output":"5"}]}`
	apitest.Must[contract.DatasetWritten](t, e.Do(t, http.MethodPost, "/v1/datasets/"+dataset.Id.String()+"/items", write, as), http.StatusCreated)
	candidate := begin(0, 8)
	scores := map[string]string{}
	for i := range 8 {
		scores[fmt.Sprintf("q%d", i)] = "0.9"
	}
	scores["q1"] = "0"
	e.SendResults(t, as, &candidate, scored(scores))
	finishEvalRun(t, e, as, candidate.Id)

	open := checkGate(t, e, as, candidate.Id, baseline.Id, "own", 0.05)
	assert.Equal(t, contract.GateDecisionDecisionInconclusive, open.Decision)
	assert.Contains(t, open.Sentence, "4 items.")
	assert.Contains(t, open.Sentence, "Not compared: 2 items that only the candidate was to do, 1 item with other contents, 1 item without a value on a side.")
	for name, ci := range map[string][]float64{"candidate": *open.Candidate.Ci, "baseline": *open.Baseline.Ci} {
		assert.GreaterOrEqual(t, ci[0], 0.0, name)
		assert.LessOrEqual(t, ci[1], 1.0, name)
	}
	assert.GreaterOrEqual(t, (*open.Difference.Ci)[0], -1.0)
	back := checkGate(t, e, as, baseline.Id, candidate.Id, "own", 0.05)
	assert.Contains(t, back.Sentence, "2 items that only the baseline was to do")

	// With a margin of 5 instead of 0.05 nothing fails.
	wide := fmt.Sprintf(`{"candidate":%q,"baseline":%q,"metric":"own","margin":5}`, candidate.Id, baseline.Id)
	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/gates/_actions/check", wide, as), http.StatusUnprocessableEntity)
	assert.Equal(t, "body.margin", (*refused.Errors)[0].Location)
}

// TestPrimaryMetricOfEvalRuns names metrics that decide nothing: one that no side has, and one that is no score.
func TestPrimaryMetricOfEvalRuns(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(4)...)
	run := e.BeginEvalRun(t, as, project.Id, dataset.Id, "")
	e.SendResults(t, as, &run, scoring(2))
	finishEvalRun(t, e, as, run.Id)
	body := func(primary string) string {
		return fmt.Sprintf(`{"project_id":%q,"dataset_id":%q,"a":{"eval_run_id":%q},"b":{"eval_run_id":%q},"graders":[%s],"primary_metric":%q}`,
			project.Id, dataset.Id, run.Id, run.Id, apitest.ExactGrader, primary)
	}
	for _, primary := range []string{"own", "correct"} {
		ended := compared(t, e, as, e.Compare(t, as, body(primary)).Id)
		assert.EqualValues(t, 4, ended.Accounting.Scored, primary)
	}
	for _, primary := range []string{"other", "duration_ms"} {
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/comparisons", body(primary), as), http.StatusUnprocessableEntity)
		assert.Equal(t, "body.primary_metric", (*refused.Errors)[0].Location, primary)
	}
	begin := fmt.Sprintf(`{"project_id":%q,"name":"agent","dataset_id":%q,"target":{"external":true},"primary_metric":"duration_ms"}`, project.Id, dataset.Id)
	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/eval-runs", begin, as), http.StatusUnprocessableEntity)
	assert.Equal(t, "body.primary_metric", (*refused.Errors)[0].Location)
}

// TestEvalRunOfFailedGraders has scores that failed or do not apply, and no other: its items are not scored.
func TestEvalRunOfFailedGraders(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(4)...)
	ended := func(score string) contract.EvalRun {
		t.Helper()
		run := e.BeginEvalRun(t, as, project.Id, dataset.Id, "")
		e.SendResults(t, as, &run, func(*contract.EvalRunItem, int) string { return `"output":"x","scores":[` + score + `]` })
		return finishEvalRun(t, e, as, run.Id)
	}
	broken := ended(`{"name":"own","error":"the judge is down"}`)
	assert.EqualValues(t, 4, broken.Accounting.JudgeFailed)
	require.NotNil(t, broken.PrimaryMetric)
	assert.Equal(t, "own", *broken.PrimaryMetric)
	assert.Equal(t, "own", broken.Summary.Scores[0].Name)
	assert.Nil(t, broken.Summary.Scores[0].Mean)
	assert.Zero(t, broken.Summary.Scores[0].N)
	assert.EqualValues(t, 4, ended(`{"name":"own","score":null}`).Accounting.JudgeFailed)
	whole := ended(`{"name":"early","score":null},{"name":"own","score":1}`)
	assert.EqualValues(t, 4, whole.Accounting.Scored, "a score that does not apply is not the primary one if another has values")
	decided := checkGate(t, e, as, whole.Id, broken.Id, "own", 0.1)
	assert.Equal(t, contract.GateDecisionDecisionInconclusive, decided.Decision)
	assert.EqualValues(t, 4, decided.BaselineLost)
	assert.Contains(t, decided.Sentence, "Not compared: 4 items without a value on a side.")
	assert.Equal(t, contract.GateDecisionDecisionIncomplete, checkGate(t, e, as, broken.Id, whole.Id, "own", 0.1).Decision)
}

func TestEvalRunResultsAreRefused(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(2)...)
	run := e.BeginEvalRun(t, as, project.Id, dataset.Id, `,"repeats":2`)
	path := "/v1/eval-runs/" + run.Id.String()
	item := apitest.Must[contract.EvalRunItemPage](t, e.Do(t, http.MethodGet, path+"/items", nil, as), http.StatusOK).Data[0].ItemId
	send := func(more string, status int) contract.Problem {
		t.Helper()
		body := fmt.Sprintf(`{"items":[{"item_id":%q,%s}]}`, item, more)
		return apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"/results", body, as), status)
	}
	for more, location := range map[string]string{
		`"repeat":3,"output":1`: "body.items[0].repeat",
		`"repeat":1`:            "body.items[0]",
		`"repeat":1,"output":1,"error":{"code":"x"}`:                                      "body.items[0]",
		`"repeat":1,"output":1,"scores":[{"name":"a","score":1},{"name":"a"}]`:            "body.items[0].scores[1].name",
		`"repeat":1,"output":1,"scores":[{"name":"cost_usd","score":1}]`:                  "body.items[0].scores[0].name",
		`"repeat":1,"output":1,"scores":[{"name":"a\u0000","score":1}]`:                   "body.items[0].scores[0].name",
		`"repeat":1,"output":1,"scores":[{"name":"a\n","score":1}]`:                       "body.items[0].scores[0].name",
		`"repeat":1,"error":{"code":"x"},"scores":[{"name":"a","score":1}]`:               "body.items[0].scores",
		`"repeat":1,"output":1,"scores":[{"name":"a","score":2}]`:                         "body.items[0].scores[0].score",
		`"repeat":1,"output":1,"scores":[{"name":"a","score":1,"error":"x"}]`:             "body.items[0].scores[0]",
		fmt.Sprintf(`"repeat":1,"output":1},{"item_id":%q,"repeat":1,"output":1`, item):   "body.items[1]",
		fmt.Sprintf(`"repeat":1,"output":1},{"item_id":%q,"repeat":1,"output":1`, run.Id): "body.items[1].item_id",
	} {
		assert.Equal(t, location, (*send(more, http.StatusUnprocessableEntity).Errors)[0].Location, more)
	}
	first := func(more string) string {
		return fmt.Sprintf(`{"items":[{"item_id":%q,"repeat":1,%s}]%s`, item, more, "}")
	}
	apitest.Must[contract.EvalRunAdded](t, e.Do(t, http.MethodPost, path+"/results", first(`"output":null`), as), http.StatusOK)
	assert.Equal(t, "result_exists", apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"/results", first(`"output":2`), as), http.StatusConflict).Code)
	replaced := apitest.Must[contract.EvalRunAdded](t, e.Do(t, http.MethodPost, path+"/results", strings.TrimSuffix(first(`"error":{"code":"x\u0000"}`), "}")+`,"replace":true}`, as), http.StatusOK)
	assert.Equal(t, 1, replaced.Replaced)
	assert.EqualValues(t, 1, replaced.Progress.Done)
	assert.EqualValues(t, 1, replaced.Progress.Failed)
	cancelled := apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodPost, path+"/_actions/cancel", nil, as), http.StatusOK)
	assert.Equal(t, contract.EvaluationStatusCancelled, cancelled.Status)
}

// TestSlowGradingIsLeftToAJob sends results when a request has no time left to grade: they are stored, and graded after the end.
func TestSlowGradingIsLeftToAJob(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	e.Evaluations.GradingTime = -1
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(5)...)
	run := e.BeginEvalRun(t, as, project.Id, dataset.Id, `,"graders":[{"name":"digits","type":"regex","pattern":"^[0-9]+$"},{"name":"long","type":"length","min":3}]`)
	results := make([]string, 0, 5)
	for _, item := range evalRunItems(t, e, as, run.Id, "").Data {
		output := map[bool]string{true: `"12"`, false: `"none"`}[item.Number == 1]
		results = append(results, fmt.Sprintf(`{"item_id":%q,"repeat":1,"output":%s,"scores":[{"name":"own","score":1}]}`, item.ItemId, output))
	}
	results[4] = strings.Split(results[4], `,"output"`)[0] + `,"error":{"code":"Timeout"}}`
	path, body := "/v1/eval-runs/"+run.Id.String()+"/results", `{"items":[`+strings.Join(results, ",")+`]}`
	added := apitest.Must[contract.EvalRunAdded](t, e.Do(t, http.MethodPost, path, body, as), http.StatusOK)
	assert.Equal(t, []int{5, 4}, []int{added.Added, added.Ungraded}, "an error is not graded")
	again := apitest.Must[contract.EvalRunAdded](t, e.Do(t, http.MethodPost, path, body, as), http.StatusOK)
	assert.Equal(t, []int{0, 5, 0}, []int{again.Added, again.Unchanged, again.Ungraded})
	for _, item := range evalRunItems(t, e, as, run.Id, "?limit=4").Data {
		assert.Equal(t, contract.EvaluationItemStatusPending, item.Status)
		assert.Len(t, item.Repeats[0].Result.Scores, 1, "the one that was sent")
	}
	finished := finishEvalRun(t, e, as, run.Id)
	assert.EqualValues(t, 4, finished.Accounting.Scored)
	assert.EqualValues(t, 1, finished.Accounting.TargetFailed)
	require.Len(t, finished.Accounting.Reasons, 1, "%+v", finished.Accounting.Reasons)
	means := map[string]float64{}
	for _, m := range finished.Summary.Scores {
		if m.Mean != nil {
			means[m.Name] = *m.Mean
		}
	}
	assert.InDelta(t, 0.25, means["digits"], 1e-9)
	assert.InDelta(t, 0.75, means["long"], 1e-9)
	assert.InDelta(t, 1, means["own"], 1e-9)
}
