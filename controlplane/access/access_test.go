package access

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/problem"
)

func TestAuthorize(t *testing.T) {
	t.Parallel()
	mine, other, workspace, weaker, organization, seen := uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()
	p := &Principal{
		Organizations: []Organization{{ID: organization, Role: RoleOwner}, {ID: seen}},
		Workspaces: []Workspace{
			{ID: workspace, OrganizationID: organization, Role: RoleOwner}, {ID: weaker, OrganizationID: seen, Role: RoleMember},
		},
		Projects: []Project{
			{ID: mine, Scopes: []string{apikey.ScopeRunsRead}, Workspace: Workspace{Role: RoleMember}},
			{ID: other, Scopes: []string{apikey.ScopeAdmin}, Workspace: Workspace{ID: workspace, OrganizationID: organization, Role: RoleAdmin}},
		},
	}
	policy := Policy{}
	require.NoError(t, policy.Add("read", map[string]any{"x-scope": apikey.ScopeRunsRead}))
	require.NoError(t, policy.Add("write", map[string]any{"x-scope": []any{apikey.ScopeRunsRead, apikey.ScopeRunsWrite}}))
	require.NoError(t, policy.Add("see", map[string]any{"x-scope": "any"}))
	require.NoError(t, policy.Add("create", map[string]any{"x-role": "admin"}))
	require.NoError(t, policy.Add("visit", map[string]any{"x-role": "any"}))
	require.NoError(t, policy.Add("own", map[string]any{"x-user": true}))
	for _, test := range []struct {
		operation string
		target    Target
		refused   problem.Kind
		granted   []uuid.UUID
	}{
		{operation: "read", target: Target{Project: mine}, granted: []uuid.UUID{mine}},
		{operation: "write", target: Target{Project: mine}, refused: problem.Forbidden},
		{operation: "write", target: Target{Project: other}, granted: []uuid.UUID{other}}, // admin includes all scopes
		{operation: "read", target: Target{Project: uuid.New()}, refused: problem.NotFound},
		{operation: "see", target: Target{Project: mine}, granted: []uuid.UUID{mine}},
		{operation: "see", target: Target{Project: uuid.New()}, refused: problem.NotFound},
		{operation: "see", granted: []uuid.UUID{mine, other}},
		{operation: "write", granted: []uuid.UUID{other}},
		{operation: "create", target: Target{Workspace: workspace}, granted: []uuid.UUID{other}},
		{operation: "create", target: Target{Workspace: weaker}, refused: problem.Forbidden},
		{operation: "create", target: Target{Workspace: uuid.New()}, refused: problem.NotFound},
		{operation: "create", target: Target{Organization: organization}, granted: []uuid.UUID{other}},
		{operation: "create", target: Target{Organization: seen}, refused: problem.Forbidden},
		{operation: "create", target: Target{Organization: uuid.New()}, refused: problem.NotFound},
		{operation: "create", target: Target{Project: other}, granted: []uuid.UUID{other}},
		{operation: "create", target: Target{Project: mine}, refused: problem.Forbidden},
		{operation: "create", target: Target{Project: uuid.New()}, refused: problem.NotFound},
		{operation: "visit", target: Target{Organization: seen}},
		{operation: "visit", target: Target{Organization: uuid.New()}, refused: problem.NotFound},
		{operation: "own", refused: problem.Forbidden},
	} {
		grant, err := policy.Authorize(p, test.operation, test.target)
		if test.refused != 0 {
			assert.True(t, problem.Is(err, test.refused), "%+v: %v", test, err)
			assert.Empty(t, grant.IDs(), "%+v", test)
			continue
		}
		require.NoError(t, err, "%+v", test)
		assert.Equal(t, test.granted, grant.IDs(), "%+v", test)
	}
	grant, err := policy.Authorize(p, "create", Target{})
	require.NoError(t, err)
	assert.Equal(t, []uuid.UUID{organization}, grant.Organizations())
	assert.Equal(t, []uuid.UUID{workspace}, grant.Workspaces())
	grant, err = policy.Authorize(p, "visit", Target{Workspace: weaker})
	require.NoError(t, err)
	assert.Equal(t, Target{Workspace: weaker}, grant.Target)
	assert.Empty(t, grant.Workspaces())
	_, err = policy.Authorize(&Principal{User: &User{}}, "own", Target{})
	require.NoError(t, err)
	_, err = policy.Authorize(&Principal{}, "create", Target{})
	require.True(t, problem.Is(err, problem.Forbidden))
	_, err = policy.Authorize(&Principal{Key: &Key{}, Projects: p.Projects[:1]}, "write", Target{})
	require.ErrorContains(t, err, "This key lacks the scope runs:write.", "not the first one of the operation")
	_, err = policy.Authorize(&Principal{}, "read", Target{})
	require.True(t, problem.Is(err, problem.Forbidden))
	_, err = policy.Authorize(p, "unknown", Target{Project: other})
	require.Error(t, err)
}

func TestAddInvalid(t *testing.T) {
	t.Parallel()
	for _, extensions := range []map[string]any{
		nil,
		{"x-scope": "runs:none"},
		{"x-scope": ""},
		{"x-role": "king"},
		{"x-role": ""},
		{"x-scope": "any", "x-role": "admin"},
		{"x-user": false},
		{"x-user": true, "x-scope": "any"},
	} {
		require.Error(t, Policy{}.Add("op", extensions), "%v", extensions)
	}
}

func TestOnlyNarrows(t *testing.T) {
	t.Parallel()
	mine := uuid.New()
	p := Projects{[]uuid.UUID{mine, uuid.New()}}
	assert.Equal(t, []uuid.UUID{mine}, p.Only(mine).IDs())
	assert.Empty(t, p.Only(uuid.New()).IDs())
}

func TestRoles(t *testing.T) {
	t.Parallel()
	assert.Equal(t, RoleAdmin, Strongest(RoleViewer, RoleAdmin))
	assert.Equal(t, RoleMember, Strongest(RoleMember, ""))
	assert.Equal(t, apikey.Scopes(), RoleOwner.Scopes())
	assert.NotContains(t, RoleMember.Scopes(), apikey.ScopeAdmin)
	for _, scope := range RoleViewer.Scopes() {
		assert.True(t, strings.HasSuffix(scope, ":read"), scope)
	}
	assert.Empty(t, Role("").Scopes())
}
