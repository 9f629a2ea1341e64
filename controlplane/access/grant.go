package access

import (
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/problem"
)

// Projects are those in which a caller may do an operation. The zero value has none, and nothing outside of this package makes
// one with more: a service that asks for Projects cannot be called without authorization.
type Projects struct {
	ids []uuid.UUID
}

// IDs lists the projects. The caller must not change the list.
func (p Projects) IDs() []uuid.UUID { return p.ids }

// Only narrows to one of the projects. There is none where it is not among them.
func (p Projects) Only(project uuid.UUID) Projects {
	if !slices.Contains(p.ids, project) {
		return Projects{}
	}
	return Projects{ids: []uuid.UUID{project}}
}

// Grant is the leave of a principal to do one operation.
type Grant struct {
	Principal *Principal
	// Workspace is that of an operation that needs a role in one.
	Workspace uuid.UUID
	Projects
}

// Project is the project of an operation that names one.
func (g Grant) Project() (uuid.UUID, error) {
	if len(g.ids) != 1 {
		return uuid.Nil, problem.Missing()
	}
	return g.ids[0], nil
}

// CreatedBy is what is stored as the author of what the principal makes: nil for a key.
func (g Grant) CreatedBy() *uuid.UUID {
	if g.Principal.User == nil {
		return nil
	}
	return &g.Principal.User.ID
}
