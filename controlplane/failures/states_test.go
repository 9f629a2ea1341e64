package failures_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// failureStates is a project with groups of failed runs by the names of their tools.
type failureStates struct {
	*apitest.Env
	address      string
	project      uuid.UUID
	session      apitest.Option
	secret       string // of a key that only reads
	key          apitest.Option
	fingerprints map[string]string
}

func newFailureStates(t *testing.T, tools ...string) *failureStates {
	t.Helper()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	secret := e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key
	f := &failureStates{
		Env: e, address: address, project: project.Id, session: apitest.Cookie(session), secret: secret, key: apitest.Bearer(secret), fingerprints: map[string]string{},
	}
	for _, tool := range tools {
		f.fail(t, tool, e.Clock.Now().Add(-time.Hour), "")
	}
	for _, group := range f.list(t, "&state=all").Data {
		f.fingerprints[group.Step.Name] = group.Fingerprint
	}
	require.Len(t, f.fingerprints, len(tools))
	return f
}

// fail stores a run of a source, the user's if it has none, that failed at a time.
func (f *failureStates) fail(t *testing.T, tool string, at time.Time, source string) uuid.UUID {
	t.Helper()
	spans := apitest.AgentRun(f.project, at, tool, "no answer", func(root *runmodel.Span) { root.Source = source })
	apitest.StoreSpans(t, f.address, spans)
	return spans[0].RunID
}

func (f *failureStates) list(t *testing.T, query string) contract.FailedRuns {
	t.Helper()
	return apitest.Must[contract.FailedRuns](t, f.Do(t, http.MethodGet, "/v1/agent/failed-runs?project_id="+f.project.String()+query, nil, f.key), http.StatusOK)
}

// tools are the names of the failing tools of a list, the best first.
func tools(list contract.FailedRuns) []string {
	names := []string{}
	for _, group := range list.Data {
		names = append(names, group.Step.Name)
	}
	return names
}

func (f *failureStates) path(tool string) string {
	return "/v1/agent/failed-runs/" + f.fingerprints[tool] + "/state?project_id=" + f.project.String()
}

func (f *failureStates) decide(t *testing.T, tool, body string) contract.FailureState {
	t.Helper()
	return apitest.Must[contract.FailureState](t, f.Do(t, http.MethodPut, f.path(tool), body, f.session), http.StatusOK)
}

func (f *failureStates) state(t *testing.T, tool string) contract.FailureState {
	t.Helper()
	path := "/v1/agent/failed-runs/" + f.fingerprints[tool] + "?project_id=" + f.project.String()
	return apitest.Must[contract.FailedRunsDetail](t, f.Do(t, http.MethodGet, path, nil, f.key), http.StatusOK).Group.State
}

func TestFailureStates(t *testing.T) {
	t.Parallel()
	f := newFailureStates(t, "book", "search", "pay")
	all := f.list(t, "")
	assert.ElementsMatch(t, []string{"book", "search", "pay"}, tools(all))
	assert.Equal(t, contract.FailureStateCounts{Open: 3}, all.StateCounts)
	assert.Equal(t, contract.FailureState{State: contract.FailureStateNameOpen}, all.Data[0].State)

	t.Run("resolved and muted are left out, and counted", func(t *testing.T) {
		resolved := f.decide(t, "book", `{"state":"resolved","note":" fixed in 1.3 "}`)
		assert.Equal(t, contract.FailureStateNameResolved, resolved.State)
		assert.Equal(t, contract.FailureDecisionMade{
			State: contract.FailureStateNameResolved, Note: new("fixed in 1.3"), RunsSince: new(int64(0)),
			CreatedBy: contract.Author{Email: new(apitest.Email)}, CreatedAt: resolved.Decision.CreatedAt, Revision: 1,
		}, *resolved.Decision)
		assert.WithinDuration(t, f.Clock.Now(), resolved.Decision.CreatedAt, time.Millisecond)
		f.decide(t, "pay", `{"state":"muted"}`)
		open := f.list(t, "")
		assert.Equal(t, []string{"search"}, tools(open))
		assert.Equal(t, contract.FailureStateCounts{Open: 1, Resolved: 1, Muted: 1}, open.StateCounts)
		assert.Equal(t, [2]int64{3, 3}, [2]int64{int64(open.GroupCount), open.FailedRunCount})
		assert.Equal(t, []string{"book"}, tools(f.list(t, "&state=resolved")))
		assert.Equal(t, []string{"pay"}, tools(f.list(t, "&state=muted")))
		assert.Len(t, f.list(t, "&state=all").Data, 3)
		assert.Equal(t, resolved, f.state(t, "book"), "one group is read whatever its state")
	})
	t.Run("tools leave them out, too", func(t *testing.T) {
		server := httptest.NewServer(f.API)
		t.Cleanup(server.Close)
		client := apitest.ConnectMCP(t, server.URL+"/mcp", f.secret)
		type found struct {
			GroupCount int `json:"group_count"`
			Resolved   int `json:"resolved_left_out"`
			Muted      int `json:"muted_left_out"`
			Groups     []struct {
				Step  string `json:"step"`
				State string `json:"state"`
			} `json:"groups"`
		}
		listed, _ := apitest.CallTool[found](t, client, "runs.failures", nil)
		assert.Equal(t, [3]int{3, 1, 1}, [3]int{listed.GroupCount, listed.Resolved, listed.Muted})
		require.Len(t, listed.Groups, 1)
		assert.Equal(t, "tool search", listed.Groups[0].Step)
		one, _ := apitest.CallTool[found](t, client, "runs.failures", map[string]any{"fingerprint": f.fingerprints["pay"]})
		require.Len(t, one.Groups, 1)
		assert.Equal(t, "muted", one.Groups[0].State)
		assert.Zero(t, one.Muted, "nothing is left out")
	})
	t.Run("again", func(t *testing.T) {
		before := f.state(t, "book")
		f.Clock.Advance(time.Minute)
		writer := apitest.Bearer(f.mintFor(t, contract.ScopeRunsWrite))
		same := apitest.Must[contract.FailureState](t, f.Do(t, http.MethodPut, f.path("book"), `{"state":"resolved","note":"fixed in 1.3"}`, writer), http.StatusOK)
		assert.Equal(t, before, same, "what holds already keeps its author and time")
		other := apitest.Must[contract.FailureState](t, f.Do(t, http.MethodPut, f.path("book"), `{"state":"resolved"}`, writer), http.StatusOK)
		assert.Nil(t, other.Decision.Note)
		assert.Equal(t, contract.Author{Key: new("reader")}, other.Decision.CreatedBy)
		assert.True(t, other.Decision.CreatedAt.After(before.Decision.CreatedAt))
	})
	t.Run("regressed", func(t *testing.T) {
		f.Clock.Advance(time.Minute)
		f.fail(t, "book", f.Clock.Now().Add(-30*time.Minute), "")       // began before it was resolved
		f.fail(t, "book", f.Clock.Now().Add(-20*time.Second), "replay") // made by Looptrace
		f.fail(t, "search", f.Clock.Now().Add(-20*time.Second), "")     // another group
		assert.Equal(t, contract.FailureStateNameResolved, f.state(t, "book").State)
		first := f.fail(t, "book", f.Clock.Now().Add(-10*time.Second), "")
		f.fail(t, "book", f.Clock.Now().Add(-5*time.Second), "")
		state := f.state(t, "book")
		assert.Equal(t, contract.FailureStateNameOpen, state.State)
		require.NotNil(t, state.Regression)
		assert.Equal(t, first, state.Regression.RunId)
		assert.Equal(t, int64(2), *state.Decision.RunsSince)
		assert.ElementsMatch(t, []string{"book", "search"}, tools(f.list(t, "")))
		assert.Equal(t, int64(2), *f.state(t, "book").Decision.RunsSince, "a filter of the list does not hide it")

		again := f.decide(t, "book", `{"state":"resolved"}`)
		assert.Equal(t, contract.FailureStateNameResolved, again.State)
		assert.Nil(t, again.Regression)
		f.Clock.Advance(time.Second)
		assert.Equal(t, again, f.state(t, "book"))
	})
	t.Run("muted until a time", func(t *testing.T) {
		until := f.Clock.Now().Add(time.Hour)
		muted := f.decide(t, "search", fmt.Sprintf(`{"state":"muted","until":%q}`, until.Format(time.RFC3339Nano)))
		assert.WithinDuration(t, until, *muted.Decision.Until, time.Microsecond)
		f.Clock.Advance(time.Hour - time.Second)
		assert.Equal(t, contract.FailureStateNameMuted, f.state(t, "search").State)
		f.Clock.Advance(2 * time.Second)
		ended := f.state(t, "search")
		assert.Equal(t, contract.FailureStateNameOpen, ended.State)
		assert.Equal(t, contract.FailureStateNameMuted, ended.Decision.State)
		assert.Contains(t, tools(f.list(t, "")), "search")
	})
	t.Run("muted until more runs", func(t *testing.T) {
		f.decide(t, "pay", `{"state":"muted","more_runs":2}`)
		f.Clock.Advance(time.Minute)
		f.fail(t, "pay", f.Clock.Now().Add(-30*time.Second), "")
		muted := f.state(t, "pay")
		assert.Equal(t, contract.FailureStateNameMuted, muted.State)
		assert.Equal(t, int64(1), *muted.Decision.RunsSince)
		f.fail(t, "pay", f.Clock.Now().Add(-20*time.Second), "")
		ended := f.state(t, "pay")
		assert.Equal(t, contract.FailureStateNameOpen, ended.State)
		assert.Nil(t, ended.Regression, "only a group that was resolved can regress")
	})
	t.Run("reopened", func(t *testing.T) {
		open := f.decide(t, "book", `{"state":"open"}`)
		assert.Equal(t, contract.FailureStateNameOpen, open.State)
		assert.Nil(t, open.Decision.RunsSince)
	})
	t.Run("refused", func(t *testing.T) {
		for body, message := range map[string]string{
			`{"state":"resolved","until":"2100-01-01T00:00:00Z"}`:            "body.until is only for the state muted",
			`{"state":"open","more_runs":1}`:                                 "body.more_runs is only for the state muted",
			`{"state":"muted","more_runs":1,"until":"2100-01-01T00:00:00Z"}`: "body.more_runs must be absent if until is given: a mute has one end",
			`{"state":"muted","until":"2020-01-01T00:00:00Z"}`:               "body.until must be in the future",
			`{"state":"muted","until":"2999-01-01T00:00:00Z"}`:               "body.until must be between 1970 and 2261",
			`{"state":"open","note":"two\nlines"}`:                           "body.note must not contain control characters (at byte 3)",
		} {
			p := apitest.WantProblem(t, f.Do(t, http.MethodPut, f.path("book"), body, f.session), http.StatusUnprocessableEntity)
			require.Len(t, *p.Errors, 1, body)
			assert.Equal(t, message, (*p.Errors)[0].Location+" "+(*p.Errors)[0].Message)
		}
		apitest.WantProblem(t, f.Do(t, http.MethodPut, f.path("book"), `{"state":"open"}`, f.key), http.StatusForbidden)
		apitest.Golden(t, "not_found", f.Do(t, http.MethodPut, "/v1/agent/failed-runs/fp:v3:0123456789abcdef/state?project_id="+f.project.String(), `{"state":"open"}`, f.session))
	})
}

// TestFailureStatesBySeveral holds that of those who decide about a group at once, or after another whose decision they have not read, one
// does and the others are told.
func TestFailureStatesBySeveral(t *testing.T) {
	t.Parallel()
	f := newFailureStates(t, "book")
	const several = 8
	mute := func(runs, base int) int {
		body := fmt.Sprintf(`{"state":"muted","more_runs":%d,"base_revision":%d}`, runs, base)
		return f.Do(t, http.MethodPut, f.path("book"), body, f.session).Code
	}
	decide := func(base int) map[int]int {
		answers := make(chan int, several)
		for i := range several {
			go func() { answers <- mute(base*several+i+1, base) }()
		}
		codes := map[int]int{}
		for range several {
			codes[<-answers]++
		}
		return codes
	}
	for base := range 3 {
		assert.Equal(t, map[int]int{http.StatusOK: 1, http.StatusConflict: several - 1}, decide(base))
		assert.Equal(t, base+1, f.state(t, "book").Decision.Revision)
	}
	for _, base := range []int{0, 2, 4} {
		p := apitest.WantProblem(t, f.Do(t, http.MethodPut, f.path("book"), fmt.Sprintf(`{"state":"resolved","base_revision":%d}`, base), f.session), http.StatusConflict)
		assert.Equal(t, "stale_base_revision", p.Code)
	}
	assert.Equal(t, contract.FailureStateNameMuted, f.state(t, "book").State)

	f.decide(t, "book", `{"state":"resolved","base_revision":3}`)
	same := f.decide(t, "book", `{"state":"resolved","base_revision":3}`)
	assert.Equal(t, 4, same.Decision.Revision, "what holds already is no conflict, so that a request can be sent again")
	assert.Equal(t, 5, f.decide(t, "book", `{"state":"open"}`).Decision.Revision)
}

// mintFor makes a key with a scope.
func (f *failureStates) mintFor(t *testing.T, scope contract.Scope) string {
	t.Helper()
	body := contract.KeyCreate{ProjectId: f.project, Name: "reader", Scopes: []contract.Scope{scope}}
	return apitest.Must[contract.KeyWithSecret](t, f.Do(t, http.MethodPost, "/v1/keys", body, f.session), http.StatusCreated).Key
}

// TestFailureStatesBetweenPages holds that a decision between two pages neither hides a group nor shows one twice.
func TestFailureStatesBetweenPages(t *testing.T) {
	t.Parallel()
	f := newFailureStates(t, "book", "search", "pay", "send")
	ranked := tools(f.list(t, ""))
	first := f.list(t, "&limit=2")
	assert.Equal(t, ranked[:2], tools(first))
	f.decide(t, ranked[0], `{"state":"muted"}`)
	f.decide(t, ranked[1], `{"state":"resolved"}`)
	second := f.list(t, "&limit=2&cursor="+*first.NextCursor)
	assert.Equal(t, ranked[2:], tools(second))
	assert.Nil(t, second.NextCursor)
	apitest.Golden(t, "invalid_cursor", f.Do(t, http.MethodGet, "/v1/agent/failed-runs?project_id="+f.project.String()+"&state=all&cursor="+*first.NextCursor, nil, f.key))
}
