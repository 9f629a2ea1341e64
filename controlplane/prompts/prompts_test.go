package prompts_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

func TestPrompts(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	viewer := apitest.Cookie(e.AddMember(t, "vic@example.com", "viewer", project.OrganizationId))
	w := e.Do(t, http.MethodPost, "/v1/prompts", map[string]any{
		"project_id": project.Id, "name": "support/triage", "description": "Routes tickets.", "tags": []string{"support", " support ", "b"},
		"version": map[string]any{"messages": []any{
			map[string]any{"role": "system", "content": "You help {{product}}."},
			map[string]any{"type": "placeholder", "name": "history"},
		}, "note": "First"},
	}, as)
	triage := apitest.Must[contract.Prompt](t, w, http.StatusCreated)
	assert.Equal(t, "/v1/prompts/"+triage.Id.String(), w.Header().Get("Location"))
	assert.Equal(t, []string{"support", "b"}, triage.Tags)
	require.NotNil(t, triage.LatestVersion)
	assert.Equal(t, 1, *triage.LatestVersion)
	assert.Equal(t, "ann@example.com", *triage.CreatedBy.Email)
	assert.Empty(t, triage.Aliases)
	assert.Equal(t, "name_taken", apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/prompts", map[string]any{"project_id": project.Id, "name": "support/triage"}, as), http.StatusConflict).Code)

	// Nothing is created with an invalid version.
	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/prompts", map[string]any{"project_id": project.Id, "name": "x", "version": apitest.PromptVersion("a\n {{#b}}")}, as), http.StatusUnprocessableEntity)
	require.Len(t, *refused.Errors, 1)
	assert.Equal(t, "body.version.messages[0].content", (*refused.Errors)[0].Location)
	assert.Equal(t, "line 2, column 2: the section b is not closed", (*refused.Errors)[0].Message)
	for _, name := range []string{"a//b", "a/", "/a", "", "a b", strings.Repeat("a", 129), "ä"} {
		apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/prompts", map[string]any{"project_id": project.Id, "name": name}, as), http.StatusUnprocessableEntity)
	}

	byKey := e.CreatePrompt(t, apitest.Bearer(e.Mint(t, owner, project.Id, contract.ScopePromptsRead, contract.ScopePromptsWrite).Key), project.Id, "support/email/greet")
	assert.Nil(t, byKey.CreatedBy.Email)
	assert.NotNil(t, byKey.CreatedBy.Key)
	assert.Nil(t, byKey.LatestVersion)
	e.CreatePrompt(t, as, project.Id, "top_1", "100%")
	list := func(query string) (names []string, page contract.PromptPage) {
		t.Helper()
		page = apitest.Must[contract.PromptPage](t, e.Do(t, http.MethodGet, "/v1/prompts?project_id="+project.Id.String()+query, nil, viewer), http.StatusOK)
		names = []string{}
		for i := range page.Data {
			names = append(names, page.Data[i].Name)
		}
		return names, page
	}
	names, page := list("")
	assert.Equal(t, []string{"support/email/greet", "support/triage", "top_1"}, names)
	assert.Empty(t, page.Folders)
	names, page = list("&folder=/")
	assert.Equal(t, []string{"top_1"}, names)
	assert.Equal(t, []contract.PromptFolder{{Name: "support", Prompts: 2}}, page.Folders)
	names, page = list("&folder=support")
	assert.Equal(t, []string{"support/triage"}, names)
	assert.Equal(t, []contract.PromptFolder{{Name: "support/email", Prompts: 1}}, page.Folders)
	for query, want := range map[string][]string{
		"&search=TRIAGE": {"support/triage"}, "&search=tickets": {"support/triage"}, "&search=p_1": {"top_1"}, "&search=%25": {},
		"&name=support/triage": {"support/triage"}, "&name=support": {}, "&tag=b": {"support/triage"}, "&tag=c": {},
	} {
		names, _ = list(query)
		assert.Equal(t, want, names, query)
	}
	names, page = list("&limit=2")
	assert.Len(t, names, 2)
	assert.True(t, page.HasMore)
	apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/prompts?folder=/&tag=b", nil, as), http.StatusUnprocessableEntity)

	path := "/v1/prompts/" + triage.Id.String()
	updated := apitest.Must[contract.Prompt](t, e.Do(t, http.MethodPatch, path, `{"tags":[]}`, as), http.StatusOK)
	assert.Empty(t, updated.Tags)
	assert.Equal(t, "Routes tickets.", updated.Description)
	for _, r := range []struct {
		method, path string
		body         any
	}{
		{http.MethodPost, "/v1/prompts", map[string]any{"project_id": project.Id, "name": "y"}},
		{http.MethodPatch, path, `{"description":"x"}`},
		{http.MethodDelete, path, nil},
		{http.MethodPost, path + "/versions", apitest.PromptVersion("x")},
		{http.MethodPost, path + "/aliases", `{"alias":"a","version":1}`},
	} {
		assert.Equal(t, http.StatusForbidden, e.Do(t, r.method, r.path, r.body, viewer).Code, r.method+" "+r.path)
	}

	// Protected aliases keep a prompt.
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, path+"/aliases", `{"alias":"production","version":1}`, as), http.StatusCreated)
	apitest.Must[contract.PromptAlias](t, e.Do(t, http.MethodPatch, path+"/aliases/production", `{"protected":true}`, as), http.StatusOK)
	assert.Equal(t, "alias_protected", apitest.WantProblem(t, e.Do(t, http.MethodDelete, path, nil, as), http.StatusConflict).Code)
	apitest.Must[contract.PromptAlias](t, e.Do(t, http.MethodPatch, path+"/aliases/production", `{"protected":false}`, as), http.StatusOK)
	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path, nil, as).Code)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodGet, path, nil, as).Code)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodDelete, path, nil, as).Code)

	// A deleted project takes its prompts with it.
	_, err := e.DB.Exec(t.Context(), "DELETE FROM projects WHERE id = $1", project.Id)
	require.NoError(t, err)
	var left int
	require.NoError(t, e.DB.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM prompts) + (SELECT count(*) FROM prompt_versions) + (SELECT count(*) FROM prompt_alias_changes)").Scan(&left))
	assert.Zero(t, left)
}

func TestPromptVersions(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	prompt := e.CreatePrompt(t, as, project.Id, "triage")
	path := "/v1/prompts/" + prompt.Id.String() + "/versions"

	first := `{"messages":[{"role":"system","content":"Hi {{user.name}} {{#items}}{{label}}{{/items}}"}],
		"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}],
		"response_format":{"type":"json_object"},"model_config":{"model":"gpt-4o","temperature":0.20},"note":"one"}`
	w := e.Do(t, http.MethodPost, path, first, as)
	v1 := apitest.Must[contract.PromptVersionEntry](t, w, http.StatusCreated)
	assert.Equal(t, path+"/1", w.Header().Get("Location"))
	assert.Equal(t, 1, v1.Version)
	assert.Contains(t, w.Body.String(), `"properties":{"z":{},"a":{}}`, "the order of members counts for models")
	assert.JSONEq(t, `{"user":{"type":"any","required":true},"items":{"type":"any","required":true},"label":{"type":"any","required":true}}`, string(v1.Variables))
	assert.Len(t, v1.ContentHash, 64)

	// The same content in another order of the members of a message is the same version.
	same := apitest.Must[contract.PromptVersionEntry](t, e.Do(t, http.MethodPost, path, strings.Replace(strings.Replace(first, `"note":"one"`, `"note":"two"`, 1),
		`{"role":"system","content":"Hi {{user.name}} {{#items}}{{label}}{{/items}}"}`, `{ "content":"Hi {{user.name}} {{#items}}{{label}}{{/items}}", "role":"system" }`, 1), as), http.StatusOK)
	assert.Equal(t, v1, same)
	// In tools it is another one.
	reordered := apitest.Must[contract.PromptVersionEntry](t, e.Do(t, http.MethodPost, path, strings.Replace(first, `"z":{},"a":{}`, `"a":{},"z":{}`, 1), as), http.StatusCreated)
	assert.Equal(t, 2, reordered.Version)

	assert.Equal(t, "stale_base_version", apitest.WantProblem(t, e.Do(t, http.MethodPost, path, map[string]any{"messages": apitest.PromptVersion("x")["messages"], "base_version": 1}, as), http.StatusConflict).Code)
	apitest.Must[contract.PromptVersionEntry](t, e.Do(t, http.MethodPost, path, map[string]any{"messages": apitest.PromptVersion("x")["messages"], "base_version": 2}, as), http.StatusCreated)
	assert.Equal(t, 3, apitest.Must[contract.PromptVersionEntry](t, e.Do(t, http.MethodPost, path, map[string]any{"messages": apitest.PromptVersion("x")["messages"], "base_version": 2}, as), http.StatusOK).Version,
		"a retry finds what it saved")

	page := apitest.Must[contract.PromptVersionPage](t, e.Do(t, http.MethodGet, path+"?limit=2", nil, as), http.StatusOK)
	require.Len(t, page.Data, 2)
	assert.Equal(t, []int{3, 2}, []int{page.Data[0].Version, page.Data[1].Version})
	assert.True(t, page.HasMore)

	w = e.Do(t, http.MethodGet, path+"/1", nil, as)
	read := apitest.Must[contract.PromptVersion](t, w, http.StatusOK)
	assert.Equal(t, v1.ContentHash, read.ContentHash)
	assert.Equal(t, "private, max-age=31536000, immutable", w.Header().Get("Cache-Control"))
	assert.Equal(t, "Authorization, Cookie, Looptrace-Session-Secret, X-Api-Key", w.Header().Get("Vary"), "another user of the browser asks anew")
	assert.NotContains(t, w.Body.String(), "aliases", "aliases change")
	again := e.Do(t, http.MethodGet, path+"/1", nil, as, apitest.Header("If-None-Match", w.Header().Get("ETag")))
	assert.Equal(t, http.StatusNotModified, again.Code)
	assert.Equal(t, w.Header().Get("ETag"), again.Header().Get("ETag"))
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodGet, path+"/9", nil, as).Code)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodGet, path+"/latest", nil, as).Code)

	diff := apitest.Must[contract.PromptDiff](t, e.Do(t, http.MethodGet, path+"/1/diff/3", nil, as), http.StatusOK)
	var changes []string
	for _, c := range diff.Changes {
		changes = append(changes, string(c.Change)+" "+c.Path)
	}
	assert.Equal(t, []string{
		"changed messages[0].content", "removed tools[f]", "removed response_format", "removed model_config.model", "removed model_config.temperature",
		"removed variables.items", "removed variables.label", "removed variables.user",
	}, changes)
	assert.JSONEq(t, `"x"`, string(diff.Changes[0].After))
	assert.Equal(t, "null", string(diff.Changes[1].After))
}

func TestPromptVersionIsChecked(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	path := "/v1/prompts/" + e.CreatePrompt(t, apitest.Cookie(owner), project.Id, "p").Id.String() + "/versions"
	for _, c := range []struct{ body, location, message string }{
		{`{"messages":[]}`, "body.messages", ""},
		{`{"messages":["x"]}`, "body.messages[0]", ""},
		{`{"messages":[{"content":"x"}]}`, "body.messages[0].role", "must be one of"},
		{`{"messages":[{"role":"bot","content":"x"}]}`, "body.messages[0].role", "must be one of"},
		{`{"messages":[{"role":"user"}]}`, "body.messages[0].content", "must be a text"},
		{`{"messages":[{"role":"user","content":1}]}`, "body.messages[0].content", "must be of type string or array or null"},
		{`{"messages":[{"role":"user","content":["x"]}]}`, "body.messages[0].content[0]", "must be an object"},
		{`{"messages":[{"role":"user","content":[{"text":"x"}]}]}`, "body.messages[0].content[0].type", "must be the type"},
		{`{"messages":[{"role":"user","content":[{"type":"text"}]}]}`, "body.messages[0].content[0].text", "must be a text"},
		{`{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, "body.messages[0].content[0].image_url.url", "must be a text"},
		{`{"messages":[{"role":"tool","content":"x"}]}`, "body.messages[0].tool_call_id", "is needed"},
		{`{"messages":[{"role":"user","content":"x","tool_calls":[]}]}`, "body.messages[0].tool_calls", "only for the role assistant"},
		{`{"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{}}}]}]}`, "body.messages[0].tool_calls[0]", "must have the form"},
		{`{"messages":[{"type":"placeholder"}]}`, "body.messages[0].name", "must be the name"},
		{`{"messages":[{"type":"placeholder","name":"h","role":"user"}]}`, "body.messages[0].role", "is not a member"},
		{`{"messages":[{"type":"placeholder","name":"h"},{"role":"user","content":"{{h.x}}"}]}`, "body.messages[0].name", "is also the name of a variable"},
		{`{"messages":[{"role":"user","content":"{{> x}}"}]}`, "body.messages[0].content", "line 1, column 1: partials"},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":"{{a"}]}]}`, "body.messages[0].content[0].text", "line 1, column 1: the tag is not closed"},
		{`{"messages":[{"role":"user","content":"x"}],"tools":[{}]}`, "body.tools[0].type", "must be the type"},
		{`{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function"}]}`, "body.tools[0].function.name", "is needed"},
		{`{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]}`, "body.tools[1].function.name", "another tool"},
		{`{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema"}}`, "body.response_format.json_schema.name", "is needed"},
		{`{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":[]}}}`, "body.response_format.json_schema.schema", "must be a JSON Schema"},
		{`{"messages":[{"role":"user","content":"x"}],"model_config":{"temprature":1}}`, "body.model_config.temprature", ""},
		{`{"messages":[{"role":"user","content":"x"}],"variables":{"a b":{}}}`, "body.variables.a b", "is not a name"},
		{`{"messages":[{"role":"user","content":"x"}],"variables":{"a.b":{}}}`, "body.variables.a.b", "is not a name"},
		{`{"messages":[{"role":"user","content":"x"}],"variables":{"a":{"type":"number","default":"1"}}}`, "body.variables.a.default", "must be of the type number"},
		{`{"messages":[{"role":"user","content":"x"}],"note":"a\u0000b"}`, "body.note", "control characters"},
	} {
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, path, c.body, apitest.Cookie(owner)), http.StatusUnprocessableEntity)
		if assert.NotNil(t, refused.Errors, c.body) && assert.NotEmpty(t, *refused.Errors, c.body) {
			assert.Equal(t, c.location, (*refused.Errors)[0].Location, c.body)
			assert.Contains(t, (*refused.Errors)[0].Message, c.message, c.body)
		}
	}
	assert.Empty(t, apitest.Must[contract.PromptVersionPage](t, e.Do(t, http.MethodGet, path, nil, apitest.Cookie(owner)), http.StatusOK).Data)
	// Every error is named at once.
	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, path, `{"messages":[{"role":"x"}],"tools":[{}]}`, apitest.Cookie(owner)), http.StatusUnprocessableEntity)
	assert.Len(t, *refused.Errors, 3)
}

func TestPromptRendering(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	prompt := e.CreatePrompt(t, as, project.Id, "triage")
	path := "/v1/prompts/" + prompt.Id.String() + "/versions"
	content := map[string]any{
		"messages": []any{
			map[string]any{"role": "system", "content": "You help {{product}} in a {{tone}} tone."},
			map[string]any{"type": "placeholder", "name": "history"},
		},
		"variables":    map[string]any{"tone": map[string]any{"type": "string", "default": "calm"}},
		"model_config": map[string]any{"model": "gpt-4o"},
	}
	apitest.Must[contract.PromptVersionEntry](t, e.Do(t, http.MethodPost, path, content, as), http.StatusCreated)
	values := map[string]any{
		"variables": map[string]any{"product": "{{tone}}", "more": 1}, "placeholders": map[string]any{"history": []any{map[string]any{"role": "user", "content": "{{x}}"}}},
	}
	rendered := apitest.Must[contract.RenderedPrompt](t, e.Do(t, http.MethodPost, path+"/1/render", values, as), http.StatusOK)
	text, err := json.Marshal(rendered.Messages)
	require.NoError(t, err)
	assert.JSONEq(t, `[{"role":"system","content":"You help {{tone}} in a calm tone."},{"role":"user","content":"{{x}}"}]`, string(text))
	assert.Equal(t, []string{"more"}, rendered.Unused)
	assert.Greater(t, rendered.Tokens, 15)
	assert.Less(t, rendered.Tokens, 40)
	assert.Equal(t, "o200k_base", rendered.Tokenizer)

	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"/1/render", `{"variables":{"tone":1}}`, as), http.StatusUnprocessableEntity)
	var fields []string
	for _, f := range *refused.Errors {
		fields = append(fields, f.Location+" "+f.Message)
	}
	assert.Equal(t, []string{"body.variables.product is missing", "body.placeholders.history is missing", "body.variables.tone must be of the type string"}, fields)
	refused = apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"/1/render", `{"variables":{"product":9007199254740993},"placeholders":{"history":[]}}`, as), http.StatusUnprocessableEntity)
	assert.Contains(t, (*refused.Errors)[0].Message, "2^53")
	refused = apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"/1/render", `{"placeholders":{"history":[{"role":"x"}]}}`, as), http.StatusUnprocessableEntity)
	assert.Equal(t, "body.placeholders.history.messages[0].role", (*refused.Errors)[0].Location)

	refused = apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/prompts/_actions/render", map[string]any{
		"project_id": project.Id, "version": apitest.PromptVersion(strings.Repeat("{{a}}", 10_000)), "variables": map[string]any{"a": strings.Repeat("x", 10_000)},
	}, as), http.StatusUnprocessableEntity)
	assert.Contains(t, (*refused.Errors)[0].Message, "16 MiB")

	// A draft renders the same and shows the variables of its texts.
	draft := apitest.Must[contract.RenderedPrompt](t, e.Do(t, http.MethodPost, "/v1/prompts/_actions/render", map[string]any{
		"project_id": project.Id, "version": content, "variables": values["variables"], "placeholders": values["placeholders"],
	}, as), http.StatusOK)
	assert.Equal(t, rendered, draft)
	refused = apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/prompts/_actions/render", map[string]any{"project_id": project.Id, "version": apitest.PromptVersion("{{#a}}")}, as), http.StatusUnprocessableEntity)
	assert.Equal(t, "body.version.messages[0].content", (*refused.Errors)[0].Location)
}

func TestPromptAliases(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	member := apitest.Cookie(e.AddMember(t, "mia@example.com", "member", project.OrganizationId))
	prompt := e.CreatePrompt(t, as, project.Id, "triage", "one", "two", "three")
	path := "/v1/prompts/" + prompt.Id.String() + "/aliases"
	move := func(as apitest.Option, version int, status int, options ...apitest.Option) *httptest.ResponseRecorder {
		t.Helper()
		w := e.Do(t, http.MethodPost, path, map[string]any{"alias": "production", "version": version}, append(options, as)...)
		require.Equal(t, status, w.Code, w.Body.String())
		return w
	}
	w := move(member, 1, http.StatusCreated, apitest.Header("If-Match", `"0"`))
	assert.Equal(t, path+"/production", w.Header().Get("Location"))
	created := apitest.Must[contract.PromptAliasMoved](t, w, http.StatusCreated)
	assert.Nil(t, created.PreviousVersion)
	assert.Equal(t, `"1"`, created.Etag)
	assert.Equal(t, "mia@example.com", *created.UpdatedBy.Email)
	moved := apitest.Must[contract.PromptAliasMoved](t, move(as, 2, http.StatusOK, apitest.Header("If-Match", created.Etag)), http.StatusOK)
	assert.Equal(t, 1, *moved.PreviousVersion)
	assert.Equal(t, `"2"`, moved.Etag)
	assert.Equal(t, "alias_moved", apitest.WantProblem(t, move(as, 3, http.StatusPreconditionFailed, apitest.Header("If-Match", created.Etag)), http.StatusPreconditionFailed).Code)
	assert.Equal(t, "alias_moved", apitest.WantProblem(t, move(as, 3, http.StatusPreconditionFailed, apitest.Header("If-Match", `"0"`)), http.StatusPreconditionFailed).Code)
	assert.Equal(t, `"2"`, apitest.Must[contract.PromptAliasMoved](t, move(as, 2, http.StatusOK), http.StatusOK).Etag, "nothing moved")
	move(as, 9, http.StatusUnprocessableEntity)
	apitest.WantProblem(t, e.Do(t, http.MethodPost, path, `{"alias":"latest","version":1}`, as), http.StatusUnprocessableEntity)
	apitest.WantProblem(t, e.Do(t, http.MethodPost, path, `{"alias":"a/b","version":1}`, as), http.StatusUnprocessableEntity)

	w = e.Do(t, http.MethodGet, path+"/production", nil, as)
	read := apitest.Must[contract.PromptAliasWithVersion](t, w, http.StatusOK)
	assert.Equal(t, 2, read.PromptVersion.Version)
	assert.Equal(t, moved.Etag, w.Header().Get("ETag"))
	assert.Equal(t, "private, max-age=5", w.Header().Get("Cache-Control"))
	assert.Equal(t, http.StatusNotModified, e.Do(t, http.MethodGet, path+"/production", nil, as, apitest.Header("If-None-Match", moved.Etag)).Code)
	assert.Equal(t, 3, apitest.Must[contract.PromptAliasWithVersion](t, e.Do(t, http.MethodGet, path+"/latest", nil, as), http.StatusOK).Version)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodGet, path+"/staging", nil, as).Code)
	versions := apitest.Must[contract.PromptVersionPage](t, e.Do(t, http.MethodGet, "/v1/prompts/"+prompt.Id.String()+"/versions", nil, as), http.StatusOK)
	assert.Equal(t, []string{"production"}, versions.Data[1].Aliases)
	assert.Empty(t, versions.Data[0].Aliases)

	// Only an admin moves and protects a protected alias.
	assert.Equal(t, "scope_missing", apitest.WantProblem(t, e.Do(t, http.MethodPatch, path+"/production", `{"protected":true}`, member), http.StatusForbidden).Code)
	protected := apitest.Must[contract.PromptAlias](t, e.Do(t, http.MethodPatch, path+"/production", `{"protected":true}`, as), http.StatusOK)
	assert.Equal(t, `"3"`, protected.Etag)
	assert.Equal(t, "alias_protected", apitest.WantProblem(t, move(member, 3, http.StatusForbidden), http.StatusForbidden).Code)
	move(as, 3, http.StatusOK, apitest.Header("If-Match", `"3"`))
	assert.Equal(t, "alias_protected", apitest.WantProblem(t, e.Do(t, http.MethodDelete, path+"/production", nil, as), http.StatusConflict).Code)
	apitest.Must[contract.PromptAlias](t, e.Do(t, http.MethodPatch, path+"/production", `{"protected":false}`, as), http.StatusOK)
	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path+"/production", nil, member).Code)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodDelete, path+"/production", nil, member).Code)
	recreated := apitest.Must[contract.PromptAliasMoved](t, move(member, 1, http.StatusCreated), http.StatusCreated)
	assert.Equal(t, `"7"`, recreated.Etag, "ETags are never used twice")

	page := apitest.Must[contract.PromptAliasChangePage](t, e.Do(t, http.MethodGet, path+"/production/history", nil, as), http.StatusOK)
	var changes []string
	for _, c := range page.Data {
		from, to := "-", "-"
		if c.FromVersion != nil {
			from = strconv.Itoa(*c.FromVersion)
		}
		if c.ToVersion != nil {
			to = strconv.Itoa(*c.ToVersion)
		}
		changes = append(changes, fmt.Sprint(c.Change, " ", from, " ", to))
	}
	assert.Equal(t, []string{"created - 1", "deleted 3 -", "unprotected 3 3", "moved 2 3", "protected 2 2", "moved 1 2", "created - 1"}, changes)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodGet, path+"/staging/history", nil, as).Code)
}

// TestConcurrentAliasMoves moves one alias from many sides. Every move that was answered 200 is in the history, with
// nothing between what it read and what it wrote.
func TestConcurrentAliasMoves(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	texts := make([]string, 51)
	for i := range texts {
		texts[i] = "text " + strconv.Itoa(i)
	}
	prompt := e.CreatePrompt(t, as, project.Id, "p", texts...)
	path := "/v1/prompts/" + prompt.Id.String() + "/aliases"
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, path, `{"alias":"production","version":51}`, as), http.StatusCreated)
	var (
		movers sync.WaitGroup
		mu     sync.Mutex
		moves  = map[[2]int]bool{}
		lost   int
	)
	for i := range 50 {
		movers.Go(func() {
			for range 200 {
				read := e.Do(t, http.MethodGet, path+"/production", nil, as)
				w := e.Do(t, http.MethodPost, path, map[string]any{"alias": "production", "version": i + 1}, as, apitest.Header("If-Match", read.Header().Get("ETag")))
				if w.Code == http.StatusPreconditionFailed {
					mu.Lock()
					lost++
					mu.Unlock()
					continue
				}
				var moved contract.PromptAliasMoved
				if assert.Equal(t, http.StatusOK, w.Code, w.Body.String()) && assert.NoError(t, json.Unmarshal(w.Body.Bytes(), &moved)) {
					mu.Lock()
					moves[[2]int{*moved.PreviousVersion, moved.Version}] = true
					mu.Unlock()
				}
				return
			}
			t.Error("a mover never moved the alias")
		})
	}
	movers.Wait()
	history := apitest.Must[contract.PromptAliasChangePage](t, e.Do(t, http.MethodGet, path+"/production/history?limit=500", nil, as), http.StatusOK)
	require.Len(t, history.Data, 51)
	require.Len(t, moves, 50)
	for i, c := range history.Data[:50] {
		assert.True(t, moves[[2]int{*c.FromVersion, *c.ToVersion}])
		assert.Equal(t, history.Data[i+1].ToVersion, c.FromVersion)
	}
	t.Log("moves refused meanwhile:", lost)
}

// TestConcurrentPromptVersions saves versions from many sides: none is lost, and numbers have no gaps.
func TestConcurrentPromptVersions(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	prompt := e.CreatePrompt(t, apitest.Cookie(owner), project.Id, "p")
	path := "/v1/prompts/" + prompt.Id.String() + "/versions"
	var savers sync.WaitGroup
	for i := range 30 {
		savers.Go(func() {
			w := e.Do(t, http.MethodPost, path, apitest.PromptVersion("text "+strconv.Itoa(i/2)), apitest.Cookie(owner))
			assert.Contains(t, []int{http.StatusOK, http.StatusCreated}, w.Code, w.Body.String())
		})
	}
	savers.Wait()
	page := apitest.Must[contract.PromptVersionPage](t, e.Do(t, http.MethodGet, path, nil, apitest.Cookie(owner)), http.StatusOK)
	require.Len(t, page.Data, 15)
	assert.Equal(t, 15, page.Data[0].Version)
}

// TestPromptVersionsNeverChange changes versions by hand. PostgreSQL refuses.
func TestPromptVersionsNeverChange(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	prompt := e.CreatePrompt(t, apitest.Cookie(owner), project.Id, "p", "one", "two")
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, "/v1/prompts/"+prompt.Id.String()+"/aliases", `{"alias":"a","version":1}`, apitest.Cookie(owner)), http.StatusCreated)
	for _, statement := range []string{
		"UPDATE prompt_versions SET messages = '[]'",
		"UPDATE prompt_versions SET note = note",
		"UPDATE prompt_versions SET created_by = NULL, note = 'x'",
		"UPDATE prompt_versions SET created_by = NULL, created_at = now()",
		"DELETE FROM prompt_versions",
		"UPDATE prompt_alias_changes SET to_version = 2",
		"DELETE FROM prompt_alias_changes",
	} {
		_, err := e.DB.Exec(t.Context(), statement)
		require.ErrorContains(t, err, "never change", statement)
	}
	// The author goes with the account.
	_, err := e.DB.Exec(t.Context(), "UPDATE prompt_versions SET created_by = NULL")
	require.NoError(t, err)
	read := apitest.Must[contract.PromptVersion](t, e.Do(t, http.MethodGet, "/v1/prompts/"+prompt.Id.String()+"/versions/1", nil, apitest.Cookie(owner)), http.StatusOK)
	assert.Equal(t, contract.Author{}, read.CreatedBy)
}

func TestResolvePrompt(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	prompt := e.CreatePrompt(t, as, project.Id, "support/triage", "one", "two", "three")
	path := "/v1/prompts/" + prompt.Id.String()
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, path+"/aliases", `{"alias":"production","version":1}`, as), http.StatusCreated)
	key := apitest.Bearer(e.Mint(t, owner, project.Id, contract.ScopePromptsRead).Key)
	resolve := func(query string, options ...apitest.Option) *httptest.ResponseRecorder {
		t.Helper()
		return e.Do(t, http.MethodGet, "/v1/prompts/resolve?name="+query, nil, append(options, key)...)
	}
	for query, want := range map[string]int{"support/triage": 3, "support/triage&alias=latest": 3, "support/triage&alias=production": 1, "support/triage&version=2": 2} {
		found := apitest.Must[contract.ResolvedPrompt](t, resolve(query), http.StatusOK)
		assert.Equal(t, want, found.PromptVersion.Version, query)
		assert.Equal(t, strings.Contains(query, "version"), found.Alias == nil, query)
	}
	for _, query := range []string{"support/triag", "support/triage&alias=staging", "support/triage&version=4", "support/triage&project_id=" + uuid.NewString()} {
		assert.Equal(t, http.StatusNotFound, resolve(query).Code, query)
	}
	apitest.WantProblem(t, resolve("support/triage&alias=a&version=1"), http.StatusUnprocessableEntity)
	first := resolve("support/triage&alias=production")
	tag := apitest.Header("If-None-Match", first.Header().Get("ETag"))
	assert.Equal(t, "private, max-age=5", first.Header().Get("Cache-Control"))
	assert.Equal(t, http.StatusNotModified, resolve("support/triage&alias=production", tag).Code)
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, path+"/aliases", `{"alias":"production","version":2}`, as), http.StatusOK)
	assert.Equal(t, 2, apitest.Must[contract.ResolvedPrompt](t, resolve("support/triage&alias=production", tag), http.StatusOK).PromptVersion.Version)

	// A person with several projects names one.
	e.CreateProject(t, owner, project.WorkspaceId, "Other")
	apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/prompts/resolve?name=support/triage", nil, as), http.StatusUnprocessableEntity)
	apitest.Must[contract.ResolvedPrompt](t, e.Do(t, http.MethodGet, "/v1/prompts/resolve?name=support/triage&project_id="+project.Id.String(), nil, as), http.StatusOK)
}

func TestPromptStream(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	server := httptest.NewServer(e.API)
	t.Cleanup(server.Close)
	key := e.Mint(t, owner, project.Id, contract.ScopePromptsRead)
	var s *apitest.Stream
	require.Eventually(t, func() bool { // it begins to listen in the background
		s = apitest.OpenStream(t, server.URL+"/v1/prompts/stream", apitest.Bearer(key.Key))
		return s.Status == http.StatusOK
	}, 10*time.Second, 50*time.Millisecond)
	assert.Equal(t, "ready", s.Next(t).Name)
	prompt := e.CreatePrompt(t, as, project.Id, "triage", "one", "two")
	path := "/v1/prompts/" + prompt.Id.String()
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, path+"/aliases", `{"alias":"production","version":1}`, as), http.StatusCreated)
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, path+"/aliases", `{"alias":"production","version":2}`, as), http.StatusOK)
	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path+"/aliases/production", nil, as).Code)
	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path, nil, as).Code)
	for _, want := range []string{`"latest","version":1`, `"latest","version":2`, `"production","version":1`, `"production","version":2`, `"production","version":null`, `null,"version":null`} {
		got := s.Next(t)
		assert.Equal(t, "alias", got.Name)
		assert.JSONEq(t, fmt.Sprintf(`{"project_id":%q,"prompt_id":%q,"name":"triage","alias":%s}`, project.Id, prompt.Id, want), got.Data)
	}

	// Connections to PostgreSQL that break end the streams, for what they miss is lost.
	_, err := e.DB.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN looptrace_prompts%'")
	require.NoError(t, err)
	end := s.Next(t)
	assert.Equal(t, "end", end.Name)
	assert.Contains(t, end.Data, "dependency_unavailable")
	require.Eventually(t, func() bool {
		again := apitest.OpenStream(t, server.URL+"/v1/prompts/stream", apitest.Bearer(key.Key))
		defer again.Close()
		return again.Status == http.StatusOK
	}, 10*time.Second, 50*time.Millisecond)
}
