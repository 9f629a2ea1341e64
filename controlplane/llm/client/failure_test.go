package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/client"
	"github.com/looptrace/looptrace/controlplane/outbound"
	"github.com/looptrace/looptrace/test/provider"
)

// fail makes a call that must fail, and checks what holds for every error.
func fail(t *testing.T, conn llm.Connection, request llm.Request, stream bool) (*llm.Error, *received) {
	t.Helper()
	result, got, err := complete(t.Context(), connect(t, conn), request, stream)
	require.Error(t, err)
	assert.Nil(t, result)
	var failed *llm.Error
	require.ErrorAs(t, err, &failed)
	assert.NotEmpty(t, failed.Message)
	if conn.APIKey != "" {
		for _, text := range []string{err.Error(), failed.Message, failed.Suggestion, fmt.Sprintf("%+v", failed), fmt.Sprint(failed.Unwrap())} {
			assert.NotContains(t, text, conn.APIKey)
		}
		if failed.Partial != nil {
			assert.NotContains(t, string(failed.Partial.RawRequest)+string(failed.Partial.RawResponse)+string(failed.Partial.Message), conn.APIKey)
		}
	}
	return failed, got
}

func TestErrorsOfStatus(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			server := provider.Start(t, provider.Options{})
			conn := connection(t, kind, server)
			for model, want := range map[string]llm.Error{
				"error-400":     {Kind: llm.InvalidParameter},
				"error-401":     {Kind: llm.Authentication, Parameter: "api_key"},
				"error-403":     {Kind: llm.Permission},
				"error-404":     {Kind: llm.NotFound, Parameter: "model"},
				"nobody-has-it": {Kind: llm.NotFound, Parameter: "model"},
				"error-429":     {Kind: llm.RateLimited, Retryable: true},
				"error-quota":   {Kind: llm.QuotaExceeded},
				"error-context": {Kind: llm.ContextLength, Parameter: "messages"},
				"error-500":     {Kind: llm.Server, Retryable: true},
				"error-529":     {Kind: llm.Overloaded, Retryable: true},
				"bad-gateway":   {Kind: llm.Server, Retryable: true},
			} {
				failed, got := fail(t, conn, llm.Request{Model: model, Messages: user("hello")}, stream)
				assert.Equal(t, want.Kind, failed.Kind, model)
				assert.Equal(t, want.Parameter, failed.Parameter, model)
				assert.Equal(t, want.Retryable, failed.Retryable, model)
				assert.GreaterOrEqual(t, failed.Status, 400, model)
				assert.Contains(t, failed.Error(), fmt.Sprint(failed.Status), model)
				assert.NotEmpty(t, failed.RequestID, model)
				assert.NotEmpty(t, failed.RateLimit, model)
				assert.Empty(t, got.text, model)
				require.NotNil(t, failed.Partial, model)
				assert.NotEmpty(t, failed.Partial.RawRequest, model)
				assert.NotEmpty(t, failed.Partial.RawResponse, model)
				if model == "bad-gateway" {
					assert.Contains(t, failed.Message, "It is an HTML page (502 Bad Gateway)")
					assert.NotContains(t, failed.Message, "<")
				}
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			server := provider.Start(t, provider.Options{})
			conn := connection(t, kind, server)
			for model, bounds := range map[string][2]time.Duration{
				"error-429":      {time.Second, time.Second},
				"error-429-ms":   {20 * time.Millisecond, 20 * time.Millisecond},
				"error-429-long": {24 * time.Hour, 24 * time.Hour},
				"error-429-date": {time.Second, 3 * time.Second}, // dates have whole seconds
			} {
				failed, _ := fail(t, conn, llm.Request{Model: model, Messages: user("hello")}, stream)
				require.NotNil(t, failed.RetryAfter, model)
				assert.GreaterOrEqual(t, *failed.RetryAfter, bounds[0], model)
				assert.LessOrEqual(t, *failed.RetryAfter, bounds[1], model)
			}
			failed, _ := fail(t, conn, llm.Request{Model: "error-500", Messages: user("hello")}, stream)
			assert.Nil(t, failed.RetryAfter, "nothing was asked for")
		})
	}
}

func TestRetryAfterForms(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]*time.Duration{
		"0": ptr(time.Duration(0)), "1.5": ptr(1500 * time.Millisecond), "-1": nil, "soon": nil, "NaN": nil,
		"1e300": ptr(365 * 24 * time.Hour), "Thu, 01 Jan 1970 00:00:00 GMT": ptr(time.Duration(0)),
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		t.Cleanup(server.Close)
		failed, _ := fail(t, llm.Connection{Kind: llm.OpenAI, BaseURL: server.URL, HTTP: loopback(t)}, llm.Request{Model: "m", Messages: user("hello")}, false)
		assert.Equal(t, want, failed.RetryAfter, value)
	}
}

func ptr[T any](v T) *T { return &v }

func TestRefusedParameters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind       llm.Kind
		request    llm.Request
		parameter  string
		takesNone  bool
		suggestion string
	}{
		{llm.OpenAI, llm.Request{Model: "no-max-tokens", MaxOutputTokens: ptr(int64(5)), TokenParameter: llm.MaxTokens}, "max_output_tokens", true, "This model takes max_completion_tokens, not max_tokens."},
		{llm.OpenAI, llm.Request{Model: "no-temperature", Temperature: ptr(0.2)}, "temperature", true, "Leave out temperature"},
		{llm.OpenAI, llm.Request{Model: "text", Temperature: ptr(3.0)}, "temperature", false, "within the range"},
		{llm.OpenAI, llm.Request{Model: "no-schema", ResponseFormat: verdictFormat}, "response_format", true, "strategy tool, json_mode or text"},
		{llm.OpenAI, llm.Request{Model: "no-schema", ResponseFormat: verdictFormat, Strategy: llm.JSONMode}, "response_format", true, "strategy tool or text"},
		{llm.OpenAI, llm.Request{Model: "no-tools", Tools: []json.RawMessage{weather}}, "tools", true, "cannot call tools"},
		{llm.OpenAI, llm.Request{Model: "text", ReasoningEffort: ptr("high")}, "reasoning_effort", true, "Leave out reasoning_effort"},
		{llm.OpenAI, llm.Request{Model: "text", Extra: json.RawMessage(`{"top_k":3}`)}, "extra.top_k", true, "Leave out top_k in extra."},
		{llm.OpenAI, llm.Request{Model: "text", Stop: []string{"1", "2", "3", "4", "5"}}, "stop", false, ""},
		{llm.OpenAI, llm.Request{Model: "text", ToolChoice: json.RawMessage(`"required"`)}, "tool_choice", false, ""},
		{llm.OpenAI, llm.Request{Model: "text", ParallelToolCalls: ptr(true)}, "parallel_tool_calls", false, ""},
		{llm.Anthropic, llm.Request{Model: "no-temperature", Temperature: ptr(0.2)}, "temperature", true, "Leave out temperature"},
		{llm.Anthropic, llm.Request{Model: "text", Temperature: ptr(1.5)}, "temperature", false, "within the range"},
		{llm.Anthropic, llm.Request{Model: "no-schema", ResponseFormat: verdictFormat}, "response_format", true, "strategy tool"},
		{llm.Anthropic, llm.Request{Model: "no-tools", Tools: []json.RawMessage{weather}}, "tools", true, "cannot call tools"},
		{llm.Anthropic, llm.Request{Model: "text", ReasoningEffort: ptr("high")}, "reasoning_effort", true, "Leave out reasoning_effort, or set extra.thinking"},
		{llm.Anthropic, llm.Request{Model: "reasoning", ReasoningEffort: ptr("high"), Temperature: ptr(0.5)}, "temperature", false, "with thinking"},
		{llm.Anthropic, llm.Request{Model: "reasoning", ReasoningEffort: ptr("high"), Tools: []json.RawMessage{weather}, ToolChoice: json.RawMessage(`"required"`)}, "tool_choice", false, "exclude each other"},
		{llm.Anthropic, llm.Request{Model: "reasoning", MaxOutputTokens: ptr(int64(2000)), Extra: json.RawMessage(`{"thinking":{"type":"enabled","budget_tokens":2048}}`)}, "max_output_tokens", false, "Raise max_output_tokens"},
		{llm.Anthropic, llm.Request{Model: "text", MaxOutputTokens: ptr(int64(0))}, "max_output_tokens", false, "within the range"},
		{llm.Anthropic, llm.Request{Model: "text", Extra: json.RawMessage(`{"frequency_penalty":1}`)}, "extra.frequency_penalty", true, "Leave out frequency_penalty in extra."},
		{llm.Anthropic, llm.Request{Model: "text", Seed: ptr(int64(7))}, "seed", true, "Leave out seed."},
	} {
		server := provider.Start(t, provider.Options{})
		c.request.Messages = user("hello")
		failed, _ := fail(t, connection(t, c.kind, server), c.request, false)
		what := fmt.Sprintf("%s: %s", c.kind, failed)
		assert.Equal(t, llm.InvalidParameter, failed.Kind, what)
		assert.Equal(t, c.parameter, failed.Parameter, what)
		assert.Equal(t, c.takesNone, failed.Unsupported, what)
		assert.Contains(t, failed.Suggestion, c.suggestion, what)
		assert.False(t, failed.Retryable, what)
	}
}

// TestRefusalsOfOtherServers has the texts of servers that the scripted provider does not imitate.
func TestRefusalsOfOtherServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		status     int
		request    llm.Request
		want       llm.Error
		suggestion string
	}{
		{"vLLM", `{"object":"error","message":"Only one of max_tokens or logprobs is supported: 'seed' is not supported","type":"BadRequestError","param":null,"code":400}`, 400, llm.Request{Seed: ptr(int64(1))}, llm.Error{Kind: llm.InvalidParameter, Parameter: "seed", Unsupported: true}, "Leave out seed"},
		{"FastAPI", `{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted"}]}`, 422, llm.Request{MaxOutputTokens: ptr(int64(5))}, llm.Error{Kind: llm.InvalidParameter, Parameter: "max_output_tokens", Unsupported: true}, "This server takes max_tokens, not max_completion_tokens."},
		{"no stream_options", `{"error":{"message":"Unrecognized request argument supplied: stream_options","type":"invalid_request_error"}}`, 400, llm.Request{}, llm.Error{Kind: llm.InvalidParameter, Parameter: "stream_options", Unsupported: true}, "does not take stream_options"},
		{"Ollama", `{"error":"model \"llama9\" not found, try pulling it first"}`, 404, llm.Request{}, llm.Error{Kind: llm.NotFound, Parameter: "model"}, "Check the name of the model"},
		{"Google", `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, 400, llm.Request{}, llm.Error{Kind: llm.Authentication, Parameter: "api_key"}, "Check the key"},
		{"too many tokens", `{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens","param":"max_tokens"}}`, 400, llm.Request{MaxOutputTokens: ptr(int64(100000))}, llm.Error{Kind: llm.InvalidParameter, Parameter: "max_output_tokens"}, "within the range"},
		{"Azure's filter", `{"error":{"code":"content_filter","message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","status":400}}`, 400, llm.Request{}, llm.Error{Kind: llm.ContentFilter, Parameter: "messages"}, ""},
		{"no body", ``, 503, llm.Request{}, llm.Error{Kind: llm.Overloaded, Retryable: true}, ""},
		{"another path", `<!DOCTYPE html><title>Not here</title>`, 404, llm.Request{}, llm.Error{Kind: llm.NotFound, Parameter: "base_url"}, "Check the base URL"},
		{"200 with an error", `{"error":{"message":"Provider returned error","code":429}}`, 200, llm.Request{}, llm.Error{Kind: llm.RateLimited, Retryable: true}, ""},
		{"too large", `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, 413, llm.Request{}, llm.Error{Kind: llm.ContextLength, Parameter: "messages"}, "Shorten"},
	} {
		for _, stream := range []bool{false, true} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			t.Cleanup(server.Close)
			c.request.Model, c.request.Messages = "m", user("hello")
			failed, _ := fail(t, llm.Connection{Kind: llm.OpenAI, BaseURL: server.URL, HTTP: loopback(t)}, c.request, stream)
			assert.Equal(t, c.want.Kind, failed.Kind, c.name)
			assert.Equal(t, c.want.Parameter, failed.Parameter, c.name)
			assert.Equal(t, c.want.Unsupported, failed.Unsupported, c.name)
			assert.Equal(t, c.want.Retryable, failed.Retryable, c.name)
			assert.Contains(t, failed.Suggestion, c.suggestion, c.name)
		}
	}
}

func TestStalls(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			for _, model := range []string{"stall", "stall-stream"} {
				server := provider.Start(t, provider.Options{})
				conn := connection(t, kind, server)
				conn.IdleTimeout = time.Second
				failed, got := fail(t, conn, llm.Request{Model: model, Messages: user("hello")}, stream)
				assert.Equal(t, llm.Timeout, failed.Kind, model)
				assert.True(t, failed.Retryable, model)
				assert.Contains(t, failed.Message, "nothing for 1s", model)
				if stream && model == "stall-stream" {
					assert.Equal(t, "The capital of", got.text)
					assert.Equal(t, got.text, content(t, failed.Partial))
					assert.NotEmpty(t, failed.Partial.RawResponse)
				}
				requireGone(t, server)
			}
		})
	}
}

// TestSlowStreamIsNoStall has more time in all than the idle timeout, but less between tokens.
func TestSlowStreamIsNoStall(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		server := provider.Start(t, provider.Options{})
		conn := connection(t, kind, server)
		conn.IdleTimeout = 3 * time.Second
		request := llm.Request{Model: "text@10ms+400ms", Messages: user("hello")}
		result, _, err := complete(t.Context(), connect(t, conn), request, true)
		require.NoError(t, err)
		assert.Greater(t, result.Duration, conn.IdleTimeout)

		// What the callback takes is not the provider's time.
		conn.IdleTimeout = time.Second
		_, err = connect(t, conn).Complete(t.Context(), llm.Request{Model: "text", Messages: user("hello")}, func(d llm.Delta) error {
			if strings.Contains(d.Text, "Paris") {
				<-time.After(2 * conn.IdleTimeout)
			}
			return nil
		})
		require.NoError(t, err)
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			server, client := start(t, kind)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, _, err := complete(ctx, client, llm.Request{Model: "stall", Messages: user("hello")}, stream)
			var failed *llm.Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, llm.Timeout, failed.Kind)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			requireGone(t, server)
		})
	}
}

func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			server := provider.Start(t, provider.Options{})
			conn := connection(t, kind, server)
			for model, kinds := range map[string][2]llm.ErrorKind{ // whole, streamed
				"reset":        {llm.BrokenStream, llm.BrokenStream},
				"cut":          {llm.Garbage, llm.BrokenStream},
				"bad-json":     {llm.Garbage, llm.Garbage},
				"bad-sse":      {llm.Garbage, llm.BrokenStream},
				"error-stream": {llm.Overloaded, llm.Overloaded},
				"error-finish": {llm.Server, llm.Server},
				"huge":         {llm.Garbage, llm.Garbage},
			} {
				want := kinds[0]
				if stream {
					want = kinds[1]
				}
				failed, got := fail(t, conn, llm.Request{Model: model, Messages: user("hello")}, stream)
				if model == "error-stream" && stream && kind == llm.OpenAI {
					want = llm.Server // OpenAI's type for it
				}
				assert.Equal(t, want, failed.Kind, "%s: %s", model, failed)
				assert.Equal(t, want != llm.Garbage, failed.Retryable, model)
				if stream && model != "huge" {
					assert.Equal(t, "The capital of", got.text, model)
					assert.Equal(t, got.text, content(t, failed.Partial), model)
					if kind == llm.Anthropic {
						require.NotNil(t, failed.Partial.Usage)
						assert.NotNil(t, failed.Partial.Usage.Input)
						assert.Equal(t, model == "error-finish", failed.Partial.Usage.Output != nil, "of a stream that breaks it is not known")
					}
				}
				if model == "huge" {
					assert.Contains(t, failed.Message, "64 MiB")
					assert.LessOrEqual(t, len(failed.Partial.RawResponse), 64<<20)
				}
			}
		})
	}
}

// serve answers every request with a body.
func serve(t *testing.T, contentType, body string) llm.Connection {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return llm.Connection{BaseURL: server.URL, HTTP: loopback(t), APIKey: "sk-test-of-some-length"}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			for _, c := range []struct{ contentType, body string }{
				{"text/html", "<!DOCTYPE html><html><head><title>Sign in</title></head></html>"},
				{"application/json", ""},
				{"application/json", "{"},
				{"application/json", "[]"},
				{"application/json", `"text"`},
				{"application/json", "{}"},
				{"application/json", `{"choices":[],"content":null}`},
				{"application/json", `{"choices":[{"message":7}],"content":[7]}`},
				{"text/event-stream", ""},
				{"text/event-stream", "data: [DONE]\n\n"},
				{"text/event-stream", "data: 7\n\n"},
				{"text/event-stream", `data: {"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"x"},"choices":[{"delta":7}]}` + "\n\n"},
				{"text/event-stream", "data: {\"type\":\"message_stop\"}\n\ndata: [DONE]\n\n"},
			} {
				conn := serve(t, c.contentType, c.body)
				conn.Kind = kind
				failed, _ := fail(t, conn, llm.Request{Model: "m", Messages: user("hello")}, stream)
				assert.Contains(t, []llm.ErrorKind{llm.Garbage, llm.BrokenStream}, failed.Kind, c.body)
				if strings.HasPrefix(c.contentType, "text/html") {
					assert.Equal(t, llm.Garbage, failed.Kind)
					assert.Contains(t, failed.Message, "an HTML page (Sign in)")
					assert.Equal(t, "base_url", failed.Parameter)
				}
			}
		})
	}
}

func TestLongLineOfAStream(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		conn := serve(t, "text/event-stream", "data: "+strings.Repeat("x", 17<<20))
		conn.Kind = kind
		failed, _ := fail(t, conn, llm.Request{Model: "m", Messages: user("hello")}, true)
		assert.Equal(t, llm.Garbage, failed.Kind)
		assert.Contains(t, failed.Message, "16 MiB")
	}
}

func TestStreamWithoutItsLastMarkIsComplete(t *testing.T) {
	t.Parallel()
	for kind, body := range map[llm.Kind]string{
		llm.OpenAI: `data: {"choices":[{"index":0,"delta":{"content":"Paris"},"finish_reason":"stop"}]}` + "\n\n" + "data: [DONE]\n",
		llm.Anthropic: "event: message_start\ndata: " + `{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}` + "\n\n" +
			"event: content_block_start\ndata: " + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Paris"}}` + "\n\n" +
			"event: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}` + "\n\n",
	} {
		conn := serve(t, "text/event-stream", body)
		conn.Kind = kind
		result, _, err := complete(t.Context(), connect(t, conn), llm.Request{Model: "m", Messages: user("hello")}, true)
		require.NoError(t, err)
		assert.Equal(t, "Paris", content(t, result))
	}
}

func TestServerThatDoesNotStream(t *testing.T) {
	t.Parallel()
	for kind, body := range map[llm.Kind]string{
		llm.OpenAI:    `{"choices":[{"index":0,"message":{"role":"assistant","content":"Paris"},"finish_reason":"stop"}]}`,
		llm.Anthropic: `{"content":[{"type":"text","text":"Paris"}],"stop_reason":"end_turn"}`,
	} {
		conn := serve(t, "application/json", body)
		conn.Kind = kind
		result, got, err := complete(t.Context(), connect(t, conn), llm.Request{Model: "m", Messages: user("hello")}, true)
		require.NoError(t, err)
		assert.Equal(t, "Paris", content(t, result))
		assert.Equal(t, "Paris", got.text)
		assert.Nil(t, result.Usage)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			server := provider.Start(t, provider.Options{})
			failed, _ := fail(t, connection(t, kind, server), llm.Request{Model: "redirect", Messages: user("hello")}, stream)
			assert.Equal(t, llm.Garbage, failed.Kind)
			assert.Equal(t, "base_url", failed.Parameter)
			assert.Contains(t, failed.Message, "redirects to http")
			assert.Len(t, server.Requests(), 1)
		})
	}
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := listener.Addr().String()
	require.NoError(t, listener.Close())
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	for _, kind := range kinds {
		for base, want := range map[string]struct {
			kind       llm.ErrorKind
			retryable  bool
			suggestion string
		}{
			"http://" + closed: {llm.Unreachable, true, ""},
			strings.Replace(plain.URL, "http", "https", 1): {llm.Unreachable, false, "http://"},
			secure.URL:                    {llm.Unreachable, false, "certificate"},
			"http://no-such-host.invalid": {llm.Unreachable, false, "Check the base URL."},
			"http://2130706433":           {llm.Unreachable, false, "Check the base URL."},
		} {
			failed, _ := fail(t, llm.Connection{Kind: kind, BaseURL: base, HTTP: loopback(t), APIKey: "sk-test-of-some-length"}, llm.Request{Model: "m", Messages: user("hello")}, true)
			assert.Equal(t, want.kind, failed.Kind, base)
			assert.Equal(t, want.retryable, failed.Retryable, "%s: %s", base, failed)
			assert.Contains(t, failed.Suggestion, want.suggestion, "%s: %s", base, failed)
			assert.Zero(t, failed.Status)
			assert.Nil(t, failed.Partial, "no request reached a server")
		}
		failed, _ := fail(t, llm.Connection{Kind: kind, BaseURL: "http://" + closed, HTTP: outbound.Policy{}.Client()}, llm.Request{Model: "m", Messages: user("hello")}, true)
		assert.Equal(t, llm.AddressNotAllowed, failed.Kind)
		assert.Contains(t, failed.Message, outbound.Setting)
		assert.Contains(t, failed.Message, "127.0.0.1")
		var refused *outbound.AddressError
		require.ErrorAs(t, failed, &refused)
	}
}

// TestSecretsAreBlottedOut has a server that repeats what it was sent.
func TestSecretsAreBlottedOut(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		for _, status := range []int{200, 400, 401, 500} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				said := strings.Join([]string{r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), r.Header.Get("X-Gateway"), r.Header.Get("X-Token")}, ", ")
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": "You sent " + said, "type": "x"}})
			}))
			t.Cleanup(server.Close)
			conn := llm.Connection{
				Kind: kind, BaseURL: server.URL, HTTP: loopback(t), APIKey: "sk-test-of-some-length",
				Headers: map[string]string{"X-Gateway": "gateway-secret", "X-Token": "Bearer another-secret"},
			}
			failed, _ := fail(t, conn, llm.Request{Model: "m", Messages: user("hello")}, false)
			assert.Contains(t, failed.Message, "You sent")
			for _, secret := range []string{"gateway-secret", "another-secret"} {
				assert.NotContains(t, failed.Error()+string(failed.Partial.RawResponse), secret)
			}
		}
	}
}

func TestConnectionThatIsNotValid(t *testing.T) {
	t.Parallel()
	valid := llm.Connection{Kind: llm.OpenAI, HTTP: http.DefaultClient}
	for parameter, change := range map[string]func(*llm.Connection){
		"kind":        func(c *llm.Connection) { c.Kind = "azure" },
		"http":        func(c *llm.Connection) { c.HTTP = nil },
		"api_key":     func(c *llm.Connection) { c.APIKey = "sk-secret\n" },
		"headers":     func(c *llm.Connection) { c.Headers = map[string]string{"a b": "c"} },
		"headers ":    func(c *llm.Connection) { c.Headers = map[string]string{"x": "secret\r\n"} },
		"headers  ":   func(c *llm.Connection) { c.Headers = map[string]string{"content-length": "1"} },
		"base_url":    func(c *llm.Connection) { c.BaseURL = "api.openai.com" },
		"base_url ":   func(c *llm.Connection) { c.BaseURL = "https://user:secret@api.openai.com" },
		"base_url  ":  func(c *llm.Connection) { c.BaseURL = "https://api.openai.com?key=secret" },
		"base_url   ": func(c *llm.Connection) { c.BaseURL = "ftp://api.openai.com" },
	} {
		conn := valid
		change(&conn)
		_, err := client.New(conn)
		var failed *llm.Error
		require.ErrorAs(t, err, &failed, parameter)
		assert.Equal(t, strings.TrimSpace(parameter), failed.Parameter)
		assert.NotContains(t, err.Error(), "secret")
	}
	_, err := client.New(valid)
	require.NoError(t, err)
}

func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	conn := llm.Connection{
		Kind: llm.OpenAI, BaseURL: "https://models.example", APIKey: "sk-secret", Headers: map[string]string{"X": "secret-header"}, HTTP: http.DefaultClient,
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("call", "connection", conn, "client", connect(t, conn))
	for _, text := range []string{
		fmt.Sprint(conn), fmt.Sprintf("%+v %#v %s", conn, conn, &conn), fmt.Sprintf("%v %+v %#v", connect(t, conn), connect(t, conn), connect(t, conn)), log.String(),
	} {
		assert.NotContains(t, text, "secret")
	}
}

func TestPagesOfModels(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("after_id") == "a&b" {
			_, _ = w.Write([]byte(`{"data":[{"id":"c","display_name":"C","max_input_tokens":200000,"max_tokens":64000}],"has_more":false}`))
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"a&b"}],"has_more":true,"last_id":"a&b"}`))
	}))
	t.Cleanup(server.Close)
	models, err := connect(t, llm.Connection{Kind: llm.Anthropic, BaseURL: server.URL, HTTP: loopback(t)}).Models(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []llm.Model{{ID: "a&b"}, {ID: "c", Name: "C", MaxInputTokens: ptr(int64(200000)), MaxOutputTokens: ptr(int64(64000))}}, models)

	for _, body := range []string{`[{"id":"a","created":1}]`, `{"data":[{"id":"a","created":1}]}`} {
		conn := serve(t, "application/json", body)
		conn.Kind = llm.OpenAI
		models, err := connect(t, conn).Models(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []llm.Model{{ID: "a", Created: time.Unix(1, 0).UTC()}}, models)
	}
	conn := serve(t, "text/html", "<html></html>")
	for _, kind := range kinds {
		conn.Kind = kind
		_, err := connect(t, conn).Models(t.Context())
		var failed *llm.Error
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, llm.Garbage, failed.Kind)
	}
}

func TestHeadersOfTheConnection(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		server := provider.Start(t, provider.Options{})
		conn := connection(t, kind, server)
		conn.APIKey = "not-the-key-of-the-server"
		conn.Headers = map[string]string{"authorization": "Bearer " + server.Key, "x-team": "blue"}
		if kind == llm.Anthropic {
			conn.APIKey = ""
		}
		_, _, err := complete(t.Context(), connect(t, conn), llm.Request{Model: "text", Messages: user("hello")}, true)
		require.NoError(t, err, "the header precedes the key")
		assert.Equal(t, "blue", server.Requests()[0].Header.Get("X-Team"))
	}
}

// TestEndlessAnswer has a server that is never idle and never done.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			gone := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(gone)
				w.Header().Set("Content-Type", "application/json")
				if v.stream {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				for r.Context().Err() == nil {
					_, _ = w.Write([]byte(" \n"))
					_ = http.NewResponseController(w).Flush()
					<-time.After(10 * time.Millisecond)
				}
			}))
			t.Cleanup(server.Close)
			conn := llm.Connection{Kind: v.kind, BaseURL: server.URL, APIKey: "sk-test-of-some-length", HTTP: loopback(t), Timeout: time.Second}
			failed, _ := fail(t, conn, llm.Request{Model: "m", Messages: user("hello")}, v.stream)
			assert.Equal(t, llm.Timeout, failed.Kind)
			assert.Contains(t, failed.Message, "not complete after 1s")
			assert.False(t, failed.Retryable, "it would take as long again")
			<-gone
		})
	}
}
