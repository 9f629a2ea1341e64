// Package neardup finds inputs that are nearly the same, among up to millions.
//
// The similarity of two inputs is the Jaccard similarity of their sets of shingles: how many shingles both have, of those that one of
// them has (A. Broder, On the resemblance and containment of documents, 1997). Candidates are found by MinHash and banding, and each of
// them is then compared exactly (J. Leskovec, A. Rajaraman, J. Ullman, Mining of Massive Datasets, chapter 3). A similarity that is
// reported is therefore true, up to collisions of 64-bit hashes; a pair may be missed, with a probability that [Recall] tells.
//
// # What is compared
//
// An input is JSON. Its texts, numbers and Booleans are taken with the path of members that leads to them, so neither the names of members
// nor their order make inputs similar, and a value counts only in its own member. Places in arrays do not count. Text becomes words in
// Unicode's form NFC and lower case. White space, quotation marks, apostrophes and the punctuation of sentences are left out; other
// symbols are words of their own, as are the characters of scripts without spaces. A number is one word with its point and separators.
//
//   - Inputs with 20 shingles of three words or more are compared by those. A text with fewer than three words is one shingle.
//   - Shorter ones are compared by shingles of four characters, and only if their numbers are the same.
//   - Inputs with fewer than three words are near-duplicates only if they are equal.
//   - A pair of a shorter and a longer one is compared by words.
//   - A value that at least nine of ten inputs have in the same member, such as a system prompt, is left out ([Finder.Sample]).
//
// # Memory
//
// An input takes 20 bytes, and 104 more for its signature. An input whose size is near the limit between short and long has two
// signatures. Sorting takes 12 bytes an input, and comparing holds at most 8 MiB of shingles, or those of a single pair.
package neardup

import (
	"fmt"
	"math"
)

const (
	// shingleWords and shingleRunes are the lengths of shingles.
	shingleWords = 3
	shingleRunes = 4
	// longFrom is how many shingles of words an input must have to be compared by words.
	longFrom = 20
	// equalBelow is how many words an input must have to be similar to another one without being equal.
	equalBelow = 3
)

// The range of thresholds.
const (
	MinThreshold = 0.5
	MaxThreshold = 1.0
)

// MaxListed is how many pairs are listed.
const MaxListed = 10_000

// Pair is a pair of items, by their numbers in the order in which they were added. A is the lower one.
type Pair struct {
	A, B       int
	Similarity float64
	// Across is whether both items have a split, and not the same.
	Across bool
}

// Result is what was found.
type Result struct {
	// Items is how many items were added. Those WithoutText have nothing to compare.
	Items, WithoutText int64
	// Pairs is how many pairs are similar, and PairsAcross how many of them are across splits. They count the pairs of equal items, and
	// those of items that are equal to similar ones.
	Pairs, PairsAcross int64
	// Listed are the first pairs: across splits first, then the most similar ones, at most [MaxListed]. Of n equal items each is listed with
	// the first of them, and with one of another split.
	Listed []Pair
	// PartlyCompared is how many items have so many candidates that they were compared with some of them only. They may have pairs that
	// are not counted.
	PartlyCompared int64
	// Shared are the values that were left out.
	Shared []SharedValue
}

// Finder finds the similar ones of many items.
type Finder struct {
	threshold float64
	scheme    scheme
	survey    survey
	doc       document
	signature []uint64

	digests []digest
	splits  []uint32
	splitID map[string]uint32
	// empty are items without text.
	empty   bitset
	entries entries
}

// digest tells whether inputs are equal.
type digest [16]byte

// New returns a finder of items with the similarity, at least [MinThreshold] and at most [MaxThreshold]. items is about how many there are.
func New(threshold float64, items int) (*Finder, error) {
	if !(threshold >= MinThreshold && threshold <= MaxThreshold) {
		return nil, fmt.Errorf("the threshold %v is not between %v and %v", threshold, MinThreshold, MaxThreshold)
	}
	s := schemeFor(threshold)
	return &Finder{
		threshold: threshold, scheme: s, signature: make([]uint64, len(s.multipliers)), splitID: map[string]uint32{"": 0},
		digests: make([]digest, 0, items), splits: make([]uint32, 0, items),
	}, nil
}

// Add adds an item with its input, which is JSON, and its split, empty for none.
func (f *Finder) Add(input []byte, split string) error {
	f.survey.end()
	if err := f.doc.read(input); err != nil {
		return fmt.Errorf("read item %d: %w", len(f.digests), err)
	}
	number := len(f.digests)
	id, known := f.splitID[split]
	if !known {
		id = uint32(len(f.splitID))
		f.splitID[split] = id
	}
	f.splits = append(f.splits, id)
	f.digests = append(f.digests, f.doc.digest())
	if len(f.doc.words) == 0 {
		f.empty.add(number)
		return nil
	}
	f.doc.leaveOut(f.survey.shared)
	words := f.doc.wordShingles()
	short := len(words) < longFrom
	if short {
		f.addEntry(number, kindChars, short, f.doc.charShingles())
	}
	if !short || float64(len(words)) >= f.threshold*longFrom { // it may be similar to a long one
		f.addEntry(number, kindWords, short, words)
	}
	return nil
}

func (f *Finder) addEntry(number int, kind kind, short bool, shingles []uint64) {
	f.scheme.sign(shingles, f.signature)
	e := f.entries.add()
	e.item, e.kind, e.short, e.size = uint32(number), kind, short, uint32(len(shingles))
	f.scheme.fill(e, f.signature)
}

// similarity is that of two sorted sets.
func similarity(a, b []uint64) float64 {
	both := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			both, i, j = both+1, i+1, j+1
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// reaches is whether a similarity is at least the threshold, whatever the rounding.
func (f *Finder) reaches(similarity float64) bool { return similarity >= f.threshold-1e-12 }

// mix is the finalizer of MurmurHash3: each bit of the result depends on each bit of h.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// join makes one hash of two.
func join(a, b uint64) uint64 { return mix(a*0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019) }

// hashBytes is FNV-1a, mixed.
func hashBytes(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return mix(h)
}

// bitset is a set of numbers.
type bitset []uint64

func (b *bitset) add(i int) {
	for len(*b) <= i/64 {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bitset) has(i int) bool { return i/64 < len(b) && b[i/64]>>(i%64)&1 == 1 }

// atLeast is the probability that at least k of n independent trials succeed, each with the probability p.
func atLeast(n, k int, p float64) float64 {
	var sum float64
	for i := k; i <= n; i++ {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		term := a - b - c
		if i > 0 {
			term += float64(i) * math.Log(p)
		}
		if i < n {
			term += float64(n-i) * math.Log1p(-p)
		}
		sum += math.Exp(term)
	}
	return min(sum, 1)
}
