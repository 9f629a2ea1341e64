package grader

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
)

// numberCheck compares numbers exactly, with a tolerance.
type numberCheck struct {
	answer
	reference          *template
	absolute, relative *big.Rat
}

func readNumber(d *definition) (check, bool) {
	c := &numberCheck{answer: d.answer(), reference: d.template("reference", ofReference)}
	c.absolute, c.relative = d.tolerance("absolute_tolerance"), d.tolerance("relative_tolerance")
	return c, true
}

// tolerance returns a number as it was written, 0 if it is missing.
func (d *definition) tolerance(name string) *big.Rat {
	if d.number(name, 1e300) == nil {
		return new(big.Rat)
	}
	tolerance, err := jsonvalue.Rational(string(d.members[name]))
	if err != nil {
		d.fail(name, "%s", err.Error())
		return new(big.Rat)
	}
	return tolerance
}

func (c *numberCheck) grade(_ context.Context, s *subject) verdict {
	text, references, v := c.both(s, c.reference)
	if v != nil {
		return *v
	}
	var wanted []*big.Rat
	for _, reference := range references {
		number, err := jsonvalue.WholeNumber(reference)
		if err != nil {
			return failed(fmt.Errorf("the reference %s is not a number; correct the item, or let reference name the number in it", jsonvalue.Quote(reference)))
		}
		wanted = append(wanted, number)
	}
	number, shown, err := lastNumber(text)
	switch {
	case errors.Is(err, jsonvalue.ErrTooLong):
		return failed(err)
	case err != nil:
		return passed(false, nil, "the text has no number: %s", jsonvalue.Quote(text))
	}
	for i, reference := range wanted {
		difference := new(big.Rat).Sub(number, reference)
		difference.Abs(difference)
		allowed := new(big.Rat).Mul(c.relative, new(big.Rat).Abs(reference))
		if allowed.Cmp(c.absolute) < 0 {
			allowed = c.absolute
		}
		if difference.Cmp(allowed) <= 0 {
			return passed(true, map[string]any{"number": shown}, "%s is %s within the tolerance", shown, jsonvalue.Quote(references[i]))
		}
	}
	return passed(false, map[string]any{"number": shown}, "%s is not %s within the tolerance", shown, jsonvalue.Quote(references[0]))
}

// lastNumber reads a text that is one number, or else the last number in it. It returns the number as it was written.
func lastNumber(text string) (number *big.Rat, shown string, err error) {
	spans := jsonvalue.Numbers.FindAllStringIndex(text, -1)
	for i := len(spans) - 1; i >= 0; i-- {
		begin, end := spans[i][0], spans[i][1]
		before, _ := utf8.DecodeLastRuneInString(text[:begin])
		after, _ := utf8.DecodeRuneInString(text[end:])
		inWord := unicode.IsLetter(before) || unicode.IsDigit(before) || before == '_'
		shown = text[begin:end]
		if unicode.IsLetter(after) || inWord && (jsonvalue.IsDigit(shown[0]) || shown[0] == '.') { // 2nd, v2, 1.2.3
			continue
		}
		if inWord { // 10-20: the sign is a dash
			shown = strings.TrimLeft(shown, "-+−")
		}
		number, err = jsonvalue.Rational(shown)
		return number, shown, err
	}
	return nil, "", jsonvalue.ErrNoNumber
}
