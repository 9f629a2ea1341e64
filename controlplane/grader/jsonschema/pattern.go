package jsonschema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// Limits of a regular expression. Go's engine takes at most the product of program and text.
const (
	maxPattern     = 2000
	MaxProgram     = 2000
	maxPatternWork = 300_000_000
)

// Pattern is a regular expression with a bound on its work.
type Pattern struct {
	Regexp  *regexp.Regexp
	program int
}

// NewPattern compiles a pattern whose work is bounded. An error completes a sentence about it.
func NewPattern(text string, ignoreCase bool) (*Pattern, error) {
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
	if len(program.Inst) > MaxProgram {
		return nil, fmt.Errorf("is too complex: it compiles to %d instructions of %d; use smaller repetitions", len(program.Inst), MaxProgram)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression: %w", err)
	}
	return &Pattern{compiled, len(program.Inst)}, nil
}

// Affordable returns an error if the pattern may take too long for a text.
func (p *Pattern) Affordable(text string) error {
	if len(text)*p.program > maxPatternWork {
		return fmt.Errorf("the text of %d bytes is too long for this pattern; make the pattern simpler", len(text))
	}
	return nil
}

// Find returns the first match: its first group if the pattern has groups, and where it is.
func (p *Pattern) Find(text string) (match string, span []int, err error) {
	if err := p.Affordable(text); err != nil {
		return "", nil, err
	}
	found := p.Regexp.FindStringSubmatchIndex(text)
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
