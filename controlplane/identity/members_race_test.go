package identity_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// during sends a request while a transaction has made the first statements, and then makes the last and commits. It waits
// until the request waits for the transaction or has its answer.
func during(t *testing.T, e *apitest.Env, first, last func(tx pgx.Tx), request func() *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	t.Helper()
	tx, err := e.DB.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }() // without effect after the commit
	first(tx)
	answer := make(chan *httptest.ResponseRecorder, 1)
	go func() { answer <- request() }()
	require.Eventually(t, func() bool {
		return len(answer) > 0 || e.Count(t, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
	}, 10*time.Second, 50*time.Millisecond)
	last(tx)
	require.NoError(t, tx.Commit(t.Context()))
	return <-answer
}

// sqlIn returns a function that executes the statement.
func sqlIn(t *testing.T, sql string, args ...any) func(tx pgx.Tx) {
	t.Helper()
	return func(tx pgx.Tx) {
		t.Helper()
		_, err := tx.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
}

func nothing(pgx.Tx) {}

func TestAcceptanceDuringDeletion(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	e.AddMember(t, "other@example.com", "owner", [16]byte{})
	_, token := invite(t, e, owner, map[string]any{"workspace_id": project.WorkspaceId, "role": "viewer"})
	w := during(t, e, sqlIn(t, "SELECT FROM workspaces WHERE id = $1 FOR UPDATE", project.WorkspaceId),
		sqlIn(t, "DELETE FROM workspaces WHERE id = $1", project.WorkspaceId),
		func() *httptest.ResponseRecorder { return accept(t, e, token, "bob@example.com", apitest.Password) })
	assert.Equal(t, "not_found", apitest.CodeOf(t, w, http.StatusNotFound))
	_, token = invite(t, e, owner, map[string]any{"organization_id": project.OrganizationId, "role": "viewer"})
	w = during(t, e, sqlIn(t, "SELECT FROM organizations WHERE id = $1 FOR UPDATE", project.OrganizationId),
		sqlIn(t, "DELETE FROM organizations WHERE id = $1", project.OrganizationId),
		func() *httptest.ResponseRecorder { return accept(t, e, token, "bob@example.com", apitest.Password) })
	assert.Equal(t, "not_found", apitest.CodeOf(t, w, http.StatusNotFound))
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM users WHERE email = 'bob@example.com'"))
}

func TestCreationDuringDeletion(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	w := during(t, e, sqlIn(t, "DELETE FROM workspaces WHERE id = $1", project.WorkspaceId), nothing, func() *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPost, "/v1/projects", contract.ProjectCreate{WorkspaceId: project.WorkspaceId, Name: "New"}, apitest.Cookie(owner))
	})
	assert.Equal(t, "not_found", apitest.CodeOf(t, w, http.StatusNotFound))
}

// TestDemotionDuringRequests: what a role allowed when the request came, it does not allow after it was taken away.
func TestDemotionDuringRequests(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	e.AddMember(t, "viewer@example.com", "viewer", project.OrganizationId)
	in := map[string]any{"organization_id": project.OrganizationId, "role": "admin"}
	viewer := "/v1/members/" + e.UserID(t, "viewer@example.com").String()
	demote := func(email string) func(tx pgx.Tx) {
		return func(tx pgx.Tx) {
			sqlIn(t, "SELECT FROM organizations WHERE id = $1 FOR UPDATE", project.OrganizationId)(tx)
			sqlIn(t, "UPDATE organization_members SET role = 'viewer' WHERE user_id = $1", e.UserID(t, email))(tx)
		}
	}
	for name, request := range map[string]func(session string) *httptest.ResponseRecorder{
		"role": func(s string) *httptest.ResponseRecorder {
			return e.Do(t, http.MethodPut, viewer, in, apitest.Cookie(s))
		},
		"invite": func(s string) *httptest.ResponseRecorder {
			return e.Do(t, http.MethodPost, "/v1/invitations", in, apitest.Cookie(s))
		},
		"remove": func(s string) *httptest.ResponseRecorder {
			return e.Do(t, http.MethodDelete, viewer+"?organization_id="+project.OrganizationId.String(), nil, apitest.Cookie(s))
		},
		"reset": func(s string) *httptest.ResponseRecorder {
			return e.Do(t, http.MethodPost, viewer+"/_actions/reset-password", map[string]any{"organization_id": project.OrganizationId}, apitest.Cookie(s))
		},
	} {
		admin := e.AddMember(t, name+"@example.com", "admin", project.OrganizationId)
		w := during(t, e, demote(name+"@example.com"), nothing, func() *httptest.ResponseRecorder { return request(admin) })
		assert.Equal(t, "scope_missing", apitest.CodeOf(t, w, http.StatusForbidden), name)
	}
	// An acceptance does not bring back the stronger role.
	_, token := invite(t, e, owner, map[string]any{"organization_id": project.OrganizationId, "role": "member"})
	admin := e.AddMember(t, "join@example.com", "admin", project.OrganizationId)
	w := during(t, e, demote("join@example.com"), nothing, func() *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPost, "/v1/invitations/_actions/join", contract.Token{Token: token}, apitest.Cookie(admin))
	})
	assert.Equal(t, contract.RoleMember, *apitest.Must[contract.Me](t, w, http.StatusOK).Organizations[0].Role)
}

// TestInvitationsEndWithTheRole: an admin who is removed must not come back with a link made before.
func TestInvitationsEndWithTheRole(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	in := map[string]any{"organization_id": project.OrganizationId}
	member := func(email string) string { return "/v1/members/" + e.UserID(t, email).String() }
	set := func(email, role string) *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPut, member(email), map[string]any{"organization_id": project.OrganizationId, "role": role}, apitest.Cookie(owner))
	}
	for name, end := range map[string]func(email string) *httptest.ResponseRecorder{
		"removed": func(email string) *httptest.ResponseRecorder {
			return e.Do(t, http.MethodDelete, member(email)+"?organization_id="+project.OrganizationId.String(), nil, apitest.Cookie(owner))
		},
		"deactivated": func(email string) *httptest.ResponseRecorder {
			return e.Do(t, http.MethodPost, member(email)+"/_actions/deactivate", in, apitest.Cookie(owner))
		},
		"demoted": func(email string) *httptest.ResponseRecorder { return set(email, "member") },
		"left": func(email string) *httptest.ResponseRecorder {
			return e.Do(t, http.MethodPost, "/v1/me/_actions/leave", in, apitest.Cookie(e.LoginAs(t, email)))
		},
	} {
		email := name + "@example.com"
		admin := e.AddMember(t, email, "admin", project.OrganizationId)
		_, token := invite(t, e, admin, map[string]any{"workspace_id": project.WorkspaceId, "role": "admin"})
		require.Less(t, end(email).Code, 300, name)
		assert.Equal(t, "invitation_revoked", apitest.CodeOf(t, accept(t, e, token, "again@example.com", apitest.Password), http.StatusConflict), name)
	}
	// Only those that the new role does not allow.
	second := e.AddMember(t, "second@example.com", "owner", project.OrganizationId)
	_, asOwner := invite(t, e, second, map[string]any{"organization_id": project.OrganizationId, "role": "owner"})
	_, asMember := invite(t, e, second, map[string]any{"organization_id": project.OrganizationId, "role": "member"})
	require.Equal(t, http.StatusOK, set("second@example.com", "admin").Code)
	assert.Equal(t, "invitation_revoked", apitest.CodeOf(t, accept(t, e, asOwner, "a@example.com", apitest.Password), http.StatusConflict))
	require.Equal(t, http.StatusOK, accept(t, e, asMember, "a@example.com", apitest.Password).Code)
}

// TestPasswordResetEndsWithTheRole: an admin must not take over, with a link made before, an account that has become
// stronger, nor any account after the role is gone.
func TestPasswordResetEndsWithTheRole(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	admin := e.AddMember(t, "admin@example.com", "admin", project.OrganizationId)
	e.AddMember(t, "bob@example.com", "viewer", project.OrganizationId)
	set := func(email, role string) {
		body := map[string]any{"organization_id": project.OrganizationId, "role": role}
		apitest.Must[contract.Member](t, e.Do(t, http.MethodPut, "/v1/members/"+e.UserID(t, email).String(), body, apitest.Cookie(owner)), http.StatusOK)
	}
	create := func() (token string) {
		path := "/v1/members/" + e.UserID(t, "bob@example.com").String() + "/_actions/reset-password"
		w := e.Do(t, http.MethodPost, path, map[string]any{"organization_id": project.OrganizationId}, apitest.Cookie(admin))
		_, token, _ = strings.Cut(apitest.Must[contract.PasswordReset](t, w, http.StatusCreated).Url, "#")
		return token
	}
	refused := func(token string) {
		t.Helper()
		w := e.Do(t, http.MethodPost, "/v1/password-resets/_actions/read", contract.Token{Token: token})
		assert.Equal(t, "not_found", apitest.CodeOf(t, w, http.StatusNotFound))
		w = e.Do(t, http.MethodPost, "/v1/password-resets/_actions/use", contract.PasswordResetUse{Token: token, Password: "a new password"})
		assert.Equal(t, "not_found", apitest.CodeOf(t, w, http.StatusNotFound))
	}
	token := create()
	set("bob@example.com", "owner")
	refused(token)
	set("bob@example.com", "viewer")
	e.AddMember(t, "elsewhere@example.com", "owner", [16]byte{})
	e.Exec(t, `INSERT INTO organization_members (organization_id, user_id, role)
		SELECT organization_id, $1, 'viewer' FROM organization_members WHERE user_id = $2`, e.UserID(t, "bob@example.com"), e.UserID(t, "elsewhere@example.com"))
	refused(token)
	e.Exec(t, "DELETE FROM organization_members WHERE user_id = $1 AND organization_id <> $2", e.UserID(t, "bob@example.com"), project.OrganizationId)
	set("admin@example.com", "member")
	refused(token)
}

// TestLoginDuringPasswordChange: no session of the old password stays.
func TestLoginDuringPasswordChange(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	e.SetUp(t)
	w := during(t, e, func(tx pgx.Tx) {
		sqlIn(t, "UPDATE users SET password_hash = 'another'")(tx)
		sqlIn(t, "DELETE FROM sessions")(tx)
	}, nothing, func() *httptest.ResponseRecorder { return e.Login(t, apitest.Password) })
	assert.Equal(t, "unauthenticated", apitest.CodeOf(t, w, http.StatusUnauthorized))
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM sessions"))
}
