package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/provider"
)

// frozenAnswer is how soon an operation answers while something that it depends on is frozen. The product waits for 8 seconds; the rest is
// for a busy machine that is asked everything at once. Without a limit it would wait as long as it is frozen, which is until all have answered.
const frozenAnswer = 30 * time.Second

// untilFlush ends a request when the first part of its answer is sent: a stream answers for as long as it is read.
type untilFlush struct {
	*httptest.ResponseRecorder
	end context.CancelFunc
}

func (w untilFlush) Flush() {
	w.ResponseRecorder.Flush()
	w.end()
}

// operation is a request of which the test knows what it depends on.
type frozenOperation struct {
	method, path string
	body         any
	// runs tells that it needs ClickHouse.
	runs bool
}

// TestFrozenStores freezes ClickHouse, and then PostgreSQL, which take connections and say nothing: every operation that needs the one
// that is frozen answers 503 within frozenAnswer, all of them at once; the others answer as ever, and all do when it goes on.
func TestFrozenStores(t *testing.T) {
	t.Parallel()
	store, database := engines.ClickHouseServer(t)
	keys, keysDatabase := engines.PostgresServer(t)
	e := apitest.NewOn(t, keys.URL(keysDatabase), store.URL(database))
	session, project := e.SetUp(t)
	run := apitest.StoreRun(t, store.URL(database), project.Id).String()
	key := e.Mint(t, session, project.Id, contract.ScopeRunsRead, contract.ScopeDatasetsRead, contract.ScopeEvalsRead, contract.ScopeReplaysRead, contract.ScopeReplaysWrite)
	server := httptest.NewServer(e.API)
	t.Cleanup(server.Close)
	client := apitest.ConnectMCP(t, server.URL+"/mcp", key.Key)
	failure := apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+run, nil, apitest.Cookie(session)), http.StatusOK).Failure.Fingerprint

	organization, workspace := "/v1/organizations/"+project.OrganizationId.String(), "/v1/workspaces/"+project.WorkspaceId.String()
	ofOrganization := "?organization_id=" + project.OrganizationId.String()
	invitation := apitest.Must[contract.InvitationWithLink](t, e.Do(t, http.MethodPost, "/v1/invitations",
		contract.InvitationCreate{OrganizationId: &project.OrganizationId, Role: contract.RoleViewer}, apitest.Cookie(session)), http.StatusCreated)
	prompt := e.CreatePrompt(t, apitest.Cookie(session), project.Id, "triage", "one", "two")
	ofPrompt := "/v1/prompts/" + prompt.Id.String()
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, ofPrompt+"/aliases", `{"alias":"production","version":1}`, apitest.Cookie(session)), http.StatusCreated)
	dataset := e.CreateDataset(t, apitest.Cookie(session), project.Id, "faq", "a", "b")
	ofDataset := "/v1/datasets/" + dataset.Id.String()
	imported := "/v1/imports/" + e.SendFile(t, apitest.Cookie(session), dataset.Id, "", apitest.TypeCSV, "input\n1\n").Id.String()
	e.CheckNearDuplicates(t, apitest.Cookie(session), dataset.Id, `{"revision":1}`, http.StatusAccepted)
	items := apitest.Must[contract.DatasetItemPage](t, e.Do(t, http.MethodGet, ofDataset+"/items", nil, apitest.Cookie(session)), http.StatusOK)
	models := provider.Start(t, provider.Options{})
	connection := e.Connect(t, apitest.Cookie(session), project.Id, "openai", models, "")
	ofConnection := "/v1/providers/" + connection.Id.String()
	scenario := createScenario(t, e, apitest.Cookie(session), project.Id, "mine")
	compared, evalRun, evaluated := e.FillEvaluations(t, apitest.Cookie(session), project.Id, connection.Id, "mine")
	ofRule := "/v1/eval-rules/" + fillRule(t, e, apitest.Cookie(session), project.Id, "mine")
	ofComparison, ofEvalRun := "/v1/comparisons/"+compared, "/v1/eval-runs/"+evalRun
	ofRanking := endedPair(t, e, apitest.Cookie(session), evalRun)
	ofBatch := "/v1/replay-batches/" + e.FillReplayBatch(t, apitest.Cookie(session), project.Id.String(), run)
	ofDiagnosis := "/v1/diagnoses/" + e.FillDiagnosis(t, apitest.Cookie(session), project.Id.String(), connection.Id.String(), failure)
	ofFinding := "/v1/findings/" + e.FillFinding(t, apitest.Cookie(session), project.Id.String(), failure)
	ofReplay := "/v1/replays/" + e.FillReplay(t, apitest.Cookie(session), run)
	of, in := "?project_id="+project.Id.String(), "/v1/projects/"+project.Id.String()
	operations := []frozenOperation{
		{path: "/v1/runs" + of, runs: true},
		{path: "/v1/runs" + of + "&search=word", runs: true},
		{path: "/v1/runs/stats" + of + "&group_by=name", runs: true},
		{path: "/v1/runs/stream" + of, runs: true},
		{path: "/v1/runs/fields" + of, runs: true},
		{path: "/v1/runs/fields/name/values" + of, runs: true},
		{path: "/v1/runs/export" + of + "&include=spans", runs: true},
		{path: "/v1/threads" + of, runs: true},
		{path: "/v1/threads/s1" + of, runs: true},
		{path: "/v1/agent/failed-runs" + of, runs: true},
		{path: "/v1/agent/failed-runs/" + failure + of, runs: true},
		{path: "/v1/agent/failed-runs/" + failure + "/candidates" + of, runs: true},
		{method: http.MethodPut, path: "/v1/agent/failed-runs/" + failure + "/state" + of, body: `{"state":"muted"}`, runs: true},
		{path: "/v1/runs/" + run, runs: true},
		{path: "/v1/runs/" + run + "/spans", runs: true},
		{path: "/v1/runs/" + run + "/spans/" + apitest.RootSpan, runs: true},
		{path: "/v1/runs/" + run + "/outline", runs: true},
		{path: "/v1/runs/" + run + "/agent", runs: true},
		{path: "/v1/agents" + of, runs: true},
		{path: "/v1/agents/releases" + of + "&agent=helper", runs: true},
		{path: "/v1/runs/" + run + "/agent-view", runs: true},
		{path: "/v1/runs/" + run + "/diff/" + run, runs: true},
		{path: "/v1/runs/" + run + "/scores", runs: true},
		{path: in + "/prices/_unpriced", runs: true},
		{path: in + "/prices/_differences", runs: true},
		{path: in + "/contents", runs: true},
		{path: workspace + "/contents", runs: true},
		{path: organization + "/contents", runs: true},
		{method: http.MethodPost, path: "/v1/runs/" + run + "/scores", body: `{"name":"good","value":true}`, runs: true},
		{method: http.MethodPost, path: "/v1/runs/_actions/delete", body: `{"project_id":"` + project.Id.String() + `","run_ids":["` + uuid.NewString() + `"]}`, runs: true},
		{method: http.MethodPost, path: "/v1/runs/_actions/add-to-dataset", body: `{"dataset_id":"` + dataset.Id.String() + `","run_ids":["` + uuid.NewString() + `"]}`, runs: true},
		{path: ofPrompt + "/usage", runs: true},
		{path: "/v1/prompts" + of},
		{path: "/v1/prompts/resolve" + of + "&name=triage"},
		{path: "/v1/prompts/stream" + of},
		{path: ofPrompt},
		{path: ofPrompt + "/versions"},
		{path: ofPrompt + "/versions/1"},
		{path: ofPrompt + "/versions/1/diff/2"},
		{path: ofPrompt + "/aliases"},
		{path: ofPrompt + "/aliases/production"},
		{path: ofPrompt + "/aliases/production/history"},
		{method: http.MethodPost, path: ofPrompt + "/versions/1/render", body: "{}"},
		{path: "/v1/datasets" + of},
		{path: ofDataset},
		{path: ofDataset + "/items"},
		{path: ofDataset + "/items/" + items.Data[0].Id.String()},
		{path: ofDataset + "/revisions"},
		{path: ofDataset + "/imports"},
		{path: ofDataset + "/export"},
		{path: imported},
		{path: imported + "/errors"},
		{method: http.MethodPost, path: ofDataset + "/imports", body: `[{"input":1}]`},
		{method: http.MethodPost, path: imported + "/_actions/cancel"},
		{path: ofDataset + "/near-duplicates"},
		{method: http.MethodPost, path: ofDataset + "/near-duplicates/_actions/check", body: `{"revision":1}`},
		{path: ofDataset + "/revisions/0/diff/1"},
		{method: http.MethodPost, path: ofDataset + "/items", body: `{"input":1}`},
		{path: "/v1/providers" + of},
		{path: ofConnection},
		{path: ofConnection + "/models"},
		{path: "/v1/spending" + of},
		{path: "/v1/playground/scenarios" + of},
		{path: "/v1/playground/scenarios/" + scenario.Id.String()},
		{method: http.MethodPost, path: "/v1/playground/completions", body: apitest.CompletionBody(project.Id, connection.Id, "text", "")},
		{method: http.MethodPost, path: "/v1/playground/completions/_actions/preview", body: apitest.CompletionBody(project.Id, connection.Id, "text", "")},
		{method: http.MethodPost, path: "/v1/playground/_actions/open", body: `{"run_id":"` + run + `"}`, runs: true},
		{path: "/v1/comparisons" + of},
		{path: ofComparison},
		{path: ofComparison + "/items"},
		{path: ofComparison + "/items/" + evaluated},
		{path: ofComparison + "/report"},
		{path: ofComparison + "/export"},
		{method: http.MethodPost, path: "/v1/comparisons/_actions/estimate", body: apitest.ComparisonBody(project.Id, dataset.Id, connection.Id, "")},
		{path: "/v1/eval-rules" + of},
		{path: ofRule},
		{path: ofRule + "/runs"},
		{
			method: http.MethodPost, path: "/v1/eval-rules/_actions/preview", runs: true,
			body: `{"project_id":"` + project.Id.String() + `","name":"r","run_filter":"","sample_rate":1,"graders":[` + apitest.NumberedGrader + `]}`,
		},
		{path: "/v1/eval-runs" + of},
		{path: ofRanking},
		{path: ofEvalRun},
		{path: ofEvalRun + "/items"},
		{path: ofEvalRun + "/items/" + evaluated},
		{path: ofEvalRun + "/report"},
		{path: ofEvalRun + "/trend"},
		{path: ofEvalRun + "/export"},
		{method: http.MethodPut, path: ofComparison + "/items/" + evaluated + "/label", body: apitest.RightSideLabel},
		{method: http.MethodPut, path: ofEvalRun + "/items/" + evaluated + "/label", body: apitest.RightLabel},
		{
			method: http.MethodPost, path: "/v1/eval-runs/_actions/estimate",
			body: `{"project_id":"` + project.Id.String() + `","name":"e","dataset_id":"` + dataset.Id.String() + `","target":{"outputs":"reference"}}`,
		},
		{method: http.MethodPost, path: ofEvalRun + "/results", body: `{"items":[{"item_id":"` + evaluated + `","repeat":1,"output":1}]}`},
		{path: "/v1/replays" + of},
		{path: "/v1/work" + of},
		{path: ofReplay},
		{path: ofReplay + "/diff", runs: true},
		{path: "/v1/runs/" + run + "/replayability", runs: true},
		{method: http.MethodPost, path: "/v1/replays", body: apitest.ReplayBody(run, `,"plan":true`), runs: true},
		{method: http.MethodPost, path: ofReplay + "/_actions/cancel"},
		{path: "/v1/findings" + of},
		{path: "/v1/findings?run_id=" + run, runs: true},
		{path: ofFinding},
		{method: http.MethodPost, path: ofFinding + "/_actions/promote", body: `{"prompt":{"id":"` + prompt.Id.String() + `"},"plan":true}`},
		{path: "/v1/replay-batches" + of},
		{path: "/v1/diagnoses" + of},
		{path: ofDiagnosis},
		{method: http.MethodPost, path: "/v1/diagnoses", body: apitest.DiagnosisBody(project.Id.String(), connection.Id.String(), failure, `,"plan":true`), runs: true},
		{path: ofBatch},
		{path: ofBatch + "/runs"},
		{method: http.MethodPost, path: "/v1/replay-batches", body: apitest.ReplayBatchBody(project.Id.String(), run, `,"plan":true`), runs: true},
		{method: http.MethodPost, path: ofBatch + "/_actions/cancel"},
		{path: "/v1/setup"},
		{path: "/v1/me"},
		{path: "/v1/me/sessions"},
		{path: "/v1/organizations"},
		{path: organization},
		{path: "/v1/workspaces"},
		{path: workspace},
		{path: "/v1/members" + ofOrganization},
		{path: "/v1/members/" + e.UserID(t, apitest.Email).String() + "/keys" + ofOrganization},
		{path: "/v1/invitations" + ofOrganization},
		{path: "/v1/invitations/" + invitation.Id.String()},
		{path: "/v1/projects"},
		{path: in},
		{path: in + "/limits"},
		{path: in + "/failed-scores"},
		{path: in + "/signals"},
		{path: in + "/prices"},
		{path: in + "/views"},
		{path: "/v1/keys" + of},
		{path: "/v1/keys/" + key.Id.String()},
		{path: "/v1/agent/instrument-guide?project_id=" + project.Id.String()},
		{method: http.MethodPut, path: in + "/limits", body: "{}"},
		{method: http.MethodPut, path: in + "/failed-scores", body: `{"scores":[]}`},
		{method: http.MethodPut, path: in + "/signals", body: `{"off":[]}`},
		{method: http.MethodPatch, path: in, body: `{"name":"mine"}`},
		{method: http.MethodPost, path: "/v1/login", body: contract.LoginRequest{Email: apitest.Email, Password: apitest.Password}},
	}
	covered := map[string]bool{}
	for _, o := range operations {
		covered[routeOf(t, e, o)] = true
	}
	for _, route := range e.API.Routes() {
		if route.Method == http.MethodGet && strings.HasPrefix(route.Path, "/v1/") && route.Path != "/v1/openapi.json" && route.Path != "/v1/judges" && // of the program
			!strings.HasPrefix(route.Path, "/v1/docs") {
			assert.True(t, covered[route.Path], "the test has no request for GET %s", route.Path)
		}
	}
	ask := func(o frozenOperation) *httptest.ResponseRecorder {
		ctx, cancel := context.WithTimeout(t.Context(), 2*frozenAnswer)
		defer cancel()
		if strings.Contains(o.path, "/stream?") {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, o.path, nil)
			apitest.Cookie(session)(r)
			w := httptest.NewRecorder()
			e.API.ServeHTTP(untilFlush{w, cancel}, r)
			return w
		}
		as := apitest.Cookie(session)
		if o.path == "/v1/login" { // which would end the session that it replaces
			as = func(*http.Request) {}
		}
		return e.Do(t, orGet(o.method), o.path, o.body, as, func(r *http.Request) { *r = *r.WithContext(ctx) })
	}
	tools := map[string]map[string]any{
		"runs.search": {}, "work.list": {}, "runs.read": {"run_id": run}, "runs.failures": {}, "runs.diff": {"run_id": run, "other_run_id": run},
		"replay.diff": {"replay_id": strings.TrimPrefix(ofReplay, "/v1/replays/")},
		"replay.edit": {"run_id": run, "plan": true, "edits": []any{map[string]any{"target": map[string]any{"kind": "model"}, "set": map[string]any{"timeout_ms": 60000}}}},
	}
	// all asks everything at once.
	all := func(name string, away func(frozenOperation) bool) {
		e.Clock.Advance(time.Hour) // logins are throttled
		var asked sync.WaitGroup
		for _, o := range operations {
			asked.Go(func() {
				var (
					began time.Time
					w     *httptest.ResponseRecorder
				)
				require.Eventually(t, func() bool { // the user has not so many places
					began, w = time.Now(), ask(o)
					return w.Code != http.StatusTooManyRequests
				}, time.Minute, 50*time.Millisecond, o.path)
				if !away(o) {
					assert.Less(t, w.Code, 300, "%s: %s: %s", name, o.path, w.Body)
					return
				}
				assert.Equal(t, http.StatusServiceUnavailable, w.Code, "%s: %s: %s", name, o.path, w.Body)
				assert.NotEmpty(t, w.Header().Get("Retry-After"), "%s: %s", name, o.path)
				assert.Less(t, time.Since(began), frozenAnswer, "%s: %s", name, o.path)
			})
		}
		for tool, arguments := range tools {
			asked.Go(func() {
				began := time.Now()
				result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
				if !away(frozenOperation{runs: tool != "work.list"}) {
					if assert.NoError(t, err, name+": "+tool) {
						assert.False(t, result.IsError, name+": "+tool)
					}
					return
				}
				assert.Less(t, time.Since(began), frozenAnswer, name+": "+tool)
				if err == nil { // else the key could not be looked up, and the request got 503
					assert.True(t, result.IsError, name+": "+tool)
				}
			})
		}
		asked.Wait()
	}
	nothing := func(frozenOperation) bool { return false }
	everything := func(frozenOperation) bool { return true }
	all("before", nothing)

	store.Freeze(t)
	for range 2 { // by the connections that there were, and by new ones
		all("ClickHouse frozen", func(o frozenOperation) bool { return o.runs })
	}
	apitest.Golden(t, "readyz_clickhouse_away", e.Do(t, http.MethodGet, "/readyz", nil))
	store.Thaw(t)
	require.Eventually(t, func() bool { return ask(operations[0]).Code == http.StatusOK }, time.Minute, 50*time.Millisecond)
	all("ClickHouse thawed", nothing)

	keys.Freeze(t)
	for range 2 {
		all("PostgreSQL frozen", everything)
	}
	keys.Thaw(t)
	require.Eventually(t, func() bool { return ask(frozenOperation{path: "/v1/me"}).Code == http.StatusOK }, time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool { return ask(frozenOperation{path: "/v1/prompts/stream" + of}).Code == http.StatusOK }, time.Minute, 50*time.Millisecond)
	all("PostgreSQL thawed", nothing)
}

func orGet(method string) string {
	if method == "" {
		return http.MethodGet
	}
	return method
}

// routeOf is the route that answers a request; of one that changes something none.
func routeOf(t *testing.T, e *apitest.Env, o frozenOperation) string {
	t.Helper()
	if o.method != "" {
		return ""
	}
	path, _, _ := strings.Cut(o.path, "?")
	parts := strings.Split(path, "/")
	found := ""
	for _, route := range e.API.Routes() {
		pattern := strings.Split(route.Path, "/")
		if route.Method != http.MethodGet || len(pattern) != len(parts) {
			continue
		}
		matches, literal := true, true
		for i := range parts {
			if strings.HasPrefix(pattern[i], ":") {
				literal = false
			} else if pattern[i] != parts[i] {
				matches = false
			}
		}
		if matches && (found == "" || literal) {
			found = route.Path
		}
	}
	require.NotEmpty(t, found, o.path)
	return found
}

// endedPair makes two eval-runs of the dataset of another one, ends them without a worker, and returns where they are compared.
func endedPair(t *testing.T, e *apitest.Env, as apitest.Option, evalRun string) string {
	t.Helper()
	one := apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodGet, "/v1/eval-runs/"+evalRun, nil, as), http.StatusOK)
	path := "/v1/eval-runs/_ranking?metric=failures"
	for range 2 {
		ended := e.BeginEvalRun(t, as, one.ProjectId, one.Dataset.Id, "")
		e.SendResults(t, as, &ended, func(*contract.EvalRunItem, int) string { return `"output":1` })
		_, err := e.DB.Exec(t.Context(), "UPDATE evaluations SET status = 'succeeded', summary = '{}' WHERE id = $1", ended.Id)
		require.NoError(t, err)
		path += "&eval_run_id=" + ended.Id.String()
	}
	return path
}
