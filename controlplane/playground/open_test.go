package playground

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/completions"
)

func raws(texts ...string) (list []json.RawMessage) {
	for _, text := range texts {
		list = append(list, json.RawMessage(text))
	}
	return list
}

// openText returns the messages of what was opened, or what it lists.
func openText(t *testing.T, r *Recorded) (messages, notRestored string, opened Opened) {
	t.Helper()
	opened, err := Open(r)
	require.NoError(t, err)
	var texts, missing []string
	for _, message := range opened.Messages {
		texts = append(texts, string(message))
	}
	for _, one := range opened.NotRestored {
		missing = append(missing, one.What+" "+one.Reason)
	}
	return strings.Join(texts, "\n"), strings.Join(missing, "\n"), opened
}

func TestOpenMessages(t *testing.T) {
	t.Parallel()
	call := func(id, name string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"{}"}}]}`
	}
	result := func(id, content string) string {
		return `{"content":"` + content + `","role":"tool","tool_call_id":"` + id + `"}`
	}
	kept := func(id, name string) string {
		return `{"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"` + name + `"},"id":"` + id + `","type":"function"}]}`
	}
	for _, test := range []struct {
		name        string
		recorded    []string
		want        []string
		notRestored []string
	}{
		{
			"a call and its result",
			[]string{call("a", "x"), result("a", "1")},
			[]string{kept("a", "x"), result("a", "1")},
			nil,
		},
		{
			"no ids",
			[]string{call("", "x"), `{"role":"tool","content":"1"}`, call("", "x"), `{"role":"tool","content":"2","tool_call_id":null}`},
			[]string{kept("call_1", "x"), result("call_1", "1"), kept("call_2", "x"), result("call_2", "2")},
			[]string{
				"messages[0].tool_calls[0].id was not recorded; the call and its result have the id call_1",
				"messages[1].tool_call_id names no call; it became that of the call of x",
				"messages[2].tool_calls[0].id was not recorded; the call and its result have the id call_2",
				"messages[3].tool_call_id names no call; it became that of the call of x",
			},
		},
		{
			"ids of another kind",
			[]string{call("fc_1", "x"), result("call_9", "1")},
			[]string{kept("fc_1", "x"), result("fc_1", "1")},
			[]string{"messages[1].tool_call_id names no call; it became that of the call of x"},
		},
		{
			"an id that is too long",
			[]string{call(strings.Repeat("f", 50), "x"), result(strings.Repeat("f", 50), "1")},
			[]string{kept("call_1", "x"), result("call_1", "1")},
			[]string{"messages[0].tool_calls[0].id is none that APIs accept; the call and its result have the id call_1"},
		},
		{
			"an id twice",
			[]string{call("a", "x"), result("a", "1"), call("a", "x"), result("a", "2")},
			[]string{kept("a", "x"), result("a", "1"), kept("call_1", "x"), result("call_1", "2")},
			[]string{"messages[2].tool_calls[0].id is that of an earlier call; the call and its result have the id call_1"},
		},
		{
			"parallel calls one by one",
			[]string{call("a", "x"), call("b", "y"), result("b", "2"), result("a", "1")},
			[]string{
				`{"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"x"},"id":"a","type":"function"},` +
					`{"function":{"arguments":"{}","name":"y"},"id":"b","type":"function"}]}`,
				result("b", "2"), result("a", "1"),
			},
			nil,
		},
		{
			"no result",
			[]string{call("a", "x"), `{"content":"Go on.","role":"user"}`, call("b", "y")},
			[]string{kept("a", "x"), result("a", ""), `{"content":"Go on.","role":"user"}`, kept("b", "y"), result("b", "")},
			[]string{
				"messages[0].tool_calls[0] has no recorded result; an empty one follows it. Write what x answered",
				"messages[2].tool_calls[0] has no recorded result; an empty one follows it. Write what y answered",
			},
		},
		{
			"a result without a call",
			[]string{`{"content":"Hi","role":"user"}`, result("a", "1")},
			[]string{`{"content":"Hi","role":"user"}`},
			[]string{"messages[1] is the result of a tool call that was not recorded before it"},
		},
		{
			"roles and parts",
			[]string{`{"content":"Hi","role":"human"}`, `{"content":"?","role":"critic"}`, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"video"}]}`, `"text"`},
			[]string{`{"content":"Hi","role":"user"}`, `{"content":[{"type":"text","text":"a"}],"role":"user"}`},
			[]string{
				`messages[0].role is "human", which models do not know; it became "user"`,
				`messages[1] has the role "critic", which models do not know`,
				`messages[2].content[1] is a part of the type "video", which chat completions do not have`,
				`messages[3] is no message`,
			},
		},
		{
			"arguments that are no object",
			[]string{`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"Paris"}}]}`, result("a", "1")},
			[]string{`{"role":"assistant","tool_calls":[{"function":{"arguments":"{\"input\":\"Paris\"}","name":"x"},"id":"a","type":"function"}]}`, result("a", "1")},
			[]string{"messages[0].tool_calls[0].function.arguments are no JSON object; they became its member input"},
		},
	} {
		messages, notRestored, _ := openText(t, &Recorded{Model: "m", Messages: raws(test.recorded...), Tools: raws(`{"type":"function","function":{"name":"x"}}`)})
		assert.Equal(t, strings.Join(test.want, "\n"), messages, test.name)
		assert.Equal(t, strings.Join(test.notRestored, "\n"), notRestored, test.name)
	}
}

func TestOpenTools(t *testing.T) {
	t.Parallel()
	_, notRestored, opened := openText(t, &Recorded{
		Model: "m", Messages: raws(`{"role":"user","content":"Hi"}`, `{"role":"tool","content":"{\"type\":\"function\",\"function\":{\"name\":\"z\"}}"}`),
		Tools: raws(`{"type":"function","function":{"name":"x","parameters":{"type": "OBJECT","properties":{"type":{"type":"STRING"}}}}}`, `{"type":"function"}`, `{"type":"web_search"}`),
		Attributes: map[string]string{"model_request_parameters": `{"function_tools":[],"output_mode":"tool","allow_text_output":false,` +
			`"output_tools":[{"name":"final","description":"Ends.","parameters_json_schema":{"type":"object"}}]}`},
	})
	assert.Equal(t, raws(
		`{"type":"function","function":{"name":"x","parameters":{"type": "object","properties":{"type":{"type":"string"}}}}}`, `{"type":"web_search"}`,
		`{"type":"function","function":{"name":"z"}}`,
		`{"function":{"description":"Ends.","name":"final","parameters":{"type":"object"}},"type":"function"}`,
	), opened.Tools)
	assert.Equal(t, "tools[1] is no definition of a tool", notRestored)
	assert.JSONEq(t, `{"model":"m","tool_choice":"required"}`, string(opened.Config))
}

func TestOpenParameters(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"a":{"type":"string"}}}`
	const named = `{"type":"function","function":{"name":"x"}}`
	for _, test := range []struct {
		key, value, config, format, notRestored string
	}{
		{"gen_ai.request.temperature", "0.7", `{"temperature":0.7}`, "", ""},
		{"gen_ai.request.temperature", ".5", `{"temperature":0.5}`, "", ""},
		{"gen_ai.request.temperature", "NaN", `{}`, "", `gen_ai.request.temperature is no value of temperature: "NaN"`},
		{"gen_ai.request.top_p", "+0x1p-2", `{"top_p":0.25}`, "", ""},
		{"gen_ai.request.stop_sequences", `["a","b"]`, `{"stop":["a","b"]}`, "", ""},
		{"gen_ai.request.stop_sequences", "END", `{"stop":["END"]}`, "", ""},
		{"gen_ai.request.seed", "7", `{"seed":7}`, "", ""},
		{"gen_ai.request.frequency_penalty", "0.5", `{"extra":{"frequency_penalty":0.5}}`, "", ""},
		{"gen_ai.request.frequency_penalty", "0", `{}`, "", ""},
		{"gen_ai.request.reasoning.level", "high", `{"reasoning_effort":"high"}`, "", ""},
		{"gen_ai.request.choice.count", "2", `{}`, "", "gen_ai.request.choice.count asks for several answers, and a playground shows one: 2"},
		{"gen_ai.request.new", "1", `{}`, "", "gen_ai.request.new is a parameter that a playground does not know: 1"},
		{"gen_ai.request.top_p", "7", `{}`, "", "gen_ai.request.top_p is no value of top_p: 7"},
		{"ai.prompt.toolChoice", `{"type":"tool","toolName":"x"}`, `{"tool_choice":` + named + `}`, "", ""},
		{"ai.prompt.toolChoice", `{"type":"required"}`, `{"tool_choice":"required"}`, "", ""},
		{"ai.schema", schema, `{}`, `{"type":"json_schema","json_schema":{"name":"answer","schema":` + schema + `}}`, ""},
		{"gen_ai.output.type", "json", `{}`, "", "response_format was JSON, of a schema that was not recorded"},
		{"llm.invocation_parameters", `{"tool_choice":{"type":"any","disable_parallel_tool_use":true}}`, `{"tool_choice":"required","extra":{"parallel_tool_calls":false}}`, "", ""},
		{"llm.invocation_parameters", `{"tool_choice":{"type":"tool","name":"x"}}`, `{"tool_choice":` + named + `}`, "", ""},
		{"llm.invocation_parameters", `{"tool_choice":"x"}`, `{"tool_choice":` + named + `}`, "", ""},
		{"llm.invocation_parameters", `{"tool_config":{"function_calling_config":{"mode":"ANY","allowed_function_names":["x"]}}}`, `{"tool_choice":` + named + `}`, "", ""},
		{
			"llm.invocation_parameters", `{"parallel_tool_calls":false,"logit_bias":{"1":2},"odd":true}`, `{"extra":{"logit_bias":{"1":2},"parallel_tool_calls":false}}`, "",
			"llm.invocation_parameters.odd is a parameter that a playground does not know: true",
		},
		{
			"llm.invocation_parameters", `{"reasoning":{"effort":"low"},"text":{"verbosity":"low","format":{"type":"json_schema","name":"n","strict":true,"schema":` + schema + `}}}`,
			`{"reasoning_effort":"low","extra":{"verbosity":"low"}}`, `{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":` + schema + `}}`, "",
		},
		{
			"llm.invocation_parameters", `{"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":` + schema + `}}}`,
			`{}`, `{"type":"json_schema","json_schema":{"name":"n","schema":` + schema + `}}`, "",
		},
		{"llm.invocation_parameters", `{"response_format":"Weather"}`, `{}`, "", "llm.invocation_parameters.response_format is only the name of a response format: Weather"},
		{
			"gcp.vertex.agent.llm_request", `{"config":{"max_output_tokens":5,"response_mime_type":"application/json","response_schema":{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}}}`,
			`{"max_output_tokens":5}`, `{"type":"json_schema","json_schema":{"name":"answer","schema":` + schema + `}}`, "",
		},
		{
			"model_request_parameters", `{"output_mode":"native","output_object":{"name":null,"strict":true,"json_schema":` + schema + `}}`,
			`{}`, `{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":` + schema + `}}`, "",
		},
		{"request_data", `{"messages":[],"model":"m","stream":true,"seed":3,"response_format":{"type":"json_object"}}`, `{"seed":3}`, `{"type":"json_object"}`, ""},
		{
			"langfuse.observation.model.parameters", `{"max_tokens":"Infinity","temperature":1,"stop":"{\"arrayValue\":{}}"}`, `{"temperature":1}`, "",
			`langfuse.observation.model.parameters.stop is no list of texts: "{\"arrayValue\":{}}"`,
		},
	} {
		_, notRestored, opened := openText(t, &Recorded{
			Messages: raws(`{"role":"user","content":"Hi"}`), Tools: raws(named), Attributes: map[string]string{test.key: test.value},
		})
		assert.JSONEq(t, test.config, string(opened.Config), test.value)
		assert.Equal(t, test.notRestored, strings.TrimPrefix(strings.TrimPrefix(notRestored, "model_config.model was not recorded"), "\n"), test.value)
		if test.format == "" {
			assert.Nil(t, opened.ResponseFormat, test.value)
		} else {
			assert.JSONEq(t, test.format, string(opened.ResponseFormat), test.value)
		}
	}
	_, notRestored, opened := openText(t, &Recorded{Model: "m", Messages: raws(`{"role":"user","content":"Hi"}`), Attributes: map[string]string{
		"llm.invocation_parameters": `{"system":"Be brief.","tool_choice":"required","parallel_tool_calls":false}`,
	}})
	assert.JSONEq(t, `{"role":"system","content":"Be brief."}`, string(opened.Messages[0]))
	assert.JSONEq(t, `{"model":"m"}`, string(opened.Config), "APIs refuse them without tools")
	assert.Contains(t, notRestored, `model_config.tool_choice is "required", though no tools were recorded`)
}

func TestOpenToolAnswers(t *testing.T) {
	t.Parallel()
	call := func(id, arguments string) string {
		return `{"role":"assistant","tool_calls":[{"id":"` + id + `","function":{"name":"x","arguments":"{\"city\":\"` + arguments + `\"}"}}]}`
	}
	_, notRestored, opened := openText(t, &Recorded{
		Model: "m", Tools: raws(`{"type":"function","function":{"name":"x"}}`),
		Messages: raws(`{"role":"user","content":"Hi"}`, call("a", "Oslo"), `{"role":"tool","tool_call_id":"a","content":"0"}`),
		Output:   raws(call("b", "Paris")),
		Later: raws(`{"role":"user","content":"Hi"}`, call("a", "Oslo"), `{"role":"tool","tool_call_id":"a","content":"0"}`,
			call("b", "Paris"), `{"role":"tool","tool_call_id":"b","content":"1"}`),
		Calls: []RecordedCall{
			{Name: "x", Arguments: "Paris", Result: "content='1'"}, {Name: "x", Arguments: `{"city": "Rome"}`, Result: "2"}, {Name: "y", Failure: "failed in the run"}, {Name: "z"},
		},
	})
	assert.Equal(t, []completions.RecordedResult{{Arguments: new(`{"city":"Paris"}`), Content: "1"}, {Arguments: new(`{"city": "Rome"}`), Content: "2"}},
		opened.ToolAnswers["x"].Recorded, "Oslo is answered in the messages")
	assert.Equal(t, "tool_answers.y failed in the run\ntool_answers.z were not recorded", notRestored)
}
