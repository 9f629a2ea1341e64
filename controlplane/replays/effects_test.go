package replays_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// replayLab is a recorded run of apitest.OrderAgent, with what replays it.
type replayLab struct {
	*apitest.Env
	session string
	as      apitest.Option
	project uuid.UUID
	run     uuid.UUID
	send    func(ptrace.Traces)
}

func newReplayLab(t *testing.T) *replayLab {
	t.Helper()
	e, session, project, send := apitest.NewReplayEnv(t)
	run, td := apitest.AgentTrace(apitest.OrderAgent)
	send(td)
	return &replayLab{e, session, apitest.Cookie(session), project.Id, run, send}
}

// start starts a replay with the members of a body.
func (l *replayLab) start(t *testing.T, members string) contract.Replay {
	t.Helper()
	return apitest.Must[contract.Replay](t, l.Do(t, http.MethodPost, "/v1/replays", fmt.Sprintf(`{"run_id":%q,%s}`, l.run, members), l.as), http.StatusCreated)
}

// replay replays the run by a model, and waits for the end.
func (l *replayLab) replay(t *testing.T, answer func(*provider.Request) *provider.Reply, members string) contract.Replay {
	t.Helper()
	connection := l.Connect(t, l.as, l.project, "openai", provider.Start(t, provider.Options{Answer: answer}), "").Id
	started := l.start(t, fmt.Sprintf(`"provider_id":%q,%s`, connection, members))
	return replayed(t, l.Env, l.as, started.Id)
}

// texts counts the steps of attempts that PostgreSQL still has.
func (l *replayLab) texts(t *testing.T) int {
	t.Helper()
	return l.Count(t, "SELECT count(*) FROM replay_steps")
}

func treatmentsOf(r *contract.Replay) (list []contract.ReplayAttempt) {
	for _, a := range r.Attempts {
		if a.Role == contract.Treatment {
			list = append(list, a)
		}
	}
	return list
}

// effects are the verdicts that claim one.
var effects = []string{"effect_attributable", "effect_likely", "deterministic_effect"}

func reasonsOf(v readVerdict) (codes []string) {
	for _, reason := range v.Reasons {
		codes = append(codes, reason.Code)
	}
	return codes
}

const asking = `"edits":[{"target":"all","set":{"system_prompt":"You help customers. Ask before you change anything."}}]`

// isEdited reports whether a request is one of the edit asking.
func isEdited(q *provider.Request) bool {
	for _, m := range q.Messages {
		if m.Role == "system" && strings.Contains(m.Text, "Ask before") {
			return true
		}
	}
	return false
}

// TestReplayTellsFailuresOfProviders as such, and never as an effect of the edit.
func TestReplayTellsFailuresOfProviders(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.Work(t)
	t.Run("refused key", func(t *testing.T) {
		refused := &provider.Reply{Error: &provider.Error{Status: http.StatusUnauthorized, Type: "invalid_request_error", Code: "invalid_api_key", Message: "no such key"}}
		ended := l.replay(t, func(*provider.Request) *provider.Reply { return refused }, asking)
		assert.EqualValues(t, "failed", ended.Status)
		require.NotNil(t, ended.Error)
		assert.Equal(t, "provider_key_refused", ended.Error.Code)
		assert.Nil(t, ended.Verdict)
		assert.Equal(t, ended.Progress.Total, ended.Progress.Done)
		for _, a := range ended.Attempts {
			assert.EqualValues(t, "cancelled", a.Status)
		}
		assert.Zero(t, l.texts(t))
	})
	t.Run("cut answers", func(t *testing.T) {
		ended := l.replay(t, func(q *provider.Request) *provider.Reply {
			if isEdited(q) {
				return &provider.Reply{Text: "Shall I cancel it?", Fault: provider.Cut, After: 1}
			}
			return apitest.AnswerOrders(q)
		}, asking+`,"controls":3,"treatments":2`)
		require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
		for _, a := range treatmentsOf(&ended) {
			assert.EqualValues(t, "failed", a.Status)
			assert.EqualValues(t, "model_error", *a.StopReason)
			require.NotNil(t, a.Detail)
			assert.Contains(t, *a.Detail, "The call of the model failed")
			assert.NotEmpty(t, a.Remedy)
		}
		verdict := verdictOf(t, &ended)
		assert.Equal(t, "invalid", verdict.Verdict, verdict.Sentence)
		assert.Contains(t, reasonsOf(verdict), "all_stopped")
		assert.Zero(t, l.texts(t))
	})
	t.Run("rate limit", func(t *testing.T) {
		var calls atomic.Int32
		ended := l.replay(t, func(q *provider.Request) *provider.Reply {
			if calls.Add(1) <= 2 {
				return &provider.Reply{
					Error:  &provider.Error{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Message: "slow down"},
					Header: http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"10"}},
				}
			}
			return apitest.AnswerOrders(q)
		}, asking+`,"controls":1,"treatments":1`)
		require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
		for _, a := range ended.Attempts {
			assert.EqualValues(t, "completed", *a.StopReason, "%v", a.Detail)
		}
	})
	t.Run("refused parameter", func(t *testing.T) {
		ended := l.replay(t, func(q *provider.Request) *provider.Reply {
			if strings.Contains(string(q.Body), `"temperature"`) {
				return &provider.Reply{Error: &provider.Error{
					Status: http.StatusBadRequest, Type: "invalid_request_error", Param: "temperature", Code: "unsupported_value", Message: "Unsupported value: 'temperature' does not support 0.5 with this model.",
				}}
			}
			return apitest.AnswerOrders(q)
		}, `"controls":1,"treatments":1,"edits":[{"target":"all","set":{"params":{"temperature":0.5}}}]`)
		treatment := treatmentsOf(&ended)
		require.Len(t, treatment, 1)
		told := ended.Error != nil || treatment[0].Detail != nil || len(treatment[0].Warnings) > 0
		assert.True(t, told, "%+v", ended)
		if ended.Verdict != nil {
			assert.NotContains(t, effects, verdictOf(t, &ended).Verdict)
		}
	})
}

// TestReplayWithoutItsConnection is told.
func TestReplayWithoutItsConnection(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	connection := l.Connect(t, l.as, l.project, "openai", provider.Start(t, provider.Options{Answer: apitest.AnswerOrders}), "").Id
	started := l.start(t, fmt.Sprintf(`"provider_id":%q,%s`, connection, asking))
	require.Equal(t, http.StatusNoContent, l.Do(t, http.MethodDelete, "/v1/providers/"+connection.String(), nil, l.as).Code)
	l.Work(t)
	ended := replayed(t, l.Env, l.as, started.Id)
	assert.EqualValues(t, "failed", ended.Status)
	require.NotNil(t, ended.Error)
	assert.Contains(t, ended.Error.Detail, "was deleted")
}

// TestReplayOfCallsThatTheRecordingLacks by each policy.
func TestReplayOfCallsThatTheRecordingLacks(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.Work(t)
	// The edit makes the model look for another address.
	other := func(q *provider.Request) *provider.Reply {
		last := q.Messages[len(q.Messages)-1]
		if isEdited(q) && last.Role != "tool" {
			return &provider.Reply{ToolCalls: []provider.ToolCall{{Name: "find_order", Arguments: `{"email":"ann@example.com","open":true}`}}}
		}
		if isEdited(q) {
			return &provider.Reply{Text: "I found " + last.Text}
		}
		return apitest.AnswerOrders(q)
	}
	const design = asking + `,"controls":3,"treatments":2`
	stopped := l.replay(t, other, design)
	require.EqualValues(t, "succeeded", stopped.Status, "%+v", stopped.Error)
	for _, a := range treatmentsOf(&stopped) {
		assert.Contains(t, []string{"miss", "write_barrier"}, string(*a.StopReason))
		require.NotNil(t, a.Detail)
		assert.Equal(t, `The recording has no call of the tool "find_order" with the same arguments (different: "open"). It counts as a tool that writes.`, *a.Detail)
		require.NotNil(t, a.Remedy)
		assert.Contains(t, *a.Remedy, "a fixed result")
	}
	assert.Zero(t, l.Count(t, "SELECT count(*) FROM replays r JOIN replay_attempts a ON a.replay_id = r.id WHERE concat(a.detail, a.remedy, a.result, a.details, r.verdict) LIKE '%ann@example.com%'"),
		"what was recorded goes with its run")
	verdict := verdictOf(t, &stopped)
	assert.Equal(t, "invalid", verdict.Verdict)
	assert.Contains(t, reasonsOf(verdict), "all_stopped")

	fixed := l.replay(t, other, design+`,"tools":{"find_order":{"on_miss":"fixed","result":"no orders","side_effects":"read"}}`)
	for _, a := range treatmentsOf(&fixed) {
		assert.EqualValues(t, "completed", *a.StopReason, "%v", a.Detail)
		assert.EqualValues(t, 1, a.Exposure["fixed"], "%v", a.Exposure)
	}
	nearest := l.replay(t, other, design+`,"tools":{"find_order":{"on_miss":"nearest","side_effects":"read"}}`)
	for _, a := range treatmentsOf(&nearest) {
		assert.Contains(t, []string{"completed", "miss"}, string(*a.StopReason), "%v", a.Detail)
	}
	assert.Zero(t, l.texts(t))
}

// TestReplayFromTheRecordingAlone calls nothing, and proves what follows.
func TestReplayFromTheRecordingAlone(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.Work(t)
	tool := func(set string) string {
		return `"edits":[{"target":{"kind":"tool","name":"find_order"},"set":` + set + `}]`
	}
	replay := func(t *testing.T, members string) (contract.Replay, readVerdict) {
		t.Helper()
		ended := replayed(t, l.Env, l.as, l.start(t, members).Id)
		require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
		assert.EqualValues(t, "cassette", ended.Executor)
		assert.LessOrEqual(t, len(ended.Attempts), 2)
		assert.Zero(t, ended.Cost.Calls)
		return ended, verdictOf(t, &ended)
	}
	for edits, want := range map[string]string{
		tool(`{"timeout_ms":5000}`): "Nothing changes but times", tool(`{"timeout_ms":10}`): "times out. What the agent does then is not in the recording.",
		`"executor":"server",` + tool(`{"timeout_ms":10}`):   "times out. Models are asked what follows.",
		`"executor":"server",` + tool(`{"timeout_ms":5000}`): "Models are asked again all the same",
	} {
		plan := apitest.Must[contract.ReplayPlan](t, l.Do(t, http.MethodPost, "/v1/replays", fmt.Sprintf(`{"run_id":%q,"plan":true,%s}`, l.run, edits), l.as), http.StatusOK)
		require.NotNil(t, plan.Decided, edits)
		assert.Contains(t, *plan.Decided, want, edits)
		assert.Equal(t, strings.Contains(edits, "server"), plan.Counts.Live > 0, edits)
	}
	_, verdict := replay(t, `"executor":"cassette","edits":[]`)
	assert.Equal(t, "deterministic_no_effect", verdict.Verdict, verdict.Sentence)
	long, verdict := replay(t, tool(`{"timeout_ms":5000}`))
	assert.InDelta(t, 1905, *treatmentsOf(&long)[0].DurationMs, .001)
	assert.Equal(t, "deterministic_no_effect", verdict.Verdict, verdict.Sentence)
	short, verdict := replay(t, tool(`{"timeout_ms":10}`))
	assert.EqualValues(t, "miss", *treatmentsOf(&short)[0].StopReason, "what the model says to an error, nobody recorded")
	assert.Equal(t, "deterministic_effect", verdict.Verdict, verdict.Sentence)
	assert.Equal(t, `The edit changed the tool call and the next request, which the recording proves. Step 3, "find_order", times out. `+
		"What follows is not in the recording, so that outcome, answer and cost are unknown. Replay with model calls.", verdict.Sentence)
	for channel, of := range verdict.Channels {
		want := []string{"unknown"}
		if channel == "structure" {
			want = []string{"not_tested"}
		}
		assert.Equal(t, want, of.Flags, channel)
		assert.Nil(t, of.P)
	}
	model, verdict := replay(t, `"edits":[{"target":{"span_id":"a000000000000004"},"set":{"timeout_ms":1}}]`)
	assert.EqualValues(t, "model_error", *treatmentsOf(&model)[0].StopReason)
	assert.Equal(t, "deterministic_effect", verdict.Verdict, verdict.Sentence)
	assert.Contains(t, verdict.Sentence, "The edit changed the model call,")
	_, verdict = replay(t, `"edits":[{"target":{"kind":"tool","name":"cancel_order"},"set":{"retries":3}},{"target":{"kind":"tool","name":"find_order"},"set":{"timeout_ms":10}}]`)
	assert.Equal(t, "deterministic_effect", verdict.Verdict, verdict.Sentence)

	// What a verdict is made of gives the same one again.
	extended := apitest.WantProblem(t, l.Do(t, http.MethodPost, "/v1/replays/"+short.Id.String()+"/_actions/extend", `{"treatments":2}`, l.as), http.StatusUnprocessableEntity)
	require.NotNil(t, extended.Errors)
	assert.Contains(t, (*extended.Errors)[0].Message, "nothing varies")
}

// TestReplayEdits of requests, answers and results.
func TestReplayEdits(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.Work(t)
	// The model says what the tools returned.
	telling := func(q *provider.Request) *provider.Reply {
		reply := apitest.AnswerOrders(q)
		if reply.Text != "" {
			reply.Text = "Done: " + q.Messages[len(q.Messages)-1].Text
		}
		for _, m := range q.Messages {
			if m.Role == "user" && strings.Contains(m.Text, "opening hours") {
				return &provider.Reply{Text: "From 9 to 5."}
			}
		}
		return reply
	}
	const design = `,"controls":5,"treatments":5`
	none := l.replay(t, telling, `"edits":[]`+design)
	for _, reason := range []string{"outcome_changed", "structure_changed", "answer_changed", "tokens_changed"} { // durations differ by chance
		assert.NotContains(t, reasonsOf(verdictOf(t, &none)), reason)
	}
	for name, edit := range map[string]string{
		"result": `{"target":{"kind":"tool","name":"cancel_order"},"set":{"tool_result":{"cancelled":false,"why":"shipped"}}}`,
		"input":  `{"target":"all","set":{"input":"What are your opening hours?"}}`,
		"answer": `{"target":{"span_id":"a000000000000002"},"set":{"response":{"role":"assistant","content":"I cannot help."}}}`,
	} {
		ended := l.replay(t, telling, `"edits":[`+edit+`]`+design)
		require.EqualValues(t, "succeeded", ended.Status, "%s: %+v", name, ended.Error)
		for _, a := range treatmentsOf(&ended) {
			assert.EqualValues(t, "completed", *a.StopReason, "%s: %v", name, a.Detail)
		}
		verdict := verdictOf(t, &ended)
		assert.Contains(t, effects, verdict.Verdict, "%s: %s", name, verdict.Sentence)
	}
}

// TestReplayWithinItsCap ends what it cannot pay, and goes on with a higher one.
func TestReplayWithinItsCap(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.Work(t)
	dear := func(q *provider.Request) *provider.Reply {
		reply := apitest.AnswerOrders(q)
		reply.Usage = &provider.Usage{Input: 100, Output: 4000}
		return reply
	}
	apitest.Must[contract.Price](t, l.Do(t, http.MethodPost, "/v1/projects/"+l.project.String()+"/prices", contract.PriceWrite{Model: apitest.AgentModel, Input: 1, Output: 2}, l.as), http.StatusCreated)
	ended := l.replay(t, dear, asking+`,"max_cost_usd":0.1`)
	require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
	require.NotNil(t, ended.StopReason)
	assert.EqualValues(t, "max_cost", *ended.StopReason)
	cancelled := 0
	for _, a := range ended.Attempts {
		if a.Status == contract.ReplayStatusCancelled {
			cancelled++
			require.NotNil(t, a.StopReason)
			assert.EqualValues(t, "max_cost", *a.StopReason)
		}
	}
	assert.Positive(t, cancelled)
	assert.LessOrEqual(t, ended.CostUsd, .1)
	assert.Positive(t, ended.CostUsd)
	verdict := verdictOf(t, &ended)
	assert.NotContains(t, effects, verdict.Verdict)
	text := string(*ended.Verdict)
	assert.Contains(t, text, "max cost")
	assert.Zero(t, l.texts(t))

	path := "/v1/replays/" + ended.Id.String()
	more := apitest.Must[contract.Replay](t, l.Do(t, http.MethodPost, path+"/_actions/extend", `{"max_cost_usd":10}`, l.as), http.StatusOK)
	assert.Nil(t, more.Verdict)
	assert.EqualValues(t, "queued", more.Status)
	whole := replayed(t, l.Env, l.as, ended.Id)
	require.EqualValues(t, "succeeded", whole.Status, "%+v", whole.Error)
	require.Len(t, whole.Attempts, 9)
	for i, a := range whole.Attempts {
		assert.Equal(t, i+1, a.Number)
		assert.EqualValues(t, "completed", *a.StopReason)
		if before := ended.Attempts[i]; before.Status == contract.ReplayStatusSucceeded {
			assert.Equal(t, before.RunId, a.RunId, "attempts that ended stay")
		}
	}
	assert.Greater(t, whole.CostUsd, ended.CostUsd)
	assert.Equal(t, "effect_attributable", verdictOf(t, &whole).Verdict)
	assert.Equal(t, "nothing_missing", apitest.WantProblem(t, l.Do(t, http.MethodPost, path+"/_actions/extend", `{}`, l.as), http.StatusConflict).Code)
	larger := apitest.Must[contract.Replay](t, l.Do(t, http.MethodPost, path+"/_actions/extend", `{"controls":6,"treatments":5}`, l.as), http.StatusOK)
	require.Len(t, larger.Attempts, 11)
	whole = replayed(t, l.Env, l.as, ended.Id)
	assert.Equal(t, 11, whole.Progress.Done)

	// What was recorded of a run that was deleted is not compared.
	apitest.Must[contract.RunDeletion](t, l.Do(t, http.MethodPost, "/v1/runs/_actions/delete", fmt.Sprintf(`{"project_id":%q,"run_ids":[%q]}`, l.project, l.run), l.as), http.StatusOK)
	assert.Equal(t, "run_deleted", apitest.WantProblem(t, l.Do(t, http.MethodGet, path+"/diff", nil, l.as), http.StatusConflict).Code)
	assert.Equal(t, "run_deleted", apitest.WantProblem(t, l.Do(t, http.MethodPost, path+"/_actions/extend", `{"treatments":6}`, l.as), http.StatusConflict).Code)
}

// TestCancelReplay ends the calls, and judges what is there.
func TestCancelReplay(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.Work(t)
	begun := make(chan struct{}, 100)
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		begun <- struct{}{}
		if len(q.Messages) > 2 {
			return &provider.Reply{Fault: provider.Stall}
		}
		return apitest.AnswerOrders(q)
	}})
	connection := l.Connect(t, l.as, l.project, "openai", server, "").Id
	started := l.start(t, fmt.Sprintf(`"provider_id":%q,"edits":[],"controls":2,"treatments":1`, connection))
	path := "/v1/replays/" + started.Id.String()
	for range 4 {
		<-begun
	}
	assert.Equal(t, "replay_running", apitest.WantProblem(t, l.Do(t, http.MethodDelete, path, nil, l.as), http.StatusConflict).Code)
	cancelled := apitest.Must[contract.Replay](t, l.Do(t, http.MethodPost, path+"/_actions/cancel", nil, l.as), http.StatusOK)
	assert.EqualValues(t, "cancelled", cancelled.Status)
	ended := replayed(t, l.Env, l.as, started.Id)
	assert.EqualValues(t, "cancelled", ended.Status)
	assert.NotContains(t, effects, verdictOf(t, &ended).Verdict)
	assert.Zero(t, l.texts(t))
	assert.Equal(t, http.StatusNoContent, l.Do(t, http.MethodDelete, path, nil, l.as).Code)
	assert.Zero(t, l.Count(t, "SELECT count(*) FROM replay_attempts"))
}

// TestReplaysNameNothingForeign: what belongs to another tenant is as what nobody has.
func TestReplaysNameNothingForeign(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	bob := l.AddMember(t, "bob@example.com", "owner", uuid.Nil)
	theirs := apitest.Must[contract.Me](t, l.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(bob)), http.StatusOK).Projects[0].Id
	server := provider.Start(t, provider.Options{Answer: apitest.AnswerOrders})
	connection := l.Connect(t, apitest.Cookie(bob), theirs, "openai", server, "").Id
	mine := l.Connect(t, l.as, l.project, "openai", server, "").Id
	prompt := l.CreatePrompt(t, apitest.Cookie(bob), theirs, "theirs", "one").Id
	ask := func(members string) string {
		w := l.Do(t, http.MethodPost, "/v1/replays", fmt.Sprintf(`{"run_id":%q,%s}`, l.run, members), l.as)
		assert.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body)
		return apitest.WithoutRequestID(w)
	}
	for foreign, body := range map[uuid.UUID]string{
		connection: `"provider_id":"%s",` + asking,
		prompt:     `"provider_id":"` + mine.String() + `","edits":[{"target":"all","set":{"prompt":{"prompt":{"id":"%s"}}}}]`,
	} {
		got, want := ask(fmt.Sprintf(body, foreign)), ask(fmt.Sprintf(body, apitest.NoSuchID))
		assert.Equal(t, strings.ReplaceAll(want, apitest.NoSuchID, "ID"), strings.ReplaceAll(got, foreign.String(), "ID"))
	}
	assert.Equal(t, http.StatusNotFound, l.Do(t, http.MethodPost, "/v1/replays", apitest.ReplayBody(l.run.String(), ""), apitest.Cookie(bob)).Code)
	assert.Empty(t, server.Requests())
	// A key that may not read runs, may not have them sent to a model.
	key := l.Mint(t, l.session, l.project, contract.ScopeReplaysWrite, contract.ScopeReplaysRead)
	assert.Equal(t, http.StatusForbidden, l.Do(t, http.MethodPost, "/v1/replays", apitest.ReplayBody(l.run.String(), ""), apitest.Bearer(key.Key)).Code)
}

// TestReplayWithoutAGrader knows no outcome: neither that the recorded run failed nor that attempts come to an answer says how good that is.
func TestReplayWithoutAGrader(t *testing.T) {
	t.Parallel()
	e, session, project, send := apitest.NewReplayEnv(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.AnswerOrders})
	connection := e.Connect(t, as, project.Id, "openai", server, "").Id
	run, td := apitest.AgentTrace(apitest.OrderAgent)
	root := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	root.Status().SetCode(ptrace.StatusCodeError)
	root.Status().SetMessage("the customer was not helped")
	send(td)
	created := apitest.Must[contract.Replay](t, e.Do(t, http.MethodPost, "/v1/replays", fmt.Sprintf(
		`{"run_id":%q,"provider_id":%q,"controls":3,"treatments":3,"edits":[{"target":"all","set":{"system_prompt":"Ask before you change anything."}}]}`, run, connection), as), http.StatusCreated)
	ended := replayed(t, e, as, created.Id)
	for _, a := range ended.Attempts {
		assert.EqualValues(t, "completed", *a.StopReason)
		assert.Nil(t, a.Outcome)
	}
	assert.Equal(t, []string{"unknown"}, verdictOf(t, &ended).Channels["outcome"].Flags)
}
