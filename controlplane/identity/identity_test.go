package identity_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/wiring"
	"github.com/looptrace/looptrace/internal/problem"
)

func TestFromSetupToKey(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)

	state := apitest.Must[struct{ Bootstrapped bool }](t, e.Do(t, http.MethodGet, "/v1/setup", nil), http.StatusOK)
	assert.False(t, state.Bootstrapped)
	w := e.Do(t, http.MethodPost, "/v1/setup", contract.SetupRequest{Email: " " + apitest.Email, Password: apitest.Password, OrgName: "Example"})
	first := apitest.Must[contract.Me](t, w, http.StatusCreated)
	assert.Equal(t, "/v1/me", w.Header().Get("Location"))
	assert.Equal(t, apitest.Email, first.User.Email)
	require.Len(t, first.Projects, 1)
	project := first.Projects[0]
	assert.Equal(t, "Example", project.OrganizationName)
	assert.Equal(t, contract.RoleOwner, *project.Role)
	assert.Contains(t, project.Scopes, contract.ScopeAdmin)
	session := apitest.SessionOf(t, w)

	state = apitest.Must[struct{ Bootstrapped bool }](t, e.Do(t, http.MethodGet, "/v1/setup", nil), http.StatusOK)
	assert.True(t, state.Bootstrapped)

	assert.Equal(t, first, apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(session)), http.StatusOK))
	again := e.Login(t, apitest.Password)
	assert.Equal(t, first, apitest.Must[contract.Me](t, again, http.StatusOK))

	created := e.CreateProject(t, session, project.WorkspaceId, "Second")
	path := "/v1/projects/" + created.Id.String()
	assert.Equal(t, created, apitest.Must[contract.Project](t, e.Do(t, http.MethodGet, path, nil, apitest.Cookie(session)), http.StatusOK))
	e.Clock.Advance(time.Second)
	renamed := apitest.Must[contract.Project](t, e.Do(t, http.MethodPatch, path, map[string]string{"name": "Renamed"}, apitest.Cookie(session)), http.StatusOK)
	assert.Equal(t, "Renamed", renamed.Name)
	assert.True(t, renamed.UpdatedAt.After(created.UpdatedAt))
	assert.Equal(t, renamed, apitest.Must[contract.Project](t, e.Do(t, http.MethodPatch, path, "{}", apitest.Cookie(session)), http.StatusOK))
	page := apitest.Must[contract.ProjectPage](t, e.Do(t, http.MethodGet, "/v1/projects?limit=1", nil, apitest.Cookie(session)), http.StatusOK)
	assert.True(t, page.HasMore)
	require.Len(t, page.Data, 1)
	page = apitest.Must[contract.ProjectPage](t, e.Do(t, http.MethodGet, "/v1/projects?limit=1&offset=1", nil, apitest.Cookie(session)), http.StatusOK)
	assert.False(t, page.HasMore)
	assert.Equal(t, renamed, page.Data[0])

	expires := e.Clock.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	w = e.Do(t, http.MethodPost, "/v1/keys", contract.KeyCreate{
		ProjectId: created.Id, Name: "ci", Scopes: []contract.Scope{contract.ScopeRunsRead, contract.ScopeIngestWrite, contract.ScopeRunsRead}, ExpiresAt: &expires,
	}, apitest.Cookie(session))
	key := apitest.Must[contract.KeyWithSecret](t, w, http.StatusCreated)
	assert.Equal(t, []contract.Scope{contract.ScopeIngestWrite, contract.ScopeRunsRead}, key.Scopes)
	assert.Equal(t, expires, *key.ExpiresAt)
	assert.Equal(t, "/v1/keys/"+key.Id.String(), w.Header().Get("Location"))
	assert.True(t, strings.HasPrefix(key.Key, "lt_"+key.PublicId+"."))

	for _, how := range []apitest.Option{apitest.Bearer(key.Key), apitest.Header("X-Api-Key", key.Key), apitest.Header("Authorization", "bearer  "+key.Key)} {
		me := apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, how), http.StatusOK)
		assert.Nil(t, me.User)
		assert.Equal(t, key.Id, me.Key.Id)
		require.Len(t, me.Projects, 1)
		assert.Equal(t, created.Id, me.Projects[0].Id)
		assert.Nil(t, me.Projects[0].Role)
		assert.Equal(t, key.Scopes, me.Projects[0].Scopes)
	}

	keyPath := "/v1/keys/" + key.Id.String()
	stored := apitest.Must[contract.Key](t, e.Do(t, http.MethodGet, keyPath, nil, apitest.Cookie(session)), http.StatusOK)
	require.NotNil(t, stored.LastUsedAt)
	rotated := apitest.Must[contract.KeyWithSecret](t, e.Do(t, http.MethodPost, keyPath+"/_actions/rotate", nil, apitest.Cookie(session)), http.StatusCreated)
	assert.Equal(t, key.Name, rotated.Name)
	assert.Equal(t, key.Scopes, rotated.Scopes)
	assert.Equal(t, key.ExpiresAt, rotated.ExpiresAt)
	assert.NotEqual(t, key.PublicId, rotated.PublicId)
	assert.Equal(t, "key_revoked", apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Bearer(key.Key)), http.StatusUnauthorized).Code)
	apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Bearer(rotated.Key)), http.StatusOK)

	rotatedPath := "/v1/keys/" + rotated.Id.String()
	for range 2 { // revoking a revoked key is no error
		assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, rotatedPath, nil, apitest.Cookie(session)).Code)
	}
	assert.Equal(t, "key_revoked", apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Bearer(rotated.Key)), http.StatusUnauthorized).Code)
	keys := apitest.Must[contract.KeyPage](t, e.Do(t, http.MethodGet, "/v1/keys?project_id="+created.Id.String(), nil, apitest.Cookie(session)), http.StatusOK)
	require.Len(t, keys.Data, 2)
	for _, k := range keys.Data {
		assert.NotNil(t, k.RevokedAt)
	}

	w = e.Do(t, http.MethodPost, "/v1/logout", nil, apitest.Cookie(session))
	assert.Equal(t, http.StatusNoContent, w.Code)
	assert.Equal(t, -1, w.Result().Cookies()[0].MaxAge)
	apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(session)), http.StatusUnauthorized)
	apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(apitest.SessionOf(t, again))), http.StatusOK)

	assert.NotContains(t, e.Log.String(), apitest.Password)
	assert.NotContains(t, e.Log.String(), key.Key)
	assert.NotContains(t, e.Log.String(), session)
}

func TestOneOfManySetupsWins(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	answers := make([]*httptest.ResponseRecorder, 6)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			answers[i] = e.Do(t, http.MethodPost, "/v1/setup",
				contract.SetupRequest{Email: "user" + strconv.Itoa(i) + "@example.com", Password: apitest.Password, OrgName: "Example"})
		})
	}
	wg.Wait()
	won := 0
	for _, w := range answers {
		if w.Code == http.StatusCreated {
			won++
			continue
		}
		assert.Equal(t, "already_bootstrapped", apitest.WantProblem(t, w, http.StatusConflict).Code)
	}
	assert.Equal(t, 1, won)
	for _, table := range []string{"users", "organizations", "workspaces", "projects", "sessions"} {
		var n int
		require.NoError(t, e.DB.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		assert.Equal(t, 1, n, table)
	}
}

func TestSessionEnds(t *testing.T) {
	t.Parallel()
	valid := func(t *testing.T, e *apitest.Env, session string) bool {
		t.Helper()
		return e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(session)).Code == http.StatusOK
	}
	t.Run("after a day without use", func(t *testing.T) {
		t.Parallel()
		e := apitest.New(t)
		session, _ := e.SetUp(t)
		e.Clock.Advance(24*time.Hour - time.Second)
		assert.True(t, valid(t, e, session))
		e.Clock.Advance(24 * time.Hour)
		assert.False(t, valid(t, e, session))
	})
	t.Run("after a week of use", func(t *testing.T) {
		t.Parallel()
		e := apitest.New(t)
		session, _ := e.SetUp(t)
		for range 13 {
			e.Clock.Advance(12*time.Hour + 50*time.Minute)
			assert.True(t, valid(t, e, session))
		}
		e.Clock.Advance(2 * time.Hour)
		assert.False(t, valid(t, e, session))
	})
	t.Run("at the next login in the same browser", func(t *testing.T) {
		t.Parallel()
		e := apitest.New(t)
		session, _ := e.SetUp(t)
		renewed := apitest.SessionOf(t, e.Login(t, apitest.Password, apitest.Cookie(session)))
		assert.NotEqual(t, session, renewed)
		assert.False(t, valid(t, e, session))
		assert.True(t, valid(t, e, renewed))
	})
	t.Run("its token is not stored", func(t *testing.T) {
		t.Parallel()
		e := apitest.New(t)
		session, _ := e.SetUp(t)
		var n int
		require.NoError(t, e.DB.QueryRow(t.Context(),
			`SELECT count(*) FROM sessions WHERE token_sha256 IN (convert_to($1, 'UTF8'), sha256(convert_to($1, 'UTF8')))`, session).Scan(&n))
		assert.Zero(t, n)
	})
}

func TestLoginIsSlowedDownOverTheAPI(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	e.SetUp(t)
	for range 5 {
		apitest.WantProblem(t, e.Login(t, "wrong", from("198.51.100.9")), http.StatusUnauthorized)
	}
	apitest.Golden(t, "throttled", e.Login(t, apitest.Password, from("198.51.100.10")))
	e.Clock.Advance(time.Second)
	require.Equal(t, http.StatusOK, e.Login(t, apitest.Password, from("198.51.100.10")).Code)
}

// A browser that has logged in before has a cookie that says so.
func TestKnownBrowserOverTheAPI(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	e.SetUp(t)
	require.Len(t, e.Login(t, apitest.Password).Result().Cookies(), 1, "a program gets the session's only")
	w := e.Login(t, apitest.Password, secret(ours))
	cookies := w.Result().Cookies()
	require.Len(t, cookies, 2)
	device := cookies[1]
	assert.Regexp(t, `^looptrace_device=[\w-]{43}\.[\w-]{43}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax$`, w.Header().Values("Set-Cookie")[1])
	for range 5 {
		apitest.WantProblem(t, e.Login(t, "wrong", from("198.51.100.9")), http.StatusUnauthorized)
	}
	apitest.WantProblem(t, e.Login(t, apitest.Password, from("198.51.100.10")), http.StatusTooManyRequests)
	known := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: device.Name, Value: device.Value}) }
	assert.Equal(t, http.StatusOK, e.Login(t, apitest.Password, from("198.51.100.10"), known).Code)
	assert.NotContains(t, e.Log.String(), device.Value)
}

// from is a client's address as the web service tells it.
func from(address string) apitest.Option {
	return func(r *http.Request) {
		r.RemoteAddr = "127.0.0.1:40000"
		r.Header.Set("X-Forwarded-For", address)
	}
}

func TestRolesAndScopes(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	admin := e.AddMember(t, "admin@example.com", "admin", project.OrganizationId)
	member := e.AddMember(t, "member@example.com", "member", project.OrganizationId)
	viewer := e.AddMember(t, "viewer@example.com", "viewer", project.OrganizationId)
	adminKey := e.Mint(t, owner, project.Id, contract.ScopeAdmin)
	ingestKey := e.Mint(t, owner, project.Id, contract.ScopeIngestWrite)
	readKey := e.Mint(t, owner, project.Id, contract.ScopeRunsRead)

	id := project.Id.String()
	newKey := contract.KeyCreate{ProjectId: project.Id, Name: "k", Scopes: []contract.Scope{contract.ScopeIngestWrite}}
	newProject := contract.ProjectCreate{WorkspaceId: project.WorkspaceId, Name: "p"}
	acts := []struct {
		name, method, path string
		body               any
	}{
		{"see project", http.MethodGet, "/v1/projects/" + id, nil},
		{"rename project", http.MethodPatch, "/v1/projects/" + id, map[string]string{"name": "Default"}},
		{"create project", http.MethodPost, "/v1/projects", newProject},
		{"list keys", http.MethodGet, "/v1/keys?project_id=" + id, nil},
		{"read key", http.MethodGet, "/v1/keys/" + readKey.Id.String(), nil},
		{"mint key", http.MethodPost, "/v1/keys", newKey},
		{"read runs", http.MethodGet, "/v1/runs?project_id=" + id, nil},
		{"read run", http.MethodGet, "/v1/runs/" + apitest.NoSuchID, nil},
	}
	const allowed, refused = true, false
	for _, who := range []struct {
		name string
		as   apitest.Option
		may  []bool
	}{
		{"owner", apitest.Cookie(owner), []bool{allowed, allowed, allowed, allowed, allowed, allowed, allowed, allowed}},
		{"admin", apitest.Cookie(admin), []bool{allowed, allowed, allowed, allowed, allowed, allowed, allowed, allowed}},
		{"member", apitest.Cookie(member), []bool{allowed, refused, refused, refused, refused, refused, allowed, allowed}},
		{"viewer", apitest.Cookie(viewer), []bool{allowed, refused, refused, refused, refused, refused, allowed, allowed}},
		{"key of scope admin", apitest.Bearer(adminKey.Key), []bool{allowed, allowed, refused, allowed, allowed, allowed, allowed, allowed}},
		{"key of scope runs:read", apitest.Bearer(readKey.Key), []bool{allowed, refused, refused, refused, refused, refused, allowed, allowed}},
		{"key of scope ingest:write", apitest.Bearer(ingestKey.Key), []bool{allowed, refused, refused, refused, refused, refused, refused, refused}},
	} {
		for i, act := range acts {
			w := e.Do(t, act.method, act.path, act.body, who.as)
			if who.may[i] {
				assert.NotEqual(t, http.StatusForbidden, w.Code, "%s: %s: %s", who.name, act.name, w.Body)
				continue
			}
			if assert.Equal(t, http.StatusForbidden, w.Code, "%s: %s: %s", who.name, act.name, w.Body) {
				assert.Equal(t, "scope_missing", apitest.WantProblem(t, w, http.StatusForbidden).Code)
			}
		}
	}
}

func TestKeyUseIsNotedOnceAMinute(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	key := e.Mint(t, session, project.Id, contract.ScopeRunsRead)
	lastUsed := func() time.Time {
		apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Bearer(key.Key)), http.StatusOK)
		k := apitest.Must[contract.Key](t, e.Do(t, http.MethodGet, "/v1/keys/"+key.Id.String(), nil, apitest.Cookie(session)), http.StatusOK)
		return *k.LastUsedAt
	}
	first := lastUsed()
	e.Clock.Advance(59 * time.Second)
	assert.Equal(t, first, lastUsed())
	e.Clock.Advance(time.Second)
	assert.Equal(t, first.Add(time.Minute), lastUsed())
}

func TestKeyNamesItsCreatorAndLastAddress(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	minted := e.Mint(t, session, project.Id, contract.ScopeAdmin)
	assert.Equal(t, apitest.Email, *minted.CreatedBy)
	assert.Nil(t, minted.LastUsedIp)
	stored := func() contract.Key {
		path := "/v1/keys?project_id=" + project.Id.String()
		list := apitest.Must[contract.KeyPage](t, e.Do(t, http.MethodGet, path, nil, apitest.Cookie(session)), http.StatusOK).Data
		one := apitest.Must[contract.Key](t, e.Do(t, http.MethodGet, "/v1/keys/"+minted.Id.String(), nil, apitest.Cookie(session)), http.StatusOK)
		assert.Contains(t, list, one)
		return one
	}
	assert.Equal(t, apitest.Email, *stored().CreatedBy)
	me := apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Bearer(minted.Key), from("198.51.100.9")), http.StatusOK)
	assert.Equal(t, apitest.Email, *me.Key.CreatedBy)
	assert.Equal(t, "198.51.100.9", *stored().LastUsedIp)
	e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Bearer(minted.Key), from("198.51.100.10"))
	assert.Equal(t, "198.51.100.9", *stored().LastUsedIp, "once a minute")
	e.Clock.Advance(time.Minute)
	e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Bearer(minted.Key), from("2001:db8::7"))
	assert.Equal(t, "2001:db8::7", *stored().LastUsedIp)

	body := contract.KeyCreate{ProjectId: project.Id, Name: "of a key", Scopes: []contract.Scope{contract.ScopeRunsRead}}
	ofKey := apitest.Must[contract.KeyWithSecret](t, e.Do(t, http.MethodPost, "/v1/keys", body, apitest.Bearer(minted.Key)), http.StatusCreated)
	assert.Nil(t, ofKey.CreatedBy)
	other := e.AddMember(t, "bob@example.com", "admin", project.OrganizationId)
	rotated := apitest.Must[contract.KeyWithSecret](t, e.Do(t, http.MethodPost, "/v1/keys/"+minted.Id.String()+"/_actions/rotate", nil, apitest.Cookie(other)), http.StatusCreated)
	assert.Equal(t, "bob@example.com", *rotated.CreatedBy, "who has the new secret")
}

func TestKeyExpires(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	expires := e.Clock.Now().Add(time.Hour)
	key := apitest.Must[contract.KeyWithSecret](t, e.Do(t, http.MethodPost, "/v1/keys",
		contract.KeyCreate{ProjectId: project.Id, Name: "short", Scopes: []contract.Scope{contract.ScopeRunsRead}, ExpiresAt: &expires}, apitest.Cookie(session)), http.StatusCreated)
	apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Bearer(key.Key)), http.StatusOK)
	e.Clock.Advance(time.Hour)
	apitest.Golden(t, "key_expired", e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Bearer(key.Key)))
	apitest.Golden(t, "rotate_expired", e.Do(t, http.MethodPost, "/v1/keys/"+key.Id.String()+"/_actions/rotate", nil, apitest.Cookie(session)))
}

func TestRotationsAtOnceMakeOneKey(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	key := e.Mint(t, session, project.Id, contract.ScopeRunsRead)
	var wg sync.WaitGroup
	codes := make([]int, 5)
	for i := range codes {
		wg.Go(func() {
			codes[i] = e.Do(t, http.MethodPost, "/v1/keys/"+key.Id.String()+"/_actions/rotate", nil, apitest.Cookie(session)).Code
		})
	}
	wg.Wait()
	created := 0
	for _, code := range codes {
		if code == http.StatusCreated {
			created++
			continue
		}
		assert.Equal(t, http.StatusConflict, code)
	}
	assert.Equal(t, 1, created)
}

func TestProjectNamesAreUniqueInAWorkspace(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	second := e.CreateProject(t, session, project.WorkspaceId, "Second")
	for _, w := range []*httptest.ResponseRecorder{
		e.Do(t, http.MethodPost, "/v1/projects", contract.ProjectCreate{WorkspaceId: project.WorkspaceId, Name: " Second "}, apitest.Cookie(session)),
		e.Do(t, http.MethodPatch, "/v1/projects/"+second.Id.String(), map[string]string{"name": project.Name}, apitest.Cookie(session)),
	} {
		assert.Equal(t, problem.CodeNameTaken, apitest.WantProblem(t, w, http.StatusConflict).Code)
	}
	assert.Equal(t, problem.CodeNotFound, apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/projects",
		contract.ProjectCreate{WorkspaceId: uuid.New(), Name: "p"}, apitest.Cookie(session)), http.StatusNotFound).Code)
}

// TestSetupToken: where it is set, only who knows it becomes the owner.
func TestSetupToken(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	const secret = "0123456789abcdef"
	guarded := e.Configured(t, func(c *wiring.Config) { c.Identity.SetupToken = secret })
	setup := func(token *string) *httptest.ResponseRecorder {
		return guarded.Do(t, http.MethodPost, "/v1/setup", contract.SetupRequest{Email: apitest.Email, Password: apitest.Password, OrgName: "Example", SetupToken: token})
	}
	required := func(e *apitest.Env) bool {
		return apitest.Must[struct {
			Required bool `json:"token_required"`
		}](t, e.Do(t, http.MethodGet, "/v1/setup", nil), http.StatusOK).Required
	}
	assert.False(t, required(e))
	assert.True(t, required(guarded))
	for _, token := range []*string{nil, new(""), new("0123456789abcdeg")} {
		problem := apitest.WantProblem(t, setup(token), http.StatusUnprocessableEntity)
		assert.Equal(t, "body.setup_token", (*problem.Errors)[0].Location)
		assert.Nil(t, (*problem.Errors)[0].Value)
	}
	apitest.Must[contract.Me](t, setup(new(secret)), http.StatusCreated)
	assert.False(t, required(guarded), "setup is over")
}
