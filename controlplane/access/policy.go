package access

import (
	"fmt"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/apikey"
)

// Extensions of the OpenAPI document. Each operation has one of the two, unless its security is empty and anybody may call it.
const (
	// scopeExtension names the scope, or the list of scopes, that the operation needs in its project. An operation that names
	// no project works on all in which the caller has them.
	scopeExtension = "x-scope"
	// roleExtension names the role that the operation needs in its workspace.
	roleExtension = "x-role"
)

// anyScope is the x-scope of what everybody may do who sees the project.
const anyScope = "any"

// Need is what an operation asks of its caller.
type Need struct {
	// Public is an operation that asks for no credential.
	Public bool
	Scopes []string
	Role   Role
}

// Target is what an operation names: a project, a workspace, or neither. Both are [uuid.Nil] where they are not named.
type Target struct {
	Project   uuid.UUID
	Workspace uuid.UUID
}

// Policy is what each operation needs, by its operationId.
type Policy map[string]Need

// ReadPolicy reads what the operations of a document need. An operation that does not say is an error.
func ReadPolicy(doc *openapi3.T) (Policy, error) {
	policy := Policy{}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			need, err := needOf(operation)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			policy[operation.OperationID] = need
		}
	}
	return policy, nil
}

func needOf(operation *openapi3.Operation) (Need, error) {
	scope, hasScope := operation.Extensions[scopeExtension]
	role, hasRole := operation.Extensions[roleExtension]
	public := operation.Security != nil && len(*operation.Security) == 0
	switch {
	case public && !hasScope && !hasRole:
		return Need{Public: true}, nil
	case public || hasScope == hasRole:
		return Need{}, fmt.Errorf("must have %s or %s, or an empty security", scopeExtension, roleExtension)
	case hasRole:
		need := Need{Role: Role(fmt.Sprint(role))}
		if slices.Index(weakestFirst, need.Role) < 1 {
			return Need{}, fmt.Errorf("%s is %q, which is no role", roleExtension, role)
		}
		return need, nil
	case scope == anyScope:
		return Need{}, nil
	}
	list, ok := scope.([]any)
	if !ok {
		list = []any{scope}
	}
	var need Need
	for _, one := range list {
		name := fmt.Sprint(one)
		if !apikey.ValidScope(name) {
			return Need{}, fmt.Errorf("%s is %q, which is no scope", scopeExtension, name)
		}
		need.Scopes = append(need.Scopes, name)
	}
	return need, nil
}

// Authorize decides whether the principal may do the operation, and is the only place that does. An audit of changes attaches here:
// it sees who does what, and where.
func (p Policy) Authorize(principal *Principal, operation string, target Target) (Grant, error) {
	need, ok := p[operation]
	switch {
	case !ok:
		return Grant{}, fmt.Errorf("operation %q is not in the policy", operation)
	case need.Role != "":
		return principal.inWorkspace(target.Workspace, need.Role)
	case target.Project != uuid.Nil:
		return principal.In(target.Project, need.Scopes...)
	default:
		return principal.Everywhere(need.Scopes...)
	}
}
