package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/provider"
)

// replayTime is how long a replay may take.
const replayTime = 60 * time.Second

// newReplayEnv is the API with an ingest that stores what replays record.
func newReplayEnv(t *testing.T) (e *env, session string, project contract.ProjectAccess, send func(ptrace.Traces)) {
	t.Helper()
	address := engines.ClickHouse(t)
	ingest := newPipeline(t, address)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(body)
		if err != nil || r.URL.Path != "/v1/traces" {
			http.Error(w, fmt.Sprint(r.URL.Path, err), http.StatusBadRequest)
			return
		}
		ingest.send(t, project.Id, td) //nolint:contextcheck // the test waits for it
	}))
	t.Cleanup(server.Close)
	db, err := postgres.Open(t.Context(), engines.Postgres(t))
	require.NoError(t, err)
	t.Cleanup(db.Close)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	e = newRecordingEnv(t, db, conn, RateLimits{}, server.URL)
	e.beside = func(t *testing.T) *env {
		t.Helper()
		return newRecordingEnv(t, db, conn, RateLimits{}, server.URL)
	}
	session, project = e.setUp(t)
	return e, session, project, func(td ptrace.Traces) { ingest.send(t, project.Id, td) }
}

// agentStep is a call of a model, and the tool that it calls, "" for none.
type agentStep struct{ tool, arguments, result, answer string }

// orderAgent looks up an order, cancels it, and says so.
var orderAgent = []agentStep{
	{tool: "find_order", arguments: `{"email":"ann@example.com"}`, result: `{"order":"A17","state":"open"}`},
	{tool: "cancel_order", arguments: `{"order":"A17"}`, result: `{"cancelled":true}`},
	{answer: "Your order A17 is cancelled."},
}

const (
	agentModel  = "gpt-4o-mini"
	agentPrompt = "You help customers with their orders."
	agentInput  = "Please cancel my order. I am ann@example.com."
)

// agentTrace is a run of an agent as a stock SDK records it: a root, calls of a model with the history, and calls of tools.
func agentTrace(steps []agentStep) (run uuid.UUID, td ptrace.Traces) {
	run, td = uuid.New(), ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	at := time.Now().Add(-time.Hour)
	next := byte(0)
	add := func(name string, took time.Duration, attributes map[string]any) ptrace.Span {
		next++
		span := spans.AppendEmpty()
		span.SetTraceID(pcommon.TraceID(run))
		span.SetSpanID(pcommon.SpanID{0xa0, 7: next})
		if next > 1 {
			span.SetParentSpanID(pcommon.SpanID{0xa0, 7: 1})
		}
		span.SetName(name)
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(at))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(at.Add(took)))
		if next > 1 {
			at = at.Add(took + time.Millisecond)
		}
		_ = span.Attributes().FromRaw(attributes) // of types that it knows
		return span
	}
	text := func(v any) string {
		encoded, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(encoded)
	}
	type object = map[string]any
	tools := text([]object{
		{"type": "function", "name": "find_order", "description": "Find an order", "parameters": object{"type": "object", "properties": object{"email": object{"type": "string"}}}},
		{"type": "function", "name": "cancel_order", "description": "Cancel an order", "parameters": object{"type": "object", "properties": object{"order": object{"type": "string"}}}},
	})
	last := steps[len(steps)-1].answer
	root := add("invoke_agent orders", time.Minute, object{
		runmodel.KeyOperationName: "invoke_agent", runmodel.KeyAgentName: "orders",
		runmodel.KeyInputMessages:  text([]object{{"role": "user", "parts": []object{{"type": "text", "content": agentInput}}}}),
		runmodel.KeyOutputMessages: text([]object{{"role": "assistant", "parts": []object{{"type": "text", "content": last}}}}),
	})
	messages := []object{{"role": "user", "parts": []object{{"type": "text", "content": agentInput}}}}
	for i, step := range steps {
		answer := object{"role": "assistant", "parts": []object{{"type": "text", "content": step.answer}}, "finish_reason": "stop"}
		call := fmt.Sprintf("call_%d", i)
		if step.tool != "" {
			answer = object{"role": "assistant", "parts": []object{{"type": "tool_call", "id": call, "name": step.tool, "arguments": json.RawMessage(step.arguments)}}, "finish_reason": "tool_call"}
		}
		add("chat "+agentModel, 500*time.Millisecond, object{
			runmodel.KeyOperationName: "chat", runmodel.KeyProviderName: "openai", runmodel.KeyRequestModel: agentModel, runmodel.KeyResponseModel: agentModel,
			runmodel.KeySystemInstructions: text([]object{{"type": "text", "content": agentPrompt}}), runmodel.KeyToolDefinitions: tools,
			runmodel.KeyInputMessages: text(messages), runmodel.KeyOutputMessages: text([]object{answer}), runmodel.KeyInputTokens: 100 + 10*i, runmodel.KeyOutputTokens: 20,
		})
		messages = append(messages, answer)
		if step.tool == "" {
			continue
		}
		add("execute_tool "+step.tool, 200*time.Millisecond, object{
			runmodel.KeyOperationName: "execute_tool", runmodel.KeyToolName: step.tool, runmodel.KeyToolCallID: call, runmodel.KeyToolCallArguments: step.arguments,
			runmodel.KeyToolCallResult: step.result,
		})
		messages = append(messages, object{"role": "tool", "parts": []object{{"type": "tool_call_response", "id": call, "response": step.result}}})
	}
	root.SetEndTimestamp(pcommon.NewTimestampFromTime(at))
	return run, td
}

// orders answers as the model of orderAgent does: by how many results of tools it has. With a system prompt that says so, it asks first.
func orders(q *provider.Request) *provider.Reply {
	results, asks := 0, false
	for _, m := range q.Messages {
		if m.Role == "tool" {
			results++
		}
		asks = asks || m.Role == "system" && strings.Contains(m.Text, "Ask before")
	}
	if asks {
		return &provider.Reply{Text: "Shall I cancel order A17?"}
	}
	step := orderAgent[min(results, len(orderAgent)-1)]
	if step.tool != "" {
		return &provider.Reply{ToolCalls: []provider.ToolCall{{Name: step.tool, Arguments: step.arguments}}}
	}
	return &provider.Reply{Text: step.answer}
}

// slower edits the latency of the models: nothing is called to know what follows.
const slower = `{"target":{"kind":"model"},"set":{"latency_ms":1}}`

// replayBody replays a run with slower models.
func replayBody(run, more string) string {
	return fmt.Sprintf(`{"run_id":%q,"controls":0,"edits":[%s]%s}`, run, slower, more)
}

// fillReplay makes a replay that has ended, in whose only attempt the run stands for its own.
func (e *env) fillReplay(t *testing.T, as option, run string) string {
	t.Helper()
	id := must[contract.Replay](t, e.do(t, http.MethodPost, "/v1/replays", replayBody(run, ""), as), http.StatusCreated).Id
	e.exec(t, `UPDATE replay_attempts SET status = 'succeeded', run_id = $2, stop_reason = 'completed', result = '{}', finished_at = now() WHERE replay_id = $1`, id, run)
	e.exec(t, `UPDATE replays SET status = 'succeeded', verdict = '{"verdict":"within_noise","sentence":"none"}', finished_at = now() WHERE id = $1`, id)
	return id.String()
}

// replayed waits for the end of a replay.
func (e *env) replayed(t *testing.T, as option, id uuid.UUID) (ended contract.Replay) {
	t.Helper()
	if !assert.Eventually(t, func() bool {
		e.clock.advance(20 * time.Millisecond)
		ended = must[contract.Replay](t, e.do(t, http.MethodGet, "/v1/replays/"+id.String(), nil, as), http.StatusOK)
		return ended.Verdict != nil || ended.Status == contract.ReplayStatusFailed
	}, replayTime, 20*time.Millisecond) {
		require.FailNow(t, "no verdict", "%s: %+v, %+v\n%s", ended.Status, ended.Progress, ended.Error, e.log)
	}
	if ended.Verdict != nil {
		requireFits(t, "ReplayVerdict", *ended.Verdict)
	}
	requireTold(t, &ended)
	return ended
}

// requireTold fails if an attempt that did not come to its own end does not say why, by a reason of the contract, and what to do.
func requireTold(t *testing.T, r *contract.Replay) {
	t.Helper()
	for _, a := range r.Attempts {
		require.NotNil(t, a.StopReason, "%+v", a)
		require.True(t, a.StopReason.Valid(), *a.StopReason)
		if *a.StopReason == contract.ReplayAttemptStopCompleted {
			require.Nil(t, a.Detail)
			continue
		}
		require.NotNil(t, a.Detail, *a.StopReason)
		require.NotNil(t, a.Remedy, *a.StopReason)
	}
}

// readVerdict is what tests read of a verdict.
type readVerdict struct {
	Verdict  string `json:"verdict"`
	Sentence string `json:"sentence"`
	Reasons  []struct {
		Code string `json:"code"`
		Text string `json:"text"`
	} `json:"reasons"`
	K, M int
}

// verdictOf reads a verdict.
func verdictOf(t *testing.T, r *contract.Replay) (verdict readVerdict) {
	t.Helper()
	require.NotNil(t, r.Verdict, "%+v", r.Error)
	require.NoError(t, json.Unmarshal(*r.Verdict, &verdict))
	return verdict
}

// TestReplayOfAnAgent replays a run of an agent with another system prompt: the model is called again, tools are answered from the recording.
func TestReplayOfAnAgent(t *testing.T) {
	t.Parallel()
	e, session, project, send := newReplayEnv(t)
	as := cookie(session)
	e.work(t)
	server := provider.Start(t, provider.Options{Answer: orders})
	connection := e.connect(t, as, project.Id, "openai", server, "").Id
	run, td := agentTrace(orderAgent)
	send(td)

	level := must[contract.RunReplayability](t, e.do(t, http.MethodGet, "/v1/runs/"+run.String()+"/replayability", nil, as), http.StatusOK)
	require.EqualValues(t, "full", level.Level, "%+v", level)
	assert.Equal(t, 3, level.ModelCalls)
	assert.Equal(t, 2, level.ToolCalls)

	body := func(more string) string {
		return fmt.Sprintf(`{"run_id":%q,"provider_id":%q,"edits":[{"target":"all","set":{"system_prompt":"You help customers. Ask before you change anything."}}]%s}`, run, connection, more)
	}
	plan := must[contract.ReplayPlan](t, e.do(t, http.MethodPost, "/v1/replays", body(`,"plan":true`), as), http.StatusOK)
	assert.EqualValues(t, "server", plan.Executor)
	require.Len(t, plan.Warnings, 1)
	assert.Equal(t, contract.SideEffectsUnknown, plan.Warnings[0].Code)
	assert.Contains(t, plan.Warnings[0].Detail, `"cancel_order", "find_order"`)
	assert.Empty(t, server.Requests(), "a plan calls nothing")
	require.Len(t, plan.Steps, 6)
	assert.EqualValues(t, "live", plan.Steps[1].Action)
	assert.True(t, plan.Steps[1].Edited)
	require.NotNil(t, plan.AttainableP)
	assert.InDelta(t, .0397, *plan.AttainableP, .001)

	created := must[contract.Replay](t, e.do(t, http.MethodPost, "/v1/replays", body(""), as), http.StatusCreated)
	ended := e.replayed(t, as, created.Id)
	require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
	require.Len(t, ended.Attempts, 9)
	for _, a := range ended.Attempts {
		require.EqualValues(t, "succeeded", a.Status, "%+v", a)
		assert.EqualValues(t, "completed", *a.StopReason)
		assert.NotNil(t, a.RunId)
		if a.Role == contract.Control {
			assert.Equal(t, 3, a.ModelCalls)
			assert.EqualValues(t, 2, a.Exposure["hit"], "%v", a.Exposure)
		} else {
			assert.Equal(t, 1, a.ModelCalls)
		}
	}
	assert.Len(t, server.Requests(), 5*3+4)
	assert.EqualValues(t, 5*3+4, ended.Cost.Calls)
	verdict := verdictOf(t, &ended)
	assert.Equal(t, "effect_attributable", verdict.Verdict, verdict.Sentence)

	// A control does what was recorded, and lists leave the runs of attempts out.
	shown := must[contract.ReplayDiff](t, e.do(t, http.MethodGet, "/v1/replays/"+created.Id.String()+"/diff?attempt=1", nil, as), http.StatusOK)
	assert.Zero(t, shown.Diff.Distance, "%+v", shown.Diff.Steps)
	assert.Equal(t, 6, shown.Diff.Counts.Same)
	edited := must[contract.ReplayDiff](t, e.do(t, http.MethodGet, "/v1/replays/"+created.Id.String()+"/diff?fold=false", nil, as), http.StatusOK)
	assert.EqualValues(t, "treatment", edited.Attempt.Role)
	assert.Positive(t, edited.Diff.Distance)
	assert.Zero(t, edited.OutsideConeDifferences)
	listed := must[contract.RunPage](t, e.do(t, http.MethodGet, "/v1/runs?project_id="+project.Id.String(), nil, as), http.StatusOK)
	assert.Len(t, listed.Data, 1)
	listed = must[contract.RunPage](t, e.do(t, http.MethodGet, "/v1/runs?source=replay&project_id="+project.Id.String(), nil, as), http.StatusOK)
	assert.Len(t, listed.Data, 9)

	// A list has no contents of edits, and the verdict in words.
	page := must[contract.ReplayPage](t, e.do(t, http.MethodGet, "/v1/replays?run_id="+run.String(), nil, as), http.StatusOK)
	require.Len(t, page.Data, 1)
	summary := page.Data[0]
	assert.Equal(t, 1, summary.EditCount)
	require.Len(t, summary.Edits, 1)
	assert.JSONEq(t, `{"target":"all","set":"system_prompt"}`, string(summary.Edits[0]))
	assert.Equal(t, ended.Provider, summary.Provider)
	assert.Equal(t, ended.Estimate, summary.Estimate)
	assert.Equal(t, ended.Progress, summary.Progress)
	assert.Equal(t, ended.Cost, summary.Cost)
	assert.Equal(t, &contract.ReplayVerdictSummary{Verdict: "effect_attributable", Sentence: verdict.Sentence}, summary.Verdict)

	path := "/v1/replays/" + created.Id.String()
	assert.Equal(t, "Ask first", must[contract.Replay](t, e.do(t, http.MethodPatch, path, `{"name":"Ask first"}`, as), http.StatusOK).Name)
	assert.Equal(t, "Ask first", must[contract.Replay](t, e.do(t, http.MethodGet, path, nil, as), http.StatusOK).Name)
	wantProblem(t, e.do(t, http.MethodPatch, path, `{"name":"a\u0007b"}`, as), http.StatusUnprocessableEntity)

	// The controls are used again.
	again := must[contract.Replay](t, e.do(t, http.MethodPost, "/v1/replays", fmt.Sprintf(
		`{"run_id":%q,"provider_id":%q,"edits":[{"target":"all","set":{"system_prompt":"You help customers with their orders. Be short."}}]}`, run, connection), as), http.StatusCreated)
	ended = e.replayed(t, as, again.Id)
	reused := 0
	for _, a := range ended.Attempts {
		if a.Reused {
			reused++
		}
	}
	assert.Equal(t, 5, reused)
	assert.Len(t, server.Requests(), 5*3+4+4*3)
	verdict = verdictOf(t, &ended)
	assert.Equal(t, "effect_attributable", verdict.Verdict)
	assert.Contains(t, verdict.Sentence, "changed the tokens", "a longer prompt has more, and the agent does the same")
}
