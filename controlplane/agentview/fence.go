package agentview

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// Text is a recorded text. More reports that Text is only its beginning.
type Text struct {
	Name string
	Text string
	More bool
}

// Recorded writes texts of a run as a view does: between marks, each cut to about the given number of tokens.
func Recorded(runID uuid.UUID, texts []Text, tokens int, key []byte) string {
	counter := newCounter()
	s := step{span: &runmodel.Span{RunID: runID}}
	for _, t := range texts {
		text := visible(strings.TrimSpace(strings.ToValidUTF8(t.Text, "\uFFFD")))
		if text == "" {
			continue
		}
		more := t.More || len(text) > maxPart
		text = text[:utf8text.RuneStart(text, min(len(text), maxPart))]
		s.parts = append(s.parts, part{name: t.Name, segments: []segment{{text: text}}, text: text, head: counter.head(text, tokens), more: more})
	}
	s.mark = markOf(key, s.span, s.parts)
	return s.recorded(func(text string) string { return text })
}

// Count returns how many tokens a text has.
func Count(text string) int { return newCounter().count(text) }

// maxPart is how many bytes of a text of a step are used. A step has at most seven texts. Together they contain fewer numbers of six
// digits than exist, so a mark can always be found.
const maxPart = 64 << 10

// markOf returns six digits that occur in none of the texts, even if format characters are dropped and other digits are written as ASCII.
// They cannot be predicted without the key.
func markOf(key []byte, span *runmodel.Span, parts []part) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(span.RunID[:]) // a hash never returns an error
	_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, span.SpanID))
	plain := make([]string, len(parts))
	for i := range parts {
		plain[i] = strings.Map(normalizeDigit, parts[i].whole())
	}
	const numbers, coprime = 1_000_000, 618_033
	for n := binary.BigEndian.Uint64(mac.Sum(nil)) % numbers; ; n = (n + coprime) % numbers {
		mark := fmt.Sprintf("%06d", n)
		if !slices.ContainsFunc(plain, func(text string) bool { return strings.Contains(text, mark) }) {
			return mark
		}
	}
}

// normalizeDigit drops invisible characters and writes every decimal digit as an ASCII one.
func normalizeDigit(r rune) rune {
	switch {
	case r <= unicode.MaxASCII:
		return r
	case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r):
		return -1
	case !unicode.IsDigit(r):
		return r
	}
	// Decimal digits are in ranges of ten, from 0 to 9.
	for _, digits := range unicode.Nd.R16 {
		if lo := rune(digits.Lo); lo <= r && r <= rune(digits.Hi) {
			return '0' + (r-lo)%10
		}
	}
	for _, digits := range unicode.Nd.R32 {
		if lo := rune(digits.Lo); lo <= r && r <= rune(digits.Hi) {
			return '0' + (r-lo)%10
		}
	}
	return r
}

// invisible are characters that make people see something else than a model reads: those that change the direction of text, tags, and the
// variation selectors outside emoji, which can hide whole texts.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x202a, Hi: 0x202e, Stride: 1}, {Lo: 0x2066, Hi: 0x2069, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe007f, Stride: 1}, {Lo: 0xe0100, Hi: 0xe01ef, Stride: 1}},
}

// visible escapes invisible characters: \u202e, \U000e0041.
func visible(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(invisible, r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.Is(invisible, r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// maxName is how many bytes a recorded name may have.
const maxName = 40

// SafeName makes a recorded name safe outside of marks. It has no spaces, quotes, brackets or marks.
func SafeName(name string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(name, "_") {
		if b.Len()+utf8.RuneLen(r) > maxName {
			break
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-:", r) {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	return b.String()
}
