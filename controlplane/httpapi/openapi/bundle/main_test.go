package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func TestDescribeAccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ operation, want string }{
		"scope":            {"x-scope: runs:read", "Requires the scope `runs:read`.\n"},
		"two scopes":       {"x-scope: [a:read, b:write]", "Requires the scopes `a:read` and `b:write`.\n"},
		"three scopes":     {"x-scope: [a:read, b:write, c:read]", "Requires the scopes `a:read`, `b:write` and `c:read`.\n"},
		"any scope":        {"x-scope: any", "Requires an API key or a session, with any scope or role.\n"},
		"role":             {"x-role: admin", "Requires a user with the role `admin` or higher.\n"},
		"any role":         {"x-role: any", "Requires an API key or a session, with any scope or role.\n"},
		"user":             {"x-user: true", "Requires the session of a user.\n"},
		"public":           {"security: []", ""},
		"with description": {"description: |\n  Lists runs.\nx-scope: runs:read", "Lists runs.\n\nRequires the scope `runs:read`.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var operation yaml.Node
			require.NoError(t, yaml.Unmarshal([]byte(c.operation), &operation))
			mapping := func(key string, value *yaml.Node) *yaml.Node {
				return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: key}, value}}
			}
			describeAccess(mapping("paths", mapping("/v1/things", mapping("get", operation.Content[0]))))
			var got struct{ Description string }
			require.NoError(t, operation.Decode(&got))
			assert.Equal(t, c.want, got.Description)
		})
	}
}
