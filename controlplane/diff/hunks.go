package diff

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// Op is the kind of a change to a part of a text.
type Op string

// Kinds of changes.
const (
	OpSame    Op = "same"
	OpRemoved Op = "removed"
	OpAdded   Op = "added"
)

// Hunk is a part of a changed text.
type Hunk struct {
	// Path is the JSON pointer (RFC 6901) of the part, empty for a text or a whole value.
	Path string
	Op   Op
	Text string
	// LeftOut is how many bytes of the part are missing in Text.
	LeftOut int
}

// Limits of the hunks of a change.
const (
	maxHunks = 60
	// maxHunk is how many bytes of a part are returned, sameAround how many at both ends of what stayed.
	maxHunk    = 1200
	sameAround = 80
	// maxName is how many bytes a text without white space may have to be taken for a name.
	maxName = 64
	// maxWordPairs is how large the table of words by words may be.
	maxWordPairs = 250_000
)

// Hunks returns the parts of the two texts of a change as they were recorded. complete is false if there are more, or if the texts were
// cut before.
func (c *Change) Hunks() (hunks []Hunk, complete bool) {
	h := textDiffer{}
	// If only ids differ, they are shown.
	if c.base != nil && c.other != nil && c.base.hash != c.other.hash {
		h = textDiffer{c.base.masker, c.other.masker}
	}
	if c.base != nil && c.other != nil && c.base.isTree && c.other.isTree {
		hunks = h.trees(nil, "", c.base.rawTree(), c.other.rawTree())
	} else {
		hunks = h.texts("", c.base.rawText(), c.other.rawText())
	}
	if len(hunks) > maxHunks {
		return hunks[:maxHunks], false
	}
	return hunks, (c.base == nil || !c.base.cut) && (c.other == nil || !c.other.cut)
}

func (f *field) rawText() string {
	if f == nil {
		return ""
	}
	return f.raw
}

// textDiffer compares recorded texts under the masks of their runs, or without masks.
type textDiffer struct{ base, other *masker }

// trees appends the differences of two JSON values.
func (h textDiffer) trees(hunks []Hunk, path string, a, b any) []Hunk {
	if len(hunks) > maxHunks {
		return hunks
	}
	switch v := a.(type) {
	case map[string]any:
		w, ok := b.(map[string]any)
		if !ok {
			break
		}
		keys := sortedKeys(v)
		for _, key := range sortedKeys(w) {
			if _, ok := v[key]; !ok {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
			x, inA := v[key]
			y, inB := w[key]
			switch {
			case !inB:
				hunks = append(hunks, hunk(at, OpRemoved, jsonText(x)))
			case !inA:
				hunks = append(hunks, hunk(at, OpAdded, jsonText(y)))
			default:
				hunks = h.trees(hunks, at, x, y)
			}
		}
		return hunks
	case []any:
		w, ok := b.([]any)
		if !ok {
			break
		}
		for i := range max(len(v), len(w)) {
			at := path + "/" + strconv.Itoa(i)
			switch {
			case i >= len(w):
				hunks = append(hunks, hunk(at, OpRemoved, jsonText(v[i])))
			case i >= len(v):
				hunks = append(hunks, hunk(at, OpAdded, jsonText(w[i])))
			default:
				hunks = h.trees(hunks, at, v[i], w[i])
			}
		}
		return hunks
	case string:
		if w, ok := b.(string); ok {
			if v == w {
				return hunks
			}
			return append(hunks, h.texts(path, v, w)...)
		}
	}
	x, y := jsonText(a), jsonText(b)
	if h.masked(x, y) {
		return hunks
	}
	return append(hunks, hunk(path, OpRemoved, x), hunk(path, OpAdded, y))
}

func jsonText(tree any) string {
	var b strings.Builder
	writeCanonical(&b, tree)
	return b.String()
}

// hunk cuts the end of what was removed or added, and the middle of what stayed.
func hunk(path string, op Op, text string) Hunk {
	h := Hunk{Path: path, Op: op, Text: text}
	switch {
	case op == OpSame && len(text) > 2*sameAround+len("…"):
		head, tail := utf8text.RuneStart(text, sameAround), utf8text.NextRuneStart(text, len(text)-sameAround)
		h.Text = text[:head] + "…" + text[tail:]
		h.LeftOut = tail - head
	case op != OpSame && len(text) > maxHunk:
		head := utf8text.RuneStart(text, maxHunk)
		h.Text, h.LeftOut = text[:head]+"…", len(text)-head
	}
	return h
}

// masked reports whether two texts are equal under their masks.
func (h textDiffer) masked(a, b string) bool {
	if a == b || h.base == nil || h.other == nil {
		return a == b
	}
	x, _ := h.base.mask(a)
	y, _ := h.other.mask(b)
	return x == y
}

// texts compares two texts by their words. Two names are compared as a whole, because letters that two models have in common mean
// nothing. Equal texts have no hunks.
func (h textDiffer) texts(path, a, b string) []Hunk {
	xs, ys := h.base.words(a), h.other.words(b)
	var hunks []Hunk
	add := func(op Op, list []word) {
		if len(list) > 0 {
			hunks = append(hunks, hunk(path, op, joined(list)))
		}
	}
	head := 0
	for head < len(xs) && head < len(ys) && xs[head].key == ys[head].key {
		head++
	}
	if head == len(xs) && head == len(ys) {
		return nil
	}
	if isName(a) && isName(b) {
		add(OpRemoved, xs)
		add(OpAdded, ys)
		return hunks
	}
	tail := 0
	for tail < len(xs)-head && tail < len(ys)-head && xs[len(xs)-1-tail].key == ys[len(ys)-1-tail].key {
		tail++
	}
	add(OpSame, xs[:head])
	for _, part := range wordDiff(xs[head:len(xs)-tail], ys[head:len(ys)-tail]) {
		add(part.op, part.words)
	}
	add(OpSame, xs[len(xs)-tail:])
	return hunks
}

func isName(text string) bool {
	return text != "" && len(text) <= maxName && !strings.ContainsFunc(text, unicode.IsSpace)
}

// word is a piece of a text, and the key that it is compared by.
type word struct{ text, key string }

func joined(list []word) string {
	var b strings.Builder
	for _, w := range list {
		b.WriteString(w.text)
	}
	return b.String()
}

type words struct {
	op    Op
	words []word
}

// wordDiff returns what was removed, added and kept by the longest common subsequence of words.
func wordDiff(xs, ys []word) []words {
	if len(xs)*len(ys) > maxWordPairs || len(xs)*len(ys) == 0 {
		return []words{{OpRemoved, xs}, {OpAdded, ys}}
	}
	width := len(ys) + 1
	longest := make([]int32, (len(xs)+1)*width)
	for i := len(xs) - 1; i >= 0; i-- {
		for j := len(ys) - 1; j >= 0; j-- {
			if xs[i].key == ys[j].key {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	var parts []words
	var removed, added, same []word
	changed := func() {
		if len(removed)+len(added) > 0 {
			parts = append(parts, words{OpRemoved, removed}, words{OpAdded, added})
			removed, added = nil, nil
		}
	}
	stayed := func() {
		if len(same) == 0 {
			return
		}
		if strings.TrimSpace(joined(same)) == "" && len(removed)+len(added) > 0 {
			// White space between two changes belongs to both.
			removed, added = append(removed, same...), append(added, same...)
		} else {
			changed()
			parts = append(parts, words{OpSame, same})
		}
		same = nil
	}
	i, j := 0, 0
	for i < len(xs) || j < len(ys) {
		switch {
		case i < len(xs) && j < len(ys) && xs[i].key == ys[j].key:
			same = append(same, xs[i])
			i, j = i+1, j+1
		case j == len(ys) || i < len(xs) && longest[(i+1)*width+j] >= longest[i*width+j+1]:
			stayed()
			removed = append(removed, xs[i])
			i++
		default:
			stayed()
			added = append(added, ys[j])
			j++
		}
	}
	stayed()
	changed()
	return parts
}

// words splits a text into words, white space and other characters, which together are the text. What is masked is one word.
func (m *masker) words(text string) []word {
	if m == nil {
		return plainWords(nil, text)
	}
	var list []word
	copied := 0
	m.eachMask(text, func(found idOrTime, mask string) {
		list = plainWords(list, text[copied:found.from])
		list = append(list, word{text[found.from:found.to], mask})
		copied = found.to
	})
	return plainWords(list, text[copied:])
}

func plainWords(list []word, text string) []word {
	const other, letter, space = 0, 1, 2
	start, class := 0, other
	for i, r := range text {
		now := other
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			now = letter
		case unicode.IsSpace(r):
			now = space
		}
		if i > start && (now != class || now == other) {
			list = append(list, word{text[start:i], text[start:i]})
			start = i
		}
		class = now
	}
	if start < len(text) {
		list = append(list, word{text[start:], text[start:]})
	}
	return list
}
