package evaluations

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/problem"
)

// The sides of a comparison.
const (
	SideA = 0
	SideB = 1
)

// SideNames are the names of the sides.
var SideNames = [2]string{"a", "b"}

// Config is what is compared, and how. It has the contents of prompt versions: it is the same for ever.
type Config struct {
	// Sides are both of a comparison. An eval-run has only side a.
	Sides   [2]Side           `json:"sides"`
	Target  Target            `json:"target"`
	Graders []json.RawMessage `json:"graders"`
	Panels  []Panel           `json:"panels"`
	// Cache is whether votes that were made before are used again.
	Cache             bool     `json:"cache"`
	EquivalenceMargin *float64 `json:"equivalence_margin"`
	// GroupBy is the path in an item, such as metadata.customer, by whose value items belong together; empty if each is on its own.
	GroupBy   string `json:"group_by,omitempty"`
	StopEarly bool   `json:"stop_early"`
	// SkipIncompatible is whether items that cannot be rendered are skipped.
	SkipIncompatible bool `json:"skip_incompatible"`
	// ReadsRuns is whether who started a comparison may read runs: graders may look at those of eval-runs then.
	ReadsRuns bool `json:"reads_runs"`
}

// Repeats returns how many outputs an item has on both sides.
func (c *Config) Repeats() int { return c.Sides[SideA].Repeats + c.Sides[SideB].Repeats }

// Side is a configuration, or the outputs of an eval-run.
type Side struct {
	// Repeats is how many outputs it has for each item.
	Repeats int `json:"repeats"`
	// EvalRunID is that of the eval-run, nil for a configuration. The members after Name are empty then.
	EvalRunID *uuid.UUID `json:"eval_run_id"`
	// Labelled is whether only outputs with a label of a person are taken of the eval-run.
	Labelled bool `json:"labelled"`
	// Reference is whether the outputs are the reference outputs of the items.
	Reference    bool              `json:"reference"`
	Name         string            `json:"name"`
	Prompt       *recording.Prompt `json:"prompt"`
	Content      prompts.Content   `json:"content"`
	ProviderID   uuid.UUID         `json:"provider_id"`
	ProviderName string            `json:"provider_name"`
	// VariablesMap has the paths in an item from which variables take their values.
	VariablesMap map[string]string `json:"variables_map"`
}

// Calls reports whether a model makes its outputs.
func (s *Side) Calls() bool { return len(s.Content.Messages) > 0 }

// ModelConfig returns the model with its parameters.
func (s *Side) ModelConfig() (completions.Config, error) {
	var config completions.Config
	if len(s.Content.ModelConfig) == 0 {
		return config, nil
	}
	if err := json.Unmarshal(s.Content.ModelConfig, &config); err != nil {
		return config, problem.InvalidField("model_config", "is not valid: "+err.Error())
	}
	return config, nil
}

// ReadConfig returns the configurations of an evaluation.
func (e *Evaluation) ReadConfig() (Config, error) {
	var config Config
	if err := json.Unmarshal([]byte(e.Config), &config); err != nil {
		return config, fmt.Errorf("read the configuration of evaluation %s: %w", e.ID, err)
	}
	return config, nil
}

// Renderer renders items with a configuration.
type Renderer struct {
	Side         *Side
	Template     *prompts.Template
	Config       completions.Config
	variables    []string
	placeholders []string
	paths        map[string][]string
}

// The roots of paths in an item.
const (
	rootInput     = "input"
	rootReference = "reference_output"
	rootMetadata  = "metadata"
)

// NewRenderer checks a configuration. location is that of the configuration in the request.
func NewRenderer(location string, side *Side) (*Renderer, error) {
	template, err := prompts.NewTemplate(location, prompts.NewVersion{Content: side.Content})
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the client
	}
	side.Content = template.Content
	r := &Renderer{Side: side, Template: template, paths: map[string][]string{}}
	if r.Config, err = side.ModelConfig(); err != nil {
		return nil, problem.InvalidField(location+".model_config", "is not valid: "+err.Error())
	}
	if r.Config.Model == "" {
		return nil, problem.InvalidField(location+".model_config.model", "is missing: name a model")
	}
	r.variables, r.placeholders = template.Names()
	for name, path := range side.VariablesMap {
		if r.paths[name], err = ItemPath(location+".variables_map."+name, path); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// ItemPath reads a path in an item. location is that of the path in the request.
func ItemPath(location, path string) ([]string, error) {
	parts := strings.Split(path, ".")
	if root := parts[0]; root != rootInput && root != rootReference && root != rootMetadata {
		return nil, problem.InvalidField(location, "must begin with input, reference_output or metadata, such as input.question")
	}
	return parts, nil
}

// itemValues are the parts of an item.
type itemValues struct {
	input, reference, metadata any
}

func valuesOf(item *datasets.Item) (v itemValues, err error) {
	for _, part := range []struct {
		text string
		into *any
	}{{item.Input, &v.input}, {item.ReferenceOutput, &v.reference}, {item.Metadata, &v.metadata}} {
		if part.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(part.text), part.into); err != nil {
			return v, fmt.Errorf("read item %s: %w", item.ItemID, err)
		}
	}
	return v, nil
}

// at returns the value at a path, or false if the item has none.
func (v *itemValues) at(path []string) (any, bool) {
	roots := map[string]any{rootInput: v.input, rootReference: v.reference, rootMetadata: v.metadata}
	found := roots[path[0]]
	for _, part := range path[1:] {
		object, isObject := found.(map[string]any)
		var ok bool
		if found, ok = object[part]; !isObject || !ok {
			return nil, false
		}
	}
	return found, true
}

// ValueAt returns the value of an item at a path, or false if it has none.
func ValueAt(item *datasets.Item, path []string) (any, bool, error) {
	parts, err := valuesOf(item)
	if err != nil {
		return nil, false, err
	}
	value, ok := parts.at(path)
	return value, ok, nil
}

// value returns the value of a variable, or false if the item has none.
func (r *Renderer) value(v *itemValues, name string) (any, bool) {
	if path, ok := r.paths[name]; ok {
		return v.at(path)
	}
	if object, ok := v.input.(map[string]any); ok {
		if found, ok := object[name]; ok {
			return found, true
		}
	}
	return v.input, name == rootInput
}

// Render renders an item. An error of the item is a [*problem.Error] with a field for each variable.
func (r *Renderer) Render(item *datasets.Item) (prompts.Rendered, map[string]any, error) {
	parts, err := valuesOf(item)
	if err != nil {
		return prompts.Rendered{}, nil, err
	}
	values := prompts.Values{Variables: map[string]any{}, Placeholders: map[string][]json.RawMessage{}}
	for _, name := range r.variables {
		if value, ok := r.value(&parts, name); ok {
			values.Variables[name] = value
		}
	}
	for _, name := range r.placeholders {
		value, ok := r.value(&parts, name)
		if !ok {
			continue
		}
		list, isList := value.([]any)
		if !isList {
			return prompts.Rendered{}, nil, problem.InvalidField("body.placeholders."+name, "must be a list of messages")
		}
		messages := make([]json.RawMessage, len(list))
		for i := range list {
			if messages[i], err = json.Marshal(list[i]); err != nil {
				return prompts.Rendered{}, nil, fmt.Errorf("encode a message: %w", err)
			}
		}
		values.Placeholders[name] = messages
	}
	rendered, err := r.Template.Render(values)
	return rendered, values.Variables, err //nolint:wrapcheck // it is for the client
}

// ParseGraders reads graders. location is that of the list in the request. Their names differ from each other and from those of other metrics.
func ParseGraders(location string, list []json.RawMessage) ([]*grader.Grader, error) {
	graders, taken := make([]*grader.Grader, len(list)), map[string]bool{}
	for i, raw := range list {
		at := fmt.Sprintf("%s[%d]", location, i)
		parsed, err := grader.Parse(raw, at)
		if err != nil {
			return nil, err //nolint:wrapcheck // it is for the client
		}
		name := parsed.Name()
		if err := validate.Printable(at+".name", name); err != nil {
			return nil, err //nolint:wrapcheck // it is for the client
		}
		switch {
		case taken[name]:
			return nil, problem.InvalidField(at+".name", fmt.Sprintf("is %q, like that of an earlier grader: give each its own name", name))
		case IsMeasured(name):
			return nil, problem.InvalidField(at+".name", fmt.Sprintf("is %q, which is measured anyway: choose another name", name))
		}
		graders[i], taken[name] = parsed, true
	}
	return graders, nil
}

// PilotItems is how many items the first estimates rest on.
const PilotItems = 5
