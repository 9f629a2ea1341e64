package identity_test

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

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/test/engines"
)

// invite creates an invitation to the organization and returns it with the token of its link.
func invite(t *testing.T, e *apitest.Env, session string, body map[string]any) (contract.InvitationWithLink, string) {
	t.Helper()
	invitation := apitest.Must[contract.InvitationWithLink](t, e.Do(t, http.MethodPost, "/v1/invitations", body, apitest.Cookie(session)), http.StatusCreated)
	address, token, found := strings.Cut(invitation.Url, "#")
	require.True(t, found)
	require.Equal(t, "http://127.0.0.1:7090/invite", address)
	return invitation, token
}

func accept(t *testing.T, e *apitest.Env, token, email, password string) *httptest.ResponseRecorder {
	t.Helper()
	return e.Do(t, http.MethodPost, "/v1/invitations/_actions/accept", contract.InvitationAccept{Token: token, Email: email, Password: password})
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	in := map[string]any{"organization_id": project.OrganizationId, "role": "viewer"}
	invitation, token := invite(t, e, owner, in)
	assert.Equal(t, contract.InvitationWithLinkStatePending, invitation.State)
	assert.Equal(t, e.Clock.Now().UTC().Add(7*24*time.Hour).Truncate(time.Microsecond), invitation.ExpiresAt)
	assert.Equal(t, apitest.Email, *invitation.CreatedBy)
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM invitations WHERE position($1::bytea in token_sha256) > 0", []byte(token)))

	preview := apitest.Must[contract.InvitationPreview](t, e.Do(t, http.MethodPost, "/v1/invitations/_actions/read", contract.Token{Token: token}), http.StatusOK)
	assert.Equal(t, contract.InvitationPreview{
		OrganizationName: "Example", Role: contract.RoleViewer, CreatedBy: invitation.CreatedBy, ExpiresAt: invitation.ExpiresAt,
	}, preview)
	assert.Equal(t, "validation_failed", apitest.CodeOf(t, accept(t, e, token, "bob@example", "short"), http.StatusUnprocessableEntity))
	assert.Equal(t, "validation_failed", apitest.CodeOf(t, accept(t, e, token, "bob", apitest.Password), http.StatusUnprocessableEntity))
	w := accept(t, e, token, "bob@example.com", apitest.Password)
	me := apitest.Must[contract.Me](t, w, http.StatusOK)
	require.Len(t, me.Projects, 1)
	assert.Equal(t, contract.RoleViewer, *me.Projects[0].Role)
	bob := apitest.SessionOf(t, w)
	apitest.Must[contract.ProjectPage](t, e.Do(t, http.MethodGet, "/v1/projects", nil, apitest.Cookie(bob)), http.StatusOK)
	key := contract.KeyCreate{ProjectId: project.Id, Name: "mine", Scopes: []contract.Scope{contract.ScopeRunsRead}}
	assert.Equal(t, "scope_missing", apitest.CodeOf(t, e.Do(t, http.MethodPost, "/v1/keys", key, apitest.Cookie(bob)), http.StatusForbidden))

	// A link works once.
	assert.Equal(t, "invitation_accepted", apitest.CodeOf(t, accept(t, e, token, "carol@example.com", apitest.Password), http.StatusConflict))
	assert.Equal(t, "invitation_accepted", apitest.CodeOf(t, e.Do(t, http.MethodDelete, "/v1/invitations/"+invitation.Id.String(), nil, apitest.Cookie(owner)), http.StatusConflict))
	read := apitest.Must[contract.Invitation](t, e.Do(t, http.MethodGet, "/v1/invitations/"+invitation.Id.String(), nil, apitest.Cookie(owner)), http.StatusOK)
	assert.Equal(t, contract.InvitationStateAccepted, read.State)
	assert.Equal(t, "bob@example.com", *read.AcceptedBy)

	// One for an existing account needs its password, and keeps a stronger role.
	_, token = invite(t, e, owner, map[string]any{"workspace_id": project.WorkspaceId, "role": "member"})
	assert.Equal(t, "unauthenticated", apitest.CodeOf(t, accept(t, e, token, "BOB@example.com", "wrong password"), http.StatusUnauthorized))
	me = apitest.Must[contract.Me](t, accept(t, e, token, "BOB@example.com", apitest.Password), http.StatusOK)
	assert.Equal(t, contract.RoleMember, *me.Projects[0].Role)
	assert.Equal(t, contract.RoleViewer, *me.Organizations[0].Role)
	_, token = invite(t, e, owner, map[string]any{"workspace_id": project.WorkspaceId, "role": "viewer"})
	me = apitest.Must[contract.Me](t, e.Do(t, http.MethodPost, "/v1/invitations/_actions/join", contract.Token{Token: token}, apitest.Cookie(bob)), http.StatusOK)
	assert.Equal(t, contract.RoleMember, *me.Projects[0].Role)
	assert.Equal(t, 2, e.Count(t, "SELECT count(*) FROM users"))

	// One for an address is for no other.
	in["email"] = "dave@example.com"
	_, token = invite(t, e, owner, in)
	assert.Equal(t, "invitation_for_other", apitest.CodeOf(t, accept(t, e, token, "eve@example.com", apitest.Password), http.StatusConflict))
	assert.Equal(t, "invitation_for_other", apitest.CodeOf(t, e.Do(t, http.MethodPost, "/v1/invitations/_actions/join", contract.Token{Token: token}, apitest.Cookie(bob)), http.StatusConflict))
	require.Equal(t, http.StatusOK, accept(t, e, token, "Dave@example.com", apitest.Password).Code)
	delete(in, "email")

	// One that was revoked or has expired says so.
	revoked, token := invite(t, e, owner, in)
	for range 2 {
		require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/invitations/"+revoked.Id.String(), nil, apitest.Cookie(owner)).Code)
	}
	assert.Equal(t, "invitation_revoked", apitest.CodeOf(t, accept(t, e, token, "eve@example.com", apitest.Password), http.StatusConflict))
	in["expires_at"] = e.Clock.Now().Add(time.Hour)
	_, token = invite(t, e, owner, in)
	e.Clock.Advance(time.Hour)
	assert.Equal(t, "invitation_expired", apitest.CodeOf(t, accept(t, e, token, "eve@example.com", apitest.Password), http.StatusConflict))
	for _, at := range []time.Time{e.Clock.Now(), e.Clock.Now().Add(31 * 24 * time.Hour)} {
		in["expires_at"] = at
		apitest.Golden(t, "invitation_expiry", e.Do(t, http.MethodPost, "/v1/invitations", in, apitest.Cookie(owner)))
	}
	assert.Equal(t, "not_found", apitest.CodeOf(t, accept(t, e, "none", "eve@example.com", apitest.Password), http.StatusNotFound))
	for _, target := range []map[string]any{{}, {"organization_id": project.OrganizationId, "workspace_id": project.WorkspaceId}} {
		target["role"] = "viewer"
		apitest.Golden(t, "organization_or_workspace", e.Do(t, http.MethodPost, "/v1/invitations", target, apitest.Cookie(owner)))
	}

	of := func(query string) (states []contract.InvitationState) {
		page := apitest.Must[contract.InvitationPage](t, e.Do(t, http.MethodGet, "/v1/invitations?"+query, nil, apitest.Cookie(owner)), http.StatusOK)
		for _, i := range page.Data {
			states = append(states, i.State)
		}
		return states
	}
	assert.Equal(t, []contract.InvitationState{"expired", "revoked", "accepted", "accepted", "accepted", "accepted"}, of("organization_id="+project.OrganizationId.String()))
	assert.Equal(t, []contract.InvitationState{"accepted", "accepted"}, of("workspace_id="+project.WorkspaceId.String()))
	e.Clock.Advance(91 * 24 * time.Hour)
	owner = e.LoginAs(t, apitest.Email)
	assert.Empty(t, of("organization_id="+project.OrganizationId.String()))
	delete(in, "expires_at")
	invite(t, e, owner, in)
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM invitations"))
}

func TestConcurrentUsesOfAnInvitation(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	_, token := invite(t, e, owner, map[string]any{"organization_id": project.OrganizationId, "role": "member"})
	const callers = 50
	answers := make([]*httptest.ResponseRecorder, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() { answers[i] = accept(t, e, token, uuid.NewString()+"@example.com", apitest.Password) })
	}
	group.Wait()
	statuses := map[int]int{}
	for _, w := range answers {
		statuses[w.Code]++
	}
	assert.Equal(t, map[int]int{http.StatusOK: 1, http.StatusConflict: callers - 1}, statuses)
	assert.Equal(t, 2, e.Count(t, "SELECT count(*) FROM users"))
	assert.Equal(t, 2, e.Count(t, "SELECT count(*) FROM organization_members"))
}

func TestLastOwner(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	of := "?organization_id=" + project.OrganizationId.String()
	in := map[string]any{"organization_id": project.OrganizationId}
	path := func(email string) string { return "/v1/members/" + e.UserID(t, email).String() }
	for _, w := range []*httptest.ResponseRecorder{
		e.Do(t, http.MethodDelete, path(apitest.Email)+of, nil, apitest.Cookie(owner)),
		e.Do(t, http.MethodPut, path(apitest.Email), map[string]any{"organization_id": project.OrganizationId, "role": "admin"}, apitest.Cookie(owner)),
		e.Do(t, http.MethodPost, "/v1/me/_actions/leave", in, apitest.Cookie(owner)),
	} {
		apitest.Golden(t, "last_owner", w)
	}
	assert.Equal(t, "own_account", apitest.CodeOf(t, e.Do(t, http.MethodPost, path(apitest.Email)+"/_actions/deactivate", in, apitest.Cookie(owner)), http.StatusConflict))

	// A deactivated owner does not count.
	bob := e.AddMember(t, "bob@example.com", "owner", project.OrganizationId)
	apitest.Must[contract.Member](t, e.Do(t, http.MethodPost, path("bob@example.com")+"/_actions/deactivate", in, apitest.Cookie(owner)), http.StatusOK)
	apitest.Golden(t, "last_owner", e.Do(t, http.MethodPost, "/v1/me/_actions/leave", in, apitest.Cookie(owner)))
	apitest.Must[contract.Member](t, e.Do(t, http.MethodPost, path("bob@example.com")+"/_actions/reactivate", in, apitest.Cookie(owner)), http.StatusOK)
	assert.Equal(t, http.StatusUnauthorized, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(bob)).Code, "the session stays ended")

	// Of concurrent removals of all owners, one fails.
	sessions, emails := []string{owner}, []string{apitest.Email}
	e.Exec(t, "DELETE FROM organization_members WHERE user_id = $1", e.UserID(t, "bob@example.com"))
	for _, email := range []string{"c@example.com", "d@example.com", "e@example.com", "f@example.com"} {
		emails = append(emails, email)
		sessions = append(sessions, e.AddMember(t, email, "owner", project.OrganizationId))
	}
	var group sync.WaitGroup
	for i, session := range sessions {
		group.Go(func() {
			switch i % 3 {
			case 0:
				e.Do(t, http.MethodPost, "/v1/me/_actions/leave", in, apitest.Cookie(session))
			case 1:
				e.Do(t, http.MethodPut, "/v1/members/"+e.UserID(t, emails[i]).String(), map[string]any{"organization_id": project.OrganizationId, "role": "viewer"}, apitest.Cookie(session))
			default:
				e.Do(t, http.MethodPost, "/v1/members/"+e.UserID(t, emails[(i+1)%len(emails)]).String()+"/_actions/deactivate", in, apitest.Cookie(session))
			}
		})
	}
	group.Wait()
	assert.Positive(t, e.Count(t, `SELECT count(*) FROM organization_members m JOIN users u ON u.id = m.user_id
		WHERE m.role = 'owner' AND u.deactivated_at IS NULL AND m.organization_id = $1`, project.OrganizationId))
}

func TestMemberRoles(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	admin := e.AddMember(t, "admin@example.com", "admin", project.OrganizationId)
	viewer := e.AddMember(t, "viewer@example.com", "viewer", project.OrganizationId)
	guest := e.AddWorkspaceMember(t, "guest@example.com", "member", project.WorkspaceId)
	set := func(session, email, role string, target map[string]any) *httptest.ResponseRecorder {
		body := map[string]any{"role": role}
		for name, value := range target {
			body[name] = value
		}
		return e.Do(t, http.MethodPut, "/v1/members/"+e.UserID(t, email).String(), body, apitest.Cookie(session))
	}
	organization, workspace := map[string]any{"organization_id": project.OrganizationId}, map[string]any{"workspace_id": project.WorkspaceId}

	page := apitest.Must[contract.MemberPage](t, e.Do(t, http.MethodGet, "/v1/members?limit=10&organization_id="+project.OrganizationId.String(), nil, apitest.Cookie(viewer)), http.StatusOK)
	require.Len(t, page.Data, 4)
	assert.Equal(t, "guest@example.com", page.Data[2].Email)
	assert.Nil(t, page.Data[2].OrganizationRole)
	assert.Equal(t, contract.RoleMember, page.Data[2].Role)
	require.Len(t, page.Data[2].Workspaces, 1)
	assert.Equal(t, project.WorkspaceName, page.Data[2].Workspaces[0].WorkspaceName)
	page = apitest.Must[contract.MemberPage](t, e.Do(t, http.MethodGet, "/v1/members?limit=2&offset=2&workspace_id="+project.WorkspaceId.String(), nil, apitest.Cookie(guest)), http.StatusOK)
	require.Len(t, page.Data, 2)
	assert.False(t, page.HasMore)

	// Admins manage all but owners.
	apitest.Golden(t, "owners_only", set(admin, "viewer@example.com", "owner", organization))
	apitest.Golden(t, "owners_only", set(admin, apitest.Email, "viewer", organization))
	apitest.Golden(t, "owners_only", e.Do(t, http.MethodDelete, "/v1/members/"+e.UserID(t, apitest.Email).String()+"?organization_id="+project.OrganizationId.String(), nil, apitest.Cookie(admin)))
	apitest.Golden(t, "owners_only", e.Do(t, http.MethodPost, "/v1/invitations", map[string]any{"organization_id": project.OrganizationId, "role": "owner"}, apitest.Cookie(admin)))
	assert.Equal(t, contract.RoleMember, apitest.Must[contract.Member](t, set(admin, "viewer@example.com", "member", organization), http.StatusOK).Role)
	assert.Equal(t, contract.RoleOwner, apitest.Must[contract.Member](t, set(owner, "viewer@example.com", "owner", workspace), http.StatusOK).Role)
	assert.Equal(t, "role_of_organization", apitest.CodeOf(t, e.Do(t, http.MethodDelete, "/v1/members/"+e.UserID(t, "admin@example.com").String()+"?workspace_id="+project.WorkspaceId.String(), nil, apitest.Cookie(owner)), http.StatusConflict))
	stranger := uuid.NewString() + "@example.com"
	e.InsertUser(t, stranger)
	assert.Equal(t, "not_found", apitest.CodeOf(t, set(owner, stranger, "viewer", organization), http.StatusNotFound))

	// A role that was taken away is gone with the next request.
	apitest.Must[contract.Project](t, e.Do(t, http.MethodGet, "/v1/projects/"+project.Id.String(), nil, apitest.Cookie(guest)), http.StatusOK)
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/members/"+e.UserID(t, "guest@example.com").String()+"?organization_id="+project.OrganizationId.String(), nil, apitest.Cookie(admin)).Code)
	assert.Equal(t, "not_found", apitest.CodeOf(t, e.Do(t, http.MethodGet, "/v1/projects/"+project.Id.String(), nil, apitest.Cookie(guest)), http.StatusNotFound))
	me := apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(guest)), http.StatusOK)
	assert.Empty(t, me.Organizations)
	assert.Empty(t, me.Projects)
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodPost, "/v1/me/_actions/leave", organization, apitest.Cookie(viewer)).Code)
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM workspace_members"))
}

// Keys outlive the role of who made them: an admin sees which ones, and can revoke them with the removal.
func TestKeysOfARemovedMember(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	admin := e.AddMember(t, "admin@example.com", "admin", project.OrganizationId)
	e.Exec(t, `INSERT INTO workspace_members (workspace_id, user_id, role) VALUES ($1, $2, 'admin')`, project.WorkspaceId, e.UserID(t, "admin@example.com"))
	viewer := e.AddMember(t, "viewer@example.com", "viewer", project.OrganizationId)
	body := map[string]any{"organization_id": project.OrganizationId, "name": "Other"}
	workspace := apitest.Must[contract.Workspace](t, e.Do(t, http.MethodPost, "/v1/workspaces", body, apitest.Cookie(owner)), http.StatusCreated)
	beside := e.CreateProject(t, owner, workspace.Id, "Beside")
	ofOwner := e.Mint(t, owner, project.Id, contract.ScopeRunsRead)
	here, there := e.Mint(t, admin, project.Id, contract.ScopeRunsRead), e.Mint(t, admin, beside.Id, contract.ScopeRunsRead)
	gone := e.Mint(t, admin, project.Id, contract.ScopeRunsRead)
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/keys/"+gone.Id.String(), nil, apitest.Cookie(owner)).Code)

	member := "/v1/members/" + e.UserID(t, "admin@example.com").String()
	inOrganization, inWorkspace := "?organization_id="+project.OrganizationId.String(), "?workspace_id="+project.WorkspaceId.String()
	names := func(session, in string) (ids []uuid.UUID) {
		for _, key := range apitest.Must[contract.KeyPage](t, e.Do(t, http.MethodGet, member+"/keys"+in, nil, apitest.Cookie(session)), http.StatusOK).Data {
			ids = append(ids, key.Id)
		}
		return ids
	}
	assert.Equal(t, []uuid.UUID{there.Id, here.Id}, names(owner, inOrganization))
	assert.Equal(t, []uuid.UUID{here.Id}, names(owner, inWorkspace))
	assert.Equal(t, http.StatusForbidden, e.Do(t, http.MethodGet, member+"/keys"+inOrganization, nil, apitest.Cookie(viewer)).Code)
	e.InsertUser(t, "stranger@example.com")
	stranger := "/v1/members/" + e.UserID(t, "stranger@example.com").String() + "/keys" + inOrganization
	apitest.WantProblem(t, e.Do(t, http.MethodGet, stranger, nil, apitest.Cookie(owner)), http.StatusNotFound)

	works := func(key contract.KeyWithSecret) bool {
		return e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Bearer(key.Key)).Code == http.StatusOK
	}
	remove := func(in string) {
		require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, member+in, nil, apitest.Cookie(owner)).Code)
	}
	remove(inWorkspace + "&revoke_keys=true")
	assert.False(t, works(here))
	assert.True(t, works(there), "of another workspace")
	remove(inOrganization + "&revoke_keys=false")
	assert.True(t, works(there), "unless asked to")
	assert.True(t, works(ofOwner))
}

// TestAccountOfTwoOrganizations: an admin of one organization must not take over an account that has a role in another one.
func TestAccountOfTwoOrganizations(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	in := map[string]any{"organization_id": project.OrganizationId}
	e.AddMember(t, "bob@example.com", "owner", uuid.Nil)
	bob := "/v1/members/" + e.UserID(t, "bob@example.com").String() + "/_actions/"
	assert.Equal(t, "not_found", apitest.CodeOf(t, e.Do(t, http.MethodPost, bob+"deactivate", in, apitest.Cookie(owner)), http.StatusNotFound))
	e.Exec(t, `INSERT INTO organization_members (organization_id, user_id, role) VALUES ($1, $2, 'viewer')`, project.OrganizationId, e.UserID(t, "bob@example.com"))
	for _, action := range []string{"deactivate", "reactivate", "reset-password"} {
		apitest.Golden(t, "account_elsewhere", e.Do(t, http.MethodPost, bob+action, in, apitest.Cookie(owner)))
	}
	// Nor an admin the account of an owner.
	admin := e.AddMember(t, "admin@example.com", "admin", project.OrganizationId)
	apitest.Golden(t, "account_elsewhere", e.Do(t, http.MethodPost, "/v1/members/"+e.UserID(t, apitest.Email).String()+"/_actions/reset-password", in, apitest.Cookie(admin)))
}

func TestPasswordReset(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	bob := e.AddMember(t, "bob@example.com", "viewer", project.OrganizationId)
	member := "/v1/members/" + e.UserID(t, "bob@example.com").String() + "/_actions/"
	in := map[string]any{"organization_id": project.OrganizationId}
	create := func() string {
		reset := apitest.Must[contract.PasswordReset](t, e.Do(t, http.MethodPost, member+"reset-password", in, apitest.Cookie(owner)), http.StatusCreated)
		address, token, _ := strings.Cut(reset.Url, "#")
		require.Equal(t, "http://127.0.0.1:7090/reset-password", address)
		return token
	}
	use := func(token, password string) *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPost, "/v1/password-resets/_actions/use", contract.PasswordResetUse{Token: token, Password: password})
	}
	login := func(password string) int {
		e.Clock.Advance(time.Minute)
		return e.Do(t, http.MethodPost, "/v1/login", contract.LoginRequest{Email: "bob@example.com", Password: password}).Code
	}
	replaced, token := create(), create()
	assert.Equal(t, "not_found", apitest.CodeOf(t, use(replaced, "a new password"), http.StatusNotFound))
	preview := apitest.Must[contract.PasswordResetPreview](t, e.Do(t, http.MethodPost, "/v1/password-resets/_actions/read", contract.Token{Token: token}), http.StatusOK)
	assert.Equal(t, "bob@example.com", preview.Email)
	w := use(token, "a new password")
	apitest.Must[contract.Me](t, w, http.StatusOK)
	assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(apitest.SessionOf(t, w))).Code)
	assert.Equal(t, http.StatusUnauthorized, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(bob)).Code, "earlier sessions end")
	assert.Equal(t, "not_found", apitest.CodeOf(t, use(token, "another password"), http.StatusNotFound))
	assert.Equal(t, http.StatusUnauthorized, login(apitest.Password))
	assert.Equal(t, http.StatusOK, login("a new password"))

	expired := create()
	e.Clock.Advance(24 * time.Hour)
	assert.Equal(t, "not_found", apitest.CodeOf(t, use(expired, "another password"), http.StatusNotFound))
	owner = e.LoginAs(t, apitest.Email)

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
	apitest.Must[contract.Member](t, e.Do(t, http.MethodPost, member+"deactivate", in, apitest.Cookie(owner)), http.StatusOK)
	assert.Equal(t, "not_found", apitest.CodeOf(t, use(token, "another password"), http.StatusNotFound))
	assert.Equal(t, "account_deactivated", apitest.CodeOf(t, use(create(), "another password"), http.StatusForbidden))
}

func TestDeactivate(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	bob := e.AddMember(t, "bob@example.com", "admin", project.OrganizationId)
	key := e.Mint(t, bob, project.Id, contract.ScopeRunsRead)
	member := "/v1/members/" + e.UserID(t, "bob@example.com").String() + "/_actions/"
	in := map[string]any{"organization_id": project.OrganizationId}
	assert.NotNil(t, apitest.Must[contract.Member](t, e.Do(t, http.MethodPost, member+"deactivate", in, apitest.Cookie(owner)), http.StatusOK).DeactivatedAt)
	assert.Equal(t, http.StatusUnauthorized, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(bob)).Code)
	assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Bearer(key.Key)).Code, "keys stay")
	login := contract.LoginRequest{Email: "bob@example.com", Password: apitest.Password}
	apitest.Golden(t, "account_deactivated", e.Do(t, http.MethodPost, "/v1/login", login))
	login.Password = "wrong password"
	assert.Equal(t, "unauthenticated", apitest.CodeOf(t, e.Do(t, http.MethodPost, "/v1/login", login), http.StatusUnauthorized), "who guesses learns nothing")
	assert.Nil(t, apitest.Must[contract.Member](t, e.Do(t, http.MethodPost, member+"reactivate", in, apitest.Cookie(owner)), http.StatusOK).DeactivatedAt)
	e.LoginAs(t, "bob@example.com")
}

func TestStreamEndsWithTheRole(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	owner, project := e.SetUp(t)
	sessions := map[string]string{}
	for _, name := range []string{"removed", "deactivated"} {
		sessions[name] = e.AddMember(t, name+"@example.com", "viewer", project.OrganizationId)
	}
	server := httptest.NewServer(e.API)
	t.Cleanup(server.Close)
	streams := map[string]*apitest.Stream{}
	for name, session := range sessions {
		streams[name] = apitest.OpenStream(t, server.URL+"/v1/runs/stream?project_id="+project.Id.String(), apitest.Cookie(session))
		require.Equal(t, "ready", streams[name].Next(t).Name)
	}
	removed, deactivated := e.UserID(t, "removed@example.com").String(), e.UserID(t, "deactivated@example.com").String()
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/members/"+removed+"?organization_id="+project.OrganizationId.String(), nil, apitest.Cookie(owner)).Code)
	require.Equal(t, http.StatusOK, e.Do(t, http.MethodPost, "/v1/members/"+deactivated+"/_actions/deactivate", map[string]any{"organization_id": project.OrganizationId}, apitest.Cookie(owner)).Code)
	for name, code := range map[string]string{"removed": "not_found", "deactivated": "unauthenticated"} {
		end := streams[name].Next(t)
		assert.Equal(t, "end", end.Name)
		assert.Contains(t, end.Data, `"code":"`+code+`"`)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	first, _ := e.SetUp(t)
	agent := apitest.Header("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0")
	second := apitest.SessionOf(t, e.Login(t, apitest.Password, agent))
	third := apitest.SessionOf(t, e.Login(t, apitest.Password))
	sessions := func(as string) []contract.Session {
		return apitest.Must[contract.SessionList](t, e.Do(t, http.MethodGet, "/v1/me/sessions", nil, apitest.Cookie(as)), http.StatusOK).Data
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
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/me/sessions/"+firefox.Id.String(), nil, apitest.Cookie(first)).Code)
	assert.Equal(t, "not_found", apitest.CodeOf(t, e.Do(t, http.MethodDelete, "/v1/me/sessions/"+firefox.Id.String(), nil, apitest.Cookie(first)), http.StatusNotFound))
	assert.Equal(t, http.StatusUnauthorized, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(second)).Code)
	assert.Len(t, sessions(first), 2)
	ended := apitest.Must[contract.EndedSessions](t, e.Do(t, http.MethodPost, "/v1/me/sessions/_actions/end-others", nil, apitest.Cookie(first)), http.StatusOK)
	assert.Equal(t, int64(1), ended.Ended)
	assert.Equal(t, http.StatusUnauthorized, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(third)).Code)
	assert.Len(t, sessions(first), 1)
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, _ := e.SetUp(t)
	other := apitest.SessionOf(t, e.Login(t, apitest.Password))
	change := func(current, replacement string) *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPost, "/v1/me/_actions/change-password", contract.PasswordChange{CurrentPassword: current, NewPassword: replacement}, apitest.Cookie(session))
	}
	apitest.Golden(t, "wrong_current_password", change("wrong password", "a new password"))
	assert.Equal(t, "validation_failed", apitest.CodeOf(t, change(apitest.Password, "short"), http.StatusUnprocessableEntity))
	require.Equal(t, http.StatusNoContent, change(apitest.Password, "a new password").Code)
	assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(session)).Code)
	assert.Equal(t, http.StatusUnauthorized, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(other)).Code)
	assert.Equal(t, http.StatusUnauthorized, e.Login(t, apitest.Password).Code)
	assert.Equal(t, http.StatusOK, e.Login(t, "a new password").Code)
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
	e := apitest.NewOn(t, engines.Postgres(t), address)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	apitest.StoreRun(t, address, project.Id)
	e.Mint(t, owner, project.Id, contract.ScopeRunsRead)
	first := "/v1/organizations/" + project.OrganizationId.String()
	apitest.Golden(t, "last_organization", e.Do(t, http.MethodDelete, first+"?confirm=Example", nil, as))

	created := apitest.Must[contract.Organization](t, e.Do(t, http.MethodPost, "/v1/organizations", contract.OrganizationWrite{Name: " Second "}, as), http.StatusCreated)
	assert.Equal(t, "Second", created.Name)
	assert.Equal(t, contract.RoleOwner, *created.Role)
	me := apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, as), http.StatusOK)
	require.Len(t, me.Organizations, 2)
	assert.Len(t, me.Organizations[1].Workspaces, 1)
	assert.Len(t, me.Projects, 2)
	renamed := apitest.Must[contract.Organization](t, e.Do(t, http.MethodPatch, first, contract.OrganizationWrite{Name: "First"}, as), http.StatusOK)
	assert.Equal(t, "First", renamed.Name)

	workspace := apitest.Must[contract.Workspace](t, e.Do(t, http.MethodPost, "/v1/workspaces", contract.WorkspaceCreate{OrganizationId: project.OrganizationId, Name: "Team"}, as), http.StatusCreated)
	assert.Equal(t, "name_taken", apitest.CodeOf(t, e.Do(t, http.MethodPost, "/v1/workspaces", contract.WorkspaceCreate{OrganizationId: project.OrganizationId, Name: "Team"}, as), http.StatusConflict))
	assert.Equal(t, "name_taken", apitest.CodeOf(t, e.Do(t, http.MethodPatch, "/v1/workspaces/"+workspace.Id.String(), contract.WorkspaceUpdate{Name: project.WorkspaceName}, as), http.StatusConflict))
	list := apitest.Must[contract.WorkspacePage](t, e.Do(t, http.MethodGet, "/v1/workspaces?organization_id="+project.OrganizationId.String(), nil, as), http.StatusOK)
	assert.Len(t, list.Data, 2)
	team := e.CreateProject(t, owner, workspace.Id, "Team project")
	guest := e.AddWorkspaceMember(t, "guest@example.com", "owner", workspace.Id)
	guestMe := apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(guest)), http.StatusOK)
	require.Len(t, guestMe.Organizations, 1)
	assert.Nil(t, guestMe.Organizations[0].Role)
	assert.Len(t, guestMe.Organizations[0].Workspaces, 1)
	assert.Len(t, guestMe.Projects, 1)

	contents := func(path string) contract.Contents {
		return apitest.Must[contract.Contents](t, e.Do(t, http.MethodGet, path+"/contents", nil, as), http.StatusOK)
	}
	assert.Equal(t, contract.Contents{Name: "First", Workspaces: 2, Projects: 2, Keys: 1, Members: 2, Runs: 1}, contents(first))
	assert.Equal(t, contract.Contents{Name: "Team", Workspaces: 1, Projects: 1, Members: 1}, contents("/v1/workspaces/"+workspace.Id.String()))
	assert.Equal(t, contract.Contents{Name: "Default", Projects: 1, Keys: 1, Runs: 1}, contents("/v1/projects/"+project.Id.String()))

	apitest.Golden(t, "confirm", e.Do(t, http.MethodDelete, "/v1/workspaces/"+workspace.Id.String()+"?confirm=team", nil, as))
	apitest.Golden(t, "confirm", e.Do(t, http.MethodDelete, "/v1/workspaces/"+workspace.Id.String(), nil, as))
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/workspaces/"+workspace.Id.String()+"?confirm=Team", nil, apitest.Cookie(guest)).Code)
	assert.Equal(t, "not_found", apitest.CodeOf(t, e.Do(t, http.MethodGet, "/v1/projects/"+team.Id.String(), nil, as), http.StatusNotFound))
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, first+"?confirm=First", nil, as).Code)
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM projects"))
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM api_keys"))
	assert.Equal(t, 2, e.Count(t, "SELECT count(*) FROM deleted_projects"))
}

// TestDeletedProjectIsPurged: the runs of a deleted project go from ClickHouse, also those that were queued at the deletion.
func TestDeletedProjectIsPurged(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	owner, project := e.SetUp(t)
	sibling := e.CreateProject(t, owner, project.WorkspaceId, "Sibling")
	apitest.StoreRun(t, address, project.Id)
	kept := apitest.StoreRun(t, address, sibling.Id)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	rows := func(table string, project uuid.UUID) (n uint64) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM "+table+" WHERE project_id = ?", project).Scan(&n))
		return n
	}
	key := e.Mint(t, owner, project.Id, contract.ScopeRunsRead)
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/projects/"+project.Id.String()+"?confirm=Default", nil, apitest.Cookie(owner)).Code)
	assert.Equal(t, http.StatusUnauthorized, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Bearer(key.Key)).Code)

	for _, delay := range []time.Duration{time.Minute, time.Hour, 7 * 24 * time.Hour} {
		e.Clock.Advance(delay)
		require.NoError(t, e.Projects.Purge(t.Context(), e.Runs.DeleteProject))
		for _, table := range []string{"spans", "runs", "run_bounds", "contents", "shared_contents", "scores"} {
			assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.Zero(c, rows(table, project.Id), table) }, 20*time.Second, 50*time.Millisecond)
		}
		apitest.StoreRun(t, address, project.Id) // late
		require.NoError(t, e.Projects.Purge(t.Context(), e.Runs.DeleteProject))
		assert.NotZero(t, rows("spans", project.Id), "it is not due")
	}
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM deleted_projects"))
	apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+kept.String(), nil, apitest.Cookie(e.LoginAs(t, apitest.Email))), http.StatusOK)
}

// TestWeakPasswordsAreRefused wherever an account gets a password.
func TestWeakPasswordsAreRefused(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	refused := func(field string, w *httptest.ResponseRecorder) {
		t.Helper()
		problem := apitest.WantProblem(t, w, http.StatusUnprocessableEntity)
		require.Len(t, *problem.Errors, 1)
		assert.Equal(t, field, (*problem.Errors)[0].Location)
		assert.Contains(t, (*problem.Errors)[0].Message, "too easy to guess")
	}
	refused("body.password", e.Do(t, http.MethodPost, "/v1/setup", contract.SetupRequest{Email: apitest.Email, Password: "password1234", OrgName: "Example"}))
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	refused("body.new_password", e.Do(t, http.MethodPost, "/v1/me/_actions/change-password", contract.PasswordChange{CurrentPassword: apitest.Password, NewPassword: apitest.Email}, as))

	invited := apitest.Must[contract.InvitationWithLink](t, e.Do(t, http.MethodPost, "/v1/invitations",
		contract.InvitationCreate{OrganizationId: &project.OrganizationId, Role: contract.RoleViewer}, as), http.StatusCreated)
	_, token, _ := strings.Cut(invited.Url, "#")
	accept := contract.InvitationAccept{Token: token, Email: "bob@example.com", Password: "bob@example.com"}
	refused("body.password", e.Do(t, http.MethodPost, "/v1/invitations/_actions/accept", accept))
	accept.Password = apitest.Password
	apitest.Must[contract.Me](t, e.Do(t, http.MethodPost, "/v1/invitations/_actions/accept", accept), http.StatusOK)

	reset := apitest.Must[contract.PasswordReset](t, e.Do(t, http.MethodPost,
		"/v1/members/"+e.UserID(t, "bob@example.com").String()+"/_actions/reset-password", map[string]any{"organization_id": project.OrganizationId}, as), http.StatusCreated)
	_, token, _ = strings.Cut(reset.Url, "#")
	refused("body.password", e.Do(t, http.MethodPost, "/v1/password-resets/_actions/use", map[string]string{"token": token, "password": "123456789012"}))
}
