package openaichat

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func raws(texts ...string) (list []json.RawMessage) {
	for _, text := range texts {
		list = append(list, json.RawMessage(text))
	}
	return list
}

func texts(raws []json.RawMessage) (list []string) {
	for _, raw := range raws {
		list = append(list, string(raw))
	}
	return list
}

func TestMessages(t *testing.T) {
	t.Parallel()
	converted, err := Messages(raws(`{"type":"text","content":"Be brief."}`, `{"type":"text","content":"Be <kind>."}`), raws(
		`{"role":"user","name":"ann","parts":[{"type":"text","content":"Weather in Paris & Rome?"}]}`,
		`{"role":"user","parts":[{"type":"text","content":"And this?"},{"type":"uri","modality":"image","uri":"https://example.com/a.png"},`+
			`{"type":"blob","modality":"image","mime_type":"image/png","content":"AAAA"},{"type":"blob","modality":"audio","mime_type":"audio/wav","content":"BBBB"},`+
			`{"type":"blob","modality":"document","mime_type":"application/pdf","content":"CCCC"},{"type":"file","file_id":"file-1"},{"type":"uri","modality":"video","uri":"https://example.com/b.mp4"}]}`,
		`{"role":"assistant","parts":[{"type":"reasoning","content":"Both."},{"type":"text","content":"Let me look."},`+
			`{"type":"tool_call","id":"c1","name":"weather","arguments":{"z":1.50,"city":"Paris"}},{"type":"tool_call","id":"c2","name":"now"},`+
			`{"type":"server_tool_call","id":"s1","name":"web_search"}],"finish_reason":"tool_calls"}`,
		`{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":{"degrees":21}},{"type":"tool_call_response","id":"c2","response":"noon"}]}`,
		`{"role":"assistant","parts":[{"type":"tool_call","id":"c3","name":"weather","arguments":"{\"city\": \"Rome\"}"}]}`,
		`{"role":"assistant","parts":[]}`,
		`{"role":"assistant","content":"as it was recorded"}`,
		`"no message"`,
	))
	require.NoError(t, err)
	assert.Equal(t, []string{
		`{"role":"system","content":[{"type":"text","text":"Be brief."},{"type":"text","text":"Be <kind>."}]}`,
		`{"role":"user","name":"ann","content":"Weather in Paris & Rome?"}`,
		`{"role":"user","content":[{"type":"text","text":"And this?"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}},` +
			`{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"input_audio","input_audio":{"data":"BBBB","format":"wav"}},` +
			`{"type":"file","file":{"file_data":"data:application/pdf;base64,CCCC"}},{"type":"file","file":{"file_id":"file-1"}},` +
			`{"type":"uri","modality":"video","uri":"https://example.com/b.mp4"}]}`,
		`{"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"server_tool_call","id":"s1","name":"web_search"}],"reasoning_content":"Both.",` +
			`"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"z\":1.50,\"city\":\"Paris\"}"}},` +
			`{"id":"c2","type":"function","function":{"name":"now","arguments":"{}"}}]}`,
		`{"role":"tool","content":"{\"degrees\":21}","tool_call_id":"c1"}`,
		`{"role":"tool","content":"noon","tool_call_id":"c2"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c3","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Rome\"}"}}]}`,
		`{"role":"assistant","content":null}`,
		`{"role":"assistant","content":"as it was recorded"}`,
		`"no message"`,
	}, texts(converted))
}

func TestRepeatedInstructions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ first, want string }{
		{`{"role":"system","parts":[{"type":"text","content":"Be brief."}]}`, `[{"role":"system","content":"Be brief."}]`},
		{`{"role":"system","parts":[{"type":"text","content":"Be kind."}]}`, `[{"role":"system","content":"Be brief."},{"role":"system","content":"Be kind."}]`},
		{`{"role":"user","parts":[{"type":"text","content":"Be brief."}]}`, `[{"role":"system","content":"Be brief."},{"role":"user","content":"Be brief."}]`},
	} {
		converted, err := Messages(raws(`{"type":"text","content":"Be brief."}`), raws(test.first))
		require.NoError(t, err)
		text, err := json.Marshal(converted)
		require.NoError(t, err)
		assert.JSONEq(t, test.want, string(text))
	}
}

func TestCallIDs(t *testing.T) {
	t.Parallel()
	converted, err := Messages(nil, raws(
		`{"role":"assistant","parts":[{"type":"tool_call","id":["r","c"],"name":"now"},{"type":"tool_call","id":null,"name":"now"}]}`,
		`{"role":"tool","parts":[{"type":"tool_call_response","id":["r","c"],"response":"noon"}]}`,
	))
	require.NoError(t, err)
	assert.Equal(t, []string{
		`{"role":"assistant","content":null,"tool_calls":[{"id":"[\"r\",\"c\"]","type":"function","function":{"name":"now","arguments":"{}"}},` +
			`{"id":"","type":"function","function":{"name":"now","arguments":"{}"}}]}`,
		`{"role":"tool","content":"noon","tool_call_id":"[\"r\",\"c\"]"}`,
	}, texts(converted))
}

func TestTools(t *testing.T) {
	t.Parallel()
	tools, err := Tools(raws(
		`{"type":"function","name":"weather","description":"Looks <up>.","parameters":{"type":"object","properties":{"z":{},"city":{}}},"strict":true}`,
		`{"name":"now"}`,
		`{"type":"function","function":{"name":"as recorded"}}`,
		`{"type":"web_search"}`,
		`"weather"`,
	))
	require.NoError(t, err)
	assert.Equal(t, []string{
		`{"type":"function","function":{"name":"weather","description":"Looks <up>.","parameters":{"type":"object","properties":{"z":{},"city":{}}},"strict":true}}`,
		`{"type":"function","function":{"name":"now"}}`,
		`{"type":"function","function":{"name":"as recorded"}}`,
		`{"type":"web_search"}`,
		`"weather"`,
	}, texts(tools))
}
