package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/test/engines"
)

// invite creates an invitation to the organization and returns it with the token of its link.
func (e *env) invite(t *testing.T, session string, body map[string]any) (contract.InvitationWithLink, string) {
	t.Helper()
	invitation := must[contract.InvitationWithLink](t, e.do(t, http.MethodPost, "/v1/invitations", body, cookie(session)), http.StatusCreated)
	address, token, found := strings.Cut(invitation.Url, "#")
	require.True(t, found)
	require.Equal(t, "http://127.0.0.1:7090/invite", address)
	return invitation, token
}

func (e *env) accept(t *testing.T, token, email, password string) *httptest.ResponseRecorder {
	t.Helper()
	return e.do(t, http.MethodPost, "/v1/invitations/_actions/accept", contract.InvitationAccept{Token: token, Email: email, Password: password})
}

func codeOf(t *testing.T, w *httptest.ResponseRecorder, status int) string {
	t.Helper()
	return wantProblem(t, w, status).Code
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, project := e.setUp(t)
	in := map[string]any{"organization_id": project.OrganizationId, "role": "viewer"}
	invitation, token := e.invite(t, owner, in)
	assert.Equal(t, contract.InvitationWithLinkStatePending, invitation.State)
	assert.Equal(t, e.clock.Now().UTC().Add(7*24*time.Hour).Truncate(time.Microsecond), invitation.ExpiresAt)
	assert.Equal(t, testEmail, *invitation.CreatedBy)
	assert.Zero(t, e.count(t, "SELECT count(*) FROM invitations WHERE position($1::bytea in token_sha256) > 0", []byte(token)))

	preview := must[contract.InvitationPreview](t, e.do(t, http.MethodPost, "/v1/invitations/_actions/read", contract.Token{Token: token}), http.StatusOK)
	assert.Equal(t, contract.InvitationPreview{
		OrganizationName: "Example", Role: contract.RoleViewer, CreatedBy: invitation.CreatedBy, ExpiresAt: invitation.ExpiresAt,
	}, preview)
	assert.Equal(t, "validation_failed", codeOf(t, e.accept(t, token, "bob@example", "short"), http.StatusUnprocessableEntity))
	assert.Equal(t, "validation_failed", codeOf(t, e.accept(t, token, "bob", testPassword), http.StatusUnprocessableEntity))
	w := e.accept(t, token, "bob@example.com", testPassword)
	me := must[contract.Me](t, w, http.StatusOK)
	require.Len(t, me.Projects, 1)
	assert.Equal(t, contract.RoleViewer, *me.Projects[0].Role)
	bob := sessionOf(t, w)
	must[contract.ProjectPage](t, e.do(t, http.MethodGet, "/v1/projects", nil, cookie(bob)), http.StatusOK)
	key := contract.KeyCreate{ProjectId: project.Id, Name: "mine", Scopes: []contract.Scope{contract.ScopeRunsRead}}
	assert.Equal(t, "scope_missing", codeOf(t, e.do(t, http.MethodPost, "/v1/keys", key, cookie(bob)), http.StatusForbidden))

	// A link works once.
	assert.Equal(t, "invitation_accepted", codeOf(t, e.accept(t, token, "carol@example.com", testPassword), http.StatusConflict))
	assert.Equal(t, "invitation_accepted", codeOf(t, e.do(t, http.MethodDelete, "/v1/invitations/"+invitation.Id.String(), nil, cookie(owner)), http.StatusConflict))
	read := must[contract.Invitation](t, e.do(t, http.MethodGet, "/v1/invitations/"+invitation.Id.String(), nil, cookie(owner)), http.StatusOK)
	assert.Equal(t, contract.InvitationStateAccepted, read.State)
	assert.Equal(t, "bob@example.com", *read.AcceptedBy)

	// One for an existing account needs its password, and keeps a stronger role.
	_, token = e.invite(t, owner, map[string]any{"workspace_id": project.WorkspaceId, "role": "member"})
	assert.Equal(t, "unauthenticated", codeOf(t, e.accept(t, token, "BOB@example.com", "wrong password"), http.StatusUnauthorized))
	me = must[contract.Me](t, e.accept(t, token, "BOB@example.com", testPassword), http.StatusOK)
	assert.Equal(t, contract.RoleMember, *me.Projects[0].Role)
	assert.Equal(t, contract.RoleViewer, *me.Organizations[0].Role)
	_, token = e.invite(t, owner, map[string]any{"workspace_id": project.WorkspaceId, "role": "viewer"})
	me = must[contract.Me](t, e.do(t, http.MethodPost, "/v1/invitations/_actions/join", contract.Token{Token: token}, cookie(bob)), http.StatusOK)
	assert.Equal(t, contract.RoleMember, *me.Projects[0].Role)
	assert.Equal(t, 2, e.count(t, "SELECT count(*) FROM users"))

	// One for an address is for no other.
	in["email"] = "dave@example.com"
	_, token = e.invite(t, owner, in)
	assert.Equal(t, "invitation_for_other", codeOf(t, e.accept(t, token, "eve@example.com", testPassword), http.StatusConflict))
	assert.Equal(t, "invitation_for_other", codeOf(t, e.do(t, http.MethodPost, "/v1/invitations/_actions/join", contract.Token{Token: token}, cookie(bob)), http.StatusConflict))
	require.Equal(t, http.StatusOK, e.accept(t, token, "Dave@example.com", testPassword).Code)
	delete(in, "email")

	// One that was revoked or has expired says so.
	revoked, token := e.invite(t, owner, in)
	for range 2 {
		require.Equal(t, http.StatusNoContent, e.do(t, http.MethodDelete, "/v1/invitations/"+revoked.Id.String(), nil, cookie(owner)).Code)
	}
	assert.Equal(t, "invitation_revoked", codeOf(t, e.accept(t, token, "eve@example.com", testPassword), http.StatusConflict))
	in["expires_at"] = e.clock.Now().Add(time.Hour)
	_, token = e.invite(t, owner, in)
	e.clock.advance(time.Hour)
	assert.Equal(t, "invitation_expired", codeOf(t, e.accept(t, token, "eve@example.com", testPassword), http.StatusConflict))
	for _, at := range []time.Time{e.clock.Now(), e.clock.Now().Add(31 * 24 * time.Hour)} {
		in["expires_at"] = at
		golden(t, "invitation_expiry", e.do(t, http.MethodPost, "/v1/invitations", in, cookie(owner)))
	}
	assert.Equal(t, "not_found", codeOf(t, e.accept(t, "none", "eve@example.com", testPassword), http.StatusNotFound))
	for _, target := range []map[string]any{{}, {"organization_id": project.OrganizationId, "workspace_id": project.WorkspaceId}} {
		target["role"] = "viewer"
		golden(t, "organization_or_workspace", e.do(t, http.MethodPost, "/v1/invitations", target, cookie(owner)))
	}

	of := func(query string) (states []contract.InvitationState) {
		page := must[contract.InvitationPage](t, e.do(t, http.MethodGet, "/v1/invitations?"+query, nil, cookie(owner)), http.StatusOK)
		for _, i := range page.Data {
			states = append(states, i.State)
		}
		return states
	}
	assert.Equal(t, []contract.InvitationState{"expired", "revoked", "accepted", "accepted", "accepted", "accepted"}, of("organization_id="+project.OrganizationId.String()))
	assert.Equal(t, []contract.InvitationState{"accepted", "accepted"}, of("workspace_id="+project.WorkspaceId.String()))
	e.clock.advance(91 * 24 * time.Hour)
	owner = e.loginAs(t, testEmail)
	assert.Empty(t, of("organization_id="+project.OrganizationId.String()))
	delete(in, "expires_at")
	e.invite(t, owner, in)
	assert.Equal(t, 1, e.count(t, "SELECT count(*) FROM invitations"))
}

func TestConcurrentUsesOfAnInvitation(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, project := e.setUp(t)
	_, token := e.invite(t, owner, map[string]any{"organization_id": project.OrganizationId, "role": "member"})
	const callers = 50
	answers := make([]*httptest.ResponseRecorder, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() { answers[i] = e.accept(t, token, uuid.NewString()+"@example.com", testPassword) })
	}
	group.Wait()
	statuses := map[int]int{}
	for _, w := range answers {
		statuses[w.Code]++
	}
	assert.Equal(t, map[int]int{http.StatusOK: 1, http.StatusConflict: callers - 1}, statuses)
	assert.Equal(t, 2, e.count(t, "SELECT count(*) FROM users"))
	assert.Equal(t, 2, e.count(t, "SELECT count(*) FROM organization_members"))
}

func TestLastOwner(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, project := e.setUp(t)
	of := "?organization_id=" + project.OrganizationId.String()
	in := map[string]any{"organization_id": project.OrganizationId}
	path := func(email string) string { return "/v1/members/" + e.userID(t, email).String() }
	for _, w := range []*httptest.ResponseRecorder{
		e.do(t, http.MethodDelete, path(testEmail)+of, nil, cookie(owner)),
		e.do(t, http.MethodPut, path(testEmail), map[string]any{"organization_id": project.OrganizationId, "role": "admin"}, cookie(owner)),
		e.do(t, http.MethodPost, "/v1/me/_actions/leave", in, cookie(owner)),
	} {
		golden(t, "last_owner", w)
	}
	assert.Equal(t, "own_account", codeOf(t, e.do(t, http.MethodPost, path(testEmail)+"/_actions/deactivate", in, cookie(owner)), http.StatusConflict))

	// A deactivated owner does not count.
	bob := e.addMember(t, "bob@example.com", "owner", project.OrganizationId)
	must[contract.Member](t, e.do(t, http.MethodPost, path("bob@example.com")+"/_actions/deactivate", in, cookie(owner)), http.StatusOK)
	golden(t, "last_owner", e.do(t, http.MethodPost, "/v1/me/_actions/leave", in, cookie(owner)))
	must[contract.Member](t, e.do(t, http.MethodPost, path("bob@example.com")+"/_actions/reactivate", in, cookie(owner)), http.StatusOK)
	assert.Equal(t, http.StatusUnauthorized, e.do(t, http.MethodGet, "/v1/me", nil, cookie(bob)).Code, "the session stays ended")

	// Of concurrent removals of all owners, one fails.
	sessions, emails := []string{owner}, []string{testEmail}
	e.exec(t, "DELETE FROM organization_members WHERE user_id = $1", e.userID(t, "bob@example.com"))
	for _, email := range []string{"c@example.com", "d@example.com", "e@example.com", "f@example.com"} {
		emails = append(emails, email)
		sessions = append(sessions, e.addMember(t, email, "owner", project.OrganizationId))
	}
	var group sync.WaitGroup
	for i, session := range sessions {
		group.Go(func() {
			switch i % 3 {
			case 0:
				e.do(t, http.MethodPost, "/v1/me/_actions/leave", in, cookie(session))
			case 1:
				e.do(t, http.MethodPut, "/v1/members/"+e.userID(t, emails[i]).String(), map[string]any{"organization_id": project.OrganizationId, "role": "viewer"}, cookie(session))
			default:
				e.do(t, http.MethodPost, "/v1/members/"+e.userID(t, emails[(i+1)%len(emails)]).String()+"/_actions/deactivate", in, cookie(session))
			}
		})
	}
	group.Wait()
	assert.Positive(t, e.count(t, `SELECT count(*) FROM organization_members m JOIN users u ON u.id = m.user_id
		WHERE m.role = 'owner' AND u.deactivated_at IS NULL AND m.organization_id = $1`, project.OrganizationId))
}

func TestMemberRoles(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, project := e.setUp(t)
	admin := e.addMember(t, "admin@example.com", "admin", project.OrganizationId)
	viewer := e.addMember(t, "viewer@example.com", "viewer", project.OrganizationId)
	guest := e.addWorkspaceMember(t, "guest@example.com", "member", project.WorkspaceId)
	set := func(session, email, role string, target map[string]any) *httptest.ResponseRecorder {
		body := map[string]any{"role": role}
		for name, value := range target {
			body[name] = value
		}
		return e.do(t, http.MethodPut, "/v1/members/"+e.userID(t, email).String(), body, cookie(session))
	}
	organization, workspace := map[string]any{"organization_id": project.OrganizationId}, map[string]any{"workspace_id": project.WorkspaceId}

	page := must[contract.MemberPage](t, e.do(t, http.MethodGet, "/v1/members?limit=10&organization_id="+project.OrganizationId.String(), nil, cookie(viewer)), http.StatusOK)
	require.Len(t, page.Data, 4)
	assert.Equal(t, "guest@example.com", page.Data[2].Email)
	assert.Nil(t, page.Data[2].OrganizationRole)
	assert.Equal(t, contract.RoleMember, page.Data[2].Role)
	require.Len(t, page.Data[2].Workspaces, 1)
	assert.Equal(t, project.WorkspaceName, page.Data[2].Workspaces[0].WorkspaceName)
	page = must[contract.MemberPage](t, e.do(t, http.MethodGet, "/v1/members?limit=2&offset=2&workspace_id="+project.WorkspaceId.String(), nil, cookie(guest)), http.StatusOK)
	require.Len(t, page.Data, 2)
	assert.False(t, page.HasMore)

	// Admins manage all but owners.
	golden(t, "owners_only", set(admin, "viewer@example.com", "owner", organization))
	golden(t, "owners_only", set(admin, testEmail, "viewer", organization))
	golden(t, "owners_only", e.do(t, http.MethodDelete, "/v1/members/"+e.userID(t, testEmail).String()+"?organization_id="+project.OrganizationId.String(), nil, cookie(admin)))
	golden(t, "owners_only", e.do(t, http.MethodPost, "/v1/invitations", map[string]any{"organization_id": project.OrganizationId, "role": "owner"}, cookie(admin)))
	assert.Equal(t, contract.RoleMember, must[contract.Member](t, set(admin, "viewer@example.com", "member", organization), http.StatusOK).Role)
	assert.Equal(t, contract.RoleOwner, must[contract.Member](t, set(owner, "viewer@example.com", "owner", workspace), http.StatusOK).Role)
	assert.Equal(t, "role_of_organization", codeOf(t, e.do(t, http.MethodDelete, "/v1/members/"+e.userID(t, "admin@example.com").String()+"?workspace_id="+project.WorkspaceId.String(), nil, cookie(owner)), http.StatusConflict))
	stranger := uuid.NewString() + "@example.com"
	e.insertUser(t, stranger)
	assert.Equal(t, "not_found", codeOf(t, set(owner, stranger, "viewer", organization), http.StatusNotFound))

	// A role that was taken away is gone with the next request.
	must[contract.Project](t, e.do(t, http.MethodGet, "/v1/projects/"+project.Id.String(), nil, cookie(guest)), http.StatusOK)
	require.Equal(t, http.StatusNoContent, e.do(t, http.MethodDelete, "/v1/members/"+e.userID(t, "guest@example.com").String()+"?organization_id="+project.OrganizationId.String(), nil, cookie(admin)).Code)
	assert.Equal(t, "not_found", codeOf(t, e.do(t, http.MethodGet, "/v1/projects/"+project.Id.String(), nil, cookie(guest)), http.StatusNotFound))
	me := must[contract.Me](t, e.do(t, http.MethodGet, "/v1/me", nil, cookie(guest)), http.StatusOK)
	assert.Empty(t, me.Organizations)
	assert.Empty(t, me.Projects)
	require.Equal(t, http.StatusNoContent, e.do(t, http.MethodPost, "/v1/me/_actions/leave", organization, cookie(viewer)).Code)
	assert.Zero(t, e.count(t, "SELECT count(*) FROM workspace_members"))
}

// TestAccountOfTwoOrganizations: an admin of one organization must not take over an account that has a role in another one.
func TestAccountOfTwoOrganizations(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, project := e.setUp(t)
	in := map[string]any{"organization_id": project.OrganizationId}
	e.addMember(t, "bob@example.com", "owner", uuid.Nil)
	bob := "/v1/members/" + e.userID(t, "bob@example.com").String() + "/_actions/"
	assert.Equal(t, "not_found", codeOf(t, e.do(t, http.MethodPost, bob+"deactivate", in, cookie(owner)), http.StatusNotFound))
	e.exec(t, `INSERT INTO organization_members (organization_id, user_id, role) VALUES ($1, $2, 'viewer')`, project.OrganizationId, e.userID(t, "bob@example.com"))
	for _, action := range []string{"deactivate", "reactivate", "reset-password"} {
		golden(t, "account_elsewhere", e.do(t, http.MethodPost, bob+action, in, cookie(owner)))
	}
	// Nor an admin the account of an owner.
	admin := e.addMember(t, "admin@example.com", "admin", project.OrganizationId)
	golden(t, "account_elsewhere", e.do(t, http.MethodPost, "/v1/members/"+e.userID(t, testEmail).String()+"/_actions/reset-password", in, cookie(admin)))
}

func TestPasswordReset(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, project := e.setUp(t)
	bob := e.addMember(t, "bob@example.com", "viewer", project.OrganizationId)
	member := "/v1/members/" + e.userID(t, "bob@example.com").String() + "/_actions/"
	in := map[string]any{"organization_id": project.OrganizationId}
	create := func() string {
		reset := must[contract.PasswordReset](t, e.do(t, http.MethodPost, member+"reset-password", in, cookie(owner)), http.StatusCreated)
		address, token, _ := strings.Cut(reset.Url, "#")
		require.Equal(t, "http://127.0.0.1:7090/reset-password", address)
		return token
	}
	use := func(token, password string) *httptest.ResponseRecorder {
		return e.do(t, http.MethodPost, "/v1/password-resets/_actions/use", contract.PasswordResetUse{Token: token, Password: password})
	}
	login := func(password string) int {
		e.clock.advance(time.Minute)
		return e.do(t, http.MethodPost, "/v1/login", contract.LoginRequest{Email: "bob@example.com", Password: password}).Code
	}
	replaced, token := create(), create()
	assert.Equal(t, "not_found", codeOf(t, use(replaced, "a new password"), http.StatusNotFound))
	preview := must[contract.PasswordResetPreview](t, e.do(t, http.MethodPost, "/v1/password-resets/_actions/read", contract.Token{Token: token}), http.StatusOK)
	assert.Equal(t, "bob@example.com", preview.Email)
	w := use(token, "a new password")
	must[contract.Me](t, w, http.StatusOK)
	assert.Equal(t, http.StatusOK, e.do(t, http.MethodGet, "/v1/me", nil, cookie(sessionOf(t, w))).Code)
	assert.Equal(t, http.StatusUnauthorized, e.do(t, http.MethodGet, "/v1/me", nil, cookie(bob)).Code, "earlier sessions end")
	assert.Equal(t, "not_found", codeOf(t, use(token, "another password"), http.StatusNotFound))
	assert.Equal(t, http.StatusUnauthorized, login(testPassword))
	assert.Equal(t, http.StatusOK, login("a new password"))

	expired := create()
	e.clock.advance(24 * time.Hour)
	assert.Equal(t, "not_found", codeOf(t, use(expired, "another password"), http.StatusNotFound))
	owner = e.loginAs(t, testEmail)

	token = create()
	var group sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		group.Go(func() { statuses[i] = use(token, "the password of "+uuid.NewString()).Code })
	}
	group.Wait()
	used := 0
	for _, status := range statuses {
		if status == http.StatusOK {
			used++
		}
	}
	assert.Equal(t, 1, used, statuses)

	// The link of a deactivated account ends with it.
	token = create()
	must[contract.Member](t, e.do(t, http.MethodPost, member+"deactivate", in, cookie(owner)), http.StatusOK)
	assert.Equal(t, "not_found", codeOf(t, use(token, "another password"), http.StatusNotFound))
	assert.Equal(t, "account_deactivated", codeOf(t, use(create(), "another password"), http.StatusForbidden))
}

func TestDeactivate(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, project := e.setUp(t)
	bob := e.addMember(t, "bob@example.com", "admin", project.OrganizationId)
	key := e.mint(t, bob, project.Id, contract.ScopeRunsRead)
	member := "/v1/members/" + e.userID(t, "bob@example.com").String() + "/_actions/"
	in := map[string]any{"organization_id": project.OrganizationId}
	assert.NotNil(t, must[contract.Member](t, e.do(t, http.MethodPost, member+"deactivate", in, cookie(owner)), http.StatusOK).DeactivatedAt)
	assert.Equal(t, http.StatusUnauthorized, e.do(t, http.MethodGet, "/v1/me", nil, cookie(bob)).Code)
	assert.Equal(t, http.StatusOK, e.do(t, http.MethodGet, "/v1/me", nil, bearer(key.Key)).Code, "keys stay")
	login := contract.LoginRequest{Email: "bob@example.com", Password: testPassword}
	golden(t, "account_deactivated", e.do(t, http.MethodPost, "/v1/login", login))
	login.Password = "wrong password"
	assert.Equal(t, "unauthenticated", codeOf(t, e.do(t, http.MethodPost, "/v1/login", login), http.StatusUnauthorized), "who guesses learns nothing")
	assert.Nil(t, must[contract.Member](t, e.do(t, http.MethodPost, member+"reactivate", in, cookie(owner)), http.StatusOK).DeactivatedAt)
	e.loginAs(t, "bob@example.com")
}

func TestStreamEndsWithTheRole(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := newEnvOn(t, engines.Postgres(t), address)
	owner, project := e.setUp(t)
	sessions := map[string]string{}
	for _, name := range []string{"removed", "deactivated"} {
		sessions[name] = e.addMember(t, name+"@example.com", "viewer", project.OrganizationId)
	}
	server := httptest.NewServer(e.api)
	t.Cleanup(server.Close)
	streams := map[string]*stream{}
	for name, session := range sessions {
		streams[name] = openStream(t, server.URL+"/v1/runs/stream?project_id="+project.Id.String(), cookie(session))
		require.Equal(t, "ready", streams[name].next(t).name)
	}
	removed, deactivated := e.userID(t, "removed@example.com").String(), e.userID(t, "deactivated@example.com").String()
	require.Equal(t, http.StatusNoContent, e.do(t, http.MethodDelete, "/v1/members/"+removed+"?organization_id="+project.OrganizationId.String(), nil, cookie(owner)).Code)
	require.Equal(t, http.StatusOK, e.do(t, http.MethodPost, "/v1/members/"+deactivated+"/_actions/deactivate", map[string]any{"organization_id": project.OrganizationId}, cookie(owner)).Code)
	for name, code := range map[string]string{"removed": "not_found", "deactivated": "unauthenticated"} {
		end := streams[name].next(t)
		assert.Equal(t, "end", end.name)
		assert.Contains(t, end.data, `"code":"`+code+`"`)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	first, _ := e.setUp(t)
	agent := header("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0")
	second := sessionOf(t, e.login(t, testPassword, agent))
	third := sessionOf(t, e.login(t, testPassword))
	sessions := func(as string) []contract.Session {
		return must[contract.SessionList](t, e.do(t, http.MethodGet, "/v1/me/sessions", nil, cookie(as)), http.StatusOK).Data
	}
	var current, firefox contract.Session
	for _, s := range sessions(first) {
		if s.Current {
			current = s
		}
		if strings.Contains(s.UserAgent, "Firefox") {
			firefox = s
		}
	}
	assert.Equal(t, "192.0.2.1", *current.Ip)
	require.Equal(t, http.StatusNoContent, e.do(t, http.MethodDelete, "/v1/me/sessions/"+firefox.Id.String(), nil, cookie(first)).Code)
	assert.Equal(t, "not_found", codeOf(t, e.do(t, http.MethodDelete, "/v1/me/sessions/"+firefox.Id.String(), nil, cookie(first)), http.StatusNotFound))
	assert.Equal(t, http.StatusUnauthorized, e.do(t, http.MethodGet, "/v1/me", nil, cookie(second)).Code)
	assert.Len(t, sessions(first), 2)
	ended := must[contract.EndedSessions](t, e.do(t, http.MethodPost, "/v1/me/sessions/_actions/end-others", nil, cookie(first)), http.StatusOK)
	assert.Equal(t, int64(1), ended.Ended)
	assert.Equal(t, http.StatusUnauthorized, e.do(t, http.MethodGet, "/v1/me", nil, cookie(third)).Code)
	assert.Len(t, sessions(first), 1)
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session, _ := e.setUp(t)
	other := sessionOf(t, e.login(t, testPassword))
	change := func(current, replacement string) *httptest.ResponseRecorder {
		return e.do(t, http.MethodPost, "/v1/me/_actions/change-password", contract.PasswordChange{CurrentPassword: current, NewPassword: replacement}, cookie(session))
	}
	golden(t, "wrong_current_password", change("wrong password", "a new password"))
	assert.Equal(t, "validation_failed", codeOf(t, change(testPassword, "short"), http.StatusUnprocessableEntity))
	require.Equal(t, http.StatusNoContent, change(testPassword, "a new password").Code)
	assert.Equal(t, http.StatusOK, e.do(t, http.MethodGet, "/v1/me", nil, cookie(session)).Code)
	assert.Equal(t, http.StatusUnauthorized, e.do(t, http.MethodGet, "/v1/me", nil, cookie(other)).Code)
	assert.Equal(t, http.StatusUnauthorized, e.login(t, testPassword).Code)
	assert.Equal(t, http.StatusOK, e.login(t, "a new password").Code)
	// Guesses with a stolen session are throttled.
	status := 0
	for range 20 {
		if status = change("wrong password", "another password").Code; status == http.StatusTooManyRequests {
			break
		}
	}
	assert.Equal(t, http.StatusTooManyRequests, status)
}

func TestOrganizations(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := newEnvOn(t, engines.Postgres(t), address)
	owner, project := e.setUp(t)
	as := cookie(owner)
	storeRun(t, address, project.Id)
	e.mint(t, owner, project.Id, contract.ScopeRunsRead)
	first := "/v1/organizations/" + project.OrganizationId.String()
	golden(t, "last_organization", e.do(t, http.MethodDelete, first+"?confirm=Example", nil, as))

	created := must[contract.Organization](t, e.do(t, http.MethodPost, "/v1/organizations", contract.OrganizationWrite{Name: " Second "}, as), http.StatusCreated)
	assert.Equal(t, "Second", created.Name)
	assert.Equal(t, contract.RoleOwner, *created.Role)
	me := must[contract.Me](t, e.do(t, http.MethodGet, "/v1/me", nil, as), http.StatusOK)
	require.Len(t, me.Organizations, 2)
	assert.Len(t, me.Organizations[1].Workspaces, 1)
	assert.Len(t, me.Projects, 2)
	renamed := must[contract.Organization](t, e.do(t, http.MethodPatch, first, contract.OrganizationWrite{Name: "First"}, as), http.StatusOK)
	assert.Equal(t, "First", renamed.Name)

	workspace := must[contract.Workspace](t, e.do(t, http.MethodPost, "/v1/workspaces", contract.WorkspaceCreate{OrganizationId: project.OrganizationId, Name: "Team"}, as), http.StatusCreated)
	assert.Equal(t, "name_taken", codeOf(t, e.do(t, http.MethodPost, "/v1/workspaces", contract.WorkspaceCreate{OrganizationId: project.OrganizationId, Name: "Team"}, as), http.StatusConflict))
	assert.Equal(t, "name_taken", codeOf(t, e.do(t, http.MethodPatch, "/v1/workspaces/"+workspace.Id.String(), contract.WorkspaceUpdate{Name: project.WorkspaceName}, as), http.StatusConflict))
	list := must[contract.WorkspacePage](t, e.do(t, http.MethodGet, "/v1/workspaces?organization_id="+project.OrganizationId.String(), nil, as), http.StatusOK)
	assert.Len(t, list.Data, 2)
	team := e.createProject(t, owner, workspace.Id, "Team project")
	guest := e.addWorkspaceMember(t, "guest@example.com", "owner", workspace.Id)
	guestMe := must[contract.Me](t, e.do(t, http.MethodGet, "/v1/me", nil, cookie(guest)), http.StatusOK)
	require.Len(t, guestMe.Organizations, 1)
	assert.Nil(t, guestMe.Organizations[0].Role)
	assert.Len(t, guestMe.Organizations[0].Workspaces, 1)
	assert.Len(t, guestMe.Projects, 1)

	contents := func(path string) contract.Contents {
		return must[contract.Contents](t, e.do(t, http.MethodGet, path+"/contents", nil, as), http.StatusOK)
	}
	assert.Equal(t, contract.Contents{Name: "First", Workspaces: 2, Projects: 2, Keys: 1, Members: 2, Runs: 1}, contents(first))
	assert.Equal(t, contract.Contents{Name: "Team", Workspaces: 1, Projects: 1, Members: 1}, contents("/v1/workspaces/"+workspace.Id.String()))
	assert.Equal(t, contract.Contents{Name: "Default", Projects: 1, Keys: 1, Runs: 1}, contents("/v1/projects/"+project.Id.String()))

	golden(t, "confirm", e.do(t, http.MethodDelete, "/v1/workspaces/"+workspace.Id.String()+"?confirm=team", nil, as))
	golden(t, "confirm", e.do(t, http.MethodDelete, "/v1/workspaces/"+workspace.Id.String(), nil, as))
	require.Equal(t, http.StatusNoContent, e.do(t, http.MethodDelete, "/v1/workspaces/"+workspace.Id.String()+"?confirm=Team", nil, cookie(guest)).Code)
	assert.Equal(t, "not_found", codeOf(t, e.do(t, http.MethodGet, "/v1/projects/"+team.Id.String(), nil, as), http.StatusNotFound))
	require.Equal(t, http.StatusNoContent, e.do(t, http.MethodDelete, first+"?confirm=First", nil, as).Code)
	assert.Equal(t, 1, e.count(t, "SELECT count(*) FROM projects"))
	assert.Zero(t, e.count(t, "SELECT count(*) FROM api_keys"))
	assert.Equal(t, 2, e.count(t, "SELECT count(*) FROM deleted_projects"))
}

// TestDeletedProjectIsPurged: the runs of a deleted project go from ClickHouse, also those that were queued at the deletion.
func TestDeletedProjectIsPurged(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := newEnvOn(t, engines.Postgres(t), address)
	owner, project := e.setUp(t)
	sibling := e.createProject(t, owner, project.WorkspaceId, "Sibling")
	storeRun(t, address, project.Id)
	kept := storeRun(t, address, sibling.Id)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	rows := func(table string, project uuid.UUID) (n uint64) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM "+table+" WHERE project_id = ?", project).Scan(&n))
		return n
	}
	key := e.mint(t, owner, project.Id, contract.ScopeRunsRead)
	require.Equal(t, http.StatusNoContent, e.do(t, http.MethodDelete, "/v1/projects/"+project.Id.String()+"?confirm=Default", nil, cookie(owner)).Code)
	assert.Equal(t, http.StatusUnauthorized, e.do(t, http.MethodGet, "/v1/me", nil, bearer(key.Key)).Code)

	for _, delay := range []time.Duration{time.Minute, time.Hour, 7 * 24 * time.Hour} {
		e.clock.advance(delay)
		require.NoError(t, e.projects.Purge(t.Context(), e.runs.DeleteProject))
		for _, table := range []string{"spans", "runs", "run_bounds", "contents", "shared_contents", "scores"} {
			assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.Zero(c, rows(table, project.Id), table) }, 20*time.Second, 50*time.Millisecond)
		}
		storeRun(t, address, project.Id) // late
		require.NoError(t, e.projects.Purge(t.Context(), e.runs.DeleteProject))
		assert.NotZero(t, rows("spans", project.Id), "it is not due")
	}
	assert.Zero(t, e.count(t, "SELECT count(*) FROM deleted_projects"))
	must[contract.Run](t, e.do(t, http.MethodGet, "/v1/runs/"+kept.String(), nil, cookie(e.loginAs(t, testEmail))), http.StatusOK)
}
