package judge

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// ScaleType says what values mean to each other.
type ScaleType string

// The types of scales.
const (
	// Binary has two labels, of which the second is the better. They count as 0 and 1.
	Binary ScaleType = "binary"
	// Ordinal has whole numbers from Min to Max, or labels from the worst to the best, which count as 1, 2, 3, …
	Ordinal ScaleType = "ordinal"
	// Categorical has labels without order. The number of a label, from 0, is a code and no quantity: only nominal statistics take it.
	Categorical ScaleType = "categorical"
	// Numeric has every number from Min to Max.
	Numeric ScaleType = "numeric"
)

// Scale has the values that a judge may give. Higher is better on every scale but a categorical one.
type Scale struct {
	Type ScaleType `json:"type"`
	// Min and Max are nil for a scale of labels.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Labels are nil for a scale of numbers.
	Labels []string `json:"labels,omitempty"`
}

// Pass says which values pass. One of its members is set.
type Pass struct {
	// AtLeast is the lowest number that passes.
	AtLeast *float64
	// Label is the lowest label that passes, on an ordinal scale.
	Label string
	// Labels are those that pass, on a categorical scale.
	Labels []string
}

// MarshalJSON writes a number, a label or a list of labels.
func (p Pass) MarshalJSON() ([]byte, error) {
	switch {
	case p.AtLeast != nil:
		return json.Marshal(*p.AtLeast)
	case p.Label != "":
		return jsontext.MustEncode(p.Label), nil
	}
	return jsontext.MustEncode(p.Labels), nil
}

// Limits of scales. An enumeration of more values is no help to a model.
const (
	maxOrdinal = 21 // 0 to 20
	maxLabels  = 50
	maxLabel   = 60
)

func readScale(outer *members, raw json.RawMessage) *Scale {
	if raw == nil {
		outer.fail("scale", `is required: an object such as {"type": "ordinal", "min": 1, "max": 5}`)
		return nil
	}
	m, err := newMembers(raw, outer.location("scale"), "type, and min and max or labels")
	if err != nil {
		outer.join(err)
		return nil
	}
	s := &Scale{}
	m.read("type", &s.Type, "a text")
	m.read("min", &s.Min, "a number")
	m.read("max", &s.Max, "a number")
	if m.read("labels", &s.Labels, "a list of texts") {
		s.checkLabels(m)
	}
	switch s.Type {
	case Binary:
		s.without(m, "min", "max")
		if s.Labels == nil && !m.has("labels") {
			s.Labels = []string{"fail", "pass"}
		} else if len(s.Labels) != 2 && s.Labels != nil {
			m.fail("labels", "must be two, the better one last")
		}
	case Ordinal:
		s.checkOrdinal(m)
	case Categorical:
		s.without(m, "min", "max")
		if !m.has("labels") {
			m.fail("labels", "are required for a categorical scale")
		}
	case Numeric:
		s.without(m, "labels")
		s.checkRange(m)
	default:
		m.fail("type", "must be binary, ordinal, categorical or numeric")
	}
	if err := m.done(); err != nil {
		outer.join(err)
		return nil
	}
	return s
}

func (s *Scale) without(m *members, names ...string) {
	for _, name := range names {
		if m.has(name) {
			m.fail(name, "is not for a %s scale: leave it out", s.Type)
		}
	}
}

func (s *Scale) checkLabels(m *members) {
	if len(s.Labels) < 2 || len(s.Labels) > maxLabels {
		m.fail("labels", "must be between 2 and %d", maxLabels)
	}
	for i, label := range s.Labels {
		at := fmt.Sprintf("labels[%d]", i)
		name, err := validate.Name(m.location(at), label)
		m.join(err)
		s.Labels[i] = name
		switch {
		case len([]rune(name)) > maxLabel:
			m.fail(at, "must have at most %d characters", maxLabel)
		case slices.ContainsFunc(s.Labels[:i], func(other string) bool { return strings.EqualFold(other, name) }):
			m.fail(at, "repeats %q: labels differ in more than capitals", name)
		}
	}
}

func (s *Scale) checkOrdinal(m *members) {
	if m.has("labels") {
		s.without(m, "min", "max")
		if len(s.Labels) > maxOrdinal {
			m.fail("labels", "must be at most %d: give a scale of more steps the type numeric", maxOrdinal)
		}
		return
	}
	if !s.checkRange(m) {
		return
	}
	for name, bound := range map[string]float64{"min": *s.Min, "max": *s.Max} {
		if bound != math.Trunc(bound) || math.Abs(bound) > 1e6 {
			m.fail(name, "must be a whole number up to a million")
		}
	}
	if *s.Max-*s.Min >= maxOrdinal {
		m.fail("max", "must be at most %d above min: give a scale of more steps the type numeric", maxOrdinal-1)
	}
}

// checkRange reports whether Min and Max are a range.
func (s *Scale) checkRange(m *members) bool {
	for name, bound := range map[string]*float64{"min": s.Min, "max": s.Max} {
		if bound == nil && !m.has(name) {
			m.fail(name, "is required for this scale")
		}
	}
	if s.Min == nil || s.Max == nil {
		return false
	}
	if *s.Max <= *s.Min {
		m.fail("max", "must be above min")
		return false
	}
	return true
}

func readPass(outer *members, raw json.RawMessage, s *Scale) *Pass {
	if raw == nil {
		return nil
	}
	var p Pass
	fail := func(format string, args ...any) *Pass {
		outer.fail("pass", format, args...)
		return nil
	}
	switch s.Type {
	case Binary:
		return fail("is not for a binary scale, on which the second label passes: leave it out")
	case Categorical:
		if json.Unmarshal(raw, &p.Labels) != nil || len(p.Labels) == 0 {
			return fail("must be a list of the labels that pass")
		}
		for i, label := range p.Labels {
			if !slices.Contains(s.Labels, label) || slices.Contains(p.Labels[:i], label) {
				return fail("must be labels of the scale, each once")
			}
		}
	case Ordinal, Numeric:
		if s.Labels != nil {
			if json.Unmarshal(raw, &p.Label) != nil || !slices.Contains(s.Labels, p.Label) {
				return fail("must be the lowest label that passes")
			}
			return &p
		}
		if json.Unmarshal(raw, &p.AtLeast) != nil || *p.AtLeast < *s.Min || *p.AtLeast > *s.Max {
			return fail("must be the lowest number that passes, between %s and %s", plain(*s.Min), plain(*s.Max))
		}
	}
	return &p
}

// Better is the direction of the values: "higher", or "" for a categorical scale, which has none.
func (s *Scale) Better() string {
	if s.Type == Categorical {
		return ""
	}
	return "higher"
}

// Number is the number of a label for statistics, NaN for a text that is no label of the scale.
func (s *Scale) Number(label string) float64 {
	i := slices.Index(s.Labels, label)
	switch {
	case i < 0:
		return math.NaN()
	case s.Type == Ordinal:
		return float64(i + 1)
	}
	return float64(i)
}

// Passes reports whether a value of a vote passes, nil if the definition does not say what passes. The vote has a value.
func (d *Definition) Passes(value float64) *bool {
	var pass bool
	switch s, p := d.Scale, d.Pass; {
	case s == nil:
		return nil
	case s.Type == Binary:
		pass = value == 1
	case p == nil:
		return nil
	case p.AtLeast != nil:
		pass = value >= *p.AtLeast
	case p.Label != "":
		pass = value >= s.Number(p.Label)
	default:
		pass = slices.ContainsFunc(p.Labels, func(label string) bool { return s.Number(label) == value })
	}
	return &pass
}

// read reads the value of an answer. Numbers may stand in quotes, and labels may have other capitals. Nothing is clamped or rounded, and
// a text such as 4/5 is no number. How a number is written does not matter: 4.0, 4e0 and 4.0000000000000000001 are the double 4, as
// which JSON is read (RFC 8259, section 6).
func (s *Scale) read(raw json.RawMessage) (value float64, label string, err error) {
	var text string
	isText := json.Unmarshal(raw, &text) == nil && raw[0] == '"'
	text = strings.TrimSpace(text)
	if s.Labels != nil {
		switch {
		case isText:
			for _, label := range s.Labels {
				if strings.EqualFold(label, text) {
					return s.Number(label), label, nil
				}
			}
		case raw[0] == '{' || raw[0] == '[' || jsontext.IsNull(raw):
			return 0, "", &unreadableError{"The value " + quote(string(raw)) + " is not a text."}
		}
		return 0, "", &offScaleError{s.offScale(raw)}
	}
	if !isText {
		text = string(raw)
	}
	if !isNumber(text) {
		return 0, "", &unreadableError{"The value " + quote(string(raw)) + " is not a number."}
	}
	value, parseErr := strconv.ParseFloat(text, 64)
	if parseErr != nil || value < *s.Min || value > *s.Max || s.Type == Ordinal && value != math.Trunc(value) {
		return 0, "", &offScaleError{s.offScale(raw)}
	}
	return value + 0, "", nil // not -0
}

// isNumber reports whether a text is a number of JSON.
func isNumber(text string) bool {
	return text != "" && strings.IndexByte("-0123456789", text[0]) >= 0 && json.Valid([]byte(text))
}

func (s *Scale) offScale(raw json.RawMessage) string {
	return "The value " + quote(string(raw)) + " is not on the scale: " + s.describe() + "."
}

// describe says in words which values there are.
func (s *Scale) describe() string {
	switch {
	case s.Type == Binary:
		return fmt.Sprintf("%q (worse) or %q (better)", s.Labels[0], s.Labels[1])
	case s.Type == Ordinal && s.Labels != nil:
		return "one of these labels, from the worst to the best: " + quoted(s.Labels)
	case s.Type == Categorical:
		return "one of these labels: " + quoted(s.Labels)
	case s.Type == Ordinal:
		return "a whole number from " + plain(*s.Min) + " (worst) to " + plain(*s.Max) + " (best)"
	}
	return "a number from " + plain(*s.Min) + " (worst) to " + plain(*s.Max) + " (best)"
}

// property is the JSON Schema of a value. Ranges of numbers are words: not every provider's schemas know minimum and maximum.
func (s *Scale) property() map[string]any {
	switch {
	case s.Labels != nil:
		return map[string]any{"type": "string", "enum": s.Labels}
	case s.Type == Ordinal:
		var values []int
		for n := int(*s.Min); n <= int(*s.Max); n++ {
			values = append(values, n)
		}
		return map[string]any{"type": "integer", "enum": values}
	}
	return map[string]any{"type": "number", "description": s.describe()}
}

func plain(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }

func quoted(labels []string) string {
	list := make([]string, len(labels))
	for i := range labels {
		list[i] = strconv.Quote(labels[i])
	}
	return strings.Join(list, ", ")
}
