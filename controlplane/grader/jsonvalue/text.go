package jsonvalue

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// Quote quotes the beginning of a text.
func Quote(text string) string {
	const maxBytes = 80
	if len(text) <= maxBytes {
		return strconv.Quote(text)
	}
	return strconv.Quote(utf8text.Bytes(text, maxBytes) + "…")
}

// List writes names as in a sentence.
func List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// SortedKeys returns the names of the members of an object, sorted.
func SortedKeys[V any](object map[string]V) []string { return slices.Sorted(maps.Keys(object)) }

// MaxExpression is the most bytes of an expression.
const MaxExpression = 2000
