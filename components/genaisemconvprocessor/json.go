package genaisemconvprocessor

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/looptrace/looptrace/internal/jsonpull"
)

// maxDepth is how deep JSON in an attribute may nest; what nests deeper is kept as the text that it is.
const maxDepth = 200

// read makes a reader of JSON text, without a copy of it: a jsonpull.Reader does not change what it reads.
func read(text string) *jsonpull.Reader {
	return jsonpull.NewReader(unsafe.Slice(unsafe.StringData(text), len(text)), maxDepth, math.MaxInt64) //nolint:gosec // it is only read
}

// member is a member of a JSON object: its value is the text that was sent.
type member struct{ key, value string }

// object is one level of a JSON object. Its members are cut out and not looked into: most are passed on as they are.
type object []member

// get is the text of a member, "" where there is none.
func (o object) get(keys ...string) string {
	for _, key := range keys {
		for i := range o {
			if o[i].key == key && o[i].value != "null" {
				return o[i].value
			}
		}
	}
	return ""
}

// str is a member that is a string, and what it holds.
func (o object) str(keys ...string) string {
	plain, _ := jsonString(o.get(keys...))
	return plain
}

// plain is a member as text: what a string holds, and the JSON text of another value.
func (o object) plain(keys ...string) string {
	value := o.get(keys...)
	if plain, ok := jsonString(value); ok {
		return plain
	}
	return value
}

// at is a member that is an object.
func (o object) at(keys ...string) object {
	inner, _ := parseObject(o.get(keys...))
	return inner
}

// parseObject cuts a JSON object into its members.
func parseObject(text string) (object, bool) {
	if text = strings.TrimLeft(text, " \t\r\n"); text == "" || text[0] != '{' {
		return nil, false
	}
	r := read(text)
	var o object
	r.Object(func(key []byte) {
		name := string(key)
		if value := r.Text(); value != nil {
			o = append(o, member{name, string(value)})
		}
	})
	r.End()
	return o, r.Err() == nil
}

// parseArray cuts a JSON array into its elements.
func parseArray(text string) ([]string, bool) {
	if text = strings.TrimLeft(text, " \t\r\n"); text == "" || text[0] != '[' {
		return nil, false
	}
	r := read(text)
	var elements []string
	r.Array(func(int) { elements = append(elements, string(r.Text())) })
	r.End()
	return elements, r.Err() == nil
}

// jsonString is what a JSON string holds.
func jsonString(text string) (string, bool) {
	if len(text) < 2 || text[0] != '"' {
		return "", false
	}
	r := read(text)
	plain := r.String()
	r.End()
	return plain, r.Err() == nil
}

// isJSON tells whether a text is one JSON value.
func isJSON(text string) bool {
	r := read(text)
	r.Text()
	r.End()
	return r.Err() == nil
}

// parsePython cuts an object into its members that was printed as Python prints a dict of strings, numbers, lists and
// dicts. ok is false where the text is anything else.
func parsePython(text string) (object, bool) {
	plain, ok := pythonJSON(text)
	if !ok {
		return nil, false
	}
	return parseObject(plain)
}

// pythonJSON is the JSON text of a dict that Python has printed.
func pythonJSON(text string) (string, bool) {
	if !strings.HasPrefix(text, "{'") {
		return "", false
	}
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		c := text[i]
		if c == '\'' || c == '"' {
			end := endOfPythonString(text, i)
			if end < 0 {
				return "", false
			}
			b = appendString(b, text[i+1:end])
			i = end + 1
			continue
		}
		word := 0
		for i+word < len(text) && (text[i+word] >= 'a' && text[i+word] <= 'z' || text[i+word] >= 'A' && text[i+word] <= 'Z') {
			word++
		}
		switch text[i : i+word] {
		case "":
			b, i = append(b, c), i+1
			continue
		case "None":
			b = append(b, "null"...)
		case "True":
			b = append(b, "true"...)
		case "False":
			b = append(b, "false"...)
		default:
			b = append(b, text[i:i+word]...)
		}
		i += word
	}
	return string(b), isJSON(string(b))
}

// endOfPythonString is the place of the quote that ends the string which begins at i, -1 where none does. A string
// with an escape is none that is read here.
func endOfPythonString(text string, i int) int {
	for end := i + 1; end < len(text); end++ {
		switch text[end] {
		case text[i]:
			return end
		case '\\':
			return -1
		}
	}
	return -1
}

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string. What is not UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		i += plainPrefix(s[i:])
		if i == len(s) {
			break
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(b, s[from:i]...)
				b = append(b, "\ufffd"...)
				from = i + 1
			}
			i += size
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
		i++
		from = i
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

// plainPrefix is how many bytes at the beginning of s need no escape, eight at a time.
func plainPrefix(s string) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	i := 0
	bytes := unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // it is only read
	for ; i+8 <= len(bytes); i += 8 {
		w := binary.LittleEndian.Uint64(bytes[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// The high bit of each byte that is below space, a quote, a backslash or not ASCII.
		special := ((w - ones*' ') | (quote - ones) | (slash - ones) | w) & highs
		if special != 0 {
			break
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}
