package runmodel

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSplitContent(t *testing.T) {
	t.Parallel()
	const message = `{"role":"assistant","parts":[{"type":"text","content":"Zürich <b>"},{"type":"tool_call","id":"c1","name":"book","arguments":{"city":"Bern","n":12345678901234567890,"empty":""}},{"type":"","x":null}],"finish_reason":"stop"}`
	frame, texts, err := SplitContent(ContentMessage, message)
	require.NoError(t, err)
	assert.Equal(t, []string{"Zürich <b>", "Bern", "", ""}, texts)
	assert.NotContains(t, frame, "Bern")
	assert.Contains(t, frame, "12345678901234567890", "a number keeps its digits")
	joined, err := JoinContent(ContentMessage, frame, texts)
	require.NoError(t, err)
	assert.JSONEq(t, message, string(joined))

	_, err = JoinContent(ContentMessage, frame, texts[1:])
	require.Error(t, err, "a text is missing")
	_, err = JoinContent(ContentMessage, frame, append(texts, "more"))
	require.Error(t, err, "a text is left over")
}

func parseJSON(text string) (value any, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return value, decoder.Decode(&value)
}

func FuzzSplitContent(f *testing.F) {
	f.Add(`{"role":"user","parts":[{"type":"text","content":"hi"}]}`)
	f.Add(`["", {"content": ["a", {"b": "c"}]}, 1e400, "\ud800"]`)
	f.Add(`{"content":"\u0000"} `)
	f.Fuzz(func(t *testing.T, text string) {
		frame, texts, err := SplitContent(ContentMessage, text)
		if err != nil {
			return
		}
		joined, err := JoinContent(ContentMessage, frame, texts)
		require.NoError(t, err)
		want, err := parseJSON(text)
		require.NoError(t, err)
		got, err := parseJSON(string(joined))
		require.NoError(t, err)
		require.True(t, reflect.DeepEqual(want, got), "%q became %q", text, joined)
	})
}

func TestMessageText(t *testing.T) {
	t.Parallel()
	role, text, calls := MessageText(`{"role":"assistant","parts":[{"type":"text","content":"a"},{"type":"tool_call","name":"f"},{"type":"text","content":"b"},{"type":"reasoning","content":"no"}]}`)
	assert.Equal(t, "assistant", role)
	assert.Equal(t, "a\nb", text)
	assert.True(t, calls)
	role, text, calls = MessageText(`"bare"`)
	assert.Empty(t, role+text)
	assert.False(t, calls)
}
