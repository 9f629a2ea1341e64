package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/test/engines"
)

// withKey adds a key to every request.
type withKey struct{ key string }

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return http.DefaultTransport.RoundTrip(r)
}

// connect opens the MCP server of the API as a client does.
func connect(t *testing.T, address, key string) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: withKey{key}}, MaxRetries: -1}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, session.Close()) })
	return session
}

// callTool calls a tool and decodes its result, whose two forms must be the same and within the budget that it states.
func callTool[T any](t *testing.T, session *mcp.ClientSession, tool string, arguments any) (value T, text string) {
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

// toolError calls a tool that must fail, and returns what it says.
func toolError(t *testing.T, session *mcp.ClientSession, tool string, arguments any) string {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	require.True(t, result.IsError)
	return result.Content[0].(*mcp.TextContent).Text
}

// nextCall reads a call as results name it.
func nextCall(t *testing.T, text string) (tool string, arguments map[string]any) {
	t.Helper()
	tool, rest, found := strings.Cut(text, " ")
	require.True(t, found, text)
	require.NoError(t, json.Unmarshal([]byte(rest), &arguments), rest)
	return tool, arguments
}

type foundRuns struct {
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

func TestMCP(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := newEnvOn(t, engines.Postgres(t), address)
	server := httptest.NewServer(e.api)
	t.Cleanup(server.Close)
	session, project := e.setUp(t)
	key := e.mint(t, session, project.Id, contract.ScopeRunsRead)
	other := e.createProject(t, session, project.WorkspaceId, "other")
	stored := map[string]bool{}
	for range 12 {
		stored[storeRun(t, address, project.Id).String()] = true
	}
	long := storeLongRun(t, address, project.Id).String()
	client := connect(t, server.URL+"/mcp", key.Key)

	t.Run("tools", func(t *testing.T) {
		for query, names := range map[string][]string{
			"":                       {"runs.read", "runs.search", "replay.edit", "replay.diff", "runs.failures", "runs.diff"},
			"?tool_names=underscore": {"runs_read", "runs_search", "replay_edit", "replay_diff", "runs_failures", "runs_diff"},
		} {
			client := connect(t, server.URL+"/mcp"+query, key.Key)
			for _, name := range names {
				assert.Contains(t, client.InitializeResult().Instructions, "`"+name+"`")
			}
			list, err := client.ListTools(t.Context(), nil)
			require.NoError(t, err)
			var listed []string
			for _, tool := range list.Tools {
				listed = append(listed, tool.Name)
				assert.NotNil(t, tool.OutputSchema)
				edits := tool.Name == names[2] // which costs money
				assert.Equal(t, !edits, tool.Annotations.ReadOnlyHint)
				assert.Equal(t, edits, *tool.Annotations.OpenWorldHint)
				assert.False(t, *tool.Annotations.DestructiveHint)
			}
			assert.ElementsMatch(t, names, listed)
			// What a client gives its model before any call.
			const most = 3_600
			codec, err := tokenizer.Get(tokenizer.O200kBase)
			require.NoError(t, err)
			spent, err := codec.Count(client.InitializeResult().Instructions)
			require.NoError(t, err)
			for _, tool := range list.Tools {
				schema, err := json.Marshal(tool.InputSchema)
				require.NoError(t, err)
				tokens, err := codec.Count(tool.Name + tool.Description + string(schema))
				require.NoError(t, err)
				spent += tokens
			}
			t.Logf("%d tokens of instructions and tools", spent)
			assert.LessOrEqual(t, spent, most)
			found, _ := callTool[foundRuns](t, client, names[1], map[string]any{"limit": 1})
			assert.True(t, strings.HasPrefix(found.NextPage, names[1]+" {"), found.NextPage)
		}
	})
	t.Run("search takes the whole filter", func(t *testing.T) {
		list, err := client.ListTools(t.Context(), nil)
		require.NoError(t, err)
		at := slices.IndexFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "runs.search" })
		arguments := list.Tools[at].InputSchema.(map[string]any)["properties"].(map[string]any)
		doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
		require.NoError(t, err)
		for name, parameter := range doc.Components.Parameters {
			if strings.HasPrefix(name, "Filter") {
				assert.Contains(t, arguments, parameter.Value.Name)
			}
		}
		scored, _ := callTool[foundRuns](t, client, "runs.search", map[string]any{"has_score": true})
		assert.Empty(t, scored.Runs)
		unlike, _ := callTool[foundRuns](t, client, "runs.search", map[string]any{"fingerprint": "nothing's", "session_id": ""})
		assert.Empty(t, unlike.Runs, "an empty text is an argument that is not given")
	})
	t.Run("search, page by page", func(t *testing.T) {
		seen := map[string]bool{}
		tool, arguments := "runs.search", map[string]any{"name": "answer", "status": []string{"error"}, "limit": 5}
		for tool != "" {
			found, _ := callTool[foundRuns](t, client, tool, arguments)
			for _, run := range found.Runs {
				assert.False(t, seen[run.RunID])
				seen[run.RunID] = true
				assert.Regexp(t, `^<(\d{6}) error>Timeout: too slow<\d{6} input>What is 2\^53\+1\?</\d{6}>$`, run.Recorded)
			}
			tool = ""
			if found.NextPage != "" {
				tool, arguments = nextCall(t, found.NextPage)
			}
		}
		assert.Equal(t, stored, seen)
	})
	t.Run("search within a small budget", func(t *testing.T) {
		seen := map[string]bool{}
		tool, arguments := "runs.search", map[string]any{"name": "answer", "token_budget": 1024, "limit": 50}
		pages := 0
		for tool != "" {
			found, _ := callTool[foundRuns](t, client, tool, arguments)
			require.NotEmpty(t, found.Runs)
			for _, run := range found.Runs {
				seen[run.RunID] = true
			}
			pages++
			tool = ""
			if found.NextPage != "" {
				tool, arguments = nextCall(t, found.NextPage)
			}
		}
		assert.Equal(t, stored, seen)
		assert.Greater(t, pages, 2)
	})
	t.Run("read", func(t *testing.T) {
		found, _ := callTool[foundRuns](t, client, "runs.search", map[string]any{"search": "2^53", "window_seconds": 3600})
		tool, arguments := nextCall(t, found.NextRead)
		view, _ := callTool[viewAnswer](t, client, tool, arguments)
		require.Len(t, view.Steps, 3)
		assert.Nil(t, view.LeftOut)

		arguments["run_id"] = strings.ReplaceAll(arguments["run_id"].(string), "-", "") // as an SDK prints it
		same, _ := callTool[viewAnswer](t, client, tool, arguments)
		assert.Equal(t, spanIDs(view), spanIDs(same))
	})
	t.Run("read a long run at every budget", func(t *testing.T) {
		for _, budget := range []int{1024, 1025, 1500, 2500, 4000, 8000, 30000} {
			view, _ := callTool[viewAnswer](t, client, "runs.read", map[string]any{"run_id": long, "token_budget": budget})
			require.NotNil(t, view.LeftOut)
			tool, arguments := nextCall(t, view.LeftOut.Next)
			focus := arguments["focus"].(string)
			more, _ := callTool[viewAnswer](t, client, tool, arguments)
			assert.Contains(t, spanIDs(more), focus)
			assert.NotContains(t, spanIDs(view), focus)
		}
	})
	t.Run("errors with a remedy", func(t *testing.T) {
		for want, call := range map[string]struct {
			tool      string
			arguments map[string]any
		}{
			"Use a run_id from runs.search":                 {"runs.read", map[string]any{"run_id": noSuchID}},
			"without focus":                                 {"runs.read", map[string]any{"run_id": long, "focus": "00000000000fffff"}},
			"The run has no step with this focus":           {"runs.read", map[string]any{"run_id": long, "focus": "0000000000000000"}},
			"The arguments are not valid: required":         {"runs.read", map[string]any{}},
			"validating /properties/run_id: pattern":        {"runs.read", map[string]any{"run_id": "7"}},
			"validating /properties/token_budget: minimum":  {"runs.read", map[string]any{"run_id": long, "token_budget": 100}},
			`unexpected additional properties ["filter"]`:   {"runs.search", map[string]any{"filter": "x"}},
			"Omit it to start with the first page":          {"runs.search", map[string]any{"cursor": "nonsense"}},
			"must be between 1970 and 2261":                 {"runs.search", map[string]any{"start_after": "1812-01-01T00:00:00Z"}},
			"This key has no such project. Omit project_id": {"runs.search", map[string]any{"project_id": other.Id.String()}},
		} {
			assert.Contains(t, toolError(t, client, call.tool, call.arguments), want)
		}
		ingest := connect(t, server.URL+"/mcp", e.mint(t, session, project.Id, contract.ScopeIngestWrite).Key)
		assert.Contains(t, toolError(t, ingest, "runs.search", nil), "lacks the scope runs:read")
	})
	t.Run("another project's key", func(t *testing.T) {
		stranger := connect(t, server.URL+"/mcp", e.mint(t, session, other.Id, contract.ScopeRunsRead).Key)
		found, _ := callTool[foundRuns](t, stranger, "runs.search", map[string]any{"search": "2^53"})
		assert.Empty(t, found.Runs)
		assert.Equal(t, toolError(t, stranger, "runs.read", map[string]any{"run_id": noSuchID}), toolError(t, stranger, "runs.read", map[string]any{"run_id": long}))
		assert.Equal(t, toolError(t, stranger, "runs.search", map[string]any{"project_id": noSuchID}),
			toolError(t, stranger, "runs.search", map[string]any{"project_id": project.Id.String()}))
		// A cursor is of one list: another project's has none of it.
		page, _ := callTool[foundRuns](t, client, "runs.search", map[string]any{"limit": 1})
		_, arguments := nextCall(t, page.NextPage)
		assert.Contains(t, toolError(t, stranger, "runs.search", map[string]any{"cursor": arguments["cursor"]}), "The cursor is not from")
	})
	t.Run("a user's session has several projects", func(t *testing.T) {
		w := e.do(t, http.MethodPost, "/mcp", rpc("tools/call", map[string]any{"name": "runs.search", "arguments": map[string]any{}}),
			append(mcpHeaders, cookie(session))...)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		assert.Contains(t, w.Body.String(), "project_id must be one of")
		assert.Contains(t, w.Body.String(), other.Id.String())
	})
	t.Run("a revoked key ends", func(t *testing.T) {
		doomed := e.mint(t, session, project.Id, contract.ScopeRunsRead)
		client := connect(t, server.URL+"/mcp", doomed.Key)
		callTool[foundRuns](t, client, "runs.search", map[string]any{"limit": 1})
		require.Equal(t, http.StatusNoContent, e.do(t, http.MethodDelete, "/v1/keys/"+doomed.Id.String(), nil, cookie(session)).Code)
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "runs.search"})
		require.ErrorContains(t, err, "Unauthorized")
	})
}

func spanIDs(view viewAnswer) []string {
	var ids []string
	for _, step := range view.Steps {
		ids = append(ids, step.SpanID)
	}
	return ids
}

var mcpHeaders = []option{header("Accept", "application/json, text/event-stream"), header("Mcp-Protocol-Version", "2025-06-18")}

func rpc(method string, params any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
}

func TestMCPDoor(t *testing.T) {
	t.Parallel()
	e := newLimitedEnv(t, engines.Postgres(t), absentClickHouse, RateLimits{})
	session, project := e.setUp(t)
	key := e.mint(t, session, project.Id, contract.ScopeRunsRead).Key
	list := rpc("tools/list", map[string]any{})
	do := func(target string, body any, options ...option) *httptest.ResponseRecorder {
		return e.do(t, http.MethodPost, target, body, append(options, mcpHeaders...)...)
	}
	for _, as := range []option{bearer(key), header("X-Api-Key", key)} {
		w := do("/mcp", list, as)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
		assert.Empty(t, w.Header().Get("Mcp-Session-Id"), "no session, no state")
	}
	golden(t, "mcp_no_key", do("/mcp", list))
	assert.Equal(t, "unauthenticated", wantProblem(t, do("/mcp", list, bearer("lt_x.y")), http.StatusUnauthorized).Code)
	for _, origin := range []option{header("Origin", "http://evil.test"), header("Sec-Fetch-Site", "cross-site")} {
		assert.Equal(t, "cross_origin", wantProblem(t, do("/mcp", list, origin, bearer(key)), http.StatusForbidden).Code, "with a key, too")
	}
	assert.Equal(t, http.StatusOK, do("/mcp", list, header("Origin", "http://example.com"), bearer(key)).Code, "its own")
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		w := e.do(t, method, "/mcp", nil, bearer(key))
		assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
		assert.Equal(t, http.MethodPost, w.Header().Get("Allow"))
	}
	assert.Equal(t, http.StatusBadRequest, do("/mcp?tool_names=dots", list, bearer(key)).Code)
	assert.Equal(t, http.StatusRequestEntityTooLarge, do("/mcp", `{"x":"`+strings.Repeat("x", 70_000)+`"}`, bearer(key)).Code)

	// Nothing is left open for changes that never come.
	w := e.do(t, http.MethodPost, "/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": map[string]any{
		"notifications": map[string]any{"toolsListChanged": true},
		"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		},
	}}, bearer(key), header("Accept", "application/json, text/event-stream"), header("Mcp-Protocol-Version", "2026-07-28"), header("Mcp-Method", "subscriptions/listen"))
	assert.Equal(t, http.StatusNotFound, w.Code)
	assert.Contains(t, w.Body.String(), "-32601")

	down := do("/mcp", rpc("tools/call", map[string]any{"name": "runs.search", "arguments": map[string]any{}}), bearer(key))
	assert.Contains(t, down.Body.String(), "is not answering")
	assert.Contains(t, e.log.String(), `"msg":"tool failed"`)
	assert.NotContains(t, down.Body.String(), "127.0.0.1", "no address is shown")
}

// TestMCPAnswersInJSONRPC also where the message is none.
func TestMCPAnswersInJSONRPC(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session, project := e.setUp(t)
	key := e.mint(t, session, project.Id, contract.ScopeRunsRead).Key
	list := rpc("tools/list", map[string]any{})
	for name, ask := range map[string]struct {
		body    any
		version string
		status  int
		id      any
		code    int
	}{
		"half a message":           {body: `{"jsonrpc":"2.0",`, status: 400, code: -32700},
		"nothing":                  {body: ``, status: 400, code: -32700},
		"no JSON":                  {body: `tools/list`, status: 400, code: -32700},
		"not UTF-8":                {body: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", status: 200, id: 1.0, code: -32601},
		"a batch":                  {body: []any{list, list}, status: 400, code: -32600},
		"another version":          {body: `{"jsonrpc":"1.0","id":1,"method":"ping"}`, status: 400, code: -32600},
		"no method":                {body: `{"jsonrpc":"2.0"}`, status: 400, code: -32600},
		"a method that is no text": {body: `{"jsonrpc":"2.0","id":1,"method":5}`, status: 400, code: -32600},
		"a text":                   {body: `"ping"`, status: 400, code: -32600},
		"an id that is a list":     {body: `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, status: 400, code: -32600},
		"a request without id":     {body: `{"jsonrpc":"2.0","method":"tools/list"}`, status: 400, code: -32600},
		"an unknown method":        {body: rpc("runs.search", nil), status: 200, id: 1.0, code: -32601},
		"one that was asked by a text": {
			body: `{"jsonrpc":"2.0","id":"a","method":"no/such"}`, status: 200, id: "a", code: -32601,
		},
		"an unknown method, as of 2026":       {body: rpc("no/such", nil), version: "2026-07-28", status: 404, id: 1.0, code: -32601},
		"what this server does not offer":     {body: rpc("resources/list", map[string]any{}), status: 200, id: 1.0, code: -32601},
		"a notification that wants an answer": {body: rpc("notifications/initialized", nil), status: 200, id: 1.0, code: -32601},
		"a call of nothing":                   {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, status: 200, id: 1.0, code: -32602},
		"a prompt of nothing":                 {body: `{"jsonrpc":"2.0","id":1,"method":"prompts/get"}`, status: 200, id: 1.0, code: -32602},
	} {
		t.Run(name, func(t *testing.T) {
			options := append([]option{bearer(key)}, mcpHeaders...)
			if ask.version != "" {
				options = append(options, header("Mcp-Protocol-Version", ask.version))
			}
			w := e.do(t, http.MethodPost, "/mcp", ask.body, options...)
			require.Equal(t, ask.status, w.Code, w.Body)
			assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
			var answer map[string]any
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
			assert.Equal(t, "2.0", answer["jsonrpc"])
			assert.Contains(t, answer, "id")
			assert.Equal(t, ask.id, answer["id"])
			problem := answer["error"].(map[string]any)
			assert.InDelta(t, ask.code, problem["code"], 0)
			assert.NotEmpty(t, problem["message"])
		})
	}
	for _, message := range []string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","method":"notifications/none"}`} {
		assert.Equal(t, http.StatusAccepted, e.do(t, http.MethodPost, "/mcp", message, append([]option{bearer(key)}, mcpHeaders...)...).Code, message)
	}
}

func TestMCPIsLimited(t *testing.T) {
	t.Parallel()
	e := newLimitedEnv(t, engines.Postgres(t), absentClickHouse, RateLimits{Key: ratelimit.Limits{ratelimit.Requests: slowly(1)}})
	session, project := e.setUp(t)
	key := bearer(e.mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	var codes []int
	for range 3 {
		w := e.do(t, http.MethodPost, "/mcp", rpc("tools/list", map[string]any{}), append(mcpHeaders, key)...)
		codes = append(codes, w.Code)
	}
	assert.Equal(t, []int{200, 200, 429}, codes)
}
