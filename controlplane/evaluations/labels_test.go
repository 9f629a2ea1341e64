package evaluations_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// label labels the output of an item as right or wrong.
func label(t *testing.T, e *apitest.Env, as apitest.Option, run, item uuid.UUID, value bool) {
	t.Helper()
	w := e.Do(t, http.MethodPut, "/v1/eval-runs/"+run.String()+"/items/"+item.String()+"/label", fmt.Sprintf(`{"panel":"right","repeat":1,"value":%t}`, value), as)
	assert.Equal(t, http.StatusOK, w.Code, w.Body)
}

// awaitLabels waits until the labels of a summary are as they should be.
func awaitLabels(t *testing.T, e *apitest.Env, as apitest.Option, run uuid.UUID, is func(*contract.PanelLabels) bool) (found contract.EvalRun) {
	t.Helper()
	require.Eventually(t, func() bool {
		found = apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodGet, "/v1/eval-runs/"+run.String(), nil, as), http.StatusOK)
		return found.Summary != nil && is(found.Summary.Panels[0].Labels)
	}, apitest.EvaluationTime, 50*time.Millisecond)
	return found
}

// TestSummaryFollowsLabels has two people label the outputs of an eval-run at once. Another eval-run has the same outputs.
func TestSummaryFollowsLabels(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as, other := apitest.Cookie(session), apitest.Cookie(e.AddMember(t, "bob@example.com", "owner", project.OrganizationId))
	stop := e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(_ *provider.Request, n int) *provider.Reply {
		return apitest.Voted(map[bool]string{true: "pass", false: "fail"}[n >= 0 && n%2 == 0])
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(40)...)
	panels := `,"panels":[` + apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-1") + `]`
	first := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, panels).Id)
	same := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, panels).Id)
	require.Nil(t, first.Summary.Panels[0].Labels)
	calls := len(server.Requests())

	numbers := map[uuid.UUID]int{}
	for _, item := range evalRunItems(t, e, as, first.Id, "?limit=500").Data {
		n, err := strconv.Atoi(strings.TrimPrefix(*item.Key, "q"))
		require.NoError(t, err)
		numbers[item.ItemId] = n
	}
	// The judge is right. Bob errs on every fifth, and labels only the first thirty.
	var labelling sync.WaitGroup
	for item, n := range numbers {
		labelling.Go(func() {
			label(t, e, as, first.Id, item, n%2 == 0)
			if n < 30 {
				label(t, e, other, first.Id, item, (n%2 == 0) != (n%5 == 0))
			}
		})
	}
	labelling.Wait()
	var done contract.EvalRun
	for _, run := range []contract.EvalRun{first, same} {
		done = awaitLabels(t, e, as, run.Id, func(l *contract.PanelLabels) bool {
			return l != nil && l.People == 2 && l.Outputs == 34 // they differ on six
		})
		labels := done.Summary.Panels[0].Labels
		assert.InDelta(t, 1, *labels.Agreement.Value, 1e-9, "where they agree, so does the judge")
		assert.NotEmpty(t, labels.Sentence)
		// All else stays as it was.
		requireVotesAdditive(t, &done)
		done.Summary.Panels[0].Labels, done.Summary.Panels[0].Sentence, done.Summary.Sentence = nil, run.Summary.Panels[0].Sentence, run.Summary.Sentence
		done.Summary.Panels[0].Warnings = run.Summary.Panels[0].Warnings
		assert.Equal(t, run, done)
	}
	assert.Len(t, server.Requests(), calls, "no model is called")
	require.Eventually(t, func() bool { return e.Count(t, "SELECT count(*) FROM evaluations WHERE attempt IS NOT NULL") == 0 }, apitest.EvaluationTime, 50*time.Millisecond)

	// While nothing works, one job waits, however many labels change.
	stop()
	for item, n := range numbers {
		if n < 10 {
			assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/eval-runs/"+first.Id.String()+"/items/"+item.String()+"/label?panel=right&repeat=1", nil, other).Code)
		}
	}
	const waiting = "SELECT count(*) FROM river_job WHERE kind = 'evaluation_summary' AND state IN ('available', 'pending')"
	assert.Equal(t, 2, e.Count(t, waiting), "one for each eval-run with the output")
	// One was killed in the middle.
	e.Exec(t, "UPDATE evaluations SET attempt = gen_random_uuid() WHERE id = $1", first.Id)
	e.Work(t)
	done = awaitLabels(t, e, as, first.Id, func(l *contract.PanelLabels) bool { return l != nil && l.Outputs == 36 })
	assert.Equal(t, first.Status, done.Status)
	assert.Equal(t, first.FinishedAt, done.FinishedAt)
	awaitLabels(t, e, as, same.Id, func(l *contract.PanelLabels) bool { return l != nil && l.Outputs == 36 })

	// Without any label, the summary is the first one.
	for item := range numbers {
		for _, who := range []apitest.Option{as, other} {
			e.Do(t, http.MethodDelete, "/v1/eval-runs/"+first.Id.String()+"/items/"+item.String()+"/label?panel=right&repeat=1", nil, who)
		}
	}
	assert.Equal(t, first, awaitLabels(t, e, as, first.Id, func(l *contract.PanelLabels) bool { return l == nil }))
	assert.Len(t, server.Requests(), calls)
}

// TestComparisonFollowsLabels labels an output of an eval-run whose outputs a comparison compares, after that has ended.
func TestComparisonFollowsLabels(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(_ *provider.Request, n int) *provider.Reply {
		return apitest.Voted(map[bool]string{true: "pass", false: "fail"}[n%2 == 0])
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(10)...)
	panels := `"panels":[` + apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-1") + `]`
	a := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, `,`+panels).Id)
	b := e.BeginEvalRun(t, as, project.Id, dataset.Id, "")
	e.SendResults(t, as, &b, func(*contract.EvalRunItem, int) string { return `"output":"another"` })
	finishEvalRun(t, e, as, b.Id)
	first := compared(t, e, as, e.Compare(t, as, fmt.Sprintf(`{"project_id":%q,"dataset_id":%q,"a":{"eval_run_id":%q},"b":{"eval_run_id":%q},%s}`,
		project.Id, dataset.Id, a.Id, b.Id, panels)).Id)
	require.Equal(t, contract.EvaluationStatusSucceeded, first.Status, "%+v", first.Error)
	require.Nil(t, first.Summary.Panels[0].Labels)
	calls := len(server.Requests())

	items := evalRunItems(t, e, as, a.Id, "").Data
	for _, item := range items[:4] {
		label(t, e, as, a.Id, item.ItemId, true)
	}
	followed := func(outputs int64) (found contract.Comparison) {
		require.Eventually(t, func() bool {
			found = apitest.Must[contract.Comparison](t, e.Do(t, http.MethodGet, "/v1/comparisons/"+first.Id.String(), nil, as), http.StatusOK)
			labels := found.Summary.Panels[0].Labels
			return labels == nil && outputs == 0 || labels != nil && labels.Outputs == outputs
		}, apitest.EvaluationTime, 50*time.Millisecond)
		return found
	}
	changed := followed(4)
	report := e.Do(t, http.MethodGet, "/v1/comparisons/"+first.Id.String()+"/report", nil, as)
	assert.Contains(t, report.Body.String(), changed.Summary.Sentence)
	for _, item := range items[:4] {
		e.Do(t, http.MethodDelete, "/v1/eval-runs/"+a.Id.String()+"/items/"+item.ItemId.String()+"/label?panel=right&repeat=1", nil, as)
	}
	assert.Equal(t, first, followed(0), "without labels all is as it was")
	assert.Len(t, server.Requests(), calls, "no model is called")
}

// TestRandomLabelsCorrect has a judge that passes every long output, and a person who does not. Labels of items that were chosen correct
// nothing; those in random order correct the mean, the comparison and the gate.
func TestRandomLabelsCorrect(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(q *provider.Request, n int) *provider.Reply {
		return apitest.Voted(map[bool]string{true: "pass", false: "fail"}[n%2 == 0 || strings.Contains(fmt.Sprint(q.Messages), "a long answer")])
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(60)...)
	panels := `"panels":[` + apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-1") + `]`
	var runs [2]contract.EvalRun
	for i, text := range []string{"short", "a long answer"} {
		begun := e.BeginEvalRun(t, as, project.Id, dataset.Id, `,`+panels)
		e.SendResults(t, as, &begun, func(item *contract.EvalRunItem, _ int) string {
			return fmt.Sprintf(`"output":"%s %s"`, text, *item.Key)
		})
		finishEvalRun(t, e, as, begun.Id)
		runs[i] = evaluated(t, e, as, begun.Id)
	}
	number := func(item *contract.EvalRunItem) int {
		n, err := strconv.Atoi(strings.TrimPrefix(*item.Key, "q"))
		require.NoError(t, err)
		return n
	}
	gate := func() contract.GateDecision {
		body := fmt.Sprintf(`{"candidate":%q,"baseline":%q,"metric":"right","margin":0.2}`, runs[1].Id, runs[0].Id)
		return apitest.Must[contract.GateDecision](t, e.Do(t, http.MethodPost, "/v1/gates/_actions/check", body, as), http.StatusOK)
	}
	assert.InDelta(t, 0.5, *gate().Difference.Estimate, 1e-9)

	drawn := evalRunItems(t, e, as, runs[0].Id, "?order=random&limit=60").Data
	same := evalRunItems(t, e, as, runs[1].Id, "?order=random&limit=60").Data
	inOrder := evalRunItems(t, e, as, runs[0].Id, "?limit=60").Data
	assert.NotEqual(t, inOrder[0].ItemId, drawn[0].ItemId)
	for i := range drawn {
		require.Equal(t, drawn[i].ItemId, same[i].ItemId, "the order is that of the dataset")
	}
	for _, item := range drawn[1:31] { // all but the first
		for _, run := range runs {
			label(t, e, as, run.Id, item.ItemId, number(&item)%2 == 0)
		}
	}
	labelled := func(run uuid.UUID, outputs int64) *contract.PanelLabels {
		done := awaitLabels(t, e, as, run, func(l *contract.PanelLabels) bool { return l != nil && l.Outputs == outputs })
		return done.Summary.Panels[0].Labels
	}
	chosen := labelled(runs[1].Id, 30)
	assert.Nil(t, chosen.Corrected.Value)
	assert.Equal(t, "not_drawn", *chosen.Corrected.Flag)
	assert.EqualValues(t, 20, *chosen.LabelsNeeded)
	assert.Zero(t, gate().LabelsDrawn)

	for _, run := range runs {
		label(t, e, as, run.Id, drawn[0].ItemId, number(&drawn[0])%2 == 0)
	}
	random := labelled(runs[1].Id, 31)
	assert.EqualValues(t, 31, random.Drawn)
	assert.EqualValues(t, 60, random.DrawnOf)
	assert.True(t, (*random.Corrected.Ci)[0] < 0.5 && 0.5 < (*random.Corrected.Ci)[1], "%v", random.Corrected)
	decided := gate()
	assert.EqualValues(t, 31, decided.LabelsDrawn)
	assert.InDelta(t, 0, *decided.Difference.Estimate, 0.02)
	assert.Contains(t, decided.Sentence, "corrected by labels of 31 items; by judges alone +50.0 points")

	ended := compared(t, e, as, e.Compare(t, as, fmt.Sprintf(`{"project_id":%q,"dataset_id":%q,"a":{"eval_run_id":%q},"b":{"eval_run_id":%q},%s}`,
		project.Id, dataset.Id, runs[0].Id, runs[1].Id, panels)).Id)
	right := metricOf(t, &ended, "right")
	require.EqualValues(t, 31, right.LabelsDrawn)
	assert.InDelta(t, 0.5, *right.Judged.Estimate, 1e-9)
	assert.InDelta(t, 0, *right.Difference.Estimate, 0.02)
	assert.Equal(t, contract.EvaluationVerdictInconclusive, right.Verdict)
	assert.Contains(t, ended.Summary.Sentence, "corrected by labels of 31 items drawn at random; by judges alone +50.0 points")
}

// labelSide labels the output of a side of a comparison as right or wrong.
func labelSide(t *testing.T, e *apitest.Env, as apitest.Option, comparison, item uuid.UUID, side string, value bool) {
	t.Helper()
	w := e.Do(t, http.MethodPut, "/v1/comparisons/"+comparison.String()+"/items/"+item.String()+"/label",
		fmt.Sprintf(`{"panel":"right","side":%q,"repeat":1,"value":%t}`, side, value), as)
	assert.Equal(t, http.StatusOK, w.Code, w.Body)
}

// TestLabelsOfAComparisonsOwnOutputs has a judge that passes all outputs of B, half of which a person fails. Labels of both sides in random
// order correct the difference; those of chosen items, and of items in groups, do not.
func TestLabelsOfAComparisonsOwnOutputs(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	judging := apitest.Judging(func(q *provider.Request, n int) *provider.Reply {
		return apitest.Voted(map[bool]string{true: "pass", false: "fail"}[n%2 == 0 || strings.Contains(fmt.Sprint(q.Messages), "a long answer")])
	})
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		switch q.Model {
		case "model-a":
			return &provider.Reply{Text: "short"}
		case "model-b":
			return &provider.Reply{Text: "a long answer"}
		}
		return judging(q)
	}})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	questions := apitest.Questions(60)
	for i := range questions {
		questions[i] = strings.TrimSuffix(questions[i], "}") + fmt.Sprintf(`,"metadata":{"customer":%d}}`, i%30)
	}
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", questions...)
	panels := `,"panels":[` + apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-1") + `]`
	first := compared(t, e, as, e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, panels)).Id)
	require.Equal(t, contract.EvaluationStatusSucceeded, first.Status, "%+v", first.Error)
	right := metricOf(t, &first, "right")
	assert.Equal(t, contract.EvaluationVerdictBBetter, right.Verdict)
	assert.Equal(t, "needs_labels", *right.LabelsFlag)
	assert.EqualValues(t, 20, *right.LabelsNeeded)
	assert.Nil(t, metricOf(t, &first, "correct").LabelsFlag, "it is no score of judges")
	calls := len(server.Requests())

	drawn := apitest.Must[contract.ComparisonItemPage](t, e.Do(t, http.MethodGet, "/v1/comparisons/"+first.Id.String()+"/items?order=random&limit=60", nil, as), http.StatusOK).Data
	run := e.BeginEvalRun(t, as, project.Id, dataset.Id, "")
	for i, item := range evalRunItems(t, e, as, run.Id, "?order=random&limit=60").Data {
		require.Equal(t, item.ItemId, drawn[i].ItemId, "the order is that of the dataset")
	}
	label := func(item *contract.ComparisonItem) {
		n, err := strconv.Atoi(strings.TrimPrefix(*item.Key, "q"))
		require.NoError(t, err)
		for _, side := range []string{"a", "b"} {
			labelSide(t, e, as, first.Id, item.ItemId, side, n%2 == 0)
		}
	}
	followed := func(id uuid.UUID, paired int64) (found contract.ComparisonMetric) {
		require.Eventually(t, func() bool {
			now := apitest.Must[contract.Comparison](t, e.Do(t, http.MethodGet, "/v1/comparisons/"+id.String(), nil, as), http.StatusOK)
			found = metricOf(t, &now, "right")
			return found.LabelsPaired == paired
		}, apitest.EvaluationTime, 50*time.Millisecond)
		return found
	}
	for i := range drawn[1:31] { // all but the first
		label(&drawn[1+i])
	}
	chosen := followed(first.Id, 30)
	assert.Nil(t, chosen.Judged)
	assert.Equal(t, "not_drawn", *chosen.LabelsFlag)
	assert.EqualValues(t, 20, *chosen.LabelsNeeded)

	label(&drawn[0])
	random := followed(first.Id, 31)
	require.EqualValues(t, 31, random.LabelsDrawn)
	assert.Nil(t, random.LabelsFlag)
	assert.InDelta(t, 0.5, *random.Judged.Estimate, 1e-9)
	assert.InDelta(t, 0, *random.Difference.Estimate, 0.02)
	assert.Equal(t, contract.EvaluationVerdictInconclusive, random.Verdict)
	one := apitest.Must[contract.ComparisonItem](t, e.Do(t, http.MethodGet, "/v1/comparisons/"+first.Id.String()+"/items/"+drawn[0].ItemId.String(), nil, as), http.StatusOK)
	assert.Len(t, one.Repeats[0].Labels.A, 1)
	assert.Len(t, one.Repeats[0].Labels.B, 1)

	assert.Len(t, server.Requests(), calls, "no model is called")
	// Another comparison of the same outputs has the labels. It corrects nothing in groups.
	grouped := compared(t, e, as, e.Compare(t, as, apitest.ComparisonBody(project.Id, dataset.Id, made.Id, panels+`,"group_by":"metadata.customer"`)).Id)
	inGroups := metricOf(t, &grouped, "right")
	assert.EqualValues(t, 31, inGroups.LabelsPaired)
	assert.Equal(t, "grouped", *inGroups.LabelsFlag)
	assert.Nil(t, inGroups.LabelsNeeded)
	assert.Nil(t, inGroups.Judged)

	e.Do(t, http.MethodDelete, "/v1/comparisons/"+first.Id.String()+"/items/"+drawn[0].ItemId.String()+"/label?panel=right&side=b&repeat=1", nil, as)
	assert.Equal(t, "not_drawn", *followed(first.Id, 30).LabelsFlag)
	for _, wrong := range []string{`{"panel":"correct","side":"a","repeat":1,"value":true}`, `{"panel":"right","side":"c","repeat":1,"value":true}`} {
		assert.Equal(t, http.StatusUnprocessableEntity, e.Do(t, http.MethodPut, "/v1/comparisons/"+first.Id.String()+"/items/"+drawn[0].ItemId.String()+"/label", wrong, as).Code)
	}
}

// TestLabelsCorrectNoMeanOfGroups labels items of ten customers in random order.
func TestLabelsCorrectNoMeanOfGroups(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(_ *provider.Request, n int) *provider.Reply {
		return apitest.Voted(map[bool]string{true: "pass", false: "fail"}[n%10 < 5])
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	questions := apitest.Questions(40)
	for i := range questions {
		questions[i] = strings.TrimSuffix(questions[i], "}") + fmt.Sprintf(`,"metadata":{"customer":%d}}`, i%10)
	}
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", questions...)
	panels := `,"panels":[` + apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-1") + `]`
	alone := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, panels).Id)
	grouped := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, panels+`,"group_by":"metadata.customer"`).Id)
	for _, item := range evalRunItems(t, e, as, alone.Id, "?order=random&limit=25").Data {
		label(t, e, as, alone.Id, item.ItemId, true)
	}
	labels := func(run *contract.EvalRun) *contract.PanelLabels {
		*run = awaitLabels(t, e, as, run.Id, func(l *contract.PanelLabels) bool { return l != nil && l.Outputs == 25 })
		return run.Summary.Panels[0].Labels
	}
	assert.NotNil(t, labels(&alone).Corrected.Ci)
	of := labels(&grouped)
	assert.Nil(t, of.Corrected.Value)
	assert.Equal(t, "grouped", *of.Corrected.Flag)
	assert.Nil(t, of.LabelsNeeded)
	assert.Contains(t, grouped.Summary.Sentence, "40 items in 10 groups")
	assert.Contains(t, of.Sentence, "Labels correct no mean score where items belong together.")
	width := func(run *contract.EvalRun) float64 {
		m := run.Summary.Scores[0]
		require.Equal(t, "right", m.Name)
		return (*m.Ci)[1] - (*m.Ci)[0]
	}
	assert.Nil(t, alone.Summary.Scores[0].Groups)
	assert.EqualValues(t, 10, *grouped.Summary.Scores[0].Groups)
	assert.Greater(t, width(&grouped), 1.4*width(&alone))
}
