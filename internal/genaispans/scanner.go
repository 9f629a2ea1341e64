package genaispans

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// scanner walks JSON text without validating it: it looks only at quotes and brackets. That is many times faster than
// parsing, and enough to find keys.
type scanner struct {
	text string
	pos  int
	ok   bool
}

// next returns the next byte that is not white space, 0 at the end.
func (s *scanner) next() byte {
	if s.pos < len(s.text) {
		if c := s.text[s.pos]; c > ' ' {
			return c
		}
	}
	return s.nextAfterSpace()
}

func (s *scanner) nextAfterSpace() byte {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	s.ok = false
	return 0
}

// take consumes a byte if it is the next.
func (s *scanner) take(c byte) bool {
	if s.next() != c {
		return false
	}
	s.pos++
	return true
}

// str consumes a string and returns the text between its quotes.
func (s *scanner) str() string {
	if s.next() != '"' {
		s.ok = false
		return ""
	}
	from := s.pos + 1
	end := endOfString(s.text, from)
	if end < 0 {
		s.ok = false
		s.pos = from
		return ""
	}
	s.pos = end + 1
	return s.text[from:end]
}

// endOfString returns the offset of the quote that ends the JSON string whose text begins at from, or -1.
func endOfString(text string, from int) int {
	if from+wordSize <= len(text) { // names and the like
		if i := from + bits.TrailingZeros64(zeroBytes(wordAt(text, from)^everyByte*'"'))/byteSize; i < from+wordSize && (i == from || text[i-1] != '\\') {
			return i
		}
	}
	i := from
	for escapes := 1; ; escapes++ {
		next := strings.IndexByte(text[i:], '"')
		if next < 0 {
			return -1
		}
		i += next
		before := i - 1
		for before >= from && text[before] == '\\' {
			before--
		}
		if (i-before)%2 == 1 {
			return i
		}
		i++
		const minEscapes, maxGap = 8, 24 // bytes between escapes
		if escapes > minEscapes && i-from < escapes*maxGap {
			return endOfDense(text, i)
		}
	}
}

// endOfDense is endOfString for text that is full of escaped quotes, such as JSON in JSON from tools: it reads eight
// bytes at a time without branches.
func endOfDense(text string, i int) int {
	next := uint64(0) // marks the first byte of a word if it is escaped
	for ; i+wordSize <= len(text); i += wordSize {
		w := wordAt(text, i)
		slashes := zeroBytes(w ^ everyByte*'\\')
		escaped := slashes<<byteSize | next
		next = slashes >> (wordSize*byteSize - byteSize)
		if slashes&escaped != 0 {
			escaped, next = escapedBytes(slashes, escaped)
		}
		if ends := zeroBytes(w^everyByte*'"') &^ escaped; ends != 0 {
			return i + bits.TrailingZeros64(ends)/byteSize
		}
	}
	for ; i < len(text); i++ {
		switch {
		case next != 0:
			next = 0
		case text[i] == '"':
			return i
		case text[i] == '\\':
			next = 1
		}
	}
	return -1
}

// wordAt returns the eight bytes at i as a little-endian word.
func wordAt(text string, i int) uint64 {
	return binary.LittleEndian.Uint64(bytesOf(text)[i:])
}

// zeroBytes marks the zero bytes of a word by their high bit.
func zeroBytes(w uint64) uint64 {
	return ^((w&lowBits + lowBits) | w | lowBits)
}

// escapedBytes marks the bytes that a backslash escapes. Only the first byte of escaped is used, which carries over
// from the previous word.
func escapedBytes(slashes, escaped uint64) (all, next uint64) {
	const firstByte = 1<<byteSize - 1
	all = escaped & firstByte
	for mark := uint64(highBits & firstByte); mark != 0; mark <<= byteSize {
		if slashes&mark&^all != 0 {
			all |= mark << byteSize
			next = mark >> (wordSize*byteSize - byteSize)
		}
	}
	return all, next
}

// skip skips a value.
func (s *scanner) skip() {
	depth := 0
	for s.ok {
		switch s.next() {
		case '"':
			s.str()
		case '{', '[':
			depth++
			s.pos++
			continue
		case '}', ']':
			depth--
			s.pos++
		case ',', ':':
			s.pos++
			continue
		default:
			s.skipLiteral()
		}
		if depth <= 0 {
			s.ok = s.ok && depth == 0
			return
		}
	}
}

// skipLiteral skips a number or another value without quotes.
func (s *scanner) skipLiteral() {
	for ; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case ',', ']', '}', ' ', '\t', '\r', '\n':
			return
		}
	}
}

// open consumes the bracket that begins a list or an object.
func (s *scanner) open(bracket byte) {
	if !s.take(bracket) {
		s.ok = false
	}
}

// more consumes the comma before the next element of the open list or object and returns true, or consumes its
// closing bracket and returns false.
func (s *scanner) more(bracket byte, first bool) bool {
	if !s.ok {
		return false
	}
	switch c := s.next(); {
	case c == bracket:
		s.pos++
		return false
	case first:
	case c == ',':
		if s.pos++; s.pos < len(s.text) && s.text[s.pos] == ' ' { // as Python writes it
			s.pos++
		}
	default:
		s.ok = false
	}
	return s.ok
}

// key consumes the key of a member and its colon.
func (s *scanner) key() string {
	if from := s.pos + 1; from+2*wordSize <= len(s.text) && s.text[s.pos] == '"' { // most are short
		end := from + bits.TrailingZeros64(zeroBytes(wordAt(s.text, from)^everyByte*'"'))/byteSize
		if end < from+wordSize && s.text[end+1] == ':' && s.text[end-1] != '\\' {
			if s.pos = end + 2; s.text[s.pos] == ' ' {
				s.pos++
			}
			return s.text[from:end]
		}
	}
	key := s.str()
	if !s.take(':') {
		s.ok = false
	}
	return key
}

// isCanonicalFrom reports whether messages have the newest format. Part types that the conventions do not define are
// valid, except other names for defined ones. from is 0, or the offset after the last message known to be valid.
func isCanonicalFrom(text string, from int) bool {
	s := scanner{text: text, pos: from, ok: true}
	if from == 0 {
		s.open('[')
	}
	for first := from == 0; s.more(']', first); first = false {
		s.ok = s.canonicalMessage() && s.ok
	}
	return s.ok && s.atEnd()
}

func (s *scanner) canonicalMessage() bool {
	hasRole, hasParts, isUser, onlyResults := false, false, false, false
	s.open('{')
	for first := true; s.more('}', first); first = false {
		switch key := s.key(); key {
		case "role":
			hasRole = true
			if s.next() != '"' {
				return false
			}
			role := s.str()
			isUser = role == "user"
			if !canonicalRole(role) {
				return false
			}
		case "parts":
			hasParts = true
			var canonical bool
			if canonical, onlyResults = s.canonicalParts(); !canonical {
				return false
			}
		case "content", "tool_calls", "tool_call_id", "function_call", "kwargs", "message":
			return false
		default:
			s.skip()
		}
	}
	return hasRole && hasParts && (!isUser || !onlyResults)
}

func (s *scanner) atEnd() bool {
	return strings.TrimSpace(s.text[s.pos:]) == ""
}

func canonicalRole(role string) bool {
	switch role {
	case "model", "human", "ai", "function", "":
		return false
	}
	return role[0] >= 'a' && role[0] <= 'z'
}

// canonicalParts checks a list of parts. onlyResults is true if the list has elements and all are tool results.
func (s *scanner) canonicalParts() (good, onlyResults bool) {
	if s.next() != '[' {
		return false, false
	}
	s.pos++
	results, others := 0, 0
	for first := true; s.more(']', first); first = false {
		kind, canonical := s.canonicalPart()
		if !canonical {
			return false, false
		}
		if kind == "tool_call_response" {
			results++
		} else {
			others++
		}
	}
	return true, results > 0 && others == 0
}

func (s *scanner) canonicalPart() (kind string, good bool) {
	bare, hasContent := false, false
	s.open('{')
	for first := true; s.more('}', first); first = false {
		switch s.key() {
		case "type":
			if s.next() != '"' {
				return "", false
			}
			kind = s.str()
			continue
		case "content":
			hasContent = true
		case "result", "data", "text", "thinking", "thought", "input", "url":
			bare = true
		}
		if s.next() == '"' {
			s.str()
		} else {
			s.skip()
		}
	}
	switch kind {
	case "text", "reasoning":
		return kind, hasContent && !bare
	case "tool_call", "tool_call_response", "blob", "uri", "file":
		return kind, !bare
	}
	return kind, kind != "" && !aliasParts[kind]
}

// canonicalTools reports whether tool definitions have the newest format: a list of objects with a type and a name.
func canonicalTools(text string) bool {
	s := scanner{text: text, ok: true}
	s.open('[')
	for first := true; s.more(']', first); first = false {
		hasType, hasName := false, false
		s.open('{')
		for first := true; s.more('}', first); first = false {
			switch s.key() {
			case "type":
				hasType = true
			case "name":
				hasName = true
			case "function", "input_schema", "inputSchema", "toolSpec", "functionDeclarations", "function_declarations",
				"parametersJsonSchema", "parameters_json_schema":
				return false
			}
			s.skip()
		}
		s.ok = s.ok && hasType && hasName
	}
	return s.ok && s.atEnd()
}

// canonicalInstructions reports whether system instructions are a list of parts with a content.
func canonicalInstructions(text string) bool {
	s := scanner{text: text, ok: true}
	good, _ := s.canonicalParts()
	return good && s.ok && s.atEnd()
}
