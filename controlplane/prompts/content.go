package prompts

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/prompts/prompttemplate"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// Content is what a version is made of, as JSON.
type Content struct {
	// Messages have the shape of OpenAI's chat completions. A message of the type "placeholder" stands for a list of
	// messages.
	Messages []json.RawMessage
	// Tools have the shape of OpenAI's chat completions.
	Tools []json.RawMessage
	// ResponseFormat is an object, or nil for none.
	ResponseFormat json.RawMessage
	// ModelConfig is an object with the model and its parameters.
	ModelConfig json.RawMessage
	// Variables is an object with declarations by name.
	Variables json.RawMessage
	// TemplateFormat is mustache or none.
	TemplateFormat string
	Missing        prompttemplate.Missing
}

// The template formats.
const (
	formatMustache = "mustache"
	formatNone     = "none"
)

// NewVersion is a version to save. Absent members of its content have their defaults.
type NewVersion struct {
	Content
	Note string
	// BaseVersion is the version that was edited. If it is not nil, it must be the newest.
	BaseVersion *int
}

// prepared is a valid version to save.
type prepared struct {
	NewVersion
	template prompttemplate.Prompt
	// hash identifies the content.
	hash [sha256.Size]byte
}

// variable is a declaration in the form in which it is stored.
type variable struct {
	Type        prompttemplate.Type `json:"type"`
	Required    bool                `json:"required"`
	Default     json.RawMessage     `json:"default,omitempty"`
	Description string              `json:"description,omitempty"`
	Example     json.RawMessage     `json:"example,omitempty"`
}

// prepare checks a version, and fills in defaults and the variables of its texts. location is that of the version in
// the request, such as "body". It returns an error for each invalid field.
func (v NewVersion) prepare(location string) (*prepared, error) {
	p := &prepared{NewVersion: v}
	if p.TemplateFormat == "" {
		p.TemplateFormat = formatMustache
	}
	if p.Missing == "" {
		p.Missing = prompttemplate.MissingError
	}
	check := checker{location: location}
	p.template = prompttemplate.Prompt{Plain: p.TemplateFormat == formatNone, Missing: p.Missing}
	p.Messages = check.messages(v.Messages, &p.template)
	p.Tools = check.tools(v.Tools)
	p.ResponseFormat = check.responseFormat(v.ResponseFormat)
	p.ModelConfig = v.ModelConfig
	if jsontext.IsNull(p.ModelConfig) {
		p.ModelConfig = json.RawMessage(`{}`)
	}
	p.ModelConfig = jsontext.Compact(p.ModelConfig)
	p.Variables = check.variables(v.Variables, &p.template)
	check.add(validate.Text(location+".note", v.Note))
	if err := errors.Join(check.errs...); err != nil {
		return nil, err
	}
	hash, err := p.contentHash()
	if err != nil {
		return nil, err
	}
	p.hash = hash
	return p, nil
}

// contentHash returns the SHA-256 of the content as JSON. The order of members counts only in tools and the response
// format, which models see as they are.
func (p *prepared) contentHash() ([sha256.Size]byte, error) {
	var content struct {
		Messages       []any                  `json:"messages"`
		Tools          []json.RawMessage      `json:"tools"`
		ResponseFormat json.RawMessage        `json:"response_format"`
		ModelConfig    any                    `json:"model_config"`
		Variables      any                    `json:"variables"`
		TemplateFormat string                 `json:"template_format"`
		Missing        prompttemplate.Missing `json:"missing"`
	}
	content.Tools, content.ResponseFormat, content.TemplateFormat, content.Missing = p.Tools, p.ResponseFormat, p.TemplateFormat, p.Missing
	content.Messages = make([]any, len(p.Messages))
	var err error
	for i, message := range p.Messages {
		content.Messages[i], err = decode(message)
		if err != nil {
			return [sha256.Size]byte{}, fmt.Errorf("read a message: %w", err)
		}
	}
	if content.ModelConfig, err = decode(p.ModelConfig); err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("read the model configuration: %w", err)
	}
	if content.Variables, err = decode(p.Variables); err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("read the variables: %w", err)
	}
	text, err := json.Marshal(content)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("encode the content: %w", err)
	}
	return sha256.Sum256(text), nil
}

// decode reads JSON and keeps numbers as they are written.
func decode(text json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return value, nil
}

// decodeMessages reads messages for rendering.
func decodeMessages(messages []json.RawMessage) ([]map[string]any, error) {
	list := make([]map[string]any, 0, len(messages))
	for _, text := range messages {
		value, err := decode(text)
		if err != nil {
			return nil, err
		}
		message, ok := value.(map[string]any)
		if !ok {
			return nil, errors.New("a message is no object")
		}
		list = append(list, message)
	}
	return list, nil
}
