package client_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/client"
	"github.com/looptrace/looptrace/test/provider"
)

func build(t *testing.T, kind llm.Kind, request llm.Request, stream bool) string {
	t.Helper()
	if request.Model == "" {
		request.Model = "m"
	}
	if request.Messages == nil {
		request.Messages = user("hello")
	}
	built, err := client.Build(llm.Connection{Kind: kind}, request, stream)
	require.NoError(t, err)
	return string(built.Body)
}

func refuse(t *testing.T, kind llm.Kind, request llm.Request) *llm.Error {
	t.Helper()
	if request.Messages == nil {
		request.Messages = user("hello")
	}
	request.Model = "m"
	_, err := client.Build(llm.Connection{Kind: kind}, request, false)
	var failed *llm.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, llm.InvalidParameter, failed.Kind)
	return failed
}

// TestBuildIsWhatIsSent holds the request for display to the one that the provider gets.
func TestBuildIsWhatIsSent(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			kind, stream := v.kind, v.stream
			server := provider.Start(t, provider.Options{})
			conn := connection(t, kind, server)
			conn.Headers = map[string]string{"x-gateway": "a secret", "User-Agent": "mine"}
			request := llm.Request{Model: "text", Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":"<a> & b"}`)}, Tools: []json.RawMessage{weather}, MaxOutputTokens: ptr(int64(50))}
			_, _, err := complete(t.Context(), connect(t, conn), request, stream)
			require.NoError(t, err)
			built, err := client.Build(conn, request, stream)
			require.NoError(t, err)
			sent := server.Requests()[0]
			assert.Equal(t, sent.Method, built.Method)
			assert.Equal(t, "http://"+sent.Host+sent.URI, built.URL)
			assert.Equal(t, string(sent.Body), string(built.Body))
			assert.Contains(t, string(built.Body), "<a> & ")
			for name, value := range built.Headers {
				want := sent.Header.Get(name)
				want = strings.ReplaceAll(want, server.Key, "$API_KEY")
				want = strings.ReplaceAll(strings.ReplaceAll(want, "a secret", "$X_GATEWAY"), "mine", "$USER_AGENT")
				assert.Equal(t, want, value, name)
			}
			assert.NotContains(t, built.Headers, "X-Stainless-Lang")
			for _, name := range []string{"Content-Type", "X-Gateway"} {
				assert.Contains(t, built.Headers, name)
			}
		})
	}
}

func TestDefaultAddresses(t *testing.T) {
	t.Parallel()
	for kind, want := range map[llm.Kind]string{
		llm.OpenAI: "https://api.openai.com/v1/chat/completions", llm.Anthropic: "https://api.anthropic.com/v1/messages",
	} {
		built, err := client.Build(llm.Connection{Kind: kind}, llm.Request{Model: "m", Messages: user("hello")}, false)
		require.NoError(t, err)
		assert.Equal(t, want, built.URL)
		assert.NotContains(t, built.Headers, "Authorization", "there is no key")
	}
}

func TestOpenAIBody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request llm.Request
		stream  bool
		want    string
	}{
		{llm.Request{}, false, `{"model":"m","messages":[{"content":"hello","role":"user"}]}`},
		{llm.Request{}, true, `{"model":"m","messages":[{"content":"hello","role":"user"}],"stream":true,"stream_options":{"include_usage":true}}`},
		{llm.Request{OmitStreamUsage: true}, true, `{"model":"m","messages":[{"content":"hello","role":"user"}],"stream":true}`},
		{
			llm.Request{Extra: json.RawMessage(`{"stream_options":{"include_obfuscation":false}}`)}, true,
			`{"model":"m","messages":[{"content":"hello","role":"user"}],"stream":true,"stream_options":{"include_obfuscation":false}}`,
		},
		{
			llm.Request{
				Temperature: ptr(0.0), TopP: ptr(0.5), MaxOutputTokens: ptr(int64(9)), Stop: []string{"x"}, Seed: ptr(int64(0)), ReasoningEffort: ptr("low"),
				Tools: []json.RawMessage{json.RawMessage(`{"type":"web_search"}`)}, ToolChoice: json.RawMessage(`"none"`), ParallelToolCalls: ptr(false),
				ResponseFormat: json.RawMessage(`{"type":"text"}`), Extra: json.RawMessage(`{"z":1.50,"logit_bias":{"5":1}}`),
			}, false,
			`{"model":"m","messages":[{"content":"hello","role":"user"}],"tools":[{"type":"web_search"}],"tool_choice":"none","parallel_tool_calls":false,` +
				`"response_format":{"type":"text"},"temperature":0,"top_p":0.5,"max_completion_tokens":9,"stop":["x"],"seed":0,"reasoning_effort":"low",` +
				`"logit_bias":{"5":1},"z":1.50}`,
		},
		{
			llm.Request{MaxOutputTokens: ptr(int64(9)), TokenParameter: llm.MaxTokens}, false,
			`{"model":"m","messages":[{"content":"hello","role":"user"}],"max_tokens":9}`,
		},
		{ // what is Anthropic's stays there
			llm.Request{Messages: []json.RawMessage{
				json.RawMessage(`{"role":"assistant","content":"a","reasoning_content":"r","anthropic_content":[]}`),
				json.RawMessage(`{"role":"assistant","content":"a","reasoning_content":"r", "unknown":{"b":1,"a":2}}`),
			}}, false,
			`{"model":"m","messages":[{"content":"a","role":"assistant"},{"role":"assistant","content":"a","reasoning_content":"r","unknown":{"b":1,"a":2}}]}`,
		},
		{ // an instruction joins the system message
			llm.Request{
				Messages:       []json.RawMessage{json.RawMessage(`{"role":"developer","content":[{"type":"text","text":"a"}]}`)},
				ResponseFormat: json.RawMessage(`{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"array"}}}`), Strategy: llm.JSONMode,
			}, false,
			`{"model":"m","messages":[{"content":[{"type":"text","text":"a"},{"text":"Answer with one JSON object and nothing else. It must follow this JSON schema:\n` +
				`{\"type\":\"array\"}","type":"text"}],"role":"developer"}],"response_format":{"type":"json_object"}}`,
		},
	} {
		assert.Equal(t, c.want, build(t, llm.OpenAI, c.request, c.stream))
	}
}

func TestAnthropicBody(t *testing.T) {
	t.Parallel()
	const head = `{"model":"m","max_tokens":4096,`
	const hello = `"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}]`
	for _, c := range []struct {
		request llm.Request
		want    string
	}{
		{llm.Request{}, head + hello + `}`},
		{llm.Request{MaxOutputTokens: ptr(int64(9))}, `{"model":"m","max_tokens":9,` + hello + `}`},
		{llm.Request{Extra: json.RawMessage(`{"max_tokens":7,"top_k":3}`)}, `{"model":"m",` + hello + `,"max_tokens":7,"top_k":3}`},
		{llm.Request{Temperature: ptr(0.0), TopP: ptr(0.5), Stop: []string{"x", "y"}}, head + hello + `,"temperature":0,"top_p":0.5,"stop_sequences":["x","y"]}`},
		{llm.Request{ReasoningEffort: ptr("max")}, head + hello + `,"output_config":{"effort":"max"},"thinking":{"display":"summarized","type":"adaptive"}}`},
		{llm.Request{ReasoningEffort: ptr("none")}, head + hello + `,"thinking":{"type":"disabled"}}`},
		{
			llm.Request{ReasoningEffort: ptr("low"), Extra: json.RawMessage(`{"thinking":{"type":"enabled","budget_tokens":2000}}`)},
			head + hello + `,"output_config":{"effort":"low"},"thinking":{"type":"enabled","budget_tokens":2000}}`,
		},
		{
			llm.Request{Tools: []json.RawMessage{
				json.RawMessage(`{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"},"strict":true},"cache_control":{"type":"ephemeral"}}`),
				json.RawMessage(`{"type":"function","function":{"name":"g","strict":null}}`),
				json.RawMessage(`{"type":"web_search_20250305","name":"web_search","max_uses":2}`),
			}, ToolChoice: json.RawMessage(`{"type":"function","function":{"name":"g"}}`), ParallelToolCalls: ptr(false)},
			head + hello + `,"tools":[{"cache_control":{"type":"ephemeral"},"description":"d","input_schema":{"type":"object"},"name":"f","strict":true},` +
				`{"input_schema":{"type":"object"},"name":"g"},{"type":"web_search_20250305","name":"web_search","max_uses":2}],` +
				`"tool_choice":{"type":"tool","name":"g","disable_parallel_tool_use":true}}`,
		},
		{llm.Request{ToolChoice: json.RawMessage(`"auto"`), ParallelToolCalls: ptr(true)}, head + hello + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":false}}`},
		{llm.Request{ToolChoice: json.RawMessage(`"required"`)}, head + hello + `,"tool_choice":{"type":"any"}}`},
		{llm.Request{ToolChoice: json.RawMessage(`"none"`), ParallelToolCalls: ptr(false)}, head + hello + `,"tool_choice":{"type":"none"}}`},
		{llm.Request{ToolChoice: json.RawMessage(`{"type":"any"}`)}, head + hello + `,"tool_choice":{"type":"any"}}`},
		{llm.Request{ParallelToolCalls: ptr(false)}, head + hello + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`},
		{
			llm.Request{ResponseFormat: json.RawMessage(`{"type":"json_schema","json_schema":{"name":"n","description":"d","schema":{"type":"object"}}}`)},
			head + hello + `,"output_config":{"format":{"schema":{"description":"d","type":"object"},"type":"json_schema"}}}`,
		},
		{llm.Request{ResponseFormat: json.RawMessage(`{"type":"text"}`)}, head + hello + `}`},
	} {
		assert.Equal(t, c.want, build(t, llm.Anthropic, c.request, false))
	}
	assert.Equal(t, head+hello+`,"stream":true}`, build(t, llm.Anthropic, llm.Request{}, true))
}

func TestAnthropicMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, messages, system, want string }{
		{
			"system messages", `[{"role":"system","content":"a"},{"role":"user","content":"b"},{"role":"developer","content":[{"type":"text","text":"c","cache_control":{"type":"ephemeral"}}]}]`,
			`[{"type":"text","text":"a"},{"type":"text","text":"c","cache_control":{"type":"ephemeral"}}]`,
			`[{"role":"user","content":[{"type":"text","text":"b"}]}]`,
		},
		{
			"images", `[{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}},` +
				`{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo","detail":"auto"}},{"type":"image","source":{"type":"file","file_id":"f"}}]}]`, ``,
			`[{"role":"user","content":[{"type":"text","text":"a"},{"source":{"type":"url","url":"https://example.com/a.png"},"type":"image"},` +
				`{"source":{"data":"iVBORw0KGgo","media_type":"image/png","type":"base64"},"type":"image"},{"type":"image","source":{"type":"file","file_id":"f"}}]}]`,
		},
		{
			"files", `[{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0","filename":"a.pdf"}},{"type":"file","file":{"file_id":"f"}}]}]`, ``,
			`[{"role":"user","content":[{"source":{"data":"JVBERi0","media_type":"application/pdf","type":"base64"},"title":"a.pdf","type":"document"},` +
				`{"source":{"file_id":"f","type":"file"},"type":"document"}]}]`,
		},
		{
			"results of parallel calls", `[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}},{"id":"2","type":"function","function":{"name":"g","arguments":""}}]},` +
				`{"role":"tool","tool_call_id":"1","content":"r1","name":"f"},{"role":"tool","tool_call_id":"2","content":[{"type":"text","text":"r2"}]},{"role":"user","content":"b"}]`, ``,
			`[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"x":1}},` +
				`{"type":"tool_use","id":"2","name":"g","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"r1"}]},` +
				`{"type":"tool_result","tool_use_id":"2","content":[{"type":"text","text":"r2"}]},{"type":"text","text":"b"}]}]`,
		},
		{
			"an assistant's name", `[{"role":"user","content":"a"},{"role":"assistant","name":"ann","content":"b"}]`, ``,
			`[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"b"}]}]`,
		},
		{
			"a result that is empty", `[{"role":"tool","tool_call_id":"1","content":""}]`, ``,
			`[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}]`,
		},
		{
			"an answer that is empty", `[{"role":"user","content":"a"},{"role":"assistant","content":""},{"role":"user","content":"b"}]`, ``,
			`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`,
		},
		{
			"a refusal, and another provider's reasoning", `[{"role":"assistant","content":null,"refusal":"no","reasoning_content":"hm"}]`, ``,
			`[{"role":"assistant","content":[{"type":"text","text":"no"}]}]`,
		},
		{
			"blocks as they were", `[{"role":"assistant","content":"ab","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{ }"}}],"reasoning_content":"r",` +
				`"anthropic_content":[{"type":"thinking","thinking":"r","signature":"s"},{"type":"text","text":"a"},{"type":"redacted_thinking","data":"d"},{"type":"text","text":"b"},` +
				`{"type":"tool_use","id":"1","name":"f","input":{}}]}]`, ``,
			`[{"role":"assistant","content":[{"type":"thinking","thinking":"r","signature":"s"},{"type":"text","text":"a"},{"type":"redacted_thinking","data":"d"},{"type":"text","text":"b"},` +
				`{"type":"tool_use","id":"1","name":"f","input":{}}]}]`,
		},
		{
			"blocks of an answer that was edited", `[{"role":"assistant","content":"edited","anthropic_content":[{"type":"thinking","thinking":"r","signature":"s"},{"type":"text","text":"a"}]}]`, ``,
			`[{"role":"assistant","content":[{"type":"thinking","thinking":"r","signature":"s"},{"type":"text","text":"edited"}]}]`,
		},
	} {
		var messages []json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(c.messages), &messages), c.name)
		var body struct{ System, Messages json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(build(t, llm.Anthropic, llm.Request{Messages: messages}, false)), &body))
		assert.Equal(t, c.want, string(body.Messages), c.name)
		assert.Equal(t, c.system, string(body.System), c.name)
	}
}

func TestMessagesThatCannotBeSent(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`7`:                              "messages[1]",
		`null`:                           "no JSON object",
		`{"role":"robot","content":"a"}`: `role "robot"`,
		`{"role":"user","name":"Ann","content":"a"}`:                                                   `no name ("Ann")`,
		`{"role":"user","content":{"a":1}}`:                                                            "content",
		`{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}`:                          "no audio",
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png,abc"}}]}`:    "data:image/png;base64",
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"x","detail":"low"}}]}`:      "level of detail",
		`{"role":"user","content":[{"type":"file","file":{"file_data":"data:text/csv;base64,YQ=="}}]}`: "application/pdf",
		`{"role":"tool","content":"a"}`:                                                                "tool_call_id",
		`{"role":"assistant","audio":{"id":"a"}}`:                                                      "no audio",
		`{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{"}}]}`:       "tool_calls[0].function.arguments",
		`{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"[]"}}]}`:      "tool_calls[0].function.arguments",
		`{"role":"assistant","tool_calls":[{"id":"1","type":"custom","custom":{}}]}`:                   "not of a function",
		`{"role":"assistant","content":"a","anthropic_content":7}`:                                     "anthropic_content",
	} {
		failed := refuse(t, llm.Anthropic, llm.Request{Messages: []json.RawMessage{user("a")[0], json.RawMessage(message)}})
		assert.Equal(t, "messages", failed.Parameter)
		assert.Contains(t, failed.Message, "messages[1]")
		assert.Contains(t, failed.Message, want)
	}
}

func TestParametersAreNeverDropped(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		for parameter, request := range map[string]llm.Request{
			"temperature":       {Temperature: ptr(math.NaN())},
			"top_p":             {TopP: ptr(math.Inf(1))},
			"extra":             {Extra: json.RawMessage(`[1]`)},
			"extra.n":           {Extra: json.RawMessage(`{"n":2}`)},
			"extra.stream":      {Extra: json.RawMessage(`{"stream":true}`)},
			"extra.model":       {Extra: json.RawMessage(`{"model":"x"}`)},
			"extra.temperature": {Extra: json.RawMessage(`{"temperature":1}`), Temperature: ptr(1.0)},
			"tools":             {Tools: []json.RawMessage{json.RawMessage(`"f"`)}},
		} {
			assert.Equal(t, parameter, refuse(t, kind, request).Parameter)
		}
	}
	for parameter, request := range map[string]llm.Request{
		"seed":                {Seed: ptr(int64(0))},
		"tool_choice":         {ToolChoice: json.RawMessage(`"sometimes"`)},
		"extra.output_config": {Extra: json.RawMessage(`{"output_config":{}}`), ReasoningEffort: ptr("low")},
	} {
		assert.Equal(t, parameter, refuse(t, llm.Anthropic, request).Parameter)
	}
	for _, name := range []llm.TokenParameter{"", llm.MaxTokens, llm.MaxCompletionTokens} {
		for _, other := range []string{"max_tokens", "max_completion_tokens"} {
			request := llm.Request{MaxOutputTokens: ptr(int64(1)), TokenParameter: name, Extra: json.RawMessage(`{"` + other + `":1000000}`)}
			assert.Equal(t, "extra."+other, refuse(t, llm.OpenAI, request).Parameter, "it would lift the limit")
		}
	}
	for _, request := range []llm.Request{{Messages: user("a")}, {Model: "m"}} {
		_, err := client.Build(llm.Connection{Kind: llm.OpenAI}, request, false)
		require.Error(t, err)
	}
}
