package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
)

// Type is what a judge does.
type Type string

// The types.
const (
	// TypeScore gives an output a value on a scale. It is the default.
	TypeScore Type = "score"
	// TypePreference says which of two outputs is better.
	TypePreference Type = "preference"
)

// Definition is a judge as a user defines it. Its JSON is canonical: every default is written out.
type Definition struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
	// ProviderID is the connection through which the model is called.
	ProviderID uuid.UUID `json:"provider_id"`
	// ModelConfig is an object with the model and its parameters, as in a version of a prompt.
	ModelConfig json.RawMessage `json:"model_config"`
	// Rubric says what to judge by. It is empty if Prompt is set.
	Rubric string `json:"rubric,omitempty"`
	// Prompt is a version of a prompt that is used instead of a rubric.
	Prompt *PromptVersion `json:"prompt,omitempty"`
	// Scale is nil for a preference.
	Scale *Scale `json:"scale,omitempty"`
	// Repeats is how often the judge votes on each output, from 1 to 10.
	Repeats int `json:"repeats"`
	// Pass says which values pass. It is nil if none is said to.
	Pass *Pass `json:"pass,omitempty"`
}

// PromptVersion names a version of a prompt.
type PromptVersion struct {
	ID      uuid.UUID `json:"id"`
	Version int       `json:"version"`
}

// Limits of a definition.
const (
	maxName    = 100
	maxRubric  = 32 << 10
	maxConfig  = 32 << 10
	maxRepeats = 10
)

// Parse reads a definition. An error is [problem.Invalid] and names each wrong value below path, such as body.judges[2].scale.labels,
// with what to do.
func Parse(raw json.RawMessage, path string) (*Definition, error) {
	m, err := newMembers(raw, path, "name, provider_id, model_config, and rubric or prompt")
	if err != nil {
		return nil, err
	}
	d := &Definition{Type: TypeScore, Repeats: 1}
	d.readName(m)
	if m.read("type", &d.Type, "a text") && d.Type != TypeScore && d.Type != TypePreference {
		m.fail("type", "must be score or preference")
		return nil, m.done()
	}
	if !m.read("provider_id", &d.ProviderID, "the id of a provider, a UUID") && !m.has("provider_id") {
		m.fail("provider_id", "is required: the id of a provider")
	}
	d.readModelConfig(m)
	d.readRubric(m)
	if m.read("repeats", &d.Repeats, "a whole number") && (d.Repeats < 1 || d.Repeats > maxRepeats) {
		m.fail("repeats", "must be between 1 and %d", maxRepeats)
	}
	scale, pass := m.raw("scale"), m.raw("pass")
	switch {
	case d.Type == TypeScore:
		d.Scale = readScale(m, scale)
		if d.Scale != nil {
			d.Pass = readPass(m, pass, d.Scale)
		}
	case scale != nil:
		m.fail("scale", "is not for a preference, whose values are first, second and tie: leave it out")
	case pass != nil:
		m.fail("pass", "is not for a preference: leave it out")
	}
	if err := m.done(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Definition) readName(m *members) {
	if !m.read("name", &d.Name, "a text") {
		if !m.has("name") {
			m.fail("name", "is required")
		}
		return
	}
	name, err := validate.Name(m.location("name"), d.Name)
	m.join(err)
	if d.Name = name; len([]rune(name)) > maxName {
		m.fail("name", "must have at most %d characters", maxName)
	}
}

func (d *Definition) readModelConfig(m *members) {
	config := m.raw("model_config")
	var named struct {
		Model string `json:"model"`
	}
	switch {
	case config == nil:
		m.fail("model_config", `is required: an object such as {"model": "…"}`)
	case len(config) > maxConfig:
		m.fail("model_config", "must have at most %d KiB", maxConfig>>10)
	case json.Unmarshal(config, &named) != nil:
		m.fail("model_config", `must be an object whose model is a text`)
	case strings.TrimSpace(named.Model) == "":
		m.fail("model_config.model", "is missing: name a model")
	}
	d.ModelConfig = jsontext.Compact(config)
}

func (d *Definition) readRubric(m *members) {
	hasRubric := m.read("rubric", &d.Rubric, "a text")
	prompt := m.raw("prompt")
	switch {
	case hasRubric && prompt != nil:
		m.fail("prompt", "stands beside a rubric: leave one of them out")
	case hasRubric && strings.TrimSpace(d.Rubric) == "":
		m.fail("rubric", "must not be blank")
	case strings.ContainsRune(d.Rubric, 0):
		m.fail("rubric", "must not contain the character U+0000")
	case len(d.Rubric) > maxRubric:
		m.fail("rubric", "must have at most %d KiB", maxRubric>>10)
	case prompt != nil:
		d.Prompt = readPrompt(m, prompt)
	case !hasRubric && !m.has("rubric"):
		m.fail("rubric", "is required: say what to judge by, or name a version of a prompt in prompt")
	}
}

func readPrompt(outer *members, raw json.RawMessage) *PromptVersion {
	m, err := newMembers(raw, outer.location("prompt"), "id and version")
	if err != nil {
		outer.join(err)
		return nil
	}
	var p PromptVersion
	if !m.read("id", &p.ID, "the id of a prompt, a UUID") && !m.has("id") {
		m.fail("id", "is required: the id of a prompt")
	}
	if m.read("version", &p.Version, "a whole number") && p.Version < 1 {
		m.fail("version", "must be at least 1")
	} else if !m.has("version") {
		m.fail("version", "is required: a judge keeps to one version, so that its votes can be compared")
	}
	outer.join(m.done())
	return &p
}

// members reads the members of an object and collects what is wrong with them.
type members struct {
	path   string
	values map[string]json.RawMessage
	known  []string
	errors []problem.Field
}

func newMembers(raw json.RawMessage, path, what string) (*members, error) {
	m := &members{path: path}
	if err := json.Unmarshal(raw, &m.values); err != nil || m.values == nil {
		return nil, problem.InvalidField(path, "must be an object with "+what)
	}
	return m, nil
}

func (m *members) location(member string) string { return m.path + "." + member }

func (m *members) fail(member, format string, args ...any) {
	m.errors = append(m.errors, problem.Field{Location: m.location(member), Message: fmt.Sprintf(format, args...)})
}

func (m *members) join(err error) {
	if e := problem.Of(err); e != nil {
		m.errors = append(m.errors, e.Fields...)
	}
}

// has reports whether a member is there and not null.
func (m *members) has(name string) bool { return !jsontext.IsNull(m.values[name]) }

// raw returns a member, nil if it is missing or null.
func (m *members) raw(name string) json.RawMessage {
	m.known = append(m.known, name)
	if !m.has(name) {
		return nil
	}
	return m.values[name]
}

// read decodes a member and reports whether it is there and right.
func (m *members) read(name string, into any, what string) bool {
	value := m.raw(name)
	if value == nil {
		return false
	}
	if err := json.Unmarshal(value, into); err != nil {
		m.fail(name, "must be %s", what)
		return false
	}
	return true
}

// done returns all errors, and one for each member that is not known.
func (m *members) done() error {
	for _, name := range sortedKeys(m.values) {
		if !slices.Contains(m.known, name) {
			m.fail(name, "is not a member of this object: it has %s", strings.Join(slices.Compact(slices.Sorted(slices.Values(m.known))), ", "))
		}
	}
	if len(m.errors) > 0 {
		return problem.InvalidFields(m.errors...)
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
