package mapping

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
)

func itemText(item Item) string {
	var b strings.Builder
	field := func(name string, value *string) {
		if value != nil {
			fmt.Fprintf(&b, " %s=%s", name, *value)
		}
	}
	fmt.Fprintf(&b, "%s", item.Input)
	if item.ReferenceOutput != nil {
		fmt.Fprintf(&b, " → %s", item.ReferenceOutput)
	}
	if item.Metadata != nil {
		fmt.Fprintf(&b, " + %s", item.Metadata)
	}
	field("key", item.Key)
	field("split", item.Split)
	if item.Tags != nil {
		fmt.Fprintf(&b, " tags=%q", item.Tags)
	}
	field("run", item.SourceRunID)
	field("span", item.SourceSpanID)
	return b.String()
}

// preview returns the mapping that is found and what each row makes.
func preview(t *testing.T, content string, o datasetfile.Options) (Mapping, []string) {
	t.Helper()
	result, err := Preview(t.Context(), bytes.NewReader([]byte(content)), o, nil, 50)
	require.NoError(t, err)
	inferred, err := Infer(t.Context(), bytes.NewReader([]byte(content)), o)
	require.NoError(t, err)
	require.Equal(t, result.Mapping, inferred)
	require.NoError(t, inferred.valid())
	var got []string
	for _, row := range result.Rows {
		if row.Item == nil {
			got = append(got, fmt.Sprintf("! %d %v", row.Line, row.Errors))
		} else {
			got = append(got, itemText(*row.Item))
		}
	}
	return result.Mapping, got
}

func TestInferColumns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		format  datasetfile.Format
		content string
		mapping string
		items   []string
	}{
		"one column makes an object": {datasetfile.CSV, "question\nWhat?\n", `{"shape":"columns","input":["question"],"reference_output":null,"metadata":null,"key":null,"split":null,"tags":null}`, []string{`{"question":"What?"}`}},
		"input stays as it is":       {datasetfile.CSV, "input,expected_output\nWhat?,this\n", `{"shape":"columns","input":"input","reference_output":"expected_output","metadata":null,"key":null,"split":null,"tags":null}`, []string{`"What?" → "this"`}},
		"what has no place is metadata": {
			datasetfile.CSV, "id,question,Context,answer,output,split,tags,difficulty\na,Q1,c,A1,o,test,\"x, y\",3\nb,Q2,,A2,,train,,4\n",
			`{"shape":"columns","input":["question","Context"],"reference_output":"answer","metadata":["output","difficulty"],"key":"id","split":"split","tags":"tags","types":{"difficulty":"number"}}`,
			[]string{
				`{"question":"Q1","Context":"c"} → "A1" + {"output":"o","difficulty":3} key=a split=test tags=["x" "y"]`,
				`{"question":"Q2","Context":null} → "A2" + {"output":null,"difficulty":4} key=b split=train`,
			},
		},
		"an id that is not unique is no key": {
			datasetfile.CSV, "id,name,question\na,x,Q1\na,y,Q2\n", `{"shape":"columns","input":["question"],"reference_output":null,"metadata":["id"],"key":"name","split":null,"tags":null}`,
			[]string{`{"question":"Q1"} + {"id":"a"} key=x`, `{"question":"Q2"} + {"id":"a"} key=y`},
		},
		"other names make the input":            {datasetfile.CSV, "country,capital\nFrance,Paris\n", `{"shape":"columns","input":["country","capital"],"reference_output":null,"metadata":null,"key":null,"split":null,"tags":null}`, []string{`{"country":"France","capital":"Paris"}`}},
		"JSON, numbers and booleans of CSV":     {datasetfile.CSV, "input,n,ok,zip,mixed\n\"{\"\"a\"\": 1}\",1.50,true,01234,1\n\"[2]\",-3,false,1,x\n", `{"shape":"columns","input":"input","reference_output":null,"metadata":["n","ok","zip","mixed"],"key":null,"split":null,"tags":null,"types":{"input":"json","n":"number","ok":"boolean"}}`, []string{`{"a": 1} + {"n":1.50,"ok":true,"zip":"01234","mixed":"1"}`, `[2] + {"n":-3,"ok":false,"zip":"1","mixed":"x"}`}},
		"numbers of many digits stay text":      {datasetfile.CSV, "input,n\nx,12345678901234567\n", `{"shape":"columns","input":"input","reference_output":null,"metadata":["n"],"key":null,"split":null,"tags":null}`, []string{`"x" + {"n":"12345678901234567"}`}},
		"JSONL has its own types":               {datasetfile.JSONL, `{"key":7,"input":{"a":1},"expectedOutput":[1],"metadata":{"m":1},"tags":["a","b"]}` + "\n" + `{"key":8,"input":null}`, `{"shape":"columns","input":"input","reference_output":"expectedOutput","metadata":"metadata","key":"key","split":null,"tags":"tags"}`, []string{`{"a":1} → [1] + {"m":1} key=7 tags=["a" "b"]`, `! 2 [input: is empty, but it is the input: every item needs one]`}},
		"instruction and input belong together": {datasetfile.JSONL, `{"instruction":"Add","input":"1+1","output":"2"}`, `{"shape":"columns","input":["instruction","input"],"reference_output":"output","metadata":null,"key":null,"split":null,"tags":null}`, []string{`{"instruction":"Add","input":"1+1"} → "2"`}},
		"only an answer":                        {datasetfile.CSV, "answer\n42\n", `{"shape":"columns","input":["answer"],"reference_output":null,"metadata":null,"key":null,"split":null,"tags":null,"types":{"answer":"number"}}`, []string{`{"answer":42}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, items := preview(t, test.content, datasetfile.Options{Format: test.format})
			text, err := json.Marshal(m)
			require.NoError(t, err)
			assert.Equal(t, test.mapping, string(text))
			assert.Equal(t, test.items, items)
			parsed, err := ParseMapping(text)
			require.NoError(t, err)
			assert.Equal(t, m, parsed)
		})
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	var content strings.Builder
	content.WriteString("input,data\n")
	for i := range 1500 {
		fmt.Fprintf(&content, "%d,\"{\"\"i\"\":%d}\"\n", i, i)
		if i == 9 {
			content.WriteString("one cell\n")
		}
	}
	content.WriteString("x,not JSON\n")
	src := strings.NewReader(content.String())
	result, err := Preview(t.Context(), src, datasetfile.Options{}, nil, 20)
	require.NoError(t, err)
	yes := true
	assert.Equal(t, datasetfile.Layout{Format: datasetfile.CSV, Encoding: datasetfile.UTF8, Delimiter: ",", Header: &yes}, result.Layout)
	assert.Equal(t, 1000, result.RowsRead)
	assert.False(t, result.Complete)
	require.Len(t, result.Rows, 20)
	assert.Equal(t, int64(12), result.Rows[10].Line)
	assert.Nil(t, result.Rows[10].Item)
	assert.Contains(t, result.Rows[10].Errors[0].Reason, "1 cell, the header 2")
	assert.Equal(t, []ColumnInfo{
		{"input", NumberType, 999, map[string]int{"number": 999}, []string{"0", "1", "2"}},
		{"data", JSONType, 999, map[string]int{"object": 999}, []string{`{"i":0}`, `{"i":1}`, `{"i":2}`}},
	}, result.Columns)

	// What does not fit after the sample is refused, with the remedy.
	f, err := reading.Open(src, datasetfile.Options{Format: datasetfile.CSV})
	require.NoError(t, err)
	var last datasetfile.Row
	for range 1502 {
		if row, err := f.Next(); err == nil {
			last = row
		}
	}
	_, bad := result.Mapping.Item(last)
	require.Len(t, bad, 2)
	assert.Equal(t, datasetfile.FieldError{Column: "input", Reason: "is no number such as 3 or -0.25, but the column has the type number: correct it, or choose the type text for the column", Value: "x"}, bad[0])
	assert.Contains(t, bad[1].Reason, "choose the type text for the column")

	m := Mapping{Shape: Columns, Input: Column("input"), Types: map[string]ColumnType{"input": TextType}}
	result, err = Preview(t.Context(), strings.NewReader("input,x\n1,2\n"), datasetfile.Options{Partial: true}, &m, 50)
	require.NoError(t, err)
	assert.Equal(t, m, result.Mapping)
	assert.Equal(t, `"1"`, string(result.Rows[0].Item.Input))
	assert.Equal(t, TextType, result.Columns[0].Type)
	assert.Equal(t, NumberType, result.Columns[1].Type)
	assert.False(t, result.Complete)

	m.Input = Column("inptu")
	_, err = Preview(t.Context(), strings.NewReader("input,x\n1,2\n"), datasetfile.Options{}, &m, 50)
	var wrong *Error
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, Error{"input", `names the column "inptu", which the file does not have. It has: "input", "x"`}, *wrong)
}

func TestParseMapping(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`x`:                                      "the mapping is no JSON object: is no JSON: line 1, character 1: expected '{'",
		`[]`:                                     `the mapping is no JSON object: is a list, not an object: write {"input": …}`,
		`{}`:                                     "mapping.shape is missing: use columns, or the name of a known export",
		`{"shape":"rows"}`:                       `mapping.shape is "rows": use columns, looptrace, openai_chat, openai_evals, promptfoo, langfuse, phoenix or langsmith`,
		`{"shape":1}`:                            "mapping.shape must be a text",
		`{"shape":"columns"}`:                    "mapping.input is missing: name a column, or a list of columns",
		`{"shape":"columns","input":null}`:       "mapping.input is missing: name a column, or a list of columns",
		`{"shape":"columns","input":7}`:          "mapping.input must be the name of a column, a list of names, or null",
		`{"shape":"columns","input":[]}`:         "mapping.input must have 1 to 1000 names",
		`{"shape":"columns","input":["a","a"]}`:  `mapping.input names "a" twice`,
		`{"shape":"columns","input":["a",null]}`: "mapping.input must be the name of a column, a list of names, or null",
		`{"shape":"columns","input":"a","key":["k"]}`:          "mapping.key must be the name of a column, or null",
		`{"shape":"columns","input":"a","types":{"b":"date"}}`: `mapping.types.b is "date": use text, json, number or boolean`,
		`{"shape":"columns","input":"a","types":[]}`:           "mapping.types must be an object with the type of each column: text, json, number or boolean",
		`{"shape":"columns","input":"a","reference":"b"}`:      "mapping.reference is not known: use shape, input, reference_output, metadata, key, split, tags and types",
		`{"shape":"columns","input":"a","input":"b"}`:          `the mapping is no JSON object: has the member "input" twice: keep one`,
	} {
		_, err := ParseMapping([]byte(text))
		require.EqualError(t, err, want, text)
	}
	m, err := ParseMapping([]byte(`{"shape":"columns","input":["a","b"],"metadata":null,"key":null,"types":{"a":"json"}}`))
	require.NoError(t, err)
	assert.Equal(t, Mapping{Shape: Columns, Input: Object("a", "b"), Types: map[string]ColumnType{"a": JSONType}}, m)
	require.NoError(t, m.Check([]string{"a", "b"}))
	assert.EqualError(t, m.Check([]string{"b"}), `mapping.input names the column "a", which the file does not have. It has: "b"`)
}

func TestItemErrors(t *testing.T) {
	t.Parallel()
	name := func(s string) *string { return &s }
	m := Mapping{
		Shape: Columns, Input: Column("i"), Metadata: Column("m"), Key: name("k"), Split: name("s"), Tags: name("t"),
		Types: map[string]ColumnType{"n": NumberType, "b": BooleanType, "j": JSONType, "x": TextType},
	}
	for cells, want := range map[string]string{
		`{"i":null}`:           "i: is empty, but it is the input: every item needs one",
		`{}`:                   "i: is empty, but it is the input: every item needs one",
		`{"i":1,"m":[1]}`:      "m: is no object, but it is the metadata: make it an object, or name it in a list, which makes an object of it",
		`{"i":1,"k":""}`:       "k: has 0 characters: it must be a text of 1 to 256",
		`{"i":1,"k":{}}`:       "k: is an object: it must be a text of 1 to 256 characters",
		`{"i":1,"k":"\u0000"}`: "k: has a NUL character",
		`{"i":1,"s":"` + strings.Repeat("ü", 65) + `"}`: "s: has 65 characters: it must be a text of 1 to 64",
		`{"i":1,"t":[1]}`: "t: has a tag that is no text",
		`{"i":1,"t":1}`:   "t: is a number: tags are a list of texts, or a text with commas",
		`{"i":1,"t":"a,` + strings.Repeat("x", 65) + `"}`: "t: has a tag of 65 characters: it must have 1 to 64, none of them NUL",
		`{"i":1,"n":"1,5"}`: "n: is no number such as 3 or -0.25, but the column has the type number: correct it, or choose the type text for the column",
		`{"i":1,"b":"yes"}`: "b: is neither true nor false, but the column has the type boolean: correct it, or choose the type text for the column",
		`{"i":1,"j":"{x"}`:  "j: is no JSON (is no JSON: line 1, character 6: expected '\"'), but the column has the type json: correct it, or choose the type text for the column",
		`{"i":1,"x":{}}`:    "x: is an object, but the column has the type text: choose the type json for the column",
	} {
		row, err := datasetfile.ObjectRow(3, []byte(cells))
		require.NoError(t, err)
		_, bad := m.Item(row)
		require.NotEmpty(t, bad, cells)
		assert.Equal(t, want, bad[0].Error())
		assert.LessOrEqual(t, len(bad[0].Value), 200)
	}
}

func TestTypesOfFormats(t *testing.T) {
	t.Parallel()
	const row = `{"n":1,"t":"5","j":"[1]","b":true,"o":{"a":1},"m":"x"}` + "\n" + `{"n":2,"t":"6","j":"{}","b":null,"o":[1],"m":2}`
	result, err := Preview(t.Context(), strings.NewReader(row), datasetfile.Options{Format: datasetfile.JSONL}, nil, 1)
	require.NoError(t, err)
	types := map[string]ColumnType{}
	for _, c := range result.Columns {
		types[c.Name] = c.Type
	}
	assert.Equal(t, map[string]ColumnType{"n": NumberType, "t": TextType, "j": TextType, "b": BooleanType, "o": JSONType, "m": JSONType}, types)
	assert.Equal(t, map[string]int{"text": 1, "number": 1}, result.Columns[5].Kinds)
	assert.Nil(t, result.Mapping.Types)

	cell := func(content string) string { return `<c t="inlineStr"><is><t>` + content + `</t></is></c>` }
	content := workbook(t, "<row>"+cell("input")+cell("t")+cell("n")+"</row><row>"+cell("[1]")+cell("5")+"<c><v>5</v></c></row>")
	m, items := preview(t, content, datasetfile.Options{Format: datasetfile.XLSX})
	assert.Equal(t, map[string]ColumnType{"input": JSONType}, m.Types)
	assert.Equal(t, []string{`[1] + {"t":"5","n":5}`}, items)
}

func TestTooManyColumns(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&lines, "{\"c%d\":1,\"d%d\":1}\n", i, i)
	}
	for content, want := range map[string]string{
		lines.String():                    "the rows have more than 1000 different columns",
		strings.Repeat(",", 1000) + "x\n": "the file has 1001 columns: a mapping can name at most 1000",
	} {
		_, err := Preview(t.Context(), strings.NewReader(content), datasetfile.Options{}, nil, 1)
		var file *datasetfile.FileError
		require.ErrorAs(t, err, &file)
		assert.Contains(t, file.Detail, want)
	}
}
