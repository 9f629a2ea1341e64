package judge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/looptrace/looptrace/controlplane/tokens"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// A part of a message stands in a fence:
//
//	⟦output 9f2c41d07be85a36⟧
//	the text
//	⟦end of output 9f2c41d07be85a36⟧
//
// In the text a ⟦ is written ⟦U+27E6⟧, so that the text can begin neither a fence nor a mark of what was left out, whatever it knows. The
// sixteen digits are the marker. It is the same for all parts of a message, and a hash of them and of the seed of the evaluation: who knows
// all texts and the seed cannot write a text with the marker of its own message either, since it would have to contain its own hash.

// part is a text to judge, with its name in the fence.
type part struct {
	name string
	text string
	// leftOut is how many characters of the text are not shown.
	leftOut int
}

// Cut is a part of which not everything was shown to the judge.
type Cut struct {
	Part string `json:"part"`
	// Characters is how many were left out of the middle, in Unicode code points.
	Characters int `json:"characters"`
}

// markerOf returns the marker of a message.
func markerOf(parts []part, seed int64) string {
	mac := hmac.New(sha256.New, binary.BigEndian.AppendUint64([]byte(Format+" fence\n"), uint64(seed)))
	write := func(text string) { // a hash never returns an error
		_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		_, _ = mac.Write([]byte(text))
	}
	for i := range parts {
		write(parts[i].name)
		write(parts[i].text)
	}
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// fenced writes a part whose text was escaped.
func (p *part) fenced(marker string) string {
	return fmt.Sprintf("⟦%[1]s %[2]s⟧\n%[3]s\n⟦end of %[1]s %[2]s⟧", p.name, marker, p.text)
}

// newPart returns a part with its text escaped, and cut in the middle to about limit tokens.
func newPart(name, text string, limit int) (part, error) {
	escaped := escape(strings.ToValidUTF8(text, "\uFFFD"))
	shown, err := tokensOf(escaped, limit, false)
	if err != nil {
		return part{}, err
	}
	if shown == len(escaped) {
		return part{name: name, text: escaped}, nil
	}
	head, err := tokensOf(escaped, limit-limit/2, false)
	if err != nil {
		return part{}, err
	}
	tail, err := tokensOf(escaped, limit/2, true)
	if err != nil {
		return part{}, err
	}
	from, to := outsideEscapes(escaped, head, len(escaped)-tail)
	if to <= from {
		return part{name: name, text: escaped}, nil
	}
	p := part{name: name, leftOut: utf8.RuneCountInString(unescape(escaped[from:to]))}
	p.text = fmt.Sprintf("%s\n⟦%d characters left out here⟧\n%s", escaped[:from], p.leftOut, escaped[to:])
	return p, nil
}

// outsideEscapes widens a range of an escaped text until it divides no escape.
func outsideEscapes(escaped string, from, to int) (wideFrom, wideTo int) {
	if open := strings.LastIndex(escaped[:from], opening); open >= 0 && !strings.Contains(escaped[open:from], closing) {
		from = open
	}
	if open := strings.LastIndex(escaped[:to], opening); open >= 0 {
		if end := strings.Index(escaped[open:], closing); end >= 0 && open+end+len(closing) > to {
			to = open + end + len(closing)
		}
	}
	return from, to
}

// chunk is how many bytes are divided into tokens at once: the time for a long word without spaces grows with the square of its length.
const chunk = 2 << 10

// tokensOf returns how many bytes the first tokens of a text take, or the last ones.
func tokensOf(text string, limit int, last bool) (int, error) {
	codec := tokens.Codec()
	size := 0
	for size < len(text) {
		if limit <= 0 {
			return size, nil
		}
		var piece string
		if rest := len(text) - size; last {
			piece = text[utf8text.RuneStart(text, rest-min(rest, chunk)):rest]
		} else {
			piece = text[size : size+utf8text.RuneStart(text[size:], min(rest, chunk))]
		}
		_, found, err := codec.Encode(piece)
		if err != nil {
			return 0, fmt.Errorf("count tokens: %w", err)
		}
		if len(found) <= limit {
			limit -= len(found)
			size += len(piece)
			continue
		}
		if last {
			kept := len(strings.Join(found[len(found)-limit:], ""))
			return size + len(piece) - utf8text.NextRuneStart(piece, len(piece)-kept), nil
		}
		return size + utf8text.RuneStart(piece, len(strings.Join(found[:limit], ""))), nil
	}
	return size, nil
}

const (
	opening = "⟦"
	closing = "⟧"
)

// escape writes the character that begins a fence, those that look like it, and those that people do not see, as ⟦U+27E6⟧.
func escape(text string) string {
	if strings.IndexFunc(text, escapes) < 0 {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case !escapes(r), r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "⟦U+%04X⟧", r)
		}
	}
	return b.String()
}

// escapes reports whether a character is escaped. A carriage return before a newline is not, nor are the joiners inside of words and emoji.
func escapes(r rune) bool {
	switch r {
	case '⟦', '〚', '\u2028', '\u2029':
		return true
	case '\n', '\t', '\u200c', '\u200d':
		return false
	}
	// Cc are control characters, Cf those that change the direction of text, tags and other invisible ones. Selectors of variants beyond
	// those of emoji can hide whole texts.
	return unicode.In(r, unicode.Cc, unicode.Cf) || 0xE0100 <= r && r <= 0xE01EF
}

// unescape returns the text that was escaped.
func unescape(escaped string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(escaped, opening+"U+")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		digits, rest, _ := strings.Cut(rest, closing)
		if r, err := strconv.ParseInt(digits, 16, 32); err == nil {
			b.WriteRune(rune(r))
		}
		escaped = rest
	}
}
