package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/client"
)

// chunks is a stream of chat completions, or of another protocol's events.
func chunks(events ...string) string {
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}

// TestFailureInsideOK has the ways in which providers report a failure after they have begun the response with 200.
func TestFailureInsideOK(t *testing.T) {
	t.Parallel()
	const streamed, whole = "text/event-stream", "application/json"
	for _, c := range []struct {
		name, contentType, body string
		want                    llm.Error
		partial                 string
	}{
		// The finish reason alone.
		{"finish reason", whole, `{"choices":[{"message":{"content":"Par"},"finish_reason":"error"}]}`, llm.Error{Kind: llm.Server, Message: `"error"`, Retryable: true}, "Par"},
		{"finish reason of a stream", streamed, chunks(`{"choices":[{"delta":{"content":"Par"}}]}`, `{"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}`, "[DONE]"), llm.Error{Kind: llm.Server, Message: `"error"`, Retryable: true}, "Par"},
		{"finish reason, without the last mark", streamed, chunks(`{"choices":[{"delta":{"content":"Par"},"finish_reason":"error"}]}`), llm.Error{Kind: llm.Server, Message: `"error"`, Retryable: true}, "Par"},
		{"Gemini's own reason", whole, `{"choices":[{"message":{"content":""},"finish_reason":"stop","native_finish_reason":"MALFORMED_FUNCTION_CALL"}]}`, llm.Error{Kind: llm.Server, Message: "MALFORMED_FUNCTION_CALL", Retryable: true}, ""},
		{"both reasons", whole, `{"choices":[{"message":{"content":""},"finish_reason":"error","native_finish_reason":"MALFORMED_FUNCTION_CALL"}]}`, llm.Error{Kind: llm.Server, Message: "MALFORMED_FUNCTION_CALL", Retryable: true}, ""},
		{"Google's compatible API", streamed, chunks(`{"choices":[{"delta":{"role":"assistant"},"finish_reason":"function_call_filter: MALFORMED_FUNCTION_CALL"}]}`, "[DONE]"), llm.Error{Kind: llm.Server, Message: "MALFORMED_FUNCTION_CALL", Retryable: true}, ""},
		{"Gemini, no signature", whole, `{"choices":[{"message":{"content":""},"finish_reason":"MISSING_THOUGHT_SIGNATURE"}]}`, llm.Error{Kind: llm.Server, Message: "MISSING_THOUGHT_SIGNATURE", Retryable: true}, ""},
		{"DeepSeek", whole, `{"choices":[{"message":{"content":"Par"},"finish_reason":"insufficient_system_resource"}]}`, llm.Error{Kind: llm.Overloaded, Message: "insufficient_system_resource", Retryable: true}, "Par"},
		{"Zhipu", streamed, chunks(`{"choices":[{"delta":{"content":"Par"},"finish_reason":"network_error"}]}`, "[DONE]"), llm.Error{Kind: llm.Server, Message: "network_error", Retryable: true}, "Par"},
		{"vLLM", streamed, chunks(`{"choices":[{"delta":{"content":"Par"},"finish_reason":"abort"}]}`, "[DONE]"), llm.Error{Kind: llm.Server, Message: "abort", Retryable: true}, "Par"},
		{"SGLang's object", whole, `{"choices":[{"message":{"content":"Par"},"finish_reason":{"type":"abort","message":"The memory pool is full","status_code":503}}]}`, llm.Error{Kind: llm.Overloaded, Message: "The memory pool is full", Retryable: true}, "Par"},
		{"Cohere's time limit", whole, `{"choices":[{"message":{"content":"Par"},"finish_reason":"TIMEOUT"}]}`, llm.Error{Kind: llm.Timeout, Message: "TIMEOUT", Retryable: true}, "Par"},

		// An error of the choice.
		{"error of a choice", whole, `{"choices":[{"message":{"content":"Par"},"finish_reason":"error","error":{"code":502,"message":"The upstream is gone"}}]}`, llm.Error{Kind: llm.Server, Message: "The upstream is gone", Retryable: true}, "Par"},
		{"error of a choice without a message", whole, `{"choices":[{"index":0,"error":{"code":429,"message":"Slow down"}}]}`, llm.Error{Kind: llm.RateLimited, Message: "Slow down", Retryable: true}, ""},
		{"error of a choice of a stream", streamed, chunks(`{"choices":[{"delta":{"content":"Par"}}]}`, `{"choices":[{"delta":{},"finish_reason":null,"error":"No capacity is left"}]}`), llm.Error{Kind: llm.Server, Message: "No capacity is left", Retryable: true}, "Par"},
		{"error of the message", whole, `{"choices":[{"message":{"content":"Par","error":{"message":"Slow down","type":"rate_limit_error"}},"finish_reason":"stop"}]}`, llm.Error{Kind: llm.RateLimited, Message: "Slow down", Retryable: true}, "Par"},
		{"a stop, and an error", streamed, chunks(`{"choices":[{"delta":{"content":"Par"},"finish_reason":"stop","error":{"message":"Cut by the upstream"}}]}`, "[DONE]"), llm.Error{Kind: llm.Server, Message: "Cut by the upstream", Retryable: true}, "Par"},

		// An error beside the choices, or in their place.
		{"error beside an answer", whole, `{"choices":[{"message":{"content":"Par"},"finish_reason":"error"}],"error":{"code":"503","message":"Away"}}`, llm.Error{Kind: llm.Overloaded, Message: "Away", Retryable: true}, "Par"},
		{"error beside a chunk", streamed, chunks(`{"choices":[{"delta":{"content":"Par"},"finish_reason":"error"}],"error":{"code":"server_error","message":"Away"}}`), llm.Error{Kind: llm.Server, Message: "Away", Retryable: true}, "Par"},
		{"older vLLM", streamed, chunks(`{"choices":[{"delta":{"content":"Par"}}]}`, `{"object":"error","message":"Out of memory","type":"InternalServerError","code":500}`, "[DONE]"), llm.Error{Kind: llm.Server, Message: "Out of memory", Retryable: true}, "Par"},
		{"MiniMax", whole, `{"id":"x","choices":null,"base_resp":{"status_code":1002,"status_msg":"rate limit triggered"}}`, llm.Error{Kind: llm.Server, Message: "rate limit triggered", Retryable: true}, ""},
		{"MiniMax's stream", streamed, chunks(`{"choices":[{"delta":{"content":"Par"}}],"base_resp":{"status_code":0,"status_msg":""}}`, `{"choices":null,"base_resp":{"status_code":1013,"status_msg":"internal service error"}}`), llm.Error{Kind: llm.Server, Message: "internal service error", Retryable: true}, "Par"},
		{"a status as text", whole, `{"status":"449","msg":"You exceeded your current rate limit","body":null}`, llm.Error{Kind: llm.InvalidParameter, Message: "You exceeded your current rate limit"}, ""},
		{"a code of its own", whole, `{"error_code":18,"error_msg":"Open api qps request limit reached"}`, llm.Error{Kind: llm.Server, Message: "Open api qps request limit reached", Retryable: true}, ""},
		{"no success", whole, `{"success":false,"result":null,"errors":[{"code":5006,"message":"AiError: oneOf is not met"}]}`, llm.Error{Kind: llm.Server, Message: "oneOf is not met", Retryable: true}, ""},
		{"an event named error", streamed, "data: {\"choices\":[{\"delta\":{\"content\":\"Par\"}}]}\n\nevent: error\ndata: The worker was killed\n\n", llm.Error{Kind: llm.Server, Message: "The worker was killed", Retryable: true}, "Par"},
		{"an event named error, with a code", streamed, "event:error\ndata:{\"code\":\"Throttling.RateQuota\",\"message\":\"Requests are throttled\"}\n\n", llm.Error{Kind: llm.RateLimited, Message: "Requests are throttled", Retryable: true}, ""},

		// The shapes of responses.
		{"a response that failed", whole, `{"id":"r","object":"response","status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow down"},"output":[]}`, llm.Error{Kind: llm.RateLimited, Message: "Slow down", Retryable: true}, ""},
		{"a response that failed without a word", whole, `{"id":"r","object":"response","status":"failed","error":null,"output":[]}`, llm.Error{Kind: llm.Server, Message: `"failed"`, Retryable: true}, ""},
		{"an incomplete response with an error", whole, `{"id":"r","object":"response","status":"incomplete","error":{"code":"server_error","message":"Away"},"output":[]}`, llm.Error{Kind: llm.Server, Message: "Away", Retryable: true}, ""},
		{"a stream of a response that fails", streamed, chunks(`{"type":"response.created","response":{"status":"in_progress","error":null}}`, `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"Away"}}}`), llm.Error{Kind: llm.Server, Message: "Away", Retryable: true}, ""},
		{"an error in a stream of a response", streamed, "event: error\n" + chunks(`{"type":"error","code":"ERR_SOMETHING","message":"Away","param":null}`), llm.Error{Kind: llm.Server, Message: "Away", Retryable: true}, ""},
		{"a completion with a status", whole, `{"status":"failed","choices":[{"message":{"content":"Par"},"finish_reason":"stop"}]}`, llm.Error{Kind: llm.Server, Message: `"failed"`, Retryable: true}, "Par"},
	} {
		conn := serve(t, c.contentType, c.body)
		conn.Kind = llm.OpenAI
		checkReported(t, c.name, conn, c.contentType == streamed, c.want, c.partial)
	}
	for _, c := range []struct {
		name, contentType, body string
		want                    llm.Error
	}{
		{"stop reason", whole, `{"content":[{"type":"text","text":"Par"}],"stop_reason":"error"}`, llm.Error{Kind: llm.Server, Message: `"error"`, Retryable: true}},
		{"Bedrock's reason", whole, `{"content":[{"type":"text","text":"Par"}],"stop_reason":"malformed_tool_use"}`, llm.Error{Kind: llm.Server, Message: "malformed_tool_use", Retryable: true}},
		{"error beside a message", whole, `{"content":[{"type":"text","text":"Par"}],"stop_reason":null,"error":{"type":"overloaded_error","message":"Busy"}}`, llm.Error{Kind: llm.Overloaded, Message: "Busy", Retryable: true}},
		{"error of a delta", streamed, anthropicEvents(`{"type":"message_delta","delta":{"stop_reason":"error","error":{"type":"api_error","message":"Away"}}}`, `{"type":"message_stop"}`), llm.Error{Kind: llm.Server, Message: "Away", Retryable: true}},
		{"stop reason of a stream", streamed, anthropicEvents(`{"type":"message_delta","delta":{"stop_reason":"malformed_model_output"}}`, `{"type":"message_stop"}`), llm.Error{Kind: llm.Server, Message: "malformed_model_output", Retryable: true}},
		{"an error without a nested one", streamed, anthropicEvents(`{"type":"error","message":"Away"}`), llm.Error{Kind: llm.Server, Message: "Away", Retryable: true}},
	} {
		conn := serve(t, c.contentType, c.body)
		conn.Kind = llm.Anthropic
		checkReported(t, c.name, conn, c.contentType == streamed, c.want, "Par")
	}
}

// anthropicEvents is a message that begins with "Par" and goes on as told.
func anthropicEvents(events ...string) string {
	return chunks(append([]string{
		`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":3,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Par"}}`, `{"type":"content_block_stop","index":0}`,
	}, events...)...)
}

func checkReported(t *testing.T, name string, conn llm.Connection, stream bool, want llm.Error, partial string) {
	t.Helper()
	failed, got := fail(t, conn, llm.Request{Model: "m", Messages: user("hello")}, stream)
	assert.Equal(t, want.Kind, failed.Kind, "%s: %s", name, failed)
	assert.Contains(t, failed.Message, want.Message, name)
	assert.Equal(t, want.Retryable, failed.Retryable, name)
	require.NotNil(t, failed.Partial, name)
	assert.Equal(t, partial, content(t, failed.Partial), name)
	if stream {
		assert.Equal(t, partial, got.text, name)
	}
	_, err := client.ReadResponse(conn.Kind, failed.Partial.RawResponse)
	require.Error(t, err, "%s: a recorded response that failed is no answer either", name)
}

// TestNoFailureInsideOK has answers that look like failures and are none.
func TestNoFailureInsideOK(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"choices":[{"message":{"content":"Paris"},"finish_reason":"stop"}],"error":null}`,
		`{"choices":[{"message":{"content":"Paris"},"finish_reason":"stop","error":null}],"error":{},"status":"completed","code":0,"message":"Success"}`,
		`{"choices":[{"message":{"content":"Paris","error":""},"finish_reason":"length","native_finish_reason":"MAX_TOKENS"}],"error":"","success":true}`,
		`{"choices":[{"message":{"content":"Paris"},"finish_reason":"end_turn"}],"error":false,"base_resp":{"status_code":0,"status_msg":"success"},"status":200}`,
		`{"choices":[{"message":{"content":"Paris"},"finish_reason":"content_filter"},{"index":1,"finish_reason":"error"}]}`,
		`{"choices":[{"message":{"content":"Paris"},"finish_reason":{"type":"stop","matched":2}}]}`,
		`{"choices":[{"message":{"content":"Paris"},"finish_reason":"stop"}],"code":"error"}`,
	} {
		conn := serve(t, "application/json", body)
		conn.Kind = llm.OpenAI
		result, _, err := complete(t.Context(), connect(t, conn), llm.Request{Model: "m", Messages: user("hello")}, false)
		require.NoError(t, err, body)
		assert.Equal(t, "Paris", content(t, result))
	}
}

// TestReportedFailureIsNotWaitedFor has a server that reports a failure, and then neither ends the stream nor says anything.
func TestReportedFailureIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(chunks(`{"choices":[{"delta":{"content":"Par"},"finish_reason":"error"}]}`)))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	conn := llm.Connection{Kind: llm.OpenAI, BaseURL: server.URL, HTTP: loopback(t), IdleTimeout: 500 * time.Millisecond}
	failed, _ := fail(t, conn, llm.Request{Model: "m", Messages: user("hello")}, true)
	assert.Equal(t, llm.Server, failed.Kind, "not that the server sent nothing: %s", failed)
}

// TestByteOrderMark is skipped before a stream and before a body.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	const mark = "\ufeff"
	for kind, bodies := range map[llm.Kind]struct{ whole, stream string }{
		llm.OpenAI: {`{"choices":[{"message":{"content":"Par"},"finish_reason":"stop"}]}`, chunks(`{"choices":[{"delta":{"content":"Par"},"finish_reason":"stop"}]}`, "[DONE]")},
		llm.Anthropic: {
			`{"content":[{"type":"text","text":"Par"}],"stop_reason":"end_turn"}`,
			"event: message_start\n" + anthropicEvents(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`),
		},
	} {
		for _, c := range []struct {
			contentType, body string
			stream            bool
		}{
			{"application/json", mark + bodies.whole, false},
			{"application/json", mark + "\n" + bodies.whole, true},
			{"text/event-stream", mark + bodies.stream, true},
			{"text/event-stream", mark + ": hello\n\n" + bodies.stream, true},
			{"text/event-stream", strings.Replace(bodies.stream, "data: ", "data: "+mark, 1), true},
		} {
			conn := serve(t, c.contentType, c.body)
			conn.Kind = kind
			result, _, err := complete(t.Context(), connect(t, conn), llm.Request{Model: "m", Messages: user("hello")}, c.stream)
			require.NoError(t, err, "%q", c.body)
			assert.Equal(t, "Par", content(t, result))
			recorded, err := client.ReadResponse(kind, result.RawResponse)
			require.NoError(t, err, "%q", c.body)
			assert.Equal(t, "Par", content(t, recorded))
		}
	}
	conn := serve(t, "application/json", mark+`{"data":[{"id":"m"}]}`)
	conn.Kind = llm.OpenAI
	models, err := connect(t, conn).Models(t.Context())
	require.NoError(t, err)
	assert.Len(t, models, 1)
}
