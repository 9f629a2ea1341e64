package evaluations_test

import (
	"fmt"
	"net/http"
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

// evaluatedRun stores a run of an agent with an id: a model call of a cost, and a call of each tool. Without a cost, the price of the model is
// not known.
func evaluatedRun(t *testing.T, clickhouseURL string, project, run uuid.UUID, cost *float64, tools ...string) {
	t.Helper()
	start := time.Now().Add(-time.Minute).UTC().Truncate(time.Microsecond)
	span := func(id uint64, name string) runmodel.Span {
		return runmodel.Span{
			ProjectID: project, RunID: run, SpanID: id, ParentSpanID: 1, Version: 1, StartTime: start.Add(time.Duration(id) * time.Millisecond), EndTime: start.Add(time.Second), Name: name,
		}
	}
	root, call := span(1, "agent"), span(2, "chat")
	root.ParentSpanID, root.StartTime, root.IsRun, root.Source = 0, start, true, runmodel.SourceEvaluation
	call.Operation, call.RequestModel, call.InputTokens, call.OutputTokens = "chat", "model", new(int64(100)), new(int64(20))
	if call.CostUSD = cost; cost != nil {
		call.CostSource = runmodel.CostSent
	}
	spans := []runmodel.Span{root, call}
	for i, tool := range tools {
		one := span(uint64(3+i), tool)
		one.Kind, one.ToolName, one.ToolArguments = runmodel.KindTool, tool, `{"q":"x"}`
		spans = append(spans, one)
	}
	apitest.StoreSpans(t, clickhouseURL, spans)
}

// TestEvalRunReadsItsRuns has results that lack what their runs have. One run comes after the end of the eval-run, and one never.
func TestEvalRunReadsItsRuns(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	items := make([]string, 6)
	for i := range items {
		items[i] = fmt.Sprintf(`{"key":"q%d","input":{"question":"%d"},"reference_output":{"tool_calls":[{"name":"search","arguments":{"q":"x"}}]}}`, i, i)
	}
	dataset := e.CreateDatasetOf(t, as, project.Id, "agents", items...)
	const graders = `,"graders":[{"name":"path","type":"trajectory_match"},{"name":"cheap","type":"budget","max_cost_usd":0.01},` +
		`{"name":"text","type":"string_check","operation":"eq","reference":"done"}]`
	run := e.BeginEvalRun(t, as, project.Id, dataset.Id, graders)
	path := "/v1/eval-runs/" + run.Id.String()
	runs := map[string]uuid.UUID{}
	for i := range items {
		runs[fmt.Sprintf("q%d", i)] = uuid.New()
	}
	evaluatedRun(t, address, project.Id, runs["q0"], new(0.002), "search")
	evaluatedRun(t, address, project.Id, runs["q1"], new(0.02), "search", "delete")
	evaluatedRun(t, address, project.Id, runs["q2"], nil) // asks for no tool, and has no price
	evaluatedRun(t, address, project.Id, runs["q5"], new(0.004), "search")
	foreign := apitest.Cookie(e.AddMember(t, "bob@example.com", "owner", uuid.Nil))
	theirs := apitest.Must[contract.ProjectPage](t, e.Do(t, http.MethodGet, "/v1/projects", nil, foreign), http.StatusOK).Data[0].Id
	evaluatedRun(t, address, theirs, runs["q4"], new(9.0), "search") // another tenant's is like none
	e.SendResults(t, as, &run, func(item *contract.EvalRunItem, _ int) string {
		if *item.Key == "q5" {
			return fmt.Sprintf(`"error":{"code":"ValueError"},"run_id":%q`, runs[*item.Key])
		}
		return fmt.Sprintf(`"output":"done","run_id":%q`, runs[*item.Key])
	})
	// Before the end, what needs the runs is not graded.
	item := func(key string) contract.EvalRunItem {
		t.Helper()
		page := apitest.Must[contract.EvalRunItemPage](t, e.Do(t, http.MethodGet, path+"/items", nil, as), http.StatusOK)
		for _, one := range page.Data {
			if *one.Key == key {
				return one
			}
		}
		require.Fail(t, "no item "+key)
		return contract.EvalRunItem{}
	}
	before := item("q0")
	assert.Equal(t, contract.EvaluationItemStatusPending, before.Status)
	require.Len(t, before.Repeats[0].Result.Scores, 1)
	assert.Equal(t, "text", before.Repeats[0].Result.Scores[0].Name)
	running := apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodGet, path, nil, as), http.StatusOK)
	assert.Nil(t, running.CostUsd)
	assert.EqualValues(t, 6, running.CostUnknownResults)
	assert.EqualValues(t, 1, running.Accounting.TargetFailed)
	assert.EqualValues(t, 5, running.Accounting.Pending)

	apitest.Must[contract.EvalRunFinished](t, e.Do(t, http.MethodPost, path+"/_actions/finish", nil, as), http.StatusOK)
	require.Eventually(t, func() bool { return item("q0").Repeats[0].Result.CostUsd != nil }, apitest.EvaluationTime, 50*time.Millisecond)
	assert.Nil(t, apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodGet, path, nil, as), http.StatusOK).Summary, "two runs may still come")
	evaluatedRun(t, address, project.Id, runs["q3"], new(0.003), "search")
	require.Eventually(t, func() bool { return item("q3").Repeats[0].Result.CostUsd != nil }, apitest.EvaluationTime, 50*time.Millisecond)
	e.Clock.Advance(time.Minute)
	finished := finishEvalRun(t, e, as, run.Id)

	assert.InDelta(t, 0.002+0.02+0.003+0.004, *finished.CostUsd, 1e-12)
	assert.EqualValues(t, 2, finished.CostUnknownResults)
	counted := map[string]int64{}
	for _, reason := range finished.Accounting.Reasons {
		counted[reason.Code] = reason.Count
	}
	assert.Equal(t, map[string]int64{
		"run_unknown: not_found": 1, "cost_unknown": 1, "grader_not_applicable: path": 1, "grader_not_applicable: cheap": 2, "ValueError": 1,
	}, counted)
	assert.Contains(t, finished.Summary.Sentence, "The runs of 1 results are not known.")
	scores := map[string]contract.EvalRunMetric{}
	for _, m := range finished.Summary.Scores {
		scores[m.Name] = m
	}
	assert.Equal(t, 4, int(scores["path"].N))
	assert.InDelta(t, (1+2.0/3+0+1)/4, *scores["path"].Mean, 1e-9)
	assert.Equal(t, 3, int(scores["cost_usd"].N))
	assert.InDelta(t, 2.0/3, *scores["cheap"].Mean, 1e-9)
	got := apitest.Must[contract.EvalRunItem](t, e.Do(t, http.MethodGet, path+"/items/"+item("q1").ItemId.String(), nil, as), http.StatusOK).Repeats[0].Result
	assert.EqualValues(t, 100, *got.Usage.InputTokens)
	assert.EqualValues(t, 20, *got.Usage.OutputTokens)
	assert.InDelta(t, 1000, *got.DurationMs, 1e-9)
	assert.Contains(t, string(*got.Scores[1].Evidence)+string(*got.Scores[2].Evidence), "delete")
	none := item("q4").Repeats[0].Result
	assert.Nil(t, none.CostUsd, "not 0")
	assert.Nil(t, none.DurationMs)

	// A gate of costs, and a comparison whose graders look at the tool calls.
	cheaper := e.BeginEvalRun(t, as, project.Id, dataset.Id, "")
	e.SendResults(t, as, &cheaper, func(item *contract.EvalRunItem, _ int) string {
		id := uuid.New()
		evaluatedRun(t, address, project.Id, id, new(0.001), "search")
		return fmt.Sprintf(`"output":"done","run_id":%q`, id)
	})
	finishEvalRun(t, e, as, cheaper.Id)
	body := fmt.Sprintf(`{"candidate":%q,"baseline":%q,"metric":"cost_usd","margin":1}`, cheaper.Id, run.Id)
	gate := apitest.Must[contract.GateDecision](t, e.Do(t, http.MethodPost, "/v1/gates/_actions/check", body, as), http.StatusOK)
	assert.EqualValues(t, 3, gate.Paired)
	assert.Zero(t, gate.CandidateLost)
	assert.InDelta(t, 0.001, *gate.Candidate.Mean, 1e-12)
	backwards := strings.NewReplacer(cheaper.Id.String(), run.Id.String(), run.Id.String(), cheaper.Id.String()).Replace(body)
	gate = apitest.Must[contract.GateDecision](t, e.Do(t, http.MethodPost, "/v1/gates/_actions/check", backwards, as), http.StatusOK)
	assert.Equal(t, contract.GateDecisionDecisionIncomplete, gate.Decision, "an unknown cost is not 0")
	assert.EqualValues(t, 3, gate.CandidateLost)
	comparison := e.Compare(t, as, fmt.Sprintf(`{"project_id":%q,"dataset_id":%q,"a":{"eval_run_id":%q},"b":{"eval_run_id":%q},"graders":[{"name":"calls","type":"tool_use","tools":["delete"],"max":0}]}`,
		project.Id, dataset.Id, run.Id, cheaper.Id))
	compared := compared(t, e, as, comparison.Id)
	calls := metricOf(t, &compared, "calls")
	assert.InDelta(t, 3.0/4, *calls.A.Mean, 1e-9)
	assert.InDelta(t, 1, *calls.B.Mean, 1e-9)

	// Who may not read runs learns nothing of them.
	key := e.Mint(t, session, project.Id, contract.ScopeEvalsWrite, contract.ScopeEvalsRead, contract.ScopeDatasetsRead)
	blind := e.BeginEvalRun(t, apitest.Bearer(key.Key), project.Id, dataset.Id, graders)
	e.SendResults(t, apitest.Bearer(key.Key), &blind, func(item *contract.EvalRunItem, _ int) string {
		return fmt.Sprintf(`"output":"done","run_id":%q`, runs["q0"])
	})
	unread := finishEvalRun(t, e, apitest.Bearer(key.Key), blind.Id)
	assert.Nil(t, unread.CostUsd)
	assert.Contains(t, fmt.Sprint(unread.Accounting.Reasons), "run_unknown: not_allowed")
	assert.EqualValues(t, 6, unread.Accounting.JudgeFailed)
}
