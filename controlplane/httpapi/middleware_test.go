package httpapi_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/identity"
)

// absentPostgres is an address where nothing listens.
const absentPostgres = "postgres://looptrace@127.0.0.1:1/looptrace?sslmode=disable"

func TestCrossSiteRequests(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	key := e.Mint(t, session, project.Id, contract.ScopeAdmin)
	rename := func(options ...apitest.Option) *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPatch, "/v1/projects/"+project.Id.String(), map[string]string{"name": "Default"}, options...)
	}
	crossSite := apitest.Header("Sec-Fetch-Site", "cross-site")
	proxied := func(r *http.Request) {
		r.RemoteAddr = "127.0.0.1:40000"
		r.Header.Set("X-Forwarded-Host", "looptrace.example.com")
	}
	for _, test := range []struct {
		name    string
		options []apitest.Option
		want    int
	}{
		{"no browser", nil, http.StatusOK},
		{"own page", []apitest.Option{apitest.Header("Sec-Fetch-Site", "same-origin")}, http.StatusOK},
		{"own page of an old browser", []apitest.Option{apitest.Header("Origin", "http://example.com")}, http.StatusOK},
		{"own page through web", []apitest.Option{proxied, apitest.Header("Origin", "http://looptrace.example.com")}, http.StatusOK},
		{"another site", []apitest.Option{crossSite}, http.StatusForbidden},
		{"sibling site", []apitest.Option{apitest.Header("Sec-Fetch-Site", "same-site")}, http.StatusForbidden},
		{"another site of an old browser", []apitest.Option{apitest.Header("Origin", "http://evil.example")}, http.StatusForbidden},
		{"another site through web", []apitest.Option{proxied, apitest.Header("Origin", "http://example.com")}, http.StatusForbidden},
		{"a stranger who claims to be web", []apitest.Option{apitest.Header("X-Forwarded-Host", "evil.example"), apitest.Header("Origin", "http://evil.example")}, http.StatusForbidden},
	} {
		w := rename(append(test.options, apitest.Cookie(session))...)
		assert.Equal(t, test.want, w.Code, "%s: %s", test.name, w.Body)
	}
	apitest.Golden(t, "cross_origin", rename(crossSite, apitest.Cookie(session)))
	assert.Equal(t, http.StatusOK, rename(crossSite, apitest.Bearer(key.Key)).Code, "a key is not a browser's")
	assert.Equal(t, http.StatusOK, rename(crossSite, apitest.Bearer(key.Key), apitest.Cookie("nothing")).Code, "a key makes cookies not count")
	assert.Equal(t, http.StatusForbidden, e.Login(t, apitest.Password, crossSite).Code, "nobody is logged in by another site")
	assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/v1/me", nil, crossSite, apitest.Cookie(session)).Code, "reading is left to the browser")
}

// A page at a name that was made to lead here (DNS rebinding) is of the same origin as what it asks, and may send any header
// but Host.
func TestForeignHosts(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	at := func(host string) apitest.Option { return func(r *http.Request) { r.Host = host } }
	// What a page there can send: over web, or to the port of the API itself.
	rebound := func(r *http.Request) {
		r.RemoteAddr, r.Host = "127.0.0.1:40000", "evil.example:7090"
		r.Header.Set("Origin", "http://evil.example:7090")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	throughWeb := apitest.Header("X-Forwarded-Host", "evil.example:7090")
	claimsLoopback := apitest.Header("X-Forwarded-Host", "127.0.0.1:7090")
	anyKey := apitest.Header("X-Api-Key", "lt_made.up")
	setup := contract.SetupRequest{Email: apitest.Email, Password: apitest.Password, OrgName: "Example"}
	for name, options := range map[string][]apitest.Option{
		"through web": {rebound, throughWeb}, "to the port": {rebound}, "to the port, as web": {rebound, claimsLoopback},
		"with a key that is none": {rebound, anyKey}, "with a bearer that is none": {rebound, apitest.Bearer("x")}, "without a host": {at("")},
		"a host that is none": {at("127.0.0.1:7090@evil.example")},
	} {
		for _, w := range []*httptest.ResponseRecorder{
			e.Do(t, http.MethodGet, "/v1/setup", nil, options...),
			e.Do(t, http.MethodPost, "/v1/setup", setup, options...),
			e.Login(t, apitest.Password, options...),
		} {
			assert.Equal(t, "host_not_allowed", apitest.WantProblem(t, w, http.StatusMisdirectedRequest).Code, name)
		}
	}

	session, project := e.SetUp(t)
	key := e.Mint(t, session, project.Id, contract.ScopeAdmin)
	for _, path := range []string{"/v1/me", "/v1/docs", "/v1/openapi.json", "/llms.txt"} {
		w := e.Do(t, http.MethodGet, path, nil, rebound, apitest.Cookie(session))
		got := apitest.WantProblem(t, w, http.StatusMisdirectedRequest)
		assert.Contains(t, *got.Detail, "ALLOWED_HOSTS=evil.example", path)
		assert.Equal(t, http.StatusMisdirectedRequest, e.Do(t, http.MethodGet, path, nil, rebound, claimsLoopback, apitest.Cookie(session)).Code, path)
		assert.Equal(t, http.StatusMisdirectedRequest, e.Do(t, http.MethodGet, path, nil, at("example.com.evil.example"), apitest.Cookie(session)).Code, path)
		for _, ours := range []string{"localhost:7090", "127.0.0.1:7081", "[::1]:7090", "EXAMPLE.com.:443"} {
			assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, path, nil, at(ours), apitest.Cookie(session)).Code, "%s at %s", path, ours)
		}
		assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, path, nil, at("ingest.internal"), apitest.Bearer(key.Key)).Code, "%s: a key is not a browser's", path)
		assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, path, nil, at("ingest.internal"), apitest.Header("X-Api-Key", key.Key)).Code, path)
	}
	apitest.Golden(t, "host_not_allowed", e.Do(t, http.MethodGet, "/v1/me", nil, at("192.168.1.7:7090")))
	for _, path := range []string{"/healthz", "/metrics"} { // an orchestrator asks by the address of a container
		assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, path, nil, at("10.1.2.3:7081")).Code, path)
	}

	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	mcp := []apitest.Option{apitest.Header("Accept", "application/json, text/event-stream")}
	ask := func(options ...apitest.Option) *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPost, "/mcp", list, append(mcp, options...)...)
	}
	assert.Equal(t, http.StatusMisdirectedRequest, ask(rebound, apitest.Cookie(session)).Code)
	assert.Equal(t, "cross_origin", apitest.WantProblem(t, ask(rebound, apitest.Bearer(key.Key)), http.StatusForbidden).Code, "MCP asks for it, with a key too")
	assert.Equal(t, http.StatusOK, ask(at("ingest.internal"), apitest.Bearer(key.Key)).Code)
}

// A proxy may ask its own users for a password: that is no key of ours, and the session's cookie counts.
func TestAuthorizationOfAProxy(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	key := e.Mint(t, session, project.Id, contract.ScopeAdmin)
	basic := apitest.Header("Authorization", "Basic YTpi")
	assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/v1/me", nil, basic, apitest.Cookie(session)).Code)
	assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/v1/me", nil, basic, apitest.Header("X-Api-Key", key.Key)).Code)
	assert.Equal(t, http.StatusUnauthorized, e.Do(t, http.MethodGet, "/v1/me", nil, basic).Code)
	// Browsers add it by themselves.
	crossSite := apitest.Header("Sec-Fetch-Site", "cross-site")
	rename := func(options ...apitest.Option) int {
		return e.Do(t, http.MethodPatch, "/v1/projects/"+project.Id.String(), map[string]string{"name": "Default"}, options...).Code
	}
	assert.Equal(t, http.StatusForbidden, rename(basic, apitest.Cookie(session), crossSite))
	assert.Equal(t, http.StatusOK, rename(basic, apitest.Cookie(session)))
	elsewhere := func(r *http.Request) { r.Host = "evil.example" }
	assert.Equal(t, http.StatusMisdirectedRequest, rename(basic, apitest.Cookie(session), elsewhere))
}

func TestCookies(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	e.SetUp(t)
	overHTTPS := func(r *http.Request) {
		r.RemoteAddr = "[::1]:40000"
		r.Header.Set("X-Forwarded-Proto", "https")
	}
	claimsHTTPS := apitest.Header("X-Forwarded-Proto", "https")

	plain := e.Login(t, apitest.Password, claimsHTTPS).Header().Get("Set-Cookie")
	assert.Regexp(t, `^looptrace_session=[\w-]{43}; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax$`, plain)
	w := e.Login(t, apitest.Password, overHTTPS)
	assert.Regexp(t, `^__Host-looptrace_session=[\w-]{43}; Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Lax$`, w.Header().Get("Set-Cookie"))

	session := apitest.SessionOf(t, w)
	secure := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "__Host-looptrace_session", Value: session}) }
	assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/v1/me", nil, overHTTPS, secure).Code)
	assert.Equal(t, http.StatusUnauthorized, e.Do(t, http.MethodGet, "/v1/me", nil, overHTTPS, apitest.Cookie(session)).Code,
		"over HTTPS a cookie that any subdomain could set does not count")
	w = e.Do(t, http.MethodPost, "/v1/logout", nil, overHTTPS, secure)
	assert.Equal(t, "__Host-looptrace_session=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax", w.Header().Get("Set-Cookie"))
}

func TestForwardedAddressCountsFromWebOnly(t *testing.T) {
	t.Parallel()
	e := apitest.NewOn(t, absentPostgres, apitest.AbsentClickHouse)
	client := func(remote string) string {
		e.Log.Reset()
		e.Do(t, http.MethodGet, "/healthz", nil, func(r *http.Request) {
			r.RemoteAddr = remote
			r.Header.Set("X-Forwarded-For", "198.51.100.7")
		})
		var line struct{ Client string }
		require.NoError(t, json.Unmarshal([]byte(e.Log.String()), &line))
		return line.Client
	}
	assert.Equal(t, "198.51.100.7", client("127.0.0.1:5000"))
	assert.Equal(t, "203.0.113.9", client("203.0.113.9:5000"))
}

// Any program of this machine can reach the port of the API. With a secret only web is believed.
func TestWebProvesItself(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		peer, secret string
		forwarded    []string
		want         string
	}{
		"web":                       {"127.0.0.1", "proof", []string{"198.51.100.7"}, "198.51.100.7"},
		"a list":                    {"127.0.0.1", "proof", []string{"6.6.6.6, 198.51.100.7"}, "198.51.100.7"},
		"several headers":           {"::1", "proof", []string{"6.6.6.6", "2001:db8::7"}, "2001:db8::7"},
		"no address":                {"127.0.0.1", "proof", []string{"unknown"}, "127.0.0.1"},
		"another program":           {"127.0.0.1", "", []string{"198.51.100.7"}, "127.0.0.1"},
		"another program, guessing": {"127.0.0.1", "proo", []string{"198.51.100.7"}, "127.0.0.1"},
		"web in another container":  {"203.0.113.9", "proof", []string{"198.51.100.7"}, "198.51.100.7"},
		"another machine":           {"203.0.113.9", "", []string{"198.51.100.7"}, "203.0.113.9"},
		"another machine, guessing": {"203.0.113.9", "proo", []string{"198.51.100.7"}, "203.0.113.9"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = net.JoinHostPort(test.peer, "5000")
		r.Header["X-Forwarded-For"] = test.forwarded
		r.Header.Set("X-Real-Ip", "6.6.6.6")
		r.Header.Set("X-Forwarded-Proto", "https")
		r.Header.Set("Looptrace-Web-Secret", test.secret)
		address, https := httpapi.ClientOf(httpapi.Addresses{WebSecret: "proof"}, r)
		assert.Equal(t, test.want, address, name)
		assert.Equal(t, test.secret == "proof", https, name)
	}
}

func TestEveryAnswerHasItsOwnID(t *testing.T) {
	t.Parallel()
	e := apitest.NewOn(t, absentPostgres, apitest.AbsentClickHouse)
	seen := map[string]bool{}
	for range 3 {
		w := e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Header("X-Request-Id", "chosen by a client"))
		id, err := uuid.Parse(w.Header().Get("X-Request-Id"))
		require.NoError(t, err)
		assert.Equal(t, uuid.Version(7), id.Version())
		assert.Equal(t, id.String(), apitest.WantProblem(t, w, http.StatusUnauthorized).RequestId)
		assert.Contains(t, e.Log.String(), id.String())
		seen[id.String()] = true
	}
	assert.Len(t, seen, 3)
}

func TestLogHasNoQuery(t *testing.T) {
	t.Parallel()
	e := apitest.NewOn(t, absentPostgres, apitest.AbsentClickHouse)
	e.Do(t, http.MethodGet, "/v1/runs?search=confidential", nil, apitest.Bearer("lt_secret"))
	assert.NotContains(t, e.Log.String(), "confidential")
	assert.NotContains(t, e.Log.String(), "lt_secret")
}

func FuzzCredential(f *testing.F) {
	f.Add("Bearer lt_a.b", "", "")
	f.Add("", "lt_a.b", "session")
	f.Add("Basic x", "", "session")
	f.Add("bearer", "k", "s")
	f.Fuzz(func(t *testing.T, authorization, key, session string) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header["Authorization"], r.Header["X-Api-Key"] = []string{authorization}, []string{key}
		c := httpapi.CredentialOf(r, identity.Presented{Token: session})
		if httpapi.PresentsKey(r) && c.Session.Token != "" {
			t.Error("a cookie counts beside a key")
		}
		if !httpapi.PresentsKey(r) && c.Key != "" {
			t.Error("a key from nowhere")
		}
		if c.Key != "" && !strings.Contains(authorization, c.Key) && key != c.Key {
			t.Error("a key that was not sent")
		}
	})
}

// TestOtherPortsLoadNothing: to a browser a page of another port of this machine is of the same site, so that its requests have the cookie.
func TestOtherPortsLoadNothing(t *testing.T) {
	t.Parallel()
	e := apitest.NewOn(t, absentPostgres, apitest.AbsentClickHouse)
	for _, path := range []string{"/v1/me", "/v1/docs", "/v1/docs/style.css", "/v1/openapi.json", "/healthz", "/v1/nothing"} {
		assert.Equal(t, "same-origin", e.Do(t, http.MethodGet, path, nil).Header().Get("Cross-Origin-Resource-Policy"), path)
	}
}
