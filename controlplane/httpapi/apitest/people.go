package apitest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

const (
	// Email is that of the first user.
	Email = "ann@example.com"
	// Password is that of all users.
	Password = "correct horse battery"
)

// SessionOf returns the token of the session that an answer begins. A browser gets a second cookie.
func SessionOf(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	cookies := w.Result().Cookies()
	require.NotEmpty(t, cookies, w.Body.String())
	return cookies[0].Value
}

// SetUp makes the first user, and returns its session and its project.
func (e *Env) SetUp(t *testing.T) (session string, project contract.ProjectAccess) {
	t.Helper()
	w := e.Do(t, http.MethodPost, "/v1/setup", contract.SetupRequest{Email: Email, Password: Password, OrgName: "Example"})
	me := Must[contract.Me](t, w, http.StatusCreated)
	require.Len(t, me.Projects, 1)
	return SessionOf(t, w), me.Projects[0]
}

// Login logs the first user in, with any password.
func (e *Env) Login(t *testing.T, password string, options ...Option) *httptest.ResponseRecorder {
	t.Helper()
	return e.Do(t, http.MethodPost, "/v1/login", contract.LoginRequest{Email: Email, Password: password}, options...)
}

// Mint makes an API key of a project.
func (e *Env) Mint(t *testing.T, session string, project uuid.UUID, scopes ...contract.Scope) contract.KeyWithSecret {
	t.Helper()
	w := e.Do(t, http.MethodPost, "/v1/keys", contract.KeyCreate{ProjectId: project, Name: "test", Scopes: scopes}, Cookie(session))
	return Must[contract.KeyWithSecret](t, w, http.StatusCreated)
}

// CreateProject creates a project in a workspace.
func (e *Env) CreateProject(t *testing.T, session string, workspace uuid.UUID, name string) contract.Project {
	t.Helper()
	w := e.Do(t, http.MethodPost, "/v1/projects", contract.ProjectCreate{WorkspaceId: workspace, Name: name}, Cookie(session))
	return Must[contract.Project](t, w, http.StatusCreated)
}

// AddProjects adds n projects to the workspace of the first one.
func (e *Env) AddProjects(t *testing.T, n int) {
	t.Helper()
	e.Exec(t, `INSERT INTO projects (workspace_id, name)
		SELECT p.workspace_id, 'project ' || i FROM (SELECT workspace_id FROM projects ORDER BY created_at, id LIMIT 1) AS p, generate_series(1, $1::int) AS i`, n)
}

// InsertUser makes a user without a role. All test users have the first user's password.
func (e *Env) InsertUser(t *testing.T, email string) {
	t.Helper()
	e.Exec(t, `INSERT INTO users (email, password_hash) SELECT $1, password_hash FROM users WHERE email = $2`, email, Email)
}

// AddMember makes a user with a role in the organization and a session, without an invitation. Without
// an organization it gets one of its own, with a workspace and a project.
func (e *Env) AddMember(t *testing.T, email, role string, organization uuid.UUID) (session string) {
	t.Helper()
	if organization == uuid.Nil {
		organization = uuid.New()
		e.Exec(t, `INSERT INTO organizations (id, name) VALUES ($1, 'Other')`, organization)
		e.Exec(t, `WITH w AS (INSERT INTO workspaces (organization_id, name) VALUES ($1, 'Other') RETURNING id)
			INSERT INTO projects (workspace_id, name) SELECT id, 'Other' FROM w`, organization)
	}
	e.InsertUser(t, email)
	e.Exec(t, `INSERT INTO organization_members (organization_id, user_id, role) VALUES ($1, $2, $3)`, organization, e.UserID(t, email), role)
	return e.LoginAs(t, email)
}

// AddWorkspaceMember makes a user with a role in the workspace only, and a session.
func (e *Env) AddWorkspaceMember(t *testing.T, email, role string, workspace uuid.UUID) (session string) {
	t.Helper()
	e.InsertUser(t, email)
	e.Exec(t, `INSERT INTO workspace_members (workspace_id, user_id, role) VALUES ($1, $2, $3)`, workspace, e.UserID(t, email), role)
	return e.LoginAs(t, email)
}

// LoginAs makes a session of a user.
func (e *Env) LoginAs(t *testing.T, email string) (session string) {
	t.Helper()
	w := e.Do(t, http.MethodPost, "/v1/login", contract.LoginRequest{Email: email, Password: Password})
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	return SessionOf(t, w)
}

// UserID returns the id of a user.
func (e *Env) UserID(t *testing.T, email string) (id uuid.UUID) {
	t.Helper()
	require.NoError(t, e.DB.QueryRow(t.Context(), "SELECT id FROM users WHERE email = $1", email).Scan(&id))
	return id
}
