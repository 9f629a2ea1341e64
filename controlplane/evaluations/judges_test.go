package evaluations_test

import (
	"fmt"
	"net/http"
	"regexp"
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

// evaluate starts an eval-run.
func evaluate(t *testing.T, e *apitest.Env, as apitest.Option, project, dataset uuid.UUID, target, more string) contract.EvalRun {
	t.Helper()
	body := fmt.Sprintf(`{"project_id":%q,"name":"judged","dataset_id":%q,"target":%s%s}`, project, dataset, target, more)
	return apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodPost, "/v1/eval-runs", body, as), http.StatusCreated)
}

// evaluated waits for the summary of an eval-run.
func evaluated(t *testing.T, e *apitest.Env, as apitest.Option, id uuid.UUID) (ended contract.EvalRun) {
	t.Helper()
	if !assert.Eventually(t, func() bool {
		e.Clock.Advance(20 * time.Millisecond)
		ended = apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodGet, "/v1/eval-runs/"+id.String(), nil, as), http.StatusOK)
		return ended.Summary != nil
	}, apitest.EvaluationTime, 50*time.Millisecond) {
		require.FailNow(t, "no summary", "%s: %+v, %+v, %+v", ended.Status, ended.Progress, ended.VoteProgress, ended.Error)
	}
	requireVotesAdditive(t, &ended)
	return ended
}

// requireVotesAdditive requires that all counts of an eval-run add up.
func requireVotesAdditive(t *testing.T, r *contract.EvalRun) {
	t.Helper()
	a := &r.Accounting
	require.Equal(t, a.Items, a.Scored+a.TargetFailed+a.JudgeFailed+a.Skipped+a.Pending, "%+v", a)
	require.Equal(t, r.Progress.Total, a.Outputs+a.OutputsFailed+a.OutputsSkipped+a.OutputsPending, "%+v", a)
	if r.VoteProgress == nil {
		require.Nil(t, a.Votes)
		return
	}
	v := a.Votes
	require.NotNil(t, v)
	failed := v.ParseError + v.Refused + v.OffScale + v.Timeout + v.ProviderError
	require.Equal(t, v.Total, v.Ok+failed+v.Skipped+v.Pending, "%+v", v)
	require.Equal(t, contract.VoteProgress{Total: v.Total, Done: v.Total - v.Pending, Failed: failed, Skipped: v.Skipped}, *r.VoteProgress)
	var total int64
	for i := range r.Summary.Panels {
		p := &r.Summary.Panels[i]
		total += p.Votes.Total
		var ofJudges int64
		for j := range p.Judges {
			ofJudges += p.Judges[j].Votes.Total
		}
		require.Equal(t, p.Votes.Total, ofJudges)
	}
	require.Equal(t, v.Total, total)
}

func evalRunItems(t *testing.T, e *apitest.Env, as apitest.Option, id uuid.UUID, query string) contract.EvalRunItemPage {
	t.Helper()
	return apitest.Must[contract.EvalRunItemPage](t, e.Do(t, http.MethodGet, "/v1/eval-runs/"+id.String()+"/items"+query, nil, as), http.StatusOK)
}

func TestPanelJudgesConfiguration(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(q *provider.Request, n int) *provider.Reply {
		right := n >= 0 && n%3 != 0
		if q.Model == "judge-3" && n%5 == 0 {
			right = !right
		}
		return apitest.Voted(map[bool]string{true: "pass", false: "fail"}[right])
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	for _, model := range []string{"model-a", "judge-1", "judge-2", "judge-3"} {
		e.Price(t, as, project.Id, model)
	}
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(30)...)
	target := fmt.Sprintf(`{"config":{"provider_id":%q,"messages":[{"role":"user","content":"{{question}}"}],"model_config":{"model":"model-a","max_output_tokens":20}}}`, made.Id)
	more := `,"repeats":2,"max_cost_usd":5,"panels":[` + apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-1", "judge-2", "judge-3") + `],"graders":[` + apitest.ExactGrader + `]`

	estimate := apitest.Must[contract.EvaluationEstimate](t, e.Do(t, http.MethodPost, "/v1/eval-runs/_actions/estimate",
		fmt.Sprintf(`{"project_id":%q,"name":"judged","dataset_id":%q,"target":%s%s}`, project.Id, dataset.Id, target, more), as), http.StatusOK)
	assert.EqualValues(t, 30*2*3+3, estimate.JudgeCalls, "with a canary each")
	assert.EqualValues(t, 60+183, estimate.Calls)
	require.NotNil(t, estimate.CostHighUsd)

	started := evaluate(t, e, as, project.Id, dataset.Id, target, more)
	assert.Equal(t, contract.EvalRunTargetReadTypeConfig, started.Target.Type)
	ended := evaluated(t, e, as, started.Id)
	require.Equal(t, contract.EvaluationStatusSucceeded, ended.Status, "%+v", ended.Error)
	assert.EqualValues(t, 30, ended.Accounting.Scored)
	assert.EqualValues(t, 180, ended.Accounting.Votes.Ok)
	assert.Equal(t, "right", *ended.PrimaryMetric)
	assert.EqualValues(t, 243, ended.Cost.Calls)
	assert.Positive(t, ended.Cost.Usd)

	require.Len(t, ended.Summary.Panels, 1)
	p := &ended.Summary.Panels[0]
	assert.EqualValues(t, 60, p.Outputs)
	assert.Zero(t, p.Unscored)
	assert.EqualValues(t, 12, p.Split, "6 items, 2 repeats")
	require.NotNil(t, p.Reliability)
	assert.Equal(t, 3, p.Reliability.Raters)
	assert.NotEmpty(t, p.Sentence)
	for _, j := range p.Judges {
		assert.Equal(t, contract.PanelJudgeCanaryHeld, *j.Canary)
		assert.Positive(t, j.CostUsd)
	}
	scores := map[string]contract.EvalRunMetric{}
	for _, m := range ended.Summary.Scores {
		scores[m.Name] = m
	}
	assert.InDelta(t, 20.0/30, *scores["right"].Mean, 1e-9, "the majority outvotes judge-3")
	assert.InDelta(t, 20.0/30, *scores["right"].PassRate, 1e-9)
	assert.InDelta(t, 20.0/30, *scores["correct"].Mean, 1e-9)
	require.NotNil(t, scores["right"].AllPass)
	assert.InDelta(t, 20.0/30, scores["right"].AllPass.Value, 1e-9)
	assert.EqualValues(t, 30, scores["right"].AllPass.N)

	split := evalRunItems(t, e, as, started.Id, "?split=right")
	require.Len(t, split.Data, 6)
	votes := split.Data[0].Repeats[0].Result.Votes
	require.Len(t, votes, 3)
	assert.Equal(t, contract.VoteStatusOk, votes[0].Status)
	assert.Equal(t, "because", votes[0].Reason)
	assert.NotNil(t, votes[0].RunId)
	assert.NotEqual(t, *votes[0].Pass, *votes[2].Pass)

	// The same again: all outputs are made anew, and equal, so that no vote is.
	again := apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodPost, "/v1/eval-runs/"+started.Id.String()+"/_actions/rerun", nil, as), http.StatusCreated)
	repeated := evaluated(t, e, as, again.Id)
	assert.EqualValues(t, 180, repeated.Accounting.Votes.Cached)
	assert.EqualValues(t, 60+3, repeated.Cost.Calls)
	assert.Equal(t, p.Reliability, repeated.Summary.Panels[0].Reliability)

	for _, format := range []string{"json", "markdown", "junit"} {
		w := e.Do(t, http.MethodGet, "/v1/eval-runs/"+started.Id.String()+"/report?format="+format, nil, as)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		assert.Contains(t, w.Body.String(), "right")
	}
	csv := e.Do(t, http.MethodGet, "/v1/eval-runs/"+started.Id.String()+"/export?format=csv", nil, as)
	assert.Equal(t, 1+180, strings.Count(strings.TrimSpace(csv.Body.String()), "\n")+1)
}

// TestFaultyPanel judges while about a third of the votes fail in all ways.
func TestFaultyPanel(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	e.Providers.IdleTimeout = time.Second
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	faults := []provider.Reply{
		{Error: &provider.Error{Status: http.StatusInternalServerError, Type: "server_error", Message: "broken"}},
		{Error: &provider.Error{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Message: "slow down"}, Header: http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"10"}}},
		{Text: `{"reason": "cut", "value": "pa`, Fault: provider.Cut, After: 1},
		{Text: "I would give it four out of five."},
		{Refusal: "I can't assist with that."},
		*apitest.Voted("excellent"),
		{Text: `{"reason": "I think", `, Finish: "length"},
	}
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(q *provider.Request, n int) *provider.Reply {
		switch {
		case n < 0:
			return apitest.Voted("fail")
		case n == 0 && q.Model == "judge-1": // one, since each attempt takes the whole idle timeout
			return &provider.Reply{Fault: provider.Stall}
		case q.Model == "judge-1" && n%10 < 7, q.Model != "judge-1" && n%10 == 9:
			return new(faults[(n+len(q.Model))%len(faults)])
		}
		return apitest.Voted("pass")
	})})
	made := e.Connect(t, as, project.Id, "openai", server, `,"max_concurrency":50`)
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(70)...)
	ended := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`,
		`,"panels":[`+apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-1", "judge-2", "judge-3")+`]`).Id)
	require.Equal(t, contract.EvaluationStatusSucceeded, ended.Status, "%+v", ended.Error)
	v := ended.Accounting.Votes
	assert.EqualValues(t, 210, v.Total)
	assert.Zero(t, v.Pending)
	assert.Positive(t, v.ParseError)
	assert.Positive(t, v.Refused)
	assert.Positive(t, v.OffScale)
	assert.Positive(t, v.ProviderError)
	assert.EqualValues(t, 1, v.Timeout)
	late := 0
	for _, item := range evalRunItems(t, e, as, ended.Id, "?limit=500").Data {
		for _, vote := range item.Repeats[0].Result.Votes {
			if vote.Status != contract.VoteStatusOk {
				assert.Nil(t, vote.Value)
				assert.Nil(t, vote.Label)
				assert.Nil(t, vote.Score, "no failure is a number")
				assert.Nil(t, vote.Pass)
			}
			if vote.Status == contract.VoteStatusTimeout {
				late++
				require.NotNil(t, vote.Error)
				assert.Contains(t, vote.Error.Detail, "sent nothing for 1s")
			}
		}
	}
	assert.EqualValues(t, v.Timeout, late)
	assert.Equal(t, v.Timeout, ended.Summary.Panels[0].Votes.Timeout)
	assert.EqualValues(t, 70, ended.Accounting.Scored+ended.Accounting.JudgeFailed)
	for _, m := range ended.Summary.Scores {
		if m.Name == "right" {
			assert.InDelta(t, 1.0, *m.Mean, 1e-9, "no failure is a 0")
			assert.Equal(t, ended.Accounting.Scored, m.N)
		}
	}
	retried := apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodPost, "/v1/eval-runs/"+ended.Id.String()+"/_actions/resume", `{"retry_failed":true}`, as), http.StatusOK)
	assert.Nil(t, retried.Summary)
	again := evaluated(t, e, as, ended.Id)
	assert.Equal(t, v.Ok, again.Accounting.Votes.Ok)
}

func TestPanelJudgesResultsFromOutside(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(_ *provider.Request, n int) *provider.Reply { return apitest.Voted(1 + max(0, n)%5) })})
	made := e.Connect(t, as, project.Id, "anthropic", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(10)...)
	run := e.BeginEvalRun(t, as, project.Id, dataset.Id, `,"panels":[`+apitest.PanelJSON("quality", made.Id, `,"scale":{"type":"ordinal","min":1,"max":5},"pass":4`, "judge-1")+`]`)
	assert.Zero(t, run.VoteProgress.Done)
	e.SendResults(t, as, &run, func(item *contract.EvalRunItem, _ int) string {
		if item.Number == 1 {
			return `"error":{"code":"Timeout"}`
		}
		return `"output":"an answer"`
	})
	finished := apitest.Must[contract.EvalRunFinished](t, e.Do(t, http.MethodPost, "/v1/eval-runs/"+run.Id.String()+"/_actions/finish", nil, as), http.StatusOK)
	assert.Contains(t, []contract.EvaluationStatus{contract.EvaluationStatusQueued, contract.EvaluationStatusRunning, contract.EvaluationStatusSucceeded}, finished.EvalRun.Status)
	w := e.Do(t, http.MethodPost, "/v1/eval-runs/"+run.Id.String()+"/results", fmt.Sprintf(`{"items":[{"item_id":%q,"repeat":1,"output":"late"}],"replace":true}`, uuid.New()), as)
	assert.Equal(t, http.StatusConflict, w.Code, w.Body)
	ended := evaluated(t, e, as, run.Id)
	require.Equal(t, contract.EvaluationStatusSucceeded, ended.Status, "%+v", ended.Error)
	assert.EqualValues(t, 9, ended.Accounting.Scored)
	assert.EqualValues(t, 1, ended.Accounting.TargetFailed)
	assert.EqualValues(t, 9, ended.Accounting.Votes.Ok)
	assert.EqualValues(t, 1, ended.Accounting.Votes.Skipped)
	p := &ended.Summary.Panels[0]
	assert.Nil(t, p.Reliability, "a single judge")
	assert.EqualValues(t, 9, p.Outputs)
	item := evalRunItems(t, e, as, run.Id, "?limit=2").Data[1] // number 1
	vote := item.Repeats[0].Result.Votes[0]
	assert.InDelta(t, 2, *vote.Value, 0)
	assert.InDelta(t, 0.25, *vote.Score, 1e-9)
	assert.False(t, *vote.Pass)
	assert.InDelta(t, 0.25, *item.Repeats[0].Result.Scores[0].Score, 1e-9)
}

// TestPreferenceInBothOrders compares two sides by a judge that prefers b, and by one that prefers what comes first.
func TestPreferenceInBothOrders(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	firstOutput := regexp.MustCompile(`(?s)⟦first_output [0-9a-f]+⟧\n(.*?)\n⟦end of first_output`)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(q *provider.Request, _ int) *provider.Reply {
		if q.Model == "judge-place" {
			return apitest.Voted("first")
		}
		said := firstOutput.FindStringSubmatch(q.Last())
		if said == nil || said[1] == "unknown" {
			return apitest.Voted("second")
		}
		return apitest.Voted("first")
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(30)...)
	preference := strings.Replace(apitest.PanelJSON("preferred", made.Id, "", "judge-fair"), `{"name"`, `{"kind":"preference","name"`, 1)
	placed := strings.Replace(apitest.PanelJSON("placed", made.Id, "", "judge-place"), `{"name"`, `{"kind":"preference","name"`, 1)
	ended := compared(t, e, as, e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"panels":[`+preference+`,`+placed+`]`)).Id)
	require.Equal(t, contract.EvaluationStatusSucceeded, ended.Status, "%+v", ended.Error)
	require.Len(t, ended.Summary.Panels, 2)
	assert.EqualValues(t, 120, ended.Accounting.Votes.Ok)
	always := ended.Summary.Panels[1].Judges[0]
	assert.InDelta(t, 0, *always.PositionConsistency.Value, 1e-9)
	assert.InDelta(t, 0.5, *metricOf(t, &ended, "placed").B.Mean, 1e-9, "a win in one order only is a tie")
	require.NotEmpty(t, ended.Summary.Panels[1].Warnings)
	report := e.Do(t, http.MethodGet, "/v1/comparisons/"+ended.Id.String()+"/report?format=markdown", nil, as).Body.String()
	assert.Contains(t, report, "\n- placed: "+ended.Summary.Panels[1].Warnings[0])
	preferred := metricOf(t, &ended, "preferred")
	assert.InDelta(t, 1, *preferred.A.Mean+*preferred.B.Mean, 1e-9)
	items := comparisonItems(t, e, as, ended.Id, "?limit=1")
	preferences := items.Data[0].Repeats[0].Preferences
	require.Len(t, preferences, 2)
	assert.Len(t, preferences[0].Votes, 2)
	require.NotNil(t, preferences[1].Winner)
	assert.Equal(t, contract.ComparisonPreferenceWinnerTie, *preferences[1].Winner)
}

// TestEscalation asks a third judge only where two differ.
func TestEscalation(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(q *provider.Request, n int) *provider.Reply {
		return apitest.Voted(map[bool]string{true: "pass", false: "fail"}[n >= 0 && (q.Model == "judge-1" || q.Model == "judge-2" && n%4 != 0)])
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(20)...)
	escalation := fmt.Sprintf(`"escalation":{"name":"top","provider_id":%q,"model_config":{"model":"judge-top"},"rubric":"Is it right?","scale":{"type":"binary"}},"judges"`, made.Id)
	body := strings.Replace(apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-1", "judge-2"), `"judges"`, escalation, 1)
	ended := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, `,"panels":[`+body+`]`).Id)
	p := &ended.Summary.Panels[0]
	assert.EqualValues(t, 5, p.Split)
	assert.EqualValues(t, 5, p.Escalated)
	assert.EqualValues(t, 45, ended.Accounting.Votes.Ok)
	assert.EqualValues(t, 15, ended.Accounting.Votes.Skipped, "the escalation is not asked")
	for _, m := range ended.Summary.Scores {
		if m.Name == "right" {
			assert.InDelta(t, 0.75, *m.Mean, 1e-9)
		}
	}
}

// TestLabels labels outputs, and judges them again with another judge.
func TestLabels(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(q *provider.Request, n int) *provider.Reply {
		wrong := q.Model == "judge-old" && n%2 == 0 || q.Model == "judge-new" && n%8 == 0
		return apitest.Voted(map[bool]string{true: "pass", false: "fail"}[n >= 0 && (n < 20) != wrong])
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(40)...)
	old := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, `,"panels":[`+apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-old")+`]`).Id)
	assert.Nil(t, old.Summary.Panels[0].Labels)
	labelled := 0
	for _, item := range evalRunItems(t, e, as, old.Id, "?limit=500").Data {
		n, err := strconv.Atoi(strings.TrimPrefix(*item.Key, "q"))
		require.NoError(t, err)
		if n%4 == 3 {
			continue
		}
		label := apitest.Must[contract.Label](t, e.Do(t, http.MethodPut, "/v1/eval-runs/"+old.Id.String()+"/items/"+item.ItemId.String()+"/label",
			fmt.Sprintf(`{"panel":"right","repeat":1,"value":%v,"note":"seen"}`, n < 20), as), http.StatusOK)
		assert.Equal(t, n < 20, *label.Pass)
		labelled++
	}
	item := evalRunItems(t, e, as, old.Id, "?limit=1").Data[0]
	path := "/v1/eval-runs/" + old.Id.String() + "/items/" + item.ItemId.String() + "/label"
	assert.Equal(t, http.StatusUnprocessableEntity, e.Do(t, http.MethodPut, path, `{"panel":"right","repeat":1,"value":"excellent"}`, as).Code)
	assert.Equal(t, http.StatusUnprocessableEntity, e.Do(t, http.MethodPut, path, `{"panel":"other","repeat":1,"value":true}`, as).Code)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodPut, path, `{"panel":"right","repeat":2,"value":true}`, as).Code)

	target := fmt.Sprintf(`{"eval_run_id":%q,"labelled":true}`, old.Id)
	anew := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, target, `,"panels":[`+apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-new")+`]`).Id)
	assert.EqualValues(t, labelled, anew.Accounting.Items)
	labels := anew.Summary.Panels[0].Labels
	require.NotNil(t, labels)
	assert.EqualValues(t, labelled, labels.Outputs)
	assert.Equal(t, 1, labels.People)
	assert.InDelta(t, 25.0/30, *labels.Agreement.Value, 1e-9, "wrong on 0, 8, 16, 24, 32")
	require.NotNil(t, labels.Before)
	assert.InDelta(t, 10.0/30, *labels.Before.Agreement.Value, 1e-9, "wrong on even ones")
	assert.InDelta(t, 15.0/30, *labels.Before.Difference.Estimate, 1e-9)

	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path+"?panel=right&repeat=1", nil, as).Code)
	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path+"?panel=right&repeat=1", nil, as).Code, "it is gone")
}

func TestTryJudge(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(*provider.Request, int) *provider.Reply { return apitest.Voted(5) })})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	body := fmt.Sprintf(`{"project_id":%q,"judge":{"name":"gpt","provider_id":%q,"model_config":{"model":"judge-1"},"ready_made":"helpfulness"},"samples":[{"input":"number 1","output":"1"}]}`, project.Id, made.Id)
	tried := apitest.Must[contract.JudgeTestResult](t, e.Do(t, http.MethodPost, "/v1/judges/_actions/test", body, as), http.StatusOK)
	require.Len(t, tried.Votes, 1)
	assert.Equal(t, contract.VoteStatusOk, tried.Votes[0].Vote.Status)
	assert.Len(t, tried.Votes[0].Sent, 2)
	assert.Equal(t, contract.JudgeTestResultCanaryResultObeyed, tried.CanaryResult)
	assert.NotEmpty(t, apitest.Must[contract.ReadyMadeJudgeList](t, e.Do(t, http.MethodGet, "/v1/judges", nil, as), http.StatusOK).Data)
}
