package jsonvalue

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

const maxDigits = 400 // also of an exponent's value

var (
	// ErrTooLong is of a number with too many digits to compare.
	ErrTooLong = fmt.Errorf("a number has more than %d digits, which is too many to compare", maxDigits)
	// ErrNoNumber is of a text that is no number.
	ErrNoNumber = errors.New("no number")
	// Numbers match numbers with or without commas between thousands. A number in a word, such as v2, does not count.
	Numbers = regexp.MustCompile(`[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+−]?\.\d+(?:[eE][-+]?\d+)?`)
)

// WholeNumber reads a text that is one number.
func WholeNumber(text string) (*big.Rat, error) {
	text = strings.TrimSpace(text)
	if span := Numbers.FindStringIndex(text); span == nil || span[0] != 0 || span[1] != len(text) {
		return nil, ErrNoNumber
	}
	return Rational(text)
}

// IsDigit reports whether a byte is a decimal digit.
func IsDigit(b byte) bool { return '0' <= b && b <= '9' }

// Rational reads a number exactly.
func Rational(text string) (*big.Rat, error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, ",", ""), "−", "-")
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	if len(mantissa) > maxDigits {
		return nil, ErrTooLong
	}
	if found {
		if n, err := strconv.Atoi(exponent); err != nil || n > maxDigits || n < -maxDigits {
			return nil, ErrTooLong
		}
	}
	number, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, ErrNoNumber
	}
	return number, nil
}

// canonicalNumber writes a number of JSON so that equal numbers are equal texts. Unlike RFC 8785 it keeps all digits: ids often have
// more than a float64 holds.
func canonicalNumber(n json.Number) string {
	number, err := Rational(string(n))
	if err != nil { // too long
		return string(n)
	}
	return number.RatString()
}
