package access

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/apikey"
)

// Extensions of an operation in the OpenAPI document. Each operation has one of the two, unless its security is empty and
// anybody may call it.
const (
	// scopeExtension names the scope, or the list of scopes, that the operation needs in its project. An operation that names
	// no project works on all in which the caller has them.
	scopeExtension = "x-scope"
	// roleExtension names the role that the operation needs in its workspace.
	roleExtension = "x-role"
)

// anyScope is the x-scope of what everybody may do who sees the project.
const anyScope = "any"

// need is what an operation asks of its caller.
type need struct {
	scopes []string
	role   Role
}

// Target is what an operation names: a project, a workspace, or neither. Both are [uuid.Nil] where they are not named.
type Target struct {
	Project   uuid.UUID
	Workspace uuid.UUID
}

// Policy is what each operation needs, by its operationId. Operations that anybody may call are not in it.
type Policy map[string]need

// Add reads what an operation needs from its extensions. An operation that does not say is an error.
func (p Policy) Add(operation string, extensions map[string]any) error {
	scope, hasScope := extensions[scopeExtension]
	role, hasRole := extensions[roleExtension]
	if hasScope == hasRole {
		return fmt.Errorf("operation %s must have %s or %s", operation, scopeExtension, roleExtension)
	}
	if hasRole {
		n := need{role: Role(fmt.Sprint(role))}
		if slices.Index(weakestFirst, n.role) < 1 {
			return fmt.Errorf("%s of operation %s is %q, which is no role", roleExtension, operation, role)
		}
		p[operation] = n
		return nil
	}
	list, ok := scope.([]any)
	if !ok && scope != anyScope {
		list = []any{scope}
	}
	var n need
	for _, one := range list {
		name := fmt.Sprint(one)
		if !apikey.ValidScope(name) {
			return fmt.Errorf("%s of operation %s has %q, which is no scope", scopeExtension, operation, name)
		}
		n.scopes = append(n.scopes, name)
	}
	p[operation] = n
	return nil
}

// Authorize decides whether the principal may do the operation, and is the only place that does. An audit of changes attaches here:
// it sees who does what, and where.
func (p Policy) Authorize(principal *Principal, operation string, target Target) (Grant, error) {
	n, ok := p[operation]
	switch {
	case !ok:
		return Grant{}, fmt.Errorf("operation %q is not in the policy", operation)
	case n.role != "":
		return principal.inWorkspace(target.Workspace, n.role)
	case target.Project != uuid.Nil:
		return principal.In(target.Project, n.scopes...)
	default:
		return principal.Everywhere(n.scopes...)
	}
}
