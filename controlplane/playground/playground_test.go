package playground_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// sentEvent is a server-sent event of a completion.
type sentEvent struct{ name, data string }

// eventsOf reads the events of an answer.
func eventsOf(t *testing.T, w *httptest.ResponseRecorder) (list []sentEvent) {
	t.Helper()
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, "text/event-stream", w.Header().Get("Content-Type"))
	lines := bufio.NewScanner(w.Body)
	lines.Buffer(nil, 64<<20)
	var one sentEvent
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "" && one.name != "":
			list, one = append(list, one), sentEvent{}
		case strings.HasPrefix(line, "event: "):
			one.name = strings.TrimPrefix(line, "event: ")
		case strings.HasPrefix(line, "data: "):
			one.data = strings.TrimPrefix(line, "data: ")
		}
	}
	require.NoError(t, lines.Err())
	return list
}

// stream makes a streamed completion, and returns its events, the joined fragments, and the last event.
func stream(t *testing.T, e *apitest.Env, as apitest.Option, project, connection uuid.UUID, model, more string) (events []sentEvent, text, reasoning string, last sentEvent) {
	t.Helper()
	events = eventsOf(t, e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project, connection, model, more+`,"stream":true`), as))
	require.NotEmpty(t, events)
	require.Equal(t, "start", events[0].name)
	for _, one := range events {
		if one.name == "delta" {
			var d struct {
				Text      string `json:"text"`
				Reasoning string `json:"reasoning"`
			}
			require.NoError(t, json.Unmarshal([]byte(one.data), &d))
			text, reasoning = text+d.Text, reasoning+d.Reasoning
		}
	}
	return events, text, reasoning, events[len(events)-1]
}

func contentOf(t *testing.T, message json.RawMessage) string {
	t.Helper()
	var m struct {
		Content string `json:"content"`
	}
	require.NoError(t, json.Unmarshal(message, &m))
	return m.Content
}

const (
	answerSchema = `{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object","properties":{"city":{"type":"string"},"sure":{"type":"boolean"}},"required":["city","sure"],"additionalProperties":false}}}`
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	for _, kind := range []string{"openai", "anthropic"} {
		server := provider.Start(t, provider.Options{})
		made := e.Connect(t, as, project.Id, kind, server, "")
		done := e.Complete(t, as, project.Id, made.Id, "text", "")
		assert.Equal(t, "The capital of France is Paris. It lies on the Seine.", contentOf(t, done.Message))
		assert.Equal(t, contract.CompletionStopReasonFinished, done.StopReason)
		assert.Equal(t, "stop", *done.FinishReason)
		assert.Equal(t, "text", *done.Model)
		assert.Equal(t, 1, done.Rounds)
		assert.Equal(t, 1, done.Attempts)
		assert.NotNil(t, done.Usage.InputTokens)
		assert.Nil(t, done.TimeToFirstTokenMs)
		assert.Len(t, done.AddedMessages, 1)

		_, text, _, last := stream(t, e, as, project.Id, made.Id, "text", "")
		require.Equal(t, "done", last.name, last.data)
		var streamed contract.Completion
		require.NoError(t, json.Unmarshal([]byte(last.data), &streamed))
		assert.Equal(t, contentOf(t, done.Message), text)
		assert.JSONEq(t, string(done.Message), string(streamed.Message))
		assert.Equal(t, done.Usage, streamed.Usage)
		assert.NotNil(t, streamed.TimeToFirstTokenMs)

		thinking := `,"model_config":{"model":"reasoning-content"}`
		if kind == "anthropic" {
			thinking = `,"model_config":{"model":"reasoning","reasoning_effort":"low","max_output_tokens":4000}`
		}
		_, _, reasoning, last := stream(t, e, as, project.Id, made.Id, "", thinking)
		require.Equal(t, "done", last.name, last.data)
		assert.NotEmpty(t, reasoning)

		// Tools, a schema and a stream together.
		more := `,"tools":[` + apitest.WeatherTool + `],"response_format":` + answerSchema
		events, _, _, last := stream(t, e, as, project.Id, made.Id, "tool", more)
		require.Equal(t, "done", last.name, last.data)
		require.NoError(t, json.Unmarshal([]byte(last.data), &streamed))
		assert.Equal(t, contract.CompletionStopReasonToolCalls, streamed.StopReason, "it waits for the result")
		assert.Contains(t, string(streamed.Message), "get_weather")
		assert.True(t, hasToolDelta(events))

		// A fixed answer goes on.
		events, text, _, last = stream(t, e, as, project.Id, made.Id, "tool", more+`,"tool_answers":{"get_weather":{"content":"sunny"}}`)
		require.Equal(t, "done", last.name, last.data)
		require.NoError(t, json.Unmarshal([]byte(last.data), &streamed))
		assert.Equal(t, contract.CompletionStopReasonFinished, streamed.StopReason)
		assert.Equal(t, 2, streamed.Rounds)
		assert.Len(t, streamed.AddedMessages, 3)
		assert.NotEmpty(t, text)
		assert.Contains(t, fmt.Sprint(events), "tool_result")

		// Recorded answers are used up.
		again := e.Complete(t, as, project.Id, made.Id, "tool", `,"tools":[`+apitest.WeatherTool+`],"tool_answers":{"get_weather":{"recorded":[{"content":"rainy"}]}}`)
		assert.Contains(t, contentOf(t, again.Message), "rainy")

		structured := e.Complete(t, as, project.Id, made.Id, "text", `,"response_format":`+answerSchema)
		require.NotNil(t, structured.OutputStrategy)
		assert.Equal(t, contract.OutputStrategyNative, *structured.OutputStrategy)
		var answer struct {
			City *string
			Sure *bool
		}
		require.NoError(t, json.Unmarshal([]byte(contentOf(t, structured.Message)), &answer))
		assert.NotNil(t, answer.City)

		rounds := e.Complete(t, as, project.Id, made.Id, "text", `,"max_rounds":1`)
		assert.Equal(t, 1, rounds.Rounds)
	}
}

func hasToolDelta(events []sentEvent) bool {
	for _, one := range events {
		if one.name == "delta" && strings.Contains(one.data, `"tool_call"`) {
			return true
		}
	}
	return false
}

// TestCompletionOfPrompt renders a version of a prompt, with messages after it and parameters that win.
func TestCompletionOfPrompt(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	prompt := apitest.Must[contract.Prompt](t, e.Do(t, http.MethodPost, "/v1/prompts", fmt.Sprintf(`{"project_id":%q,"name":"capital","version":{
		"messages":[{"role":"system","content":"Answer in {{language}}."}],"model_config":{"model":"error-500","temperature":0.5}}}`, project.Id), as), http.StatusCreated)
	for _, named := range []string{`"name":"capital"`, `"name":"capital","version":1`, `"id":"` + prompt.Id.String() + `"`, `"id":"` + prompt.Id.String() + `","alias":"latest"`} {
		more := `,"prompt":{` + named + `},"variables":{"language":"French","question":"Where?"},"template_format":"mustache","messages":[{"role":"user","content":"{{question}}"}]`
		done := e.Complete(t, as, project.Id, made.Id, "echo", more)
		assert.Equal(t, "Where?", contentOf(t, done.Message), named)
		sent := server.Requests()
		var body struct {
			Temperature float64
			Messages    []struct{ Content string }
		}
		require.NoError(t, json.Unmarshal(sent[len(sent)-1].Body, &body))
		assert.InDelta(t, 0.5, body.Temperature, 1e-9)
		assert.Equal(t, "Answer in French.", body.Messages[0].Content)
	}
	// A null takes a parameter of the prompt away, and its other parameters in extra.
	e.Do(t, http.MethodPost, "/v1/prompts", fmt.Sprintf(`{"project_id":%q,"name":"set","version":{
		"messages":[{"role":"user","content":"Where?"}],"model_config":{"model":"no-temperature","temperature":0.5,"seed":3,"stop":["x"],"extra":{"user":"a"}}}}`, project.Id), as)
	refusedAs := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", fmt.Sprintf(`{"project_id":%q,"provider_id":%q,"prompt":{"name":"set"}}`, project.Id, made.Id), as), http.StatusUnprocessableEntity)
	assert.Equal(t, "body.model_config.temperature", (*refusedAs.Errors)[0].Location)
	e.Complete(t, as, project.Id, made.Id, "no-temperature", `,"messages":[{"role":"user","content":"And?"}],"prompt":{"name":"set"},"model_config":{"temperature":null,"stop":null,"extra":null}`)
	sent := server.Requests()
	var without map[string]any
	require.NoError(t, json.Unmarshal(sent[len(sent)-1].Body, &without))
	assert.NotContains(t, without, "temperature")
	assert.NotContains(t, without, "stop")
	assert.NotContains(t, without, "user")
	assert.InDelta(t, 3, without["seed"], 0)
	for _, bad := range []struct{ more, location string }{
		{`,"model_config":{"model":null}`, "body.model_config.model"},
		{`,"prompt":{"name":"capital"}`, "body.variables.language"},
		{`,"prompt":{"name":"none"}`, "body.prompt"},
		{`,"prompt":{}`, "body.prompt"},
		{`,"prompt":{"name":"capital","version":1,"alias":"latest"}`, "body.prompt"},
		{`,"messages":[{"role":"king","content":"a"}]`, "body.messages[0].role"},
		{`,"tools":[{"type":"function"}]`, "body.tools[0].function.name"},
		{`,"model_config":{}`, "body.model_config.model"},
		{`,"tool_answers":{"a":{}}`, "body.tool_answers.a"},
	} {
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, made.Id, "echo", bad.more), as), http.StatusUnprocessableEntity)
		require.NotNil(t, refused.Errors, bad.more)
		assert.Equal(t, bad.location, (*refused.Errors)[0].Location, bad.more)
	}
	// A prompt of another tenant is like none.
	other := e.AddMember(t, "bob@example.com", "owner", uuid.Nil)
	theirs := apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(other)), http.StatusOK).Projects[0]
	foreign := e.CreatePrompt(t, apitest.Cookie(other), theirs.Id, "foreign", "one")
	for _, named := range []string{`"id":"` + foreign.Id.String() + `"`, `"id":"` + apitest.NoSuchID + `"`, `"name":"foreign"`} {
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, made.Id, "echo", `,"prompt":{`+named+`}`), as), http.StatusUnprocessableEntity)
		assert.Equal(t, "is no version of a prompt of the project", (*refused.Errors)[0].Message)
	}
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeCompletionsWrite).Key)
	apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, made.Id, "echo", `,"prompt":{"name":"capital"}`), key), http.StatusForbidden)
	e.Complete(t, key, project.Id, made.Id, "text", "")
	reading := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeEvalsRead, contract.ScopePromptsWrite).Key)
	apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, made.Id, "text", ""), reading), http.StatusForbidden)
}

// TestCompletionErrors checks what a client gets for each failure of a provider, streamed and not.
func TestCompletionErrors(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	for _, kind := range []string{"openai", "anthropic"} {
		server := provider.Start(t, provider.Options{})
		midway := "provider_error"
		if kind == "anthropic" {
			midway = "provider_overloaded"
		}
		for _, test := range []struct {
			model, code string
			status      int
			streamed    bool // whether it fails only there
		}{
			{"error-401", "provider_key_refused", http.StatusBadGateway, false},
			{"error-403", "provider_permission_denied", http.StatusBadGateway, false},
			{"error-404", "model_not_found", http.StatusBadGateway, false},
			{"error-quota", "provider_quota_exceeded", http.StatusBadGateway, false},
			{"error-context", "context_length_exceeded", http.StatusUnprocessableEntity, false},
			{"no-temperature", "parameter_refused", http.StatusUnprocessableEntity, false},
			{"error-500", "provider_error", http.StatusBadGateway, false},
			{"error-529", "provider_overloaded", http.StatusBadGateway, false},
			{"cut", "provider_broken_answer", http.StatusBadGateway, true},
			{"reset", "provider_broken_answer", http.StatusBadGateway, true},
			{"error-stream", midway, http.StatusBadGateway, true},
			{"bad-json", "provider_broken_answer", http.StatusBadGateway, false},
			{"bad-sse", "provider_broken_answer", http.StatusBadGateway, true},
			{"bad-gateway", "provider_error", http.StatusBadGateway, false},
			{"redirect", "provider_broken_answer", http.StatusBadGateway, false},
		} {
			t.Run(kind+" "+test.model, func(t *testing.T) {
				t.Parallel()
				// A connection of its own: one failure does not slow the next down.
				made := e.Connect(t, as, project.Id, kind, server, "")
				more := fmt.Sprintf(`,"model_config":{"model":%q,"temperature":0.7}`, test.model)
				events, _, _, last := stream(t, e, as, project.Id, made.Id, test.model, more)
				require.Equal(t, "error", last.name, "%v", events)
				var streamed contract.Problem
				require.NoError(t, json.Unmarshal([]byte(last.data), &streamed))
				assert.Equal(t, test.code, streamed.Code, last.data)
				assert.Equal(t, test.status, streamed.Status)
				if test.streamed {
					return
				}
				w := e.Do(t, http.MethodPost, "/v1/playground/completions", apitest.CompletionBody(project.Id, made.Id, test.model, more), as)
				assert.Equal(t, test.code, apitest.WantProblem(t, w, test.status).Code, w.Body)
			})
		}
	}
}

// TestRetries has a provider that fails at first.
func TestRetries(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	failed := provider.Reply{Error: &provider.Error{Status: http.StatusInternalServerError, Type: "server_error", Message: "Try again."}}
	server.Next(failed, failed)
	done := e.Complete(t, as, project.Id, made.Id, "text", "")
	assert.Equal(t, 3, done.Attempts)
	assert.Equal(t, 1, done.Rounds)
	spending := apitest.Must[contract.Spending](t, e.Do(t, http.MethodGet, "/v1/spending?project_id="+project.Id.String()+"&end="+apitest.InAnHour(e), nil, as), http.StatusOK)
	assert.EqualValues(t, 3, spending.Total.CallCount)
	assert.EqualValues(t, 2, spending.Total.FailedCount)
}

// TestLearned checks what refusals of parameters teach.
func TestLearned(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	modelOf := func(name string) contract.ProviderModel {
		list := apitest.Must[contract.ProviderModelList](t, e.Do(t, http.MethodGet, "/v1/providers/"+made.Id.String()+"/models", nil, as), http.StatusOK)
		for _, model := range list.Data {
			if model.Id == name {
				return model
			}
		}
		t.Fatal("no model " + name)
		return contract.ProviderModel{}
	}
	requests := func() int {
		n := 0
		for _, r := range server.Requests() {
			if r.Method == http.MethodPost {
				n++
			}
		}
		return n
	}
	// A parameter that the user set is refused, not left out, and the refusal is remembered.
	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/completions",
		apitest.CompletionBody(project.Id, made.Id, "", `,"model_config":{"model":"no-temperature","temperature":0.3}`), as), http.StatusUnprocessableEntity)
	assert.Equal(t, "body.model_config.temperature", (*refused.Errors)[0].Location)
	notes := modelOf("no-temperature").Notes
	require.Len(t, notes, 1)
	assert.Equal(t, "temperature", notes[0].Parameter)
	preview := apitest.Must[contract.CompletionPreview](t, e.Do(t, http.MethodPost, "/v1/playground/completions/_actions/preview",
		apitest.CompletionBody(project.Id, made.Id, "", `,"model_config":{"model":"no-temperature","temperature":0.3}`), as), http.StatusOK)
	require.Len(t, preview.Warnings, 1)
	assert.Contains(t, preview.Warnings[0], "temperature")

	// Another name of the same parameter is found and remembered.
	before := requests()
	e.Complete(t, as, project.Id, made.Id, "", `,"model_config":{"model":"no-max-tokens","max_output_tokens":100}`)
	e.Complete(t, as, project.Id, made.Id, "", `,"model_config":{"model":"no-max-tokens","max_output_tokens":100}`)
	assert.LessOrEqual(t, requests()-before, 3)

	// Without schemas, the next way is found and remembered.
	before = requests()
	done := e.Complete(t, as, project.Id, made.Id, "no-schema", `,"response_format":`+answerSchema)
	require.NotNil(t, done.OutputStrategy)
	assert.Equal(t, contract.OutputStrategyTool, *done.OutputStrategy)
	assert.Equal(t, 2, requests()-before)
	e.Complete(t, as, project.Id, made.Id, "no-schema", `,"response_format":`+answerSchema)
	assert.Equal(t, 3, requests()-before)
	assert.Equal(t, contract.OutputStrategyTool, *modelOf("no-schema").OutputStrategy)
}

// TestCompletionEndsWithItsClient has clients that go away in the middle.
func TestCompletionEndsWithItsClient(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	api := httptest.NewServer(e.API)
	defer api.Close()
	for _, kind := range []string{"openai", "anthropic"} {
		for _, stream := range []string{"", `,"stream":true`} {
			server := provider.Start(t, provider.Options{})
			made := e.Connect(t, as, project.Id, kind, server, "")
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, api.URL+"/v1/playground/completions",
				strings.NewReader(apitest.CompletionBody(project.Id, made.Id, "long@10ms+20ms", stream)))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Origin", api.URL)
			as(req)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				response, err := http.DefaultClient.Do(req)
				if err == nil {
					defer response.Body.Close()
					_, _ = bufio.NewReader(response.Body).ReadString('\x00')
				}
			}()
			require.Eventually(t, func() bool { return len(server.Requests()) == 1 }, 10*time.Second, 50*time.Millisecond)
			time.Sleep(100 * time.Millisecond)
			cancel()
			<-ended
			require.Eventually(t, func() bool { return server.Requests()[0].Gone }, 10*time.Second, 50*time.Millisecond, "%s%s", kind, stream)
			require.Eventually(t, func() bool {
				return apitest.Must[contract.Provider](t, e.Do(t, http.MethodGet, "/v1/providers/"+made.Id.String(), nil, as), http.StatusOK).Activity.Running == 0
			}, 10*time.Second, 50*time.Millisecond)
		}
	}
}

func TestPreviewCompletion(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	server := provider.Start(t, provider.Options{})
	for _, kind := range []string{"openai", "anthropic"} {
		made := e.Connect(t, as, project.Id, kind, server, `,"headers":{"X-Extra":"v"}`)
		more := `,"messages":[{"role":"user","content":"It's {{x}}"}],"template_format":"mustache","variables":{"x":"a 'quote'","y":1},"model_config":{"model":"priced","max_output_tokens":100}`
		e.Do(t, http.MethodPost, "/v1/projects/"+project.Id.String()+"/prices", contract.PriceWrite{Model: "priced", Input: 1, Output: 10}, as)
		preview := apitest.Must[contract.CompletionPreview](t, e.Do(t, http.MethodPost, "/v1/playground/completions/_actions/preview", apitest.CompletionBody(project.Id, made.Id, "", more), as), http.StatusOK)
		assert.True(t, preview.Priced)
		assert.Greater(t, *preview.MaxCostUsd, 0.001)
		assert.Equal(t, []string{"y"}, preview.Unused)
		assert.Contains(t, string(preview.Body), "It's a 'quote'")
		assert.NotContains(t, preview.Curl+preview.Python, server.Key)
		assert.Contains(t, preview.Curl, "curl '"+server.URL)
		assert.Contains(t, preview.Python, "client = ")
	}
	assert.Empty(t, server.Requests(), "no model is called")
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	content := `{"messages":[{"role":"user","content":"{{q}}"}],"variables":{"q":1.0},"tools":[` + apitest.WeatherTool + `]}`
	body := fmt.Sprintf(`{"project_id":%q,"name":"first","content":%s}`, project.Id, content)
	w := e.Do(t, http.MethodPost, "/v1/playground/scenarios", body, as)
	made := apitest.Must[contract.Scenario](t, w, http.StatusCreated)
	path := w.Header().Get("Location")
	assert.JSONEq(t, content, string(made.Content))
	assert.Equal(t, "name_taken", apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/playground/scenarios", body, as), http.StatusConflict).Code)
	page := apitest.Must[contract.ScenarioPage](t, e.Do(t, http.MethodGet, "/v1/playground/scenarios?project_id="+project.Id.String(), nil, as), http.StatusOK)
	require.Len(t, page.Data, 1)
	assert.Equal(t, "first", page.Data[0].Name)
	renamed := apitest.Must[contract.Scenario](t, e.Do(t, http.MethodPatch, path, `{"name":"second"}`, as), http.StatusOK)
	assert.JSONEq(t, content, string(renamed.Content))
	changed := apitest.Must[contract.Scenario](t, e.Do(t, http.MethodPatch, path, `{"content":{"messages":[]}}`, as), http.StatusOK)
	assert.JSONEq(t, `{"messages":[]}`, string(changed.Content))
	assert.Equal(t, "second", changed.Name)
	apitest.WantProblem(t, e.Do(t, http.MethodPatch, path, `{"content":{}}`, as), http.StatusUnprocessableEntity)
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path, nil, as).Code)
	apitest.WantProblem(t, e.Do(t, http.MethodGet, path, nil, as), http.StatusNotFound)
}
