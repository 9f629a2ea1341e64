package importing

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/prompts/prompttemplate"
)

var update = flag.Bool("update", false, "write the golden files")

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$`)

// TestGolden reads each export in testdata.
func TestGolden(t *testing.T) {
	t.Parallel()
	exports := map[string]Format{
		"openai-prompts.json": OpenAI, "openai-request.json": OpenAI,
		"langfuse-prompts.json": Langfuse, "langfuse-list.json": Langfuse,
		"langsmith-commit.json": LangSmith, "langsmith-list.json": LangSmith, "langsmith-manifest.json": LangSmith,
		"promptfooconfig.yaml": Promptfoo, "chat.yaml": Promptfoo, "chat.json": Promptfoo,
	}
	for name, format := range exports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join("testdata", name))
			require.NoError(t, err)
			file, err := Parse(content, name, "")
			require.NoError(t, err)
			assert.Equal(t, format, file.Format)
			checkFile(t, file)
			got, err := json.MarshalIndent(file, "", " ")
			require.NoError(t, err)
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.JSONEq(t, string(want), string(got))

			again, err := Parse(content, name, format)
			require.NoError(t, err)
			assert.Equal(t, file, again, "the named format must give the same")
		})
	}
}

// checkFile checks what holds for every file: names, and that each text is a template of Looptrace.
func checkFile(t *testing.T, file File) {
	t.Helper()
	names := map[string]bool{}
	for _, p := range file.Prompts {
		require.Regexp(t, namePattern, p.Name)
		require.False(t, names[p.Name], "two prompts are named %s", p.Name)
		names[p.Name] = true
		require.NotEmpty(t, p.Versions)
		for _, v := range p.Versions {
			var messages []struct {
				Type, Role string
				Content    any
			}
			require.NoError(t, json.Unmarshal(v.Messages, &messages))
			require.NotEmpty(t, messages)
			for _, m := range messages {
				parts, _ := m.Content.([]any)
				if s, ok := m.Content.(string); ok {
					parts = []any{map[string]any{"text": s}}
				}
				for _, part := range parts {
					s, _ := part.(map[string]any)["text"].(string)
					_, err := prompttemplate.Parse(s)
					require.NoError(t, err)
				}
			}
		}
	}
	for _, rejected := range file.Rejected {
		require.NotEmpty(t, rejected.SourceName)
		require.NotEmpty(t, rejected.Reason)
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content string
		format        Format
		want          string
	}{
		{"empty", "", "", "the file is empty"},
		{"blank", " \n", OpenAI, "the file is empty"},
		{"truncated JSON", "{\n  \"name\": \"a\",\n  \"prompt\": \"b", Langfuse, "line 3, column 15: the file is no JSON: unexpected end"},
		{"wrong JSON", "[\n {\"a\": 1,,}]", "", "line 2, column 10: the file is no JSON: invalid character ','"},
		{"text", "You are kind.", "", "none of the known exports"},
		{"text as promptfoo", "You are kind.", Promptfoo, "has a list `prompts`"},
		{"other JSON", `{"a": 1}`, "", "OpenAI (prompt objects), Langfuse (GET /api/public/v2/prompts/{name}), LangSmith (a commit or manifest) and promptfoo"},
		{"other list", `[1, "a", null]`, "", "none of the known exports"},
		{"no prompts", `{"data": []}`, Langfuse, "the file has no prompts"},
		{"unknown format", `[]`, "word", `the format "word" is unknown`},
		{"wrong YAML", "prompts:\n  - a\n - b: [", "", "read the file as YAML: line"},
		{"not UTF-8", "\xff\xfe", "", "not UTF-8"},
		{"YAML with itself", "prompts: &a [*a]", "", "nested more than"},
		{"name in YAML that is no text", "prompts:\n  - role: system\n    content: {{x}}", "", "line 3: a name is no text"},
		{"deep JSON", strings.Repeat("[", 20_000), "", "exceeded max depth"},
	} {
		_, err := Parse([]byte(c.content), "f", c.format)
		assert.ErrorContains(t, err, c.want, c.name)
	}
}

func TestRejected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content string
		format        Format
		want          Rejected
	}{
		{"not an object", `[1]`, OpenAI, Rejected{"[0]", "[0]", 0, "is not an object"}},
		{"reference without text", `{"prompt": {"id": "pmpt_1", "version": "2"}}`, "", Rejected{"pmpt_1 version 2", "", 0, "names a prompt but has no input, instructions or messages: copy them from the dashboard of OpenAI"}},
		{"image of an account", `{"id": "pmpt_1", "input": [{"role": "user", "content": [{"type": "input_image", "file_id": "file-1"}]}]}`, "", Rejected{"pmpt_1", "messages[0].content[0]", 0, "is an image without a URL: a file of an account at OpenAI cannot be a part of a prompt"}},
		{"unknown role", `{"name": "a", "prompt": [{"role": "king", "content": "x"}]}`, "", Rejected{"a", "messages[0].role", 0, "`king` is none of system, developer, user, assistant and tool"}},
		{"NUL", `{"name": "a", "prompt": "x\u0000"}`, "", Rejected{"a", "messages", 0, "has the character U+0000, which cannot be stored"}},
		{"NUL in a schema", `{"name": "a", "prompt": "x \\u0000", "config": {"x": {"y": "\u0000"}}}`, "", Rejected{"a", "model_config", 0, "has the character U+0000, which cannot be stored"}},
		{"placeholder without a name", `{"name": "a", "prompt": [{"type": "placeholder", "name": "a b"}]}`, "", Rejected{"a", "messages[0].name", 0, "`a b` is no name of a placeholder: it has up to 64 letters, digits, and any of _ . -"}},
		{"tool without its call", `{"name": "a", "prompt": [{"role": "tool", "content": "x"}]}`, "", Rejected{"a", "messages[0].tool_call_id", 0, "is missing"}},
		{"call without arguments", `{"name": "a", "prompt": [{"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f"}}]}]}`, "", Rejected{"a", "messages[0].tool_calls[0]", 0, "is no call of a tool with id, and function.name and function.arguments as texts"}},
		{"two functions of a name", `{"name": "a", "prompt": "x", "config": {"tools": [{"name": "f", "parameters": {}}, {"type": "function", "function": {"name": "f"}}]}}`, "", Rejected{"a", "config.tools[1]", 0, "is a second function `f`"}},
		{"same version twice", `[{"name": "a", "version": 1, "prompt": "x"}, {"name": "a", "version": 1, "prompt": "y"}]`, "", Rejected{"a version 1", "version", 0, "the file has this version twice"}},
		{"no manifest", `{"commit_hash": "abc", "repo": "r"}`, LangSmith, Rejected{"r", "manifest", 0, "has no manifest: export each prompt with pull_prompt_commit, or GET /commits/OWNER/NAME/latest"}},
		{"not serialized", `{"lc": 1, "type": "not_implemented", "id": ["x", "FewShotPromptTemplate"], "repr": "…"}`, "", Rejected{"f", "manifest", 0, "LangChain could not serialize its FewShotPromptTemplate: write it as a chat prompt"}},
		{"messages of a class", `{"lc": 1, "type": "constructor", "id": ["ChatPromptTemplate"], "kwargs": {"messages": [{"lc": 1, "type": "constructor", "id": ["FunctionMessage"], "kwargs": {}}]}}`, "", Rejected{"f", "manifest.kwargs.messages[0]", 0, "a FunctionMessage is not supported"}},
		{"file in YAML", "prompts:\n\n  - file://a.txt", "", Rejected{"file://a.txt", "prompts[0]", 3, "the prompt is in another file, `file://a.txt`: import that file, or put its text here"}},
		{"template in a name", "prompts:\n  - label: a\n    raw: '[{\"role\": \"user\", \"name\": \"{{n}}\", \"content\": \"x\"}]'", "", Rejected{"a", "messages[0].name", 0, "is a template: only the content of messages is rendered"}},
		{"too many messages", `{"name": "a", "prompt": [` + strings.TrimSuffix(strings.Repeat(`{"role": "user", "content": "x"},`, 501), ",") + `]}`, "", Rejected{"a", "messages", 0, "has 501 messages; a prompt has at most 500"}},
	} {
		file, err := Parse([]byte(c.content), "f.json", c.format)
		if assert.NoError(t, err, c.name) && assert.NotEmpty(t, file.Rejected, c.name) {
			assert.Equal(t, c.want, file.Rejected[0], c.name)
		}
	}
}

func TestPromptName(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"support/triage":                "support/triage",
		"Support / Ticket triage":       "Support/Ticket-triage",
		"Größe prüfen!":                 "Gro-e-prufen",
		"../../etc":                     "etc",
		"-a--b-":                        "a--b",
		"a//b/":                         "a/b",
		"日本":                            "prompt",
		"":                              "prompt",
		strings.Repeat("a", 200):        strings.Repeat("a", 128),
		strings.Repeat("a", 127) + "/b": strings.Repeat("a", 127),
	} {
		got := promptName(source)
		assert.Equal(t, want, got, source)
		assert.Regexp(t, namePattern, got)
	}
}

func TestNamesInAFileDiffer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 128)
	content, err := json.Marshal([]map[string]any{
		{"name": "a b", "prompt": "1"},
		{"name": "a-b", "prompt": "2"},
		{"name": "a-b-2", "prompt": "3"},
		{"name": "a?b", "prompt": "4"},
		{"name": long, "prompt": "5"},
		{"name": long + "y", "prompt": "6"},
	})
	require.NoError(t, err)
	file, err := Parse(content, "", "")
	require.NoError(t, err)
	checkFile(t, file)
	var names []string
	for _, p := range file.Prompts {
		names = append(names, p.Name)
	}
	assert.Equal(t, []string{"a-b", "a-b-2", "a-b-2-2", "a-b-3", long, long[:126] + "-2"}, names)
	assert.Equal(t, []Conversion{{"name", 1, "a-b", "a-b-2"}}, file.Prompts[1].Versions[0].Conversions)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	config := `{"model": "m", "temperature": 12, "top_p": "x", "max_tokens": 1.5, "max_output_tokens": 10, "stop": ["a", ""], "seed": 9007199254740993,
		"tool_choice": "any", "api_key": "sk-1", "frequency_penalty": 0.5, "nothing": null, "reasoning": {"effort": "high", "summary": "auto"},
		"response_format": {"type": "object", "title": "My answer", "properties": {}},
		"tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}, {"type": "mcp", "server_url": "https://x", "authorization": "secret"}]}`
	file, err := Parse([]byte(`{"name": "a", "prompt": "x", "config": `+config+`}`), "", "")
	require.NoError(t, err)
	v := file.Prompts[0].Versions[0]
	got, err := json.Marshal(v.ModelConfig)
	require.NoError(t, err)
	assert.JSONEq(t, `{"model": "m", "max_output_tokens": 10, "reasoning_effort": "high", "tool_choice": "required", "extra": {"frequency_penalty": 0.5}}`, string(got))
	assert.Equal(t, []string{
		"config.api_key: may be a secret",
		"config.temperature: 12 is not between 0 and 10",
		"config.top_p: is no number",
		"config.max_tokens: max_output_tokens is used",
		"config.stop: has more than 16 texts, or one that is empty or longer than 1000 characters",
		"config.seed: 9007199254740993 is not between -9.007199254740991e+15 and 9.007199254740991e+15",
		"config.reasoning.summary: has no place in a prompt",
		"config.tools[1].authorization: may be a secret",
	}, v.LeftOut)
	assert.JSONEq(t, `{"type": "json_schema", "json_schema": {"name": "My_answer", "schema": {"type": "object", "title": "My answer", "properties": {}}}}`, string(v.ResponseFormat))
	assert.JSONEq(t, `[{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}, {"type": "mcp", "server_url": "https://x"}]`, string(v.Tools))
}

// TestLargeFiles reads files that would take minutes if the time grew with the square of their size.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	var many []string
	for i := range 10_000 {
		many = append(many, fmt.Sprintf(`{"name": "prompt %d", "version": 1, "prompt": "Hi {{name}} %d"}`, i%5000, i))
	}
	text := func(piece string) string {
		encoded, _ := json.Marshal(strings.Repeat(piece, size/len(piece)))
		return string(encoded)
	}
	fString := func(text string) string {
		return `{"lc":1,"type":"constructor","id":["PromptTemplate"],"kwargs":{"template":` + text + `,"template_format":"f-string"}}`
	}
	jinja := func(text string) string {
		return `{"lc":1,"type":"constructor","id":["PromptTemplate"],"kwargs":{"template":` + text + `,"template_format":"jinja2"}}`
	}
	mustache := func(text string) string {
		return `{"lc":1,"type":"constructor","id":["PromptTemplate"],"kwargs":{"template":` + text + `,"template_format":"mustache"}}`
	}
	chain := fString(`"x"`)
	for range 3000 {
		chain = `{"lc":1,"type":"constructor","id":["RunnableBinding"],"kwargs":{"bound":` + chain + `}}`
	}
	for name, c := range map[string]struct {
		content           string
		prompts, rejected int
	}{
		"10,000 prompts":           {"[" + strings.Join(many, ",") + "]", 5000, 5000},
		"one text":                 {`{"name": "a", "prompt": ` + text("x ") + `}`, 1, 0},
		"braces, OpenAI":           {`{"id": "pmpt_1", "input": ` + text("{{ ") + `}`, 1, 0},
		"braces, Langfuse":         {`{"name": "a", "prompt": ` + text("{{") + `}`, 0, 1},
		"variables":                {`{"name": "a", "prompt": ` + text("{{a}}") + `}`, 0, 1},
		"f-string variables":       {fString(text("{a}")), 0, 1},
		"f-string braces":          {fString(text("{{")), 0, 1},
		"delimiters as text":       {fString(text("<%{{{{")), 0, 1},
		"Jinja comments":           {jinja(text("{# #}")), 0, 1},
		"Jinja blanks":             {jinja(text(strings.Repeat(" ", 1000) + "{# #}")), 1, 0},
		"Jinja raw":                {jinja(text("{% raw %}{{{% endraw %}")), 0, 1},
		"Jinja tags that are open": {jinja(text("{{ ")), 0, 1},
		"Mustache comments":        {mustache(text("{{!}}")), 1, 0},
		"long chain":               {chain, 0, 1},
		"YAML":                     {"prompts:\n" + strings.Repeat("  - 'Hi {{name}}'\n", 10_000), 10_000, 0},
		"messages in YAML":         {"- role: system\n  content: |\n" + strings.Repeat("    Hi {{name}}\n", 50_000), 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := Parse([]byte(c.content), "f", "")
			require.NoError(t, err)
			assert.Len(t, file.Prompts, c.prompts)
			assert.Len(t, file.Rejected, c.rejected)
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range maxConversions / 4 {
		fmt.Fprintf(&text, "{a%d}", i)
	}
	one := `{"lc":1,"type":"constructor","id":["PromptTemplate"],"kwargs":{"template":"` + text.String() + `"}}`
	_, err := Parse([]byte("["+strings.Repeat(one+",", 4)+one+"]"), "f", "")
	require.ErrorContains(t, err, "need more than 100000 conversions; split the file")

	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	_, err = Parse([]byte(bomb+"prompts: *a8\n"), "f", "")
	require.ErrorContains(t, err, "the file is too large")
}
