package grader

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// choiceCheck grades the answer to a multiple-choice question.
type choiceCheck struct {
	answer
	reference *template
	choices   []string
	// alone matches a text that is only a choice, named one after the word answer, and marked one at the beginning of a line, such as
	// (B) or B.
	alone, named, marked *pattern
}

func readChoice(d *definition) (check, bool) {
	c := &choiceCheck{answer: d.answer(), reference: d.template("reference", ofReference), choices: d.names("choices")}
	if c.choices == nil {
		c.choices = []string{"A", "B", "C", "D", "E"}
	}
	quoted := make([]string, len(c.choices))
	for i, choice := range c.choices {
		quoted[i] = regexp.QuoteMeta(choice)
		if utf8.RuneCountInString(choice) > 1 { // a letter counts in its own case only: a is a word too
			quoted[i] = "(?i:" + quoted[i] + ")"
		}
	}
	slices.SortFunc(quoted, func(a, b string) int { return len(b) - len(a) }) // the longest match
	one := `(` + strings.Join(quoted, "|") + `)`
	for _, p := range []struct {
		into **pattern
		text string
	}{
		{&c.alone, `(?i)^[\s(\[{*"'` + "`" + `]*` + one + `[\s)\]}*"'` + "`" + `.:,]*$`},
		{&c.named, `(?i:\b(?:answer|choice|option)\b)(?i:\s*(?:is|=|:))?[\s:*(\["'` + "`" + `$]*(?:\\boxed\{)?` + one + `(?:$|[^\pL\pN_'’-])`},
		{&c.marked, `(?m)^\s*(?:[(\[*]+` + one + `[)\]*]+|` + one + `[).:])(?:\s|$)`},
	} {
		var err error
		if *p.into, err = newPattern(p.text, false); err != nil {
			d.fail("choices", "are too many or too long: %s", err.Error())
			break
		}
	}
	return c, true
}

func (c *choiceCheck) grade(_ context.Context, s *subject) verdict {
	text, references, v := c.both(s, c.reference)
	if v != nil {
		return *v
	}
	for _, reference := range references {
		if !slices.ContainsFunc(c.choices, func(choice string) bool { return strings.EqualFold(choice, strings.TrimSpace(reference)) }) {
			return notApplicable("the reference %s is none of the choices", quote(reference))
		}
	}
	if err := c.marked.affordable(text); err != nil {
		return failed(err)
	}
	found := c.find(text)
	if len(found) == 0 {
		return passed(false, nil, "no choice found in %s", quote(text))
	}
	evidence := map[string]any{"choices_found": found}
	if len(found) > 1 {
		return passed(false, evidence, "the text names more than one choice: %s", list(found))
	}
	for _, reference := range references {
		if strings.EqualFold(found[0], strings.TrimSpace(reference)) {
			return passed(true, evidence, "the choice is %s", found[0])
		}
	}
	return passed(false, evidence, "the choice is %s, not %s", found[0], quote(references[0]))
}

// find returns the choices that the text names as its answer: the last one after the word answer, or else those that are marked.
func (c *choiceCheck) find(text string) []string {
	if m := c.alone.regexp.FindStringSubmatch(text); m != nil {
		return []string{c.spelled(m[1])}
	}
	if all := c.named.regexp.FindAllStringSubmatch(text, -1); len(all) > 0 {
		return []string{c.spelled(all[len(all)-1][1])}
	}
	var found []string
	for _, m := range c.marked.regexp.FindAllStringSubmatch(text, -1) {
		if choice := c.spelled(m[1] + m[2]); !slices.Contains(found, choice) {
			found = append(found, choice)
		}
	}
	return found
}

// spelled is a choice as the definition spells it.
func (c *choiceCheck) spelled(found string) string {
	for _, choice := range c.choices {
		if strings.EqualFold(choice, found) {
			return choice
		}
	}
	return found
}
