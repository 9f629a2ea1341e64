package client_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/llm"
)

// TestUsageThatIsNoCount has answers whose usage cannot be what was used. They are answers all the same.
func TestUsageThatIsNoCount(t *testing.T) {
	t.Parallel()
	for _, count := range []string{`-5`, `9000000000000000000`, `99999999999999999999`, `1e400`, `1.5`, `"5"`, `[]`, `{}`, `null`, `true`} {
		for kind, body := range map[llm.Kind]string{
			llm.OpenAI:    `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":%s}}`,
			llm.Anthropic: `{"content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":%s}}`,
		} {
			conn := serve(t, "application/json", fmt.Sprintf(body, count))
			conn.Kind = kind
			result, _, err := complete(t.Context(), connect(t, conn), llm.Request{Model: "m", Messages: user("hello")}, false)
			require.NoError(t, err, count)
			assert.Equal(t, "hi", content(t, result))
			require.NotNil(t, result.Usage, count)
			assert.Equal(t, int64(3), *result.Usage.Input)
			assert.Nil(t, result.Usage.Output, count)
		}
	}
	for _, usage := range []string{`"x"`, `[]`, `7`, `{"prompt_tokens":1,"completion_tokens":1,"prompt_tokens_details":[],"input_tokens":1,"cache_creation":7}`} {
		for kind, body := range map[llm.Kind]string{
			llm.OpenAI:    `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":%s}`,
			llm.Anthropic: `{"content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":%s}`,
		} {
			conn := serve(t, "application/json", fmt.Sprintf(body, usage))
			conn.Kind = kind
			result, _, err := complete(t.Context(), connect(t, conn), llm.Request{Model: "m", Messages: user("hello")}, false)
			require.NoError(t, err, usage)
			assert.Nil(t, result.Usage, usage)
		}
	}
	conn := serve(t, "application/json", `{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":3.0,"completion_tokens":1e3}}`)
	conn.Kind = llm.OpenAI
	result, _, err := complete(t.Context(), connect(t, conn), llm.Request{Model: "m", Messages: user("hello")}, false)
	require.NoError(t, err)
	assert.Equal(t, int64(1000), *result.Usage.Output, "another way to write the number")
}

// TestMembersThatGrow has members that this package does not know in many fragments. It is not parallel, because it measures the memory
// of the process: joining each fragment with all before it would take gigabytes.
func TestMembersThatGrow(t *testing.T) { //nolint:paralleltest // it measures memory
	const fragments = 20_000
	chunk := `data: {"choices":[{"index":0,"delta":{"note":"\ud83d","reasoning_details":[ ]}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"note":"\ude00","reasoning_details":[{"type":"reasoning.text","text":"abcd","index":0}]}}]}` + "\n\n"
	conn := serve(t, "text/event-stream", strings.Repeat(chunk, fragments)+`data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`+"\n\n")
	conn.Kind = llm.OpenAI
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result, _, err := complete(t.Context(), connect(t, conn), llm.Request{Model: "m", Messages: user("hello")}, true)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	assert.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(1024), "MiB")
	message := read(t, result.Message)
	require.NotEmpty(t, message)
	assert.Equal(t, fragments, strings.Count(string(result.Message), "reasoning.text"))
	assert.Equal(t, fragments, strings.Count(string(result.Message), `\ud83d\ude00`), "halves of a character that come apart")
}

func TestEndlessCalls(t *testing.T) {
	t.Parallel()
	var openai, nameless, anthropic strings.Builder
	anthropic.WriteString("data: {\"type\":\"message_start\",\"message\":{}}\n\n")
	for i := range 5000 {
		fmt.Fprintf(&openai, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"t"}}]}}]}`+"\n\n", i, i)
		fmt.Fprintf(&nameless, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d}]}}]}`+"\n\n", i)
		fmt.Fprintf(&anthropic, `data: {"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"c%d","name":"t"}}`+"\n\n", i, i)
	}
	for _, c := range []struct {
		kind llm.Kind
		body string
	}{{llm.OpenAI, openai.String()}, {llm.OpenAI, nameless.String()}, {llm.Anthropic, anthropic.String()}} {
		conn := serve(t, "text/event-stream", c.body)
		conn.Kind = c.kind
		failed, _ := fail(t, conn, llm.Request{Model: "m", Messages: user("hello")}, true)
		assert.Equal(t, llm.Garbage, failed.Kind)
		assert.Contains(t, failed.Message, "more than 4096")
	}
}
