package client_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/client"
	"github.com/looptrace/looptrace/test/provider"
)

const verdictSchema = `{"type":"object","properties":{"verdict":{"type":"string","enum":["good","bad"]}},"required":["verdict"],"additionalProperties":false}`

var verdictFormat = json.RawMessage(`{"type":"json_schema","json_schema":{"name":"verdict","description":"A verdict on <this>.","strict":true,"schema":` + verdictSchema + `}}`)

func TestStructuredAnswer(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			for strategy, text := range map[llm.Strategy]string{
				"":           `{"verdict":"good"}`,
				llm.Native:   `{"verdict":"good"}`,
				llm.JSONMode: "```json\n{\"verdict\":\"good\"}\n```",
				llm.Text:     "It is short. {\"verdict\":\"bad\"}\n**FINAL ANSWER:** {\"verdict\":\"good\"}",
			} {
				server, client := start(t, kind)
				server.Next(provider.Reply{Text: text})
				result, got, err := complete(t.Context(), client, llm.Request{
					Model: "text", Messages: []json.RawMessage{object("role", "system", "content", "You judge."), user("hello")[0]},
					ResponseFormat: verdictFormat, Strategy: strategy,
				}, stream)
				require.NoError(t, err, strategy)
				assert.JSONEq(t, `{"verdict":"good"}`, string(result.Structured), strategy)
				assert.Equal(t, text, content(t, result), strategy)
				if stream {
					assert.Equal(t, text, got.text, strategy)
				}
				sent := server.Requests()[0]
				switch strategy {
				case "", llm.Native:
					assert.JSONEq(t, verdictSchema, withoutDescription(t, sent.Schema))
					assert.Equal(t, "You judge.", sent.Messages[0].Text)
				case llm.JSONMode:
					assert.Nil(t, sent.Schema)
					assert.Equal(t, kind == llm.OpenAI, sent.JSONObject)
					assert.Contains(t, sent.Messages[0].Text, "You judge.\n")
					assert.Contains(t, sent.Messages[0].Text, verdictSchema)
					assert.Contains(t, sent.Messages[0].Text, "A verdict on <this>.")
				case llm.Text:
					assert.Nil(t, sent.Schema)
					assert.False(t, sent.JSONObject)
					assert.Contains(t, sent.Messages[0].Text, llm.AnswerMark)
				case llm.Tool:
				}
			}
		})
	}
}

func withoutDescription(t *testing.T, schema json.RawMessage) string {
	t.Helper()
	var values map[string]any
	require.NoError(t, json.Unmarshal(schema, &values))
	delete(values, "description")
	return string(object("v", values)[len(`{"v":`) : len(object("v", values))-1])
}

func TestAnswerByTool(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			server, client := start(t, kind)
			request := llm.Request{Model: "text", Messages: user("hello"), ResponseFormat: verdictFormat, Strategy: llm.Tool}
			server.Next(provider.Reply{ToolCalls: []provider.ToolCall{{Name: "verdict", Arguments: `{"verdict":"good"}`}}})
			result, got, err := complete(t.Context(), client, request, stream)
			require.NoError(t, err)
			assert.JSONEq(t, `{"verdict":"good"}`, content(t, result), "the arguments are the content")
			assert.JSONEq(t, `{"verdict":"good"}`, string(result.Structured))
			assert.Empty(t, read(t, result.Message).ToolCalls)
			assert.Equal(t, "stop", result.FinishReason)
			assert.Empty(t, got.calls)
			if stream {
				assert.JSONEq(t, `{"verdict":"good"}`, got.text)
			}
			assert.Equal(t, "verdict", server.Requests()[0].ToolChoice, "the tool is forced")

			// With tools of its own, the model first calls one of them, and then answers.
			request.Tools = []json.RawMessage{weather, function("verdict", `{"type":"object"}`)}
			server.Next(provider.Reply{ToolCalls: []provider.ToolCall{{ID: "call_a", Name: "weather", Arguments: `{"city":"Bern"}`}}})
			result, _, err = complete(t.Context(), client, request, stream)
			require.NoError(t, err)
			assert.Equal(t, "tool_calls", result.FinishReason)
			assert.Nil(t, result.Structured)
			sent := server.Requests()[1]
			assert.Equal(t, "required", sent.ToolChoice)
			require.Len(t, sent.Tools, 3)
			assert.Equal(t, "verdict_2", sent.Tools[2].Name, "the name is not that of another tool")
			assert.JSONEq(t, verdictSchema, string(sent.Tools[2].Schema))

			request.Messages = append(request.Messages, result.Message, object("role", "tool", "tool_call_id", "call_a", "content", "rain"))
			server.Next(provider.Reply{Text: "Well. ", ToolCalls: []provider.ToolCall{
				{Name: "verdict_2", Arguments: `{"verdict":"bad"}`}, {Name: "weather", Arguments: `{"city":"Basel"}`},
			}})
			result, got, err = complete(t.Context(), client, request, stream)
			require.NoError(t, err)
			m := read(t, result.Message)
			assert.Equal(t, `Well. {"verdict":"bad"}`, *m.Content)
			assert.JSONEq(t, `{"verdict":"bad"}`, string(result.Structured))
			require.Len(t, m.ToolCalls, 1, "a call beside the answer is not lost")
			assert.Equal(t, "weather", m.ToolCalls[0].Function.Name)
			if stream {
				require.Len(t, got.calls, 1)
				assert.Equal(t, "weather", got.calls[0].Name)
			}
		})
	}
}

func TestAnswerByToolWhileThinking(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		server, client := start(t, llm.Anthropic)
		effort := "medium"
		request := llm.Request{Model: "reasoning", Messages: user("hello"), ResponseFormat: verdictFormat, Strategy: llm.Tool, ReasoningEffort: &effort}
		server.Next(provider.Reply{Reasoning: "Hm.", ToolCalls: []provider.ToolCall{{Name: "verdict", Arguments: `{"verdict":"good"}`}}})
		result, _, err := complete(t.Context(), client, request, stream)
		require.NoError(t, err, "a forced tool is refused together with thinking")
		assert.JSONEq(t, `{"verdict":"good"}`, string(result.Structured))

		request.Messages = append(request.Messages, result.Message, user("Are you sure?")[0])
		_, _, err = complete(t.Context(), client, request, stream)
		require.NoError(t, err, "the answer goes back without a call that nothing answers")
		assert.JSONEq(t, `{"verdict":"good"}`, server.Requests()[1].Messages[1].Text)
	}
}

func TestToolsSchemaAndStreamTogether(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		server, client := start(t, kind)
		server.Next(provider.Reply{Text: "Let me see. ", ToolCalls: []provider.ToolCall{{Name: "weather", Arguments: `{"city":"Bern"}`}}})
		result, got, err := complete(t.Context(), client, llm.Request{
			Model: "text", Messages: user("hello"), Tools: []json.RawMessage{weather}, ResponseFormat: verdictFormat,
		}, true)
		require.NoError(t, err)
		require.Len(t, got.calls, 1)
		assert.Len(t, read(t, result.Message).ToolCalls, 1)
		sent := server.Requests()[0]
		assert.True(t, sent.Stream)
		assert.NotNil(t, sent.Schema)
		assert.Len(t, sent.Tools, 1)
	}
}

func TestAnswerThatHasNoJSON(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			for _, model := range []string{"json-prose", "json-cut"} {
				_, client := start(t, kind)
				result, _, err := complete(t.Context(), client, llm.Request{Model: model, Messages: user("hello"), ResponseFormat: verdictFormat}, stream)
				require.NoError(t, err, model)
				assert.Nil(t, result.Structured, model)
				assert.NotEmpty(t, content(t, result), model)
			}
		})
	}
}

func TestAnyJSON(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			server, client := start(t, kind)
			server.Next(provider.Reply{Text: " {\"a\": 1} "})
			result, _, err := complete(t.Context(), client, llm.Request{
				Model: "text", Messages: user("Answer in JSON."), ResponseFormat: json.RawMessage(`{"type":"json_object"}`),
			}, stream)
			require.NoError(t, err)
			assert.Equal(t, `{"a": 1}`, string(result.Structured))
			if kind == llm.Anthropic {
				assert.Contains(t, server.Requests()[0].Messages[0].Text, "one JSON object")
			} else {
				assert.True(t, server.Requests()[0].JSONObject)
			}
		})
	}
}

func TestFormatThatCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		`{"type":"xml"}`:         `"xml" is not known`,
		`{"type":"json_schema"}`: "has no schema",
		`{"type":"json_schema","json_schema":{"schema":{"type":"array","items":{}}}}`: "A tool call can answer with an object only",
		`[]`: "is not valid",
	} {
		_, err := client.Build(llm.Connection{Kind: llm.OpenAI}, llm.Request{
			Model: "m", Messages: user("hello"), ResponseFormat: json.RawMessage(format), Strategy: llm.Tool,
		}, false)
		var failed *llm.Error
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, "response_format", failed.Parameter)
		assert.Contains(t, failed.Error(), want)
	}
	_, err := client.Build(llm.Connection{Kind: llm.OpenAI}, llm.Request{Model: "m", Messages: user("hello"), Strategy: "xml"}, false)
	require.ErrorContains(t, err, "strategy")
}
