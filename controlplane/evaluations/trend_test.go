package evaluations_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// TestTrend has three eval-runs of the same items. The second one is right on ten more of 60: their intervals overlap, and the change is
// certain all the same. The third one has other contents of one item, and is as right as the second.
func TestTrend(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	questions := apitest.Questions(60)
	for i := range questions {
		questions[i] = strings.TrimSuffix(questions[i], "}") + fmt.Sprintf(`,"metadata":{"batch":%d}}`, i/10)
	}
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", questions...)
	run := func(name, more string, right int) uuid.UUID {
		w := e.Do(t, http.MethodPost, "/v1/eval-runs", fmt.Sprintf(`{"project_id":%q,"name":%q,"dataset_id":%q,"target":{"external":true},"graders":[%s]%s}`,
			project.Id, name, dataset.Id, apitest.ExactGrader, more), as)
		begun := apitest.Must[contract.EvalRun](t, w, http.StatusCreated)
		e.SendResults(t, as, &begun, func(item *contract.EvalRunItem, _ int) string {
			var n int
			_, err := fmt.Sscanf(*item.Key, "q%d", &n)
			require.NoError(t, err)
			if n < right {
				return fmt.Sprintf(`"output":"%d"`, n)
			}
			return `"output":"unknown"`
		})
		finishEvalRun(t, e, as, begun.Id)
		evaluated(t, e, as, begun.Id)
		return begun.Id
	}
	trendOf := func(id uuid.UUID, query string) contract.EvalRunTrend {
		return apitest.Must[contract.EvalRunTrend](t, e.Do(t, http.MethodGet, "/v1/eval-runs/"+id.String()+"/trend"+query, nil, as), http.StatusOK)
	}
	first := run("nightly", "", 30)
	run("another", "", 10)
	second := run("nightly", "", 40)

	trend := trendOf(second, "?metric=correct")
	require.Len(t, trend.Points, 2, "of the same name")
	now, was := trend.Points[0], trend.Points[1]
	assert.Equal(t, []uuid.UUID{second, first}, []uuid.UUID{now.EvalRunId, was.EvalRunId})
	assert.Nil(t, was.Change)
	assert.Greater(t, (*was.Mean.Ci)[1], (*now.Mean.Ci)[0], "the intervals overlap")
	change := now.Change
	assert.Equal(t, first, change.Since)
	assert.EqualValues(t, 60, change.Same)
	assert.InDelta(t, 1./6, *change.Difference.Estimate, 1e-9)
	assert.Greater(t, (*change.Difference.Ci)[0], 0.)
	assert.Contains(t, change.Sentence, "60 of 60 items were in the eval-run before, with the same contents. On 60 items the change is +16.7 points [")
	assert.Equal(t, trend, trendOf(second, ""), "it is the primary metric")
	assert.Equal(t, first, trendOf(first, "").Points[0].EvalRunId)

	// All ten items that were fixed are of one batch: in batches, that may be chance.
	gate := func(more string) *httptest.ResponseRecorder {
		body := fmt.Sprintf(`{"candidate":%q,"baseline":%q,"metric":"correct","margin":0%s}`, second, first, more)
		return e.Do(t, http.MethodPost, "/v1/gates/_actions/check", body, as)
	}
	alone := apitest.Must[contract.GateDecision](t, gate(""), http.StatusOK)
	assert.Equal(t, contract.GateDecisionDecisionPass, alone.Decision)
	assert.Nil(t, alone.Groups)
	grouped := apitest.Must[contract.GateDecision](t, gate(`,"group_by":"metadata.batch"`), http.StatusOK)
	assert.EqualValues(t, 6, *grouped.Groups)
	assert.Equal(t, contract.GateDecisionDecisionInconclusive, grouped.Decision)
	for _, path := range []string{"output.text", "metadata.batsh"} {
		assert.Equal(t, "body.group_by", (*apitest.WantProblem(t, gate(fmt.Sprintf(`,"group_by":%q`, path)), http.StatusUnprocessableEntity).Errors)[0].Location)
	}

	e.Do(t, http.MethodPost, "/v1/datasets/"+dataset.Id.String()+"/items", `{"mode":"upsert","items":[{"key":"q0","input":{"question":"number 0, please"},"reference_output":"0","split":"test"}]}`, as)
	third := run("nightly", "", 40)
	change = trendOf(third, "?limit=2").Points[0].Change
	assert.EqualValues(t, 59, change.Same)
	assert.EqualValues(t, 1, change.Changed)
	assert.Contains(t, change.Sentence, "whether anything changed cannot be told")
	assert.Empty(t, trendOf(third, "?metric=none").Points)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodGet, "/v1/eval-runs/"+uuid.NewString()+"/trend", nil, as).Code)
}
