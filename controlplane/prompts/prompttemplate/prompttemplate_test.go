package prompttemplate

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCases renders the cases that all renderers share.
func TestCases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../test/conformance/templates.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Name, Template   string
			Variables        map[string]any
			Missing          Missing
			Text             *string
			MissingVariables []string `json:"missing_variables"`
			Error            *struct {
				Line, Column int
				Contains     string
			}
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&file))
	require.GreaterOrEqual(t, len(file.Cases), 150)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if c.Missing == "" {
				c.Missing = MissingError
			}
			var got string
			template, err := Parse(c.Template)
			if err == nil {
				got, err = template.Render(c.Variables, c.Missing)
			}
			switch {
			case c.Error != nil:
				require.ErrorContains(t, err, c.Error.Contains)
				if c.Error.Line > 0 {
					var syntax *SyntaxError
					require.ErrorAs(t, err, &syntax)
					assert.Equal(t, [2]int{c.Error.Line, c.Error.Column}, [2]int{syntax.Line, syntax.Column})
				}
			case c.MissingVariables != nil:
				var missing *MissingVariablesError
				require.ErrorAs(t, err, &missing)
				assert.Equal(t, c.MissingVariables, missing.Names)
			default:
				require.NoError(t, err)
				assert.Equal(t, *c.Text, got)
			}
		})
	}
}

// TestVariables lists the names of the templates that all renderers share.
func TestVariables(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../test/conformance/templates.json")
	require.NoError(t, err)
	var file struct {
		Names []struct {
			Name, Template string
			Variables      []string
		}
	}
	require.NoError(t, json.Unmarshal(text, &file))
	require.NotEmpty(t, file.Names)
	for _, c := range file.Names {
		template, err := Parse(c.Template)
		require.NoError(t, err, c.Name)
		assert.Equal(t, c.Variables, template.Variables(), c.Name)
	}
}

// TestParseLongLine parses a line with so many tags that looking back to its start at each of them would take minutes.
func TestParseLongLine(t *testing.T) {
	t.Parallel()
	template, err := Parse(strings.Repeat("{{!}}", 1<<20))
	require.NoError(t, err)
	text, err := template.Render(nil, MissingError)
	require.NoError(t, err)
	assert.Empty(t, text)
}

func FuzzRender(f *testing.F) {
	for _, seed := range []string{"{{a}}", "{{#a}}\n{{b.c}}{{/a}}", "{{=<% %>=}}<%a%>", "{{{a}}}", "a\r\n{{! x}}\r\n", "{{^a}}{{.}}"} {
		f.Add(seed)
	}
	variables := map[string]any{"a": []any{map[string]any{"b": "{{c}}"}, 1.0, nil}, "b": map[string]any{"c": true}}
	f.Fuzz(func(t *testing.T, text string) {
		template, err := Parse(text)
		if err != nil {
			var syntax *SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.Positive(t, syntax.Line)
			require.Positive(t, syntax.Column)
			return
		}
		_, err = template.Render(variables, MissingError)
		if err != nil {
			var absent *MissingVariablesError
			require.ErrorAs(t, err, &absent)
		}
		_, err = template.Render(map[string]any{}, MissingEmpty)
		require.NoError(t, err)
	})
}
