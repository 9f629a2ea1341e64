package recorded

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// chats are messages of chat completions.
var chats = []string{
	`{"role":"system","content":"Be brief."}`,
	`{"role":"developer","content":"Be kind & <short>."}`,
	`{"role":"user","content":"Hi","name":"ann"}`,
	`{"role":"user","content":[{"type":"text","text":"See this."},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}},` +
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"input_audio","input_audio":{"data":"BBBB","format":"wav"}},` +
		`{"type":"file","file":{"file_id":"file-1"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,CCCC"}}]}`,
	`{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"high"}},{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}`,
	`{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,CCCC","filename":"a.pdf"}},{"type":"video_url","video_url":{"url":"v"}}]}`,
	`{"role":"assistant","content":"Paris."}`,
	`{"role":"assistant","content":null,"refusal":"No."}`,
	`{"role":"assistant","content":"Let me see.","reasoning_content":"Hm.","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1.50}"}}]}`,
	`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},` +
		`{"id":"c2","type":"function","function":{"name":"g","arguments":"{\"cut"},"extra_content":{"google":{"thought_signature":"x"}}}]}`,
	`{"role":"assistant","content":"So.","reasoning_content":"Think.","tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}],` +
		`"anthropic_content":[{"type":"thinking","thinking":"Think.","signature":"c2ln"},{"type":"redacted_thinking","data":"ZGF0YQ"},{"type":"text","text":"So."},` +
		`{"type":"server_tool_use","id":"s1","name":"web_search","input":{"q":"x"}},{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}]}`,
	`{"role":"tool","tool_call_id":"c1","content":"{\"degrees\": 21}"}`,
	`{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"A picture"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`,
	`{"role":"tool","tool_call_id":"c1","name":"f","content":"21"}`,
}

// simplified leaves out what FromChat does not keep: null and empty members, and reasoning_content beside anthropic_content.
func simplified(tb testing.TB, text json.RawMessage) string {
	tb.Helper()
	var message map[string]any
	require.NoError(tb, json.Unmarshal(text, &message))
	if message[KeyAnthropic] != nil {
		delete(message, KeyReasoning)
		delete(message, "content") // it is that of the text blocks
	}
	for name, value := range message {
		if value == nil || value == "" {
			delete(message, name)
		}
	}
	out, err := json.Marshal(message)
	require.NoError(tb, err)
	return string(out)
}

func TestFromChatAndBack(t *testing.T) {
	t.Parallel()
	for _, chat := range chats {
		parts, err := FromChat(raws(chat))
		require.NoError(t, err)
		assert.Contains(t, string(parts[0]), `"parts"`)
		back, err := ToChat(nil, parts)
		require.NoError(t, err)
		require.Len(t, back, 1, chat)
		assert.JSONEq(t, simplified(t, json.RawMessage(chat)), simplified(t, back[0]))
	}
	all, err := FromChat(raws(chats...))
	require.NoError(t, err)
	assert.Len(t, all, len(chats))
}

func TestToChat(t *testing.T) {
	t.Parallel()
	converted, err := ToChat(raws(`{"type":"text","content":"Be brief."}`), raws(
		`{"role":"system","parts":[{"type":"text","content":"Be brief."}]}`,
		`{"role":"assistant","parts":[{"type":"reasoning","content":"Hm.","signature":"c2ln"},{"type":"tool_call","id":"a","name":"f","arguments":{"x":1}},{"type":"tool_call","id":"b","name":"g"}],"finish_reason":"tool_calls"}`,
		`{"role":"user","parts":[{"type":"text","content":"Go on."},{"type":"tool_call_response","id":"a","response":{"r":1}},{"type":"tool_call_response","id":"b","response":[{"type":"text","text":"x"}]}]}`,
		`{"role":"user","content":"as it was recorded"}`,
	))
	require.NoError(t, err)
	require.Len(t, converted, 6)
	assert.JSONEq(t, `{"role":"system","content":"Be brief."}`, string(converted[0]))
	assert.JSONEq(t, `{"role":"assistant","content":null,"reasoning_content":"Hm.","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},`+
		`{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}],"anthropic_content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},`+
		`{"type":"tool_use","id":"a","name":"f","input":{"x":1}},{"type":"tool_use","id":"b","name":"g","input":{}}]}`, string(converted[1]))
	assert.JSONEq(t, `{"role":"tool","tool_call_id":"a","content":"{\"r\":1}"}`, string(converted[2]), "results come before what the user says")
	assert.JSONEq(t, `{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"x"}]}`, string(converted[3]))
	assert.JSONEq(t, `{"role":"user","content":"Go on."}`, string(converted[4]))
}

func TestToolsFromChat(t *testing.T) {
	t.Parallel()
	tools, err := ToolsFromChat(raws(`{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`, `{"type":"web_search"}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"function","name":"f","parameters":{"type":"object"}}`, string(tools[0]))
	assert.JSONEq(t, `{"type":"web_search"}`, string(tools[1]))
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for a, b := range map[string]string{
		`{"b":1.0,"a":[1e2,"x"]}`: `{ "a" : [100 , "x"], "b":1}`, `"\u00e9"`: `"é"`, `{"a":{"y":1,"x":2}}`: `{"a":{"x":2,"y":1}}`, `1E400`: `1E400`,
	} {
		x, ok := Canonical(a)
		require.True(t, ok, a)
		y, _ := Canonical(b)
		assert.Equal(t, x, y, a)
	}
	_, ok := Canonical(`{"a":`)
	assert.False(t, ok)
	_, ok = Canonical(strings.Repeat("[", 1<<20))
	assert.False(t, ok)
	assert.Equal(t, "{}", CanonicalArguments(" "))
	assert.Equal(t, "a b", CanonicalText(" a\n\tb "))
}

// TestConversation: ids, spaces and the order of parallel results do not count; what is said does.
func TestConversation(t *testing.T) {
	t.Parallel()
	digestOf := func(messages ...string) Digest {
		c := compared(MessageCache{}.readAll(raws(messages...)))
		return c.digest()
	}
	call := func(ids ...string) string {
		calls := make([]string, len(ids))
		for i, id := range ids {
			calls[i] = `{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{\"n\":` + string(rune('0'+i)) + `}"}}`
		}
		return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
	}
	result := func(id, text string) string {
		return `{"role":"tool","tool_call_id":"` + id + `","content":"` + text + `"}`
	}
	user := `{"role":"user","content":"Hi"}`
	want := digestOf(user, call("a", "b"), result("a", "1"), result("b", "2"))
	assert.Equal(t, want, digestOf(user, call("x", "y"), result("y", "2"), result("x", "1")), "ids and order")
	assert.Equal(t, want, digestOf(`{"content":[{"text":" Hi ","type":"text"}],"role":"user"}`, call("a", "b"), result("", "1"), result("", "2")), "forms")
	assert.NotEqual(t, want, digestOf(user, call("a", "b"), result("a", "2"), result("b", "1")), "the results of the other call")
	assert.NotEqual(t, want, digestOf(user, call("a"), result("a", "1"), result("b", "2")))
	assert.NotEqual(t, digestOf(user), digestOf(`{"role":"user","content":"hi"}`))
	assert.Equal(t, digestOf(user, `{"role":"assistant","content":"A"}`, call("a")), digestOf(user, `{"role":"assistant","content":"A","tool_calls":[{"id":"z","type":"function","function":{"name":"f","arguments":"{ \"n\": 0 }"}}]}`),
		"an answer in two messages")
}

func FuzzToChat(f *testing.F) {
	for _, chat := range chats {
		parts, err := FromChat(raws(chat))
		require.NoError(f, err)
		f.Add(string(parts[0]))
	}
	f.Add(`{"role":"tool","parts":[{"type":"tool_call_response","id":["a"],"result":null},7,{"type":"text","content":1}]}`)
	f.Add(`{"role":"assistant","parts":[{"type":"reasoning","content":null,"signature":"s"},{"type":"tool_call","arguments":"x","signature":1}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		chat, err := ToChat(nil, []json.RawMessage{json.RawMessage(text)})
		require.NoError(t, err)
		for _, one := range chat {
			require.True(t, json.Valid(one), "%s", one)
		}
		parts, err := FromChat(chat)
		require.NoError(t, err)
		_, err = ToChat(nil, parts)
		require.NoError(t, err)
	})
}

// isWellFormed reports whether a message is one that a server accepts.
func isWellFormed(text json.RawMessage) bool {
	members := jsontext.Members(text)
	content := jsontext.List(members["content"])
	calls := jsontext.List(members[KeyToolCalls])
	switch role := jsontext.String(members["role"]); {
	case !slices.Contains([]string{RoleSystem, RoleDeveloper, RoleUser, RoleAssistant, RoleTool}, role),
		role == RoleTool && jsontext.String(members["tool_call_id"]) == "",
		!jsontext.IsNull(members["content"]) && !jsontext.IsString(members["content"]) && content == nil,
		jsontext.IsNull(members["content"]) && len(calls) == 0:
		return false
	}
	for _, part := range content {
		if !jsontext.IsString(jsontext.Members(part)["type"]) {
			return false
		}
	}
	if jsontext.String(members["role"]) == RoleTool && content != nil && !IsContentList(members["content"]) || members["parts"] != nil {
		return false
	}
	for _, raw := range calls {
		call := jsontext.Members(raw)
		function := jsontext.Members(call["function"])
		if jsontext.String(call["type"]) != "function" || !jsontext.IsString(call["id"]) || jsontext.String(call["id"]) == "" || !jsontext.IsString(function["arguments"]) || jsontext.String(function["name"]) == "" || len(function) != 2 {
			return false
		}
	}
	return jsontext.IsNull(members[KeyAnthropic])
}

func FuzzFromChat(f *testing.F) {
	for _, chat := range chats {
		f.Add(chat)
	}
	f.Add(`{"role":"assistant","tool_calls":[{"function":{"name":1}},{"id":{},"function":{"name":"f","arguments":"[]"}}],"anthropic_content":[1,{"type":"tool_use"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		parts, err := FromChat([]json.RawMessage{json.RawMessage(text)})
		require.NoError(t, err)
		if !isWellFormed(json.RawMessage(text)) {
			return
		}
		back, err := ToChat(nil, parts)
		require.NoError(t, err)
		a, b := compared(MessageCache{}.readAll([]json.RawMessage{json.RawMessage(text)})), compared(MessageCache{}.readAll(back))
		require.Equal(t, a.digest(), b.digest(), "%s\n%s\n%s", text, parts, back)
	})
}

func FuzzReadBody(f *testing.F) {
	f.Add(`{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"x"}]}]}],"tools":[{"input_schema":{}}]}`, true)
	f.Add(`{"model":7,"messages":[{}],"tool_choice":{"type":"tool"},"temperature":null}`, false)
	f.Fuzz(func(t *testing.T, text string, anthropic bool) {
		request, err := readBody([]byte(text), anthropic)
		if err != nil {
			return
		}
		for _, one := range request.Messages {
			require.True(t, json.Valid(one))
		}
		request.Digest(MessageCache{})
		_, _ = request.LLM()
	})
}

func raws(texts ...string) (list []json.RawMessage) {
	for _, text := range texts {
		list = append(list, json.RawMessage(text))
	}
	return list
}
