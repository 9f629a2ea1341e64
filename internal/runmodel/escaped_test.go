package runmodel

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEscapedWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":"plain"}`:                       "",
		`{"a":"one\ntwo three\tfour"}`:        "two four ",
		`{"a":"Z\u00fcrich \u673A\u573a"}`:    "Zürich 机场 ",
		`{"a":"\u003cb\u003e x\u0041y"}`:      "b xAy ",
		`{"a":"C:\\new \"quoted\" a\/b"}`:     "",
		`{"a":"\ud83d\ude00 \ud83d \ud83dx"}`: "😀 x ",
		`{"a":"end\n","b":"\u00e9"}`:          "é ",
		`{"a":"cut off\nhere and\`:            "here ",
		`{"a":"cut off\u00`:                   "00 ",
		`  ["x\ny"]`:                          "y ",
		`C:\new "a\nb"`:                       "",
		`{"a\nkey":"x"}`:                      "key ",
	} {
		assert.Equal(t, want, (&Span{ToolResult: text}).EscapedWords(), text)
	}
	span := Span{Inputs: `"\na"`, Outputs: `"\nb"`, ToolArguments: `"\nc"`, ToolResult: `"\nd"`}
	assert.Equal(t, "a b c d ", span.EscapedWords())
}

// Every word of a JSON string is one of the text or an escaped one.
func FuzzEscapedWords(f *testing.F) {
	f.Add("line\nnext Zürich \"a\" \\ <b> \u0000")
	f.Fuzz(func(t *testing.T, text string) {
		encoded, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		words := func(text string) []string {
			return strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && !isWordByte(byte(r)) })
		}
		found := map[string]bool{}
		for _, word := range append(words(string(encoded)), words((&Span{Inputs: string(encoded)}).EscapedWords())...) {
			found[word] = true
		}
		var plain string
		if err := json.Unmarshal(encoded, &plain); err != nil {
			t.Fatal(err)
		}
		for _, word := range words(plain) {
			assert.True(t, found[word], "%q of %s", word, encoded)
		}
	})
}
