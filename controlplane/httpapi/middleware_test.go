package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// absentPostgres is an address where nothing listens.
const absentPostgres = "postgres://looptrace@127.0.0.1:1/looptrace?sslmode=disable"

func TestCrossSiteRequests(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session, project := e.setUp(t)
	key := e.mint(t, session, project.Id, contract.ScopeAdmin)
	rename := func(options ...option) *httptest.ResponseRecorder {
		return e.do(t, http.MethodPatch, "/v1/projects/"+project.Id.String(), map[string]string{"name": "Default"}, options...)
	}
	crossSite := header("Sec-Fetch-Site", "cross-site")
	proxied := func(r *http.Request) {
		r.RemoteAddr = "127.0.0.1:40000"
		r.Header.Set("X-Forwarded-Host", "looptrace.example.com")
	}
	for _, test := range []struct {
		name    string
		options []option
		want    int
	}{
		{"no browser", nil, http.StatusOK},
		{"own page", []option{header("Sec-Fetch-Site", "same-origin")}, http.StatusOK},
		{"own page of an old browser", []option{header("Origin", "http://example.com")}, http.StatusOK},
		{"own page through web", []option{proxied, header("Origin", "http://looptrace.example.com")}, http.StatusOK},
		{"another site", []option{crossSite}, http.StatusForbidden},
		{"sibling site", []option{header("Sec-Fetch-Site", "same-site")}, http.StatusForbidden},
		{"another site of an old browser", []option{header("Origin", "http://evil.example")}, http.StatusForbidden},
		{"another site through web", []option{proxied, header("Origin", "http://example.com")}, http.StatusForbidden},
		{"a stranger who claims to be web", []option{header("X-Forwarded-Host", "evil.example"), header("Origin", "http://evil.example")}, http.StatusForbidden},
	} {
		w := rename(append(test.options, cookie(session))...)
		assert.Equal(t, test.want, w.Code, "%s: %s", test.name, w.Body)
	}
	golden(t, "cross_origin", rename(crossSite, cookie(session)))
	assert.Equal(t, http.StatusOK, rename(crossSite, bearer(key.Key)).Code, "a key is not a browser's")
	assert.Equal(t, http.StatusOK, rename(crossSite, bearer(key.Key), cookie("nothing")).Code, "a key makes cookies not count")
	assert.Equal(t, http.StatusForbidden, e.login(t, testPassword, crossSite).Code, "nobody is logged in by another site")
	assert.Equal(t, http.StatusOK, e.do(t, http.MethodGet, "/v1/me", nil, crossSite, cookie(session)).Code, "reading is left to the browser")
}

// A page at a name that was made to lead here (DNS rebinding) is of the same origin as what it asks, and may send any header
// but Host.
func TestForeignHosts(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	at := func(host string) option { return func(r *http.Request) { r.Host = host } }
	// What a page there can send: over web, or to the port of the API itself.
	rebound := func(r *http.Request) {
		r.RemoteAddr, r.Host = "127.0.0.1:40000", "evil.example:7090"
		r.Header.Set("Origin", "http://evil.example:7090")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	throughWeb := header("X-Forwarded-Host", "evil.example:7090")
	claimsLoopback := header("X-Forwarded-Host", "127.0.0.1:7090")
	anyKey := header("X-Api-Key", "lt_made.up")
	setup := contract.SetupRequest{Email: testEmail, Password: testPassword, OrgName: "Example"}
	for name, options := range map[string][]option{
		"through web": {rebound, throughWeb}, "to the port": {rebound}, "to the port, as web": {rebound, claimsLoopback},
		"with a key that is none": {rebound, anyKey}, "with a bearer that is none": {rebound, bearer("x")}, "without a host": {at("")},
		"a host that is none": {at("127.0.0.1:7090@evil.example")},
	} {
		for _, w := range []*httptest.ResponseRecorder{
			e.do(t, http.MethodGet, "/v1/setup", nil, options...),
			e.do(t, http.MethodPost, "/v1/setup", setup, options...),
			e.login(t, testPassword, options...),
		} {
			assert.Equal(t, "host_not_allowed", wantProblem(t, w, http.StatusMisdirectedRequest).Code, name)
		}
	}

	session, project := e.setUp(t)
	key := e.mint(t, session, project.Id, contract.ScopeAdmin)
	for _, path := range []string{"/v1/me", "/v1/docs", "/v1/openapi.json", "/llms.txt"} {
		w := e.do(t, http.MethodGet, path, nil, rebound, cookie(session))
		got := wantProblem(t, w, http.StatusMisdirectedRequest)
		assert.Contains(t, *got.Detail, "ALLOWED_HOSTS=evil.example", path)
		assert.Equal(t, http.StatusMisdirectedRequest, e.do(t, http.MethodGet, path, nil, rebound, claimsLoopback, cookie(session)).Code, path)
		assert.Equal(t, http.StatusMisdirectedRequest, e.do(t, http.MethodGet, path, nil, at("example.com.evil.example"), cookie(session)).Code, path)
		for _, ours := range []string{"localhost:7090", "127.0.0.1:7081", "[::1]:7090", "EXAMPLE.com.:443"} {
			assert.Equal(t, http.StatusOK, e.do(t, http.MethodGet, path, nil, at(ours), cookie(session)).Code, "%s at %s", path, ours)
		}
		assert.Equal(t, http.StatusOK, e.do(t, http.MethodGet, path, nil, at("ingest.internal"), bearer(key.Key)).Code, "%s: a key is not a browser's", path)
		assert.Equal(t, http.StatusOK, e.do(t, http.MethodGet, path, nil, at("ingest.internal"), header("X-Api-Key", key.Key)).Code, path)
	}
	golden(t, "host_not_allowed", e.do(t, http.MethodGet, "/v1/me", nil, at("192.168.1.7:7090")))
	for _, path := range []string{"/healthz", "/metrics"} { // an orchestrator asks by the address of a container
		assert.Equal(t, http.StatusOK, e.do(t, http.MethodGet, path, nil, at("10.1.2.3:7081")).Code, path)
	}

	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	mcp := []option{header("Accept", "application/json, text/event-stream")}
	ask := func(options ...option) *httptest.ResponseRecorder {
		return e.do(t, http.MethodPost, "/mcp", list, append(mcp, options...)...)
	}
	assert.Equal(t, http.StatusMisdirectedRequest, ask(rebound, cookie(session)).Code)
	assert.Equal(t, "cross_origin", wantProblem(t, ask(rebound, bearer(key.Key)), http.StatusForbidden).Code, "MCP asks for it, with a key too")
	assert.Equal(t, http.StatusOK, ask(at("ingest.internal"), bearer(key.Key)).Code)
}

// A proxy may ask its own users for a password: that is no key of ours, and the session's cookie counts.
func TestAuthorizationOfAProxy(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session, project := e.setUp(t)
	key := e.mint(t, session, project.Id, contract.ScopeAdmin)
	basic := header("Authorization", "Basic YTpi")
	assert.Equal(t, http.StatusOK, e.do(t, http.MethodGet, "/v1/me", nil, basic, cookie(session)).Code)
	assert.Equal(t, http.StatusOK, e.do(t, http.MethodGet, "/v1/me", nil, basic, header("X-Api-Key", key.Key)).Code)
	assert.Equal(t, http.StatusUnauthorized, e.do(t, http.MethodGet, "/v1/me", nil, basic).Code)
	// Browsers add it by themselves.
	crossSite := header("Sec-Fetch-Site", "cross-site")
	rename := func(options ...option) int {
		return e.do(t, http.MethodPatch, "/v1/projects/"+project.Id.String(), map[string]string{"name": "Default"}, options...).Code
	}
	assert.Equal(t, http.StatusForbidden, rename(basic, cookie(session), crossSite))
	assert.Equal(t, http.StatusOK, rename(basic, cookie(session)))
	elsewhere := func(r *http.Request) { r.Host = "evil.example" }
	assert.Equal(t, http.StatusMisdirectedRequest, rename(basic, cookie(session), elsewhere))
}

func TestCookies(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.setUp(t)
	overHTTPS := func(r *http.Request) {
		r.RemoteAddr = "[::1]:40000"
		r.Header.Set("X-Forwarded-Proto", "https")
	}
	claimsHTTPS := header("X-Forwarded-Proto", "https")

	plain := e.login(t, testPassword, claimsHTTPS).Header().Get("Set-Cookie")
	assert.Regexp(t, `^looptrace_session=[\w-]{43}; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax$`, plain)
	w := e.login(t, testPassword, overHTTPS)
	assert.Regexp(t, `^__Host-looptrace_session=[\w-]{43}; Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Lax$`, w.Header().Get("Set-Cookie"))

	session := sessionOf(t, w)
	secure := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieHTTPS, Value: session}) }
	assert.Equal(t, http.StatusOK, e.do(t, http.MethodGet, "/v1/me", nil, overHTTPS, secure).Code)
	assert.Equal(t, http.StatusUnauthorized, e.do(t, http.MethodGet, "/v1/me", nil, overHTTPS, cookie(session)).Code,
		"over HTTPS a cookie that any subdomain could set does not count")
	w = e.do(t, http.MethodPost, "/v1/logout", nil, overHTTPS, secure)
	assert.Equal(t, "__Host-looptrace_session=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax", w.Header().Get("Set-Cookie"))
}

func TestForwardedAddressCountsFromWebOnly(t *testing.T) {
	t.Parallel()
	e := newEnvOn(t, absentPostgres, absentClickHouse)
	client := func(remote string) string {
		e.log.b.Reset()
		e.do(t, http.MethodGet, "/healthz", nil, func(r *http.Request) {
			r.RemoteAddr = remote
			r.Header.Set("X-Forwarded-For", "198.51.100.7")
		})
		var line struct{ Client string }
		require.NoError(t, json.Unmarshal([]byte(e.log.String()), &line))
		return line.Client
	}
	assert.Equal(t, "198.51.100.7", client("127.0.0.1:5000"))
	assert.Equal(t, "203.0.113.9", client("203.0.113.9:5000"))
}

func TestEveryAnswerHasItsOwnID(t *testing.T) {
	t.Parallel()
	e := newEnvOn(t, absentPostgres, absentClickHouse)
	seen := map[string]bool{}
	for range 3 {
		w := e.do(t, http.MethodGet, "/v1/me", nil, header("X-Request-Id", "chosen by a client"))
		id, err := uuid.Parse(w.Header().Get("X-Request-Id"))
		require.NoError(t, err)
		assert.Equal(t, uuid.Version(7), id.Version())
		assert.Equal(t, id.String(), wantProblem(t, w, http.StatusUnauthorized).RequestId)
		assert.Contains(t, e.log.String(), id.String())
		seen[id.String()] = true
	}
	assert.Len(t, seen, 3)
}

func TestLogHasNoQuery(t *testing.T) {
	t.Parallel()
	e := newEnvOn(t, absentPostgres, absentClickHouse)
	e.do(t, http.MethodGet, "/v1/runs?search=confidential", nil, bearer("lt_secret"))
	assert.NotContains(t, e.log.String(), "confidential")
	assert.NotContains(t, e.log.String(), "lt_secret")
}

func FuzzCredential(f *testing.F) {
	f.Add("Bearer lt_a.b", "", "")
	f.Add("", "lt_a.b", "session")
	f.Add("Basic x", "", "session")
	f.Add("bearer", "k", "s")
	f.Fuzz(func(t *testing.T, authorization, key, session string) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header["Authorization"], r.Header["X-Api-Key"] = []string{authorization}, []string{key}
		c := credentialOf(r, session)
		if presentsKey(r) && c.Session != "" {
			t.Error("a cookie counts beside a key")
		}
		if !presentsKey(r) && c.Key != "" {
			t.Error("a key from nowhere")
		}
		if c.Key != "" && !strings.Contains(authorization, c.Key) && key != c.Key {
			t.Error("a key that was not sent")
		}
	})
}
