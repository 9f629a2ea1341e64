package httpapi

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

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/problem"
)

func TestFromSetupToKey(t *testing.T) {
	t.Parallel()
	e := newEnv(t)

	state := must[struct{ Bootstrapped bool }](t, e.do(t, http.MethodGet, "/v1/setup", nil), http.StatusOK)
	assert.False(t, state.Bootstrapped)
	w := e.do(t, http.MethodPost, "/v1/setup", contract.SetupRequest{Email: " " + testEmail, Password: testPassword, OrgName: "Example"})
	first := must[contract.Me](t, w, http.StatusCreated)
	assert.Equal(t, "/v1/me", w.Header().Get("Location"))
	assert.Equal(t, testEmail, first.User.Email)
	require.Len(t, first.Projects, 1)
	project := first.Projects[0]
	assert.Equal(t, "Example", project.OrganizationName)
	assert.Equal(t, contract.RoleOwner, *project.Role)
	assert.Contains(t, project.Scopes, contract.ScopeAdmin)
	session := sessionOf(t, w)

	state = must[struct{ Bootstrapped bool }](t, e.do(t, http.MethodGet, "/v1/setup", nil), http.StatusOK)
	assert.True(t, state.Bootstrapped)

	assert.Equal(t, first, must[contract.Me](t, e.do(t, http.MethodGet, "/v1/me", nil, cookie(session)), http.StatusOK))
	again := e.login(t, testPassword)
	assert.Equal(t, first, must[contract.Me](t, again, http.StatusOK))

	created := e.createProject(t, session, project.WorkspaceId, "Second")
	path := "/v1/projects/" + created.Id.String()
	assert.Equal(t, created, must[contract.Project](t, e.do(t, http.MethodGet, path, nil, cookie(session)), http.StatusOK))
	e.clock.advance(time.Second)
	renamed := must[contract.Project](t, e.do(t, http.MethodPatch, path, map[string]string{"name": "Renamed"}, cookie(session)), http.StatusOK)
	assert.Equal(t, "Renamed", renamed.Name)
	assert.True(t, renamed.UpdatedAt.After(created.UpdatedAt))
	assert.Equal(t, renamed, must[contract.Project](t, e.do(t, http.MethodPatch, path, "{}", cookie(session)), http.StatusOK))
	page := must[contract.ProjectPage](t, e.do(t, http.MethodGet, "/v1/projects?limit=1", nil, cookie(session)), http.StatusOK)
	assert.True(t, page.HasMore)
	require.Len(t, page.Data, 1)
	page = must[contract.ProjectPage](t, e.do(t, http.MethodGet, "/v1/projects?limit=1&offset=1", nil, cookie(session)), http.StatusOK)
	assert.False(t, page.HasMore)
	assert.Equal(t, renamed, page.Data[0])

	expires := e.clock.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	w = e.do(t, http.MethodPost, "/v1/keys", contract.KeyCreate{
		ProjectId: created.Id, Name: "ci", Scopes: []contract.Scope{contract.ScopeRunsRead, contract.ScopeIngestWrite, contract.ScopeRunsRead}, ExpiresAt: &expires,
	}, cookie(session))
	key := must[contract.KeyWithSecret](t, w, http.StatusCreated)
	assert.Equal(t, []contract.Scope{contract.ScopeIngestWrite, contract.ScopeRunsRead}, key.Scopes)
	assert.Equal(t, expires, *key.ExpiresAt)
	assert.Equal(t, "/v1/keys/"+key.Id.String(), w.Header().Get("Location"))
	assert.True(t, strings.HasPrefix(key.Key, "lt_"+key.PublicId+"."))

	for _, how := range []option{bearer(key.Key), header("X-Api-Key", key.Key), header("Authorization", "bearer  "+key.Key)} {
		me := must[contract.Me](t, e.do(t, http.MethodGet, "/v1/me", nil, how), http.StatusOK)
		assert.Nil(t, me.User)
		assert.Equal(t, key.Id, me.Key.Id)
		require.Len(t, me.Projects, 1)
		assert.Equal(t, created.Id, me.Projects[0].Id)
		assert.Nil(t, me.Projects[0].Role)
		assert.Equal(t, key.Scopes, me.Projects[0].Scopes)
	}

	keyPath := "/v1/keys/" + key.Id.String()
	stored := must[contract.Key](t, e.do(t, http.MethodGet, keyPath, nil, cookie(session)), http.StatusOK)
	require.NotNil(t, stored.LastUsedAt)
	rotated := must[contract.KeyWithSecret](t, e.do(t, http.MethodPost, keyPath+"/_actions/rotate", nil, cookie(session)), http.StatusCreated)
	assert.Equal(t, key.Name, rotated.Name)
	assert.Equal(t, key.Scopes, rotated.Scopes)
	assert.Equal(t, key.ExpiresAt, rotated.ExpiresAt)
	assert.NotEqual(t, key.PublicId, rotated.PublicId)
	assert.Equal(t, "key_revoked", wantProblem(t, e.do(t, http.MethodGet, "/v1/me", nil, bearer(key.Key)), http.StatusUnauthorized).Code)
	must[contract.Me](t, e.do(t, http.MethodGet, "/v1/me", nil, bearer(rotated.Key)), http.StatusOK)

	rotatedPath := "/v1/keys/" + rotated.Id.String()
	for range 2 { // revoking a revoked key is no error
		assert.Equal(t, http.StatusNoContent, e.do(t, http.MethodDelete, rotatedPath, nil, cookie(session)).Code)
	}
	assert.Equal(t, "key_revoked", wantProblem(t, e.do(t, http.MethodGet, "/v1/me", nil, bearer(rotated.Key)), http.StatusUnauthorized).Code)
	keys := must[contract.KeyPage](t, e.do(t, http.MethodGet, "/v1/keys?project_id="+created.Id.String(), nil, cookie(session)), http.StatusOK)
	require.Len(t, keys.Data, 2)
	for _, k := range keys.Data {
		assert.NotNil(t, k.RevokedAt)
	}

	w = e.do(t, http.MethodPost, "/v1/logout", nil, cookie(session))
	assert.Equal(t, http.StatusNoContent, w.Code)
	assert.Equal(t, -1, w.Result().Cookies()[0].MaxAge)
	wantProblem(t, e.do(t, http.MethodGet, "/v1/me", nil, cookie(session)), http.StatusUnauthorized)
	must[contract.Me](t, e.do(t, http.MethodGet, "/v1/me", nil, cookie(sessionOf(t, again))), http.StatusOK)

	assert.NotContains(t, e.log.String(), testPassword)
	assert.NotContains(t, e.log.String(), key.Key)
	assert.NotContains(t, e.log.String(), session)
}

func TestOneOfManySetupsWins(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	answers := make([]*httptest.ResponseRecorder, 6)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			answers[i] = e.do(t, http.MethodPost, "/v1/setup",
				contract.SetupRequest{Email: "user" + strconv.Itoa(i) + "@example.com", Password: testPassword, OrgName: "Example"})
		})
	}
	wg.Wait()
	won := 0
	for _, w := range answers {
		if w.Code == http.StatusCreated {
			won++
			continue
		}
		assert.Equal(t, "already_bootstrapped", wantProblem(t, w, http.StatusConflict).Code)
	}
	assert.Equal(t, 1, won)
	for _, table := range []string{"users", "organizations", "workspaces", "projects", "sessions"} {
		var n int
		require.NoError(t, e.db.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		assert.Equal(t, 1, n, table)
	}
}

func TestSessionEnds(t *testing.T) {
	t.Parallel()
	valid := func(t *testing.T, e *env, session string) bool {
		t.Helper()
		return e.do(t, http.MethodGet, "/v1/me", nil, cookie(session)).Code == http.StatusOK
	}
	t.Run("after a day without use", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		session, _ := e.setUp(t)
		e.clock.advance(24*time.Hour - time.Second)
		assert.True(t, valid(t, e, session))
		e.clock.advance(24 * time.Hour)
		assert.False(t, valid(t, e, session))
	})
	t.Run("after a week of use", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		session, _ := e.setUp(t)
		for range 13 {
			e.clock.advance(12*time.Hour + 50*time.Minute)
			assert.True(t, valid(t, e, session))
		}
		e.clock.advance(2 * time.Hour)
		assert.False(t, valid(t, e, session))
	})
	t.Run("at the next login in the same browser", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		session, _ := e.setUp(t)
		renewed := sessionOf(t, e.login(t, testPassword, cookie(session)))
		assert.NotEqual(t, session, renewed)
		assert.False(t, valid(t, e, session))
		assert.True(t, valid(t, e, renewed))
	})
	t.Run("its token is not stored", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		session, _ := e.setUp(t)
		var n int
		require.NoError(t, e.db.QueryRow(t.Context(),
			`SELECT count(*) FROM sessions WHERE token_sha256 IN (convert_to($1, 'UTF8'), sha256(convert_to($1, 'UTF8')))`, session).Scan(&n))
		assert.Zero(t, n)
	})
}

func TestLoginIsSlowedDown(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.setUp(t)
	for range 5 {
		wantProblem(t, e.login(t, "wrong", from("198.51.100.9")), http.StatusUnauthorized)
	}
	golden(t, "throttled", e.login(t, testPassword, from("198.51.100.10")))
	e.clock.advance(time.Second)
	require.Equal(t, http.StatusOK, e.login(t, testPassword, from("198.51.100.10")).Code)
}

// from is a client's address as the web service tells it.
func from(address string) option {
	return func(r *http.Request) {
		r.RemoteAddr = "127.0.0.1:40000"
		r.Header.Set("X-Forwarded-For", address)
	}
}

func TestRolesAndScopes(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, project := e.setUp(t)
	admin := e.addMember(t, "admin@example.com", "admin", project.OrganizationId)
	member := e.addMember(t, "member@example.com", "member", project.OrganizationId)
	viewer := e.addMember(t, "viewer@example.com", "viewer", project.OrganizationId)
	adminKey := e.mint(t, owner, project.Id, contract.ScopeAdmin)
	ingestKey := e.mint(t, owner, project.Id, contract.ScopeIngestWrite)
	readKey := e.mint(t, owner, project.Id, contract.ScopeRunsRead)

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
		{"read run", http.MethodGet, "/v1/runs/" + noSuchID, nil},
	}
	const allowed, refused = true, false
	for _, who := range []struct {
		name string
		as   option
		may  []bool
	}{
		{"owner", cookie(owner), []bool{allowed, allowed, allowed, allowed, allowed, allowed, allowed, allowed}},
		{"admin", cookie(admin), []bool{allowed, allowed, allowed, allowed, allowed, allowed, allowed, allowed}},
		{"member", cookie(member), []bool{allowed, refused, refused, refused, refused, refused, allowed, allowed}},
		{"viewer", cookie(viewer), []bool{allowed, refused, refused, refused, refused, refused, allowed, allowed}},
		{"key of scope admin", bearer(adminKey.Key), []bool{allowed, allowed, refused, allowed, allowed, allowed, allowed, allowed}},
		{"key of scope runs:read", bearer(readKey.Key), []bool{allowed, refused, refused, refused, refused, refused, allowed, allowed}},
		{"key of scope ingest:write", bearer(ingestKey.Key), []bool{allowed, refused, refused, refused, refused, refused, refused, refused}},
	} {
		for i, act := range acts {
			w := e.do(t, act.method, act.path, act.body, who.as)
			if who.may[i] {
				assert.NotEqual(t, http.StatusForbidden, w.Code, "%s: %s: %s", who.name, act.name, w.Body)
				continue
			}
			if assert.Equal(t, http.StatusForbidden, w.Code, "%s: %s: %s", who.name, act.name, w.Body) {
				assert.Equal(t, "scope_missing", wantProblem(t, w, http.StatusForbidden).Code)
			}
		}
	}
}

func TestKeyUseIsNotedOnceAMinute(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session, project := e.setUp(t)
	key := e.mint(t, session, project.Id, contract.ScopeRunsRead)
	lastUsed := func() time.Time {
		must[contract.Me](t, e.do(t, http.MethodGet, "/v1/me", nil, bearer(key.Key)), http.StatusOK)
		k := must[contract.Key](t, e.do(t, http.MethodGet, "/v1/keys/"+key.Id.String(), nil, cookie(session)), http.StatusOK)
		return *k.LastUsedAt
	}
	first := lastUsed()
	e.clock.advance(59 * time.Second)
	assert.Equal(t, first, lastUsed())
	e.clock.advance(time.Second)
	assert.Equal(t, first.Add(time.Minute), lastUsed())
}

func TestKeyExpires(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session, project := e.setUp(t)
	expires := e.clock.Now().Add(time.Hour)
	key := must[contract.KeyWithSecret](t, e.do(t, http.MethodPost, "/v1/keys",
		contract.KeyCreate{ProjectId: project.Id, Name: "short", Scopes: []contract.Scope{contract.ScopeRunsRead}, ExpiresAt: &expires}, cookie(session)), http.StatusCreated)
	must[contract.Me](t, e.do(t, http.MethodGet, "/v1/me", nil, bearer(key.Key)), http.StatusOK)
	e.clock.advance(time.Hour)
	golden(t, "key_expired", e.do(t, http.MethodGet, "/v1/me", nil, bearer(key.Key)))
	golden(t, "rotate_expired", e.do(t, http.MethodPost, "/v1/keys/"+key.Id.String()+"/_actions/rotate", nil, cookie(session)))
}

func TestRotationsAtOnceMakeOneKey(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session, project := e.setUp(t)
	key := e.mint(t, session, project.Id, contract.ScopeRunsRead)
	var wg sync.WaitGroup
	codes := make([]int, 5)
	for i := range codes {
		wg.Go(func() {
			codes[i] = e.do(t, http.MethodPost, "/v1/keys/"+key.Id.String()+"/_actions/rotate", nil, cookie(session)).Code
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
	e := newEnv(t)
	session, project := e.setUp(t)
	second := e.createProject(t, session, project.WorkspaceId, "Second")
	for _, w := range []*httptest.ResponseRecorder{
		e.do(t, http.MethodPost, "/v1/projects", contract.ProjectCreate{WorkspaceId: project.WorkspaceId, Name: " Second "}, cookie(session)),
		e.do(t, http.MethodPatch, "/v1/projects/"+second.Id.String(), map[string]string{"name": project.Name}, cookie(session)),
	} {
		assert.Equal(t, problem.CodeNameTaken, wantProblem(t, w, http.StatusConflict).Code)
	}
	assert.Equal(t, problem.CodeNotFound, wantProblem(t, e.do(t, http.MethodPost, "/v1/projects",
		contract.ProjectCreate{WorkspaceId: uuid.New(), Name: "p"}, cookie(session)), http.StatusNotFound).Code)
}
