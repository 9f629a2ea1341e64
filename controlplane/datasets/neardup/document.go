package neardup

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/looptrace/looptrace/internal/jsonpull"
)

// maxDepth is what inputs may nest. encoding/json, which has read them before, allows as much.
const maxDepth = 10_000

// document is a normalized input. It is used again for the next one.
type document struct {
	leaves []leaf
	// text has the words of all leaves, each followed by a space.
	text  []byte
	words []word
	set   []uint64
	chars []uint64
	runes []uint64
	// hashed is what the digest is of.
	hashed []byte
}

// leaf is a text, a number or a Boolean.
type leaf struct {
	// place is the hash of its path, and path that without places in arrays.
	place, path uint64
	// words and text are its part of the document.
	words, text part
	// out is whether it is left out of shingles.
	out bool
}

type part struct{ from, to int }

type word struct {
	hash   uint64
	number bool
}

// read reads an input.
func (d *document) read(input []byte) error {
	d.leaves, d.text, d.words = d.leaves[:0], d.text[:0], d.words[:0]
	r := jsonpull.NewReader(input, maxDepth, math.MaxInt64)
	d.value(r, 0, 0)
	r.End()
	if err := r.Err(); err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	slices.SortStableFunc(d.leaves, func(a, b leaf) int { return cmp.Compare(a.place, b.place) })
	return nil
}

func (d *document) value(r *jsonpull.Reader, place, path uint64) {
	switch r.Kind() {
	case jsonpull.Object:
		r.Object(func(key []byte) {
			hash := hashBytes(key)
			d.value(r, join(place, hash), join(path, hash))
		})
	case jsonpull.Array:
		r.Array(func(index int) { d.value(r, join(place, uint64(index)), join(path, 1)) })
	case jsonpull.String:
		if text := r.Text(); !bytes.Contains(text, []byte{'\\'}) {
			d.leaf(bytes.Trim(text, `"`), place, path) // without a copy
		} else {
			d.leaf([]byte(jsonpull.NewReader(text, 1, math.MaxInt64).String()), place, path)
		}
	case jsonpull.Null:
		r.Text()
	default:
		d.leaf(r.Text(), place, path)
	}
}

// leaf adds a text.
func (d *document) leaf(text []byte, place, path uint64) {
	l := leaf{place: place, path: path, words: part{from: len(d.words)}, text: part{from: len(d.text)}}
	d.split(text)
	l.words.to, l.text.to = len(d.words), len(d.text)
	if l.words.from < l.words.to {
		d.leaves = append(d.leaves, l)
	}
}

// split adds the words of a text.
func (d *document) split(text []byte) {
	if !norm.NFC.IsNormal(text) {
		text = norm.NFC.Bytes(text)
	}
	from := len(d.text)
	end := func() {
		if len(d.text) > from {
			one := d.text[from:]
			first, n := utf8.DecodeRune(one)
			d.words = append(d.words, word{hashBytes(one), unicode.IsDigit(first) || first == '-' && len(one) > n})
			d.text = append(d.text, ' ')
			from = len(d.text)
		}
	}
	before := ' '
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		i += n
		switch class(r) {
		case inWord:
			d.text = utf8.AppendRune(d.text, unicode.ToLower(r))
		case ownWord:
			end()
			next, _ := utf8.DecodeRune(text[i:])
			if unicode.Is(unicode.Dash, r) {
				r = '-'
			}
			d.text = utf8.AppendRune(d.text, r)
			negative := r == '-' && unicode.IsDigit(next) && class(before) != inWord
			if !negative && !unicode.IsMark(next) {
				end()
			}
		case inNumber:
			if next, _ := utf8.DecodeRune(text[i:]); unicode.IsDigit(before) && unicode.IsDigit(next) {
				d.text = append(d.text, byte(r))
			} else {
				end()
			}
		case between:
			end()
		case nothing:
		}
		before = r
	}
	end()
}

// classes of characters.
type classOfRune uint8

const (
	inWord classOfRune = iota
	// ownWord is a word of its own.
	ownWord
	// inNumber is part of a number between digits, and otherwise between words.
	inNumber
	between
	// nothing is left out, also within words.
	nothing
)

func class(r rune) classOfRune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
		return inWord
	case r == ' ':
		return between
	case r == '.', r == ',':
		return inNumber
	case r == '\'', r == '’':
		return nothing
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && !unicode.IsMark(r):
		return ownWord
	case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
		return inWord
	case unicode.Is(unicode.Cf, r):
		return nothing
	case unicode.IsSpace(r), unicode.IsControl(r), unicode.In(r, unicode.Terminal_Punctuation, unicode.Quotation_Mark), r == '…', r == '¿', r == '¡':
		return between
	default:
		return ownWord
	}
}

// digest is that of all leaves. Equal documents have the same leaves in the same places.
func (d *document) digest() digest {
	d.hashed = d.hashed[:0]
	for _, l := range d.leaves {
		text := d.text[l.text.from:l.text.to]
		d.hashed = binary.LittleEndian.AppendUint64(d.hashed, l.place)
		d.hashed = binary.LittleEndian.AppendUint64(d.hashed, uint64(len(text)))
		d.hashed = append(d.hashed, text...)
	}
	sum := sha256.Sum256(d.hashed)
	return digest(sum[:16])
}

// leafHash is that of a value in its member.
func (d *document) leafHash(l leaf) uint64 {
	return join(l.path, hashBytes(d.text[l.text.from:l.text.to]))
}

// leaveOut leaves shared values out, unless nothing else remains.
func (d *document) leaveOut(shared map[uint64]bool) {
	if len(shared) == 0 {
		return
	}
	left := 0
	for i := range d.leaves {
		d.leaves[i].out = shared[d.leafHash(d.leaves[i])]
		if !d.leaves[i].out {
			left++
		}
	}
	for i := range d.leaves {
		d.leaves[i].out = d.leaves[i].out && left > 0
	}
}

// wordShingles returns the sorted set of shingles of words, until the document is used again.
func (d *document) wordShingles() []uint64 {
	d.set = d.set[:0]
	for _, l := range d.leaves {
		if l.out {
			continue
		}
		words := d.words[l.words.from:l.words.to]
		for i := 0; i == 0 || i+shingleWords <= len(words); i++ {
			h := join(l.path, uint64(kindWords))
			for _, w := range words[i:min(i+shingleWords, len(words))] {
				h = join(h, w.hash)
			}
			d.set = append(d.set, h)
		}
	}
	d.set = sortedSet(d.set)
	return d.set
}

// charShingles returns the sorted set of shingles of characters, until the document is used again. Sets of documents with different numbers
// have nothing in common.
func (d *document) charShingles() []uint64 {
	d.chars = d.chars[:0]
	salt, count, whole := uint64(kindChars), 0, uint64(0)
	for _, l := range d.leaves {
		if l.out {
			continue
		}
		for _, w := range d.words[l.words.from:l.words.to] {
			count++
			whole = join(join(whole, l.path), w.hash)
			if w.number {
				salt = join(salt, w.hash)
			}
		}
	}
	if count < equalBelow {
		d.chars = append(d.chars, join(salt, whole))
		return d.chars
	}
	for _, l := range d.leaves {
		if l.out {
			continue
		}
		d.runes = d.runes[:0]
		for _, r := range string(d.text[l.text.from : l.text.to-1]) {
			d.runes = append(d.runes, mix(uint64(r)))
		}
		for i := 0; i == 0 || i+shingleRunes <= len(d.runes); i++ {
			h := join(l.path, salt)
			for _, r := range d.runes[i:min(i+shingleRunes, len(d.runes))] {
				h = join(h, r)
			}
			d.chars = append(d.chars, h)
		}
	}
	d.chars = sortedSet(d.chars)
	return d.chars
}

func sortedSet(hashes []uint64) []uint64 {
	slices.Sort(hashes)
	return slices.Compact(hashes)
}
