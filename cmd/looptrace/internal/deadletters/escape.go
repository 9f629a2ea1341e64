package deadletters

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escape makes recorded text safe to print: it must not move the cursor, change colours or the title of the terminal,
// or change the direction of text.
func escape(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			fmt.Fprintf(&b, `\x%02x`, text[i]) // a byte that is not UTF-8
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			writeUTF16(&b, r)
		}
	}
	return b.String()
}

// escapeJSON does the same to JSON, which keeps its meaning: everything but printable text and newlines can only be
// in strings.
func escapeJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) || r == '\n' {
			b.WriteRune(r)
			continue
		}
		writeUTF16(&b, r)
	}
	return b.String()
}

func writeUTF16(b *strings.Builder, r rune) {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}
