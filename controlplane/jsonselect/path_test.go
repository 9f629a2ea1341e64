package jsonselect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func selected(t *testing.T, path string, members ...string) []string {
	t.Helper()
	var list []Member
	for _, m := range members {
		name, value, _ := strings.Cut(m, "=")
		list = append(list, Member{name, []byte(value)})
	}
	p, err := Parse(path)
	require.NoError(t, err)
	values, err := p.Select(NewDocument(list))
	require.NoError(t, err)
	var texts []string
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return texts
}

func TestSelect(t *testing.T) {
	t.Parallel()
	members := []string{
		`input={"z":1.50,"a":[1,2.0,"<b>"],"list":[]}`, `output="Paris"`,
		`messages=[{"role":"user","content":"1"},{"content":"2","role":"assistant"},{"role":"user","content":"3"}]`,
	}
	for path, want := range map[string][]string{
		"$.input":                               {`{"z":1.50,"a":[1,2.0,"<b>"],"list":[]}`}, // as it was written
		"$['output']":                           {`"Paris"`},
		"$.missing":                             nil,
		"$.input.missing.x":                     nil,
		"$.input.a":                             {`[1,2.0,"<b>"]`},
		"$.input.a[2]":                          {`"<b>"`},
		"$.input.a[1,0]":                        {"2.0", "1"},
		"$.input.list":                          {"[]"},
		"$.input.*":                             {"1.50", `[1,2.0,"<b>"]`, "[]"}, // in order
		"$.messages[-1]":                        {`{"role":"user","content":"3"}`},
		"$.messages[1]":                         {`{"content":"2","role":"assistant"}`},
		"$.messages[?@.role == 'user'].content": {`"1"`, `"3"`},
		"$.messages[?@.role == 'a..*:?'].content": nil,
		"$.messages[?length(@.content) > 0].role": {`"user"`, `"assistant"`, `"user"`},
		"$..content":          {`"1"`, `"2"`, `"3"`},
		"$.messages[:2].role": {`"user"`, `"assistant"`},
		"$.input['z','z']":    {"1.50", "1.50"},
		"$":                   {`{"input":` + members[0][6:] + `,"output":"Paris","messages":` + members[2][9:] + `}`},
		"$.input.a[?@ > 1.5]": {"2.0"},
		"$.messages[?@.content == $.messages[1].content].role": {`"assistant"`},
	} {
		assert.Equal(t, want, selected(t, path, members...), path)
	}
	assert.Equal(t, []string{"2"}, selected(t, "$.a.b", `a={"b":1,"b":2}`), "of members with the same name, the last")
}

func TestParse(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"input":                    "is not a JSON path (RFC 9535): unexpected identifier at position 1",
		"$.input[":                 "is not a JSON path (RFC 9535): unexpected eof at position 9",
		"$.a[?@..b]":               "is not supported: " + errFilter.Error(),
		"$.a[?@.b[*]]":             "is not supported: " + errFilter.Error(),
		"$.a[?@[1:2] && $.x == 1]": "is not supported: " + errFilter.Error(),
		"$.a[?@[?@.b]]":            "is not supported: " + errFilter.Error(),
		"$.a[?count($..*) > 1]":    "is not supported: " + errFilter.Error(),
	} {
		_, err := Parse(path)
		assert.EqualError(t, err, want, path)
	}
}

// TestSelectIsBounded asks for more nodes than any memory holds.
func TestSelectIsBounded(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`[1,`, 60) + "0" + strings.Repeat("]", 60)
	for _, path := range []string{"$" + strings.Repeat("..*", 60), "$.a" + strings.Repeat("[*,*,*]", 59), "$.a" + strings.Repeat("[1,1,1]", 59), "$.a" + strings.Repeat("[?@ != 2,?@ != 3]", 50)} {
		p, err := Parse(path)
		require.NoError(t, err)
		_, err = p.Select(NewDocument([]Member{{"a", []byte(nested)}}))
		require.ErrorIs(t, err, ErrTooManyNodes, path)
	}
}

func TestSelectRefusesDeepDocuments(t *testing.T) {
	t.Parallel()
	p, err := Parse("$.a[0]")
	require.NoError(t, err)
	const deep = 1_000_000
	_, err = p.Select(NewDocument([]Member{{"a", []byte(strings.Repeat("[", deep) + strings.Repeat("]", deep))}}))
	require.ErrorIs(t, err, errDepth)
}
