package findings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/recorded/edit"
)

// Prompt is a version of a prompt.
type Prompt struct {
	ID      uuid.UUID
	Name    string
	Version int
	// Messages and Tools have the shape of chat completions.
	Messages, Tools []json.RawMessage
	// ModelConfig is an object.
	ModelConfig json.RawMessage
	// Plain reports that texts are used as they are. Otherwise they are templates.
	Plain bool
}

// apply makes the edits in the version. It says what changed, and which edits a prompt cannot have.
func (p *Prompt) apply(edits []edit.Edit) (changes, leftOut []string, err error) {
	for i := range edits {
		set := &edits[i].Set
		change, reason := "", ""
		switch {
		case set.SystemPrompt != nil:
			change, reason, err = p.setSystem(*set.SystemPrompt)
		case set.Prompt != nil && set.Prompt.ID == p.ID.String() && set.Prompt.Version == p.Version:
			continue // it is this one
		case set.Prompt != nil:
			change, reason = p.setMessages(set.Prompt.Messages)
		case set.Messages != nil:
			change, reason = p.setMessages(set.Messages)
		case set.Model != nil:
			change = fmt.Sprintf("The model is %s.", *set.Model)
			err = p.configure(map[string]any{"model": *set.Model})
		case set.Params != nil:
			change, err = p.setParams(set.Params)
		case len(set.ToolSchema) > 0:
			change, err = p.setTool(set.ToolSchema)
		default:
			reason = "is no part of a prompt"
		}
		if err != nil {
			return nil, nil, err
		}
		if change != "" {
			changes = append(changes, change)
		}
		if reason != "" {
			leftOut = append(leftOut, fmt.Sprintf("Edit %d %s.", i+1, reason))
		}
	}
	return changes, leftOut, nil
}

const isTemplate = "has {{ in its text, which the prompt would read as a variable: its template format is mustache"

// setSystem puts a text in the place of the system messages.
func (p *Prompt) setSystem(text string) (change, leftOut string, err error) {
	if !p.Plain && strings.Contains(text, "{{") {
		return "", isTemplate, nil
	}
	role, had := "", ""
	others := slices.DeleteFunc(slices.Clone(p.Messages), func(message json.RawMessage) bool {
		if !isSystem(message) {
			return false
		}
		had += string(message)
		role = cmp.Or(role, roleOf(message))
		return true
	})
	message, err := json.Marshal(map[string]string{"role": cmp.Or(role, "system"), "content": text})
	if err != nil {
		return "", "", fmt.Errorf("encode a message: %w", err)
	}
	p.Messages = append([]json.RawMessage{message}, others...)
	change = "The system message is the text that was tested."
	if !p.Plain && strings.Contains(had, "{{") {
		change += " The variables of the earlier one are gone: the text stands for the values of the recorded runs."
	}
	return change, "", nil
}

// setMessages puts system messages in the place of system messages, and others in the place of all.
func (p *Prompt) setMessages(messages []json.RawMessage) (change, leftOut string) {
	for _, message := range messages {
		if !p.Plain && strings.Contains(string(message), "{{") {
			return "", isTemplate
		}
	}
	if slices.ContainsFunc(messages, func(message json.RawMessage) bool { return !isSystem(message) }) {
		p.Messages = messages
		return "All messages are those that were tested.", ""
	}
	p.Messages = slices.Concat(messages, slices.DeleteFunc(slices.Clone(p.Messages), isSystem))
	return "The system messages are those that were tested.", ""
}

func roleOf(message json.RawMessage) string {
	var read struct {
		Role string `json:"role"`
	}
	_ = json.Unmarshal(message, &read) // it was validated
	return read.Role
}

func isSystem(message json.RawMessage) bool {
	role := roleOf(message)
	return role == "system" || role == "developer"
}

// members are the members of a configuration by the names of parameters in chat completions. Others stand in its member extra.
var members = map[string]string{
	"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens",
	"stop": "stop", "seed": "seed", "reasoning_effort": "reasoning_effort", "tool_choice": "tool_choice",
}

// setParams sets parameters. Null removes one.
func (p *Prompt) setParams(params map[string]json.RawMessage) (change string, err error) {
	set, extra := map[string]any{}, map[string]any{}
	texts := make([]string, 0, len(params))
	for _, name := range slices.Sorted(maps.Keys(params)) {
		var value any
		if err := json.Unmarshal(params[name], &value); err != nil {
			return "", fmt.Errorf("read a parameter: %w", err)
		}
		if member := members[name]; member != "" {
			if text, isText := value.(string); isText && member == "stop" {
				value = []string{text}
			}
			set[member] = value
		} else {
			extra[name] = value
		}
		texts = append(texts, fmt.Sprintf("%s is %s", name, params[name]))
	}
	if len(extra) > 0 {
		set["extra"] = extra
	}
	return "Parameters: " + strings.Join(texts, ", ") + ".", p.configure(set)
}

// configure sets members of the configuration. Those of an object are added to it; nil removes one.
func (p *Prompt) configure(set map[string]any) error {
	config := map[string]any{}
	if len(p.ModelConfig) > 0 {
		if err := json.Unmarshal(p.ModelConfig, &config); err != nil {
			return fmt.Errorf("read the configuration of a model: %w", err)
		}
	}
	merge(config, set)
	text, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("encode the configuration of a model: %w", err)
	}
	p.ModelConfig = text
	return nil
}

func merge(into, set map[string]any) {
	for name, value := range set {
		switch value := value.(type) {
		case nil:
			delete(into, name)
		case map[string]any:
			if inner, ok := into[name].(map[string]any); ok && name == "extra" {
				merge(inner, value)
				continue
			}
			into[name] = value
		default:
			into[name] = value
		}
	}
}

// setTool replaces the tool of the same name, or adds it.
func (p *Prompt) setTool(tool json.RawMessage) (change string, err error) {
	name, err := toolName(tool)
	if err != nil {
		return "", err
	}
	p.Tools = slices.Clone(p.Tools)
	for i := range p.Tools {
		other, err := toolName(p.Tools[i])
		if err != nil {
			return "", err
		}
		if other == name {
			p.Tools[i] = tool
			return fmt.Sprintf("The tool %s has the definition that was tested.", name), nil
		}
	}
	p.Tools = append(p.Tools, tool)
	return fmt.Sprintf("The tool %s is added.", name), nil
}

func toolName(tool json.RawMessage) (string, error) {
	var read struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := json.Unmarshal(tool, &read); err != nil {
		return "", fmt.Errorf("read a tool: %w", err)
	}
	return read.Function.Name, nil
}
