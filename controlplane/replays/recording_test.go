package replays_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/provider"
)

// record records another run of the agent, which starts of the lab replay from then on.
func (l *replayLab) record(t *testing.T, change func(ptrace.SpanSlice)) {
	t.Helper()
	run, td := apitest.AgentTrace(apitest.OrderAgent)
	if change != nil {
		change(td.ResourceSpans().At(0).ScopeSpans().At(0).Spans())
	}
	l.send(td)
	l.run = run
}

// late stores one more span of the run.
func (l *replayLab) late(t *testing.T) {
	t.Helper()
	td := ptrace.NewTraces()
	span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(pcommon.TraceID(l.run))
	span.SetSpanID(pcommon.SpanID{0xb0, 7: 1})
	span.SetParentSpanID(pcommon.SpanID{0xa0, 7: 1})
	span.SetName("execute_tool find_order")
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(-time.Hour)))
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(-time.Hour + time.Millisecond)))
	span.Attributes().PutStr(runmodel.KeyOperationName, "execute_tool")
	span.Attributes().PutStr(runmodel.KeyToolName, "find_order")
	l.send(td)
}

// forget deletes the run.
func (l *replayLab) forget(t *testing.T) {
	t.Helper()
	apitest.Must[contract.RunDeletion](t, l.Do(t, http.MethodPost, "/v1/runs/_actions/delete", fmt.Sprintf(`{"project_id":%q,"run_ids":[%q]}`, l.project, l.run), l.as), http.StatusOK)
}

// gate holds back answers until it is opened. began has an element for each request.
type gate struct{ began, open chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}, 1000), make(chan struct{})} }

func (g *gate) answer(q *provider.Request) *provider.Reply {
	g.began <- struct{}{}
	<-g.open
	return metered(q)
}

// TestReplayOfAChangedRecording: more of the run is stored, or it is deleted, at each time of a replay.
func TestReplayOfAChangedRecording(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	changes := map[string]func(*testing.T){"recording_changed": l.late, "run_deleted": l.forget}
	waiting := map[string]contract.Replay{}
	none := provider.Start(t, provider.Options{Answer: metered})
	connection := l.Connect(t, l.as, l.project, "openai", none, "").Id
	for code, change := range changes {
		l.record(t, nil)
		waiting[code] = l.start(t, fmt.Sprintf(`"provider_id":%q,`, connection)+asking)
		change(t)
	}
	l.Work(t)
	for code, one := range waiting {
		ended := replayed(t, l.Env, l.as, one.Id)
		assert.EqualValues(t, "failed", ended.Status)
		require.NotNil(t, ended.Error)
		assert.Equal(t, code, ended.Error.Code)
		for _, a := range ended.Attempts {
			assert.EqualValues(t, "cancelled", a.Status)
		}
	}
	assert.Empty(t, none.Requests())

	for code, change := range changes {
		l.record(t, nil)
		g := newGate()
		held := l.Connect(t, l.as, l.project, "openai", provider.Start(t, provider.Options{Answer: g.answer}), "").Id
		started := l.start(t, fmt.Sprintf(`"provider_id":%q,`, held)+asking)
		<-g.began
		change(t)
		close(g.open)
		// All of its attempts are of the recording that it read.
		ended := replayed(t, l.Env, l.as, started.Id)
		require.EqualValues(t, "succeeded", ended.Status, "%s: %+v", code, ended.Error)
		assert.Equal(t, "effect_attributable", verdictOf(t, &ended).Verdict)
		path := "/v1/replays/" + started.Id.String()
		diff := l.Do(t, http.MethodGet, path+"/diff", nil, l.as)
		if code == "run_deleted" {
			assert.Equal(t, code, apitest.WantProblem(t, diff, http.StatusConflict).Code)
		} else {
			assert.Zero(t, apitest.Must[contract.ReplayDiff](t, diff, http.StatusOK).OutsideConeDifferences)
		}
		// More attempts would be of another one. What there is stays.
		refused := apitest.WantProblem(t, l.Do(t, http.MethodPost, path+"/_actions/extend", `{"treatments":6}`, l.as), http.StatusConflict)
		assert.Equal(t, code, refused.Code)
		after := apitest.Must[contract.Replay](t, l.Do(t, http.MethodGet, path, nil, l.as), http.StatusOK)
		assert.Equal(t, ended, after)
	}
}

// TestReplayOfAnOpaqueRun: only the program can make its second request.
func TestReplayOfAnOpaqueRun(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.Work(t)
	l.record(t, func(spans ptrace.SpanSlice) {
		spans.At(3).Attributes().PutStr(runmodel.KeyInputMessages, `[{"role":"user","parts":[{"type":"text","content":"So far: the order was looked up. Go on."}]}]`)
	})
	level := apitest.Must[contract.RunReplayability](t, l.Do(t, http.MethodGet, "/v1/runs/"+l.run.String()+"/replayability", nil, l.as), http.StatusOK)
	require.EqualValues(t, "llm", level.Level, "%+v", level)
	assert.Positive(t, level.OpaqueSteps)
	stopped := l.replay(t, apitest.AnswerOrders, asking+`,"controls":3,"treatments":2`)
	require.EqualValues(t, "succeeded", stopped.Status, "%+v", stopped.Error)
	verdict := verdictOf(t, &stopped)
	assert.NotContains(t, effects, verdict.Verdict, verdict.Sentence)
	for _, a := range treatmentsOf(&stopped) {
		if *a.StopReason == "completed" {
			continue
		}
		assert.EqualValues(t, "opaque", *a.StopReason)
		assert.Contains(t, *a.Remedy, "Edit this request itself")
	}

	// Without texts, no model can be called. Times can be edited.
	l.record(t, func(spans ptrace.SpanSlice) {
		for i := range spans.Len() {
			spans.At(i).Attributes().RemoveIf(func(key string, _ pcommon.Value) bool { return strings.HasSuffix(key, "messages") })
		}
	})
	level = apitest.Must[contract.RunReplayability](t, l.Do(t, http.MethodGet, "/v1/runs/"+l.run.String()+"/replayability", nil, l.as), http.StatusOK)
	assert.EqualValues(t, "structure", level.Level)
	assert.Equal(t, []contract.ReplayExecutor{contract.Cassette}, level.Executors)
	body := func(members string) string { return fmt.Sprintf(`{"run_id":%q,%s}`, l.run, members) }
	for _, members := range []string{`"edits":[]`, `"edits":[],"plan":true`} {
		refused := apitest.WantProblem(t, l.Do(t, http.MethodPost, "/v1/replays", body(members), l.as), http.StatusConflict)
		assert.Equal(t, "not_replayable", refused.Code)
		assert.Contains(t, *refused.Detail, "capture_content=True", "what to do")
	}
	refused := apitest.WantProblem(t, l.Do(t, http.MethodPost, "/v1/replays", body(asking), l.as), http.StatusUnprocessableEntity)
	assert.Contains(t, (*refused.Errors)[0].Message, "capture_content=True")
	for _, c := range []struct{ members, verdict, says string }{
		{`"executor":"cassette","edits":[]`, "deterministic_no_effect", "has no effect"},
		{`"edits":[{"target":{"kind":"tool","name":"find_order"},"set":{"timeout_ms":5000}}]`, "deterministic_no_effect", "has no effect"},
		{`"edits":[{"target":{"kind":"model"},"set":{"timeout_ms":10}}]`, "deterministic_effect", "The edit changed the model call, which the recording proves."},
	} {
		ended := replayed(t, l.Env, l.as, l.start(t, c.members).Id)
		assert.EqualValues(t, "cassette", ended.Executor)
		verdict := verdictOf(t, &ended)
		assert.Equal(t, c.verdict, verdict.Verdict, "%s: %s", c.members, verdict.Sentence)
		assert.Contains(t, verdict.Sentence, c.says, c.members)
	}
}

// TestReplayOfARunThatIsOpenOrEmpty is refused, with the reason.
func TestReplayOfARunThatIsOpenOrEmpty(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.record(t, func(spans ptrace.SpanSlice) { spans.At(0).SetEndTimestamp(0) })
	for _, edits := range []string{`"edits":[]`, asking, `"executor":"cassette","edits":[]`, `"edits":[` + apitest.LongTimeouts + `]`} {
		for _, plan := range []string{"false", "true"} {
			w := l.Do(t, http.MethodPost, "/v1/replays", fmt.Sprintf(`{"run_id":%q,"plan":%s,%s}`, l.run, plan, edits), l.as)
			require.Contains(t, []int{http.StatusConflict, http.StatusUnprocessableEntity}, w.Code, w.Body)
			assert.Contains(t, w.Body.String(), "has not ended")
		}
	}
	missing := l.Do(t, http.MethodPost, "/v1/replays", fmt.Sprintf(`{"run_id":%q,"edits":[]}`, uuid.New()), l.as)
	assert.Equal(t, "not_found", apitest.WantProblem(t, missing, http.StatusNotFound).Code)
}
