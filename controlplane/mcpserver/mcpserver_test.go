package mcpserver_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/test/engines"
)

// toolError calls a tool that must fail, and returns what it says.
func toolError(t *testing.T, session *mcp.ClientSession, tool string, arguments any) string {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	require.True(t, result.IsError)
	return result.Content[0].(*mcp.TextContent).Text
}

func TestMCP(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	server := httptest.NewServer(e.API)
	t.Cleanup(server.Close)
	session, project := e.SetUp(t)
	key := e.Mint(t, session, project.Id, contract.ScopeRunsRead)
	other := e.CreateProject(t, session, project.WorkspaceId, "other")
	stored := map[string]bool{}
	for range 12 {
		stored[apitest.StoreRun(t, address, project.Id).String()] = true
	}
	long := apitest.StoreLongRun(t, address, project.Id).String()
	client := apitest.ConnectMCP(t, server.URL+"/mcp", key.Key)

	t.Run("tools", func(t *testing.T) {
		for query, names := range map[string][]string{
			"":                       {"runs.read", "runs.search", "replay.edit", "replay.diff", "runs.failures", "runs.diff", "work.list"},
			"?tool_names=underscore": {"runs_read", "runs_search", "replay_edit", "replay_diff", "runs_failures", "runs_diff", "work_list"},
		} {
			client := apitest.ConnectMCP(t, server.URL+"/mcp"+query, key.Key)
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
			const most = 3_720
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
			found, _ := apitest.CallTool[apitest.FoundRuns](t, client, names[1], map[string]any{"limit": 1})
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
		scored, _ := apitest.CallTool[apitest.FoundRuns](t, client, "runs.search", map[string]any{"has_score": true})
		assert.Empty(t, scored.Runs)
		unlike, _ := apitest.CallTool[apitest.FoundRuns](t, client, "runs.search", map[string]any{"fingerprint": "nothing's", "session_id": ""})
		assert.Empty(t, unlike.Runs, "an empty text is an argument that is not given")
	})
	t.Run("search, page by page", func(t *testing.T) {
		seen := map[string]bool{}
		tool, arguments := "runs.search", map[string]any{"name": "answer", "status": []string{"error"}, "limit": 5}
		for tool != "" {
			found, _ := apitest.CallTool[apitest.FoundRuns](t, client, tool, arguments)
			for _, run := range found.Runs {
				assert.False(t, seen[run.RunID])
				seen[run.RunID] = true
				assert.Regexp(t, `^<(\d{6}) error>Timeout: too slow<\d{6} input>What is 2\^53\+1\?</\d{6}>$`, run.Recorded)
			}
			tool = ""
			if found.NextPage != "" {
				tool, arguments = apitest.NextCall(t, found.NextPage)
			}
		}
		assert.Equal(t, stored, seen)
	})
	t.Run("search within a small budget", func(t *testing.T) {
		seen := map[string]bool{}
		tool, arguments := "runs.search", map[string]any{"name": "answer", "token_budget": 1024, "limit": 50}
		pages := 0
		for tool != "" {
			found, _ := apitest.CallTool[apitest.FoundRuns](t, client, tool, arguments)
			require.NotEmpty(t, found.Runs)
			for _, run := range found.Runs {
				seen[run.RunID] = true
			}
			pages++
			tool = ""
			if found.NextPage != "" {
				tool, arguments = apitest.NextCall(t, found.NextPage)
			}
		}
		assert.Equal(t, stored, seen)
		assert.Greater(t, pages, 2)
	})
	t.Run("read", func(t *testing.T) {
		found, _ := apitest.CallTool[apitest.FoundRuns](t, client, "runs.search", map[string]any{"search": "2^53", "window_seconds": 3600})
		tool, arguments := apitest.NextCall(t, found.NextRead)
		view, _ := apitest.CallTool[apitest.AgentView](t, client, tool, arguments)
		require.Len(t, view.Steps, 3)
		assert.Nil(t, view.LeftOut)

		arguments["run_id"] = strings.ReplaceAll(arguments["run_id"].(string), "-", "") // as an SDK prints it
		same, _ := apitest.CallTool[apitest.AgentView](t, client, tool, arguments)
		assert.Equal(t, apitest.SpanIDs(view), apitest.SpanIDs(same))
	})
	t.Run("read a long run at every budget", func(t *testing.T) {
		for _, budget := range []int{1024, 1025, 1500, 2500, 4000, 8000, 30000} {
			view, _ := apitest.CallTool[apitest.AgentView](t, client, "runs.read", map[string]any{"run_id": long, "token_budget": budget})
			require.NotNil(t, view.LeftOut)
			tool, arguments := apitest.NextCall(t, view.LeftOut.Next)
			focus := arguments["focus"].(string)
			more, _ := apitest.CallTool[apitest.AgentView](t, client, tool, arguments)
			assert.Contains(t, apitest.SpanIDs(more), focus)
			assert.NotContains(t, apitest.SpanIDs(view), focus)
		}
	})
	t.Run("errors with a remedy", func(t *testing.T) {
		for want, call := range map[string]struct {
			tool      string
			arguments map[string]any
		}{
			"Use a run_id from runs.search":                 {"runs.read", map[string]any{"run_id": apitest.NoSuchID}},
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
		ingest := apitest.ConnectMCP(t, server.URL+"/mcp", e.Mint(t, session, project.Id, contract.ScopeIngestWrite).Key)
		assert.Contains(t, toolError(t, ingest, "runs.search", nil), "lacks the scope runs:read")
	})
	t.Run("another project's key", func(t *testing.T) {
		stranger := apitest.ConnectMCP(t, server.URL+"/mcp", e.Mint(t, session, other.Id, contract.ScopeRunsRead).Key)
		found, _ := apitest.CallTool[apitest.FoundRuns](t, stranger, "runs.search", map[string]any{"search": "2^53"})
		assert.Empty(t, found.Runs)
		assert.Equal(t, toolError(t, stranger, "runs.read", map[string]any{"run_id": apitest.NoSuchID}), toolError(t, stranger, "runs.read", map[string]any{"run_id": long}))
		assert.Equal(t, toolError(t, stranger, "runs.search", map[string]any{"project_id": apitest.NoSuchID}),
			toolError(t, stranger, "runs.search", map[string]any{"project_id": project.Id.String()}))
		// A cursor is of one list: another project's has none of it.
		page, _ := apitest.CallTool[apitest.FoundRuns](t, client, "runs.search", map[string]any{"limit": 1})
		_, arguments := apitest.NextCall(t, page.NextPage)
		assert.Contains(t, toolError(t, stranger, "runs.search", map[string]any{"cursor": arguments["cursor"]}), "The cursor is not from")
	})
	t.Run("a user's session has several projects", func(t *testing.T) {
		w := e.Do(t, http.MethodPost, "/mcp", apitest.RPC("tools/call", map[string]any{"name": "runs.search", "arguments": map[string]any{}}),
			append(apitest.MCPHeaders, apitest.Cookie(session))...)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		assert.Contains(t, w.Body.String(), "project_id must be one of")
		assert.Contains(t, w.Body.String(), other.Id.String())
	})
	t.Run("a revoked key ends", func(t *testing.T) {
		doomed := e.Mint(t, session, project.Id, contract.ScopeRunsRead)
		client := apitest.ConnectMCP(t, server.URL+"/mcp", doomed.Key)
		apitest.CallTool[apitest.FoundRuns](t, client, "runs.search", map[string]any{"limit": 1})
		require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/keys/"+doomed.Id.String(), nil, apitest.Cookie(session)).Code)
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "runs.search"})
		require.ErrorContains(t, err, "Unauthorized")
	})
}

func TestMCPDoor(t *testing.T) {
	t.Parallel()
	e := apitest.NewLimited(t, engines.Postgres(t), apitest.AbsentClickHouse, httpapi.RateLimits{})
	session, project := e.SetUp(t)
	key := e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key
	list := apitest.RPC("tools/list", map[string]any{})
	do := func(target string, body any, options ...apitest.Option) *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPost, target, body, append(options, apitest.MCPHeaders...)...)
	}
	for _, as := range []apitest.Option{apitest.Bearer(key), apitest.Header("X-Api-Key", key)} {
		w := do("/mcp", list, as)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
		assert.Empty(t, w.Header().Get("Mcp-Session-Id"), "no session, no state")
	}
	apitest.Golden(t, "mcp_no_key", do("/mcp", list))
	assert.Equal(t, "unauthenticated", apitest.WantProblem(t, do("/mcp", list, apitest.Bearer("lt_x.y")), http.StatusUnauthorized).Code)
	for _, origin := range []apitest.Option{apitest.Header("Origin", "http://evil.test"), apitest.Header("Sec-Fetch-Site", "cross-site")} {
		assert.Equal(t, "cross_origin", apitest.WantProblem(t, do("/mcp", list, origin, apitest.Bearer(key)), http.StatusForbidden).Code, "with a key, too")
	}
	assert.Equal(t, http.StatusOK, do("/mcp", list, apitest.Header("Origin", "http://example.com"), apitest.Bearer(key)).Code, "its own")
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		w := e.Do(t, method, "/mcp", nil, apitest.Bearer(key))
		assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
		assert.Equal(t, http.MethodPost, w.Header().Get("Allow"))
	}
	assert.Equal(t, http.StatusBadRequest, do("/mcp?tool_names=dots", list, apitest.Bearer(key)).Code)
	assert.Equal(t, http.StatusRequestEntityTooLarge, do("/mcp", `{"x":"`+strings.Repeat("x", 70_000)+`"}`, apitest.Bearer(key)).Code)

	// Nothing is left open for changes that never come.
	w := e.Do(t, http.MethodPost, "/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": map[string]any{
		"notifications": map[string]any{"toolsListChanged": true},
		"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		},
	}}, apitest.Bearer(key), apitest.Header("Accept", "application/json, text/event-stream"), apitest.Header("Mcp-Protocol-Version", "2026-07-28"), apitest.Header("Mcp-Method", "subscriptions/listen"))
	assert.Equal(t, http.StatusNotFound, w.Code)
	assert.Contains(t, w.Body.String(), "-32601")

	down := do("/mcp", apitest.RPC("tools/call", map[string]any{"name": "runs.search", "arguments": map[string]any{}}), apitest.Bearer(key))
	assert.Contains(t, down.Body.String(), "is not answering")
	assert.Contains(t, e.Log.String(), `"msg":"tool failed"`)
	assert.NotContains(t, down.Body.String(), "127.0.0.1", "no address is shown")
}

// TestMCPAnswersInJSONRPC also where the message is none.
func TestMCPAnswersInJSONRPC(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	key := e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key
	list := apitest.RPC("tools/list", map[string]any{})
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
		"an unknown method":        {body: apitest.RPC("runs.search", nil), status: 200, id: 1.0, code: -32601},
		"one that was asked by a text": {
			body: `{"jsonrpc":"2.0","id":"a","method":"no/such"}`, status: 200, id: "a", code: -32601,
		},
		"an unknown method, as of 2026":       {body: apitest.RPC("no/such", nil), version: "2026-07-28", status: 404, id: 1.0, code: -32601},
		"what this server does not offer":     {body: apitest.RPC("resources/list", map[string]any{}), status: 200, id: 1.0, code: -32601},
		"a notification that wants an answer": {body: apitest.RPC("notifications/initialized", nil), status: 200, id: 1.0, code: -32601},
		"a call of nothing":                   {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, status: 200, id: 1.0, code: -32602},
		"a prompt of nothing":                 {body: `{"jsonrpc":"2.0","id":1,"method":"prompts/get"}`, status: 200, id: 1.0, code: -32602},
	} {
		t.Run(name, func(t *testing.T) {
			options := append([]apitest.Option{apitest.Bearer(key)}, apitest.MCPHeaders...)
			if ask.version != "" {
				options = append(options, apitest.Header("Mcp-Protocol-Version", ask.version))
			}
			w := e.Do(t, http.MethodPost, "/mcp", ask.body, options...)
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
		assert.Equal(t, http.StatusAccepted, e.Do(t, http.MethodPost, "/mcp", message, append([]apitest.Option{apitest.Bearer(key)}, apitest.MCPHeaders...)...).Code, message)
	}
}

func TestMCPIsLimited(t *testing.T) {
	t.Parallel()
	e := apitest.NewLimited(t, engines.Postgres(t), apitest.AbsentClickHouse, httpapi.RateLimits{Key: ratelimit.Limits{ratelimit.Requests: apitest.Slowly(1)}})
	session, project := e.SetUp(t)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	var codes []int
	for range 3 {
		w := e.Do(t, http.MethodPost, "/mcp", apitest.RPC("tools/list", map[string]any{}), append(apitest.MCPHeaders, key)...)
		codes = append(codes, w.Code)
	}
	assert.Equal(t, []int{200, 200, 429}, codes)
}
