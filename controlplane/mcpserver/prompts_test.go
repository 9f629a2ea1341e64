package mcpserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// TestMCPPrompts reads prompts as a stock client does.
func TestMCPPrompts(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	server := httptest.NewServer(e.API)
	t.Cleanup(server.Close)
	client := apitest.ConnectMCP(t, server.URL+"/mcp", e.Mint(t, owner, project.Id, contract.ScopePromptsRead).Key)
	require.NotNil(t, client.InitializeResult().Capabilities.Prompts)
	empty, err := client.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, empty.Prompts)

	prompt := apitest.Must[contract.Prompt](t, e.Do(t, http.MethodPost, "/v1/prompts", map[string]any{
		"project_id": project.Id, "name": "support/triage", "description": "Routes a ticket.",
		"version": map[string]any{
			"messages": []any{
				map[string]any{"role": "system", "content": "Route {{ticket}} with {{limit}}."},
				map[string]any{"type": "placeholder", "name": "history"},
				map[string]any{"role": "user", "content": []any{
					map[string]any{"type": "text", "text": "Look"},
					map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64,AAEC"}},
					map[string]any{"type": "image_url", "image_url": map[string]any{"url": "https://example.com/a.png"}},
				}},
				map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": "c", "type": "function", "function": map[string]any{"name": "f", "arguments": "{}"}}}},
			},
			"variables": map[string]any{
				"ticket": map[string]any{"type": "string", "description": "Its text."}, "limit": map[string]any{"type": "integer", "default": 3},
			},
		},
	}, as), http.StatusCreated)
	e.CreatePrompt(t, as, project.Id, "without-version")
	list, err := client.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Prompts, 1)
	assert.Equal(t, &mcp.Prompt{Name: "support/triage", Description: "Routes a ticket.", Arguments: []*mcp.PromptArgument{
		{Name: "limit", Description: " (integer, as JSON)"},
		{Name: "ticket", Description: "Its text.", Required: true},
		{Name: "history", Description: "A list of messages as JSON, none by default."},
	}}, list.Prompts[0])

	get := func(arguments map[string]string) (*mcp.GetPromptResult, error) {
		return client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "support/triage", Arguments: arguments})
	}
	got, err := get(map[string]string{"ticket": "{{x}}", "history": `[{"role":"assistant","content":"Hi"}]`})
	require.NoError(t, err)
	var seen []string
	for _, m := range got.Messages {
		switch content := m.Content.(type) {
		case *mcp.TextContent:
			seen = append(seen, string(m.Role)+": "+content.Text)
		case *mcp.ImageContent:
			seen = append(seen, fmt.Sprint(m.Role, ": ", content.MIMEType, " ", len(content.Data)))
		}
	}
	assert.Equal(t, []string{
		"user: Route {{x}} with 3.", "assistant: Hi", "user: Look", "user: image/png 3", "user: https://example.com/a.png",
		`assistant: [{"function":{"arguments":"{}","name":"f"},"id":"c","type":"function"}]`,
	}, seen)
	for message, arguments := range map[string]map[string]string{
		"ticket is missing":                          {},
		"limit must be of the type integer, as JSON": {"ticket": "t", "limit": "three"},
		"limit must be of the type integer":          {"ticket": "t", "limit": "1.5"},
		"history must be a list of messages":         {"ticket": "t", "history": "x"},
	} {
		_, err := get(arguments)
		require.ErrorContains(t, err, message)
	}
	_, err = client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "none"})
	require.ErrorContains(t, err, "There is no such prompt. Use a name from prompts/list.")

	// Agents get the version of the alias production, where there is one.
	apitest.Must[contract.PromptVersionEntry](t, e.Do(t, http.MethodPost, "/v1/prompts/"+prompt.Id.String()+"/versions", apitest.PromptVersion("Newest."), as), http.StatusCreated)
	got, err = get(nil)
	require.NoError(t, err)
	assert.Equal(t, "Newest.", got.Messages[0].Content.(*mcp.TextContent).Text)
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, "/v1/prompts/"+prompt.Id.String()+"/aliases", `{"alias":"production","version":1}`, as), http.StatusCreated)
	got, err = get(map[string]string{"ticket": "t"})
	require.NoError(t, err)
	assert.Equal(t, "Route t with 3.", got.Messages[0].Content.(*mcp.TextContent).Text)

	// A key without the scope has no prompts.
	other := apitest.ConnectMCP(t, server.URL+"/mcp", e.Mint(t, owner, project.Id, contract.ScopeRunsRead).Key)
	none, err := other.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, none.Prompts)
	_, err = other.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "support/triage"})
	require.ErrorContains(t, err, "This key lacks the scope prompts:read.")

	// There are more prompts than fit on a page.
	for i := range 101 {
		e.CreatePrompt(t, as, project.Id, fmt.Sprintf("many/%03d", i), "x")
	}
	names := map[string]bool{}
	for p, err := range client.Prompts(t.Context(), nil) {
		require.NoError(t, err)
		names[p.Name] = true
	}
	assert.Len(t, names, 102)
}
