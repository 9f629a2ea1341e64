package datasetfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/looptrace/looptrace/internal/jsonpull"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// ObjectRow makes a row of a JSON object, whose members are its cells. line is that at which it begins.
func ObjectRow(line int64, raw []byte) (Row, error) {
	r := jsonpull.NewReader(raw, MaxDepth, math.MaxInt64)
	c := jsonChecker{r: r}
	if kind := r.Kind(); r.Err() == nil && kind != jsonpull.Object && kind != jsonpull.Invalid {
		return Row{}, RowErrorf(line, raw, "is %s, not an object: write {\"input\": …}", kindNames[kind])
	}
	const usual = 8
	row := Row{line, make([]Cell, 0, usual)}
	c.object(func(name string) {
		r.Kind()
		from := r.Offset()
		c.value()
		if c.err == nil {
			row.Cells = append(row.Cells, Cell{name, r.Since(from)})
		}
	})
	if c.err == nil && r.Err() == nil {
		r.End()
	}
	switch err := r.Err(); {
	case c.err != nil:
		return Row{}, &RowError{line, []FieldError{*c.err}}
	case err != nil:
		return Row{}, syntaxError(line, raw, err)
	case len(row.Cells) > MaxColumns:
		return Row{}, RowErrorf(line, raw, "has %d members: at most %d can be read", len(row.Cells), MaxColumns)
	}
	if bytes.ContainsAny(raw, "\r\n") {
		for i, cell := range row.Cells {
			var compact bytes.Buffer
			if err := json.Compact(&compact, cell.Value); err != nil {
				return Row{}, RowErrorf(line, raw, "cannot be read as JSON: %v", err)
			}
			row.Cells[i].Value = compact.Bytes()
		}
	}
	return row, nil
}

// CheckValue returns why a member of an item, which is valid JSON, could not be read from a file again. It is empty if it could.
func CheckValue(value json.RawMessage) (reason string) {
	r := jsonpull.NewReader(value, MaxDepth-1, math.MaxInt64) // in a file it is a member of an object
	c := jsonChecker{r: r}
	c.value()
	switch {
	case c.err != nil:
		return c.err.Reason
	case errors.Is(r.Err(), jsonpull.ErrDepth):
		return fmt.Sprintf("nests more than %d deep", MaxDepth-1)
	}
	return ""
}

var kindNames = map[jsonpull.Kind]string{
	jsonpull.Null: "null", jsonpull.Bool: "a boolean", jsonpull.Number: "a number", jsonpull.String: "a string",
	jsonpull.Array: "a list", jsonpull.Object: "an object",
}

// jsonChecker reads JSON and refuses what decoders would change in silence: members that an object has twice, and halves
// of surrogate pairs.
type jsonChecker struct {
	r    *jsonpull.Reader
	path []string
	err  *FieldError
}

// MaxMembers is how many members an object may have, whose names are kept to find those that it has twice.
const MaxMembers = 100_000

func (c *jsonChecker) object(member func(name string)) {
	// Most objects are small: they need no map.
	var names []string
	var many map[string]bool
	n := 0
	c.r.Object(func(key []byte) {
		if n++; n > MaxMembers {
			c.refuse(fmt.Sprintf("has an object of more than %d members", MaxMembers), nil)
		}
		if c.err != nil {
			c.r.Text()
			return
		}
		name := string(key)
		if many == nil && len(names) == 16 {
			many = map[string]bool{}
			for _, n := range names {
				many[n] = true
			}
		}
		twice := many[name]
		if many == nil {
			for _, n := range names {
				twice = twice || n == name
			}
			names = append(names, name)
		} else {
			many[name] = true
		}
		if twice {
			c.refuse(fmt.Sprintf("has the member %s twice: keep one", Shown([]byte(strconv.Quote(name)))), nil)
		}
		c.path = append(c.path, name)
		member(name)
		c.path = c.path[:len(c.path)-1]
	})
}

func (c *jsonChecker) value() {
	switch c.r.Kind() {
	case jsonpull.Object:
		c.object(func(string) { c.value() })
	case jsonpull.Array:
		c.r.Array(func(int) { c.value() })
	case jsonpull.String:
		if text := c.r.Text(); bytes.Contains(text, []byte(`\u`)) && hasHalfSurrogate(text) {
			c.refuse(`has a \u escape that is half of a surrogate pair: write both halves`, text)
		}
	default:
		c.r.Text()
	}
}

func (c *jsonChecker) refuse(reason string, value []byte) {
	if c.err != nil {
		return
	}
	c.err = &FieldError{Reason: reason, Value: Shown(value)}
	if len(c.path) > 0 {
		c.err.Column = c.path[0]
	}
	if len(c.path) > 1 {
		c.err.Reason = "at " + Shown([]byte(strings.Join(c.path, "."))) + ": " + reason
	}
}

// hasHalfSurrogate reports whether a JSON string, which is valid otherwise, has one half of a surrogate pair alone.
func hasHalfSurrogate(text []byte) bool {
	high := false
	for i := 0; i < len(text); {
		if text[i] != '\\' || text[i+1] != 'u' {
			if high {
				return true
			}
			if text[i] == '\\' {
				i++
			}
			i++
			continue
		}
		unit, err := strconv.ParseUint(string(text[i+2:i+6]), 16, 16)
		isHigh, isLow := err == nil && unit >= 0xd800 && unit < 0xdc00, err == nil && unit >= 0xdc00 && unit < 0xe000
		if high != isLow {
			return true
		}
		high = isHigh
		i += 6
	}
	return high
}

// syntaxError says where JSON is wrong and what would be right.
func syntaxError(line int64, raw []byte, err error) error {
	if errors.Is(err, jsonpull.ErrDepth) {
		return RowErrorf(line, raw, "nests more than %d deep", MaxDepth)
	}
	var syntax *jsonpull.SyntaxError
	if !errors.As(err, &syntax) {
		return RowErrorf(line, raw, "cannot be read as JSON: %v", err)
	}
	before := raw[:min(syntax.Offset, len(raw))]
	rest := raw[len(before):]
	start := bytes.LastIndexByte(before, '\n') + 1
	at := fmt.Sprintf("line %d, character %d", line+int64(bytes.Count(before, []byte("\n"))), utf8.RuneCount(before[start:])+1)
	return &RowError{line, []FieldError{{Reason: "is no JSON: " + at + ": " + syntaxRemedy(rest, syntax.Message), Value: Shown(rest)}}}
}

func syntaxRemedy(rest []byte, message string) string {
	for _, word := range []string{"NaN", "-NaN", "Infinity", "-Infinity", "nfinity"} {
		if bytes.HasPrefix(rest, []byte(word)) || message == "expected a digit" && bytes.HasPrefix(rest, []byte("Infinity")) {
			return strings.TrimSpace("JSON has no NaN and no Infinity: write null or a text")
		}
	}
	switch {
	case len(rest) == 0:
		return "it ends too early"
	case bytes.HasPrefix(rest, []byte("None")), bytes.HasPrefix(rest, []byte("True")), bytes.HasPrefix(rest, []byte("False")):
		return "this is Python: write null, true or false, as json.dumps does"
	case rest[0] == '\'':
		return "names and texts have double quotes, as json.dumps writes them"
	case rest[0] == '}' || rest[0] == ']':
		return message + "; remove the comma before " + string(rest[:1])
	case message == "control character in a string":
		return `a text has a control character: write it as an escape, such as \n`
	case message == "expected the end":
		return "more follows after the object: write each object in a line of its own"
	}
	return message
}

// AppendString appends a text, which is UTF-8, as a JSON string. It escapes only what must be.
func AppendString(to []byte, s []byte) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	from := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		to = append(to, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			to = append(to, '\\', c)
		case '\n':
			to = append(to, '\\', 'n')
		case '\r':
			to = append(to, '\\', 'r')
		case '\t':
			to = append(to, '\\', 't')
		default:
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	to = append(to, s[from:]...)
	return append(to, '"')
}

// Quoted writes a text as JSON.
func Quoted(s string) json.RawMessage {
	return AppendString(make([]byte, 0, len(s)+2), []byte(s))
}

// Unquote returns the text of a JSON string that has been checked.
func Unquote(raw json.RawMessage) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	return jsonpull.NewReader(raw, 1, math.MaxInt64).String()
}

// AppendObject appends an object with these members.
func AppendObject(to []byte, members []Cell) json.RawMessage {
	to = append(to, '{')
	for i, m := range members {
		if i > 0 {
			to = append(to, ',')
		}
		to = AppendString(to, []byte(m.Column))
		to = append(to, ':')
		to = append(to, m.Value...)
	}
	return append(to, '}')
}

// Members returns the members of an object that has been checked, in their order.
func Members(raw json.RawMessage) []Cell {
	if !jsontext.IsObject(raw) {
		return nil
	}
	var cells []Cell
	r := jsonpull.NewReader(raw, MaxDepth+1, math.MaxInt64)
	r.Object(func(key []byte) { cells = append(cells, Cell{string(key), r.Text()}) })
	return cells
}

// Elements returns the elements of a list that has been checked.
func Elements(raw json.RawMessage) []json.RawMessage {
	if !jsontext.IsArray(raw) {
		return nil
	}
	var list []json.RawMessage
	r := jsonpull.NewReader(raw, MaxDepth+1, math.MaxInt64)
	r.Array(func(int) { list = append(list, r.Text()) })
	return list
}
