package mapping

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		content string
		options datasetfile.Options
		want    []string
		fails   string
	}{
		"a list":                   {content: "\xef\xbb\xbf[\r\n {\"a\": 1.10},\n\n {\"a\":\n [1,\n 2]}\n]\n", want: []string{`2 {"a":1.10}`, `4 {"a":[1,2]}`}},
		"an empty list":            {content: "[]"},
		"a member":                 {content: `{"meta":{"n":[1,"]}"]},"items":[{"a":"]\"}"}],"more":[[]]}`, want: []string{`1 {"a":"]\"}"}`}},
		"a member within a member": {content: `{"data":{"n":1},"x":0,"results":{"examples":[{"a":1}],"y":2},"z":3}`, want: []string{`1 {"a":1}`}},
		"bad elements": {
			content: "[{\"a\":1},\n3,\n\"x\",null,\n{\"a\":},\n{\"a\":tru},{\"a\":1,\"a\":2},\n{\"a\":NaN},\n{\"a\":2}]",
			want: []string{
				`1 {"a":1}`, `! line 2: is a number, not an object: write {"input": …}`, `! line 3: is a string, not an object: write {"input": …}`, `! line 3: is null, not an object: write {"input": …}`,
				`! line 4: is no JSON: line 4, character 6: expected a value; remove the comma before }`, `! line 5: is no JSON: line 5, character 6: expected a value`,
				`! line 5: has the member "a" twice: keep one`, `! line 6: is no JSON: line 6, character 6: JSON has no NaN and no Infinity: write null or a text`, `7 {"a":2}`,
			},
		},
		"a place within an element":  {content: "[\n{\n \"a\": 1,\n \"b\": x\n}]", want: []string{`! line 2: is no JSON: line 4, character 7: expected a value`}},
		"no UTF-8":                   {content: "[{\"a\":\"\xe9\"},{\"a\":2}]", want: []string{`! line 1: line 1: the byte 0xe9 is not UTF-8: save the file as UTF-8, or choose encoding=windows-1252 if it is in that encoding`, `1 {"a":2}`}},
		"Windows-1252":               {content: "[{\"a\":\"\xe9\"}]", options: datasetfile.Options{Encoding: datasetfile.Windows1252}, want: []string{`1 {"a":"é"}`}},
		"no list":                    {content: `{"input":{"a":1},"output":2}`, fails: `the object of the file has no list of rows. It has: "input", "output". Write a list of objects, or name the list items, data, rows`},
		"lines":                      {content: "{\"a\":1}\n{\"a\":2}\n", fails: "choose format=jsonl"},
		"a text":                     {content: `"x"`, fails: `line 1: the file begins with "\"", not with a list of objects`},
		"cut":                        {content: "[{\"a\":1},\n{\"a\":", want: []string{`1 {"a":1}`}, fails: "the file ends in line 2 within its JSON: it is cut"},
		"cut after the list":         {content: `{"data":[{"a":1}],"b":`, want: []string{`1 {"a":1}`}, fails: "the file ends in line 1 within its JSON"},
		"more":                       {content: "[{\"a\":1}]\n[]", want: []string{`1 {"a":1}`}, fails: `line 2: the JSON is wrong: "[" where the end of the file should be`},
		"no comma":                   {content: `[{"a":1} {"a":2}]`, want: []string{`1 {"a":1}`}, fails: `line 1: the JSON is wrong: "{" where a comma or ] should be`},
		"a comma too many":           {content: `[{"a":1},]`, want: []string{`1 {"a":1}`}, fails: `line 1: the JSON is wrong: "]" where an object should be`},
		"brackets that do not fit":   {content: `[{"a":[1}]`, fails: `line 1: the JSON is wrong: "}" closes "["`},
		"nested too deep":            {content: "[" + strings.Repeat("[", reading.MaxBrackets+1), fails: "it nests more than 100000 deep"},
		"an element nested too deep": {content: `[{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `},{"a":1}]`, want: []string{`! line 1: nests more than 1000 deep`, `1 {"a":1}`}},
		"a large element":            {content: `[{"a":"` + strings.Repeat("x", datasetfile.MaxRow) + `"},{"a":1}]`, want: []string{`! line 1: the element is longer than 16 MiB: at most that much can be read`, `1 {"a":1}`}},
		"the beginning":              {content: `{"data":[{"a":1},{"a":2}`, options: datasetfile.Options{Partial: true}, want: []string{`1 {"a":1}`}},
		"the beginning, in a number": {content: `[{"a":1},{"a":2`, options: datasetfile.Options{Partial: true}, want: []string{`1 {"a":1}`}},
		"too little of it":           {content: `{"meta":[1,`, options: datasetfile.Options{Partial: true}, fails: "does not reach its list of rows"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.options.Format = datasetfile.JSON
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

func mergeName(i int) string {
	if i == 0 {
		return "a"
	}
	return fmt.Sprintf("m%d", i-1)
}

func TestYAML(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for _, c := range "bcdefghij" {
		last := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+last+",", 9) + "*" + last + "]\n"
	}
	merges := "a: &a {x: 1}\n"
	for i := range 40 {
		merges += fmt.Sprintf("m%d: &m%d {<<: *%s, <<: *%s}\n", i, i, mergeName(i), mergeName(i))
	}
	for name, test := range map[string]struct {
		content string
		options datasetfile.Options
		want    []string
		fails   string
	}{
		"many merges": {content: merges + "items:\n - *m39\n - {a: 1}\n", want: []string{"! line 43: the row, with what aliases repeat, is longer than 16 MiB", `44 {"a":1}`}},
		"a list":      {content: "# rows\n- a: 1\n  b: [x, 'y', ~]\n-\n  a: 2026-01-02\n  b: |\n    text\n    more\n", want: []string{`2 {"a":1,"b":["x","y",null]}`, `5 {"a":"2026-01-02","b":"text\nmore\n"}`}},
		"a key":       {content: "name: x\nitems:\n  - {a: yes, b: true, c: 0x10, d: 1000, e: .5, f: 12345678901234567890.10, g: ''}\n", want: []string{`3 {"a":"yes","b":true,"c":16,"d":1000,"e":0.5,"f":12345678901234567890.10,"g":""}`}},
		"zip codes":   {content: "- {a: 01234, b: 00501, c: 010, d: 08, e: -012, f: 007.5, g: \"01234\", h: 0, i: 0.5, j: -0.5, k: 10, l: 00}\n", want: []string{`1 {"a":"01234","b":"00501","c":"010","d":"08","e":"-012","f":"007.5","g":"01234","h":0,"i":0.5,"j":-0.5,"k":10,"l":"00"}`}},
		"what YAML 1.1 converts": {content: "- {a: 12:30:45, b: 1:30, c: 190:20:30.15, d: yes, e: No, f: on, g: OFF, h: y, i: 1_000, j: 2024_01, k: 0b101, l: 0X1F, m: +49151, n: 1_0.5}\n", want: []string{
			`1 {"a":"12:30:45","b":"1:30","c":"190:20:30.15","d":"yes","e":"No","f":"on","g":"OFF","h":"y","i":"1_000","j":"2024_01","k":"0b101","l":"0X1F","m":"+49151","n":"1_0.5"}`,
		}},
		"what YAML 1.2 converts": {content: "- {a: 0x1F, b: 0o17, c: 1., d: -.5, e: 1.5e3, f: TRUE, g: ~, h: Null, i: 2026-01-02, j: 12345678901234567890123}\n", want: []string{
			`1 {"a":31,"b":15,"c":1,"d":-0.5,"e":1.5e3,"f":true,"g":null,"h":null,"i":"2026-01-02","j":12345678901234567890123}`,
		}},
		"tags":                {content: "- {a: !!int 010, b: !!str 10, c: !!int \"1_000\", d: !!float 1, e: !!int +7}\n- {01234: x, yes: y, 0o7: z}\n", want: []string{`1 {"a":10,"b":"10","c":1000,"d":1,"e":7}`, `2 {"01234":"x","yes":"y","0o7":"z"}`}},
		"promptfoo's zip":     {content: "- &a\n  zip: 01234\n- *a\n- {<<: *a, area: 00501}\n", want: []string{`1 {"zip":"01234"}`, `3 {"zip":"01234"}`, `4 {"area":"00501","zip":"01234"}`}},
		"aliases and merges":  {content: "base: &base {a: 1, b: 2}\ntests:\n  - <<: *base\n    b: 3\n  - *base\n", want: []string{`3 {"b":3,"a":1}`, `5 {"a":1,"b":2}`}},
		"no object":           {content: "- a: 1\n- x\n- [1]\n", want: []string{`1 {"a":1}`, `! line 2: is a string, not an object: write {"input": …}`, `! line 3: is a list, not an object: write {"input": …}`}},
		"a name twice":        {content: "- {a: 1, a: 2}\n- {a: 3}\n", want: []string{`! line 1: has the member "a" twice: keep one`, `2 {"a":3}`}},
		"what JSON lacks":     {content: "- {a: .nan}\n- {a: !!binary aGk=}\n- {[x]: 1}\n", want: []string{"! line 1: line 1: JSON has no .nan: write null or a text", "! line 2: line 2: binary values are no JSON: write a text", "! line 3: line 3: a name is no text; a text that begins with { needs quotes"}},
		"an alias of itself":  {content: "- &a {b: *a}\n", fails: ""},
		"many aliases":        {content: bomb + "items:\n - {x: *j}\n - {a: 1}\n", want: []string{"! line 12: the row, with what aliases repeat, is longer than 16 MiB", `13 {"a":1}`}},
		"many aliases, again": {content: bomb + "items:\n" + strings.Repeat(" - {x: *j}\n", 40), fails: "the rows, with what aliases repeat, take more than 256 MiB"},
		"no YAML":             {content: "a: [1\nb: {", fails: "the file is no YAML: line"},
		"two documents":       {content: "- a: 1\n---\n- a: 2\n", fails: "the file has several documents"},
		"no list":             {content: "a: 1\nb: 2\n", fails: `the file has no list of rows. It has: "a", "b"`},
		"another file":        {content: "tests: file://tests.csv\n", fails: "line 1: tests names another file, file://tests.csv: import that file"},
		"the beginning":       {content: "- a: 1\n", options: datasetfile.Options{Partial: true}, fails: "the beginning of a YAML file cannot be read"},
		"large":               {content: "- a: " + strings.Repeat("x", reading.MaxYAML), fails: "larger than the 8 MiB"},
		"many values":         {content: "- [" + strings.Repeat("[],", reading.MaxYAMLMarks/2+1) + "]", fails: "too many values"},
		"only a comment":      {content: "# nothing\n", fails: "the file is empty"},
		"nested too deep":     {content: "- {a: " + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + "}", want: []string{"! line 1: nests more than 1000 deep"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.options.Format = datasetfile.YAML
			got, err := read(t, test.content, test.options)
			if name == "an alias of itself" {
				require.True(t, err != nil || strings.HasPrefix(got[0], "! line 1: "), "%v %v", got, err)
				return
			}
			if name == "many aliases, again" {
				got = nil
			}
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
