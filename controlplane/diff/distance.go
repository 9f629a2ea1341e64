package diff

import (
	"encoding/json"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Weights in the distance of a step.
const (
	statusShare  = .2
	argsShare    = .5
	resultsShare = .3
	// wordingShare is that of what a model writes besides its tool calls.
	wordingShare = .1
)

// maxCompared is how many bytes a text may have to be compared by the byte. Longer ones are compared by their words.
const maxCompared = 512

// sameKind reports whether two steps have the same kind and name.
func (s *runTree) sameKind(b *runTree, x, y int) bool {
	return s.steps[x].kind == b.steps[y].kind && s.steps[x].name == b.steps[y].name
}

// distance of two steps, from 0 to 1: 1 if kind or name differ, else the shares of status, arguments and results. It is 0 for equal steps
// only.
func (s *runTree) distance(b *runTree, x, y int) float64 {
	if !s.sameKind(b, x, y) {
		return 1
	}
	if s.stepHash[x] == b.stepHash[y] {
		return 0
	}
	t, u := &s.steps[x], &b.steps[y]
	d := argsShare*fieldsDistance(t.args, u.args) + resultsShare*fieldsDistance(t.results, u.results)
	if t.status != u.status {
		d += statusShare
	}
	return d
}

// fieldsDistance is the mean over the fields that either list has.
func fieldsDistance(a, b []*field) float64 {
	calls := has(a, fieldToolCalls) || has(b, fieldToolCalls)
	sum, weights := 0., 0.
	eachField(a, b, func(f, g *field) {
		weight := 1.
		switch name := nameOfEither(f, g); {
		case calls && name == fieldOutput:
			weight = wordingShare
		case name == fieldToolCalls:
			weight = 1 - wordingShare
		}
		sum += weight * fieldDistance(f, g)
		weights += weight
	})
	if weights == 0 {
		return 0
	}
	return sum / weights
}

func has(fields []*field, name string) bool {
	return slices.ContainsFunc(fields, func(f *field) bool { return f.name == name })
}

// eachField calls with the fields of both lists that have the same name. One of the two is nil if a list lacks it.
func eachField(a, b []*field, call func(f, g *field)) {
	for _, f := range a {
		i := slices.IndexFunc(b, func(g *field) bool { return g.name == f.name })
		if i < 0 {
			call(f, nil)
		} else {
			call(f, b[i])
		}
	}
	for _, g := range b {
		if !has(a, g.name) {
			call(nil, g)
		}
	}
}

func nameOfEither(f, g *field) string {
	if f != nil {
		return f.name
	}
	return g.name
}

func fieldDistance(f, g *field) float64 {
	switch {
	case f == nil || g == nil:
		return 1
	case f.hash == g.hash:
		return 0
	case f.isTree && g.isTree:
		return treeDistance(f.tree, g.tree)
	case f.name == fieldModel:
		return 1
	// A model may express the same in many ways.
	case len(f.masked) <= maxCompared && len(g.masked) <= maxCompared && f.name != fieldOutput:
		return textDistance(f.masked, g.masked)
	}
	return jaccard(f.wordHashes(), g.wordHashes())
}

// treeDistance of two JSON values is the mean over the members that either has, recursively.
func treeDistance(a, b any) float64 {
	switch v := a.(type) {
	case map[string]any:
		w, ok := b.(map[string]any)
		if !ok {
			return 1
		}
		sum, n := 0., len(v)
		for _, key := range sortedKeys(v) {
			other, ok := w[key]
			if !ok {
				sum++
				continue
			}
			sum += treeDistance(v[key], other)
		}
		for key := range w {
			if _, ok := v[key]; !ok {
				sum++
				n++
			}
		}
		return share(sum, n)
	case []any:
		w, ok := b.([]any)
		if !ok {
			return 1
		}
		sum, n := 0., max(len(v), len(w))
		for i := range min(len(v), len(w)) {
			sum += treeDistance(v[i], w[i])
		}
		return share(sum+float64(n-min(len(v), len(w))), n)
	case string:
		w, ok := b.(string)
		if !ok {
			return 1
		}
		if len(v) <= maxCompared && len(w) <= maxCompared {
			return textDistance(v, w)
		}
		if v == w {
			return 0
		}
		return jaccard(wordHashes(v), wordHashes(w))
	case float64:
		const nearly = 1e-9
		if w, ok := b.(float64); ok && math.Abs(v-w) <= nearly*max(math.Abs(v), math.Abs(w)) {
			return 0
		}
		return 1
	case json.Number:
		if w, ok := b.(json.Number); ok && v == w {
			return 0
		}
		return 1
	}
	if a == b {
		return 0
	}
	return 1
}

func share(sum float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// textDistance is the Levenshtein distance in bytes, divided by the longer text's length.
func textDistance(a, b string) float64 {
	longer := max(len(a), len(b))
	if longer == 0 || a == b {
		return 0
	}
	return float64(levenshtein(a, b)) / float64(longer)
}

// levenshtein counts the bytes to insert, delete or replace to turn a into b, 64 rows of the table at a time (Myers 1999, Hyyrö 2003).
func levenshtein(a, b string) int {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(b) == 0 {
		return len(a)
	}
	const bits = 64
	type block struct{ plus, minus uint64 }
	blocks := make([]block, (len(b)+bits-1)/bits)
	for i := range blocks {
		blocks[i].plus = math.MaxUint64
	}
	var equal [256][]uint64
	for i := range len(b) {
		if equal[b[i]] == nil {
			equal[b[i]] = make([]uint64, len(blocks))
		}
		equal[b[i]][i/bits] |= 1 << (i % bits)
	}
	none := make([]uint64, len(blocks))
	distance := len(b)
	for i := range len(a) {
		eqs := equal[a[i]]
		if eqs == nil {
			eqs = none
		}
		in := 1
		for k := range blocks {
			high := uint64(1) << (bits - 1)
			if k == len(blocks)-1 {
				high = 1 << ((len(b) - 1) % bits)
			}
			plus, minus, eq := blocks[k].plus, blocks[k].minus, eqs[k]
			vertical := eq | minus
			if in < 0 {
				eq |= 1
			}
			horizontal := (((eq & plus) + plus) ^ plus) | eq
			up, down := minus|^(horizontal|plus), plus&horizontal
			out := 0
			if up&high != 0 {
				out = 1
			} else if down&high != 0 {
				out = -1
			}
			up, down = up<<1, down<<1
			if in < 0 {
				down |= 1
			} else if in > 0 {
				up |= 1
			}
			blocks[k] = block{down | ^(vertical | up), up & vertical}
			in = out
		}
		distance += in
	}
	return distance
}

// jaccard is the Jaccard distance of two sets.
func jaccard(a, b []uint64) float64 {
	both := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			both, i, j = both+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	either := len(a) + len(b) - both
	if either == 0 {
		return 1 // they have no words
	}
	// Texts that differ only in the order of their words are not the same.
	const order = .01
	return max(1-float64(both)/float64(either), order)
}

func (f *field) wordHashes() []uint64 {
	if f.words == nil {
		f.words = wordHashes(f.masked)
	}
	return f.words
}

// wordHashes returns the sorted and distinct hashes of the words of a text.
func wordHashes(text string) []uint64 {
	hashes := []uint64{}
	start := -1
	for i := 0; i <= len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if i == len(text) || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			if start >= 0 {
				hashes = append(hashes, xxhash.Sum64String(text[start:i]))
				start = -1
			}
		} else if start < 0 {
			start = i
		}
		i += max(size, 1)
	}
	slices.Sort(hashes)
	return slices.Compact(hashes)
}
