package grader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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
	tolerance, err := rational(string(d.members[name]))
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
		number, err := wholeNumber(reference)
		if err != nil {
			return failed(fmt.Errorf("the reference %s is not a number; correct the item, or let reference name the number in it", quote(reference)))
		}
		wanted = append(wanted, number)
	}
	number, shown, err := lastNumber(text)
	switch {
	case errors.Is(err, errTooLong):
		return failed(err)
	case err != nil:
		return passed(false, nil, "the text has no number: %s", quote(text))
	}
	for i, reference := range wanted {
		difference := new(big.Rat).Sub(number, reference)
		difference.Abs(difference)
		allowed := new(big.Rat).Mul(c.relative, new(big.Rat).Abs(reference))
		if allowed.Cmp(c.absolute) < 0 {
			allowed = c.absolute
		}
		if difference.Cmp(allowed) <= 0 {
			return passed(true, map[string]any{"number": shown}, "%s is %s within the tolerance", shown, quote(references[i]))
		}
	}
	return passed(false, map[string]any{"number": shown}, "%s is not %s within the tolerance", shown, quote(references[0]))
}

const maxDigits = 400 // also of an exponent's value

var (
	errTooLong  = fmt.Errorf("a number has more than %d digits, which is too many to compare", maxDigits)
	errNoNumber = errors.New("no number")
	// numbers match numbers with or without commas between thousands. A number in a word, such as v2, does not count.
	numbers = regexp.MustCompile(`[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+−]?\.\d+(?:[eE][-+]?\d+)?`)
)

// wholeNumber reads a text that is one number.
func wholeNumber(text string) (*big.Rat, error) {
	text = strings.TrimSpace(text)
	if span := numbers.FindStringIndex(text); span == nil || span[0] != 0 || span[1] != len(text) {
		return nil, errNoNumber
	}
	return rational(text)
}

// lastNumber reads a text that is one number, or else the last number in it. It returns the number as it was written.
func lastNumber(text string) (number *big.Rat, shown string, err error) {
	spans := numbers.FindAllStringIndex(text, -1)
	for i := len(spans) - 1; i >= 0; i-- {
		begin, end := spans[i][0], spans[i][1]
		before, _ := utf8.DecodeLastRuneInString(text[:begin])
		after, _ := utf8.DecodeRuneInString(text[end:])
		inWord := unicode.IsLetter(before) || unicode.IsDigit(before) || before == '_'
		shown = text[begin:end]
		if unicode.IsLetter(after) || inWord && (isDigit(shown[0]) || shown[0] == '.') { // 2nd, v2, 1.2.3
			continue
		}
		if inWord { // 10-20: the sign is a dash
			shown = strings.TrimLeft(shown, "-+−")
		}
		number, err = rational(shown)
		return number, shown, err
	}
	return nil, "", errNoNumber
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// rational reads a number exactly.
func rational(text string) (*big.Rat, error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, ",", ""), "−", "-")
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	if len(mantissa) > maxDigits {
		return nil, errTooLong
	}
	if found {
		if n, err := strconv.Atoi(exponent); err != nil || n > maxDigits || n < -maxDigits {
			return nil, errTooLong
		}
	}
	number, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, errNoNumber
	}
	return number, nil
}

// canonicalNumber writes a number of JSON so that equal numbers are equal texts. Unlike RFC 8785 it keeps all digits: ids often have
// more than a float64 holds.
func canonicalNumber(n json.Number) string {
	number, err := rational(string(n))
	if err != nil { // too long
		return string(n)
	}
	return number.RatString()
}
