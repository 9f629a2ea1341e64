package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// during sends a request while a transaction has made the first statements, and then makes the last and commits. It waits
// until the request waits for the transaction or has its answer.
func (e *env) during(t *testing.T, first, last func(tx pgx.Tx), request func() *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	t.Helper()
	tx, err := e.db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }() // without effect after the commit
	first(tx)
	answer := make(chan *httptest.ResponseRecorder, 1)
	go func() { answer <- request() }()
	require.Eventually(t, func() bool {
		return len(answer) > 0 || e.count(t, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
	}, 10*time.Second, 10*time.Millisecond)
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
	e := newEnv(t)
	owner, project := e.setUp(t)
	e.addMember(t, "other@example.com", "owner", [16]byte{})
	_, token := e.invite(t, owner, map[string]any{"workspace_id": project.WorkspaceId, "role": "viewer"})
	w := e.during(t, sqlIn(t, "SELECT FROM workspaces WHERE id = $1 FOR UPDATE", project.WorkspaceId),
		sqlIn(t, "DELETE FROM workspaces WHERE id = $1", project.WorkspaceId),
		func() *httptest.ResponseRecorder { return e.accept(t, token, "bob@example.com", testPassword) })
	assert.Equal(t, "not_found", codeOf(t, w, http.StatusNotFound))
	_, token = e.invite(t, owner, map[string]any{"organization_id": project.OrganizationId, "role": "viewer"})
	w = e.during(t, sqlIn(t, "SELECT FROM organizations WHERE id = $1 FOR UPDATE", project.OrganizationId),
		sqlIn(t, "DELETE FROM organizations WHERE id = $1", project.OrganizationId),
		func() *httptest.ResponseRecorder { return e.accept(t, token, "bob@example.com", testPassword) })
	assert.Equal(t, "not_found", codeOf(t, w, http.StatusNotFound))
	assert.Zero(t, e.count(t, "SELECT count(*) FROM users WHERE email = 'bob@example.com'"))
}

func TestCreationDuringDeletion(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, project := e.setUp(t)
	w := e.during(t, sqlIn(t, "DELETE FROM workspaces WHERE id = $1", project.WorkspaceId), nothing, func() *httptest.ResponseRecorder {
		return e.do(t, http.MethodPost, "/v1/projects", contract.ProjectCreate{WorkspaceId: project.WorkspaceId, Name: "New"}, cookie(owner))
	})
	assert.Equal(t, "not_found", codeOf(t, w, http.StatusNotFound))
}

// TestDemotionDuringRequests: what a role allowed when the request came, it does not allow after it was taken away.
func TestDemotionDuringRequests(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, project := e.setUp(t)
	e.addMember(t, "viewer@example.com", "viewer", project.OrganizationId)
	in := map[string]any{"organization_id": project.OrganizationId, "role": "admin"}
	viewer := "/v1/members/" + e.userID(t, "viewer@example.com").String()
	demote := func(email string) func(tx pgx.Tx) {
		return func(tx pgx.Tx) {
			sqlIn(t, "SELECT FROM organizations WHERE id = $1 FOR UPDATE", project.OrganizationId)(tx)
			sqlIn(t, "UPDATE organization_members SET role = 'viewer' WHERE user_id = $1", e.userID(t, email))(tx)
		}
	}
	for name, request := range map[string]func(session string) *httptest.ResponseRecorder{
		"role": func(s string) *httptest.ResponseRecorder { return e.do(t, http.MethodPut, viewer, in, cookie(s)) },
		"invite": func(s string) *httptest.ResponseRecorder {
			return e.do(t, http.MethodPost, "/v1/invitations", in, cookie(s))
		},
		"remove": func(s string) *httptest.ResponseRecorder {
			return e.do(t, http.MethodDelete, viewer+"?organization_id="+project.OrganizationId.String(), nil, cookie(s))
		},
		"reset": func(s string) *httptest.ResponseRecorder {
			return e.do(t, http.MethodPost, viewer+"/_actions/reset-password", map[string]any{"organization_id": project.OrganizationId}, cookie(s))
		},
	} {
		admin := e.addMember(t, name+"@example.com", "admin", project.OrganizationId)
		w := e.during(t, demote(name+"@example.com"), nothing, func() *httptest.ResponseRecorder { return request(admin) })
		assert.Equal(t, "scope_missing", codeOf(t, w, http.StatusForbidden), name)
	}
	// An acceptance does not bring back the stronger role.
	_, token := e.invite(t, owner, map[string]any{"organization_id": project.OrganizationId, "role": "member"})
	admin := e.addMember(t, "join@example.com", "admin", project.OrganizationId)
	w := e.during(t, demote("join@example.com"), nothing, func() *httptest.ResponseRecorder {
		return e.do(t, http.MethodPost, "/v1/invitations/_actions/join", contract.Token{Token: token}, cookie(admin))
	})
	assert.Equal(t, contract.RoleMember, *must[contract.Me](t, w, http.StatusOK).Organizations[0].Role)
}

// TestInvitationsEndWithTheRole: an admin who is removed must not come back with a link made before.
func TestInvitationsEndWithTheRole(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, project := e.setUp(t)
	in := map[string]any{"organization_id": project.OrganizationId}
	member := func(email string) string { return "/v1/members/" + e.userID(t, email).String() }
	set := func(email, role string) *httptest.ResponseRecorder {
		return e.do(t, http.MethodPut, member(email), map[string]any{"organization_id": project.OrganizationId, "role": role}, cookie(owner))
	}
	for name, end := range map[string]func(email string) *httptest.ResponseRecorder{
		"removed": func(email string) *httptest.ResponseRecorder {
			return e.do(t, http.MethodDelete, member(email)+"?organization_id="+project.OrganizationId.String(), nil, cookie(owner))
		},
		"deactivated": func(email string) *httptest.ResponseRecorder {
			return e.do(t, http.MethodPost, member(email)+"/_actions/deactivate", in, cookie(owner))
		},
		"demoted": func(email string) *httptest.ResponseRecorder { return set(email, "member") },
		"left": func(email string) *httptest.ResponseRecorder {
			return e.do(t, http.MethodPost, "/v1/me/_actions/leave", in, cookie(e.loginAs(t, email)))
		},
	} {
		email := name + "@example.com"
		admin := e.addMember(t, email, "admin", project.OrganizationId)
		_, token := e.invite(t, admin, map[string]any{"workspace_id": project.WorkspaceId, "role": "admin"})
		require.Less(t, end(email).Code, 300, name)
		assert.Equal(t, "invitation_revoked", codeOf(t, e.accept(t, token, "again@example.com", testPassword), http.StatusConflict), name)
	}
	// Only those that the new role does not allow.
	second := e.addMember(t, "second@example.com", "owner", project.OrganizationId)
	_, asOwner := e.invite(t, second, map[string]any{"organization_id": project.OrganizationId, "role": "owner"})
	_, asMember := e.invite(t, second, map[string]any{"organization_id": project.OrganizationId, "role": "member"})
	require.Equal(t, http.StatusOK, set("second@example.com", "admin").Code)
	assert.Equal(t, "invitation_revoked", codeOf(t, e.accept(t, asOwner, "a@example.com", testPassword), http.StatusConflict))
	require.Equal(t, http.StatusOK, e.accept(t, asMember, "a@example.com", testPassword).Code)
}

// TestPasswordResetEndsWithTheRole: an admin must not take over, with a link made before, an account that has become
// stronger, nor any account after the role is gone.
func TestPasswordResetEndsWithTheRole(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, project := e.setUp(t)
	admin := e.addMember(t, "admin@example.com", "admin", project.OrganizationId)
	e.addMember(t, "bob@example.com", "viewer", project.OrganizationId)
	set := func(email, role string) {
		body := map[string]any{"organization_id": project.OrganizationId, "role": role}
		must[contract.Member](t, e.do(t, http.MethodPut, "/v1/members/"+e.userID(t, email).String(), body, cookie(owner)), http.StatusOK)
	}
	create := func() (token string) {
		path := "/v1/members/" + e.userID(t, "bob@example.com").String() + "/_actions/reset-password"
		w := e.do(t, http.MethodPost, path, map[string]any{"organization_id": project.OrganizationId}, cookie(admin))
		_, token, _ = strings.Cut(must[contract.PasswordReset](t, w, http.StatusCreated).Url, "#")
		return token
	}
	refused := func(token string) {
		t.Helper()
		w := e.do(t, http.MethodPost, "/v1/password-resets/_actions/read", contract.Token{Token: token})
		assert.Equal(t, "not_found", codeOf(t, w, http.StatusNotFound))
		w = e.do(t, http.MethodPost, "/v1/password-resets/_actions/use", contract.PasswordResetUse{Token: token, Password: "a new password"})
		assert.Equal(t, "not_found", codeOf(t, w, http.StatusNotFound))
	}
	token := create()
	set("bob@example.com", "owner")
	refused(token)
	set("bob@example.com", "viewer")
	e.addMember(t, "elsewhere@example.com", "owner", [16]byte{})
	e.exec(t, `INSERT INTO organization_members (organization_id, user_id, role)
		SELECT organization_id, $1, 'viewer' FROM organization_members WHERE user_id = $2`, e.userID(t, "bob@example.com"), e.userID(t, "elsewhere@example.com"))
	refused(token)
	e.exec(t, "DELETE FROM organization_members WHERE user_id = $1 AND organization_id <> $2", e.userID(t, "bob@example.com"), project.OrganizationId)
	set("admin@example.com", "member")
	refused(token)
}

// TestLoginDuringPasswordChange: no session of the old password stays.
func TestLoginDuringPasswordChange(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.setUp(t)
	w := e.during(t, func(tx pgx.Tx) {
		sqlIn(t, "UPDATE users SET password_hash = 'another'")(tx)
		sqlIn(t, "DELETE FROM sessions")(tx)
	}, nothing, func() *httptest.ResponseRecorder { return e.login(t, testPassword) })
	assert.Equal(t, "unauthenticated", codeOf(t, w, http.StatusUnauthorized))
	assert.Zero(t, e.count(t, "SELECT count(*) FROM sessions"))
}
