package evaluations_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/test/provider"
)

// TestEscalationFollowsRepeats has a judge of which one vote of three differs from the others: its majority agrees with the other judge, so
// that the panel does not split.
func TestEscalationFollowsRepeats(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(q *provider.Request, n int) *provider.Reply {
		return apitest.Voted(map[bool]string{true: "pass", false: "fail"}[n >= 0 && (q.Model != "judge-1" || q.Repeat != 1)])
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(4)...)
	escalation := fmt.Sprintf(`"repeats":3,"escalation":{"name":"top","provider_id":%q,"model_config":{"model":"judge-top"},"rubric":"Is it right?","scale":{"type":"binary"}},"judges"`, made.Id)
	body := strings.Replace(apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-1", "judge-2"), `"judges"`, escalation, 1)
	ended := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, `,"panels":[`+body+`]`).Id)
	p := &ended.Summary.Panels[0]
	assert.EqualValues(t, 0, p.Split)
	assert.EqualValues(t, 0, p.Escalated)
	assert.EqualValues(t, 4*3*2, ended.Accounting.Votes.Ok, "the escalation is not asked")
	assert.Empty(t, evalRunItems(t, e, as, ended.Id, "?split=right").Data)
}

// TestPreferenceCacheKnowsToolCalls compares outputs that differ in the tool calls of side b alone.
func TestPreferenceCacheKnowsToolCalls(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(q *provider.Request, _ int) *provider.Reply {
		if strings.Contains(q.Last(), "delete_all") {
			return apitest.Voted("first")
		}
		return apitest.Voted("tie")
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(1)...)
	outside := func(tool string) contract.EvalRun {
		run := e.BeginEvalRun(t, as, project.Id, dataset.Id, "")
		e.SendResults(t, as, &run, func(*contract.EvalRunItem, int) string {
			return fmt.Sprintf(`"output":"done","message":{"role":"assistant","content":"done","tool_calls":[{"id":"1","type":"function","function":{"name":%q,"arguments":"{}"}}]}`, tool)
		})
		return finishEvalRun(t, e, as, run.Id)
	}
	a, good, bad := outside("look_up"), outside("look_up"), outside("delete_all")
	panel := strings.Replace(apitest.PanelJSON("preferred", made.Id, "", "judge"), `{"name"`, `{"kind":"preference","name"`, 1)
	compare := func(b *contract.EvalRun) contract.Comparison {
		return compared(t, e, as, e.Compare(t, as, fmt.Sprintf(`{"project_id":%q,"dataset_id":%q,"a":{"eval_run_id":%q},"b":{"eval_run_id":%q},"panels":[%s]}`,
			project.Id, dataset.Id, a.Id, b.Id, panel)).Id)
	}
	first, second := compare(&good), compare(&bad)
	require.NotNil(t, first.Accounting.Votes)
	require.EqualValues(t, 2, first.Accounting.Votes.Ok)
	assert.EqualValues(t, 0, second.Accounting.Votes.Cached, "the judge was shown other tool calls")
}

// TestReportNamesFailedVotes reads the report of an eval-run of which no vote is valid, and an item was skipped.
func TestReportNamesFailedVotes(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(*provider.Request, int) *provider.Reply {
		return &provider.Reply{Text: "I'd say four of five."}
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(1)...)
	apitest.Must[contract.DatasetWritten](t, e.Do(t, http.MethodPost, "/v1/datasets/"+dataset.Id.String()+"/items", `{"items":[{"key":"bare","input":{"other":1}}]}`, as), http.StatusCreated)
	target := fmt.Sprintf(`{"config":{"provider_id":%q,"messages":[{"role":"user","content":"{{question}}"}],"model_config":{"model":"model-a"}}}`, made.Id)
	ended := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, target, `,"on_incompatible":"skip","panels":[`+apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge")+`]`).Id)
	require.EqualValues(t, 1, ended.Accounting.Skipped, "%+v", ended.Accounting)
	assert.Contains(t, ended.Summary.Sentence, "1 item was skipped.")
	base := "/v1/eval-runs/" + ended.Id.String()
	report := apitest.Must[contract.EvalRunReport](t, e.Do(t, http.MethodGet, base+"/report", nil, as), http.StatusOK)
	require.Len(t, report.Items, 1)
	assert.Equal(t, "judge: parse_error", strings.Split(report.Items[0].Reason, ".")[0])
	junit := e.Do(t, http.MethodGet, base+"/report?format=junit", nil, as).Body.String()
	assert.Contains(t, junit, "judge: parse_error")
	assert.NotContains(t, junit, "B: ", "an eval-run has one side")
}

// TestLabelsKeepTheirScale labels an output on a scale, and judges the same output by panels of the same name on others.
func TestLabelsKeepTheirScale(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(q *provider.Request, _ int) *provider.Reply {
		if q.Model == "judge-number" {
			return apitest.Voted(4)
		}
		return apitest.Voted("pass")
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(2)...)
	const ordinal = `,"scale":{"type":"ordinal","min":1,"max":5}`
	old := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, `,"panels":[`+apitest.PanelJSON("right", made.Id, ordinal, "judge-number")+`]`).Id)
	for i, item := range evalRunItems(t, e, as, old.Id, "").Data {
		apitest.Must[contract.Label](t, e.Do(t, http.MethodPut, "/v1/eval-runs/"+old.Id.String()+"/items/"+item.ItemId.String()+"/label",
			fmt.Sprintf(`{"panel":"right","repeat":1,"value":%d}`, 4-3*i), as), http.StatusOK)
	}
	anew := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, fmt.Sprintf(`{"eval_run_id":%q}`, old.Id), `,"panels":[`+apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge")+`]`).Id)
	require.Equal(t, contract.EvaluationStatusSucceeded, anew.Status, "%+v", anew.Error)
	assert.Nil(t, anew.Summary.Panels[0].Labels, "labels from 1 to 5 are none on pass and fail")
	for _, item := range evalRunItems(t, e, as, anew.Id, "").Data {
		assert.Empty(t, item.Repeats[0].Labels)
	}

	// On 1 to 4 there is a 4, too: it is another one. The label of the same person is kept beside it.
	shorter := strings.Replace(ordinal, "5", "4", 1)
	short := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, fmt.Sprintf(`{"eval_run_id":%q}`, old.Id), `,"panels":[`+apitest.PanelJSON("right", made.Id, shorter, "judge-number")+`]`).Id)
	p := &short.Summary.Panels[0]
	assert.Nil(t, p.Labels)
	assert.EqualValues(t, 2, p.LabelsOnOtherScales)
	assert.Contains(t, strings.Join(p.Warnings, "\n"), "2 labels of people were given on another scale or an unknown one, and are not used")
	assert.Contains(t, e.Do(t, http.MethodGet, "/v1/eval-runs/"+short.Id.String()+"/report?format=markdown", nil, as).Body.String(), "2 labels of people were given on another scale")
	items := evalRunItems(t, e, as, short.Id, "").Data
	for _, item := range items {
		assert.Empty(t, item.Repeats[0].Labels)
	}
	apitest.Must[contract.Label](t, e.Do(t, http.MethodPut, "/v1/eval-runs/"+short.Id.String()+"/items/"+items[0].ItemId.String()+"/label", `{"panel":"right","repeat":1,"value":2}`, as), http.StatusOK)
	labelled := awaitLabels(t, e, as, short.Id, func(l *contract.PanelLabels) bool { return l != nil })
	assert.EqualValues(t, 1, labelled.Summary.Panels[0].Labels.Outputs)
	assert.Nil(t, labelled.Summary.Panels[0].Labels.Before, "the panel before had another scale")
	require.Eventually(t, func() bool {
		before := apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodGet, "/v1/eval-runs/"+old.Id.String(), nil, as), http.StatusOK).Summary.Panels[0]
		return before.Labels != nil && before.Labels.Outputs == 2 && before.LabelsOnOtherScales == 1
	}, apitest.EvaluationTime, 50*time.Millisecond)
	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/eval-runs/"+short.Id.String()+"/items/"+items[0].ItemId.String()+"/label?panel=right&repeat=1", nil, as).Code)
	assert.Equal(t, 2, e.Count(t, "SELECT count(*) FROM evaluation_labels"), "those on 1 to 5 stay")
}

// TestReportIsOneText reads the report of an eval-run whose name turns the direction of text, and of which there are warnings.
func TestReportIsOneText(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(*provider.Request, int) *provider.Reply { return apitest.Voted("pass") })})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(1)...)
	ended := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, `,"panels":[`+apitest.PanelJSON("r\u202eight", made.Id, apitest.BinaryScale, "judge")+`]`).Id)
	require.Len(t, ended.Summary.Panels[0].Warnings, 1, "the canary")
	report := e.Do(t, http.MethodGet, "/v1/eval-runs/"+ended.Id.String()+"/report?format=markdown", nil, as).Body.String()
	assert.NotContains(t, report, "\u202e")
	assert.Contains(t, report, "\n- r ight: judge obeyed")
	assert.Contains(t, report, "\n\n1 items: 1 scored", "not a part of the last warning")
}

// TestPanelPassesTheSame refuses judges of a panel that pass different values.
func TestPanelPassesTheSame(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(1)...)
	const ordinal = `,"scale":{"type":"ordinal","min":1,"max":5},"pass":`
	estimate := func(first, second string) int {
		panel := strings.Replace(apitest.PanelJSON("right", made.Id, ordinal+first, "judge-1", "judge-2"), ordinal+first+"}]", ordinal+second+"}]", 1)
		return e.Do(t, http.MethodPost, "/v1/eval-runs/_actions/estimate",
			fmt.Sprintf(`{"project_id":%q,"name":"judged","dataset_id":%q,"target":{"outputs":"reference"},"panels":[%s]}`, project.Id, dataset.Id, panel), as).Code
	}
	assert.Equal(t, http.StatusOK, estimate("4", "4"))
	assert.Equal(t, http.StatusOK, estimate("4", "null"))
	assert.Equal(t, http.StatusUnprocessableEntity, estimate("5", "2"))
	assert.Equal(t, http.StatusUnprocessableEntity, estimate("null", "2"))
}

// TestConnectionDeletedWhileJudging deletes the connection of a judge at its first vote.
func TestConnectionDeletedWhileJudging(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	asked, deleted := make(chan struct{}, 1000), make(chan struct{})
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(_ *provider.Request, n int) *provider.Reply {
		if n >= 0 {
			asked <- struct{}{}
			<-deleted
		}
		return apitest.Voted("pass")
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(100)...)
	started := evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, `,"panels":[`+apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge")+`]`)
	<-asked
	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/providers/"+made.Id.String(), nil, as).Code)
	close(deleted)
	ended := evaluated(t, e, as, started.Id)
	require.Equal(t, contract.EvaluationStatusFailed, ended.Status)
	assert.Equal(t, "provider_deleted", ended.Error.Code)
	assert.Contains(t, ended.Error.Detail, "was deleted. Start a new evaluation")
}

// TestConnectionDeletedWhileAnswering deletes the connection of a model at its first output. Each output that is missing has the reason.
func TestConnectionDeletedWhileAnswering(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	asked, deleted := make(chan struct{}, 1000), make(chan struct{})
	server := provider.Start(t, provider.Options{Answer: func(*provider.Request) *provider.Reply {
		asked <- struct{}{}
		<-deleted
		return &provider.Reply{Error: &provider.Error{Status: http.StatusServiceUnavailable, Message: "Overloaded."}}
	}})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(100)...)
	started := evaluate(t, e, as, project.Id, dataset.Id,
		fmt.Sprintf(`{"config":{"provider_id":%q,"messages":[{"role":"user","content":"{{question}}"}],"model_config":{"model":"model","max_output_tokens":20}}}`, made.Id), "")
	<-asked
	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/providers/"+made.Id.String(), nil, as).Code)
	close(deleted)
	ended := evaluated(t, e, as, started.Id)
	require.Equal(t, contract.EvaluationStatusFailed, ended.Status)
	assert.Equal(t, "provider_deleted", ended.Error.Code)
	for _, reason := range ended.Accounting.Reasons {
		assert.Equal(t, "provider_deleted", reason.Code)
	}
}

// TestEstimateKeepsVotes reads the estimate of an eval-run that makes no outputs, before and after its first items.
func TestEstimateKeepsVotes(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(*provider.Request, int) *provider.Reply { return apitest.Voted("pass") })})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	e.Price(t, as, project.Id, "judge")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(10)...)
	started := evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, `,"panels":[`+apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge")+`]`)
	require.Positive(t, *started.Estimate.CostHighUsd)
	ended := evaluated(t, e, as, started.Id)
	assert.Equal(t, started.Estimate, ended.Estimate)
}

// TestReasonsAreOfVotes finishes an eval-run that lacks an output: no judge failed on it.
func TestReasonsAreOfVotes(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(*provider.Request, int) *provider.Reply { return apitest.Voted("pass") })})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(2)...)
	run := e.BeginEvalRun(t, as, project.Id, dataset.Id, `,"panels":[`+apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge")+`]`)
	e.SendResults(t, as, &run, func(item *contract.EvalRunItem, _ int) string {
		if *item.Key == "q0" {
			return ""
		}
		return `"output":1`
	})
	finished := finishEvalRun(t, e, as, run.Id)
	assert.EqualValues(t, 1, finished.Accounting.Pending)
	assert.Empty(t, finished.Accounting.Reasons)
	p := &finished.Summary.Panels[0]
	assert.EqualValues(t, 1, p.Outputs, "the other was never sent")
	assert.Zero(t, p.Unscored)
	assert.EqualValues(t, 1, p.Votes.Pending)
}

// TestStoppedJudgeIsSaid has a judge whose key is refused, and an escalation that waits for it.
func TestStoppedJudgeIsSaid(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	var fixed atomic.Bool
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(q *provider.Request, n int) *provider.Reply {
		switch {
		case q.Model == "judge-2" && !fixed.Load():
			return &provider.Reply{Error: &provider.Error{Status: http.StatusUnauthorized, Type: "invalid_request_error", Message: "Incorrect API key"}}
		case n < 0 || q.Model == "judge-2" && n == 7:
			return apitest.Voted("fail")
		}
		return apitest.Voted("pass")
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(60)...)
	escalation := fmt.Sprintf(`"escalation":{"name":"top","provider_id":%q,"model_config":{"model":"judge-top"},"rubric":"Is it right?","scale":{"type":"binary"}},"judges"`, made.Id)
	body := strings.Replace(apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-1", "judge-2"), `"judges"`, escalation, 1)
	ended := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, `,"panels":[`+body+`]`).Id)
	require.Equal(t, contract.EvaluationStatusSucceeded, ended.Status, "%+v", ended.Error)
	p := &ended.Summary.Panels[0]
	assert.Nil(t, p.Judges[0].Stopped)
	assert.Nil(t, p.Judges[2].Stopped, "the escalation only waits")
	stopped := p.Judges[1].Stopped
	require.NotNil(t, stopped)
	assert.Positive(t, stopped.Votes)
	assert.Equal(t, p.Judges[1].Votes.Pending, stopped.Votes)
	assert.Equal(t, p.Judges[2].Votes.Pending, stopped.EscalationVotes)
	assert.EqualValues(t, 10, stopped.Failures)
	assert.Equal(t, "provider_key_refused", stopped.Error.Code)
	said := fmt.Sprintf("judge-2 was stopped after 10 failures one after the other, and was not asked for %d votes.", stopped.Votes)
	require.NotEmpty(t, p.Warnings)
	assert.Contains(t, p.Warnings[0], said)
	assert.Contains(t, p.Warnings[0], stopped.Error.Detail)
	assert.Contains(t, p.Warnings[0], "then resume")
	assert.Contains(t, ended.Summary.Sentence, fmt.Sprintf("%d items are not done: judge-2 was stopped", ended.Accounting.Pending))
	base := "/v1/eval-runs/" + ended.Id.String()
	assert.Contains(t, e.Do(t, http.MethodGet, base+"/report?format=markdown", nil, as).Body.String(), said)

	// A later summary says it, too.
	item := evalRunItems(t, e, as, ended.Id, "?limit=1").Data[0]
	apitest.Must[contract.Label](t, e.Do(t, http.MethodPut, base+"/items/"+item.ItemId.String()+"/label", `{"panel":"right","repeat":1,"value":"pass"}`, as), http.StatusOK)
	labelled := awaitLabels(t, e, as, ended.Id, func(l *contract.PanelLabels) bool { return l != nil })
	assert.Equal(t, stopped, labelled.Summary.Panels[0].Judges[1].Stopped)

	fixed.Store(true)
	apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodPost, base+"/_actions/resume", `{"retry_failed":true}`, as), http.StatusOK)
	again := evaluated(t, e, as, ended.Id)
	assert.Zero(t, again.Accounting.Pending)
	assert.Nil(t, again.Summary.Panels[0].Judges[1].Stopped)
	assert.EqualValues(t, 1, again.Summary.Panels[0].Escalated)
	assert.NotContains(t, again.Summary.Sentence, "stopped")
}

// TestCategoriesAreAScore judges by categories that neither pass nor fail: their shares are the score.
func TestCategoriesAreAScore(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(q *provider.Request, n int) *provider.Reply {
		switch {
		case n >= 0 && n < 4 && q.Model != "judge-1": // with the third judge three labels, and no majority
			return apitest.Voted(map[string]string{"judge-2": "casual", "judge-3": "rude"}[q.Model])
		case n%4 == 0:
			return apitest.Voted("casual")
		}
		return apitest.Voted("formal")
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(40)...)
	panel := apitest.PanelJSON("tone", made.Id, `,"scale":{"type":"categorical","labels":["rude","casual","formal"]}`, "judge-1", "judge-2", "judge-3")
	ended := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, `,"panels":[`+panel+`]`).Id)
	require.Equal(t, contract.EvaluationStatusSucceeded, ended.Status, "%+v", ended.Error)
	assert.EqualValues(t, 37, ended.Accounting.Scored, "%+v", ended.Accounting)
	assert.EqualValues(t, 3, ended.Accounting.JudgeFailed, "ties on 1, 2 and 3")
	require.Len(t, ended.Accounting.Reasons, 1)
	assert.EqualValues(t, 3, ended.Accounting.Reasons[0].Count, "of the ties only")
	assert.Equal(t, "judges_tied: tone", ended.Accounting.Reasons[0].Code)
	require.Equal(t, "tone", *ended.PrimaryMetric)
	tone := ended.Summary.Scores[0]
	assert.Nil(t, tone.Mean)
	assert.EqualValues(t, 37, tone.N)
	require.NotNil(t, tone.Categories)
	require.Len(t, *tone.Categories, 3)
	for i, want := range []struct {
		label   string
		outputs int64
	}{{"rude", 0}, {"casual", 10}, {"formal", 27}} {
		got := (*tone.Categories)[i]
		assert.Equal(t, want.label, got.Label)
		assert.Equal(t, want.outputs, got.Outputs)
		assert.InDelta(t, float64(want.outputs)/37, got.Share, 1e-9)
		require.NotNil(t, got.Ci)
		interval := stats.Wilson(float64(want.outputs), 37, 0.05)
		assert.InDelta(t, interval[0], (*got.Ci)[0], 0.01)
		assert.InDelta(t, interval[1], (*got.Ci)[1], 0.01)
	}
	assert.Equal(t, *ended.Summary.Panels[0].Categories, *tone.Categories)
	assert.Contains(t, ended.Summary.Sentence, "37 of 40 items are scored. tone: formal 73.0% [")
	report := e.Do(t, http.MethodGet, "/v1/eval-runs/"+ended.Id.String()+"/report?format=markdown", nil, as).Body.String()
	assert.Contains(t, report, "| casual | 10 | 0.2703 [")
	assert.NotContains(t, report, "| tone |")
	for _, text := range append(ended.Summary.Panels[0].Warnings, ended.Summary.Sentence, ended.Summary.Panels[0].Sentence) {
		assert.NotContains(t, text, "mean")
	}
	for _, item := range evalRunItems(t, e, as, ended.Id, "?status=scored").Data {
		require.NotNil(t, item.Repeats[0].Result.Scores[0].Label)
		if *item.Key == "q8" {
			assert.Equal(t, "casual", *item.Repeats[0].Result.Scores[0].Label)
		}
	}

	again := compared(t, e, as, e.Compare(t, as, fmt.Sprintf(`{"project_id":%q,"dataset_id":%q,"a":{"eval_run_id":%q},"b":{"eval_run_id":%q},"panels":[%s]}`,
		project.Id, dataset.Id, ended.Id, ended.Id, panel)).Id)
	assert.EqualValues(t, 37, again.Accounting.Scored)
	assert.Contains(t, again.Summary.Sentence, "tone has labels that neither pass nor fail, so that no side is better on it.")
}

// TestCancelledPanelSaysThatNothingWasVoted cancels an eval-run before its first vote.
func TestCancelledPanelSaysThatNothingWasVoted(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(*provider.Request, int) *provider.Reply { return apitest.Voted("pass") })})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(3)...)
	started := evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, `,"panels":[`+apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge")+`]`)
	apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodPost, "/v1/eval-runs/"+started.Id.String()+"/_actions/cancel", nil, as), http.StatusOK)
	e.Work(t)
	ended := evaluated(t, e, as, started.Id)
	require.Equal(t, contract.EvaluationStatusCancelled, ended.Status)
	p := &ended.Summary.Panels[0]
	assert.Zero(t, p.Outputs)
	assert.EqualValues(t, 3, p.Votes.Pending)
	assert.Equal(t, "No vote was made, so that there is no score.", p.Sentence)
}
