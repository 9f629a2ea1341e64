package runmodel

import (
	"encoding/json"
	"math/rand/v2"
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

func TestSplitElements(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`[]`:                              nil,
		` [ 1 , {"a":[1,2]} ] `:           {"1", `{"a":[1,2]}`},
		`["a,b","c\"]",{"k":"\\"}]`:       {`"a,b"`, `"c\"]"`, `{"k":"\\"}`},
		`[{"text":"[{]}"}, [[], [1, 2]]]`: {`{"text":"[{]}"}`, `[[], [1, 2]]`},
	} {
		got, ok := splitElements(text)
		require.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "[", "{}", `["a]`, "[1]]", "[[1]", "hello [TRUNCATED]"} {
		_, ok := splitElements(text)
		assert.False(t, ok, text)
	}
}

func FuzzSplitElements(f *testing.F) {
	f.Add(`[1,"a,]\"",{"b":[2,3]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		elements, ok := splitElements(text)
		var want []json.RawMessage
		if json.Unmarshal([]byte(text), &want) != nil || want == nil {
			return // what is not an array of valid JSON is found out when its elements are parsed
		}
		require.True(t, ok, "a valid array is cut: %q", text)
		require.Len(t, elements, len(want))
		for i := range want {
			require.Equal(t, strings.TrimSpace(string(want[i])), elements[i])
		}
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

// TestPreviewOfMessage holds that the beginning of a message's text is the same when only that is decoded.
func TestPreviewOfMessage(t *testing.T) {
	t.Parallel()
	pieces := []string{"a", "word ", `\n`, `\"`, `\\`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, "é", "語", "😀", strings.Repeat("long", 40)}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var parts []string
		for range 1 + random.IntN(3) {
			var content strings.Builder
			for range random.IntN(150) {
				content.WriteString(pieces[random.IntN(len(pieces)-random.IntN(len(pieces)))])
			}
			parts = append(parts, `{"type":"text","content":"`+content.String()+`"}`)
		}
		message := `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}`
		_, whole, _ := MessageText(message)
		role, begun, _ := messageText(message, PreviewLength)
		require.Equal(t, "user", role)
		require.Equal(t, cut(whole), cut(begun), message)
	}
}

func TestEndOfString(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		text := make([]byte, random.IntN(20))
		for i := range text {
			text[i] = `a"\`[random.IntN(3)]
		}
		want := -1
		for i := 0; i < len(text) && want < 0; i++ {
			switch text[i] {
			case '"':
				want = i
			case '\\':
				i++
			}
		}
		require.Equal(t, want, endOfString(string(text), 0), string(text))
	}
}
