package recorded

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"github.com/gowebpki/jcs"
	"golang.org/x/text/unicode/norm"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// Digest names a text. Two texts are equal if their digests are.
type Digest [sha256.Size]byte

func digestOf(texts ...string) Digest {
	h := sha256.New()
	for _, text := range texts {
		_, _ = h.Write([]byte(text)) // a hash never returns an error
		_, _ = h.Write([]byte{0})
	}
	return Digest(h.Sum(nil))
}

// Canonical returns the canonical form of JSON (RFC 8785), and false for a text that is not JSON. Numbers that a
// double cannot express keep their digits: two of them must not become one.
func Canonical(text string) (string, bool) {
	if !json.Valid([]byte(text)) {
		return "", false
	}
	if !HasLongNumber(text) {
		if out, err := jcs.Transform([]byte(text)); err == nil {
			return string(out), true
		}
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return "", false
	}
	out, err := jsontext.Encode(value)
	return string(out), err == nil
}

// HasLongNumber reports whether a valid JSON text has a number of more digits than a double keeps.
func HasLongNumber(text string) bool {
	const kept = 15
	digits, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
			digits = 0
		case inString:
		case c >= '0' && c <= '9':
			if digits++; digits > kept {
				return true
			}
		case c != '.' && c != '-' && c != '+':
			digits = 0
		}
	}
	return false
}

// CanonicalText returns JSON objects and lists in their canonical form, and other texts in Unicode's composed form with
// white space collapsed.
func CanonicalText(text string) string {
	trimmed := strings.TrimSpace(text)
	if trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') {
		if out, ok := Canonical(trimmed); ok {
			return out
		}
	}
	return Collapsed(text)
}

// Collapsed returns a text in Unicode's composed form with white space collapsed.
func Collapsed(text string) string { return strings.Join(strings.Fields(norm.NFC.String(text)), " ") }
