package access

import (
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/problem"
)

// Projects are the projects in which a caller may perform an operation. The zero value has none. Only this package can
// create other values, so a service that takes Projects cannot be called without authorization.
type Projects struct {
	ids []uuid.UUID
}

// IDs returns the ids of the projects. The caller must not modify the slice.
func (p Projects) IDs() []uuid.UUID { return p.ids }

// OfJob returns the projects of a stored job: its creation, or that of what it works on, was authorized.
func OfJob(projects ...uuid.UUID) Projects { return Projects{ids: projects} }

// Only returns only the given project, or no projects if it is not one of them.
func (p Projects) Only(project uuid.UUID) Projects {
	if !slices.Contains(p.ids, project) {
		return Projects{}
	}
	return Projects{ids: []uuid.UUID{project}}
}

// Grant is the permission of a principal to perform one operation.
type Grant struct {
	Principal *Principal
	// Target is what the request named. For an operation that needs a role, the principal has it there.
	Target Target
	// organizations and workspaces are set for an operation that needs a role and names no target.
	organizations, workspaces []uuid.UUID
	Projects
}

// Organizations returns the organizations in which the principal has the role of an operation without a target. The
// caller must not modify the slice.
func (g Grant) Organizations() []uuid.UUID { return g.organizations }

// Workspaces returns the workspaces in which the principal has the role of an operation without a target. The caller
// must not modify the slice.
func (g Grant) Workspaces() []uuid.UUID { return g.workspaces }

// Project returns the project of the operation, or [problem.NotFound] if it is not for exactly one project.
func (g Grant) Project() (uuid.UUID, error) {
	if len(g.ids) != 1 {
		return uuid.Nil, problem.Missing()
	}
	return g.ids[0], nil
}

// Allows reports whether the principal also has the scope in the project.
func (g Grant) Allows(project uuid.UUID, scope string) bool {
	i := slices.IndexFunc(g.Principal.Projects, func(seen Project) bool { return seen.ID == project })
	return i >= 0 && g.Principal.Projects[i].lacks([]string{scope}) == ""
}

// CreatedBy returns the user to store as the author of what the principal creates. It is nil for a key.
func (g Grant) CreatedBy() *uuid.UUID {
	if g.Principal.User == nil {
		return nil
	}
	return &g.Principal.User.ID
}

// CreatedByKey returns the name of the key to store as the author of what the principal creates. It is nil for a user.
func (g Grant) CreatedByKey() *string {
	if g.Principal.Key == nil {
		return nil
	}
	return &g.Principal.Key.Name
}
