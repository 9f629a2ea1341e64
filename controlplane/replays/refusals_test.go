package replays_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// quick lets calls be tried again at once.
var quick = http.Header{"Retry-After-Ms": {"1"}}

// refusedAs are what a provider may answer instead of an answer, and what the attempt says of it.
var refusedAs = map[string]struct {
	reply provider.Reply
	code  string
	says  string
}{
	"model is gone":     {provider.Reply{Error: &provider.Error{Status: http.StatusNotFound, Type: "invalid_request_error", Code: "model_not_found", Message: "The model `gpt-4o-mini` has been deprecated."}}, "model_not_found", "has been deprecated"},
	"model was removed": {provider.Reply{Error: &provider.Error{Status: http.StatusGone, Type: "invalid_request_error", Message: "The model `gpt-4o-mini` no longer exists."}}, "model_not_found", "no longer exists"},
	"unknown response":  {provider.Reply{Error: &provider.Error{Status: http.StatusNotFound, Type: "invalid_request_error", Code: "previous_response_not_found", Param: "previous_response_id", Message: "Previous response with id 'resp_1' not found."}}, "model_not_found", "'resp_1' not found"},
	"refused parameter": {provider.Reply{Error: &provider.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Param: "temperature", Code: "unsupported_value", Message: "Unsupported value: 'temperature' does not support 0.5 with this model."}}, "parameter_refused", "temperature"},
	"long messages":     {provider.Reply{Error: &provider.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Param: "messages", Code: "context_length_exceeded", Message: "This model's maximum context length is 8192 tokens."}}, "context_length_exceeded", "8192 tokens"},
	"content filter":    {provider.Reply{Error: &provider.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Param: "prompt", Code: "content_filter", Message: "The response was filtered due to the prompt triggering content management policy."}}, "content_refused", "was filtered"},
	"filtered answer":   {provider.Reply{Text: "Shall", Finish: "content_filter"}, "content_refused", "filter"},
	"server error":      {provider.Reply{Error: &provider.Error{Status: http.StatusInternalServerError, Type: "server_error", Message: "The server had an error."}, Header: quick}, "provider_error", "had an error"},
	"overload":          {provider.Reply{Error: &provider.Error{Status: http.StatusServiceUnavailable, Type: "server_error", Message: "The server is overloaded."}, Header: quick}, "provider_overloaded", "overloaded"},
	"cut stream":        {provider.Reply{Text: "Shall I cancel it?", Fault: provider.Cut, After: 1, Header: quick}, "provider_broken_answer", "unexpected end"},
}

// TestReplayNeverTakesRefusalsForEffects: what a provider answers to one role only is told on the attempt, and the verdict claims nothing.
func TestReplayNeverTakesRefusalsForEffects(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.Work(t)
	ask := func(role contract.ReplayRole, reply provider.Reply) contract.Replay {
		var n atomic.Int32
		return l.replay(t, func(q *provider.Request) *provider.Reply {
			if isEdited(q) == (role == contract.Treatment) {
				n.Add(1)
				refused := reply
				return &refused
			}
			return apitest.AnswerOrders(q)
		}, asking+`,"controls":3,"treatments":2`)
	}
	for name, c := range refusedAs {
		for _, role := range []contract.ReplayRole{contract.Control, contract.Treatment} {
			t.Run(name+" of "+string(role)+"s", func(t *testing.T) {
				ended := ask(role, c.reply)
				told := 0
				if ended.Error != nil {
					told++
					assert.EqualValues(t, "failed", ended.Status)
					assert.Equal(t, c.code, ended.Error.Code)
					assert.Contains(t, ended.Error.Detail, c.says)
				}
				for _, a := range ended.Attempts {
					if a.Role != role {
						continue
					}
					assert.NotEqualValues(t, "succeeded", a.Status)
					assert.Nil(t, a.Outcome)
					if a.StopReason != nil && *a.StopReason == "model_error" {
						told++
						require.NotNil(t, a.Detail)
						assert.Contains(t, *a.Detail, c.says)
					}
				}
				assert.Positive(t, told, "%+v", ended)
				if ended.Verdict == nil {
					return
				}
				verdict := verdictOf(t, &ended)
				assert.Contains(t, []string{"invalid", "underpowered"}, verdict.Verdict, verdict.Sentence)
				all := map[contract.ReplayRole]int{contract.Control: 3, contract.Treatment: 2}[role]
				assert.Contains(t, string(*ended.Verdict), fmt.Sprintf("%[1]d of %[1]d %[2]ss did not finish and do not count", all, role))
			})
		}
	}
}

// TestReplayCountsWhatTheProviderRefused: the verdict is that of the attempts that are left, and says how many are not.
func TestReplayCountsWhatTheProviderRefused(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.Work(t)
	var once atomic.Bool
	ended := l.replay(t, func(q *provider.Request) *provider.Reply {
		if len(q.Messages) > 2 && once.CompareAndSwap(false, true) {
			return &provider.Reply{Error: &provider.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_value", Message: "Invalid value for 'content': expected a string, got null."}}
		}
		return apitest.AnswerOrders(q)
	}, asking+`,"controls":6,"treatments":5`)
	require.EqualValues(t, "succeeded", ended.Status, "one refused attempt does not end the others: %+v", ended.Error)
	failed := 0
	for _, a := range ended.Attempts {
		if a.Status == contract.ReplayStatusFailed {
			failed++
			require.NotNil(t, a.Detail)
			assert.Contains(t, *a.Detail, "expected a string")
		}
	}
	assert.Equal(t, 1, failed)
	assert.Equal(t, 1, ended.Progress.Failed)
	verdict := verdictOf(t, &ended)
	assert.Equal(t, "effect_attributable", verdict.Verdict, verdict.Sentence)
	assert.Equal(t, 5, verdict.K)
	assert.Contains(t, string(*ended.Verdict), "1 of 6 controls did not finish and do not count")

	// It is made again, alone.
	requests := ended.Cost.Calls
	apitest.Must[contract.Replay](t, l.Do(t, http.MethodPost, "/v1/replays/"+ended.Id.String()+"/_actions/extend", `{}`, l.as), http.StatusOK)
	whole := replayed(t, l.Env, l.as, ended.Id)
	assert.Zero(t, whole.Progress.Failed)
	assert.Equal(t, requests+3, whole.Cost.Calls)
	assert.NotContains(t, string(*whole.Verdict), "did not finish")
}

// TestReplaySendsNoParametersOfOtherAPIs: a response id expires, and chat completions have none. The whole history is sent instead.
func TestReplaySendsNoParametersOfOtherAPIs(t *testing.T) {
	t.Parallel()
	e, session, project, send := apitest.NewReplayEnv(t)
	l := &replayLab{Env: e, session: session, as: apitest.Cookie(session), project: project.Id}
	l.Work(t)
	var wrong atomic.Pointer[string]
	run, td := apitest.AgentTrace(apitest.OrderAgent)
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	for i := range spans.Len() {
		attributes := spans.At(i).Attributes()
		attributes.PutStr("gen_ai.request.previous_response.id", "resp_1")
		attributes.PutBool("gen_ai.request.is_stream", true)
		attributes.PutDouble("gen_ai.request.temperature", 0.5)
	}
	send(td)
	l.run = run
	ended := l.replay(t, func(q *provider.Request) *provider.Reply {
		if body := string(q.Body); strings.Contains(body, "resp_1") || strings.Contains(body, "is_stream") || !strings.Contains(body, `"temperature"`) {
			wrong.Store(&body)
		}
		return apitest.AnswerOrders(q)
	}, asking+`,"controls":1,"treatments":1`)
	require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
	if body := wrong.Load(); body != nil {
		assert.Fail(t, *body)
	}
}
