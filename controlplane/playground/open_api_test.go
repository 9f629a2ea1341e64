package playground_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/provider"
)

// openedRecordings are recordings of test/conformance whose model calls are opened.
var openedRecordings = []string{
	"ag2-1.2.0", "agent-framework-1.23.0", "autogen-0.7.5", "genkit-1.42.0", "google-adk-1.14.1", "langfuse-5.0.4", "langfuse-js-5.11.1",
	"langsmith-0.14.17", "litellm-1.106.2", "logfire-5.2.0", "mastra-1.71.0", "mlflow-3.17.2", "openinference-anthropic-0.1.20",
	"openinference-anthropic-3.1.0", "openinference-autogen-agentchat-0.1.22", "openinference-crewai-1.1.21", "openinference-google-genai-1.4.14",
	"openinference-js-langchain-4.1.1", "openinference-langchain-0.1.80", "openinference-llama-index-4.6.1", "openinference-openai-0.1.66",
	"openinference-openai-agents-2.6.0", "openinference-smolagents-0.1.43", "openlit-1.45.0", "openlit-anthropic-1.45.0", "openllmetry-anthropic-0.62.4",
	"openllmetry-crewai-0.62.4", "openllmetry-openai-0.62.4", "openllmetry-openai-agents-0.62.4", "otel-genai-anthropic-1.3b0", "otel-genai-langchain-1.3b0",
	"otel-genai-openai-1.3b0", "pydantic-ai-2.68.0-format-6", "strands-1.62.0-latest", "vercel-ai-5.0.277", "vercel-ai-7.0.173",
}

// openedEnv has recorded runs, and a connection to the scripted provider for each API.
type openedEnv struct {
	*apitest.Env
	as          apitest.Option
	project     uuid.UUID
	server      *provider.Server
	connections map[string]uuid.UUID
	stored      map[uuid.UUID]string
}

func newOpenedEnv(t *testing.T, files []string) *openedEnv {
	t.Helper()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	o := &openedEnv{Env: e, as: apitest.Cookie(session), project: project.Id, server: provider.Start(t, provider.Options{}), connections: map[string]uuid.UUID{}}
	for _, kind := range []string{"openai", "anthropic"} {
		o.connections[kind] = e.Connect(t, o.as, project.Id, kind, o.server, "").Id
	}
	o.stored = apitest.StoreRecorded(t, address, project.Id, files)
	return o
}

// calls returns the model calls of a run that did not fail, in their order.
func (e *openedEnv) calls(t *testing.T, run uuid.UUID) (calls []contract.Span) {
	t.Helper()
	page := apitest.Must[contract.SpanPage](t, e.Do(t, http.MethodGet, "/v1/runs/"+run.String()+"/spans?limit=500", nil, e.as), http.StatusOK)
	for _, span := range page.Data {
		if span.Kind == "llm" && span.Status != contract.StatusError {
			calls = append(calls, span)
		}
	}
	return calls
}

func (e *openedEnv) open(t *testing.T, run uuid.UUID, span string) contract.PlaygroundOpened {
	t.Helper()
	body := fmt.Sprintf(`{"run_id":%q,"span_id":%q}`, run, span)
	return apitest.Must[contract.PlaygroundOpened](t, e.Do(t, http.MethodPost, "/v1/playground/_actions/open", body, e.as), http.StatusOK)
}

// chatMessage is a message of chat completions.
type chatMessage struct {
	Role    string
	Content any
	Calls   []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
}

func chatMessageOf(t *testing.T, raw json.RawMessage) (m chatMessage) {
	t.Helper()
	require.NoError(t, json.Unmarshal(raw, &m))
	return m
}

// openedText describes what was opened.
func openedText(t *testing.T, o *contract.PlaygroundOpened) string {
	t.Helper()
	var text strings.Builder
	for _, raw := range o.Messages {
		m := chatMessageOf(t, raw)
		fmt.Fprintf(&text, "  %s", m.Role)
		switch content := m.Content.(type) {
		case string:
			if len(content) > 40 {
				content = content[:40] + "…"
			}
			fmt.Fprintf(&text, " %q", content)
		case []any:
			for _, part := range content {
				fmt.Fprintf(&text, " [%s]", part.(map[string]any)["type"])
			}
		}
		for _, call := range m.Calls {
			fmt.Fprintf(&text, " %s = %s(%s)", call.ID, call.Function.Name, call.Function.Arguments)
		}
		if m.CallID != "" {
			text.WriteString(" to " + m.CallID)
		}
		text.WriteString("\n")
	}
	for _, raw := range o.Tools {
		var tool struct {
			Type     string
			Function struct {
				Name       string
				Parameters struct{ Properties map[string]any }
				Strict     *bool
			}
		}
		require.NoError(t, json.Unmarshal(raw, &tool))
		fmt.Fprintf(&text, "  tool %s(%s)", tool.Function.Name, strings.Join(slices.Sorted(maps.Keys(tool.Function.Parameters.Properties)), ", "))
		if tool.Function.Strict != nil {
			fmt.Fprintf(&text, " strict %t", *tool.Function.Strict)
		}
		text.WriteString("\n")
	}
	if o.ResponseFormat != nil && string(*o.ResponseFormat) != "null" {
		fmt.Fprintf(&text, "  format %s\n", *o.ResponseFormat)
	}
	fmt.Fprintf(&text, "  config %s\n", o.ModelConfig)
	for _, name := range slices.Sorted(maps.Keys(o.ToolAnswers)) {
		for _, one := range *o.ToolAnswers[name].Recorded {
			arguments := "any"
			if one.Arguments != nil {
				arguments = *one.Arguments
			}
			fmt.Fprintf(&text, "  answer %s(%s) = %.40q\n", name, arguments, one.Content)
		}
	}
	for _, one := range o.NotRestored {
		fmt.Fprintf(&text, "  not restored: %s %s\n", one.What, one.Reason)
	}
	return text.String()
}

// repeated returns the body of a completion of what was opened, by a model of the scripted provider.
func (e *openedEnv) repeated(t *testing.T, kind string, o *contract.PlaygroundOpened) map[string]any {
	t.Helper()
	config := map[string]any{}
	require.NoError(t, json.Unmarshal(o.ModelConfig, &config))
	config["model"] = "text"
	return map[string]any{
		"project_id": e.project, "provider_id": e.connections[kind], "messages": o.Messages, "tools": o.Tools, "response_format": o.ResponseFormat,
		"model_config": config,
	}
}

// otherAPI returns the parameters of a configuration that an API does not have.
func otherAPI(kind string, o *contract.PlaygroundOpened) (names []string) {
	for _, name := range map[string][]string{"openai": {`"top_k"`}, "anthropic": {`"seed"`, `"frequency_penalty"`, `"presence_penalty"`}}[kind] {
		if strings.Contains(string(o.ModelConfig), name) {
			names = append(names, strings.Trim(name, `"`))
		}
	}
	return names
}

// TestOpenRecordedCalls opens model calls of many dialects, and sends exactly what was opened to both APIs.
func TestOpenRecordedCalls(t *testing.T) {
	t.Parallel()
	files := make([]string, len(openedRecordings))
	for i, name := range openedRecordings {
		files[i] = filepath.Join("..", "..", "test", "conformance", "testdata", name, "traces.json")
	}
	e := newOpenedEnv(t, files)
	lines := map[string]map[string]bool{}
	accepted, looped := map[string]bool{}, map[string]bool{}
	for run, file := range e.stored {
		name := filepath.Base(filepath.Dir(file))
		if lines[name] == nil {
			lines[name] = map[string]bool{}
		}
		for _, call := range e.calls(t, run) {
			opened := e.open(t, run, call.SpanId)
			text := openedText(t, &opened)
			if lines[name][text] {
				continue
			}
			lines[name][text] = true
			if len(opened.Messages) == 0 {
				continue
			}
			for kind := range e.connections {
				w := e.Do(t, http.MethodPost, "/v1/playground/completions", e.repeated(t, kind, &opened), e.as)
				if others := otherAPI(kind, &opened); len(others) > 0 {
					refused := apitest.WantProblem(t, w, http.StatusUnprocessableEntity)
					assert.Equal(t, "parameter_refused", refused.Code)
					assert.Contains(t, (*refused.Errors)[0].Location, "body.model_config.", text)
					continue
				}
				if assert.Equal(t, http.StatusOK, w.Code, "%s %s\n%s\n%s", name, kind, text, w.Body) {
					accepted[name] = true
				}
			}
			if e.loops(t, name, &opened) {
				looped[name] = true
			}
		}
	}
	var text strings.Builder
	for _, name := range openedRecordings {
		for _, one := range slices.Sorted(maps.Keys(lines[name])) {
			text.WriteString(name + "\n" + one + "\n")
		}
	}
	golden := filepath.Join("testdata", "opened.golden")
	if apitest.Updating() {
		require.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String())
	assert.Greater(t, len(accepted), 25)
	assert.Greater(t, len(looped), 15)
}

// loops lets the scripted provider repeat the recorded tool calls, and holds that the recorded results answer them. It
// returns false if the answer called no tools, or the run did not record all results.
func (e *openedEnv) loops(t *testing.T, name string, o *contract.PlaygroundOpened) bool {
	t.Helper()
	if o.Output == nil || len(o.ToolAnswers) == 0 {
		return false
	}
	var calls []provider.ToolCall
	for _, call := range chatMessageOf(t, *o.Output).Calls {
		if _, ok := o.ToolAnswers[call.Function.Name]; !ok {
			return false
		}
		var arguments map[string]any // other spaces, and another order
		require.NoError(t, json.Unmarshal([]byte(call.Function.Arguments), &arguments))
		text, err := json.MarshalIndent(arguments, "", "  ")
		require.NoError(t, err)
		calls = append(calls, provider.ToolCall{Name: call.Function.Name, Arguments: string(text)})
	}
	if len(calls) == 0 {
		return false
	}
	e.server.Next(provider.Reply{ToolCalls: calls})
	body := e.repeated(t, "openai", o)
	body["tool_answers"], body["model_config"] = o.ToolAnswers, map[string]any{"model": "text"}
	done := apitest.Must[contract.Completion](t, e.Do(t, http.MethodPost, "/v1/playground/completions", body, e.as), http.StatusOK)
	assert.Equal(t, contract.CompletionStopReasonFinished, done.StopReason, name)
	assert.Equal(t, 2, done.Rounds, name)
	if assert.Len(t, done.AddedMessages, 2+len(calls), name) {
		for i, call := range calls {
			answer := *o.ToolAnswers[call.Name].Recorded
			assert.True(t, slices.ContainsFunc(answer, func(one contract.RecordedToolResult) bool {
				return one.Content == contentOf(t, done.AddedMessages[1+i])
			}), name)
		}
	}
	return true
}

// TestOpenRealCalls opens model calls of programs in use, and sends what was opened to both APIs.
func TestOpenRealCalls(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("LOOPTRACE_REALDATA")
	if folder == "" {
		t.Skip("LOOPTRACE_REALDATA names the folder of real traces")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*", "otlp", "*.json"))
	require.NoError(t, err)
	// One is deliberately not OTLP/JSON. The runs of tau-bench are many of two programs.
	files = slices.DeleteFunc(files, func(file string) bool { return strings.Contains(file, "base64ids") || strings.Contains(file, "tau-") })
	e := newOpenedEnv(t, files)
	opening, accepted := map[string]int{}, 0
	for run, file := range e.stored {
		for _, call := range e.calls(t, run) {
			if opening[file]++; opening[file] > 5 {
				break
			}
			opened := e.open(t, run, call.SpanId)
			asked := slices.ContainsFunc(opened.Messages, func(raw json.RawMessage) bool {
				role := chatMessageOf(t, raw).Role
				return role != "system" && role != "developer"
			})
			for kind := range e.connections {
				if !asked {
					continue // Anthropic has no call with instructions alone
				}
				w := e.Do(t, http.MethodPost, "/v1/playground/completions", e.repeated(t, kind, &opened), e.as)
				if w.Code == http.StatusOK {
					accepted++
					continue
				}
				refused := apitest.WantProblem(t, w, http.StatusUnprocessableEntity)
				assert.Contains(t, (*refused.Errors)[0].Location, "body.model_config.", "%s %s\n%s%s", file, kind, openedText(t, &opened), w.Body)
			}
		}
	}
	assert.Greater(t, accepted, 250)
}
