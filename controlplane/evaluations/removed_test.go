package evaluations_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// TestRemovedAggregate: an eval-run whose scores were made by an aggregate that was removed is shown, keeps them when labels change, and
// makes no others.
func TestRemovedAggregate(t *testing.T) {
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
	run := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`, `,"panels":[`+apitest.PanelJSON("right", made.Id, apitest.BinaryScale, "judge-1")+`]`).Id)
	e.Exec(t, `UPDATE evaluations SET config = replace(config::text, '"majority"', '"median"') WHERE id = $1`, run.Id)

	items := evalRunItems(t, e, as, run.Id, "?limit=10").Data
	require.Len(t, items, 10)
	label(t, e, as, run.Id, items[0].ItemId, true)
	now := awaitLabels(t, e, as, run.Id, func(l *contract.PanelLabels) bool { return l != nil && l.Outputs == 1 })
	assert.Equal(t, "median", now.Panels[0].Aggregate)
	assert.Equal(t, "median", now.Summary.Panels[0].Aggregate)
	assert.Equal(t, run.Summary.Scores, now.Summary.Scores)
	e.Exec(t, "UPDATE evaluations SET votes_done = votes_done - 1 WHERE id = $1", run.Id)
	for action, body := range map[string]any{"resume": `{}`, "rerun": nil} {
		answer := e.Do(t, http.MethodPost, "/v1/eval-runs/"+run.Id.String()+"/_actions/"+action, body, as)
		assert.Equal(t, http.StatusUnprocessableEntity, answer.Code, answer.Body.String())
		assert.Contains(t, answer.Body.String(), "is median, which was removed: choose majority, mean or minimum")
	}
}
