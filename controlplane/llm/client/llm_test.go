package client_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/client"
	"github.com/looptrace/looptrace/controlplane/outbound"
	"github.com/looptrace/looptrace/test/provider"
)

func TestMain(m *testing.M) {
	// What the environment says of the SDKs' providers must not matter.
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ORG_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"} {
		if err := os.Setenv(name, "from-the-environment"); err != nil {
			panic(err)
		}
	}
	for _, name := range []string{"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"} {
		if err := os.Setenv(name, "http://127.0.0.1:1"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

var kinds = []llm.Kind{llm.OpenAI, llm.Anthropic}

// variant is a kind, streamed or not.
type variant struct {
	kind   llm.Kind
	stream bool
}

var variants = []variant{{llm.OpenAI, false}, {llm.OpenAI, true}, {llm.Anthropic, false}, {llm.Anthropic, true}}

func (v variant) String() string {
	if v.stream {
		return string(v.kind) + "/streamed"
	}
	return string(v.kind) + "/whole"
}

func loopback(tb testing.TB) *http.Client {
	tb.Helper()
	policy, err := outbound.Parse("loopback")
	require.NoError(tb, err)
	client := policy.Client()
	tb.Cleanup(client.CloseIdleConnections)
	return client
}

func connection(tb testing.TB, kind llm.Kind, server *provider.Server) llm.Connection {
	tb.Helper()
	base := server.URL
	if kind == llm.OpenAI {
		base += "/v1"
	}
	return llm.Connection{Kind: kind, BaseURL: base, APIKey: server.Key, HTTP: loopback(tb)}
}

func connect(tb testing.TB, conn llm.Connection) *client.Client {
	tb.Helper()
	client, err := client.New(conn)
	require.NoError(tb, err)
	return client
}

func start(tb testing.TB, kind llm.Kind) (*provider.Server, *client.Client) {
	tb.Helper()
	server := provider.Start(tb, provider.Options{})
	return server, connect(tb, connection(tb, kind, server))
}

// received is what a stream delivered.
type received struct {
	text, reasoning string
	calls           []llm.ToolCallDelta // the fragments of a call as one
	fragments       int
}

func (r *received) add(d llm.Delta) error {
	r.text += d.Text
	r.reasoning += d.Reasoning
	if d.ToolCall == nil {
		return nil
	}
	r.fragments++
	if d.ToolCall.Index == len(r.calls) {
		r.calls = append(r.calls, *d.ToolCall)
		return nil
	}
	r.calls[d.ToolCall.Index].Arguments += d.ToolCall.Arguments
	return nil
}

func complete(ctx context.Context, client *client.Client, request llm.Request, stream bool) (*llm.Result, *received, error) {
	var got received
	var onDelta func(llm.Delta) error
	if stream {
		onDelta = got.add
	}
	result, err := client.Complete(ctx, request, onDelta)
	return result, &got, err
}

func user(text string) []json.RawMessage {
	return []json.RawMessage{object("role", "user", "content", text)}
}

func object(pairs ...any) json.RawMessage {
	values := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(values)
	if err != nil {
		panic(err)
	}
	return raw
}

func function(name, schema string) json.RawMessage {
	return object("type", "function", "function", map[string]any{
		"name": name, "description": "Does " + name + ".", "parameters": json.RawMessage(schema),
	})
}

var (
	weather = function("weather", `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`)
	clock   = function("clock", `{"type":"object","properties":{"zone":{"type":"string"}},"required":["zone"],"additionalProperties":false}`)
)

type message struct {
	Role      string            `json:"role"`
	Content   *string           `json:"content"`
	Reasoning string            `json:"reasoning_content"`
	Refusal   string            `json:"refusal"`
	Original  []json.RawMessage `json:"anthropic_content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func read(t *testing.T, raw json.RawMessage) message {
	t.Helper()
	var m message
	require.NoError(t, json.Unmarshal(raw, &m), string(raw))
	assert.Equal(t, "assistant", m.Role)
	return m
}

func content(t *testing.T, result *llm.Result) string {
	t.Helper()
	m := read(t, result.Message)
	require.NotNil(t, m.Content, string(result.Message))
	return *m.Content
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			server, client := start(t, kind)
			server.Next(provider.Reply{Text: "Grüße, Welt 👩‍👩‍👧‍👦", Usage: &provider.Usage{Input: 30, Output: 12, CacheRead: 20, Reasoning: 4}})
			result, got, err := complete(t.Context(), client, llm.Request{Model: "text", Messages: user("hello")}, stream)
			require.NoError(t, err)
			assert.Equal(t, "Grüße, Welt 👩‍👩‍👧‍👦", content(t, result))
			assert.Equal(t, "stop", result.FinishReason)
			assert.Equal(t, "text", result.Model)
			assert.NotEmpty(t, result.ResponseID)
			assert.NotEmpty(t, result.RequestID)
			assert.NotEmpty(t, result.ServiceTier)
			assert.Equal(t, http.StatusOK, result.Status)
			assert.NotEmpty(t, result.RateLimit)
			assert.Nil(t, result.Structured)
			assert.Positive(t, result.Duration)
			require.NotNil(t, result.Usage)
			assert.Equal(t, int64(30), *result.Usage.Input)
			assert.Equal(t, int64(12), *result.Usage.Output)
			assert.Equal(t, int64(20), *result.Usage.CacheRead)
			assert.Equal(t, int64(4), *result.Usage.Reasoning)
			if kind == llm.OpenAI {
				assert.NotEmpty(t, result.Fingerprint)
				assert.Nil(t, result.Usage.CacheWrite, "it was not told")
			}
			if stream {
				assert.Equal(t, "Grüße, Welt 👩‍👩‍👧‍👦", got.text)
				assert.Positive(t, result.TimeToFirstToken)
				assert.LessOrEqual(t, result.TimeToFirstToken, result.Duration)
				assert.Contains(t, string(result.RawResponse), "data: {")
			} else {
				assert.Zero(t, result.TimeToFirstToken)
				assert.True(t, json.Valid(result.RawResponse))
			}
			sent := server.Requests()[0]
			assert.Equal(t, string(sent.Body), string(result.RawRequest))
			assert.NotContains(t, string(result.RawRequest), server.Key)
			assert.Equal(t, "looptrace", sent.Header.Get("User-Agent"))
			for name, values := range sent.Header {
				assert.NotContains(t, name, "Stainless")
				assert.NotContains(t, strings.Join(values, " "), "from-the-environment", name)
			}
		})
	}
}

func TestReasoning(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			server, client := start(t, kind)
			effort := "high"
			request := llm.Request{Model: "reasoning-content", Messages: user("hello"), ReasoningEffort: &effort}
			server.Next(provider.Reply{Reasoning: "First I think. Then I answer.", Text: "Paris"})
			result, got, err := complete(t.Context(), client, request, stream)
			require.NoError(t, err)
			m := read(t, result.Message)
			assert.Equal(t, "Paris", *m.Content)
			assert.Equal(t, "First I think. Then I answer.", m.Reasoning)
			require.NotNil(t, result.Usage)
			assert.Positive(t, *result.Usage.Reasoning)
			assert.GreaterOrEqual(t, *result.Usage.Output, *result.Usage.Reasoning)
			if stream {
				assert.Equal(t, m.Reasoning, got.reasoning)
				assert.Equal(t, "Paris", got.text)
			}
			if kind == llm.Anthropic {
				require.Len(t, m.Original, 2)
				assert.Contains(t, string(m.Original[0]), `"signature":"`)
				assert.Contains(t, string(server.Requests()[0].Body), `"output_config":{"effort":"high"}`)
				assert.Contains(t, string(server.Requests()[0].Body), `"type":"adaptive"`)
			}
		})
	}
}

// TestToolTurns calls two tools at once and sends the results back, with the reasoning as the API wants it.
func TestToolTurns(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			server, client := start(t, kind)
			effort := "low"
			request := llm.Request{
				Model: "reasoning", Messages: user("weather and time?"), Tools: []json.RawMessage{weather, clock}, ReasoningEffort: &effort,
			}
			server.Next(provider.Reply{
				Reasoning: "I need both.", Text: "Let me look.", ToolCalls: []provider.ToolCall{
					{ID: "call_a", Name: "weather", Arguments: `{"city":"Zürich, \"old town\""}`},
					{ID: "call_b", Name: "clock", Arguments: `{"zone":"Europe/Zurich"}`},
				},
			})
			result, got, err := complete(t.Context(), client, request, stream)
			require.NoError(t, err)
			assert.Equal(t, "tool_calls", result.FinishReason)
			m := read(t, result.Message)
			assert.Equal(t, "Let me look.", *m.Content, "the text before the calls stays")
			require.Len(t, m.ToolCalls, 2)
			assert.Equal(t, "call_a", m.ToolCalls[0].ID)
			assert.Equal(t, "function", m.ToolCalls[0].Type)
			assert.Equal(t, "weather", m.ToolCalls[0].Function.Name)
			assert.JSONEq(t, `{"city":"Zürich, \"old town\""}`, m.ToolCalls[0].Function.Arguments)
			assert.Equal(t, "clock", m.ToolCalls[1].Function.Name)
			assert.JSONEq(t, `{"zone":"Europe/Zurich"}`, m.ToolCalls[1].Function.Arguments)
			if stream {
				require.Len(t, got.calls, 2)
				assert.Greater(t, got.fragments, 4)
				for i, c := range got.calls {
					assert.Equal(t, m.ToolCalls[i].ID, c.ID)
					assert.Equal(t, m.ToolCalls[i].Function.Name, c.Name)
					assert.Equal(t, m.ToolCalls[i].Function.Arguments, c.Arguments)
				}
				assert.Equal(t, "Let me look.", got.text)
			}

			request.Messages = append(request.Messages, result.Message,
				object("role", "tool", "tool_call_id", "call_a", "content", "rain"),
				object("role", "tool", "tool_call_id", "call_b", "content", "12:00"),
				object("role", "user", "content", "And now?"))
			_, _, err = complete(t.Context(), client, request, stream)
			require.NoError(t, err)
			second := server.Requests()[1]
			if kind == llm.OpenAI {
				assert.Len(t, second.Messages, 5)
				return
			}
			require.Len(t, second.Messages, 3, "results and what the user says are one message")
			assert.Equal(t, []string{"call_a", "call_b"}, second.Messages[2].Results)
			assert.Contains(t, string(second.Body), `"signature":"`, "the thinking goes back")
		})
	}
}

func TestToolWithoutArguments(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			server, client := start(t, kind)
			server.Next(provider.Reply{ToolCalls: []provider.ToolCall{{Name: "now"}}})
			result, _, err := complete(t.Context(), client, llm.Request{
				Model: "text", Messages: user("now?"), Tools: []json.RawMessage{function("now", `{"type":"object"}`)},
			}, stream)
			require.NoError(t, err)
			m := read(t, result.Message)
			require.Len(t, m.ToolCalls, 1)
			assert.Equal(t, "{}", m.ToolCalls[0].Function.Arguments)
			assert.Nil(t, m.Content, "no text is null, as the API says")
		})
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			_, client := start(t, kind)
			for model, want := range map[string]string{
				"length": "length", "refusal": "refusal", "empty": "stop",
				"content-filter": map[llm.Kind]string{llm.OpenAI: "content_filter", llm.Anthropic: "refusal"}[kind],
			} {
				result, _, err := complete(t.Context(), client, llm.Request{Model: model, Messages: user("hello")}, stream)
				require.NoError(t, err, model)
				assert.Equal(t, want, result.FinishReason, model)
				if model == "refusal" && kind == llm.OpenAI {
					assert.NotEmpty(t, read(t, result.Message).Refusal)
				}
			}
		})
	}
}

func TestUsageIsUnknownIfItIsNotTold(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		_, client := start(t, llm.OpenAI)
		result, _, err := complete(t.Context(), client, llm.Request{Model: "no-usage", Messages: user("hello")}, stream)
		require.NoError(t, err)
		assert.Nil(t, result.Usage)
	}
	_, client := start(t, llm.OpenAI)
	result, _, err := complete(t.Context(), client, llm.Request{Model: "text", Messages: user("hello"), OmitStreamUsage: true}, true)
	require.NoError(t, err)
	assert.Nil(t, result.Usage)
	assert.NotContains(t, string(result.RawRequest), "stream_options")
}

func TestCachedUsage(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			server, client := start(t, kind)
			server.Next(provider.Reply{Text: "x", Usage: &provider.Usage{Input: 3100, Output: 1, CacheRead: 2048, CacheWrite: 1024}})
			result, _, err := complete(t.Context(), client, llm.Request{Model: "text", Messages: user("hello")}, stream)
			require.NoError(t, err)
			assert.Equal(t, int64(3100), *result.Usage.Input, "what is cached is included")
			assert.Equal(t, int64(2048), *result.Usage.CacheRead)
			assert.Equal(t, int64(1024), *result.Usage.CacheWrite)
			if kind == llm.Anthropic {
				assert.Zero(t, *result.Usage.CacheWrite1h)
			}
		})
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		server, client := start(t, kind)
		models, err := client.Models(t.Context())
		require.NoError(t, err)
		require.Len(t, models, len(provider.Models()))
		assert.Equal(t, provider.Models()[0], models[0].ID)
		assert.Equal(t, 2026, models[0].Created.Year())

		conn := connection(t, kind, server)
		conn.APIKey = "wrong-key-of-some-length"
		_, err = connect(t, conn).Models(t.Context())
		var failed *llm.Error
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, llm.Authentication, failed.Kind)
		assert.Nil(t, failed.Partial)
	}
}

func TestAnthropicBaseMayEndWithItsVersion(t *testing.T) {
	t.Parallel()
	server := provider.Start(t, provider.Options{})
	conn := connection(t, llm.Anthropic, server)
	conn.BaseURL += "/v1/"
	_, _, err := complete(t.Context(), connect(t, conn), llm.Request{Model: "text", Messages: user("hello")}, false)
	require.NoError(t, err)
	assert.Equal(t, "/v1/messages", server.Requests()[0].URI)
}

func TestCallbackEndsTheCall(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		server, client := start(t, kind)
		stop := assert.AnError
		_, err := client.Complete(t.Context(), llm.Request{Model: "long@0s+5ms", Messages: user("hello")}, func(llm.Delta) error { return stop })
		var failed *llm.Error
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, llm.Cancelled, failed.Kind)
		require.ErrorIs(t, err, stop)
		require.NotNil(t, failed.Partial)
		assert.NotEmpty(t, content(t, failed.Partial))
		requireGone(t, server)
	}
}

// requireGone waits until the provider has seen its client go away.
func requireGone(t *testing.T, server *provider.Server) {
	t.Helper()
	require.Eventually(t, func() bool {
		requests := server.Requests()
		return len(requests) == 1 && !requests[0].Ended.IsZero() && requests[0].Gone
	}, 10*time.Second, time.Millisecond)
}

func TestClientThatGoesAwayEndsTheRequest(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			for _, model := range []string{"stall", "stall-stream"} {
				server, client := start(t, kind)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					_, _, err := complete(ctx, client, llm.Request{Model: model, Messages: user("hello")}, stream)
					done <- err
				}()
				require.Eventually(t, func() bool { return len(server.Requests()) == 1 }, 10*time.Second, time.Millisecond)
				cancel()
				var failed *llm.Error
				require.ErrorAs(t, <-done, &failed)
				assert.Equal(t, llm.Cancelled, failed.Kind, model)
				assert.False(t, failed.Retryable)
				require.ErrorIs(t, failed, context.Canceled)
				requireGone(t, server)
			}
		})
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		server := provider.Start(t, provider.Options{})
		conn := connection(t, kind, server)
		dials := 0
		transport := conn.HTTP.Transport.(*http.Transport)
		dial := transport.DialContext
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return dial(ctx, network, address)
		}
		client := connect(t, conn)
		for range 5 {
			_, _, err := complete(t.Context(), client, llm.Request{Model: "text", Messages: user("hello")}, true)
			require.NoError(t, err)
		}
		assert.Less(t, dials, 5, "a slow machine may miss the end of a response")
	}
}
