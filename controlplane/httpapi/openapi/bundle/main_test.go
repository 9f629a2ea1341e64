package main

import (
	"os"
	"path/filepath"
	"strings"
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

func TestRoutes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	require.NoError(t, os.WriteFile(in("things.yaml"), []byte(`
paths:
  /v1/things:
    get: {operationId: listThings, x-class: cheap, x-answer-seconds: 30, x-scope: runs:read}
    post: {operationId: addThing, x-class: bounded, x-scope: [runs:read, runs:write]}
  /v1/things/{id}:
    get: {operationId: getThing, x-class: bounded, x-deadline-seconds: 20, security: []}
    delete: {operationId: deleteThing, x-class: durable, x-role: admin, x-write-timeout-seconds: 1800}
  /v1/things/stream:
    get: {operationId: streamThings, x-class: streamed, x-user: true}
`), 0o600))
	require.NoError(t, bundle(folder, in("out"), in("routes.md"), in("answers.ts")))
	page, err := os.ReadFile(in("routes.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "\n## things\n")
	assert.Contains(t, string(page), strings.Join([]string{
		"| `GET /v1/things` | listThings | the scope `runs:read` | cheap |",
		"| `POST /v1/things` | addThing | the scopes `runs:read` and `runs:write` | bounded, 10 s |",
		"| `GET /v1/things/{id}` | getThing | public | bounded, 20 s |",
		"| `DELETE /v1/things/{id}` | deleteThing | a user with the role `admin` or higher | durable |",
		"| `GET /v1/things/stream` | streamThings | the session of a user | streamed |",
	}, "\n"))
	answers, err := os.ReadFile(in("answers.ts"))
	require.NoError(t, err)
	assert.Contains(t, string(answers), `= {
  "DELETE /v1/things/{id}": 1800,
  "GET /v1/things": 30,
  "GET /v1/things/stream": null,
  "GET /v1/things/{id}": 20,
};`)
}
