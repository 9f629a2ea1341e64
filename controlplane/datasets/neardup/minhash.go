package neardup

import (
	"math"
	"math/bits"
	"runtime"
)

const (
	// bands is how many chances a pair has to become a candidate.
	bands = 20
	// maxRows limits how many hashes of a band must be the same.
	maxRows = 8
	// sketchBits is how many hashes have a bit in the sketch.
	sketchBits = 64
	// minRecall is what [Recall] is at the threshold, at least.
	minRecall = 0.99
	// sketchLoss is how many pairs at the threshold the sketch may lose.
	sketchLoss = 0.0005
)

// scheme says how signatures are made and compared.
type scheme struct {
	// rows is how many hashes make a band.
	rows int
	// matches is how many bits of their sketches candidates must have in common.
	matches int
	// multipliers and offsets are those of the hash functions.
	multipliers, offsets []uint64
}

func schemeFor(threshold float64) scheme {
	s := scheme{rows: 1, matches: sketchBits}
	for atLeast(sketchBits, s.matches, (1+threshold)/2) < 1-sketchLoss {
		s.matches--
	}
	for s.rows < maxRows {
		more := s
		more.rows++
		if more.recall(threshold) < minRecall {
			break
		}
		s = more
	}
	seed := uint64(0)
	next := func() uint64 {
		seed += 0x9e3779b97f4a7c15
		return mix(seed)
	}
	for range max(sketchBits, bands*s.rows) {
		s.multipliers, s.offsets = append(s.multipliers, next()|1), append(s.offsets, next())
	}
	return s
}

// recall is [Recall]. Two sets of similarity s have the same minimum with probability s. A band of r of them is the same with
// probability s^r, and at least one of b bands with 1-(1-s^r)^b. Bits of the sketch are the same with probability (1+s)/2.
func (s scheme) recall(similarity float64) float64 {
	inBand := 1 - math.Pow(1-math.Pow(similarity, float64(s.rows)), bands)
	return inBand * atLeast(sketchBits, s.matches, (1+similarity)/2)
}

// Recall is the probability that a finder with the threshold compares two items of a similarity, unless one of them has more
// candidates than are compared ([Result.PartlyCompared]). At the threshold it is at least 0.99.
func Recall(threshold, similarity float64) float64 { return schemeFor(threshold).recall(similarity) }

// sign sets the signature of a set: for each hash function the lowest hash of an element.
func (s *scheme) sign(shingles, signature []uint64) {
	for i := range signature {
		signature[i] = math.MaxUint64
	}
	offsets := s.offsets[:len(signature)]
	multipliers := s.multipliers[:len(signature)]
	for _, x := range shingles {
		for i, lowest := range signature {
			signature[i] = min(lowest, x*multipliers[i]+offsets[i])
		}
	}
}

type kind uint8

const (
	kindWords kind = iota
	kindChars
)

// entry is the signature of an item by one kind of shingles.
type entry struct {
	keys   [bands]uint32
	sketch uint64
	item   uint32
	// size is how many shingles it has.
	size uint32
	// crowded has a bit for each band in which too many have the same key.
	crowded uint32
	kind    kind
	// short is whether the item has few words. Two short ones are compared by characters.
	short bool
	// met is whether it was compared in a crowded band.
	met bool
}

// fill sets the keys of the bands and the sketch.
func (s *scheme) fill(e *entry, signature []uint64) {
	for band := range e.keys {
		key := uint64(e.kind)
		for _, lowest := range signature[band*s.rows : (band+1)*s.rows] {
			key = join(key, lowest)
		}
		e.keys[band] = uint32(key >> 32)
	}
	for i := range sketchBits {
		e.sketch |= mix(signature[i]) & 1 << i
	}
}

// likely is whether two entries can be those of similar items.
func (f *Finder) likely(a, b *entry) bool {
	if a.kind != b.kind || a.kind == kindWords && a.short && b.short {
		return false
	}
	small, large := min(a.size, b.size), max(a.size, b.size)
	return f.reaches(float64(small)/float64(large)) && sketchBits-bits.OnesCount64(a.sketch^b.sketch) >= f.scheme.matches
}

// entries are in blocks, so that growing does not copy them.
type entries struct {
	blocks [][]entry
	count  int
}

const blockEntries = 1 << 14

func (e *entries) add() *entry {
	if e.count%blockEntries == 0 {
		if e.count > 0 {
			runtime.GC() // the collector would let what was read double the heap
		}
		e.blocks = append(e.blocks, make([]entry, blockEntries))
	}
	e.count++
	return e.at(e.count - 1)
}

func (e *entries) at(i int) *entry { return &e.blocks[i/blockEntries][i%blockEntries] }
