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
)

// Text is a recorded text. More tells that there is more of it than Text has.
type Text struct {
	Name string
	Text string
	More bool
}

// Recorded writes texts of a run as a step of a view shows its own: between marks, each cut to about so many tokens.
func Recorded(runID uuid.UUID, texts []Text, tokens int, options Options) (string, error) {
	counter, err := newCounter(options.Encoding)
	if err != nil {
		return "", err
	}
	s := step{span: &runmodel.Span{RunID: runID}}
	for _, t := range texts {
		text := visible(strings.TrimSpace(strings.ToValidUTF8(t.Text, "\uFFFD")))
		if text == "" {
			continue
		}
		more := t.More || len(text) > maxPart
		text = text[:boundary(text, min(len(text), maxPart))]
		s.parts = append(s.parts, part{name: t.Name, text: text, head: counter.head(text, tokens), more: more})
	}
	s.mark = markOf(options.Key, s.span, s.parts)
	return s.recorded(func(text string) string { return text }), nil
}

// Count is how many tokens a text has.
func Count(encoding, text string) (int, error) {
	counter, err := newCounter(encoding)
	if err != nil {
		return 0, err
	}
	return counter.count(text), nil
}

// maxPart bounds one text of a step, in bytes. A step has at most seven: together they have fewer numbers of six digits
// than there are, so that there always is a mark.
const maxPart = 64 << 10

// markOf returns six digits that occur in none of the texts, nor would if format characters were dropped and other
// scripts' digits written as ours. Which digits they are nobody can tell without the key.
func markOf(key []byte, span *runmodel.Span, parts []part) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(span.RunID[:]) // a hash never returns an error
	_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, span.SpanID))
	plain := make([]string, len(parts))
	for i := range parts {
		plain[i] = strings.Map(plainDigit, parts[i].text)
	}
	const numbers, coprime = 1_000_000, 618_033
	for n := binary.BigEndian.Uint64(mac.Sum(nil)) % numbers; ; n = (n + coprime) % numbers {
		mark := fmt.Sprintf("%06d", n)
		if !slices.ContainsFunc(plain, func(text string) bool { return strings.Contains(text, mark) }) {
			return mark
		}
	}
}

// plainDigit drops characters that are not seen and writes every decimal digit as an ASCII one.
func plainDigit(r rune) rune {
	switch {
	case r <= unicode.MaxASCII:
		return r
	case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r):
		return -1
	case !unicode.IsDigit(r):
		return r
	}
	// Decimal digits come in tens, from 0 to 9.
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

// unseen are characters that make a reader see something else than a model reads: those that turn the direction of what
// follows, tags, and the variation selectors of no emoji, in which whole texts can be hidden.
var unseen = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x202a, Hi: 0x202e, Stride: 1}, {Lo: 0x2066, Hi: 0x2069, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe007f, Stride: 1}, {Lo: 0xe0100, Hi: 0xe01ef, Stride: 1}},
}

// visible writes what cannot be seen as its number: \u202e, \U000e0041.
func visible(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unseen, r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.Is(unseen, r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// maxWord bounds a recorded name, in bytes.
const maxWord = 40

// Word makes a recorded name safe to stand among the reader's own words: no spaces, quotes, brackets or marks.
func Word(name string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(name, "_") {
		if b.Len()+utf8.RuneLen(r) > maxWord {
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
