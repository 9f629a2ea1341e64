package identity

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/apikey"
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

var rolesByRank = []Role{RoleViewer, RoleMember, RoleAdmin, RoleOwner}

// strongest returns the stronger of two roles; an empty role is none.
func strongest(a, b Role) Role {
	if slices.Index(rolesByRank, a) >= slices.Index(rolesByRank, b) {
		return a
	}
	return b
}

func (r Role) administers() bool { return r == RoleOwner || r == RoleAdmin }

// scopes are what a role allows in a project.
func (r Role) scopes() []string {
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

// Access is a project that a principal sees, and what it may do there.
type Access struct {
	ProjectID        uuid.UUID
	ProjectName      string
	WorkspaceID      uuid.UUID
	WorkspaceName    string
	OrganizationID   uuid.UUID
	OrganizationName string
	// Role is empty for a key.
	Role   Role
	Scopes []string
}

func (a Access) allows(scope string) bool {
	return apikey.Allows(a.Scopes, scope)
}

// Principal is who calls: a user through a session, or a key.
type Principal struct {
	// User is nil for a key.
	User *User
	// Key is nil for a session.
	Key *Key
	// Projects are all that the principal sees.
	Projects []Access

	session []byte // the stored hash of the session's token
}

// Authorize returns nil when the principal may do in the project what the scope stands for, [ErrNotFound]
// when it does not see the project, and a [ScopeError] when it sees the project and lacks the scope. Every
// operation on something of a project passes through here.
func (p *Principal) Authorize(projectID uuid.UUID, scope string) error {
	for _, a := range p.Projects {
		if a.ProjectID != projectID {
			continue
		}
		if !a.allows(scope) {
			return &ScopeError{Needed: "scope " + scope}
		}
		return nil
	}
	return ErrNotFound
}

// authorizeSight is Authorize for what everybody in a project may see: its name.
func (p *Principal) authorizeSight(projectID uuid.UUID) error {
	if !slices.Contains(p.projectIDs(), projectID) {
		return ErrNotFound
	}
	return nil
}

// ProjectsWith returns the projects in which the principal has the scope, for look-ups that name no project.
// It is a [ScopeError] to have it in none.
func (p *Principal) ProjectsWith(scope string) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	for _, a := range p.Projects {
		if a.allows(scope) {
			ids = append(ids, a.ProjectID)
		}
	}
	if len(ids) == 0 {
		return nil, &ScopeError{Needed: "scope " + scope}
	}
	return ids, nil
}

func (p *Principal) projectIDs() []uuid.UUID {
	ids := make([]uuid.UUID, len(p.Projects))
	for i, a := range p.Projects {
		ids[i] = a.ProjectID
	}
	return ids
}

// createdBy is what is written down as the author of what the principal makes: null for a key.
func (p *Principal) createdBy() *uuid.UUID {
	if p.User == nil {
		return nil
	}
	return &p.User.ID
}
