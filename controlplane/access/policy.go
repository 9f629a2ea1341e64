package access

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/problem"
)

// Extensions of an operation in the OpenAPI document. Each operation has exactly one of them, except public operations,
// whose security is empty.
const (
	// scopeExtension is the scope or list of scopes that the operation needs in its project. An operation without a
	// project applies to all projects in which the caller has these scopes.
	scopeExtension = "x-scope"
	// roleExtension is the role that the operation needs in its organization or workspace, or in the workspace of its
	// project. An operation without one applies to all in which the caller has the role.
	roleExtension = "x-role"
	// userExtension is true if the operation concerns the account of the caller, who must be a user.
	userExtension = "x-user"
)

// anyAccess is the x-scope or x-role of operations that need access to the target but no scope or role there.
const anyAccess = "any"

// requirement is what an operation requires of its caller. The zero value requires access to the target.
type requirement struct {
	scopes []string
	// byRole is whether the operation has x-role. role is empty if any will do.
	byRole bool
	role   Role
	user   bool
}

// Target is the project, workspace or organization of a request. A field is [uuid.Nil] if the request does not name
// one.
type Target struct {
	Project      uuid.UUID
	Workspace    uuid.UUID
	Organization uuid.UUID
}

// Policy holds the requirements of operations by operationId. Public operations are not in it.
type Policy map[string]requirement

// Add adds the requirements of an operation from its extensions. It returns an error if they are missing or invalid.
func (p Policy) Add(operation string, extensions map[string]any) error {
	scope := extensions[scopeExtension]
	role, hasRole := extensions[roleExtension]
	user, hasUser := extensions[userExtension]
	declared := 0
	for _, name := range []string{scopeExtension, roleExtension, userExtension} {
		if _, ok := extensions[name]; ok {
			declared++
		}
	}
	if declared != 1 || hasUser && user != true {
		return fmt.Errorf("operation %s must have exactly one of %s, %s and %s: true", operation, scopeExtension, roleExtension, userExtension)
	}
	switch {
	case hasUser:
		p[operation] = requirement{user: true}
		return nil
	case role == anyAccess:
		p[operation] = requirement{byRole: true}
		return nil
	case hasRole:
		n := requirement{byRole: true, role: Role(fmt.Sprint(role))}
		if slices.Index(weakestFirst, n.role) < 1 {
			return fmt.Errorf("%s of operation %s is %q, which is not a role", roleExtension, operation, role)
		}
		p[operation] = n
		return nil
	}
	list, ok := scope.([]any)
	if !ok && scope != anyAccess {
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
	case n.user:
		if principal.User == nil {
			return Grant{}, &problem.Error{Kind: problem.Forbidden, Code: "session_needed", Detail: "This needs a logged-in user. A key has no account."}
		}
		return Grant{Principal: principal, Target: target}, nil
	case n.byRole:
		return principal.withRole(target, n.role)
	case target.Project != uuid.Nil:
		return principal.In(target.Project, n.scopes...)
	default:
		return principal.Everywhere(n.scopes...)
	}
}
