package evaluations_test

import (
	"fmt"
	"net/http"
	"net/url"
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
	"github.com/looptrace/looptrace/test/provider"
)

// TestEvaluateRecordedRuns judges the outputs of recorded runs, some of which have none.
func TestEvaluateRecordedRuns(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(_ *provider.Request, n int) *provider.Reply {
		return apitest.Voted(map[bool]string{true: "pass", false: "fail"}[n >= 0 && n < 8])
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	ids := map[uuid.UUID]int{}
	for n := range 10 {
		ids[e.RecordNumber(t, address, project.Id, n, nil)] = n
	}
	for n, change := range []func(*apitest.SourceRun){
		func(r *apitest.SourceRun) { r.Running = true },
		func(r *apitest.SourceRun) { r.Question = "" }, // without an input and an output
		func(r *apitest.SourceRun) { r.Session = "other" },
		func(r *apitest.SourceRun) { r.Ago = 8 * 24 * time.Hour },
		func(r *apitest.SourceRun) { r.Source = runmodel.SourceEvaluation },
	} {
		e.RecordNumber(t, address, project.Id, 10+n, change)
	}

	dataset := e.CreateDatasetOf(t, as, project.Id, "recorded", `{"key":"mine","input":"a question of mine"}`)
	more := `,"panels":[` + apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-1") + `],"graders":[{"name":"numbered","type":"string_check","operation":"starts_with","reference":"number"}]`
	body := func(target, more string) string {
		return fmt.Sprintf(`{"project_id":%q,"name":"judged","dataset_id":%q,"target":%s%s}`, project.Id, dataset.Id, target, more)
	}
	const target = `{"run_filter":"session_id=support"}`
	estimate := apitest.Must[contract.EvaluationEstimate](t, e.Do(t, http.MethodPost, "/v1/eval-runs/_actions/estimate", body(target, more), as), http.StatusOK)
	assert.EqualValues(t, 10, estimate.Items)
	assert.EqualValues(t, 11, estimate.JudgeCalls)
	found := contract.EvaluatedRuns{Matched: 12, Selected: 12, Evaluated: 10, Skipped: []contract.SkippedRuns{
		{Reason: "$.input finds nothing: it was not recorded; $.output finds nothing: it was not recorded", Runs: 1}, {Reason: "has not ended", Runs: 1},
	}}
	assert.Equal(t, &found, estimate.Runs)
	assert.Equal(t, 0, e.Count(t, "SELECT count(*) FROM dataset_items WHERE source_run_id IS NOT NULL"), "an estimate writes nothing")

	started := evaluate(t, e, as, project.Id, dataset.Id, target, more)
	assert.Equal(t, contract.EvalRunTargetReadTypeRuns, started.Target.Type)
	assert.EqualValues(t, 10, started.Progress.Done)
	ended := evaluated(t, e, as, started.Id)
	require.Equal(t, contract.EvaluationStatusSucceeded, ended.Status, "%+v", ended.Error)
	assert.Equal(t, &found, ended.Target.Runs)
	assert.Equal(t, "session_id=support", *ended.Target.RunFilter)
	assert.Equal(t, 7*24*time.Hour, ended.Target.To.Sub(*ended.Target.From).Round(time.Second))
	assert.Equal(t, 2, ended.Dataset.Revision)
	assert.EqualValues(t, 10, ended.Accounting.Scored)
	assert.Contains(t, ended.Summary.Sentence, "2 of 12 recorded runs could not be evaluated (1: $.input finds nothing: it was not recorded; $.output finds nothing: it was not recorded; 1: has not ended).")
	assert.Zero(t, ended.CostUnknownResults)
	scores := map[string]contract.EvalRunMetric{}
	for _, m := range ended.Summary.Scores {
		scores[m.Name] = m
	}
	assert.InDelta(t, .8, *scores["right"].Mean, 1e-9)
	assert.InDelta(t, 1, *scores["numbered"].Mean, 1e-9)
	items := evalRunItems(t, e, as, started.Id, "?limit=500").Data
	require.Len(t, items, 10)
	for _, item := range items {
		result := item.Repeats[0].Result
		n, ours := ids[*result.RunId]
		require.True(t, ours)
		assert.Equal(t, fmt.Sprintf(`"number %d"`, n), string(*item.Input))
		assert.Nil(t, item.ReferenceOutput)
		assert.Equal(t, fmt.Sprintf(`"number %d"`, n), string(*result.Output))
		assert.InDelta(t, 1000, *result.DurationMs, 10)
		assert.EqualValues(t, 200, *result.Usage.InputTokens)
		assert.InDelta(t, .25, *result.CostUsd, 1e-9, "of two calls")
		assert.Equal(t, "gpt-5", *result.Model)
	}

	// The same again: the dataset has these items, one of which a person fixed. No vote on the others is made again.
	edited := items[0].ItemId
	w := e.Do(t, http.MethodPatch, "/v1/datasets/"+dataset.Id.String()+"/items/"+edited.String(), `{"reference_output":"42"}`, as)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	again := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, target, more).Id)
	assert.Equal(t, 3, again.Dataset.Revision, "nothing is added")
	assert.EqualValues(t, 9, again.Accounting.Votes.Cached)
	assert.Equal(t, 10, e.Count(t, "SELECT count(*) FROM dataset_items WHERE source_run_id IS NOT NULL AND removed_in IS NULL"))
	rerun := e.Do(t, http.MethodPost, "/v1/eval-runs/"+again.Id.String()+"/_actions/rerun", nil, as)
	assert.Equal(t, "target_external", apitest.WantProblem(t, rerun, http.StatusConflict).Code)

	// A sample by the seed is the same every time, and says how many match.
	sample := func(seed int) (list []uuid.UUID) {
		t.Helper()
		run := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"run_filter":"session_id=support&status=ok","max_runs":5}`, fmt.Sprintf(`,"seed":%d`, seed)).Id)
		assert.Equal(t, contract.EvaluationStatusSucceeded, run.Status)
		assert.EqualValues(t, 11, run.Target.Runs.Matched)
		assert.EqualValues(t, 5, run.Target.Runs.Selected)
		for _, item := range evalRunItems(t, e, as, run.Id, "").Data {
			list = append(list, *item.Repeats[0].Result.RunId)
		}
		return list
	}
	first := sample(1)
	assert.Equal(t, first, sample(1))
	seeds := 0
	for seed := 2; seed < 6; seed++ {
		if !assert.ObjectsAreEqual(first, sample(seed)) {
			seeds++
		}
	}
	assert.Positive(t, seeds, "another seed, another sample")

	// Those of evaluations only if the filter asks; times in place of the week.
	all := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"run_filter":"source=all","from":"2020-01-01T00:00:00Z"}`, `,"split":"recorded"`).Id)
	assert.EqualValues(t, 15, all.Target.Runs.Matched)
	assert.EqualValues(t, 13, all.Accounting.Items)

	// What is refused, and leaves nothing behind.
	before := e.Count(t, "SELECT count(*) FROM evaluations") + e.Count(t, "SELECT count(*) FROM dataset_revisions")
	for target, wrong := range map[string]string{
		`{"run_filter":"status=great"}`:                                                      "body.target.run_filter has the parameter status",
		`{"run_filter":"replayability=some"}`:                                                "body.target.run_filter has the parameter replayability",
		`{"run_filter":"session_id=support&replayability=structure"}`:                        "matches no run that started",
		`{"run_filter":"colour=red"}`:                                                        "is no filter of runs",
		`{"run_filter":"project_id=` + uuid.NewString() + `"}`:                               "stands in project_id",
		`{"run_filter":"window_seconds=60"}`:                                                 "stands in target.from",
		`{"run_filter":"min_tokens=many"}`:                                                   "min_tokens",
		`{"run_filter":"%zz"}`:                                                               "query string",
		`{"run_filter":"session_id=nobody"}`:                                                 "matches no run that started",
		`{"run_filter":"status=running"}`:                                                    "1: has not ended",
		`{"run_filter":"","from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}`:        "must be after from",
		`{"run_filter":"metadata` + url.QueryEscape("[tier]") + `=gold&session_id=support"}`: "matches no run",
	} {
		got := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/eval-runs", body(target, ""), as), http.StatusUnprocessableEntity)
		var texts []string
		for _, field := range *got.Errors {
			texts = append(texts, field.Location+" "+field.Message)
		}
		assert.Contains(t, strings.Join(texts, "\n"), wrong, target)
	}
	for _, more := range []string{`,"repeats":2`, `,"revision":1`, fmt.Sprintf(`,"item_ids":[%q]`, edited), `,"panels":[` + apitest.PanelJSON("right", uuid.New(), apitest.BinaryScale, "judge-1") + `]`} {
		assert.Equal(t, http.StatusUnprocessableEntity, e.Do(t, http.MethodPost, "/v1/eval-runs", body(target, more), as).Code, more)
	}
	assert.Equal(t, before, e.Count(t, "SELECT count(*) FROM evaluations")+e.Count(t, "SELECT count(*) FROM dataset_revisions"))

	// Scopes, and the runs of others.
	for missing, scopes := range map[contract.Scope][]contract.Scope{
		contract.ScopeRunsRead:      {contract.ScopeEvalsWrite, contract.ScopeDatasetsRead, contract.ScopeDatasetsWrite},
		contract.ScopeDatasetsWrite: {contract.ScopeEvalsWrite, contract.ScopeDatasetsRead, contract.ScopeRunsRead},
	} {
		key := e.Mint(t, session, project.Id, scopes...)
		for _, path := range []string{"/v1/eval-runs", "/v1/eval-runs/_actions/estimate"} {
			refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, path, body(target, ""), apitest.Bearer(key.Key)), http.StatusForbidden)
			assert.Equal(t, "scope_missing", refused.Code)
			assert.Contains(t, *refused.Detail, string(missing))
		}
	}
}

// TestRecordedRunsAllOrNothing fails in the middle of a start.
func TestRecordedRunsAllOrNothing(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.RecordNumber(t, address, project.Id, 1, nil)
	dataset := e.CreateDatasetOf(t, as, project.Id, "recorded", `{"key":"mine","input":"a question of mine"}`)
	e.Exec(t, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$`)
	e.Exec(t, `CREATE TRIGGER refuse BEFORE INSERT ON evaluation_outputs EXECUTE FUNCTION refuse()`)
	body := fmt.Sprintf(`{"project_id":%q,"name":"judged","dataset_id":%q,"target":{"run_filter":""}}`, project.Id, dataset.Id)
	assert.Equal(t, http.StatusInternalServerError, e.Do(t, http.MethodPost, "/v1/eval-runs", body, as).Code)
	for _, table := range []string{"evaluations", "evaluation_items", "river_job"} {
		assert.Zero(t, e.Count(t, "SELECT count(*) FROM "+table), table)
	}
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM dataset_items"))
	e.Exec(t, `DROP TRIGGER refuse ON evaluation_outputs`)
	e.Work(t)
	run := apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodPost, "/v1/eval-runs", body, as), http.StatusCreated)
	assert.EqualValues(t, 1, evaluated(t, e, as, run.Id).Accounting.Scored)
}

// TestFailuresOfRecordedRuns holds that the metric failures counts recorded runs that a score fails, as Failures does. Their outputs are
// graded all the same.
func TestFailuresOfRecordedRuns(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	for n := range 4 {
		id := e.RecordNumber(t, address, project.Id, n, nil)
		body := fmt.Sprintf(`{"name":"solved","value":%t}`, n > 0)
		w := e.Do(t, http.MethodPost, "/v1/runs/"+id.String()+"/scores", body, as)
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
	}
	dataset := e.CreateDatasetOf(t, as, project.Id, "recorded", `{"key":"mine","input":"a question of mine"}`)
	const graders = `,"graders":[{"name":"numbered","type":"string_check","operation":"starts_with","reference":"number"}]`
	for target, want := range map[string]struct {
		runs     int64
		failures float64
	}{
		`{"run_filter":"session_id=support"}`:                {4, .25},
		`{"run_filter":"session_id=support&outcome=failed"}`: {1, 1},
	} {
		ended := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, target, graders).Id)
		require.Equal(t, contract.EvaluationStatusSucceeded, ended.Status, "%+v", ended.Error)
		assert.Equal(t, want.runs, ended.Accounting.Scored)
		means := map[string]float64{}
		for _, m := range ended.Summary.Scores {
			means[m.Name] = *m.Mean
		}
		assert.InDelta(t, want.failures, means["failures"], 1e-9)
		assert.InDelta(t, 1, means["numbered"], 1e-9)
	}
}
