package jsontext

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "null"},
		{"", `""`},
		{"a < b && c > d", `"a < b && c > d"`},
		{"line\nline\n", `"line\nline\n"`},
		{"\u2028", `"\u2028"`},
		{"not UTF-8: \xff", `"not UTF-8: \ufffd"`},
		{json.RawMessage(`{"a": "<"}`), `{"a":"<"}`},
		{map[string]any{"b": 1, "a": []int{}}, `{"a":[],"b":1}`},
	} {
		got, err := Encode(c.value)
		require.NoError(t, err)
		assert.Equal(t, c.want, string(got))
		assert.Equal(t, c.want, string(MustEncode(c.value)))
	}
	_, err := Encode(json.RawMessage("{"))
	require.Error(t, err)
	assert.Panics(t, func() { MustEncode(func() {}) })
}

func TestIsNull(t *testing.T) {
	for raw, want := range map[string]bool{
		"": true, "null": true, " null\n": true, " ": true,
		`""`: false, `"null"`: false, "{}": false, "[]": false, "0": false, "false": false, "nul": false, "nulls": false,
	} {
		assert.Equal(t, want, IsNull(json.RawMessage(raw)), "%q", raw)
	}
	assert.True(t, IsNull(nil))
}

func TestKinds(t *testing.T) {
	for raw, want := range map[string][3]bool{
		`"a"`: {true, false, false}, "{}": {false, true, false}, "[]": {false, false, true}, "": {}, "null": {}, "1": {},
	} {
		assert.Equal(t, want, [3]bool{IsString(json.RawMessage(raw)), IsObject(json.RawMessage(raw)), IsArray(json.RawMessage(raw))}, "%q", raw)
	}
}

func TestCompact(t *testing.T) {
	for raw, want := range map[string]string{
		"": "", " null ": "null", "{ \"a\" : [1,\t2] }\n": `{"a":[1,2]}`, `"a < b"`: `"a < b"`, "{ no JSON": "{ no JSON",
	} {
		assert.Equal(t, want, string(Compact(json.RawMessage(raw))), "%q", raw)
	}
}

func TestText(t *testing.T) {
	for raw, want := range map[string]string{
		"": "", `""`: "", "null": "null", `"a\nb"`: "a\nb", `"\u003c"`: "<", ` " a" `: " a",
		"1.50": "1.50", " true\n": "true", `{"a": 1}`: `{"a": 1}`, `["a"]`: `["a"]`, `"open`: `"open`,
	} {
		assert.Equal(t, want, Text(json.RawMessage(raw)), "%q", raw)
		if raw != "null" {
			assert.Equal(t, want, String(json.RawMessage(raw)), "%q", raw)
		}
	}
	assert.Empty(t, String(json.RawMessage(" null ")))
}

func TestMembersAndList(t *testing.T) {
	assert.Equal(t, map[string]json.RawMessage{"a": json.RawMessage("1")}, Members(json.RawMessage(`{"a":1}`)))
	assert.Equal(t, []json.RawMessage{json.RawMessage("1")}, List(json.RawMessage(`[1]`)))
	for _, other := range []string{"", "null", "1", `"a"`, "{", "["} {
		assert.Nil(t, Members(json.RawMessage(other)), other)
		assert.Nil(t, List(json.RawMessage(other)), other)
	}
}
