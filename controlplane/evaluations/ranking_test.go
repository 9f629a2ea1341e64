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
)

func rankingPath(runs []uuid.UUID, rest string) string {
	var ids []string
	for _, id := range runs {
		ids = append(ids, "eval_run_id="+id.String())
	}
	return "/v1/eval-runs/_ranking?" + strings.Join(ids, "&") + rest
}

// TestRanking compares three eval-runs, of which one fails on half of the items, and one lost an item by a failure.
func TestRanking(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	items := apitest.Questions(60)
	for i := range items {
		items[i] = strings.TrimSuffix(items[i], "}") + fmt.Sprintf(`,"metadata":{"customer":%d}}`, i%12)
	}
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", items...)
	var runs []uuid.UUID
	sent := func(dataset uuid.UUID, result func(*contract.EvalRunItem, int) string) uuid.UUID {
		e.Clock.Advance(time.Second)
		run := e.BeginEvalRun(t, as, project.Id, dataset, "")
		e.SendResults(t, as, &run, result)
		finishEvalRun(t, e, as, run.Id)
		return run.Id
	}
	for _, result := range []func(*contract.EvalRunItem, int) string{scoring(2), scoring(20), func(item *contract.EvalRunItem, repeat int) string {
		if *item.Key == "q3" {
			return `"error":{"code":"TimeoutError"}`
		}
		return scoring(20)(item, repeat)
	}} {
		runs = append(runs, sent(dataset.Id, result))
	}
	rank := func(runs []uuid.UUID, rest string) contract.EvalRunRanking {
		return apitest.Must[contract.EvalRunRanking](t, e.Do(t, http.MethodGet, rankingPath(runs, rest), nil, as), http.StatusOK)
	}
	all := rank(runs, "")
	assert.Equal(t, "own", all.Metric)
	assert.EqualValues(t, 59, all.Items)
	require.Len(t, all.Differences, 3)
	assert.Equal(t, contract.RankedDifferenceVerdictBBetter, all.Differences[0].Verdict)
	assert.Equal(t, contract.RankedDifferenceVerdictBBetter, all.Differences[1].Verdict)
	assert.Equal(t, contract.RankedDifferenceVerdictInconclusive, all.Differences[2].Verdict)
	require.NotNil(t, all.Differences[1].IntentionToTreat)
	assert.Contains(t, all.Differences[0].Sentence, "is better than A (")
	assert.Contains(t, all.Differences[1].Sentence, "with failed outputs as 0")
	assert.Contains(t, all.Sentence, "No side is shown to be the best on own: whether B (")
	assert.EqualValues(t, 1, all.Sides[0].LeftOut)
	assert.EqualValues(t, 1, all.Sides[2].Failed)
	require.Len(t, all.Worst, 20)
	assert.Equal(t, []float64{0, 1, 1}, all.Worst[0].Scores)
	assert.NotEmpty(t, *all.Worst[0].Key)
	assert.NotEmpty(t, all.Worst[0].Input)

	grouped := rank(runs[:2], "&group_by=metadata.customer&metric=failures")
	assert.EqualValues(t, 12, *grouped.Groups)
	assert.Equal(t, "metadata.customer", *grouped.GroupBy)
	assert.EqualValues(t, 60, grouped.Items)

	other := e.CreateDatasetOf(t, as, project.Id, "other", apitest.Questions(3)...)
	foreign := sent(other.Id, scoring(2))
	for path, want := range map[string]string{
		rankingPath(runs[:1], ""):                         "query.eval_run_id",
		rankingPath([]uuid.UUID{runs[0], runs[0]}, ""):    "query.eval_run_id[1]",
		rankingPath([]uuid.UUID{runs[0], uuid.New()}, ""): "query.eval_run_id[1]",
		rankingPath([]uuid.UUID{runs[0], foreign}, ""):    "query.eval_run_id[1]",
		rankingPath(append(append([]uuid.UUID{}, runs...), runs...), "") + "&eval_run_id=" + uuid.NewString(): "query.eval_run_id",
		rankingPath(runs, "&metric=tone"):                "query.metric",
		rankingPath(runs, "&metric=duration_ms"):         "query.metric",
		rankingPath(runs, "&group_by=metadata.custumer"): "query.group_by",
	} {
		refused := apitest.WantProblem(t, e.Do(t, http.MethodGet, path, nil, as), http.StatusUnprocessableEntity)
		assert.Equal(t, want, (*refused.Errors)[0].Location, (*refused.Errors)[0].Message)
	}
}
