package datasetfile

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// The kinds of values that Preview counts.
const (
	KindObject  = "object"
	KindArray   = "array"
	KindNumber  = "number"
	KindBoolean = "boolean"
	KindText    = "text"
	KindNull    = "null"
)

// KindOf returns the kind of a JSON value.
func KindOf(raw json.RawMessage) string {
	if jsontext.IsNull(raw) {
		return KindNull
	}
	switch raw[0] {
	case '{':
		return KindObject
	case '[':
		return KindArray
	case '"':
		return KindText
	case 't', 'f':
		return KindBoolean
	}
	return KindNumber
}

// LooksLike returns the kind of the value that a text of a cell writes.
func LooksLike(text string) string {
	switch {
	case text == "true" || text == "false":
		return KindBoolean
	case isCanonicalNumber(text):
		return KindNumber
	case strings.HasPrefix(strings.TrimSpace(text), "{"), strings.HasPrefix(strings.TrimSpace(text), "["):
		if value, err := ParseJSON(text); err == nil {
			return KindOf(value)
		}
	}
	return KindText
}

var canonicalNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`)

// isCanonicalNumber reports whether a text is a number that stays the same in programs that have 64 bits for it: no zero
// or plus before it, and at most 15 digits.
func isCanonicalNumber(text string) bool {
	const maxDigits = 15
	if len(text) > 24 || !canonicalNumber.MatchString(text) {
		return false
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	digits := strings.TrimLeft(strings.ReplaceAll(strings.TrimPrefix(mantissa, "-"), ".", ""), "0")
	return len(digits) <= maxDigits
}

// JSONNumber matches a number of JSON.
var JSONNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// ParseJSON reads a JSON text, strictly.
func ParseJSON(text string) (json.RawMessage, error) {
	trimmed := strings.TrimSpace(text)
	// objectRow checks one value within an object, so that one function has all rules.
	row, err := ObjectRow(1, []byte(`{"":`+trimmed+`}`))
	var bad *RowError
	switch {
	case errors.As(err, &bad):
		return nil, errors.New(bad.Fields[0].Reason)
	case err != nil:
		return nil, err
	case len(row.Cells) != 1:
		return nil, errors.New("has more than one value")
	}
	return row.Cells[0].Value, nil
}

// Article returns a word with its article.
func Article(kind string) string {
	if kind == KindObject || kind == KindArray {
		return "an " + kind
	}
	return "a " + kind
}
