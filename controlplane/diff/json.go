package diff

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/runs"
)

// cutString splits a string of a JSON value into its beginning and the hash of the whole, which is empty if the string was not cut. A
// shorter string with such an end was recorded with it.
func cutString(text string) (beginning, hash string) {
	at := len(text) - len(runs.TextEnd) - runs.TextHash
	if at < runs.MaxText || !strings.HasPrefix(text[at:], runs.TextEnd) {
		return text, ""
	}
	return trimPartialRune(text[:at]), text[at+len(runs.TextEnd):]
}

// trimPartialRune removes the rest of a rune from the end of a text that was cut.
func trimPartialRune(text string) string {
	return strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), "\uFFFD")
}

// withEllipses returns a JSON value with an ellipsis at the end of strings that were cut.
func withEllipses(tree any) any {
	switch v := tree.(type) {
	case map[string]any:
		shown := make(map[string]any, len(v))
		for key := range v {
			shown[key] = withEllipses(v[key])
		}
		return shown
	case []any:
		shown := make([]any, len(v))
		for i := range v {
			shown[i] = withEllipses(v[i])
		}
		return shown
	case string:
		if beginning, hash := cutString(v); hash != "" {
			return beginning + "…"
		}
	}
	return tree
}

func sortedKeys(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }

func writeCanonical(b *strings.Builder, tree any) {
	switch v := tree.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, key := range sortedKeys(v) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Quote(key))
			b.WriteByte(':')
			writeCanonical(b, v[key])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeCanonical(b, v[i])
		}
		b.WriteByte(']')
	case string:
		b.WriteString(strconv.Quote(v))
	case float64:
		b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	case json.Number:
		b.WriteString(v.String())
	case bool:
		b.WriteString(strconv.FormatBool(v))
	default:
		b.WriteString("null")
	}
}

// readJSON parses a text that is one JSON value.
func readJSON(text string) (value any, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	ok = decoder.Decode(&value) == nil && !decoder.More()
	return value, ok
}

// rawTree parses the field's JSON as it was recorded.
func (f *field) rawTree() any {
	if tree, ok := readJSON(f.raw); ok {
		return tree
	}
	return f.raw
}
