package prompttemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
)

// Missing says what becomes of a variable without a value.
type Missing string

// The choices for missing variables.
const (
	// MissingError makes a missing variable an error.
	MissingError Missing = "error"
	// MissingKeep keeps the tag, and a section with its content, as text.
	MissingKeep Missing = "keep"
	// MissingEmpty renders nothing. A section counts as false.
	MissingEmpty Missing = "empty"
)

// MissingVariablesError is returned for variables without a value.
type MissingVariablesError struct {
	// Names are the names as in the tags, in order of appearance, each once.
	Names []string
}

func (e *MissingVariablesError) Error() string {
	return "no value for " + strings.Join(e.Names, ", ")
}

// Render renders the template with variables. Their values are those of [encoding/json]: nil, bool, float64 or
// json.Number, string, []any and map[string]any. Texts are inserted as they are and never parsed. Null is nothing,
// other values are JSON as in RFC 8785.
//
// It returns a [*MissingVariablesError] error if missing is [MissingError].
func (t *Template) Render(variables map[string]any, missing Missing) (string, error) {
	return t.render(variables, missing, newBudget())
}

// Limits of a rendering. A short template can ask for very much: sections within sections multiply.
const (
	maxOutput = 16 << 20
	maxSteps  = 1_000_000
)

// ErrTooLarge is returned for a rendering with more than 16 MiB of text, or more than a million parts.
var ErrTooLarge = errors.New("the rendered text is larger than 16 MiB, or has more than a million parts; use fewer or shorter values")

// budget is what is left of the limits.
type budget struct {
	output, steps int
	// sizes are those of the lists of messages by the names of placeholders.
	sizes map[string]int
}

func newBudget() *budget { return &budget{maxOutput, maxSteps, map[string]int{}} }

// insert takes the size of a list of messages.
func (b *budget) insert(placeholder string, messages []map[string]any) error {
	size, known := b.sizes[placeholder]
	if !known {
		text, err := json.Marshal(messages)
		if err != nil {
			return fmt.Errorf("write as JSON: %w", err)
		}
		size = len(text)
		b.sizes[placeholder] = size
	}
	b.output, b.steps = b.output-size, b.steps-len(messages)
	if b.output < 0 || b.steps < 0 {
		return ErrTooLarge
	}
	return nil
}

func (t *Template) render(variables map[string]any, missing Missing, left *budget) (string, error) {
	r := renderer{missing: missing, stack: []scope{{value: variables, number: noItem}}, left: left, seen: map[string]bool{}}
	if err := r.render(t.nodes); err != nil {
		return "", err
	}
	if missing == MissingError && len(r.absent) > 0 {
		return "", &MissingVariablesError{r.absent}
	}
	return r.out.String(), nil
}

// Variables returns the first parts of all names, in order of appearance, each once. Names within sections are among them: no template
// says whether its variables or the items of a list have them.
func (t *Template) Variables() []string { return firstParts(nil, map[string]bool{}, t.nodes) }

func firstParts(names []string, seen map[string]bool, list []node) []string {
	for _, n := range list {
		if n.kind != 't' && len(n.path) > 0 && !seen[n.path[0]] {
			seen[n.path[0]] = true
			names = append(names, n.path[0])
		}
		names = firstParts(names, seen, n.children)
	}
	return names
}

type renderer struct {
	missing Missing
	// stack has the values in which names are looked up, the innermost last.
	stack  []scope
	out    strings.Builder
	left   *budget
	absent []string
	seen   map[string]bool // those in absent, without the numbers of items
}

// scope is a value in which names are looked up: the variables, the value of a section, or an item of it.
type scope struct {
	value any
	// within is the scope that has the value of the section, by its name.
	within int
	name   []string
	number int // of the item, or noItem
}

const noItem = -1

// write appends text while the budget lasts.
func (r *renderer) write(text string) error {
	if r.left.output -= len(text); r.left.output < 0 {
		return ErrTooLarge
	}
	r.out.WriteString(text)
	return nil
}

func (r *renderer) render(list []node) error {
	for _, n := range list {
		if r.left.steps--; r.left.steps < 0 {
			return ErrTooLarge
		}
		if n.kind == 't' {
			if err := r.write(n.text); err != nil {
				return err
			}
			continue
		}
		value, within, found := r.lookup(n.path)
		if !found {
			if place := r.nameOf(within, n.path, false); !r.seen[place] {
				r.seen[place] = true
				r.absent = append(r.absent, r.nameOf(within, n.path, true))
			}
			if r.missing == MissingKeep {
				if err := r.write(n.source); err != nil {
					return err
				}
				continue
			}
		}
		switch n.kind {
		case 'v':
			text, err := textOf(value)
			if err != nil {
				return fmt.Errorf("%s: %w", r.nameOf(within, n.path, true), err)
			}
			if err := r.write(text); err != nil {
				return err
			}
		case '^':
			if !found && r.missing == MissingError {
				continue
			}
			if !truthy(value) {
				if err := r.render(n.children); err != nil {
					return err
				}
			}
		case '#':
			if err := r.section(n, value, within); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameOf returns the name of a value within a scope, as its place in the variables: items.1.name.
func (r *renderer) nameOf(within int, path []string, numbers bool) string {
	if within == 0 && len(path) == 0 {
		return "."
	}
	parts := slices.Clone(path)
	for within > 0 {
		s := r.stack[within]
		if s.number != noItem && numbers {
			parts = slices.Insert(parts, 0, strconv.Itoa(s.number))
		}
		parts = slices.Insert(parts, 0, s.name...)
		within = s.within
	}
	return strings.Join(parts, ".")
}

func (r *renderer) section(n node, value any, within int) error {
	if !truthy(value) {
		return nil
	}
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	}
	for i, item := range items {
		inner := scope{value: item, within: within, name: n.path, number: noItem}
		if isList {
			inner.number = i
		}
		r.stack = append(r.stack, inner)
		err := r.render(n.children)
		r.stack = r.stack[:len(r.stack)-1]
		if err != nil {
			return err
		}
	}
	return nil
}

// lookup finds the first part of the name in the innermost object that has it, and the others within. The empty path is
// the innermost value. within is the scope that has the value. A value that is not found belongs to the scope with the first part; else
// to the innermost item of a list that has members, or to the variables.
func (r *renderer) lookup(path []string) (value any, within int, found bool) {
	if len(path) == 0 {
		return r.stack[len(r.stack)-1].value, len(r.stack) - 1, true
	}
	for i, s := range slices.Backward(r.stack) {
		value, found := member(s.value, path[0])
		if !found {
			if _, isObject := s.value.(map[string]any); isObject && s.number != noItem && within == 0 {
				within = i
			}
			continue
		}
		for _, name := range path[1:] {
			if value, found = member(value, name); !found {
				return nil, i, false
			}
		}
		return value, i, true
	}
	return nil, within, false
}

// member returns a member of an object, or an item of a list by its number from 0.
func member(value any, name string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		found, ok := v[name]
		return found, ok
	case []any:
		i, err := strconv.ParseUint(name, 10, 31)
		if err != nil || int(i) >= len(v) || strconv.FormatUint(i, 10) != name {
			return nil, false
		}
		return v[i], true
	default:
		return nil, false
	}
}

// truthy reports whether a section renders: all values do but null, false, the empty text and the empty list.
func truthy(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	default:
		return true
	}
}

var errUnsafeInteger = errors.New("integers beyond 2^53 lose digits in JSON; pass the value as text")

func textOf(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	if err := checkNumbers(value); err != nil {
		return "", err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("write as JSON: %w", err)
	}
	if raw[0] != '{' && raw[0] != '[' { // jcs takes only these
		wrapped, err := jcs.Transform(append(append([]byte{'['}, raw...), ']'))
		if err != nil {
			return "", fmt.Errorf("write as canonical JSON: %w", err)
		}
		return string(wrapped[1 : len(wrapped)-1]), nil
	}
	canonical, err := jcs.Transform(raw)
	if err != nil {
		return "", fmt.Errorf("write as canonical JSON: %w", err)
	}
	return string(canonical), nil
}

// checkNumbers refuses integers that the renderers of other languages would change.
func checkNumbers(value any) error {
	const maxSafe = 1<<53 - 1
	switch v := value.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) > maxSafe {
			return errUnsafeInteger
		}
	case json.Number:
		n, err := v.Float64()
		if err != nil {
			return fmt.Errorf("read the number %s: %w", v, err)
		}
		return checkNumbers(n)
	case []any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	}
	return nil
}
