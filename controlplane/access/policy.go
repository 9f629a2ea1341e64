package access

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/apikey"
)

// Extensions of an operation in the OpenAPI document. Each operation has exactly one of them, except public operations,
// whose security is empty.
const (
	// scopeExtension is the scope or list of scopes that the operation needs in its project. An operation without a
	// project applies to all projects in which the caller has these scopes.
	scopeExtension = "x-scope"
	// roleExtension is the role that the operation needs in its workspace.
	roleExtension = "x-role"
)

// anyScope is the x-scope of operations that need access to the project but no scope.
const anyScope = "any"

// requirement is what an operation requires of its caller.
type requirement struct {
	scopes []string
	role   Role
}

// Target is the project or workspace of a request. A field is [uuid.Nil] if the request does not name one.
type Target struct {
	Project   uuid.UUID
	Workspace uuid.UUID
}

// Policy holds the requirements of operations by operationId. Public operations are not in it.
type Policy map[string]requirement

// Add adds the requirements of an operation from its extensions. It returns an error if they are missing or invalid.
func (p Policy) Add(operation string, extensions map[string]any) error {
	scope, hasScope := extensions[scopeExtension]
	role, hasRole := extensions[roleExtension]
	if hasScope == hasRole {
		return fmt.Errorf("operation %s must have either %s or %s", operation, scopeExtension, roleExtension)
	}
	if hasRole {
		n := requirement{role: Role(fmt.Sprint(role))}
		if slices.Index(weakestFirst, n.role) < 1 {
			return fmt.Errorf("%s of operation %s is %q, which is not a role", roleExtension, operation, role)
		}
		p[operation] = n
		return nil
	}
	list, ok := scope.([]any)
	if !ok && scope != anyScope {
		list = []any{scope}
	}
	var n requirement
	for _, one := range list {
		name := fmt.Sprint(one)
		if !apikey.ValidScope(name) {
			return fmt.Errorf("%s of operation %s has %q, which is not a scope", scopeExtension, operation, name)
		}
		n.scopes = append(n.scopes, name)
	}
	p[operation] = n
	return nil
}

// Authorize checks whether the principal may perform the operation on the target. All operations of REST and MCP are
// authorized here. It returns [problem.NotFound] if the principal has no access to the target, and [problem.Forbidden]
// if it lacks a scope or role.
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
