package runmodel

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapedWords are the words of the span's inputs, outputs, arguments and result, with spaces between, that a search does not find
// there, since they are JSON and have escapes (RFC 8259, section 7): in "line\nnext" it would find "nnext", in "Z\u00fcrich" "z"
// and "u00fcrich". Most spans have none.
func (s *Span) EscapedWords() string {
	var words []byte
	for _, text := range []string{s.Inputs, s.Outputs, s.ToolArguments, s.ToolResult} {
		if strings.IndexByte(text, '\\') >= 0 && isJSON(text) {
			words = appendEscapedWords(words, text)
		}
	}
	return string(words)
}

// isJSON reports whether text is an object, a list or a string, as far as its first character tells.
func isJSON(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && strings.IndexByte(`{["`, text[0]) >= 0
}

// appendEscapedWords adds the words in strings of text, each with a space, that are not as they stand there.
func appendEscapedWords(words []byte, text string) []byte {
	start, other := len(words), false // of the word, and whether it is another than in text
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
				other = length > len(`\n`) || isWordByte(text[i]) // its last character is taken for the next word's first
			}
		}
	}
	end()
	return words
}

// isWordByte reports whether ClickHouse's splitByNonAlpha leaves a byte in its word.
func isWordByte(c byte) bool {
	return c >= utf8.RuneSelf || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// unescape reads the escape that text begins with: what it stands for, a space where that is no word's, and its length.
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
