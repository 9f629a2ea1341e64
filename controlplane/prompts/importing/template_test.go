package importing

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/prompts/prompttemplate"
)

// TestConvertRendersTheSame compares converted templates with what the engines of the sources made of them.
func TestConvertRendersTheSame(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/templates.json")
	require.NoError(t, err)
	var golden struct {
		Variables map[string]any
		Cases     []struct {
			Syntax, Template, Error string
			Unsupported             bool
			Text                    *string
		}
	}
	require.NoError(t, json.Unmarshal(content, &golden))
	require.Greater(t, len(golden.Cases), 1000)
	syntaxes := map[string]syntax{"f-string": fString, "jinja": jinja, "nunjucks": nunjucks}
	for _, c := range golden.Cases {
		converted, _, err := convert(c.Template, syntaxes[c.Syntax])
		if c.Error != "" || c.Unsupported {
			require.Error(t, err, "%s %q", c.Syntax, c.Template)
			continue
		}
		require.NoError(t, err, "%s %q", c.Syntax, c.Template)
		template, err := prompttemplate.Parse(converted)
		require.NoError(t, err)
		text, err := template.Render(golden.Variables, prompttemplate.MissingError)
		require.NoError(t, err, "%s %q became %q", c.Syntax, c.Template, converted)
		assert.Equal(t, *c.Text, text, "%s %q became %q", c.Syntax, c.Template, converted)
	}
}

func TestConvert(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, source, want string
		from               syntax
		changes            []Conversion
	}{
		{name: "f-string variable", from: fString, source: "Hi {name}", want: "Hi {{name}}", changes: []Conversion{{"", 1, "{name}", "{{name}}"}}},
		{name: "f-string braces", from: fString, source: "{{\"a\":\n1}}", want: "{\"a\":\n1}", changes: []Conversion{{"", 1, "{{", "{"}, {"", 2, "}}", "}"}}},
		{name: "f-string brace before a variable", from: fString, source: "{{{a}}}", want: "{{=<% %>=}}\n{<%a%>}", changes: []Conversion{
			{"", 1, "{{", "{"}, {"", 1, "}}", "}"}, {"", 1, "{{ as text", "{{=<% %>=}}"}, {"", 1, "{a}", "<%a%>"},
		}},
		{name: "delimiters that the text has", from: fString, source: "{{{{<% {a}", want: "{{=<%% %>=}}\n{{<% <%%a%>"},
		{name: "Jinja variable stays", from: jinja, source: "{{ a.b }}", want: "{{ a.b }}"},
		{name: "Jinja comment", from: jinja, source: "a {# b #}", want: "a {{! b }}", changes: []Conversion{{"", 1, "{# b #}", "{{! b }}"}}},
		{name: "Jinja comment alone on its line", from: jinja, source: "{# b #}\nc", want: "{{! b }}{{!}}\nc"},
		{name: "Jinja raw", from: jinja, source: "{% raw %}{x}{% endraw %}", want: "{x}", changes: []Conversion{{"", 1, "{% raw %}{x}{% endraw %}", "{x}"}}},
		{name: "Jinja line ends", from: jinja, source: "a\r\nb\n", want: "a\nb", changes: []Conversion{{"", 1, `\r\n`, `\n`}, {"", 2, `\n at the end`, ""}}},
		{name: "Nunjucks line ends stay", from: nunjucks, source: "a\r\nb\n", want: "a\r\nb\n"},
		{name: "Nunjucks verbatim", from: nunjucks, source: "{% verbatim %}{{ x }}{% endverbatim %}", want: "{{=<% %>=}}\n{{ x }}"},
		{name: "double braces", from: strictDoubleBraces, source: "{{ a }} {{b-c}} {\"d\": {}}", want: "{{ a }} {{b-c}} {\"d\": {}}"},
		{name: "OpenAI's other braces are text", from: doubleBraces, source: "{{\"a\": 1}} {{b}}", want: "{{=<% %>=}}\n{{\"a\": 1}} <%b%>"},
		{name: "literal", from: literal, source: "{{a}}", want: "{{=<% %>=}}\n{{a}}"},
		{name: "Mustache stays", from: mustache, source: "{{#a}}{{{b}}}{{/a}}", want: "{{#a}}{{{b}}}{{/a}}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, changes, err := convert(c.source, c.from)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
			if c.changes != nil {
				assert.Equal(t, c.changes, changes)
			}
		})
	}
}

func TestConvertRejects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source string
		from   syntax
		line   int
		reason string
	}{
		{"a\n{x:.2f}", fString, 2, "`{x:.2f}` formats its value"},
		{"{x!r}", fString, 1, "formats its value"},
		{"{a[b]}", fString, 1, "reads a part of a value"},
		{"{a.b}", fString, 1, "reads a part of a value"},
		{"{}", fString, 1, "positional"},
		{"{12}", fString, 1, "positional"},
		{"{a b}", fString, 1, "is not a name"},
		{"{\"a\": 1}", fString, 1, "formats its value"},
		{"x\n}", fString, 2, "a single }"},
		{"{{ x }}\n{% if y %}z{% endif %}", jinja, 2, "`{% if y %}` is more than a variable"},
		{"\n\n{{ x | upper }}", jinja, 3, "`{{ x | upper }}` is more than a variable"},
		{"{{ f(x) }}", nunjucks, 1, "is more than a variable"},
		{"{% verbatim %}x{% endverbatim %}", jinja, 1, "is more than a variable"},
		{"{{ items.length }}", nunjucks, 1, "is the length of a value"},
		{"{% raw %}{% raw %}x{% endraw %}{% endraw %}", nunjucks, 1, "has another one inside"},
		{"{%- raw -%}x{% endraw %}", jinja, 1, "trims the space"},
		{"a\n{{#b}}{{/b}}", strictDoubleBraces, 2, "the SDK of Langfuse for Python leaves it as text"},
		{"{{\"a\": 1}}", strictDoubleBraces, 1, "remove the double braces"},
		{"{{a", strictDoubleBraces, 1, "remove the double braces"},
		{"{{#b}}", doubleBraces, 1, "prompts of OpenAI have only variables"},
		{"{{{b}}}", doubleBraces, 1, "prompts of OpenAI have only variables"},
		{"a\n {{> header}}", mustache, 2, "partials are not supported"},
	} {
		_, _, err := convert(c.source, c.from)
		var bad *templateError
		if assert.ErrorAs(t, err, &bad, "%q", c.source) {
			assert.Equal(t, c.line, bad.line, "%q", c.source)
			assert.Contains(t, bad.reason, c.reason)
		}
	}
}

// FuzzWrite checks that written segments render as they are, whatever their texts.
func FuzzWrite(f *testing.F) {
	for _, seed := range []string{"{|a|}", "{{|a|<%|!c}}|\n", "\n|!x|\r\n|a", "<%%|{|a|%>|!%>}", "  |!c|  ", "!a\n|!b|\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script string) {
		// The script is a list of parts: !text is a comment, a the variable a, and everything else a text.
		var segments []segment
		var want strings.Builder
		for part := range strings.SplitSeq(script, "|") {
			switch {
			case part == "":
			case part == "a":
				segments = append(segments, segment{'v', part, "", 1})
				want.WriteString("{{VALUE}}")
			case part[0] == '!':
				segments = append(segments, segment{'!', part[1:], "", 1})
			case len(segments) > 0 && segments[len(segments)-1].kind == 't':
				segments[len(segments)-1].text += part
				want.WriteString(part)
			default:
				segments = append(segments, segment{'t', part, "", 1})
				want.WriteString(part)
			}
		}
		written, _ := write(segments)
		template, err := prompttemplate.Parse(written)
		require.NoError(t, err, "%q", written)
		got, err := template.Render(map[string]any{"a": "{{VALUE}}"}, prompttemplate.MissingError)
		require.NoError(t, err)
		require.Equal(t, want.String(), got, "%q", written)
	})
}

// FuzzConvert checks that what is converted can be parsed, in every syntax.
func FuzzConvert(f *testing.F) {
	for _, seed := range []string{"{a}", "{{ a }}", "{# b #}\n", "{% raw %}{{{% endraw %}", "{{{a}}}", "a\r\n{{b}}\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		for from := literal; from <= mustache; from++ {
			converted, changes, err := convert(source, from)
			if err != nil {
				var bad *templateError
				require.ErrorAs(t, err, &bad)
				require.Positive(t, bad.line)
				continue
			}
			_, err = prompttemplate.Parse(converted)
			require.NoError(t, err)
			for _, c := range changes {
				require.Positive(t, c.Line)
			}
		}
	})
}
