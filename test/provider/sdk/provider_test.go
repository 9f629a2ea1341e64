package sdk_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/provider"
)

func openAI(s *provider.Server, options ...openaioption.RequestOption) *openai.Client {
	client := openai.NewClient(append([]openaioption.RequestOption{
		openaioption.WithBaseURL(s.URL + "/v1"), openaioption.WithAPIKey(s.Key), openaioption.WithMaxRetries(0),
	}, options...)...)
	return &client
}

func claude(s *provider.Server, options ...anthropicoption.RequestOption) *anthropic.Client {
	client := anthropic.NewClient(append([]anthropicoption.RequestOption{
		anthropicoption.WithBaseURL(s.URL), anthropicoption.WithAPIKey(s.Key), anthropicoption.WithMaxRetries(0),
	}, options...)...)
	return &client
}

func chat(model, text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

func message(model, text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: model, MaxTokens: 4096,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
	}
}

// streamChat accumulates a stream as the SDK does.
func streamChat(ctx context.Context, client *openai.Client, params openai.ChatCompletionNewParams) (openai.ChatCompletionAccumulator, []openai.ChatCompletionChunk, error) {
	var all openai.ChatCompletionAccumulator
	var chunks []openai.ChatCompletionChunk
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	defer stream.Close()
	for stream.Next() {
		chunks = append(chunks, stream.Current())
		if len(stream.Current().Choices) > 0 || stream.Current().Usage.TotalTokens > 0 {
			all.AddChunk(stream.Current())
		}
	}
	return all, chunks, stream.Err()
}

func streamMessage(ctx context.Context, client *anthropic.Client, params anthropic.MessageNewParams) (anthropic.Message, []anthropic.MessageStreamEventUnion, error) {
	var all anthropic.Message
	var events []anthropic.MessageStreamEventUnion
	stream := client.Messages.NewStreaming(ctx, params)
	defer stream.Close()
	for stream.Next() {
		events = append(events, stream.Current())
		if err := all.Accumulate(stream.Current()); err != nil {
			return all, events, err
		}
	}
	return all, events, stream.Err()
}

func failure(t *testing.T, err error) *openai.Error {
	t.Helper()
	var e *openai.Error
	require.ErrorAs(t, err, &e)
	return e
}

func claudeFailure(t *testing.T, err error) (status int, kind, text string) {
	t.Helper()
	var e *anthropic.Error
	require.ErrorAs(t, err, &e)
	var body struct {
		Type  string
		Error struct{ Type, Message string }
	}
	require.NoError(t, json.Unmarshal([]byte(e.RawJSON()), &body))
	require.Equal(t, "error", body.Type)
	return e.StatusCode, body.Error.Type, body.Error.Message
}

var weather = map[string]any{
	"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}, "days": map[string]any{"type": "integer", "minimum": 1, "maximum": 7}},
	"required": []string{"city", "days"}, "additionalProperties": false,
}

func offered() []openai.ChatCompletionToolUnionParam {
	return []openai.ChatCompletionToolUnionParam{
		openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "weather", Parameters: weather}),
		openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "time", Parameters: weather}),
	}
}

func claudeOffered() []anthropic.ToolUnionParam {
	schema := anthropic.ToolInputSchemaParam{Properties: weather["properties"], Required: []string{"city", "days"}}
	return []anthropic.ToolUnionParam{
		{OfTool: &anthropic.ToolParam{Name: "weather", InputSchema: schema}}, {OfTool: &anthropic.ToolParam{Name: "time", InputSchema: schema}},
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	var response *http.Response
	whole, err := openAI(s).Chat.Completions.New(t.Context(), chat("text", "What is the capital?"), openaioption.WithResponseInto(&response))
	require.NoError(t, err)
	assert.Equal(t, "The capital of France is Paris. It lies on the Seine.", whole.Choices[0].Message.Content)
	assert.Equal(t, "stop", whole.Choices[0].FinishReason)
	assert.Positive(t, whole.Usage.PromptTokens)
	assert.EqualValues(t, 11, whole.Usage.CompletionTokens)
	assert.Regexp(t, "^chatcmpl-", whole.ID)
	assert.Contains(t, whole.RawJSON(), `"system_fingerprint":"fp_`)
	assert.Regexp(t, "^req_", response.Header.Get("X-Request-Id"))
	assert.Equal(t, "10000", response.Header.Get("X-Ratelimit-Limit-Requests"))

	params := chat("text", "What is the capital?")
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	all, chunks, err := streamChat(t.Context(), openAI(s), params)
	require.NoError(t, err)
	assert.Equal(t, whole.Choices[0].Message.Content, all.Choices[0].Message.Content)
	assert.Equal(t, whole.Usage.CompletionTokens, all.Usage.CompletionTokens)
	assert.Empty(t, chunks[len(chunks)-1].Choices, "usage comes in a chunk of its own")
	params.StreamOptions.IncludeUsage = openai.Bool(false)
	_, chunks, err = streamChat(t.Context(), openAI(s), params)
	require.NoError(t, err)
	assert.NotContains(t, chunks[len(chunks)-1].RawJSON(), "usage")

	said, err := claude(s).Messages.New(t.Context(), message("text", "What is the capital?"), anthropicoption.WithResponseInto(&response))
	require.NoError(t, err)
	assert.Equal(t, whole.Choices[0].Message.Content, said.Content[0].Text)
	assert.Equal(t, anthropic.StopReasonEndTurn, said.StopReason)
	assert.EqualValues(t, 11, said.Usage.OutputTokens)
	assert.Regexp(t, "^req_", response.Header.Get("Request-Id"))
	streamed, events, err := streamMessage(t.Context(), claude(s), message("text", "What is the capital?"))
	require.NoError(t, err)
	assert.Equal(t, said.Content[0].Text, streamed.Content[0].Text)
	assert.Equal(t, said.Usage.OutputTokens, streamed.Usage.OutputTokens)
	assert.Equal(t, "message_stop", events[len(events)-1].Type)
}

func TestTools(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	params := chat("tools", "How is the weather?")
	params.Tools = offered()
	whole, err := openAI(s).Chat.Completions.New(t.Context(), params)
	require.NoError(t, err)
	all, chunks, err := streamChat(t.Context(), openAI(s), params)
	require.NoError(t, err)
	calls := whole.Choices[0].Message.ToolCalls
	require.Len(t, calls, 2)
	fragments := 0
	for _, c := range chunks {
		if calls := c.Choices[0].Delta.ToolCalls; len(calls) > 0 && calls[0].Function.Arguments != "" {
			assert.False(t, json.Valid([]byte(calls[0].Function.Arguments)) && strings.HasPrefix(calls[0].Function.Arguments, "{"))
			fragments++
		}
	}
	assert.Greater(t, fragments, 4)
	for i, c := range calls {
		assert.Equal(t, []string{"weather", "time"}[i], c.Function.Name)
		var arguments struct {
			City string
			Days int
		}
		require.NoError(t, json.Unmarshal([]byte(c.Function.Arguments), &arguments))
		assert.NotEmpty(t, arguments.City)
		assert.GreaterOrEqual(t, arguments.Days, 1)
		assert.LessOrEqual(t, arguments.Days, 7)
		assert.NotEmpty(t, all.Choices[0].Message.ToolCalls[i].ID)
		assert.Equal(t, c.Function.Name, all.Choices[0].Message.ToolCalls[i].Function.Name)
		assert.True(t, json.Valid([]byte(all.Choices[0].Message.ToolCalls[i].Function.Arguments)))
	}
	assert.Equal(t, "tool_calls", whole.Choices[0].FinishReason)
	assert.Equal(t, "tool_calls", all.Choices[0].FinishReason)

	params.Messages = append(params.Messages, whole.Choices[0].Message.ToParam(), openai.ToolMessage("sunny", calls[0].ID))
	_, err = openAI(s).Chat.Completions.New(t.Context(), params)
	assert.Contains(t, failure(t, err).Message, "did not have response messages: "+calls[1].ID)
	params.Messages = append(params.Messages, openai.ToolMessage("noon", calls[1].ID))
	answered, err := openAI(s).Chat.Completions.New(t.Context(), params)
	require.NoError(t, err)
	assert.Equal(t, "The tools answered: noon", answered.Choices[0].Message.Content)

	params = chat("text", "How is the weather?")
	params.Tools, params.ParallelToolCalls = offered(), openai.Bool(false)
	params.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "time"})
	forced, err := openAI(s).Chat.Completions.New(t.Context(), params)
	require.NoError(t, err)
	require.Len(t, forced.Choices[0].Message.ToolCalls, 1)
	assert.Equal(t, "time", forced.Choices[0].Message.ToolCalls[0].Function.Name)
}

func TestClaudeTools(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	params := message("tools", "How is the weather?")
	params.Tools = claudeOffered()
	whole, err := claude(s).Messages.New(t.Context(), params)
	require.NoError(t, err)
	require.Len(t, whole.Content, 2)
	streamed, _, err := streamMessage(t.Context(), claude(s), params)
	require.NoError(t, err)
	require.Len(t, streamed.Content, 2)
	assert.Equal(t, anthropic.StopReasonToolUse, streamed.StopReason)
	for i := range whole.Content {
		assert.Equal(t, []string{"weather", "time"}[i], whole.Content[i].Name)
		assert.Equal(t, whole.Content[i].Name, streamed.Content[i].Name)
		var arguments struct{ Days int }
		require.NoError(t, json.Unmarshal(streamed.Content[i].Input, &arguments))
		assert.GreaterOrEqual(t, arguments.Days, 1)
	}

	params.Messages = append(params.Messages, whole.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(whole.Content[0].ID, "sunny", false)))
	_, err = claude(s).Messages.New(t.Context(), params)
	_, _, text := claudeFailure(t, err)
	assert.Contains(t, text, "without `tool_result` blocks immediately after: "+whole.Content[1].ID)
	last := &params.Messages[len(params.Messages)-1]
	last.Content = append(last.Content, anthropic.NewToolResultBlock(whole.Content[1].ID, "noon", false))
	answered, err := claude(s).Messages.New(t.Context(), params)
	require.NoError(t, err)
	assert.Equal(t, "The tools answered: sunny\nnoon", answered.Content[0].Text)
}

// TestErrors checks what the SDKs read from refusals.
func TestErrors(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	for _, test := range []struct {
		model                string
		status               int
		kind, param, code    string
		claudeStatus         int
		claudeKind           string
		message, claudeWords string
	}{
		{"error-400", 400, "invalid_request_error", "", "", 400, "invalid_request_error", "Invalid request.", "Invalid request."},
		{"error-401", 401, "invalid_request_error", "", "invalid_api_key", 401, "authentication_error", "Incorrect API key provided: sk-scrip***********-key.", "invalid x-api-key"},
		{"error-403", 403, "invalid_request_error", "", "model_not_found", 403, "permission_error", "does not have access to model", "does not have permission"},
		{"error-404", 404, "invalid_request_error", "", "model_not_found", 404, "not_found_error", "The model `error-404` does not exist", "model: error-404"},
		{"unheard-of", 404, "invalid_request_error", "", "model_not_found", 404, "not_found_error", "The model `unheard-of` does not exist", "model: unheard-of"},
		{"error-429", 429, "requests", "", "rate_limit_exceeded", 429, "rate_limit_error", "Rate limit reached for error-429", "exceed your account's rate limit"},
		{"error-quota", 429, "insufficient_quota", "", "insufficient_quota", 400, "invalid_request_error", "exceeded your current quota", "credit balance is too low"},
		{"error-context", 400, "invalid_request_error", "messages", "context_length_exceeded", 400, "invalid_request_error", "maximum context length", "prompt is too long"},
		{"error-500", 500, "server_error", "", "", 500, "api_error", "had an error", "Internal server error"},
		{"error-529", 503, "server_error", "", "", 529, "overloaded_error", "overloaded", "Overloaded"},
	} {
		t.Run(test.model, func(t *testing.T) {
			t.Parallel()
			_, err := openAI(s).Chat.Completions.New(t.Context(), chat(test.model, "Hello"))
			e := failure(t, err)
			assert.Equal(t, []any{test.status, test.kind, test.param, test.code}, []any{e.StatusCode, e.Type, e.Param, e.Code})
			assert.Contains(t, e.Message, test.message)
			_, _, err = streamChat(t.Context(), openAI(s), chat(test.model, "Hello"))
			assert.Equal(t, test.status, failure(t, err).StatusCode)

			_, err = claude(s).Messages.New(t.Context(), message(test.model, "Hello"))
			status, kind, text := claudeFailure(t, err)
			assert.Equal(t, []any{test.claudeStatus, test.claudeKind}, []any{status, kind})
			assert.Contains(t, text, test.claudeWords)
			_, _, err = streamMessage(t.Context(), claude(s), message(test.model, "Hello"))
			status, _, _ = claudeFailure(t, err)
			assert.Equal(t, test.claudeStatus, status)
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	_, err := openAI(s, openaioption.WithAPIKey("sk-proj-wrong-0123456789")).Chat.Completions.New(t.Context(), chat("text", "Hello"))
	assert.Equal(t, "Incorrect API key provided: sk-proj-************6789. You can find your API key at https://platform.openai.com/account/api-keys.", failure(t, err).Message)
	assert.Equal(t, http.StatusUnauthorized, failure(t, err).StatusCode)
	_, err = claude(s, anthropicoption.WithAPIKey("wrong")).Messages.New(t.Context(), message("text", "Hello"))
	status, kind, text := claudeFailure(t, err)
	assert.Equal(t, []any{401, "authentication_error", "invalid x-api-key"}, []any{status, kind, text})
	assert.NotEqual(t, s.Key, provider.Start(t, provider.Options{}).Key)
}

// TestScript checks the queue, the function, and that both are recorded.
func TestScript(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{Answer: func(r *provider.Request) *provider.Reply {
		if strings.Contains(r.Prompt(), "weather") {
			return &provider.Reply{Text: "Sunny.", Usage: &provider.Usage{Input: 7, Output: 3}}
		}
		return nil
	}})
	s.Next(provider.Reply{Text: "First."}, provider.Reply{Error: &provider.Error{Status: 418, Type: "teapot", Message: "Short and stout."}})
	var answers []string
	for _, text := range []string{"weather", "weather", "weather", "other"} {
		whole, err := openAI(s).Chat.Completions.New(t.Context(), chat("text", text))
		if err != nil {
			answers = append(answers, failure(t, err).Type)
			continue
		}
		answers = append(answers, whole.Choices[0].Message.Content)
	}
	assert.Equal(t, []string{"First.", "teapot", "Sunny.", "The capital of France is Paris. It lies on the Seine."}, answers)
	requests := s.Requests()
	require.Len(t, requests, 4)
	assert.Equal(t, "/v1/chat/completions", requests[0].URI)
	assert.Equal(t, "Bearer "+s.Key, requests[0].Header.Get("Authorization"))
	assert.JSONEq(t, `{"model": "text", "messages": [{"role": "user", "content": "weather"}]}`, string(requests[0].Body))
	assert.Equal(t, []int{0, 1, 2, 0}, []int{requests[0].Repeat, requests[1].Repeat, requests[2].Repeat, requests[3].Repeat})
	assert.Equal(t, 418, requests[1].Status)
}

// TestGone checks that it is recorded when a client goes away.
func TestGone(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"stall", "stall-stream", "text@1h", "text@0s+1h"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			s := provider.Start(t, provider.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() {
				_, _, err := streamMessage(ctx, claude(s), message(model, "Hello"))
				done <- err
			}()
			require.Eventually(t, func() bool { return len(s.Requests()) == 1 }, time.Minute, time.Millisecond)
			assert.False(t, s.Requests()[0].Gone)
			cancel()
			require.ErrorIs(t, <-done, context.Canceled)
			require.Eventually(t, func() bool { return !s.Requests()[0].Ended.IsZero() }, time.Minute, time.Millisecond)
			assert.True(t, s.Requests()[0].Gone)
		})
	}
	s := provider.Start(t, provider.Options{})
	_, _, err := streamChat(t.Context(), openAI(s), chat("text", "Hello"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !s.Requests()[0].Ended.IsZero() }, time.Minute, time.Millisecond)
	assert.False(t, s.Requests()[0].Gone)
}

// TestFaults checks that no SDK takes a broken answer for a whole one, where it can know.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	for _, model := range []string{"reset", "error-stream", "bad-json", "bad-gateway"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			all, _, err := streamChat(t.Context(), openAI(s), chat(model, "Hello"))
			require.Error(t, err)
			if model != "bad-gateway" {
				assert.Equal(t, "The capital of", all.Choices[0].Message.Content, "what came before")
			}
			_, err = openAI(s).Chat.Completions.New(t.Context(), chat(model, "Hello"))
			require.Error(t, err)
			_, _, err = streamMessage(t.Context(), claude(s), message(model, "Hello"))
			require.Error(t, err)
			_, err = claude(s).Messages.New(t.Context(), message(model, "Hello"))
			require.Error(t, err)
		})
	}
	for _, model := range []string{"cut", "bad-sse"} {
		claudes, _, err := streamMessage(t.Context(), claude(s), message(model, "Hello"))
		require.NoError(t, err, "nor message_stop")
		assert.Empty(t, claudes.StopReason)
		assert.Equal(t, "The capital of", claudes.Content[0].Text)
		all, chunks, err := streamChat(t.Context(), openAI(s), chat(model, "Hello"))
		require.NoError(t, err, "the SDK does not miss [DONE]")
		assert.Equal(t, "The capital of", all.Choices[0].Message.Content)
		assert.Empty(t, chunks[len(chunks)-1].Choices[0].FinishReason)
		_, err = openAI(s).Chat.Completions.New(t.Context(), chat(model, "Hello"))
		require.Error(t, err)
	}
	_, _, err := streamMessage(t.Context(), claude(s), message("error-stream", "Hello"))
	assert.Contains(t, err.Error(), "Overloaded")
}

// TestRedirect checks that a client that follows a redirect to another host is seen there.
func TestRedirect(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	_, err := openAI(s).Chat.Completions.New(t.Context(), chat("redirect", "Hello"))
	require.ErrorContains(t, err, "origin", "the SDK does not follow")
	require.Len(t, s.Requests(), 1)
	said, err := claude(s).Messages.New(t.Context(), message("redirect", "Hello"))
	require.NoError(t, err)
	assert.NotEmpty(t, said.Content[0].Text)
	requests := s.Requests()
	require.Len(t, requests, 3)
	assert.Equal(t, http.StatusTemporaryRedirect, requests[1].Status)
	assert.Contains(t, requests[2].Host, "localhost")
}
