package client_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/client"
)

// TestStreamsOfOtherServers has chunks as compatible servers write them.
func TestStreamsOfOtherServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		chunks []string
		want   string
		calls  []llm.ToolCallDelta
	}{
		{
			"OpenRouter's reasoning",
			[]string{
				`{"choices":[{"index":0,"delta":{"reasoning":"a","reasoning_details":[{"id":1}]}}]}`,
				`{"choices":[{"index":0,"delta":{"reasoning":"b","reasoning_details":[{"id":2}],"content":""}}]}`,
				`{"choices":[{"index":0,"delta":{"content":"c"},"finish_reason":"stop"}]}`,
			},
			`{"role":"assistant","content":"c","reasoning_content":"ab","reasoning_details":[{"id":1},{"id":2}]}`, nil,
		},
		{
			"Mistral's parts",
			[]string{
				`{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}}]}`,
				`{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"b"}]},"finish_reason":"stop"}]}`,
			},
			`{"role":"assistant","content":"b","reasoning_content":"a"}`, nil,
		},
		{
			"text before and after a call, and a finish reason that denies the call",
			[]string{
				`{"choices":[{"index":0,"delta":{"content":"a"}}]}`,
				`{"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\""}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"content":"b","tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			},
			`{"role":"assistant","content":"ab","tool_calls":[{"id":"1","type":"function","function":{"arguments":"{\"x\":1}","name":"f"}}]}`,
			[]llm.ToolCallDelta{{Index: 0, ID: "1", Name: "f", Arguments: `{"x":1}`}},
		},
		{
			"each call has the index 0, and Google's signature goes back",
			[]string{
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"1","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"f","arguments":"{}"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"2","function":{"name":"f","arguments":"{\"y\":2}"}}]},"finish_reason":"tool_calls"}]}`,
			},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"arguments":"{}","name":"f"},"extra_content":{"google":{"thought_signature":"s"}}},` +
				`{"id":"2","type":"function","function":{"arguments":"{\"y\":2}","name":"f"}}]}`,
			[]llm.ToolCallDelta{{Index: 0, ID: "1", Name: "f", Arguments: "{}"}, {Index: 1, ID: "2", Name: "f", Arguments: `{"y":2}`}},
		},
		{
			"calls without index and id, with arguments as an object",
			[]string{
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}},{"function":{"name":"g","arguments":{}}}]},"finish_reason":"stop"}]}`,
			},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"arguments":"{\"a\":1}","name":"f"}},` +
				`{"id":"call_2","type":"function","function":{"arguments":"{}","name":"g"}}]}`,
			[]llm.ToolCallDelta{{Index: 0, ID: "call_1", Name: "f", Arguments: `{"a":1}`}, {Index: 1, ID: "call_2", Name: "g", Arguments: "{}"}},
		},
		{
			"calls side by side, with the id before the name",
			[]string{
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"2"},{"index":0,"id":"1","function":{"name":"f","arguments":"{"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"name":"g","arguments":"{}"}},{"index":0,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}`,
			},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"arguments":"{}","name":"f"}},{"id":"2","type":"function","function":{"arguments":"{}","name":"g"}}]}`,
			[]llm.ToolCallDelta{{Index: 0, ID: "1", Name: "f", Arguments: "{}"}, {Index: 1, ID: "2", Name: "g", Arguments: "{}"}},
		},
		{
			"another choice, comments and blank events",
			[]string{
				`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"}}],"error":null}`,
				`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":2}}}`,
			},
			`{"role":"assistant","content":"yes"}`, nil,
		},
	} {
		conn := serve(t, "text/event-stream", ": hello\n\ndata:\n\ndata: "+strings.Join(c.chunks, "\r\n\r\ndata:")+"\n\ndata: [DONE]\n\n")
		conn.Kind = llm.OpenAI
		result, got, err := complete(t.Context(), connect(t, conn), llm.Request{Model: "m", Messages: user("hello")}, true)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, string(result.Message), c.name)
		assert.Equal(t, c.calls, got.calls, c.name)
		if c.calls != nil {
			assert.Equal(t, "tool_calls", result.FinishReason, c.name)
		}
		if result.Usage != nil {
			assert.Equal(t, int64(7), *result.Usage.Output, "the reasoning is not in the completion, as the total shows")
			assert.Nil(t, result.Usage.CacheRead)
		}
	}
}

// TestBlocksOfAnthropic keeps what chat completions cannot express.
func TestBlocksOfAnthropic(t *testing.T) {
	t.Parallel()
	events := []string{
		`{"type":"message_start","message":{"id":"msg","model":"claude","content":[],"usage":{"input_tokens":3,"cache_creation_input_tokens":4,"cache_creation":{"ephemeral_1h_input_tokens":4},"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"opaque"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"q\":"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"","citations":[]}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"n":1}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"n":2}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"cited"}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"future_delta","x":1}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"future_event"}`,
		`{"type":"message_delta","delta":{"stop_reason":"pause_turn"},"usage":{"output_tokens":9}}`,
		`{"type":"message_stop"}`,
	}
	conn := serve(t, "text/event-stream", "event: x\ndata: "+strings.Join(events, "\n\nevent: x\ndata: ")+"\n\n")
	conn.Kind = llm.Anthropic
	result, _, err := complete(t.Context(), connect(t, conn), llm.Request{Model: "m", Messages: user("hello")}, true)
	require.NoError(t, err)
	assert.JSONEq(t, `{"role":"assistant","content":"cited","anthropic_content":[{"type":"redacted_thinking","data":"opaque"},`+
		`{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}},{"type":"text","text":"cited","citations":[{"n":1},{"n":2}]}]}`, string(result.Message))
	assert.Equal(t, "pause_turn", result.FinishReason)
	assert.Equal(t, int64(7), *result.Usage.Input)
	assert.Equal(t, int64(4), *result.Usage.CacheWrite1h)
	assert.Equal(t, int64(9), *result.Usage.Output)
}

// transport answers without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// FuzzStream reads any stream: it must end in an answer or in one of the package's errors, and what was delivered must
// be what the message has.
func FuzzStream(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\",\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"), false)
	f.Add([]byte("data: {\"type\":\"message_start\",\"message\":{}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"), true)
	f.Add([]byte("data: {\"error\":{\"message\":\"no\",\"code\":429}}\n\n"), false)
	f.Fuzz(func(t *testing.T, body []byte, anthropic bool) {
		kind := llm.OpenAI
		if anthropic {
			kind = llm.Anthropic
		}
		client, err := client.New(llm.Connection{Kind: kind, HTTP: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r,
			}, nil
		})}})
		require.NoError(t, err)
		result, got, err := complete(context.Background(), client, llm.Request{Model: "m", Messages: user("hello")}, true)
		if err != nil {
			var failed *llm.Error
			require.ErrorAs(t, err, &failed)
			return
		}
		m := read(t, result.Message)
		said := m.Refusal
		if m.Content != nil {
			said += *m.Content
		}
		require.Len(t, got.text, len(said))
		require.Len(t, m.ToolCalls, len(got.calls))
		for i, c := range got.calls {
			require.Equal(t, c.Name, m.ToolCalls[i].Function.Name)
			require.Equal(t, c.Arguments, m.ToolCalls[i].Function.Arguments)
		}
	})
}

// BenchmarkFirstToken measures the time from when the provider writes the first token to when the callback has it.
func BenchmarkFirstToken(b *testing.B) {
	for _, kind := range kinds {
		b.Run(string(kind), func(b *testing.B) {
			server, client := start(b, kind)
			var delays []time.Duration
			for b.Loop() {
				var first time.Time
				_, err := client.Complete(b.Context(), llm.Request{Model: "text", Messages: user("hello")}, func(llm.Delta) error {
					if first.IsZero() {
						first = time.Now()
					}
					return nil
				})
				require.NoError(b, err)
				requests := server.Requests()
				delays = append(delays, first.Sub(requests[len(requests)-1].Sent[0].At))
				if len(delays)%100 == 0 {
					b.StopTimer() // the provider keeps all requests
					server, client = start(b, kind)
					b.StartTimer()
				}
			}
			slices.Sort(delays)
			b.ReportMetric(float64(delays[len(delays)/2].Nanoseconds()), "ns/token-p50")
			b.ReportMetric(float64(delays[len(delays)*99/100].Nanoseconds()), "ns/token-p99")
		})
	}
}
