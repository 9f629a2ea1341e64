package work_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// TestListWork lists work that waits, that is tried again, and that has ended.
func TestListWork(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	list := func(query string) []contract.Work {
		w := e.Do(t, http.MethodGet, "/v1/work?project_id="+project.Id.String()+query, nil, as)
		return apitest.Must[contract.WorkPage](t, w, http.StatusOK).Data
	}
	assert.Empty(t, list(""))

	made := e.Connect(t, as, project.Id, "openai", provider.Start(t, provider.Options{Answer: apitest.Answering}), "")
	dataset := e.CreateDatasetOf(t, as, project.Id, "numbers", apitest.Questions(3)...)
	stop := e.Work(t)
	imported := e.SendFile(t, as, dataset.Id, "", apitest.TypeCSV, "question\n9\n")
	require.Eventually(t, func() bool { return len(list("&state=ended&kind=import")) == 1 }, apitest.EvaluationTime, 50*time.Millisecond)
	stop()
	body := apitest.ComparisonBody(project.Id, dataset.Id, made.Id, `,"name":"B against A"`)
	first, second := e.Compare(t, as, body), e.Compare(t, as, body)
	apitest.Must[contract.NearDuplicateCheck](t, e.Do(t, http.MethodPost, "/v1/datasets/"+dataset.Id.String()+"/near-duplicates/_actions/check", `{}`, as), http.StatusAccepted)
	e.Exec(t, `UPDATE river_job SET state = 'retryable', scheduled_at = '2100-01-01T00:00:00Z' WHERE kind = 'near_duplicates'`)

	found := map[uuid.UUID]contract.Work{}
	open := list("&state=open")
	for _, one := range open {
		found[one.Id] = one
	}
	require.Len(t, found, 3)
	assert.Equal(t, contract.WorkKindNearDuplicateCheck, open[0].Kind, "the newest first")
	assert.Equal(t, &contract.WorkWait{For: "retry", Until: new(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))}, open[0].Waits)
	assert.Equal(t, contract.WorkProgress{Unit: "items", Done: 0, Total: new(int64(4))}, open[0].Progress)
	assert.Equal(t, "numbers", open[0].Name)
	assert.Equal(t, &contract.WorkWait{For: "turn"}, found[first.Id].Waits)
	assert.Equal(t, &contract.WorkWait{For: "turn", Ahead: 1}, found[second.Id].Waits)
	assert.Equal(t, contract.WorkProgress{Unit: "outputs", Done: 0, Total: new(int64(8))}, found[first.Id].Progress)
	assert.Equal(t, contract.WorkStatus("queued"), found[first.Id].Status)
	assert.Equal(t, "B against A", found[first.Id].Name)
	assert.Equal(t, new(apitest.Email), found[first.Id].CreatedBy.Email)

	ended := list("&state=ended")
	require.Len(t, ended, 1)
	assert.Equal(t, imported.Id, ended[0].Id)
	assert.Equal(t, contract.WorkStatus("succeeded"), ended[0].Status)
	assert.Nil(t, ended[0].Waits)
	assert.Equal(t, contract.WorkProgress{Unit: "rows", Done: 1, Total: new(int64(1))}, ended[0].Progress)
	assert.NotNil(t, ended[0].FinishedAt)
	assert.Len(t, list("&limit=1&offset=1"), 1)
	assert.Len(t, list("&kind=comparison"), 2)

	e.Exec(t, "UPDATE evaluations SET outputs_done = 8, votes_total = 16, votes_done = 4 WHERE id = $1", second.Id)
	e.Exec(t, "UPDATE river_job SET state = 'running' WHERE kind = 'evaluation' AND args ->> 'evaluation_id' = $1", first.Id.String())
	e.Exec(t, "UPDATE evaluations SET status = 'running' WHERE id = $1", first.Id)
	for _, one := range list("&kind=comparison") {
		found[one.Id] = one
	}
	assert.Nil(t, found[first.Id].Waits)
	assert.Equal(t, contract.WorkProgress{Unit: "outputs_and_votes", Done: 12, Total: new(int64(24))}, found[second.Id].Progress)
	assert.Equal(t, &contract.WorkWait{For: "turn", Running: 1}, found[second.Id].Waits)

	// What runs, and calls nothing because its provider takes no calls, says so.
	e.Exec(t, "UPDATE provider_states SET paused_until = '2100-01-01T00:00:00Z' WHERE provider_id = $1", made.Id)
	call := func(status string) {
		e.Exec(t, `INSERT INTO provider_calls (id, project_id, provider_id, provider_name, feature, evaluation_id, model, status, started_at, lease_until)
			VALUES (gen_random_uuid(), $1, $2, 'x', 'evaluation', $3, 'm', $4, now(), now())`, project.Id, made.Id, first.Id, status)
	}
	waits := func() *contract.WorkWait {
		for _, one := range list("&kind=comparison") {
			found[one.Id] = one
		}
		return found[first.Id].Waits
	}
	assert.Nil(t, waits(), "it has called no provider")
	call("failed")
	assert.Equal(t, &contract.WorkWait{For: "provider", Until: new(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))}, waits())
	call("running")
	assert.Nil(t, waits(), "a call is under way")

	other := apitest.Cookie(e.AddMember(t, "other@example.com", "owner", uuid.Nil))
	assert.Empty(t, apitest.Must[contract.WorkPage](t, e.Do(t, http.MethodGet, "/v1/work", nil, other), http.StatusOK).Data)
}
