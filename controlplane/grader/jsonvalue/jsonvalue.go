package jsonvalue

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"github.com/looptrace/looptrace/controlplane/grader/textmetrics"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// Canonical writes a JSON value so that equal values are equal texts: members sorted, numbers in one form with all their digits. It is
// RFC 8785 but for numbers, which need not fit a float64.
func Canonical(b *strings.Builder, value any) {
	switch v := value.(type) {
	case json.Number:
		b.WriteString(canonicalNumber(v))
	case []any:
		b.WriteByte('[')
		for i := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			Canonical(b, v[i])
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for i, name := range SortedKeys(v) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Quote(name))
			b.WriteByte(':')
			Canonical(b, v[name])
		}
		b.WriteByte('}')
	case string:
		b.WriteString(strconv.Quote(v))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	default:
		b.WriteString("null")
	}
}

// Equal compares two JSON values: the order of members and the way numbers are written do not count.
func Equal(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && canonicalNumber(x) == canonicalNumber(y)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, Equal)
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		return Includes(b, a)
	}
	return a == b
}

// Includes reports whether each member of the part is in the whole with an equal value. The parts of objects in objects may lack members
// too; lists are equal as a whole. Values that are not objects are equal.
func Includes(whole, part any) bool {
	x, isObject := part.(map[string]any)
	if !isObject {
		return Equal(whole, part)
	}
	y, ok := whole.(map[string]any)
	if !ok {
		return false
	}
	for name := range x {
		member, ok := y[name]
		if !ok || !Includes(member, x[name]) {
			return false
		}
	}
	return true
}

// JSONDistance compares two JSON values with a limited number of comparisons.
type JSONDistance struct {
	Ctx         context.Context
	cells       int
	Differences []difference
}

// difference is a place where two values differ.
type difference struct {
	Path     string  `json:"path"`
	Score    float64 `json:"score"`
	Expected string  `json:"expected,omitempty"`
	Got      string  `json:"got,omitempty"`
}

// Similarity of a to the reference b, between 0 and 1: of objects the mean over the members of both, of lists the mean over the
// positions of the longer, of texts the Levenshtein ratio, of other values 1 if they are equal.
func (d *JSONDistance) Similarity(path string, a, b any) (float64, error) {
	if err := d.Ctx.Err(); err != nil {
		return 0, err
	}
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return d.objects(path, x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			return d.lists(path, x, y)
		}
	case string:
		if y, ok := b.(string); ok && x != y {
			if d.cells += len(x) * len(y); d.cells > textmetrics.MaxCells {
				return 0, textmetrics.TooLong("json_similarity", "characters of two texts", len(x), len(y))
			}
			distance := levenshtein.ComputeDistance(x, y)
			score := 1 - float64(distance)/float64(max(utf8.RuneCountInString(x), utf8.RuneCountInString(y)))
			d.differ(path, score, b, a)
			return score, nil
		}
	}
	if Equal(a, b) {
		return 1, nil
	}
	d.differ(path, 0, b, a)
	return 0, nil
}

func (d *JSONDistance) objects(path string, a, b map[string]any) (float64, error) {
	sum, n := 0.0, len(a)
	for _, name := range SortedKeys(b) {
		value, ok := a[name]
		if !ok {
			n++
			d.Differences = AppendLimited(d.Differences, difference{Path: path + "." + name, Expected: Shown(b[name])})
			continue
		}
		one, err := d.Similarity(path+"."+name, value, b[name])
		if err != nil {
			return 0, err
		}
		sum += one
	}
	for _, name := range SortedKeys(a) {
		if _, ok := b[name]; !ok {
			d.Differences = AppendLimited(d.Differences, difference{Path: path + "." + name, Got: Shown(a[name])})
		}
	}
	if n == 0 {
		return 1, nil
	}
	return sum / float64(n), nil
}

func (d *JSONDistance) lists(path string, a, b []any) (float64, error) {
	sum, n := 0.0, max(len(a), len(b))
	for i := range n {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= len(a):
			d.Differences = AppendLimited(d.Differences, difference{Path: at, Expected: Shown(b[i])})
		case i >= len(b):
			d.Differences = AppendLimited(d.Differences, difference{Path: at, Got: Shown(a[i])})
		default:
			one, err := d.Similarity(at, a[i], b[i])
			if err != nil {
				return 0, err
			}
			sum += one
		}
	}
	if n == 0 {
		return 1, nil
	}
	return sum / float64(n), nil
}

func (d *JSONDistance) differ(path string, score float64, expected, got any) {
	d.Differences = AppendLimited(d.Differences, difference{path, score, Shown(expected), Shown(got)})
}

// AppendLimited limits the evidence.
func AppendLimited[T any](list []T, one T) []T {
	const most = 50
	if len(list) < most {
		return append(list, one)
	}
	return list
}

// Shown is the beginning of a value, as evidence.
func Shown(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "an object with " + strconv.Itoa(len(v)) + " members"
	case []any:
		return "a list with " + strconv.Itoa(len(v)) + " elements"
	case string:
		return Quote(v)
	}
	text, err := jsontext.Encode(value)
	if err != nil {
		return err.Error()
	}
	return string(text[:min(len(text), 80)])
}
