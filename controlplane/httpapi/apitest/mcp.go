package apitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"
)

// AgentView is what tests read of the agent view of a run.
type AgentView struct {
	TokensUsed int `json:"tokens_used"`
	ErrorChain []struct {
		SpanID string `json:"span_id"`
	} `json:"error_chain"`
	Suspects []struct {
		N    int    `json:"n"`
		Name string `json:"name"`
		Why  string `json:"why"`
	} `json:"suspects"`
	Steps []struct {
		SpanID   string `json:"span_id"`
		Name     string `json:"name"`
		Recorded string `json:"recorded"`
	} `json:"steps"`
	LeftOut *struct {
		Steps int    `json:"steps"`
		Next  string `json:"next"`
	} `json:"left_out"`
	Cut *struct {
		Steps int `json:"steps"`
	} `json:"cut"`
}

// withKey adds a key to every request.
type withKey struct{ key string }

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return http.DefaultTransport.RoundTrip(r)
}

// ConnectMCP opens the MCP server of the API as a client does.
func ConnectMCP(t *testing.T, address, key string) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: withKey{key}}, MaxRetries: -1}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, session.Close()) })
	return session
}

// CallTool calls a tool and decodes its result, whose two forms must be the same and within the budget that it states.
func CallTool[T any](t *testing.T, session *mcp.ClientSession, tool string, arguments any) (value T, text string) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	require.Len(t, result.Content, 1)
	text = result.Content[0].(*mcp.TextContent).Text
	require.False(t, result.IsError, text)
	structured, err := json.Marshal(result.StructuredContent)
	require.NoError(t, err)
	require.JSONEq(t, text, string(structured))
	requireSchema(t, session, tool, result.StructuredContent)
	require.NoError(t, json.Unmarshal([]byte(text), &value))
	var budget struct {
		TokenBudget int `json:"token_budget"`
		TokensUsed  int `json:"tokens_used"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &budget))
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	require.NoError(t, err)
	counted, err := codec.Count(text)
	require.NoError(t, err)
	assert.Equal(t, 2*counted, budget.TokensUsed)
	assert.LessOrEqual(t, budget.TokensUsed, budget.TokenBudget)
	return value, text
}

// requireSchema holds a result to what its tool promises, as clients do.
func requireSchema(t *testing.T, session *mcp.ClientSession, tool string, result any) {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	at := slices.IndexFunc(list.Tools, func(listed *mcp.Tool) bool { return listed.Name == tool })
	require.GreaterOrEqual(t, at, 0)
	text, err := json.Marshal(list.Tools[at].OutputSchema)
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	require.NoError(t, resolved.Validate(result))
}

// NextCall reads a call as results name it.
func NextCall(t *testing.T, text string) (tool string, arguments map[string]any) {
	t.Helper()
	tool, rest, found := strings.Cut(text, " ")
	require.True(t, found, text)
	require.NoError(t, json.Unmarshal([]byte(rest), &arguments), rest)
	return tool, arguments
}

// FoundRuns is the result of runs.search.
type FoundRuns struct {
	Runs []struct {
		RunID    string `json:"run_id"`
		Name     string `json:"name"`
		Status   string `json:"status"`
		Recorded string `json:"recorded"`
	} `json:"runs"`
	NextRead string `json:"next_read"`
	NextPage string `json:"next_page"`

	Partial    bool   `json:"partial"`
	SearchedTo string `json:"searched_to"`
}

// SpanIDs lists the spans of the steps of a view.
func SpanIDs(view AgentView) []string {
	var ids []string
	for _, step := range view.Steps {
		ids = append(ids, step.SpanID)
	}
	return ids
}

// MCPHeaders are those of a request to MCP.
var MCPHeaders = []Option{Header("Accept", "application/json, text/event-stream"), Header("Mcp-Protocol-Version", "2025-06-18")}

// RPC is the body of a request to MCP.
func RPC(method string, params any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
}
