package prompts_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

func TestImportPrompts(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	const file = `[
		{"name": "triage", "type": "chat", "version": 1, "prompt": [{"role": "system", "content": "Old {{a}}"}], "labels": [], "tags": ["support"], "config": {"model": "gpt-4o", "temperature": 0.5}},
		{"name": "triage", "type": "chat", "version": 2, "prompt": [{"role": "system", "content": "New {{a}}"}, {"type": "placeholder", "name": "history"}], "labels": ["production", "latest"], "tags": ["support"], "config": {}},
		{"name": "nested", "type": "text", "version": 1, "prompt": "@@@langfusePrompt:name=other|label=production@@@", "labels": [], "tags": [], "config": {}}
	]`
	ask := func(members map[string]any) contract.PromptImportReport {
		t.Helper()
		body := map[string]any{"project_id": project.Id, "content": file}
		for name, value := range members {
			body[name] = value
		}
		return apitest.Must[contract.PromptImportReport](t, e.Do(t, http.MethodPost, "/v1/prompts/_actions/import", body, as), http.StatusOK)
	}
	changes := func(r contract.PromptImportReport) (list []string) {
		for _, one := range r.Imported {
			list = append(list, strings.Join(append([]string{one.Name, string(one.Change)}, one.Aliases...), " "))
		}
		return list
	}
	planned := ask(map[string]any{"dry_run": true})
	assert.Equal(t, []string{"triage created", "triage new_version production"}, changes(planned))
	assert.Equal(t, contract.PromptImportFormatLangfuse, planned.Format)
	assert.Nil(t, planned.Imported[1].PromptId)
	require.Len(t, planned.Rejected, 1)
	assert.Equal(t, "nested version 1", planned.Rejected[0].SourceName)
	assert.Empty(t, apitest.Must[contract.PromptPage](t, e.Do(t, http.MethodGet, "/v1/prompts", nil, as), http.StatusOK).Data, "a dry run imports nothing")

	done := ask(nil)
	assert.Equal(t, changes(planned), changes(done))
	page := apitest.Must[contract.PromptPage](t, e.Do(t, http.MethodGet, "/v1/prompts", nil, as), http.StatusOK)
	require.Len(t, page.Data, 1)
	assert.Equal(t, []string{"support"}, page.Data[0].Tags)
	assert.Equal(t, 2, *page.Data[0].LatestVersion)
	first := apitest.Must[contract.PromptVersion](t, e.Do(t, http.MethodGet, "/v1/prompts/"+page.Data[0].Id.String()+"/versions/1", nil, as), http.StatusOK)
	assert.JSONEq(t, `{"model":"gpt-4o","temperature":0.5}`, string(first.ModelConfig))

	// Again, nothing changes. An alias that exists does not move.
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, "/v1/prompts/"+page.Data[0].Id.String()+"/aliases", `{"alias":"production","version":1}`, as), http.StatusOK)
	assert.Equal(t, []string{"triage unchanged", "triage unchanged"}, changes(ask(nil)))
	alias := apitest.Must[contract.PromptAliasWithVersion](t, e.Do(t, http.MethodGet, "/v1/prompts/"+page.Data[0].Id.String()+"/aliases/production", nil, as), http.StatusOK)
	assert.Equal(t, 1, alias.Version)

	for content, message := range map[string]string{"{": "line 1", "hello": "", `{"a":1}`: "OpenAI", " ": "empty"} {
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/prompts/_actions/import", map[string]any{"project_id": project.Id, "content": content}, as), http.StatusUnprocessableEntity)
		assert.Equal(t, "body.content", (*refused.Errors)[0].Location)
		assert.Contains(t, (*refused.Errors)[0].Message, message)
	}
}

// TestConcurrentImports imports the same prompts in opposite orders. Neither waits for the other for ever.
func TestConcurrentImports(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	for round := range 5 {
		var forward []any
		for i := range 40 {
			forward = append(forward, map[string]any{
				"name": fmt.Sprint("p", i), "type": "text", "version": 1, "prompt": fmt.Sprint("Text ", round), "labels": []any{}, "tags": []any{}, "config": map[string]any{},
			})
		}
		backward := slices.Clone(forward)
		slices.Reverse(backward)
		var imports sync.WaitGroup
		for _, file := range [][]any{forward, backward} {
			text, err := json.Marshal(file)
			require.NoError(t, err)
			imports.Go(func() {
				w := e.Do(t, http.MethodPost, "/v1/prompts/_actions/import", map[string]any{"project_id": project.Id, "content": string(text)}, apitest.Cookie(owner))
				assert.Equal(t, http.StatusOK, w.Code, w.Body.String())
			})
		}
		imports.Wait()
	}
}
