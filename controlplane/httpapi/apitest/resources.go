package apitest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// CreateDataset creates a dataset with items whose keys and inputs are the names.
func (e *Env) CreateDataset(t *testing.T, as Option, project uuid.UUID, name string, items ...string) contract.Dataset {
	t.Helper()
	created := Must[contract.Dataset](t, e.Do(t, http.MethodPost, "/v1/datasets", map[string]any{"project_id": project, "name": name}, as), http.StatusCreated)
	if len(items) > 0 {
		e.WriteItems(t, as, created.Id, "append", items...)
	}
	return Must[contract.Dataset](t, e.Do(t, http.MethodGet, "/v1/datasets/"+created.Id.String(), nil, as), http.StatusOK)
}

// WriteItems writes items that are given as key=input, or as a key that is its own input.
func (e *Env) WriteItems(t *testing.T, as Option, dataset uuid.UUID, mode string, items ...string) contract.DatasetWritten {
	t.Helper()
	list := make([]any, len(items))
	for i, item := range items {
		key, input, _ := strings.Cut(item, "=")
		if input == "" {
			input = key
		}
		list[i] = map[string]any{"key": key, "input": input}
	}
	w := e.Do(t, http.MethodPost, "/v1/datasets/"+dataset.String()+"/items", map[string]any{"mode": mode, "items": list}, as)
	return Must[contract.DatasetWritten](t, w, http.StatusCreated)
}

// SendFile uploads a file to import. query begins with a question mark, or is empty.
func (e *Env) SendFile(t *testing.T, as Option, dataset uuid.UUID, query, mediaType, file string) contract.Import {
	t.Helper()
	w := e.Do(t, http.MethodPost, "/v1/datasets/"+dataset.String()+"/imports"+query, file, as, Header("Content-Type", mediaType))
	started := Must[contract.Import](t, w, http.StatusCreated)
	assert.Equal(t, "/v1/imports/"+started.Id.String(), w.Header().Get("Location"))
	return started
}

// TypeCSV is the media type of CSV.
const TypeCSV = "text/csv"

// CheckNearDuplicates asks for a check of a dataset.
func (e *Env) CheckNearDuplicates(t *testing.T, as Option, dataset uuid.UUID, body string, status int) contract.NearDuplicateCheck {
	t.Helper()
	return Must[contract.NearDuplicateCheck](t, e.Do(t, http.MethodPost, "/v1/datasets/"+dataset.String()+"/near-duplicates/_actions/check", body, as), status)
}

// CompletionBody returns the body of a completion. more has members that replace or follow the others.
func CompletionBody(project, connection uuid.UUID, model, more string) string {
	body := fmt.Sprintf(`{"project_id":%q,"provider_id":%q`, project, connection)
	if !strings.Contains(more, `"messages"`) && !strings.Contains(more, `"prompt"`) {
		body += `,"messages":[{"role":"user","content":"What is the capital of France?"}]`
	}
	if !strings.Contains(more, `"model_config"`) {
		body += fmt.Sprintf(`,"model_config":{"model":%q}`, model)
	}
	return body + more + "}"
}

// Complete calls a model.
func (e *Env) Complete(t *testing.T, as Option, project, connection uuid.UUID, model, more string) contract.Completion {
	t.Helper()
	return Must[contract.Completion](t, e.Do(t, http.MethodPost, "/v1/playground/completions", CompletionBody(project, connection, model, more), as), http.StatusOK)
}

// WeatherTool is the definition of a tool.
const WeatherTool = `{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}`

// PromptVersion returns the body of a version with one system message.
func PromptVersion(text string) map[string]any {
	return map[string]any{"messages": []any{map[string]any{"role": "system", "content": text}}}
}

// CreatePrompt creates a prompt with one version for each text.
func (e *Env) CreatePrompt(t *testing.T, as Option, project uuid.UUID, name string, texts ...string) contract.Prompt {
	t.Helper()
	created := Must[contract.Prompt](t, e.Do(t, http.MethodPost, "/v1/prompts", map[string]any{"project_id": project, "name": name}, as), http.StatusCreated)
	for _, text := range texts {
		Must[contract.PromptVersionEntry](t, e.Do(t, http.MethodPost, "/v1/prompts/"+created.Id.String()+"/versions", PromptVersion(text), as), http.StatusCreated)
	}
	return Must[contract.Prompt](t, e.Do(t, http.MethodGet, "/v1/prompts/"+created.Id.String(), nil, as), http.StatusOK)
}

// Connect creates a connection to a scripted provider. more has members of the request.
func (e *Env) Connect(t *testing.T, as Option, project uuid.UUID, kind string, server *provider.Server, more string) contract.Provider {
	t.Helper()
	address := server.URL
	if kind == "openai" {
		address += "/v1"
	}
	body := fmt.Sprintf(`{"project_id":%q,"name":%q,"kind":%q,"base_url":%q,"api_key":%q%s}`, project, kind+" "+uuid.NewString()[:8], kind, address, server.Key, more)
	return Must[contract.Provider](t, e.Do(t, http.MethodPost, "/v1/providers", body, as), http.StatusCreated)
}

// Price gives a model of the scripted provider a price: a dollar for a million tokens of input, and 10 for output.
func (e *Env) Price(t *testing.T, as Option, project uuid.UUID, model string) {
	t.Helper()
	path := "/v1/projects/" + project.String() + "/prices"
	Must[contract.Price](t, e.Do(t, http.MethodPost, path, contract.PriceWrite{Model: model, Input: 1, Output: 10}, as), http.StatusCreated)
}

// InAnHour is a time of an API, an hour from now.
func InAnHour(e *Env) string { return e.Clock.Now().Add(time.Hour).UTC().Format(time.RFC3339) }
