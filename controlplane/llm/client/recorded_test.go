package client

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/llm"
)

func TestReadResponse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body, message, finish string
		kind                        llm.Kind
	}{
		{
			"a completion", `{"id":"r","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`,
			`{"role":"assistant","content":"Hi"}`, "stop", llm.OpenAI,
		},
		{
			"a stream of chunks", "data: {\"id\":\"r\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"H\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"i\"},\"finish_reason\":\"stop\"}]}\n\n" +
				"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n",
			`{"role":"assistant","content":"Hi"}`, "stop", llm.OpenAI,
		},
		{
			"a message", `{"id":"r","model":"m","content":[{"type":"thinking","thinking":"H","signature":"s"},{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}`,
			`{"role":"assistant","content":"Hi","reasoning_content":"H","anthropic_content":[{"type":"thinking","thinking":"H","signature":"s"},{"type":"text","text":"Hi"}]}`, "stop", llm.Anthropic,
		},
		{
			"a stream of blocks", "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"r\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":0}}}\n\n" +
				"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
				"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n" +
				"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
			`{"role":"assistant","content":"Hi"}`, "stop", llm.Anthropic,
		},
	} {
		result, err := ReadResponse(test.kind, []byte(test.body))
		require.NoError(t, err, test.name)
		assert.JSONEq(t, test.message, string(result.Message), test.name)
		assert.Equal(t, test.finish, result.FinishReason, test.name)
		assert.Equal(t, "m", result.Model, test.name)
		assert.EqualValues(t, 3, *result.Usage.Input, test.name)
		assert.EqualValues(t, 1, *result.Usage.Output, test.name)
	}
	for _, body := range []string{"", "{}", "null", `{"error":{"message":"no"}}`, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"H\"}}]}\n\n", "data: {\"error\":{\"message\":\"no\"}}\n\n", "data: x\n\n"} {
		for _, kind := range []llm.Kind{llm.OpenAI, llm.Anthropic} {
			_, err := ReadResponse(kind, []byte(body))
			require.Error(t, err, "%s %q", kind, body)
		}
	}
}
