// Package utf8text shortens and repairs UTF-8 texts.
package utf8text

import (
	"strings"
	"unicode/utf8"
)

// Cut returns a text of at most n characters. The last one of a text that was cut is "…".
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	characters, end := 0, 0 // end is that of the first n-1 characters
	for i := range text {
		if characters == n-1 {
			end = i
		}
		if characters++; characters > n {
			return text[:end] + "…"
		}
	}
	return text
}

// Bytes returns the beginning of a text: at most n bytes, without a character that they would cut. It does not check the text.
func Bytes(text string, n int) string { return text[:RuneStart(text, n)] }

// RuneStart returns the last index up to i at which a character starts, or the length of a shorter text. It is i if the text is not UTF-8 there.
func RuneStart(text string, i int) int {
	if i >= len(text) {
		return len(text)
	}
	for back := range min(utf8.UTFMax, i+1) {
		if utf8.RuneStart(text[i-back]) {
			return i - back
		}
	}
	return i
}

// NextRuneStart returns the first index from i on at which a character starts, or the length of the text.
func NextRuneStart(text string, i int) int {
	for i < len(text) && !utf8.RuneStart(text[i]) {
		i++
	}
	return min(i, len(text))
}

// Storable returns a text that PostgreSQL stores: UTF-8 without zero bytes. U+FFFD replaces the rest.
func Storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
