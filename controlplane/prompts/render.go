package prompts

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/prompts/prompttemplate"
	"github.com/looptrace/looptrace/controlplane/tokens"
	"github.com/looptrace/looptrace/internal/problem"
)

// Values are what a version is rendered with.
type Values struct {
	Variables    map[string]any
	Placeholders map[string][]json.RawMessage
}

// Rendered is a version with all values.
type Rendered struct {
	Messages []json.RawMessage
	// Unused are the variables and placeholders that the version does not use.
	Unused []string

	messages []map[string]any
	content  *Content
}

// Tokens estimates the tokens: those of the texts, 4 for each message, and those of the tools and the response format.
func (r *Rendered) Tokens() (int, error) { return countTokens(r.messages, r.content) }

// Template is content that was checked, to be rendered many times.
type Template struct {
	Content
	prompt *prompttemplate.Prompt
}

// NewTemplate checks a version that is not saved, and fills in its defaults. location is that of the version in the request, such as "body.version".
func NewTemplate(location string, draft NewVersion) (*Template, error) {
	prepared, err := draft.prepare(location)
	if err != nil {
		return nil, err
	}
	return &Template{prepared.Content, &prepared.template}, nil
}

// Prompt returns the prompt of the content.
func (t *Template) Prompt() *prompttemplate.Prompt { return t.prompt }

// Names returns the variables and the placeholders that the messages use.
func (t *Template) Names() (variables, placeholders []string) {
	return t.prompt.Names(), t.prompt.Placeholders()
}

// Render renders the content. It returns an error for each value that is missing or of the wrong type.
func (t *Template) Render(values Values) (Rendered, error) {
	return render(t.prompt, &t.Content, values)
}

// Render renders a version. It returns an error for each value that is missing or of the wrong type.
func Render(version *Version, values Values) (Rendered, error) {
	p, err := version.template()
	if err != nil {
		return Rendered{}, err
	}
	return render(p, &version.Content, values)
}

// RenderDraft checks and renders a version that is not saved, and returns its content with all defaults. location is that of the version
// in the request, such as "body.version".
func RenderDraft(location string, draft NewVersion, values Values) (Rendered, Content, error) {
	template, err := NewTemplate(location, draft)
	if err != nil {
		return Rendered{}, Content{}, err
	}
	rendered, err := template.Render(values)
	return rendered, template.Content, err
}

// template returns the version for rendering.
func (v *Version) template() (*prompttemplate.Prompt, error) {
	messages, err := decodeMessages(v.Messages)
	if err != nil {
		return nil, fmt.Errorf("read version %d of %s: %w", v.Version, v.PromptID, err)
	}
	var declared map[string]json.RawMessage
	if err := json.Unmarshal(v.Variables, &declared); err != nil {
		return nil, fmt.Errorf("read version %d of %s: %w", v.Version, v.PromptID, err)
	}
	variables, err := prompttemplate.ReadVariables(declared)
	if err != nil {
		return nil, fmt.Errorf("read version %d of %s: %w", v.Version, v.PromptID, err)
	}
	return &prompttemplate.Prompt{Messages: messages, Plain: v.TemplateFormat == formatNone, Missing: v.Missing, Variables: variables}, nil
}

func render(p *prompttemplate.Prompt, content *Content, given Values) (Rendered, error) {
	values := prompttemplate.Values{Variables: given.Variables, Placeholders: map[string][]map[string]any{}}
	for name, list := range given.Placeholders {
		check := checker{location: "body.placeholders." + name}
		check.messages(list, &prompttemplate.Prompt{Plain: true})
		if err := errors.Join(check.errs...); err != nil {
			return Rendered{}, err
		}
		messages, err := decodeMessages(list)
		if err != nil {
			return Rendered{}, err
		}
		values.Placeholders[name] = messages
	}
	messages, err := p.Render(values)
	if err != nil {
		return Rendered{}, valuesError(err)
	}
	rendered := Rendered{Messages: make([]json.RawMessage, len(messages)), Unused: p.Unused(values), messages: messages, content: content}
	for i, message := range messages {
		if rendered.Messages[i], err = json.Marshal(message); err != nil {
			return Rendered{}, fmt.Errorf("encode a message: %w", err)
		}
	}
	return rendered, nil
}

// valuesError turns the errors of rendering into those of fields.
func valuesError(err error) error {
	var (
		refused *prompttemplate.ValuesError
		text    *prompttemplate.TextError
	)
	switch {
	case errors.As(err, &refused):
		var fields []problem.Field
		for _, name := range refused.Variables {
			fields = append(fields, problem.Field{Location: "body.variables." + name, Message: "is missing"})
		}
		for _, name := range refused.Placeholders {
			fields = append(fields, problem.Field{Location: "body.placeholders." + name, Message: "is missing"})
		}
		for _, wrong := range refused.WrongTypes {
			fields = append(fields, problem.Field{Location: "body.variables." + wrong.Name, Message: "must be of the type " + string(wrong.Type)})
		}
		return problem.InvalidFields(fields...)
	case errors.As(err, &text):
		return problem.InvalidField("body.variables", "cannot be written into "+text.Path+": "+text.Err.Error())
	default:
		return err
	}
}

// tokensPerMessage is what a message adds to its text, by OpenAI's description of chat models.
const tokensPerMessage = 4

// Tokenizer is the encoding in which tokens of prompts are counted.
const Tokenizer = tokens.Encoding

func countTokens(messages []map[string]any, content *Content) (int, error) {
	codec := tokens.Codec()
	var err error
	total := tokensPerMessage * len(messages)
	add := func(text string) {
		n, countErr := codec.Count(text)
		total += n
		err = errors.Join(err, countErr)
	}
	for _, message := range messages {
		switch text := message["content"].(type) {
		case string:
			add(text)
		case []any:
			for _, part := range text {
				if object, ok := part.(map[string]any); ok {
					if text, ok := object["text"].(string); ok {
						add(text)
					}
				}
			}
		}
		if calls, ok := message["tool_calls"]; ok {
			text, marshalErr := json.Marshal(calls)
			err = errors.Join(err, marshalErr)
			add(string(text))
		}
	}
	for _, tool := range content.Tools {
		add(string(tool))
	}
	add(string(content.ResponseFormat))
	if err != nil {
		return 0, fmt.Errorf("count tokens: %w", err)
	}
	return total, nil
}
