package replays_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// panelLab is a project with failed runs, and judges that pass answers which say that an order is cancelled. The judge "broken" always fails.
type panelLab struct {
	*apitest.Env
	as         apitest.Option
	project    uuid.UUID
	connection uuid.UUID
	votes      atomic.Int64
}

func newPanelLab(t *testing.T, runs int, asked func(model string)) *panelLab {
	t.Helper()
	e, session, project, send := apitest.NewReplayEnv(t)
	l := &panelLab{Env: e, as: apitest.Cookie(session), project: project.Id}
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		switch {
		case q.Model == "broken":
			return &provider.Reply{Error: &provider.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: "no"}}
		case !strings.HasPrefix(q.Model, "judge"):
			return apitest.AnswerHelpfully(q)
		}
		l.votes.Add(1)
		asked(q.Model)
		good := slices.ContainsFunc(q.Messages, func(m provider.Message) bool { return m.Role == "user" && strings.Contains(m.Text, "is cancelled") })
		return apitest.Voted(map[bool]string{true: "pass", false: "fail"}[good])
	}})
	l.connection = e.Connect(t, l.as, project.Id, "openai", server, "").Id
	for _, model := range []string{apitest.AgentModel, "judge-1", "judge-2", "broken"} {
		e.Price(t, l.as, project.Id, model)
	}
	for range runs {
		_, td := apitest.RefusedTrace(t)
		send(td)
	}
	return l
}

func (l *panelLab) body(more string, judges ...string) string {
	return fmt.Sprintf(`{"project_id":%q,"run_filter":"agent_name=orders","edits":[{"target":"all","set":{"system_prompt":"Always help."}}],"panel":%s%s}`,
		l.project, apitest.PanelJSON("helped", l.connection, apitest.BinaryScale, judges...), more)
}

func (l *panelLab) batch(t *testing.T, body string) contract.ReplayBatch {
	t.Helper()
	created := apitest.Must[contract.ReplayBatch](t, l.Do(t, http.MethodPost, "/v1/replay-batches", body, l.as), http.StatusCreated)
	return l.BatchEnded(t, l.as, created.Id)
}

// TestReplayBatchWithAPanel: judges say which attempts end well, within the cap, and a judge that fails leaves the outcome unknown.
func TestReplayBatchWithAPanel(t *testing.T) {
	t.Parallel()
	l := newPanelLab(t, 6, func(string) {})
	l.Work(t)
	plan := apitest.Must[contract.ReplayBatchPlan](t, l.Do(t, http.MethodPost, "/v1/replay-batches", l.body(`,"plan":true`, "judge-1", "judge-2"), l.as), http.StatusOK)
	without := apitest.Must[contract.ReplayBatchPlan](t, l.Do(t, http.MethodPost, "/v1/replay-batches",
		fmt.Sprintf(`{"project_id":%q,"run_filter":"agent_name=orders","plan":true,"edits":[{"target":"all","set":{"system_prompt":"Always help."}}]}`, l.project), l.as), http.StatusOK)
	assert.EqualValues(t, 6*4*(1+2), plan.Calls, "with the votes")
	assert.Greater(t, *plan.CostLowUsd, *without.CostLowUsd)
	assert.Greater(t, *plan.CostHighUsd, *without.CostHighUsd)
	require.NotNil(t, plan.Detectable, "outcomes will be known")
	assert.Zero(t, l.votes.Load(), "a plan calls nothing")

	ended := l.batch(t, l.body(`,"max_cost_usd":5`, "judge-1", "judge-2"))
	require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
	require.NotNil(t, ended.Panel)
	assert.Equal(t, "helped", ended.Panel.Name)
	assert.Nil(t, ended.Outcome)
	assert.Equal(t, map[string]int64{"repaired": 6}, ended.Result.Chosen.Runs)
	assert.EqualValues(t, 48, l.votes.Load())
	assert.EqualValues(t, 6*4*(1+2), ended.Cost.Calls, "the calls of judges are calls of the batch")
	assert.Positive(t, ended.Cost.Usd)
	assert.Zero(t, l.Count(t, "SELECT count(*) FROM replay_votes"), "nothing of a run stays with an attempt that ended")

	failing := l.batch(t, l.body(`,"controls":1,"treatments":1`, "broken"))
	require.EqualValues(t, "succeeded", failing.Status, "%+v", failing.Error)
	assert.Equal(t, map[string]int64{"unknown": 6}, failing.Result.Chosen.Runs)
	assert.EqualValues(t, "unknown", failing.Result.Chosen.Verdict)
	members := apitest.Must[contract.ReplayPage](t, l.Do(t, http.MethodGet, "/v1/replays?batch_id="+failing.Id.String()+"&limit=1", nil, l.as), http.StatusOK)
	one := apitest.Must[contract.Replay](t, l.Do(t, http.MethodGet, "/v1/replays/"+members.Data[0].Id.String(), nil, l.as), http.StatusOK)
	require.NotNil(t, one.Panel)
	assert.Contains(t, strings.Join(one.Attempts[0].Warnings, " "), "The outcome is unknown.")

	capped := l.batch(t, l.body(`,"max_cost_usd":0.006`, "judge-1"))
	require.NotNil(t, capped.StopReason, "%s", capped.Result.Sentence)
	assert.EqualValues(t, "max_cost", *capped.StopReason)
	assert.LessOrEqual(t, capped.Cost.Usd, 0.006)

	for body, location := range map[string]string{
		l.body(`,"outcome":{"name":"x","type":"string_check","operation":"eq","input":"{{sample.output_text}}","reference":"x"}`, "judge-1"): "body",
		strings.Replace(l.body("", "judge-1"), `"rubric":"Is it right?"`, `"ready_made":"correctness"`, 1):                                   "body.panel.judges[0].ready_made",
		strings.Replace(l.body("", "judge-1"), `{"type":"binary"}`, `{"type":"categorical","labels":["a","b"]}`, 1):                          "body.panel.judges[0].pass",
		strings.Replace(l.body("", "judge-1"), l.connection.String(), uuid.NewString(), 1):                                                   "body.panel.judges[0].provider_id",
	} {
		refused := apitest.WantProblem(t, l.Do(t, http.MethodPost, "/v1/replay-batches", body, l.as), http.StatusUnprocessableEntity)
		require.NotNil(t, refused.Errors, "%+v", refused)
		assert.Equal(t, location, (*refused.Errors)[0].Location, body)
	}
}

// TestPanelOfAReplayIsInterrupted stops the worker while judges vote. What they said is not asked for again.
func TestPanelOfAReplayIsInterrupted(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	var first atomic.Int64
	l := newPanelLab(t, 1, func(model string) {
		if model == "judge-1" {
			first.Add(1)
			return
		}
		<-goOn
	})
	stop := l.Work(t)
	created := apitest.Must[contract.ReplayBatch](t, l.Do(t, http.MethodPost, "/v1/replay-batches",
		l.body(`,"max_cost_usd":5,"controls":1,"treatments":1`, "judge-1", "judge-2"), l.as), http.StatusCreated)
	require.Eventually(t, func() bool { return l.Count(t, "SELECT count(*) FROM replay_votes") == 2 }, apitest.ReplayTime, time.Millisecond)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	close(goOn)
	<-stopped
	l.Work(t)
	ended := l.BatchEnded(t, l.as, created.Id)
	require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
	assert.Equal(t, map[string]int64{"repaired": 1}, ended.Result.Chosen.Runs)
	assert.EqualValues(t, 2, first.Load(), "a vote that is kept is not paid twice")
}
