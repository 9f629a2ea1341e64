package mapping

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
)

func lineText(line int64) string { return strconv.FormatInt(line, 10) }

func TestJSONL(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", datasetfile.MaxDepth) + strings.Repeat("]", datasetfile.MaxDepth)
	for name, test := range map[string]struct {
		content string
		options datasetfile.Options
		want    []string
		fails   string
	}{
		"rows, blank lines and Windows": {content: "\xef\xbb\xbf{\"a\":1}\r\n\r\n  \n{\"a\":null}", want: []string{`1 {"a":1}`, `4 {"a":null}`}},
		"numbers are exact":             {content: `{"a":12345678901234567890,"b":1.10,"c":1E400}`, want: []string{`1 {"a":12345678901234567890,"b":1.10,"c":1E400}`}},
		"a bad line": {
			content: "{\"a\":1}\n{\"a\":}\n{\"é\":1,}\n{\"a\":2}\n",
			want: []string{
				`1 {"a":1}`, `! line 2: is no JSON: line 2, character 6: expected a value; remove the comma before }`,
				`! line 3: is no JSON: line 3, character 8: expected '"'; remove the comma before }`, `4 {"a":2}`,
			},
		},
		"no object":            {content: "{}\n[1]\n\"x\"\n3\nnull\n", want: []string{`1 {}`, `! line 2: is a list, not an object: write {"input": …}`, `! line 3: is a string, not an object: write {"input": …}`, `! line 4: is a number, not an object: write {"input": …}`, `! line 5: is null, not an object: write {"input": …}`}},
		"a member twice":       {content: `{"a":1,"b":{"c":1,"c":2}}` + "\n" + `{"a":1,"a":2}`, want: []string{`! line 1: b: has the member "c" twice: keep one`, `! line 2: has the member "a" twice: keep one`}},
		"NaN":                  {content: "{\"a\":NaN}\n{\"a\":-Infinity}\n{\"a\":Infinity}", want: []string{`! line 1: is no JSON: line 1, character 6: JSON has no NaN and no Infinity: write null or a text`, `! line 2: is no JSON: line 2, character 7: JSON has no NaN and no Infinity: write null or a text`, `! line 3: is no JSON: line 3, character 6: JSON has no NaN and no Infinity: write null or a text`}},
		"Python":               {content: "{'a': 1}\n{\"a\": None}", want: []string{`! line 1: is no JSON: line 1, character 2: names and texts have double quotes, as json.dumps writes them`, `! line 2: is no JSON: line 2, character 7: this is Python: write null, true or false, as json.dumps does`}},
		"two objects":          {content: "{} {}\n{}", want: []string{`! line 1: is no JSON: line 1, character 4: more follows after the object: write each object in a line of its own`, `2 {}`}},
		"too deep":             {content: `{"a":` + deep[1:len(deep)-1] + "}\n" + `{"a":` + deep + "}", want: []string{`1 {"a":` + deep[1:len(deep)-1] + "}", `! line 2: nests more than 1000 deep`}},
		"half a surrogate":     {content: `{"a":"\ud83d"}` + "\n" + `{"a":"\ud83d\ude00 \\ud83d"}`, want: []string{`! line 1: a: has a \u escape that is half of a surrogate pair: write both halves`, `2 {"a":"\ud83d\ude00 \\ud83d"}`}},
		"no UTF-8":             {content: "{\"a\":\"\xe9\"}\n{}", want: []string{`! line 1: line 1, byte 7: the byte 0xe9 is not UTF-8: save the file as UTF-8, or choose encoding=windows-1252 if it is in that encoding`, `2 {}`}},
		"NUL":                  {content: "{\"a\":\"\x00\"}\n{}", want: []string{`! line 1: is no JSON: line 1, character 7: a text has a control character: write it as an escape, such as \n`, `2 {}`}},
		"cut":                  {content: "{}\n{\"a\":[1", want: []string{`1 {}`, `! line 2: is no JSON: line 2, character 8: it ends too early`}},
		"the beginning":        {content: "{}\n{\"a\":1", options: datasetfile.Options{Partial: true}, want: []string{`1 {}`}},
		"JSON over lines":      {content: "{\n\"a\":1}\n", fails: "choose format=json"},
		"a list":               {content: "[{\"a\":1},\n{\"a\":2}]", fails: "choose format=json"},
		"commas between lines": {content: "{\"a\":1},\n{\"a\":2}", fails: "line 1 ends with a comma"},
		"empty":                {content: "\n\n", fails: "the file is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.options.Format = datasetfile.JSONL
			got, err := read(t, test.content, test.options)
			assert.Equal(t, test.want, got)
			if test.fails == "" {
				require.NoError(t, err)
				return
			}
			var file *datasetfile.FileError
			require.ErrorAs(t, err, &file)
			assert.Contains(t, file.Detail, test.fails)
		})
	}
}

func TestLargeLines(t *testing.T) {
	t.Parallel()
	got, err := read(t, `{"a":"`+strings.Repeat("x", 3<<20)+"\"}\n{\"a\":\""+strings.Repeat("x", datasetfile.MaxRow)+"\"}\n{\"a\":1}", datasetfile.Options{Format: datasetfile.JSONL})
	require.NoError(t, err)
	require.Len(t, got, 3)
	assert.Len(t, got[0], 3<<20+len(`1 {"a":""}`))
	assert.Equal(t, "! line 2: the line is longer than 16 MiB: at most that much can be read", got[1])
	assert.Equal(t, `3 {"a":1}`, got[2])
}

func TestManyMembers(t *testing.T) {
	t.Parallel()
	object := func(members int) string {
		var many strings.Builder
		for i := range members {
			many.WriteString(`,"` + strconv.Itoa(i) + `":0`)
		}
		return "{" + many.String()[1:] + "}"
	}
	got, err := read(t, `{"a":`+object(datasetfile.MaxMembers+1)+"}\n"+object(datasetfile.MaxMembers+1)+"\n"+object(datasetfile.MaxColumns+1)+"\n{\"a\":1}", datasetfile.Options{Format: datasetfile.JSONL})
	require.NoError(t, err)
	require.Len(t, got, 4)
	assert.Equal(t, "! line 1: a: has an object of more than 100000 members", got[0])
	assert.Equal(t, "! line 2: has an object of more than 100000 members", got[1])
	assert.Equal(t, "! line 3: has 16385 members: at most 16384 can be read", got[2])
	assert.Equal(t, `4 {"a":1}`, got[3])
}

func TestJSONLInUTF16(t *testing.T) {
	t.Parallel()
	encoded, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("{\"a\":\"ü😀\"}\n{\"a\":2}\n")
	require.NoError(t, err)
	got, err := read(t, encoded, datasetfile.Options{Format: datasetfile.JSONL})
	require.NoError(t, err)
	assert.Equal(t, []string{`1 {"a":"ü😀"}`, `2 {"a":2}`}, got)
}
