package grader

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/grader/jsonschema"
	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
)

// required is the fallback of a member that must be there.
const required = "\x00"

// definition reads the members of a grader and collects what is wrong with them.
type definition struct {
	path    string
	members map[string]json.RawMessage
	// known are the members that the type has.
	known  []string
	errors []problem.Field
	// reference is whether a template selects from the reference output.
	reference bool
}

func newDefinition(raw json.RawMessage, path string) (*definition, error) {
	d := &definition{path: path}
	if len(raw) > maxDefinition {
		return nil, d.invalid("", fmt.Sprintf("must have at most %d KiB", maxDefinition>>10))
	}
	if !json.Valid(raw) {
		return nil, d.invalid("", "must be valid JSON")
	}
	if err := json.Unmarshal(raw, &d.members); err != nil || d.members == nil {
		return nil, d.invalid("", "must be an object with name and type")
	}
	return d, nil
}

func (d *definition) location(member string) string {
	if member == "" {
		return d.path
	}
	return d.path + "." + member
}

func (d *definition) invalid(member, message string) error {
	return problem.InvalidField(d.location(member), message)
}

// fail notes that a member is wrong.
func (d *definition) fail(member, format string, args ...any) {
	d.errors = append(d.errors, problem.Field{Location: d.location(member), Message: fmt.Sprintf(format, args...)})
}

// join notes the errors of a nested definition.
func (d *definition) join(err error) {
	if e := problem.Of(err); e != nil {
		d.errors = append(d.errors, e.Fields...)
	}
}

// done returns all errors, and one for each member that the type does not have.
func (d *definition) done() error {
	for _, name := range jsonvalue.SortedKeys(d.members) {
		if !slices.Contains(d.known, name) && len(d.errors) == 0 {
			known := slices.Sorted(slices.Values(d.known))
			d.fail(name, "is not a member of this type: it has %s", jsonvalue.List(slices.Compact(known)))
		}
	}
	if len(d.errors) > 0 {
		return problem.InvalidFields(d.errors...)
	}
	return nil
}

// raw returns a member, nil if it is missing or null.
func (d *definition) raw(name string) json.RawMessage {
	d.known = append(d.known, name)
	if value := d.members[name]; !jsontext.IsNull(value) {
		return value
	}
	return nil
}

// read decodes a member and reports whether it is there and right.
func (d *definition) read(name string, into any, what string) bool {
	value := d.raw(name)
	if value == nil {
		return false
	}
	if err := json.Unmarshal(value, into); err != nil {
		d.fail(name, "must be %s", what)
		return false
	}
	return true
}

// text returns a member that is a text. It must not be blank.
func (d *definition) text(name, fallback string) string {
	var text string
	switch {
	case d.read(name, &text, "a text"):
		if strings.TrimSpace(text) == "" {
			d.fail(name, "must not be blank")
		}
		return text
	case d.raw(name) != nil: // of another kind
		return ""
	case fallback == required:
		d.fail(name, "is required")
		return ""
	}
	return fallback
}

// oneOf returns a member that is one of some words. The fallback is the first.
func (d *definition) oneOf(name string, words ...string) string {
	text := d.text(name, words[0])
	if !slices.Contains(words, text) && text != "" {
		d.fail(name, "must be %s, not %s", jsonvalue.List(words), jsonvalue.Quote(text))
	}
	return text
}

func (d *definition) flag(name string) bool {
	var flag bool
	d.read(name, &flag, "true or false")
	return flag
}

// number returns a member that is a number from 0 to most, nil if it is missing.
func (d *definition) number(name string, most float64) *float64 {
	var number float64
	if !d.read(name, &number, "a number") {
		return nil
	}
	if number < 0 || number > most {
		d.fail(name, "must be between 0 and %v", most)
		return nil
	}
	return &number
}

// integer returns a member that is a whole number, nil if it is missing.
func (d *definition) integer(name string, least int) *int {
	var number int
	if !d.read(name, &number, "a whole number") {
		return nil
	}
	if number < least {
		d.fail(name, "must be at least %d", least)
		return nil
	}
	return &number
}

// names returns a member that is a list of texts, nil if it is missing.
func (d *definition) names(name string) []string {
	var names []string
	if !d.read(name, &names, "a list of texts") {
		return nil
	}
	for i := range names {
		if strings.TrimSpace(names[i]) == "" {
			d.fail(fmt.Sprintf("%s[%d]", name, i), "must not be blank")
		} else if slices.Contains(names[:i], names[i]) {
			d.fail(fmt.Sprintf("%s[%d]", name, i), "repeats %s", jsonvalue.Quote(names[i]))
		}
	}
	if len(names) == 0 {
		d.fail(name, "must not be empty")
	}
	return names
}

// template returns a member that may hold templates. The fallback is a template too; without one the member must be there.
func (d *definition) template(name, fallback string) *template {
	value := d.raw(name)
	if value == nil {
		if fallback == required {
			d.fail(name, "is required")
			return nil
		}
		value, _ = json.Marshal(fallback) // a text
	}
	t, err := parseTemplate(value)
	if err != nil {
		d.fail(name, "%s", err.Error())
		return nil
	}
	d.reference = d.reference || t.selectsReference()
	return t
}

// pattern returns a member that is a regular expression, nil if it is missing.
func (d *definition) pattern(name string, ignoreCase bool) *jsonschema.Pattern {
	var text string
	if !d.read(name, &text, "a text: a regular expression") {
		return nil
	}
	p, err := jsonschema.NewPattern(text, ignoreCase)
	if err != nil {
		d.fail(name, "%s", err.Error())
		return nil
	}
	return p
}

var errDepth = errors.New("the JSON nests too deep")

// decode parses JSON with its numbers as they were written.
func decode(raw json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	return value, nil
}
