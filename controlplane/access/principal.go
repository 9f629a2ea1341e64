// Package access decides who may do what. It reads what each operation needs from the OpenAPI document, checks it once before
// the operation, for REST and MCP alike, and makes the [Grant] that services ask for: it names the projects, and nothing else
// can make one.
package access

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/problem"
)

// Role is what a user is in an organization or a workspace.
type Role string

// The roles, strongest first.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
	RoleViewer Role = "viewer"
)

// weakestFirst has the empty role, which is none, below all.
var weakestFirst = []Role{"", RoleViewer, RoleMember, RoleAdmin, RoleOwner}

func (r Role) atLeast(other Role) bool {
	return slices.Index(weakestFirst, r) >= slices.Index(weakestFirst, other)
}

// Strongest returns the stronger of two roles.
func Strongest(a, b Role) Role {
	if a.atLeast(b) {
		return a
	}
	return b
}

// Scopes are what a role allows in a project.
func (r Role) Scopes() []string {
	switch r {
	case RoleOwner, RoleAdmin:
		return apikey.Scopes()
	case RoleMember:
		return slices.DeleteFunc(apikey.Scopes(), func(s string) bool { return s == apikey.ScopeAdmin })
	case RoleViewer:
		return []string{
			apikey.ScopeRunsRead, apikey.ScopeDatasetsRead, apikey.ScopePromptsRead,
			apikey.ScopeEvalsRead, apikey.ScopeReplaysRead,
		}
	default:
		return nil
	}
}

// User is a person with a password.
type User struct {
	ID        uuid.UUID
	Email     string
	CreatedAt time.Time
}

// Key describes a key of a project. It does not hold the secret.
type Key struct {
	ID         uuid.UUID
	ProjectID  uuid.UUID
	Name       string
	PublicID   string
	Scopes     []string
	CreatedAt  time.Time
	LastUsedAt *time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
}

// Workspace is a workspace in which a principal is somebody.
type Workspace struct {
	ID               uuid.UUID
	Name             string
	OrganizationID   uuid.UUID
	OrganizationName string
	// Role is empty for a key.
	Role Role
}

// Project is a project that a principal sees, and what it may do there.
type Project struct {
	ID        uuid.UUID
	Name      string
	Workspace Workspace
	Scopes    []string
}

// Principal is who calls: a user through a session, or a key.
type Principal struct {
	// User is nil for a key.
	User *User
	// Key is nil for a session.
	Key *Key
	// Workspaces are those of the user, also without a project, or the key's.
	Workspaces []Workspace
	// Projects are all that the principal sees.
	Projects []Project
}

// ID tells users and keys apart, of which each has one.
func (p *Principal) ID() string {
	if p.User != nil {
		return "user " + p.User.ID.String()
	}
	return "key " + p.Key.ID.String()
}

// In grants the scopes in one project. It is [problem.NotFound] where the principal does not see the project, and
// [problem.Forbidden] where it lacks a scope.
func (p *Principal) In(project uuid.UUID, scopes ...string) (Grant, error) {
	i := slices.IndexFunc(p.Projects, func(seen Project) bool { return seen.ID == project })
	if i < 0 {
		return Grant{}, problem.Missing()
	}
	if lacking := p.Projects[i].lacks(scopes); lacking != "" {
		return Grant{}, p.lacking(lacking)
	}
	return Grant{Principal: p, Projects: Projects{[]uuid.UUID{project}}}, nil
}

// Everywhere grants the scopes in all projects in which the principal has them. It is [problem.Forbidden] where that is none,
// unless no scope is asked for.
func (p *Principal) Everywhere(scopes ...string) (Grant, error) {
	g := Grant{Principal: p}
	for i := range p.Projects {
		if p.Projects[i].lacks(scopes) == "" {
			g.ids = append(g.ids, p.Projects[i].ID)
		}
	}
	if len(g.ids) == 0 && len(scopes) > 0 {
		return Grant{}, p.lacking(scopes[0])
	}
	return g, nil
}

// inWorkspace grants what a role may do in a workspace. It names no projects.
func (p *Principal) inWorkspace(workspace uuid.UUID, role Role) (Grant, error) {
	i := slices.IndexFunc(p.Workspaces, func(w Workspace) bool { return w.ID == workspace })
	if i < 0 {
		return Grant{}, problem.Missing()
	}
	if !p.Workspaces[i].Role.atLeast(role) {
		return Grant{}, forbidden("This needs a user with the role " + string(role) + " in the workspace.")
	}
	return Grant{Principal: p, Workspace: workspace}, nil
}

// lacks returns the first of the scopes that the principal does not have in the project, or nothing.
func (p *Project) lacks(scopes []string) string {
	for _, scope := range scopes {
		if !apikey.Allows(p.Scopes, scope) {
			return scope
		}
	}
	return ""
}

func (p *Principal) lacking(scope string) *problem.Error {
	if p.Key != nil {
		return forbidden("This key lacks the scope " + scope + ".")
	}
	return forbidden("Your role in the workspace lacks the scope " + scope + ".")
}

func forbidden(detail string) *problem.Error {
	return &problem.Error{Kind: problem.Forbidden, Code: "scope_missing", Detail: detail}
}
