package grader

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptrace/looptrace/controlplane/grader/jsonschema"
	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
)

// stringCheck compares texts.
type stringCheck struct {
	answer
	reference          *template
	operation          string
	ignoreCase, negate bool
	all                bool
}

func readStringCheck(d *definition) (check, bool) {
	c := &stringCheck{answer: d.answer(), reference: d.template("reference", ofReference)}
	c.operation = d.text("operation", required)
	if operations := []string{"eq", "ne", "like", "ilike", "starts_with", "ends_with"}; c.operation != "" && !slices.Contains(operations, c.operation) {
		d.fail("operation", "must be %s, not %s", jsonvalue.List(operations), jsonvalue.Quote(c.operation))
	}
	c.ignoreCase, c.negate = d.flag("ignore_case"), d.flag("negate")
	c.all = d.oneOf("match", "any", "all") == "all"
	switch c.operation {
	case "ne":
		c.operation, c.negate = "eq", !c.negate
	case "ilike":
		c.operation, c.ignoreCase = "like", true
	}
	return c, true
}

func (c *stringCheck) grade(_ context.Context, s *subject) verdict {
	text, references, v := c.both(s, c.reference)
	if v != nil {
		return *v
	}
	if c.operation != "eq" && slices.Contains(references, "") {
		return notApplicable("the reference is an empty text, which every text contains")
	}
	compared := text
	if c.ignoreCase {
		compared = strings.ToLower(text)
	}
	var matched, others []string
	for _, reference := range references {
		wanted := reference
		if c.ignoreCase {
			wanted = strings.ToLower(reference)
		}
		if c.holds(compared, wanted) {
			matched = append(matched, reference)
		} else {
			others = append(others, reference)
		}
	}
	pass := len(matched) > 0
	if c.all {
		pass = len(others) == 0
	}
	evidence := map[string]any{"matched": shortened(matched), "not_matched": shortened(others)}
	of := ""
	if len(references) > 1 {
		of = fmt.Sprintf(", %d of %d references", len(matched), len(references))
	}
	verb := map[string][2]string{
		"eq": {"equals", "does not equal"}, "like": {"contains", "does not contain"},
		"starts_with": {"starts with", "does not start with"}, "ends_with": {"ends with", "does not end with"},
	}[c.operation]
	shown := references[0]
	word := verb[0]
	if len(matched) > 0 {
		shown = matched[0]
	} else {
		word = verb[1]
	}
	if c.all && len(others) > 0 {
		shown, word = others[0], verb[1]
	}
	return passed(pass != c.negate, evidence, "%s %s %s%s", jsonvalue.Quote(text), word, jsonvalue.Quote(shown), of)
}

func (c *stringCheck) holds(text, reference string) bool {
	switch c.operation {
	case "eq":
		return text == reference
	case "like":
		return strings.Contains(text, reference)
	case "starts_with":
		return strings.HasPrefix(text, reference)
	}
	return strings.HasSuffix(text, reference)
}

// shortened quotes texts for the evidence.
func shortened(texts []string) []string {
	const most = 20
	short := []string{}
	for _, text := range texts[:min(len(texts), most)] {
		short = append(short, jsonvalue.Quote(text))
	}
	return short
}

// regexCheck looks for a pattern.
type regexCheck struct {
	input   *template
	pattern *jsonschema.Pattern
	negate  bool
}

func readRegex(d *definition) (check, bool) {
	c := &regexCheck{input: d.template("input", ofOutput)}
	c.pattern = d.pattern("pattern", d.flag("ignore_case"))
	if d.members["pattern"] == nil {
		d.fail("pattern", "is required")
	}
	c.negate = d.flag("negate")
	return c, true
}

func (c *regexCheck) grade(_ context.Context, s *subject) verdict {
	text, err := c.input.text(s)
	if err != nil {
		return unresolved(err)
	}
	if err := c.pattern.Affordable(text); err != nil {
		return failed(err)
	}
	span := c.pattern.Regexp.FindStringIndex(text)
	if span == nil {
		return passed(c.negate, nil, "the pattern does not match")
	}
	evidence := map[string]any{"match": jsonvalue.Quote(text[span[0]:span[1]]), "start": span[0], "end": span[1]} // in bytes
	return passed(!c.negate, evidence, "the pattern matches %s", jsonvalue.Quote(text[span[0]:span[1]]))
}

// lengthCheck limits the length of a text.
type lengthCheck struct {
	input       *template
	least, most *int
	unit        string
}

func readLength(d *definition) (check, bool) {
	c := &lengthCheck{input: d.template("input", ofOutput), least: d.integer("min", 0), most: d.integer("max", 0)}
	c.unit = d.oneOf("unit", "characters", "words", "lines")
	if d.members["min"] == nil && d.members["max"] == nil {
		d.fail("min", "is required, or max")
	}
	if c.least != nil && c.most != nil && *c.least > *c.most {
		d.fail("max", "must be at least min")
	}
	return c, true
}

func (c *lengthCheck) grade(_ context.Context, s *subject) verdict {
	text, err := c.input.text(s)
	if err != nil {
		return unresolved(err)
	}
	length := 0
	switch c.unit {
	case "characters":
		length = utf8.RuneCountInString(text)
	case "words":
		length = len(strings.Fields(text))
	case "lines":
		if text != "" {
			length = strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
		}
	}
	evidence := map[string]any{"length": length, "unit": c.unit}
	pass := (c.least == nil || length >= *c.least) && (c.most == nil || length <= *c.most)
	return passed(pass, evidence, "the text has %d %s", length, c.unit)
}
