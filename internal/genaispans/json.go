package genaispans

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/looptrace/looptrace/internal/jsonpull"
)

// maxDepth limits the nesting of JSON in an attribute. Deeper JSON is kept as text.
const maxDepth = 200

// bytesOf returns the bytes of a text without a copy, for a jsonpull.Reader, which does not modify its input. Callers
// create the Reader on their stack, so that it is not allocated.
func bytesOf(text string) []byte {
	return unsafe.Slice(unsafe.StringData(text), len(text)) //nolint:gosec // it is only read
}

// member is a member of a JSON object. Its value is the JSON text that was sent.
type member struct{ key, value string }

// object is one level of a JSON object. Values are not parsed: most are copied unchanged.
type object []member

// get returns the JSON text of the first member that exists, or "".
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

// str returns the content of a member that is a string.
func (o object) str(keys ...string) string {
	plain, _ := jsonString(o.get(keys...))
	return plain
}

// without returns the object as JSON without some members, "" if none is left.
func (o object) without(keys ...string) string {
	b := []byte{'{'}
	for i := range o {
		if slices.Contains(keys, o[i].key) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(appendString(b, o[i].key), ':'), o[i].value...)
	}
	if len(b) == 1 {
		return ""
	}
	return string(append(b, '}'))
}

// plain returns a member as text: the content of a string, or the JSON text of any other value.
func (o object) plain(keys ...string) string {
	value := o.get(keys...)
	if plain, ok := jsonString(value); ok {
		return plain
	}
	return value
}

// at returns a member that is an object.
func (o object) at(keys ...string) object {
	inner, _ := cutObject(o.get(keys...))
	return inner
}

// cutObject is parseObject for text that is known to be JSON, such as an object's members. It does not validate.
func cutObject(text string) (object, bool) {
	if text == "" || text[0] != '{' {
		return nil, false
	}
	s := scanner{text: text, pos: 1, ok: true}
	const typical = 4
	o := make(object, 0, typical)
	for first := true; s.more('}', first); first = false {
		key := s.key()
		s.next()
		from := s.pos
		s.skip()
		if !s.ok {
			break
		}
		if strings.IndexByte(key, '\\') >= 0 {
			key, _ = jsonString(`"` + key + `"`)
		}
		o = append(o, member{key, text[from:s.pos]})
	}
	return o, s.ok
}

// cutArray is parseArray for text that is known to be JSON.
func cutArray(text string) ([]string, bool) {
	if text == "" || text[0] != '[' {
		return nil, false
	}
	s := scanner{text: text, pos: 1, ok: true}
	var elements []string
	for first := true; s.more(']', first); first = false {
		s.next()
		from := s.pos
		s.skip()
		if !s.ok {
			break
		}
		elements = append(elements, text[from:s.pos])
	}
	return elements, s.ok
}

// parseObject splits a JSON object into its members, which are substrings of the text.
func parseObject(text string) (object, bool) {
	if text = strings.TrimLeft(text, " \t\r\n"); text == "" || text[0] != '{' {
		return nil, false
	}
	r := jsonpull.NewReader(bytesOf(text), maxDepth, math.MaxInt64)
	const typical = 8
	o := make(object, 0, typical)
	r.Object(func(key []byte) {
		if value := r.Text(); value != nil {
			o = append(o, member{aliasOf(key), aliasOf(value)})
		}
	})
	r.End()
	return o, r.Err() == nil
}

// parseArray splits a JSON array into its elements, which are substrings of the text.
func parseArray(text string) ([]string, bool) {
	if text = strings.TrimLeft(text, " \t\r\n"); text == "" || text[0] != '[' {
		return nil, false
	}
	r := jsonpull.NewReader(bytesOf(text), maxDepth, math.MaxInt64)
	const typical = 16
	elements := make([]string, 0, typical)
	r.Array(func(int) { elements = append(elements, aliasOf(r.Text())) })
	r.End()
	return elements, r.Err() == nil
}

// aliasOf returns bytes as a string without a copy. They are part of a Reader's input string, or nothing else refers
// to them.
func aliasOf(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // nobody writes into it
}

// jsonString returns the content of a JSON string.
func jsonString(text string) (string, bool) {
	if len(text) < 2 || text[0] != '"' {
		return "", false
	}
	const maxShort = 64
	if inner := text[1 : len(text)-1]; len(inner) <= maxShort && text[len(text)-1] == '"' && isPlain(inner) {
		return inner, true
	}
	r := jsonpull.NewReader(bytesOf(text), maxDepth, math.MaxInt64)
	plain := r.String()
	r.End()
	return plain, r.Err() == nil
}

// isJSON reports whether a text is one JSON value.
func isJSON(text string) bool {
	r := jsonpull.NewReader(bytesOf(text), maxDepth, math.MaxInt64)
	r.Text()
	r.End()
	return r.Err() == nil
}

// parsePython splits a dict that Python has printed into its members. It knows strings, numbers, lists and dicts, and
// returns false for anything else.
func parsePython(text string) (object, bool) {
	plain, ok := pythonJSON(text)
	if !ok {
		return nil, false
	}
	return parseObject(plain)
}

// pythonJSON converts a dict that Python has printed to JSON.
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

// endOfPythonString returns the offset of the quote that ends the string beginning at i, or -1. Strings with escapes
// are not supported.
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

// appendString appends a JSON string. Invalid UTF-8 becomes U+FFFD. It copies eight bytes at a time up to the first
// that needs an escape.
func appendString(b []byte, s string) []byte {
	const minLen = 24
	if len(s) < minLen && isPlain(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	b = append(slices.Grow(b, encodedLen(len(s))), '"')
	from, i := bytesOf(s), 0
	// Bytes above ASCII need a check until all that follows is known to be UTF-8.
	highs, checked := uint64(highBits), false
	for i+wordSize <= len(from) {
		b = slices.Grow(b, encodedLen(len(from)-i))
		to, n := b[:cap(b)], len(b)
		for i <= len(from)-wordSize && n <= len(to)-wordSize-maxEscape {
			w := binary.LittleEndian.Uint64(from[i : i+wordSize])
			binary.LittleEndian.PutUint64(to[n:n+wordSize], w)
			if isPlainWord(w) {
				i, n = i+wordSize, n+wordSize
				continue
			}
			special := escapes(w, highs)
			if special == 0 {
				i, n = i+wordSize, n+wordSize
				continue
			}
			plain := bits.TrailingZeros64(special) / byteSize
			i, n = i+plain, n+plain
			if c := from[i]; c < utf8.RuneSelf {
				i, n = i+1, n+escape(to[n:n+maxEscape], c)
				continue
			}
			if !checked {
				checked = true
				if utf8.Valid(from[i:]) {
					highs = 0
					continue
				}
			}
			r, size := utf8.DecodeRune(from[i:])
			i, n = i+size, n+utf8.EncodeRune(to[n:], r)
		}
		b = b[:n]
	}
	for i < len(from) {
		var end [maxEscape]byte
		switch c := from[i]; {
		case c >= utf8.RuneSelf && highs != 0:
			r, size := utf8.DecodeRune(from[i:])
			b, i = utf8.AppendRune(b, r), i+size
			continue
		case shortEscapes[c] == 0:
			b = append(b, c)
		default:
			b = append(b, end[:escape(end[:], c)]...)
		}
		i++
	}
	return append(b, '"')
}

// isPlain reports whether a string is ASCII without a byte that needs an escape.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; shortEscapes[c] != 0 || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// encodedLen estimates the encoded length of a string of n bytes. Few bytes are escaped.
func encodedLen(n int) int {
	const oneIn = 8
	return n + n/oneIn + wordSize + maxEscape
}

const (
	wordSize, byteSize = 8, 8
	everyByte          = 0x0101010101010101
	highBits           = 0x8080808080808080
	lowBits            = 0x7f7f7f7f7f7f7f7f
	maxEscape          = len(`\u0000`)
)

// escapes marks the bytes of a word that need an escape in a JSON string, and those that have one of the high bits.
// Only the lowest mark is exact. Higher ones may be false.
func escapes(w, highs uint64) uint64 {
	quote, slash := w^(everyByte*'"'), w^(everyByte*'\\')
	return ((quote-everyByte)&^quote|(slash-everyByte)&^slash|(w-everyByte*' ')&^w)&highBits | w&highs
}

// isPlainWord reports whether all bytes of a word are ASCII and none needs an escape.
func isPlainWord(w uint64) bool {
	return ((w^(everyByte*'"')-everyByte)|(w^(everyByte*'\\')-everyByte)|(w-everyByte*' ')|w)&highBits == 0
}

// shortEscapes map a byte to what follows the backslash in its escape, 0 if it has no short escape.
var shortEscapes = func() (table [256]byte) {
	for c := range byte(' ') {
		table[c] = 'u'
	}
	table['"'], table['\\'], table['\n'], table['\r'], table['\t'] = '"', '\\', 'n', 'r', 't'
	return table
}()

// escape writes the escape of a byte, and returns its length.
func escape(to []byte, c byte) int {
	short := shortEscapes[c]
	to[0], to[1] = '\\', short
	if short != 'u' {
		return 2
	}
	return 2 + copy(to[2:], []byte{'0', '0', hexDigits[c>>4], hexDigits[c&0xf]})
}
