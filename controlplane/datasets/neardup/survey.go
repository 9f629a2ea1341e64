package neardup

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/looptrace/looptrace/internal/jsonpull"
	"github.com/looptrace/looptrace/internal/utf8text"
)

const (
	// SampleSize is how many items a sample should have.
	SampleSize = 1000
	// A value is shared if at least sharedOf10 of ten different inputs of the sample have it, which must be surveyFrom or more.
	sharedOf10 = 9
	surveyFrom = 10
	// maxSharedText is how much of a shared value is told, in characters.
	maxSharedText = 200
)

// SharedValue is a value that nearly all inputs have in the same member. It says nothing about one of them.
type SharedValue struct {
	// Member is the path to it, such as messages[].content.
	Member string
	// Text is the value, or its beginning.
	Text string
	// Share is the part of the sample that has it, up to 1.
	Share float64
}

// survey counts the values of a sample of inputs.
type survey struct {
	seen   map[digest]bool
	counts map[uint64]*sharedCount
	shared map[uint64]bool
	values []SharedValue
}

type sharedCount struct {
	inputs int
	value  SharedValue
}

// Sample takes an input into the sample of items in which shared values are found. Samples must come before items are added.
func (f *Finder) Sample(input []byte) error {
	if err := f.doc.read(input); err != nil {
		return fmt.Errorf("read an item of the sample: %w", err)
	}
	s := &f.survey
	if s.seen == nil {
		s.seen, s.counts = map[digest]bool{}, map[uint64]*sharedCount{}
	}
	of := f.doc.digest()
	if s.seen[of] || len(f.doc.leaves) == 0 {
		return nil // an input that is there many times shares nothing
	}
	s.seen[of] = true
	counted := map[uint64]bool{}
	for _, l := range f.doc.leaves {
		hash := f.doc.leafHash(l)
		if counted[hash] {
			continue
		}
		counted[hash] = true
		if s.counts[hash] == nil {
			member, text := find(input, l.place)
			s.counts[hash] = &sharedCount{value: SharedValue{Member: member, Text: text}}
		}
		s.counts[hash].inputs++
	}
	return nil
}

// end decides what is shared.
func (s *survey) end() {
	if s.seen == nil {
		return
	}
	s.shared = map[uint64]bool{}
	for hash, c := range s.counts {
		if len(s.seen) >= surveyFrom && c.inputs*10 >= len(s.seen)*sharedOf10 {
			s.shared[hash] = true
			c.value.Share = float64(c.inputs) / float64(len(s.seen))
			s.values = append(s.values, c.value)
		}
	}
	slices.SortFunc(s.values, func(a, b SharedValue) int {
		return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(b.Share, a.Share), cmp.Compare(a.Text, b.Text))
	})
	s.seen, s.counts = nil, nil
}

// find returns the path and the beginning of the leaf at a place. The input was read before.
func find(input []byte, place uint64) (member, text string) {
	r := jsonpull.NewReader(input, maxDepth, math.MaxInt64)
	var walk func(at uint64, path string)
	walk = func(at uint64, path string) {
		switch kind := r.Kind(); {
		case kind == jsonpull.Object:
			r.Object(func(key []byte) {
				name := string(key)
				if path != "" {
					name = path + "." + name
				}
				walk(join(at, hashBytes(key)), name)
			})
		case kind == jsonpull.Array:
			r.Array(func(index int) { walk(join(at, uint64(index)), path+"[]") })
		case at != place:
			r.Text()
		case kind == jsonpull.String:
			member, text = path, r.String()
		default:
			member, text = path, string(r.Text())
		}
	}
	walk(0, "")
	return member, utf8text.Cut(text, maxSharedText)
}
