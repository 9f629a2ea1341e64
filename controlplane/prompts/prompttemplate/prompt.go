package prompttemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Prompt is the part of a prompt's version that is rendered.
type Prompt struct {
	// Messages have the shape of OpenAI's chat completions, with the values of [encoding/json]. A message with the type
	// "placeholder" is replaced by a list of messages.
	Messages []map[string]any
	// Plain is whether texts are no templates.
	Plain     bool
	Missing   Missing
	Variables map[string]Variable
}

// Variable is the declaration of a variable.
type Variable struct {
	Type Type
	// Optional variables without a value and default render as nothing.
	Optional bool
	// HasDefault is whether there is a Default. It may be nil, which is null.
	HasDefault bool
	Default    any
}

// Type is the type of a variable. The empty type is any.
type Type string

// The types of variables.
const (
	TypeAny     Type = "any"
	TypeString  Type = "string"
	TypeNumber  Type = "number"
	TypeInteger Type = "integer"
	TypeBoolean Type = "boolean"
	TypeObject  Type = "object"
	TypeArray   Type = "array"
)

// Values are what a prompt is rendered with.
type Values struct {
	Variables map[string]any
	// Placeholders are lists of messages by the names of placeholders. They are inserted as they are.
	Placeholders map[string][]map[string]any
}

// ValuesError is returned for values that are missing or wrong.
type ValuesError struct {
	// Variables and Placeholders are those without a value, in order of appearance.
	Variables, Placeholders []string
	// WrongTypes are variables with a value of another type than declared, sorted by name.
	WrongTypes []WrongType
}

// WrongType is a variable with a value of another type than the declared one.
type WrongType struct {
	Name string
	Type Type
}

func (e *ValuesError) Error() string {
	var parts []string
	if names := slices.Concat(e.Variables, e.Placeholders); len(names) > 0 {
		parts = append(parts, "no value for "+strings.Join(names, ", "))
	}
	for _, wrong := range e.WrongTypes {
		parts = append(parts, fmt.Sprintf("%s is not of the type %s", wrong.Name, wrong.Type))
	}
	return strings.Join(parts, "; ")
}

// TextError is an error in one text of a prompt.
type TextError struct {
	// Path is the place of the text, such as messages[1].content or messages[0].content[2].text.
	Path string
	// Err is a [*SyntaxError], or says why a value cannot be written.
	Err error
}

func (e *TextError) Error() string { return e.Path + ": " + e.Err.Error() }

func (e *TextError) Unwrap() error { return e.Err }

// Check parses all texts. It returns a [*TextError] for each that is no template, joined.
func (p *Prompt) Check() error {
	var errs []error
	for i, message := range p.Messages {
		p.texts(i, message, func(path, text string) string {
			if _, err := Parse(text); err != nil {
				errs = append(errs, &TextError{path, err})
			}
			return text
		})
	}
	return errors.Join(errs...)
}

// Names returns the first parts of all names in the texts, in order of appearance, each once.
func (p *Prompt) Names() []string {
	var names []string
	seen := map[string]bool{}
	for i, message := range p.Messages {
		p.texts(i, message, func(_, text string) string {
			template, err := Parse(text)
			if err != nil {
				return text // Check reports it
			}
			for _, name := range template.Variables() {
				if !seen[name] {
					seen[name] = true
					names = append(names, name)
				}
			}
			return text
		})
	}
	return names
}

// Placeholders returns the names of the placeholders in order of appearance, each once.
func (p *Prompt) Placeholders() []string {
	var names []string
	for _, message := range p.Messages {
		if name, ok := placeholder(message); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Render returns the messages with all values. It returns a [*ValuesError] for values that are missing or of another
// type than declared, and a [*TextError] for a text that is no template.
func (p *Prompt) Render(values Values) ([]map[string]any, error) {
	problems := &ValuesError{WrongTypes: p.wrongTypes(values.Variables)}
	variables := p.withDefaults(values.Variables)
	left, seen := newBudget(), map[string]bool{}
	var (
		rendered []map[string]any
		failed   error
	)
	for i, message := range p.Messages {
		if name, ok := placeholder(message); ok {
			inserted, given := values.Placeholders[name]
			switch {
			case given:
				if err := left.insert(name, inserted); err != nil {
					return nil, &TextError{fmt.Sprintf("messages[%d]", i), err}
				}
				rendered = append(rendered, inserted...)
			case p.Missing == MissingKeep:
				rendered = append(rendered, message)
			case p.Missing == MissingError && !slices.Contains(problems.Placeholders, name):
				problems.Placeholders = append(problems.Placeholders, name)
			}
			continue
		}
		rendered = append(rendered, p.texts(i, message, func(path, text string) string {
			text, err := p.text(text, variables, left)
			var missing *MissingVariablesError
			switch {
			case errors.As(err, &missing):
				for _, name := range missing.Names {
					if !seen[name] {
						seen[name] = true
						problems.Variables = append(problems.Variables, name)
					}
				}
			case err != nil && failed == nil:
				failed = &TextError{path, err}
			}
			return text
		}))
	}
	if failed != nil {
		return nil, failed
	}
	if len(problems.Variables)+len(problems.Placeholders)+len(problems.WrongTypes) > 0 {
		return nil, problems
	}
	return rendered, nil
}

// Unused returns the given variables and then the placeholders that the prompt does not name, each sorted.
func (p *Prompt) Unused(values Values) []string {
	used, placeholders := map[string]bool{}, p.Placeholders()
	for _, name := range p.Names() {
		used[name] = true
	}
	var unused []string
	for _, name := range slices.Sorted(maps.Keys(values.Variables)) {
		if !used[name] {
			unused = append(unused, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values.Placeholders)) {
		if !slices.Contains(placeholders, name) {
			unused = append(unused, name)
		}
	}
	return unused
}

func (p *Prompt) text(text string, variables map[string]any, left *budget) (string, error) {
	template, err := Parse(text)
	if err != nil {
		return "", err
	}
	return template.render(variables, p.Missing, left)
}

// texts returns a copy of the message with each template replaced by what replace returns.
func (p *Prompt) texts(index int, message map[string]any, replace func(path, text string) string) map[string]any {
	if _, ok := placeholder(message); ok || p.Plain {
		return message
	}
	path := fmt.Sprintf("messages[%d].content", index)
	switch content := message["content"].(type) {
	case string:
		message = maps.Clone(message)
		message["content"] = replace(path, content)
	case []any:
		parts := slices.Clone(content)
		for i, part := range parts {
			if object, ok := part.(map[string]any); ok {
				parts[i] = textsOfPart(fmt.Sprintf("%s[%d]", path, i), object, replace)
			}
		}
		message = maps.Clone(message)
		message["content"] = parts
	}
	return message
}

func textsOfPart(path string, part map[string]any, replace func(path, text string) string) map[string]any {
	part = maps.Clone(part)
	switch part["type"] {
	case "text":
		if text, ok := part["text"].(string); ok {
			part["text"] = replace(path+".text", text)
		}
	case "image_url":
		switch image := part["image_url"].(type) {
		case string:
			part["image_url"] = replace(path+".image_url", image)
		case map[string]any:
			if url, ok := image["url"].(string); ok {
				image = maps.Clone(image)
				image["url"] = replace(path+".image_url.url", url)
				part["image_url"] = image
			}
		}
	}
	return part
}

// placeholder returns the name of a placeholder.
func placeholder(message map[string]any) (string, bool) {
	if message["type"] != "placeholder" {
		return "", false
	}
	name, ok := message["name"].(string)
	return name, ok
}

func (p *Prompt) withDefaults(given map[string]any) map[string]any {
	variables := maps.Clone(given)
	if variables == nil {
		variables = map[string]any{}
	}
	for name, declared := range p.Variables {
		if _, ok := variables[name]; ok || !declared.HasDefault && !declared.Optional {
			continue
		}
		variables[name] = declared.Default
	}
	return variables
}

func (p *Prompt) wrongTypes(given map[string]any) []WrongType {
	var wrong []WrongType
	for _, name := range slices.Sorted(maps.Keys(given)) {
		declared, ok := p.Variables[name]
		if ok && !declared.Accepts(given[name]) {
			wrong = append(wrong, WrongType{name, declared.Type})
		}
	}
	return wrong
}

// Accepts reports whether the value has the declared type. Null has the type any, and every type of an optional
// variable.
func (v Variable) Accepts(value any) bool {
	if v.Type == TypeAny || v.Type == "" || value == nil && v.Optional {
		return true
	}
	switch value := value.(type) {
	case string:
		return v.Type == TypeString
	case bool:
		return v.Type == TypeBoolean
	case float64:
		return v.Type == TypeNumber || v.Type == TypeInteger && value == math.Trunc(value)
	case json.Number:
		number, err := value.Float64()
		return err == nil && (v.Type == TypeNumber || v.Type == TypeInteger && number == math.Trunc(number))
	case map[string]any:
		return v.Type == TypeObject
	case []any:
		return v.Type == TypeArray
	default:
		return false
	}
}

// ReadVariables reads declarations in the form {"type", "required", "default", …}.
func ReadVariables(declared map[string]json.RawMessage) (map[string]Variable, error) {
	variables := make(map[string]Variable, len(declared))
	for name, text := range declared {
		var v struct {
			Type     Type  `json:"type"`
			Required *bool `json:"required"`
		}
		if err := json.Unmarshal(text, &v); err != nil {
			return nil, fmt.Errorf("read the variable %s: %w", name, err)
		}
		variable := Variable{Type: v.Type, Optional: v.Required != nil && !*v.Required}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			return nil, fmt.Errorf("read the variable %s: %w", name, err)
		}
		if given, ok := members["default"]; ok {
			variable.HasDefault = true
			if err := json.Unmarshal(given, &variable.Default); err != nil {
				return nil, fmt.Errorf("read the default of %s: %w", name, err)
			}
		}
		variables[name] = variable
	}
	return variables, nil
}
