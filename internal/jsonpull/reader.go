// Package jsonpull reads JSON strictly, front to back, without building a tree: the caller walks objects and arrays
// with callbacks and takes each value as text, as a string or as the original bytes.
//
// Ingest cannot use encoding/json: it must report where a value is, keep numbers as they were written, and reject a
// body that nests too deep or is too dense before it takes memory.
package jsonpull

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrDepth is the error of a Reader whose input nests deeper than allowed.
var ErrDepth = errors.New("JSON nests too deep")

// ErrWeight is the error of a Reader whose decoded input would take more memory than allowed.
var ErrWeight = errors.New("JSON holds too many values")

// Approximate memory of a decoded value besides its bytes: a string header or number in an interface, and the
// overhead of a container.
const (
	valueWeight     = 16
	containerWeight = 112
)

// SyntaxError describes an error in the JSON and its byte offset.
type SyntaxError struct {
	Offset  int
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Message)
}

// Kind is the kind of a JSON value.
type Kind int

// Kinds of JSON values. Invalid stands for the end of the input and for a byte that starts no value.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Reader reads one JSON text. After its first error every method returns a zero value, and Err returns the error.
// Methods that read a value of some kind fail with a syntax error if the next value is of another kind; Kind tells
// which it is.
type Reader struct {
	data      []byte
	pos       int
	spaces    int // white space skipped so far
	depth     int
	maxDepth  int
	weight    int64
	maxWeight int64
	err       error
}

// NewReader returns a Reader of data, which it neither copies nor changes. Containers may nest up to maxDepth, and
// all values together may weigh up to maxWeight.
func NewReader(data []byte, maxDepth int, maxWeight int64) *Reader {
	r := &Reader{data: data, maxDepth: maxDepth, weight: int64(len(data)), maxWeight: maxWeight}
	r.check()
	return r
}

// check is separate from NewReader so that NewReader is inlined and the Reader stays on the caller's stack.
func (r *Reader) check() {
	if !utf8.Valid(r.data) {
		r.fail("not UTF-8")
	}
}

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Weight estimates the memory that the decoded input takes: its bytes and the overhead of the values read so far.
func (r *Reader) Weight() int64 { return r.weight }

// Offset returns the offset of the next byte. Kind skips white space before a value.
func (r *Reader) Offset() int { return r.pos }

// Since returns the input from an earlier Offset up to here.
func (r *Reader) Since(offset int) []byte { return r.data[offset:r.pos] }

// Kind returns the kind of the next value.
func (r *Reader) Kind() Kind {
	r.space()
	if r.err != nil || r.pos == len(r.data) {
		return Invalid
	}
	switch c := r.data[r.pos]; c {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return Number
		}
		return Invalid
	}
}

// Object reads an object. It calls member with every key, duplicates included. member must read the whole value.
func (r *Reader) Object(member func(key []byte)) {
	r.Open('{')
	for first := true; r.More('}', first); first = false {
		if key := r.Key(); r.err == nil {
			member(key)
		}
	}
}

// Array reads an array. It calls element for every element, which must read the whole value.
func (r *Reader) Array(element func(index int)) {
	r.Open('[')
	for i := 0; r.More(']', i == 0); i++ {
		element(i)
	}
}

// Open reads the bracket, [ or {, that begins a container. It is for callers without callbacks, which then call More
// before each element or member, and Key before the value of a member.
func (r *Reader) Open(bracket byte) {
	r.weigh(valueWeight + containerWeight)
	r.space()
	r.expect(bracket)
	if r.err == nil {
		if r.depth++; r.depth > r.maxDepth {
			r.err = ErrDepth
		}
	}
}

// More reports whether the container that ends with bracket, ] or }, has another element. It reads the comma before
// it, or the bracket.
func (r *Reader) More(bracket byte, first bool) bool {
	r.space()
	if r.err != nil {
		return false
	}
	if r.pos < len(r.data) && r.data[r.pos] == bracket {
		r.pos++
		r.depth--
		return false
	}
	if !first {
		if r.pos == len(r.data) || r.data[r.pos] != ',' {
			r.fail("expected ',' or " + strconv.QuoteRune(rune(bracket)))
			return false
		}
		r.pos++
	}
	return true
}

// Key reads the key of a member and the colon after it.
func (r *Reader) Key() []byte {
	r.space()
	key, escaped := r.quoted()
	if escaped {
		key = unescape(key)
	}
	r.space()
	r.expect(':')
	return key
}

// String reads a string. It replaces unpaired surrogates by U+FFFD.
func (r *Reader) String() string {
	r.weigh(valueWeight)
	r.space()
	raw, escaped := r.quoted()
	if !escaped {
		return string(raw)
	}
	return string(unescape(raw))
}

// Text reads any value and returns its original bytes without surrounding white space.
func (r *Reader) Text() []byte {
	r.space()
	from := r.pos
	r.skip()
	if r.err != nil {
		return nil
	}
	return r.data[from:r.pos]
}

// skip reads any value.
func (r *Reader) skip() {
	switch r.Kind() {
	case Object:
		r.Open('{')
		for first := true; r.More('}', first); first = false {
			r.space()
			r.quoted()
			r.space()
			r.expect(':')
			r.skip()
		}
	case Array:
		r.Open('[')
		for first := true; r.More(']', first); first = false {
			r.skip()
		}
	case String:
		r.weigh(valueWeight)
		r.quoted()
	case Number:
		r.weigh(valueWeight)
		r.number()
	case Bool:
		r.weigh(valueWeight)
		if r.data[r.pos] == 't' {
			r.literal("true")
		} else {
			r.literal("false")
		}
	case Null:
		r.weigh(valueWeight)
		r.literal("null")
	default:
		r.fail("expected a value")
	}
}

// CompactText is Text without white space between tokens. It does not change numbers and strings.
func (r *Reader) CompactText() string {
	r.space()
	spaces := r.spaces
	raw := r.Text()
	if r.err != nil || r.spaces == spaces {
		return string(raw)
	}
	var out strings.Builder
	out.Grow(len(raw) - (r.spaces - spaces))
	for i := 0; i < len(raw); {
		switch raw[i] {
		case ' ', '\t', '\n', '\r':
			i++
		case '"':
			end := i + 1
			for raw[end] != '"' {
				if raw[end] == '\\' {
					end++
				}
				end++
			}
			out.Write(raw[i : end+1])
			i = end + 1
		default:
			out.WriteByte(raw[i])
			i++
		}
	}
	return out.String()
}

// End fails if anything but white space is left.
func (r *Reader) End() {
	r.space()
	if r.err == nil && r.pos != len(r.data) {
		r.fail("expected the end")
	}
}

func (r *Reader) fail(message string) {
	if r.err == nil {
		r.err = &SyntaxError{Offset: r.pos, Message: message}
	}
}

// Weigh adds the memory that the caller derives from the input.
func (r *Reader) Weigh(n int64) { r.weigh(n) }

func (r *Reader) weigh(n int64) {
	r.weight += n
	if r.weight > r.maxWeight && r.err == nil {
		r.err = ErrWeight
	}
}

func (r *Reader) space() {
	if r.pos < len(r.data) && r.data[r.pos] > ' ' {
		return
	}
	r.spaceThere()
}

// spaceThere is separate from space so that space is inlined.
func (r *Reader) spaceThere() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
			r.spaces++
		default:
			return
		}
	}
}

func (r *Reader) expect(c byte) {
	if r.err != nil {
		return
	}
	if r.pos == len(r.data) || r.data[r.pos] != c {
		r.fail("expected " + strconv.QuoteRune(rune(c)))
		return
	}
	r.pos++
}

// quoted reads a string and returns the bytes between its quotes.
func (r *Reader) quoted() (raw []byte, escaped bool) {
	r.expect('"')
	if r.err != nil {
		return nil, false
	}
	data, from, at := r.data, r.pos, r.pos
	for {
		at = plain(data, at)
		if at+1 < len(data) && data[at] == '\\' && simpleEscapes[data[at+1]] {
			at += 2
			escaped = true
			continue
		}
		r.pos = at
		switch {
		case at == len(data):
			r.fail("unterminated string")
			return nil, false
		case data[at] == '"':
			r.pos++
			return data[from:at], escaped
		case data[at] != '\\':
			r.fail("control character in a string")
			return nil, false
		}
		escaped = true
		if r.escape(); r.err != nil {
			return nil, false
		}
		at = r.pos
	}
}

// simpleEscapes are the bytes that form an escape with the backslash before them, except u.
var simpleEscapes = func() (table [256]bool) {
	for _, c := range []byte(`"\/bfnrt`) {
		table[c] = true
	}
	return table
}()

// plain returns the offset of the first quote, backslash or control character from at on, or the end. It checks eight
// bytes at once (Warren, Hacker's Delight, 6-1: the lowest bit that it sets marks such a byte).
func plain(data []byte, at int) int {
	const (
		each = 0x0101010101010101
		high = each << 7
		wide = 8
	)
	for ; at <= len(data)-wide; at += wide {
		word := binary.LittleEndian.Uint64(data[at : at+wide])
		quote, escape := word^each*'"', word^each*'\\'
		if ((quote-each)|(escape-each)|(word-each*' '))&high == 0 {
			continue // it has no byte above ASCII either
		}
		if found := ((quote-each)&^quote | (escape-each)&^escape | (word-each*' ')&^word) & high; found != 0 {
			return at + bits.TrailingZeros64(found)/wide
		}
	}
	for at < len(data) && data[at] != '"' && data[at] != '\\' && data[at] >= ' ' {
		at++
	}
	return at
}

func (r *Reader) escape() {
	if r.pos+1 == len(r.data) {
		r.fail("unterminated string")
		return
	}
	switch r.data[r.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		r.pos += 2
	case 'u':
		if r.pos+6 > len(r.data) || hex4(r.data[r.pos+2:]) < 0 {
			r.fail("invalid escape in a string")
			return
		}
		r.pos += 6
	default:
		r.fail("invalid escape in a string")
	}
}

func (r *Reader) literal(text string) {
	if len(r.data)-r.pos < len(text) || string(r.data[r.pos:r.pos+len(text)]) != text {
		r.fail("expected a value")
		return
	}
	r.pos += len(text)
}

func (r *Reader) number() {
	if r.data[r.pos] == '-' {
		r.pos++
	}
	if r.pos < len(r.data) && r.data[r.pos] == '0' {
		r.pos++
	} else {
		r.digits()
	}
	if r.pos < len(r.data) && r.data[r.pos] == '.' {
		r.pos++
		r.digits()
	}
	if r.pos < len(r.data) && (r.data[r.pos] == 'e' || r.data[r.pos] == 'E') {
		r.pos++
		if r.pos < len(r.data) && (r.data[r.pos] == '+' || r.data[r.pos] == '-') {
			r.pos++
		}
		r.digits()
	}
}

func (r *Reader) digits() {
	from := r.pos
	for r.pos < len(r.data) && '0' <= r.data[r.pos] && r.data[r.pos] <= '9' {
		r.pos++
	}
	if r.pos == from {
		r.fail("expected a digit")
	}
}

// unescape resolves the escapes of a string that quoted has checked.
func unescape(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		plain := bytes.IndexByte(raw[i:], '\\')
		if plain < 0 {
			return append(out, raw[i:]...)
		}
		out = append(out, raw[i:i+plain]...)
		i += plain + 1
		switch raw[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			c := hex4(raw[i+1:])
			i += 4
			if utf16.IsSurrogate(c) {
				low := rune(-1)
				if i+6 < len(raw) && raw[i+1] == '\\' && raw[i+2] == 'u' {
					low = hex4(raw[i+3:])
				}
				if c = utf16.DecodeRune(c, low); c != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, c)
		default:
			out = append(out, raw[i])
		}
	}
	return out
}

// hex4 returns the value of four hexadecimal digits, or -1.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var v rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			v = v<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			v = v<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			v = v<<4 | rune(c-'A'+10)
		default:
			return -1
		}
	}
	return v
}
