// Package access authorizes operations of REST and MCP. It reads the requirements of each operation from the OpenAPI
// document and checks them before the operation. The result is a [Grant] with the permitted projects, which services
// require and only this package can create.
package access

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/problem"
)

// Role is the role of a user in an organization or workspace.
type Role string

// The roles, strongest first.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
	RoleViewer Role = "viewer"
)

// weakestFirst begins with the empty role, which means no role.
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

// Scopes returns the scopes that a role has in a project.
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

// User is a user account.
type User struct {
	ID        uuid.UUID
	Email     string
	CreatedAt time.Time
}

// Key describes a project key. It does not contain the secret.
type Key struct {
	ID        uuid.UUID
	ProjectID uuid.UUID
	Name      string
	PublicID  string
	Scopes    []string
	CreatedAt time.Time
	// CreatedBy is the email address of the user who created it, nil for another key and a deleted account.
	CreatedBy  *string
	LastUsedAt *time.Time
	// LastUsedIP is the address of that use.
	LastUsedIP *string `db:"last_used_ip"`
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
}

// Organization is an organization that a principal belongs to.
type Organization struct {
	ID   uuid.UUID
	Name string
	// Role is empty for a key and for a user who only belongs to a workspace of the organization.
	Role Role
}

// Workspace is a workspace that a principal has access to.
type Workspace struct {
	ID               uuid.UUID
	Name             string
	OrganizationID   uuid.UUID
	OrganizationName string
	// Role is empty for a key.
	Role Role
}

// Project is a project that a principal has access to, with its scopes there.
type Project struct {
	ID   uuid.UUID
	Name string
	// Sample is whether it has the samples that Looptrace loads.
	Sample    bool
	Workspace Workspace
	Scopes    []string
}

// Principal is an authenticated user or key.
type Principal struct {
	// User is nil for a key.
	User *User
	// Key is nil for a session.
	Key *Key
	// Organizations are the organizations of the user, including those without workspaces, or the one of the key.
	Organizations []Organization
	// Workspaces are the workspaces of the user, including those without projects, or the workspace of the key.
	Workspaces []Workspace
	// Projects are all projects that the principal has access to.
	Projects []Project
}

// ID returns a string that is unique among users and keys.
func (p *Principal) ID() string {
	if p.User != nil {
		return "user " + p.User.ID.String()
	}
	return "key " + p.Key.ID.String()
}

// OrganizationRole returns the principal's own role in an organization, empty if it has none.
func (p *Principal) OrganizationRole(organization uuid.UUID) Role {
	if i := slices.IndexFunc(p.Organizations, func(o Organization) bool { return o.ID == organization }); i >= 0 {
		return p.Organizations[i].Role
	}
	return ""
}

// WorkspaceRole returns the principal's role in a workspace, empty if it has none.
func (p *Principal) WorkspaceRole(workspace uuid.UUID) Role {
	if i := slices.IndexFunc(p.Workspaces, func(w Workspace) bool { return w.ID == workspace }); i >= 0 {
		return p.Workspaces[i].Role
	}
	return ""
}

// In grants the scopes in one project. It returns [problem.NotFound] if the principal has no access to the project, and
// [problem.Forbidden] if it lacks a scope.
func (p *Principal) In(project uuid.UUID, scopes ...string) (Grant, error) {
	i := slices.IndexFunc(p.Projects, func(seen Project) bool { return seen.ID == project })
	if i < 0 {
		return Grant{}, problem.Missing()
	}
	if lacking := p.Projects[i].lacks(scopes); lacking != "" {
		return Grant{}, p.lacking(lacking)
	}
	return Grant{Principal: p, Target: Target{Project: project}, Projects: Projects{[]uuid.UUID{project}}}, nil
}

// Everywhere grants the scopes in all projects in which the principal has them. It returns [problem.Forbidden] if there
// is no such project, unless scopes is empty.
func (p *Principal) Everywhere(scopes ...string) (Grant, error) {
	g := Grant{Principal: p}
	for i := range p.Projects {
		if p.Projects[i].lacks(scopes) == "" {
			g.ids = append(g.ids, p.Projects[i].ID)
		}
	}
	if len(g.ids) == 0 && len(scopes) > 0 {
		lacking := scopes[0]
		if len(p.Projects) > 0 {
			lacking = p.Projects[0].lacks(scopes)
		}
		return Grant{}, p.lacking(lacking)
	}
	return g, nil
}

// withRole grants a role in the target, with the projects there. The role in a project is that in its workspace. Without
// a target it grants the role in all organizations and workspaces in which the principal has it, without projects, and
// returns [problem.Forbidden] if there are none.
func (p *Principal) withRole(target Target, role Role) (Grant, error) {
	switch {
	case target.Project != uuid.Nil:
		i := slices.IndexFunc(p.Projects, func(project Project) bool { return project.ID == target.Project })
		if i < 0 {
			return Grant{}, problem.Missing()
		}
		if !p.Projects[i].Workspace.Role.atLeast(role) {
			return Grant{}, lackingRole(role, "in the project's workspace")
		}
		return Grant{Principal: p, Target: target, Projects: Projects{[]uuid.UUID{target.Project}}}, nil
	case target.Workspace != uuid.Nil:
		i := slices.IndexFunc(p.Workspaces, func(w Workspace) bool { return w.ID == target.Workspace })
		if i < 0 {
			return Grant{}, problem.Missing()
		}
		if !p.Workspaces[i].Role.atLeast(role) {
			return Grant{}, lackingRole(role, "in the workspace")
		}
		return Grant{Principal: p, Target: target, Projects: p.projectsIn(func(w *Workspace) bool { return w.ID == target.Workspace })}, nil
	case target.Organization != uuid.Nil:
		i := slices.IndexFunc(p.Organizations, func(o Organization) bool { return o.ID == target.Organization })
		if i < 0 {
			return Grant{}, problem.Missing()
		}
		if !p.Organizations[i].Role.atLeast(role) {
			return Grant{}, lackingRole(role, "in the organization")
		}
		return Grant{Principal: p, Target: target, Projects: p.projectsIn(func(w *Workspace) bool { return w.OrganizationID == target.Organization })}, nil
	}
	g := Grant{Principal: p}
	for _, o := range p.Organizations {
		if o.Role.atLeast(role) {
			g.organizations = append(g.organizations, o.ID)
		}
	}
	for i := range p.Workspaces {
		if p.Workspaces[i].Role.atLeast(role) {
			g.workspaces = append(g.workspaces, p.Workspaces[i].ID)
		}
	}
	if len(g.organizations) == 0 && len(g.workspaces) == 0 && role != "" {
		return Grant{}, lackingRole(role, "in an organization or workspace")
	}
	return g, nil
}

// projectsIn returns the projects in the workspaces that match.
func (p *Principal) projectsIn(match func(*Workspace) bool) Projects {
	var ids []uuid.UUID
	for i := range p.Projects {
		if match(&p.Projects[i].Workspace) {
			ids = append(ids, p.Projects[i].ID)
		}
	}
	return Projects{ids}
}

// lacks returns the first of the scopes that the principal does not have in the project, or "".
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

func lackingRole(role Role, where string) *problem.Error {
	return forbidden("This needs a user with the role " + string(role) + " " + where + ".")
}

func forbidden(detail string) *problem.Error {
	return &problem.Error{Kind: problem.Forbidden, Code: "scope_missing", Detail: detail}
}
