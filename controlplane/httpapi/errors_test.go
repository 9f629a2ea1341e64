package httpapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/requestbody"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	ingest := e.Mint(t, session, project.Id, contract.ScopeIngestWrite)
	revoked := e.Mint(t, session, project.Id, contract.ScopeRunsRead)
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/keys/"+revoked.Id.String(), nil, apitest.Cookie(session)).Code)
	user := apitest.Cookie(session)
	// Of goldens that repeat ids of this run.
	steady := func(w *httptest.ResponseRecorder) *httptest.ResponseRecorder {
		body := strings.ReplaceAll(w.Body.String(), project.Id.String(), "PROJECT_ID")
		w.Body = bytes.NewBufferString(body)
		return w
	}
	runsOf := "/v1/runs?project_id=" + project.Id.String()

	for _, test := range []struct {
		name, method, path string
		body               any
		options            []apitest.Option
	}{
		{"no_credential", http.MethodGet, "/v1/me", nil, nil},
		{"unknown_session", http.MethodGet, "/v1/me", nil, []apitest.Option{apitest.Cookie("nothing")}},
		{"malformed_key", http.MethodGet, "/v1/me", nil, []apitest.Option{apitest.Bearer("lt_nothing")}},
		{"unknown_key", http.MethodGet, "/v1/me", nil, []apitest.Option{apitest.Bearer(apikey.Mint().Reveal())}},
		{"other_scheme", http.MethodGet, "/v1/me", nil, []apitest.Option{apitest.Header("Authorization", "Basic YTpi")}},
		{"key_revoked", http.MethodGet, "/v1/me", nil, []apitest.Option{apitest.Bearer(revoked.Key)}},
		{"wrong_key_beside_a_session", http.MethodGet, "/v1/me", nil, []apitest.Option{apitest.Bearer("lt_nothing"), user}},
		{"wrong_password", http.MethodPost, "/v1/login", contract.LoginRequest{Email: apitest.Email, Password: "wrong"}, nil},
		{"scope_missing", http.MethodGet, runsOf, nil, []apitest.Option{apitest.Bearer(ingest.Key)}},
		{"not_found", http.MethodGet, "/v1/projects/" + apitest.NoSuchID, nil, []apitest.Option{user}},
		{"not_an_id", http.MethodGet, "/v1/keys/nothing", nil, []apitest.Option{user}},
		{"no_route", http.MethodGet, "/v1/nothing", nil, []apitest.Option{user}},
		{"method_not_allowed", http.MethodPut, "/v1/keys/" + apitest.NoSuchID, nil, []apitest.Option{user}},
		{"ingest_is_elsewhere", http.MethodPost, "/v1/runs", "{}", []apitest.Option{user}},
		{"already_bootstrapped", http.MethodPost, "/v1/setup", contract.SetupRequest{Email: "b@example.com", Password: apitest.Password, OrgName: "B"}, nil},
		{"name_taken", http.MethodPost, "/v1/projects", contract.ProjectCreate{WorkspaceId: project.WorkspaceId, Name: project.Name}, []apitest.Option{user}},
		{"rotate_revoked", http.MethodPost, "/v1/keys/" + revoked.Id.String() + "/_actions/rotate", nil, []apitest.Option{user}},
		{"media_type", http.MethodPost, "/v1/login", "{}", []apitest.Option{apitest.Header("Content-Type", "text/plain")}},
		{"content_encoding", http.MethodPost, "/v1/login", "{}", []apitest.Option{apitest.Header("Content-Encoding", "gzip")}},
		{"malformed_json", http.MethodPost, "/v1/login", `{"email": `, nil},
		{"two_values", http.MethodPost, "/v1/login", `{"email":"a@b","password":"c"} {}`, nil},
		{"not_utf8", http.MethodPost, "/v1/login", "{\"email\":\"\xff\",\"password\":\"c\"}", nil},
		{"empty_body", http.MethodPost, "/v1/login", "", nil},
		{"body_too_large", http.MethodPost, "/v1/login", `{"email":"` + strings.Repeat("a", httpapi.DefaultMaxBody) + `"}`, nil},
		{"not_an_object", http.MethodPost, "/v1/login", `[]`, nil},
		{"null_body", http.MethodPost, "/v1/login", `null`, nil},
		{"unknown_and_missing", http.MethodPost, "/v1/setup", `{"email":"a@example.com","zzz":1,"password":"short"}`, nil},
		{"unknown_field", http.MethodPost, "/v1/login", `{"email":"a@example.com","password":"secret","admin":true,"Email":"x"}`, nil},
		{"missing_fields", http.MethodPost, "/v1/setup", `{}`, nil},
		{"wrong_types", http.MethodPost, "/v1/keys", `{"project_id":7,"name":null,"scopes":"admin","expires_at":5}`, []apitest.Option{user}},
		{"key_values", http.MethodPost, "/v1/keys", `{"project_id":"x","name":"","scopes":["admin","root"],"expires_at":"2026-02-30T00:00:00Z"}`, []apitest.Option{user}},
		{"no_scopes", http.MethodPost, "/v1/keys", contract.KeyCreate{ProjectId: project.Id, Name: "k", Scopes: []contract.Scope{}}, []apitest.Option{user}},
		{"expired_before_birth", http.MethodPost, "/v1/keys", `{"project_id":"` + project.Id.String() + `","name":"k","scopes":["admin"],"expires_at":"2020-01-01T00:00:00Z"}`, []apitest.Option{user}},
		{"expires_beyond_json", http.MethodPost, "/v1/keys", `{"project_id":"` + project.Id.String() + `","name":"k","scopes":["admin"],"expires_at":"9999-12-31T23:59:59-01:00"}`, []apitest.Option{user}},
		{"price_beyond_json", http.MethodPost, "/v1/projects/" + project.Id.String() + "/prices", `{"model":"m","input":1,"output":1,"valid_from":"9999-12-31T23:59:59-01:00"}`, []apitest.Option{user}},
		{"price_before_time", http.MethodPost, "/v1/projects/" + project.Id.String() + "/prices", `{"model":"m","input":1,"output":1,"valid_from":"0000-01-01T00:00:00+01:00"}`, []apitest.Option{user}},
		{"price_control_characters", http.MethodPost, "/v1/projects/" + project.Id.String() + "/prices", `{"provider":"p\u0000","model":"a\u0000b","input":1,"output":1}`, []apitest.Option{user}},
		{"control_characters", http.MethodPost, "/v1/keys", `{"project_id":"` + project.Id.String() + `","name":"a\u0000b","scopes":["admin"]}`, []apitest.Option{user}},
		{"control_characters_in_login", http.MethodPost, "/v1/login", `{"email":"a\u0000@example.com","password":"c"}`, nil},
		{"short_password", http.MethodPost, "/v1/setup", `{"email":"a@example.com","password":"12345678901","org_name":"A"}`, nil},
		{"project_id_missing", http.MethodGet, "/v1/runs", nil, []apitest.Option{user}},
		{"query_values", http.MethodGet, runsOf + "&limit=0&offset=x&status=ok&status=bad&kind=No&window_seconds=0&start_after=yesterday" +
			"&start_before=1600-01-01T00:00:00Z&min_cost_usd=-1&min_tokens=1.5&min_duration_ms=NaN", nil, []apitest.Option{user}},
		{"query_not_finite", http.MethodGet, runsOf + "&min_cost_usd=Inf&min_duration_ms=1e300&min_tokens=99999999999999999999", nil, []apitest.Option{user}},
		{"query_empty", http.MethodGet, runsOf + "&limit=", nil, []apitest.Option{user}},
		{"time_out_of_range", http.MethodGet, runsOf + "&start_before=1600-01-01T00:00:00Z&start_after=9000-01-01T00:00:00Z", nil, []apitest.Option{user}},
		{"cursor_and_offset", http.MethodGet, runsOf + "&cursor=abc&offset=1", nil, []apitest.Option{user}},
		{"invalid_cursor", http.MethodGet, runsOf + "&cursor=abc", nil, []apitest.Option{user}},
		{
			"limits_values", http.MethodPut, "/v1/projects/" + project.Id.String() + "/limits",
			`{"key":{"requests":{"rate":-1},"spans":{"burst":5}},"project":{"spans":{"rate":"fast","burst":0},"runs":{"rate":1}},"user":{}}`,
			[]apitest.Option{user},
		},
		{
			"limits_burst_without_rate", http.MethodPut, "/v1/projects/" + project.Id.String() + "/limits",
			`{"key":{"requests":{"rate":0,"burst":5}},"project":{"bytes":{"rate":0,"burst":1}}}`,
			[]apitest.Option{user},
		},
		{"limits_scope", http.MethodPut, "/v1/projects/" + project.Id.String() + "/limits", `{}`, []apitest.Option{apitest.Bearer(ingest.Key)}},
		{"limit_over", http.MethodGet, "/v1/projects?limit=501", nil, []apitest.Option{user}},
	} {
		apitest.Golden(t, test.name, steady(e.Do(t, test.method, test.path, test.body, test.options...)))
	}
}

func TestSetupRefusesWhatIsNoAddress(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	w := e.Do(t, http.MethodPost, "/v1/setup", contract.SetupRequest{Email: "Ann <a@b>", Password: apitest.Password, OrgName: " "})
	apitest.Golden(t, "setup_values", w)
}

// A body that does not arrive in whole gets a different problem than one that is invalid.
func TestBodiesThatDoNotArrive(t *testing.T) {
	t.Parallel()
	e := apitest.NewOn(t, absentPostgres, apitest.AbsentClickHouse)
	server := httptest.NewServer(requestbody.Bound(t.Context(), e.API, requestbody.Limits{Idle: 100 * time.Millisecond, Total: time.Minute}))
	t.Cleanup(server.Close)
	for sent, want := range map[string]struct {
		status int
		code   string
	}{
		"Content-Length: 100\r\n\r\n{":               {http.StatusRequestTimeout, "body_timeout"},
		"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}": {http.StatusBadRequest, "malformed_body"},
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
		_, err = io.WriteString(conn, "POST /v1/setup HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+sent)
		require.NoError(t, err)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		var problem contract.Problem
		require.NoError(t, json.NewDecoder(response.Body).Decode(&problem))
		assert.Equal(t, want.status, response.StatusCode, sent)
		assert.Equal(t, want.code, problem.Code, sent)
		require.NoError(t, conn.Close())
	}
}

func TestPanicIsAProblem(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	engine := httpapi.Recovering(slog.New(slog.NewJSONHandler(&log, nil)))
	engine.GET("/", func(*gin.Context) { panic(errors.New("secret detail")) })
	w := httptest.NewRecorder()
	engine.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	apitest.Golden(t, "internal", w)
	assert.Contains(t, log.String(), "secret detail")
	assert.Contains(t, log.String(), w.Header().Get("X-Request-Id"))
}
