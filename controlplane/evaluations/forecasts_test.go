package evaluations_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// flaky answers item n of repeat r with 1 unless n+3r, plus what tells eval-runs apart, is a multiple of 7.
func flaky(t *testing.T, apart int) func(*contract.EvalRunItem, int) string {
	t.Helper()
	return func(item *contract.EvalRunItem, repeat int) string {
		n, err := strconv.Atoi(strings.TrimPrefix(*item.Key, "q"))
		require.NoError(t, err)
		score := 1
		if (n+3*repeat+apart)%7 == 0 {
			score = 0
		}
		return fmt.Sprintf(`"output":1,"cost_usd":0.01,"scores":[{"name":"own","score":%d}]`, score)
	}
}

func TestForecast(t *testing.T) {
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
	forecast := func(query string) *contract.EvaluationForecast {
		t.Helper()
		body := fmt.Sprintf(`{"project_id":%q,"name":"next","dataset_id":%q,"target":{"external":true},"primary_metric":"own","repeats":2}`, project.Id, dataset.Id)
		return apitest.Must[contract.EvaluationEstimate](t, e.Do(t, http.MethodPost, "/v1/eval-runs/_actions/estimate"+query, body, as), http.StatusOK).Forecast
	}
	found := forecast("")
	require.NotNil(t, found)
	assert.Equal(t, contract.Assumption, found.Basis)
	assert.Empty(t, found.EvalRuns)
	assert.Nil(t, found.Needed)
	assert.Nil(t, found.Seconds)
	assert.EqualValues(t, 60, found.Items)
	assert.Equal(t, 2, found.Repeats)
	assert.Less(t, found.MarginLow, found.MarginHigh)
	assert.Contains(t, found.Sentence, "if 10 to 30% of the items come out differently")
	assert.Equal(t, http.StatusUnprocessableEntity, e.Do(t, http.MethodPost, "/v1/eval-runs/_actions/estimate?power=1", "{}", as).Code)

	// An eval-run with repeats tells of an unchanged system, two of them how the score differs between them.
	first := e.BeginEvalRun(t, as, project.Id, dataset.Id, `,"repeats":2`)
	e.SendResults(t, as, &first, flaky(t, 0))
	finishEvalRun(t, e, as, first.Id)
	found = forecast("?margin=0.02")
	assert.Equal(t, contract.Repeats, found.Basis)
	require.Len(t, found.EvalRuns, 1)
	assert.Equal(t, first.Id, found.EvalRuns[0].Id)
	require.NotNil(t, found.Seconds)
	require.NotNil(t, found.Needed.Items)
	assert.Greater(t, found.Needed.Items.Low, int64(60))
	assert.True(t, found.Needed.SplitKnown)
	assert.Nil(t, found.Needed.Repeats, "60 items do not show that 2 points of other items are not lost")
	assert.Contains(t, found.Sentence, "no number of repeats of these items is enough")
	second := e.BeginEvalRun(t, as, project.Id, dataset.Id, `,"repeats":2`)
	e.SendResults(t, as, &second, flaky(t, 1))
	finishEvalRun(t, e, as, second.Id)
	found = forecast("?margin=0.1&power=0.9")
	assert.Equal(t, contract.Differences, found.Basis)
	assert.Equal(t, []uuid.UUID{second.Id, first.Id}, []uuid.UUID{found.EvalRuns[0].Id, found.EvalRuns[1].Id})
	assert.Less(t, found.Needed.Items.Low, *found.Needed.Items.High)
	assert.Contains(t, found.Sentence, "in 90.0% of cases")
	assert.Contains(t, found.Sentence, "A margin of 10.0 points needs about ")

	// Who may start eval-runs and not read them learns nothing of others.
	blind := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeEvalsWrite, contract.ScopeDatasetsRead).Key)
	own := fmt.Sprintf(`{"project_id":%q,"name":"next","dataset_id":%q,"target":{"external":true},"primary_metric":"own"}`, project.Id, dataset.Id)
	unseen := apitest.Must[contract.EvaluationEstimate](t, e.Do(t, http.MethodPost, "/v1/eval-runs/_actions/estimate", own, blind), http.StatusOK).Forecast
	assert.Equal(t, contract.Assumption, unseen.Basis)
	assert.Nil(t, unseen.Seconds)

	// A comparison has the cost of what a margin needs.
	body := apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"repeats":1`)
	estimate := apitest.Must[contract.EvaluationEstimate](t, e.Do(t, http.MethodPost, "/v1/comparisons/_actions/estimate?margin=0.05", body, as), http.StatusOK)
	needed := estimate.Forecast.Needed.Items
	assert.Equal(t, contract.Assumption, estimate.Forecast.Basis, "no eval-run has the score correct")
	assert.InDelta(t, *estimate.CostLowUsd*float64(needed.Low)/60, *needed.CostLowUsd, 1e-6)
	assert.InDelta(t, *estimate.CostHighUsd*float64(*needed.High)/60, *needed.CostHighUsd, 1e-6)
}

// TestDefaultMargin: a gate without a margin has the one that its items support, at most 5 points.
func TestDefaultMargin(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	run := func(apart int) func(contract.Dataset) contract.EvalRun {
		return func(dataset contract.Dataset) contract.EvalRun {
			begun := e.BeginEvalRun(t, as, project.Id, dataset.Id, "")
			e.SendResults(t, as, &begun, flaky(t, apart))
			finishEvalRun(t, e, as, begun.Id)
			return begun
		}
	}
	ask := func(action string, candidate, baseline uuid.UUID, more string) string {
		return fmt.Sprintf(`/v1/gates/_actions/%s|{"candidate":%q,"baseline":%q,"metric":"own"%s}`, action, candidate, baseline, more)
	}
	check := func(question string) contract.GateDecision {
		path, body, _ := strings.Cut(question, "|")
		return apitest.Must[contract.GateDecision](t, e.Do(t, http.MethodPost, path, body, as), http.StatusOK)
	}
	plan := func(question string) contract.GatePlan {
		path, body, _ := strings.Cut(question, "|")
		return apitest.Must[contract.GatePlan](t, e.Do(t, http.MethodPost, path, body, as), http.StatusOK)
	}
	few := e.CreateDatasetOf(t, as, project.Id, "few", apitest.Questions(60)...)
	a, b := run(0)(few), run(1)(few)
	capped := check(ask("check", b.Id, a.Id, ""))
	assert.InDelta(t, 0.05, capped.Margin, 1e-12)
	assert.True(t, capped.MarginDefault)
	assert.False(t, capped.MarginSupported)
	require.NotNil(t, capped.ItemsNeededRange)
	assert.Less(t, capped.ItemsNeededRange.Low, *capped.ItemsNeeded)
	assert.Greater(t, *capped.ItemsNeededRange.High, *capped.ItemsNeeded)
	assert.Contains(t, capped.Sentence, "with about ")
	assert.Contains(t, capped.Sentence, "These items support no margin of 5.0 points, the widest that is taken by itself.")
	named := check(ask("check", b.Id, a.Id, `,"margin":0.02`))
	assert.InDelta(t, 0.02, named.Margin, 0)
	assert.False(t, named.MarginDefault)
	assert.NotContains(t, named.Sentence, "by itself")
	planned := plan(ask("plan", b.Id, a.Id, `,"margin":0.02`))
	assert.InDelta(t, 0.02, planned.Margin, 0)
	assert.InDelta(t, 0.05, planned.DefaultMargin, 1e-12)
	assert.False(t, planned.DefaultSupported)
	assert.EqualValues(t, 60, planned.Items)
	assert.Equal(t, *named.ItemsNeededRange, *planned.ItemsNeededRange, "the plan and the gate say the same")
	assert.Contains(t, planned.Sentence, "A margin of 2.0 points needs about ")
	assert.Contains(t, planned.Sentence, "; you have 60.")

	many := e.CreateDatasetOf(t, as, project.Id, "many", apitest.Questions(400)...)
	same := run(0)(many)
	again := run(0)(many)
	passed := check(ask("check", again.Id, same.Id, ""))
	assert.Equal(t, contract.GateDecisionDecisionPass, passed.Decision)
	assert.InDelta(t, 0.01, passed.Margin, 1e-12, "none of 400 items differs: 1% of others may")
	assert.True(t, passed.MarginSupported)
	assert.Contains(t, passed.Sentence, "The margin is what these items support.")
	assert.Contains(t, plan(ask("plan", again.Id, same.Id, "")).Sentence, "A margin of 1.0 points is what these 400 items support")

	// The default for costs is a part of the baseline's mean.
	cost := strings.Replace(ask("check", again.Id, same.Id, ""), `"own"`, `"cost_usd"`, 1)
	assert.InDelta(t, 0.05*0.01, check(cost).Margin, 1e-12)
	tokens := strings.Replace(ask("check", again.Id, same.Id, ""), `"own"`, `"output_tokens"`, 1)
	path, body, _ := strings.Cut(tokens, "|")
	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, path, body, as), http.StatusUnprocessableEntity)
	assert.Equal(t, "body.margin", (*refused.Errors)[0].Location)
}
