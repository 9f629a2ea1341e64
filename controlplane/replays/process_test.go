package replays_test

import (
	"fmt"
	"net/http"
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

// metered answers like orders, and says what it used: each answer costs 300 millionths of a dollar at the price of metering.
func metered(q *provider.Request) *provider.Reply {
	reply := apitest.AnswerOrders(q)
	reply.Usage = &provider.Usage{Input: 100, Output: 20}
	return reply
}

const meteredUSD = 300e-6

// meter gives the model of the agent its price.
func (l *replayLab) meter(t *testing.T) {
	t.Helper()
	l.Price(t, l.as, l.project, apitest.AgentModel)
}

// answeredOf counts the calls whose answers the attempts have.
func answeredOf(r *contract.Replay) (n int) {
	for _, a := range r.Attempts {
		n += a.ModelCalls
	}
	return n
}

// wantWhole holds a replay of asking to what it is if nothing was done twice, and nothing left out.
func (l *replayLab) wantWhole(t *testing.T, r *contract.Replay) {
	t.Helper()
	require.EqualValues(t, "succeeded", r.Status, "%+v", r.Error)
	answered, sum := 0, 0.
	ids := map[uuid.UUID]bool{}
	for i, a := range r.Attempts {
		assert.Equal(t, i+1, a.Number)
		require.Equal(t, contract.ReplayStatusSucceeded, a.Status, "%+v", a.Detail)
		assert.EqualValues(t, "completed", *a.StopReason)
		calls, spans := 3, 6
		if a.Role == contract.Treatment {
			calls, spans = 1, 2
		}
		assert.Equal(t, calls, a.ModelCalls)
		answered += calls
		require.NotNil(t, a.CostUsd)
		assert.InDelta(t, float64(calls)*meteredUSD, *a.CostUsd, 1e-9)
		sum += *a.CostUsd
		ids[*a.RunId] = true
		run := apitest.Must[contract.Run](t, l.Do(t, http.MethodGet, "/v1/runs/"+a.RunId.String(), nil, l.as), http.StatusOK)
		assert.EqualValues(t, spans, run.SpanCount, "the run of attempt %d", a.Number)
	}
	assert.Len(t, ids, r.Controls+r.Treatments)
	assert.Equal(t, r.Controls+r.Treatments, r.Progress.Done)
	assert.Zero(t, r.Progress.Failed)
	assert.InDelta(t, sum, r.CostUsd, 1e-9)
	assert.InDelta(t, float64(answered)*meteredUSD, r.CostUsd, 1e-9)
	assert.GreaterOrEqual(t, r.Cost.Calls, int64(answered))
	assert.Contains(t, effects, verdictOf(t, r).Verdict)
}

// TestReplayGoesOnInAnotherProcess stops a process in the middle of a replay. Another one goes on: it makes no answered call twice.
func TestReplayGoesOnInAnotherProcess(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.meter(t)
	const before = 7
	var answered, held atomic.Int32
	var stopped atomic.Bool
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		if stopped.Load() {
			return metered(q)
		}
		if answered.Add(1) > before {
			held.Add(1)
			return &provider.Reply{Fault: provider.Stall}
		}
		return metered(q)
	}})
	connection := l.Connect(t, l.as, l.project, "openai", server, `,"max_concurrency":20`).Id
	stop := l.Work(t)
	started := l.start(t, fmt.Sprintf(`"provider_id":%q,"max_cost_usd":100,`, connection)+asking)
	require.Eventually(t, func() bool { return held.Load() >= 4 }, apitest.ReplayTime, 50*time.Millisecond, "calls wait for their answers")
	stop()
	stopped.Store(true)
	// It says nothing wrong meanwhile.
	waiting := apitest.Must[contract.Replay](t, l.Do(t, http.MethodGet, "/v1/replays/"+started.Id.String(), nil, l.as), http.StatusOK)
	assert.EqualValues(t, "running", waiting.Status)
	assert.Nil(t, waiting.Verdict)
	second := l.Beside(t, l.DB)
	second.Work(t)
	ended := replayed(t, l.Env, l.as, started.Id)
	l.wantWhole(t, &ended)
	assert.Len(t, server.Requests(), answeredOf(&ended)+int(held.Load()))
	assert.GreaterOrEqual(t, ended.Cost.UnknownCalls, int64(held.Load()), "nobody knows what calls cost whose answers never came")
	assert.Zero(t, l.texts(t))
	for _, a := range ended.Attempts {
		assert.Len(t, a.Warnings, 1, "of the limit of money: attempt %d", a.Number)
	}
}

// TestReplaysOfTwoProcesses has two processes that work on the same queue, of which one stops in the middle.
func TestReplaysOfTwoProcesses(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.meter(t)
	var calls atomic.Int32
	half := make(chan struct{})
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		if calls.Add(1) == 20 {
			close(half)
		}
		return metered(q)
	}})
	connection := l.Connect(t, l.as, l.project, "openai", server, `,"max_concurrency":4`).Id
	stop := l.Work(t)
	second := l.Beside(t, l.DB)
	second.Work(t)
	var started []contract.Replay
	for i := range 3 {
		started = append(started, l.start(t, fmt.Sprintf(`"provider_id":%q,"name":"replay %d",`, connection, i)+asking+fmt.Sprintf(`,"tools":{"other_%d":{"side_effects":"read"}}`, i)))
	}
	<-half
	stop()
	requests, answered := 0, 0
	for _, one := range started {
		ended := replayed(t, l.Env, l.as, one.Id)
		l.wantWhole(t, &ended)
		requests += int(ended.Cost.Calls)
		answered += answeredOf(&ended)
	}
	assert.LessOrEqual(t, len(server.Requests()), requests)
	assert.GreaterOrEqual(t, len(server.Requests()), answered)
	assert.Equal(t, 3*19, answered)
}

// TestVerdictIsOneOfBytes: it is the same when it is asked for twice, when another process judges again, and by attempts that ended in another order.
func TestVerdictIsOneOfBytes(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.meter(t)
	stop := l.Work(t)
	ended := l.replay(t, metered, asking)
	l.wantWhole(t, &ended)
	assert.EqualValues(t, answeredOf(&ended), ended.Cost.Calls)
	path := "/v1/replays/" + ended.Id.String()
	first := string(*ended.Verdict)
	assert.Equal(t, first, string(*apitest.Must[contract.Replay](t, l.Do(t, http.MethodGet, path, nil, l.as), http.StatusOK).Verdict))
	stop()

	l.Exec(t, `UPDATE replay_attempts SET started_at = started_at - number * interval '1 minute', finished_at = finished_at - number * interval '1 minute'`)
	l.Exec(t, `UPDATE replays SET verdict = NULL, cost = NULL, started_at = started_at - interval '1 hour'`)
	second := l.Beside(t, l.DB)
	second.Work(t)
	require.NoError(t, second.Queue.Requeue(t.Context()))
	again := replayed(t, l.Env, l.as, ended.Id)
	assert.Equal(t, first, string(*again.Verdict))
	assert.Equal(t, ended.Cost, again.Cost)
	assert.Equal(t, ended.FinishedAt, again.FinishedAt)
	diff := apitest.Must[contract.ReplayDiff](t, l.Do(t, http.MethodGet, path+"/diff", nil, l.as), http.StatusOK)
	assert.Equal(t, first, string(*diff.Verdict))
}
