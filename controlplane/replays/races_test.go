package replays_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// atOnce makes requests at the same time.
func atOnce(requests ...func() *httptest.ResponseRecorder) []*httptest.ResponseRecorder {
	answers := make([]*httptest.ResponseRecorder, len(requests))
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i, request := range requests {
		all.Go(func() {
			<-begin
			answers[i] = request()
		})
	}
	close(begin)
	all.Wait()
	return answers
}

// wantConsistent holds a replay that ended to what is true of each.
func (l *replayLab) wantConsistent(t *testing.T, r *contract.Replay) {
	t.Helper()
	require.Len(t, r.Attempts, r.Controls+r.Treatments)
	controls, treatments := 0, 0
	for i, a := range r.Attempts {
		assert.Equal(t, i+1, a.Number)
		assert.NotContains(t, []contract.ReplayStatus{"queued", "running"}, a.Status)
		if a.Role == contract.Control {
			controls++
			assert.Equal(t, controls, a.Index)
		} else {
			treatments++
			assert.Equal(t, treatments, a.Index)
		}
	}
	assert.Equal(t, r.Controls, controls)
	assert.Equal(t, r.Treatments, treatments)
	assert.Equal(t, r.Progress.Total, r.Progress.Done)
	assert.Zero(t, l.Count(t, "SELECT count(*) FROM replay_steps WHERE replay_id = $1", r.Id))
}

// TestRacesOfReplays has requests that exclude each other.
func TestRacesOfReplays(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.meter(t)
	l.Work(t)
	connection := l.Connect(t, l.as, l.project, "openai", provider.Start(t, provider.Options{Answer: metered}), "").Id
	body := fmt.Sprintf(`{"run_id":%q,"provider_id":%q,%s}`, l.run, connection, asking)
	create := func(key string) func() *httptest.ResponseRecorder {
		return func() *httptest.ResponseRecorder {
			return l.Do(t, http.MethodPost, "/v1/replays", body, l.as, apitest.Header("Idempotency-Key", key))
		}
	}
	answers := atOnce(create("one"), create("one"), create("one"))
	var id uuid.UUID
	for _, w := range answers {
		if w.Code == http.StatusConflict { // the first is under way
			continue
		}
		made := apitest.Must[contract.Replay](t, w, http.StatusCreated)
		if id != uuid.Nil {
			assert.Equal(t, id, made.Id)
		}
		id = made.Id
	}
	assert.Equal(t, 1, l.Count(t, "SELECT count(*) FROM replays"))
	assert.Equal(t, 9, l.Count(t, "SELECT count(*) FROM replay_attempts"))
	first := replayed(t, l.Env, l.as, id)
	l.wantWhole(t, &first)

	path := "/v1/replays/" + id.String()
	post := func(action, body string) func() *httptest.ResponseRecorder {
		return func() *httptest.ResponseRecorder {
			return l.Do(t, http.MethodPost, path+"/_actions/"+action, body, l.as)
		}
	}
	extended := 0
	for _, w := range atOnce(post("extend", `{"treatments":5}`), post("extend", `{"treatments":5}`), post("extend", `{"treatments":5}`)) {
		if w.Code == http.StatusOK {
			extended++
			continue
		}
		assert.Contains(t, []string{"replay_running", "nothing_missing"}, apitest.WantProblem(t, w, http.StatusConflict).Code)
	}
	assert.Equal(t, 1, extended)
	whole := replayed(t, l.Env, l.as, id)
	l.wantWhole(t, &whole)
	assert.Equal(t, first.Cost.Calls+1, whole.Cost.Calls, "one more treatment, once")

	for round := range 5 {
		more := fmt.Sprintf(`{"treatments":%d}`, 6+round)
		remove := func() *httptest.ResponseRecorder { return l.Do(t, http.MethodDelete, path, nil, l.as) }
		requests := []func() *httptest.ResponseRecorder{post("extend", more), post("cancel", "{}"), post("extend", more), post("cancel", "{}")}
		if round == 4 {
			requests = append(requests, remove, remove)
		}
		for _, w := range atOnce(requests...) {
			assert.Contains(t, []int{http.StatusOK, http.StatusConflict, http.StatusNoContent, http.StatusNotFound}, w.Code, w.Body)
		}
		if l.Do(t, http.MethodGet, path, nil, l.as).Code == http.StatusNotFound {
			require.Equal(t, 4, round)
			break
		}
		ended := replayed(t, l.Env, l.as, id)
		assert.Contains(t, []contract.ReplayStatus{"succeeded", "cancelled"}, ended.Status)
		l.wantConsistent(t, &ended)
	}
}

// TestCancelReplayInEveryPhase: before it begins, and after it ended.
func TestCancelReplayInEveryPhase(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.meter(t)
	server := provider.Start(t, provider.Options{Answer: metered})
	connection := l.Connect(t, l.as, l.project, "openai", server, "").Id
	started := l.start(t, fmt.Sprintf(`"provider_id":%q,`, connection)+asking)
	path := "/v1/replays/" + started.Id.String()
	cancel := func() contract.Replay {
		return apitest.Must[contract.Replay](t, l.Do(t, http.MethodPost, path+"/_actions/cancel", nil, l.as), http.StatusOK)
	}
	assert.EqualValues(t, "cancelled", cancel().Status)
	waiting := cancel()
	assert.EqualValues(t, "cancelled", waiting.Status, "twice, before the verdict")
	for _, a := range waiting.Attempts {
		assert.EqualValues(t, "cancelled", a.Status)
	}
	l.Work(t)
	ended := replayed(t, l.Env, l.as, started.Id)
	l.wantConsistent(t, &ended)
	assert.Empty(t, server.Requests())
	assert.Zero(t, ended.Cost.Calls)
	verdict := verdictOf(t, &ended)
	assert.Equal(t, "invalid", verdict.Verdict, verdict.Sentence)
	assert.Contains(t, string(*ended.Verdict), "5 of 5 controls did not finish")
	assert.Equal(t, ended, cancel(), "after the end")

	// All that was cancelled can be made.
	apitest.Must[contract.Replay](t, l.Do(t, http.MethodPost, path+"/_actions/extend", `{}`, l.as), http.StatusOK)
	whole := replayed(t, l.Env, l.as, started.Id)
	l.wantWhole(t, &whole)
	assert.Equal(t, whole, cancel())
}

// TestReplayWhoseConnectionIsDeleted in the middle: what was paid stays.
func TestReplayWhoseConnectionIsDeleted(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.meter(t)
	l.Work(t)
	g := newGate()
	server := provider.Start(t, provider.Options{Answer: g.answer})
	connection := l.Connect(t, l.as, l.project, "openai", server, "").Id
	started := l.start(t, fmt.Sprintf(`"provider_id":%q,`, connection)+asking)
	for range 3 {
		<-g.began
	}
	require.Equal(t, http.StatusNoContent, l.Do(t, http.MethodDelete, "/v1/providers/"+connection.String(), nil, l.as).Code)
	close(g.open)
	ended := replayed(t, l.Env, l.as, started.Id)
	require.EqualValues(t, "failed", ended.Status)
	require.NotNil(t, ended.Error)
	assert.Equal(t, "provider_deleted", ended.Error.Code, ended.Error.Detail)
	l.wantConsistent(t, &ended)
	assert.EqualValues(t, len(server.Requests()), ended.Cost.Calls)
	assert.InDelta(t, float64(len(server.Requests()))*meteredUSD, ended.CostUsd, 1e-9)
}

// TestReplayCapIsExact: what it cost is the sum of its answers and below the cap, also where attempts were cut off.
func TestReplayCapIsExact(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.meter(t)
	l.Work(t)
	var refused atomic.Int32
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		if refused.Add(1)%4 == 0 { // costs nothing, and is tried again
			return &provider.Reply{Error: &provider.Error{Status: http.StatusServiceUnavailable, Type: "server_error", Message: "Overloaded."}, Header: quick}
		}
		return metered(q)
	}})
	connection := l.Connect(t, l.as, l.project, "openai", server, "").Id
	const limit = `{"target":"all","set":{"params":{"max_tokens":30}}}`
	started := l.start(t, fmt.Sprintf(`"provider_id":%q,"max_cost_usd":0.005,"edits":[{"target":"all","set":{"system_prompt":"Ask before you change anything."}},%s],"controls":20,"treatments":20`, connection, limit))
	ended := replayed(t, l.Env, l.as, started.Id)
	require.EqualValues(t, "succeeded", ended.Status, "%+v", ended.Error)
	require.NotNil(t, ended.StopReason)
	assert.EqualValues(t, "max_cost", *ended.StopReason)
	l.wantConsistent(t, &ended)
	paid := 0
	for _, request := range server.Requests() {
		if request.Status == http.StatusOK {
			paid++
		}
	}
	assert.Len(t, server.Requests(), int(ended.Cost.Calls))
	assert.InDelta(t, float64(paid)*meteredUSD, ended.CostUsd, 1e-9)
	assert.LessOrEqual(t, ended.CostUsd+ended.Cost.UnknownAtMostUsd, .005)
	sum := 0.
	for _, a := range ended.Attempts {
		if a.CostUsd != nil {
			sum += *a.CostUsd
		}
	}
	assert.LessOrEqual(t, sum, ended.CostUsd+1e-9)
	assert.NotContains(t, effects, verdictOf(t, &ended).Verdict)
}

// TestReplayCallAfterAnOutageHasOneCap breaks off each answer, which may have been paid, and then PostgreSQL goes away. The call that is made
// again when it is back has what is left of the money and of the tries of the first one.
func TestReplayCallAfterAnOutageHasOneCap(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.meter(t)
	l.Work(t)
	l.Exec(t, `CREATE SEQUENCE places; CREATE FUNCTION go_away() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF nextval('places') IN (2, 4, 6, 8) THEN
				RAISE EXCEPTION 'the database system is shutting down' USING ERRCODE = 'cannot_connect_now';
			END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER go_away BEFORE INSERT ON provider_calls FOR EACH ROW EXECUTE FUNCTION go_away()`)
	server := provider.Start(t, provider.Options{Answer: func(*provider.Request) *provider.Reply {
		return &provider.Reply{Text: "It is paid, and lost.", Fault: provider.Reset}
	}})
	connection := l.Connect(t, l.as, l.project, "openai", server, "").Id
	const limit = 0.15 // three tries of a call that has no limit of its answer
	started := l.start(t, fmt.Sprintf(`"provider_id":%q,"max_cost_usd":%v,%s,"controls":1,"treatments":1`, connection, limit, asking))
	ended := replayed(t, l.Env, l.as, started.Id)
	assert.EqualValues(t, 3, ended.Cost.UnknownCalls, "%+v", ended.Cost)
	assert.Len(t, server.Requests(), 3)
	assert.LessOrEqual(t, ended.CostUsd+ended.Cost.UnknownAtMostUsd, limit)
}

// TestReplaysOfKeysAndMembers who may do less.
func TestReplaysOfKeysAndMembers(t *testing.T) {
	t.Parallel()
	e, session, project, send := apitest.NewReplayEnv(t)
	l := &replayLab{Env: e, session: session, as: apitest.Cookie(session), project: project.Id, send: send}
	l.record(t, nil)
	replay := "/v1/replays/" + l.FillReplay(t, l.as, l.run.String())
	other := l.CreateProject(t, session, project.WorkspaceId, "other").Id
	key := func(project uuid.UUID, scopes ...contract.Scope) apitest.Option {
		return apitest.Bearer(l.Mint(t, session, project, scopes...).Key)
	}
	body := apitest.ReplayBody(l.run.String(), "")
	for name, c := range map[string]struct {
		as                                                     apitest.Option
		read, diff, list, plan, create, cancel, extend, remove int
	}{
		"reader":         {key(l.project, contract.ScopeReplaysRead), 200, 403, 200, 403, 403, 403, 403, 403},
		"reader of runs": {key(l.project, contract.ScopeReplaysRead, contract.ScopeRunsRead), 200, 200, 200, 403, 403, 403, 403, 403},
		"writer only":    {key(l.project, contract.ScopeReplaysWrite), 403, 403, 403, 403, 403, 200, 409, 204},
		"key of another": {key(other, contract.ScopeReplaysRead, contract.ScopeReplaysWrite, contract.ScopeRunsRead), 404, 404, 200, 404, 404, 404, 404, 404},
		"viewer":         {apitest.Cookie(l.AddMember(t, "vic@example.com", "viewer", project.OrganizationId)), 200, 200, 200, 403, 403, 403, 403, 403},
		"nobody":         {func(*http.Request) {}, 401, 401, 401, 401, 401, 401, 401, 401},
	} {
		for _, request := range []struct {
			method, path, body string
			want               int
		}{
			{http.MethodGet, replay, "", c.read},
			{http.MethodGet, replay + "/diff", "", c.diff},
			{http.MethodGet, "/v1/replays", "", c.list},
			{http.MethodPost, "/v1/replays", apitest.ReplayBody(l.run.String(), `,"plan":true`), c.plan},
			{http.MethodPost, "/v1/replays", body, c.create},
			{http.MethodPost, replay + "/_actions/cancel", "", c.cancel},
			{http.MethodPost, replay + "/_actions/extend", "{}", c.extend},
		} {
			var sent any
			if request.body != "" {
				sent = request.body
			}
			w := l.Do(t, request.method, request.path, sent, c.as)
			assert.Equal(t, request.want, w.Code, "%s: %s %s: %s", name, request.method, request.path, w.Body)
			if name == "key of another" && request.path == "/v1/replays" && request.method == http.MethodGet {
				assert.Empty(t, apitest.Must[contract.ReplayPage](t, w, http.StatusOK).Data)
			}
		}
		if name != "writer only" {
			assert.Equal(t, c.remove, l.Do(t, http.MethodDelete, replay, nil, c.as).Code, name)
		}
	}
}
