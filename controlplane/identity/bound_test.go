package identity_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// Secrets that pages of two origins hold.
var (
	ours   = strings.Repeat("o", 43)
	theirs = strings.Repeat("t", 43)
)

func secret(s string) apitest.Option { return apitest.Header("Looptrace-Session-Secret", s) }

// Cookies know no port: any server of the same host gets them, and can set them.
func TestBoundSessionNeedsItsSecret(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	invited := func() string {
		body := contract.InvitationCreate{OrganizationId: &project.OrganizationId, Role: "member"}
		link := apitest.Must[contract.InvitationWithLink](t, e.Do(t, http.MethodPost, "/v1/invitations", body, apitest.Cookie(owner)), http.StatusCreated)
		_, token, _ := strings.Cut(link.Url, "#")
		return token
	}
	e.AddMember(t, "bob@example.com", "member", project.OrganizationId)
	reset := func() string {
		path := "/v1/members/" + e.UserID(t, "bob@example.com").String() + "/_actions/reset-password"
		body := contract.MemberAction{OrganizationId: project.OrganizationId}
		link := apitest.Must[contract.PasswordReset](t, e.Do(t, http.MethodPost, path, body, apitest.Cookie(owner)), http.StatusCreated)
		_, token, _ := strings.Cut(link.Url, "#")
		return token
	}
	me := func(options ...apitest.Option) int { return e.Do(t, http.MethodGet, "/v1/me", nil, options...).Code }
	for name, begin := range map[string]func(options ...apitest.Option) *httptest.ResponseRecorder{
		"login": func(options ...apitest.Option) *httptest.ResponseRecorder {
			return e.Login(t, apitest.Password, options...)
		},
		"invitation": func(options ...apitest.Option) *httptest.ResponseRecorder {
			body := contract.InvitationAccept{Token: invited(), Email: "carl@example.com", Password: apitest.Password}
			return e.Do(t, http.MethodPost, "/v1/invitations/_actions/accept", body, options...)
		},
		"password reset": func(options ...apitest.Option) *httptest.ResponseRecorder {
			body := contract.PasswordResetUse{Token: reset(), Password: apitest.Password}
			return e.Do(t, http.MethodPost, "/v1/password-resets/_actions/use", body, options...)
		},
	} {
		bound := apitest.Cookie(apitest.SessionOf(t, begin(secret(ours))))
		assert.Equal(t, http.StatusOK, me(bound, secret(ours)), name)
		assert.Equal(t, http.StatusUnauthorized, me(bound), "%s: a leaked cookie", name)
		assert.Equal(t, http.StatusUnauthorized, me(bound, secret(theirs)), "%s: with a secret of its own", name)
		assert.Equal(t, http.StatusUnauthorized, me(bound, secret("")), "%s: with an empty secret", name)

		unbound := apitest.Cookie(apitest.SessionOf(t, begin()))
		assert.Equal(t, http.StatusOK, me(unbound), "%s: a program keeps the cookie only", name)
		assert.Equal(t, http.StatusUnauthorized, me(unbound, secret(ours)), "%s: a planted cookie in our page", name)
	}
	planted := apitest.Cookie(apitest.SessionOf(t, e.Login(t, apitest.Password, secret(theirs))))
	assert.Equal(t, http.StatusUnauthorized, me(planted, secret(ours)), "the planted cookie of a bound session")

	for _, bad := range []string{"short", strings.Repeat("x", 44), strings.Repeat("ö", 43)} {
		apitest.WantProblem(t, e.Login(t, apitest.Password, secret(bad)), http.StatusUnprocessableEntity)
	}
	assert.NotContains(t, e.Log.String(), ours)
}

// A leaked cookie opens nothing: neither streams nor files nor tools, and it ends no session.
func TestLeakedCookieOpensNothing(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	w := e.Do(t, http.MethodPost, "/v1/setup", contract.SetupRequest{Email: apitest.Email, Password: apitest.Password, OrgName: "Example"}, secret(ours))
	project := apitest.Must[contract.Me](t, w, http.StatusCreated).Projects[0].Id.String()
	leaked := apitest.Cookie(apitest.SessionOf(t, w))
	for _, call := range [][2]string{
		{http.MethodGet, "/v1/me"},
		{http.MethodGet, "/v1/me/sessions"},
		{http.MethodPost, "/v1/logout"},
		{http.MethodGet, "/v1/keys?project_id=" + project},
		{http.MethodGet, "/v1/runs?project_id=" + project},
		{http.MethodGet, "/v1/runs/stream?project_id=" + project},
		{http.MethodGet, "/v1/runs/export?format=ndjson&project_id=" + project},
		{http.MethodPost, "/mcp"},
	} {
		apitest.WantProblem(t, e.Do(t, call[0], call[1], nil, leaked), http.StatusUnauthorized)
	}
	sessions := apitest.Must[contract.SessionList](t, e.Do(t, http.MethodGet, "/v1/me/sessions", nil, leaked, secret(ours)), http.StatusOK)
	require.Len(t, sessions.Data, 1)
	assert.True(t, sessions.Data[0].Current)

	again := e.Login(t, apitest.Password, leaked, secret(ours))
	renewed := apitest.Cookie(apitest.SessionOf(t, again))
	apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/me", nil, leaked, secret(ours)), http.StatusUnauthorized)
	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodPost, "/v1/logout", nil, renewed, secret(ours)).Code)
	apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/me", nil, renewed, secret(ours)), http.StatusUnauthorized)
}

// Two installations on one machine have the same cookies but for their names.
func TestCookieNamesItsPort(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	e.SetUp(t)
	at := func(host string) apitest.Option { return func(r *http.Request) { r.Host = host } }
	overHTTPS := func(r *http.Request) {
		r.RemoteAddr = "127.0.0.1:40000"
		r.Header.Set("X-Forwarded-Proto", "https")
	}
	for host, want := range map[string]string{
		"127.0.0.1:7090": "looptrace_session_7090", "localhost:7190": "looptrace_session_7190", "[::1]:7090": "looptrace_session_7090",
		"example.com": "looptrace_session",
	} {
		cookie := e.Login(t, apitest.Password, at(host)).Result().Cookies()[0]
		assert.Equal(t, want, cookie.Name, host)
		cookie = e.Login(t, apitest.Password, at(host), overHTTPS).Result().Cookies()[0]
		assert.Equal(t, "__Host-"+want, cookie.Name, host)
	}
	cookie := e.Login(t, apitest.Password, at("127.0.0.1:7090")).Result().Cookies()[0]
	with := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value}) }
	assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/v1/me", nil, at("127.0.0.1:7090"), with).Code)
	assert.Equal(t, http.StatusUnauthorized, e.Do(t, http.MethodGet, "/v1/me", nil, at("127.0.0.1:7190"), with).Code)
}
