package datasetfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// The kinds of values that Preview counts.
const (
	kindObject  = "object"
	kindArray   = "array"
	kindNumber  = "number"
	kindBoolean = "boolean"
	kindText    = "text"
	kindNull    = "null"
)

// kindOf returns the kind of a JSON value.
func kindOf(raw json.RawMessage) string {
	if jsontext.IsNull(raw) {
		return kindNull
	}
	switch raw[0] {
	case '{':
		return kindObject
	case '[':
		return kindArray
	case '"':
		return kindText
	case 't', 'f':
		return kindBoolean
	}
	return kindNumber
}

// looksLike returns the kind of the value that a text of a cell writes.
func looksLike(text string) string {
	switch {
	case text == "true" || text == "false":
		return kindBoolean
	case isCanonicalNumber(text):
		return kindNumber
	case strings.HasPrefix(strings.TrimSpace(text), "{"), strings.HasPrefix(strings.TrimSpace(text), "["):
		if value, err := parseJSON(text); err == nil {
			return kindOf(value)
		}
	}
	return kindText
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

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// parseJSON reads a JSON text, strictly.
func parseJSON(text string) (json.RawMessage, error) {
	trimmed := strings.TrimSpace(text)
	// objectRow checks one value within an object, so that one function has all rules.
	row, err := objectRow(1, []byte(`{"":`+trimmed+`}`))
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

// typed gives a value the type of its column. Without a type it stays as it is.
func (t ColumnType) typed(c Cell) (json.RawMessage, *FieldError) {
	refuse := func(what string) (json.RawMessage, *FieldError) {
		value := []byte(c.Value)
		if jsontext.IsString(c.Value) {
			value = []byte(unquote(c.Value))
		}
		return nil, &FieldError{c.Column, what, shown(value)}
	}
	if jsontext.IsNull(c.Value) || t == "" {
		return c.Value, nil
	}
	kind := kindOf(c.Value)
	switch t {
	case TextType:
		switch kind {
		case kindText:
			return c.Value, nil
		case kindNumber, kindBoolean:
			return quoted(string(c.Value)), nil
		}
		return refuse(fmt.Sprintf("is %s, but the column has the type text: choose the type json for the column", article(kind)))
	case JSONType:
		if kind != kindText {
			return c.Value, nil
		}
		value, err := parseJSON(unquote(c.Value))
		if err != nil {
			return refuse("is no JSON (" + err.Error() + "), but the column has the type json: correct it, or choose the type text for the column")
		}
		return value, nil
	case NumberType:
		if kind == kindNumber {
			return c.Value, nil
		}
		if kind == kindText {
			if text := strings.TrimSpace(unquote(c.Value)); jsonNumber.MatchString(text) {
				return json.RawMessage(text), nil
			}
		}
		return refuse("is no number such as 3 or -0.25, but the column has the type number: correct it, or choose the type text for the column")
	case BooleanType:
		if kind == kindBoolean {
			return c.Value, nil
		}
		if kind == kindText {
			if text := strings.ToLower(strings.TrimSpace(unquote(c.Value))); text == "true" || text == "false" {
				return json.RawMessage(text), nil
			}
		}
		return refuse("is neither true nor false, but the column has the type boolean: correct it, or choose the type text for the column")
	}
	return c.Value, nil
}

func article(kind string) string {
	if kind == kindObject || kind == kindArray {
		return "an " + kind
	}
	return "a " + kind
}
