package prompttemplate

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPrompts renders the prompts that all renderers share.
func TestPrompts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../test/conformance/templates.json")
	require.NoError(t, err)
	var file struct {
		Prompts []struct {
			Name    string
			Version struct {
				Messages       []map[string]any
				Variables      map[string]json.RawMessage
				TemplateFormat string `json:"template_format"`
				Missing        Missing
			}
			Variables    map[string]any
			Placeholders map[string][]map[string]any
			Messages     []map[string]any
			Unused       []string
			Error        *struct {
				MissingVariables    []string                      `json:"missing_variables"`
				MissingPlaceholders []string                      `json:"missing_placeholders"`
				WrongTypes          []struct{ Name, Type string } `json:"wrong_types"`
			}
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&file))
	require.GreaterOrEqual(t, len(file.Prompts), 40)
	for _, c := range file.Prompts {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			variables, err := ReadVariables(c.Version.Variables)
			require.NoError(t, err)
			prompt := Prompt{Messages: c.Version.Messages, Plain: c.Version.TemplateFormat == "none", Missing: MissingError, Variables: variables}
			if c.Version.Missing != "" {
				prompt.Missing = c.Version.Missing
			}
			before, err := json.Marshal(prompt.Messages)
			require.NoError(t, err)
			values := Values{c.Variables, c.Placeholders}
			got, err := prompt.Render(values)
			after, marshalErr := json.Marshal(prompt.Messages)
			require.NoError(t, marshalErr)
			assert.JSONEq(t, string(before), string(after), "rendering changed the prompt")
			if c.Error != nil {
				var refused *ValuesError
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, c.Error.MissingVariables, append([]string{}, refused.Variables...))
				assert.Equal(t, c.Error.MissingPlaceholders, append([]string{}, refused.Placeholders...))
				var wrong []WrongType
				for _, w := range c.Error.WrongTypes {
					wrong = append(wrong, WrongType{w.Name, Type(w.Type)})
				}
				assert.Equal(t, wrong, refused.WrongTypes)
				return
			}
			require.NoError(t, err)
			assert.Len(t, got, len(c.Messages))
			want, err := json.Marshal(c.Messages)
			require.NoError(t, err)
			if len(c.Messages) > 0 {
				rendered, err := json.Marshal(got)
				require.NoError(t, err)
				assert.JSONEq(t, string(want), string(rendered))
			}
			assert.Equal(t, c.Unused, append([]string{}, prompt.Unused(values)...))
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	prompt := Prompt{Messages: []map[string]any{
		{"role": "system", "content": "{{a}}"},
		{"role": "user", "content": []any{map[string]any{"type": "text", "text": "x\n {{#b}}"}}},
	}}
	err := prompt.Check()
	var text *TextError
	require.ErrorAs(t, err, &text)
	assert.Equal(t, "messages[1].content[0].text", text.Path)
	var syntax *SyntaxError
	require.ErrorAs(t, err, &syntax)
	assert.Equal(t, [2]int{2, 2}, [2]int{syntax.Line, syntax.Column})
	assert.Equal(t, []string{"a"}, prompt.Names())
}

// TestRenderingIsBounded renders small prompts that ask for very much.
func TestRenderingIsBounded(t *testing.T) {
	t.Parallel()
	items := make([]any, 10)
	long := strings.Repeat("x", 10_000)
	message := map[string]any{"role": "user", "content": long}
	nested := strings.Repeat("{{#items}}", 40) + strings.Repeat("{{/items}}", 40)
	for i := range items {
		items[i] = "x"
	}
	texts := func(list ...string) (messages []map[string]any) {
		for _, text := range list {
			messages = append(messages, map[string]any{"role": "user", "content": text})
		}
		return messages
	}
	placeholders := make([]map[string]any, 500)
	for i := range placeholders {
		placeholders[i] = map[string]any{"type": "placeholder", "name": "history"}
	}
	history := make([]map[string]any, 100)
	for i := range history {
		history[i] = message
	}
	for name, messages := range map[string][]map[string]any{
		"long values":          texts(strings.Repeat("{{long}}", 10_000)),
		"in many messages":     texts(slices.Repeat([]string{strings.Repeat("{{long}}", 100)}, 100)...),
		"sections in sections": texts(nested),
		"placeholders":         placeholders,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prompt := Prompt{Messages: messages, Missing: MissingError}
			_, err := prompt.Render(Values{
				Variables: map[string]any{"long": long, "items": items}, Placeholders: map[string][]map[string]any{"history": history},
			})
			require.ErrorIs(t, err, ErrTooLarge)
		})
	}
}
