package grader

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// Limits of a regular expression. Go's engine takes at most the product of program and text.
const (
	maxPattern     = 2000
	maxProgram     = 2000
	maxPatternWork = 300_000_000
)

// pattern is a regular expression with a bound on its work.
type pattern struct {
	regexp  *regexp.Regexp
	program int
}

func newPattern(text string, ignoreCase bool) (*pattern, error) {
	if text == "" {
		return nil, errors.New("must not be empty")
	}
	if len(text) > maxPattern {
		return nil, fmt.Errorf("must have at most %d bytes", maxPattern)
	}
	if ignoreCase {
		text = "(?i)" + text
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression (RE2, without lookaround and backreferences): %w", err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression: %w", err)
	}
	if len(program.Inst) > maxProgram {
		return nil, fmt.Errorf("is too complex: it compiles to %d instructions of %d; use smaller repetitions", len(program.Inst), maxProgram)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression: %w", err)
	}
	return &pattern{compiled, len(program.Inst)}, nil
}

func (p *pattern) affordable(text string) error {
	if len(text)*p.program > maxPatternWork {
		return fmt.Errorf("the text of %d bytes is too long for this pattern; make the pattern simpler", len(text))
	}
	return nil
}

// find returns the first match: its first group if the pattern has groups, and where it is.
func (p *pattern) find(text string) (match string, span []int, err error) {
	if err := p.affordable(text); err != nil {
		return "", nil, err
	}
	found := p.regexp.FindStringSubmatchIndex(text)
	if found == nil {
		return "", nil, nil
	}
	span = found[:2]
	if len(found) > 2 {
		if found[2] < 0 { // the group did not take part
			return "", nil, nil
		}
		span = found[2:4]
	}
	return text[span[0]:span[1]], span, nil
}

// errNoAnswer says that the pattern found no answer to grade.
var errNoAnswer = errors.New("the pattern finds no answer in the text")

// answer is the text of a template, or what the pattern finds in it.
type answer struct {
	input   *template
	pattern *pattern
}

func (d *definition) answer() answer {
	return answer{d.template("input", ofOutput), d.pattern("pattern", false)}
}

func (a *answer) text(s *subject) (string, error) {
	text, err := a.input.text(s)
	if err != nil || a.pattern == nil {
		return text, err
	}
	match, span, err := a.pattern.find(text)
	if err == nil && span == nil {
		err = errNoAnswer
	}
	return match, err
}

// both returns the answer and the references. If both lack something, what the item lacks decides.
func (a *answer) both(s *subject, reference *template) (string, []string, *verdict) {
	references, err := reference.texts(s)
	text, textErr := a.text(s)
	if err == nil || (isMissing(textErr) && isMissing(err)) {
		err = worse(err, textErr)
	}
	if err != nil {
		v := unanswered(err)
		return "", nil, &v
	}
	return text, references, nil
}

// unanswered is [unresolved] for an answer.
func unanswered(err error) verdict {
	if errors.Is(err, errNoAnswer) {
		return passed(false, nil, "%s", err.Error())
	}
	return unresolved(err)
}
