package runmodel

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapedWords returns words of the span's inputs, outputs, arguments and result that a search for their text would
// miss, separated by spaces. Those fields hold JSON, whose escapes (RFC 8259, section 7) split or join words: a
// search of "line\nnext" finds "nnext", and one of "Z\u00fcrich" finds "z" and "u00fcrich". Most spans have no such
// words.
func (s *Span) EscapedWords() string {
	var words []byte
	for _, text := range []string{s.Inputs, s.Outputs, s.ToolArguments, s.ToolResult} {
		if strings.IndexByte(text, '\\') >= 0 && isJSON(text) {
			words = appendEscapedWords(words, text)
		}
	}
	return string(words)
}

// isJSON reports whether text looks like an object, a list or a string by its first character.
func isJSON(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && strings.IndexByte(`{["`, text[0]) >= 0
}

// appendEscapedWords appends the words in strings of text that differ from their JSON form, each followed by a space.
func appendEscapedWords(words []byte, text string) []byte {
	start, other := len(words), false // of the word, and whether it differs from its JSON form
	end := func() {
		if other && len(words) > start {
			words = append(words, ' ')
		} else {
			words = words[:start]
		}
		start, other = len(words), false
	}
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			end()
			inString = !inString
		case !inString:
		case c != '\\':
			if isWordByte(c) {
				words = append(words, c)
			} else {
				end()
			}
		default:
			r, length := unescape(text[i:])
			i += length - 1
			switch {
			case r >= utf8.RuneSelf || isWordByte(byte(r)):
				words, other = utf8.AppendRune(words, r), true
			default:
				end()
				other = length > len(`\n`) || isWordByte(text[i]) // the escape's last character looks like the next word's first
			}
		}
	}
	end()
	return words
}

// isWordByte reports whether a byte is part of a word to ClickHouse's splitByNonAlpha.
func isWordByte(c byte) bool {
	return c >= utf8.RuneSelf || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// unescape reads the escape at the start of text. It returns the character, or a space if that is not part of a word,
// and the escape's length.
func unescape(text string) (r rune, length int) {
	const short, long = len(`\n`), len(`\u0000`)
	if len(text) < short {
		return ' ', len(text)
	}
	if text[1] != 'u' || len(text) < long {
		return ' ', short
	}
	n, err := strconv.ParseUint(text[short:long], 16, 16)
	if err != nil {
		return ' ', short
	}
	r = rune(n)
	if utf16.IsSurrogate(r) {
		if len(text) < 2*long || text[long:long+short] != `\u` {
			return ' ', long
		}
		second, err := strconv.ParseUint(text[long+short:2*long], 16, 16)
		if r = utf16.DecodeRune(r, rune(second)); err != nil || r == utf8.RuneError {
			return ' ', long
		}
		return r, 2 * long
	}
	return r, long
}
