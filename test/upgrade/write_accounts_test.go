package upgrade

import (
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"
)

const (
	ownerEmail, memberEmail, leaverEmail, goneEmail = "first@example.com", "second@example.com", "leaver@example.com", "gone@example.com"
	firstPassword                                   = "correct horse battery staple"
	secondPassword                                  = "plum gravel otter kiln"
)

// writeAccounts sets up the product, and writes organizations, workspaces, projects and people.
func (w *writer) writeAccounts() {
	w.caller.get("/v1/setup")
	w.caller.do(http.MethodPost, "/v1/setup", object{"email": ownerEmail, "password": secondPassword, "org_name": "Example"})
	w.owner = w.login(ownerEmail, secondPassword)
	w.owner.do(http.MethodPost, "/v1/me/_actions/change-password", object{"current_password": secondPassword, "new_password": firstPassword})
	w.owner = w.login(ownerEmail, firstPassword)
	w.record.Users = append(w.record.Users, user{Email: ownerEmail, Password: firstPassword})

	me := w.owner.get("/v1/me")
	w.organization, _ = at(w.t, me, "organizations", 0, "id").(string)
	w.owner.do(http.MethodPatch, "/v1/organizations/"+w.organization, object{"name": "Example & Söhne"})
	w.workspace = w.owner.create("/v1/workspaces", object{"organization_id": w.organization, "name": "Agents"})
	w.owner.do(http.MethodPatch, "/v1/workspaces/"+w.workspace, object{"name": "Agents 東京"})
	w.project = w.owner.create("/v1/projects", object{"workspace_id": w.workspace, "name": "Support"})
	w.record.ProjectID = w.project
	w.owner.do(http.MethodPatch, "/v1/projects/"+w.project, object{"name": "Support desk"})
	w.owner.do(http.MethodPut, "/v1/projects/"+w.project+"/limits", object{"project": object{"spans": object{"rate": 5000, "burst": 20000}}})
	w.deleteContainers()
	w.invite()
	w.reads("/v1/organizations", "/v1/organizations/"+w.organization, "/v1/workspaces", "/v1/workspaces/"+w.workspace, "/v1/projects", "/v1/projects/"+w.project,
		"/v1/projects/"+w.project+"/limits", "/v1/projects/"+w.project+"/contents", "/v1/workspaces/"+w.workspace+"/contents",
		"/v1/organizations/"+w.organization+"/contents", "/v1/members?organization_id="+w.organization, "/v1/members?workspace_id="+w.workspace, "/v1/me")
}

// deleteContainers deletes an organization, a workspace and a project.
func (w *writer) deleteContainers() {
	project := w.owner.create("/v1/projects", object{"workspace_id": w.workspace, "name": "Old"})
	w.owner.do(http.MethodDelete, "/v1/projects/"+project+"?confirm=Old", nil)
	workspace := w.owner.create("/v1/workspaces", object{"organization_id": w.organization, "name": "Old"})
	w.owner.do(http.MethodDelete, "/v1/workspaces/"+workspace+"?confirm=Old", nil)
	organization := w.owner.create("/v1/organizations", object{"name": "Old"})
	w.owner.do(http.MethodDelete, "/v1/organizations/"+organization+"?confirm=Old", nil)
}

// invite invites people: one accepts and gets a new password, one joins and leaves, one is deactivated, two do not come.
func (w *writer) invite() {
	accept := func(email, role string) (id string) {
		w.caller.do(http.MethodPost, "/v1/invitations/_actions/accept", object{"token": w.invitation(email, object{"organization_id": w.organization, "role": role}), "email": email, "password": firstPassword})
		for _, member := range at(w.t, w.owner.get("/v1/members?organization_id="+w.organization), "data").([]any) {
			if at(w.t, member, "email") == email {
				return at(w.t, member, "user_id").(string)
			}
		}
		require.FailNow(w.t, "no member", email)
		return ""
	}
	member := accept(memberEmail, "viewer")
	w.owner.do(http.MethodPut, "/v1/members/"+member, object{"workspace_id": w.workspace, "role": "member"})
	reset := w.owner.post("/v1/members/"+member+"/_actions/reset-password", object{"organization_id": w.organization})
	token := afterHash(reset)
	w.caller.do(http.MethodPost, "/v1/password-resets/_actions/read", object{"token": token})
	w.caller.do(http.MethodPost, "/v1/password-resets/_actions/use", object{"token": token, "password": secondPassword})
	w.owner.do(http.MethodPost, "/v1/members/"+member+"/_actions/reset-password", object{"organization_id": w.organization}) // not used: the password stays
	w.record.Users = append(w.record.Users, user{Email: memberEmail, Password: secondPassword})

	leaver := accept(leaverEmail, "member")
	link := w.invitation("", object{"workspace_id": w.workspace, "role": "viewer"})
	w.caller.do(http.MethodPost, "/v1/invitations/_actions/read", object{"token": link})
	as := w.login(leaverEmail, firstPassword)
	as.do(http.MethodPost, "/v1/invitations/_actions/join", object{"token": link})
	as.do(http.MethodPost, "/v1/me/_actions/leave", object{"workspace_id": w.workspace})
	w.owner.do(http.MethodDelete, "/v1/members/"+leaver+"?organization_id="+w.organization, nil)
	w.record.Users = append(w.record.Users, user{Email: leaverEmail, Password: firstPassword})

	gone := accept(goneEmail, "admin")
	w.owner.do(http.MethodPost, "/v1/members/"+gone+"/_actions/deactivate", object{"organization_id": w.organization})
	w.owner.do(http.MethodPost, "/v1/members/"+gone+"/_actions/reactivate", object{"organization_id": w.organization})
	w.owner.do(http.MethodPost, "/v1/members/"+gone+"/_actions/deactivate", object{"organization_id": w.organization})
	w.record.Users = append(w.record.Users, user{Email: goneEmail, Password: firstPassword, Refused: "account_deactivated"})

	w.invitation("late@example.com", object{"organization_id": w.organization, "role": "viewer"})
	w.invitation("never@example.com", object{"organization_id": w.organization, "role": "viewer"})
	for _, invitation := range at(w.t, w.owner.get("/v1/invitations?organization_id="+w.organization), "data").([]any) {
		path := "/v1/invitations/" + at(w.t, invitation, "id").(string)
		if at(w.t, invitation, "email") == "never@example.com" {
			w.owner.do(http.MethodDelete, path, nil)
		}
		w.owner.get(path)
	}
}

// invitation invites somebody and returns the token of the link.
func (w *writer) invitation(email string, to object) string {
	if email != "" {
		to["email"] = email
	}
	return afterHash(w.owner.post("/v1/invitations", to))
}

func afterHash(created object) string {
	url, _ := created["url"].(string)
	_, token, _ := strings.Cut(url, "#")
	return token
}

func (w *writer) login(email, password string) caller {
	return w.caller.session(w.caller.do(http.MethodPost, "/v1/login", object{"email": email, "password": password}))
}

// closeAccounts ends sessions.
func (w *writer) closeAccounts() {
	w.login(ownerEmail, firstPassword).do(http.MethodPost, "/v1/logout", nil)
	w.login(ownerEmail, firstPassword)
	for _, session := range at(w.t, w.owner.get("/v1/me/sessions"), "data").([]any) {
		if at(w.t, session, "current") == false {
			w.owner.do(http.MethodDelete, "/v1/me/sessions/"+at(w.t, session, "id").(string), nil)
			break
		}
	}
	w.owner.do(http.MethodPost, "/v1/me/sessions/_actions/end-others", nil)
}

// writeKeys makes keys of the project.
func (w *writer) writeKeys() {
	mint := func(name string, more object, scopes ...string) (id, key string) {
		body := object{"project_id": w.project, "name": name, "scopes": scopes}
		for member, value := range more {
			body[member] = value
		}
		minted := w.owner.post("/v1/keys", body)
		id, _ = minted["id"].(string)
		key, _ = minted["key"].(string)
		w.reads("/v1/keys/" + id)
		return id, key
	}
	keys := &w.record.Keys
	_, keys.Admin = mint("admin", nil, "admin")
	_, keys.Ingest = mint("ingest", nil, "ingest:write")
	_, keys.Reader = mint("reader", object{"expires_at": "2250-12-31T00:00:00Z"}, "runs:read", "datasets:read", "prompts:read", "evals:read", "replays:read")
	id, _ := mint("rotated", nil, "runs:read", "completions:write")
	w.owner.do(http.MethodPost, "/v1/keys/"+id+"/_actions/rotate", nil)
	id, keys.Revoked = mint("revoked", nil, "admin")
	w.owner.do(http.MethodDelete, "/v1/keys/"+id, nil)
	w.key, w.ingest = w.caller.key(keys.Admin), w.caller.key(keys.Ingest)
	w.reads("/v1/keys?project_id=" + w.project)
}

// writeViews saves views.
func (w *writer) writeViews() {
	path := "/v1/projects/" + w.project + "/views"
	view := w.owner.create(path, object{"page": "runs", "name": "Failed", "query": "outcome=failed"})
	w.owner.do(http.MethodPatch, path+"/"+view, object{"name": "Failed runs", "query": "outcome=failed&environment=production"})
	w.owner.do(http.MethodPost, path, object{"page": "failures", "name": "Muted", "query": "state=muted"})
	w.owner.do(http.MethodDelete, path+"/"+w.owner.create(path, object{"page": "threads", "name": "Old", "query": ""}), nil)
	w.reads(path)
}
