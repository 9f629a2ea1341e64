package neardup

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
)

const (
	// maxBucket is how many entries with the same key are all compared with each other. For the short ones among them, which are compared
	// only with the others, there may be more.
	maxBucket = 64
	// maxPivots is with how many each entry of a larger bucket is compared: the first ones of different splits.
	maxPivots = 4
	// batchPairs is how many candidates are compared in one go.
	batchPairs = 1 << 17
	// maxShingles is how many shingles are in memory while candidates are compared.
	maxShingles = 1 << 20
)

// Read reads items again: it calls each with the input of every one of the items, whose numbers ascend.
type Read func(ctx context.Context, items []int, each func(item int, input []byte) error) error

// candidate is a pair of entries that may be similar.
type candidate struct{ a, b uint32 }

func order(x, y candidate) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) }

// search is one run of [Finder.Find].
type search struct {
	*Finder
	ctx    context.Context //nolint:containedctx // it is that of one call
	read   Read
	groups groups
	// keys are those of a band, each with the entry that has it.
	keys []uint64
	// rest is what divide needs.
	rest    []uint64
	batch   []candidate
	listing listing
	result  Result
}

// Find finds the similar items. It reads the inputs of candidates again.
func (f *Finder) Find(ctx context.Context, read Read) (Result, error) {
	f.survey.end()
	s := &search{Finder: f, ctx: ctx, read: read, groups: group(f), keys: make([]uint64, 0, f.entries.count)}
	s.result.Items, s.result.Shared = int64(len(f.digests)), f.survey.values
	s.equal()
	for _, step := range []func() error{s.compareAll, s.compareSome} {
		if err := step(); err != nil {
			return Result{}, err
		}
	}
	s.result.Listed = s.listing.sorted()
	return s.result, nil
}

// equal counts the pairs of equal items.
func (s *search) equal() {
	s.groups.each(func(members []uint32) {
		if s.empty.has(int(members[0])) {
			s.result.WithoutText += int64(len(members))
			return
		}
		if len(members) == 1 {
			return
		}
		g := s.groups.summarize(members)
		pairs, across := g.inside()
		s.result.Pairs, s.result.PairsAcross = s.result.Pairs+pairs, s.result.PairsAcross+across
		for _, m := range members[1:] {
			first, other := int(members[0]), g.other(s.splits[m])
			s.list(first, int(m), 1)
			if !s.across(first, int(m)) && other >= 0 && int(m) != g.firsts[0] {
				s.list(other, int(m), 1)
			}
		}
	})
}

func (s *search) across(a, b int) bool {
	return s.splits[a] != 0 && s.splits[b] != 0 && s.splits[a] != s.splits[b]
}

func (s *search) list(a, b int, similarity float64) {
	s.listing.add(Pair{A: min(a, b), B: max(a, b), Similarity: similarity, Across: s.across(a, b)})
}

// sort sorts the entries by their keys of a band. Of equal items only the first one takes part.
func (s *search) sort(band int) {
	s.keys = s.keys[:0]
	for i := range s.entries.count {
		if e := s.entries.at(i); s.groups.isFirst(e.item) {
			s.keys = append(s.keys, uint64(e.keys[band])<<32|uint64(i))
		}
	}
	slices.Sort(s.keys)
}

// buckets calls each for the entries with the same key, if there are several.
func (s *search) buckets(each func(bucket []uint64) error) error {
	for from := 0; from < len(s.keys); {
		to := from + 1
		for to < len(s.keys) && s.keys[to]>>32 == s.keys[from]>>32 {
			to++
		}
		if to-from > 1 {
			if err := each(s.keys[from:to]); err != nil {
				return err
			}
		}
		from = to
	}
	return s.ctx.Err() //nolint:wrapcheck // the caller's own
}

func (s *search) entryOf(key uint64) (uint32, *entry) {
	i := uint32(key)
	return i, s.entries.at(int(i))
}

// compareAll compares the entries of each bucket with each other if it is small enough, and marks them otherwise.
func (s *search) compareAll() error {
	for band := range bands {
		s.sort(band)
		err := s.buckets(func(bucket []uint64) error {
			core, rest := s.divide(bucket)
			if len(core)*len(bucket) > maxBucket*maxBucket {
				for _, key := range bucket {
					_, e := s.entryOf(key)
					e.crowded |= 1 << band
				}
				return nil
			}
			for i, key := range core {
				a, ea := s.entryOf(key)
				for _, others := range [][]uint64{core[:i], rest} {
					for _, other := range others {
						if b, eb := s.entryOf(other); s.likely(ea, eb) && !metIn(ea, eb, band) {
							s.batch = append(s.batch, candidate{min(a, b), max(a, b)})
						}
					}
				}
			}
			if len(s.batch) >= batchPairs {
				return s.verify()
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.verify()
}

// divide divides a bucket into the entries that can be similar to all others, and those that can be similar only to the first ones: short
// items are compared with each other by characters.
func (s *search) divide(bucket []uint64) (core, rest []uint64) {
	s.rest, core = s.rest[:0], bucket[:0]
	for _, key := range bucket {
		if _, e := s.entryOf(key); e.kind == kindWords && e.short {
			s.rest = append(s.rest, key)
		} else {
			core = append(core, key)
		}
	}
	copy(bucket[len(core):], s.rest)
	return core, s.rest
}

// metIn is whether two entries are in one bucket of a band before the given one, and were compared there.
func metIn(a, b *entry, before int) bool {
	for band := range before {
		if a.keys[band] == b.keys[band] && a.crowded>>band&1 == 0 {
			return true
		}
	}
	return false
}

// compareSome compares each entry of buckets that are too large with some of them, in one band.
func (s *search) compareSome() error {
	var crowded uint32
	last := -1
	for i := range s.entries.count {
		e := s.entries.at(i)
		if crowded |= e.crowded; e.crowded != 0 && int(e.item) != last {
			last = int(e.item)
			s.result.PartlyCompared += int64(len(s.groups.of(e.item)))
		}
	}
	var found []candidate
	for band := range bands {
		if crowded>>band&1 == 0 {
			continue
		}
		s.sort(band)
		err := s.buckets(func(bucket []uint64) error {
			if _, e := s.entryOf(bucket[0]); e.crowded>>band&1 == 1 {
				found = s.withPivots(bucket, found)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	slices.SortFunc(found, order)
	found = slices.Compact(found)
	for len(found) > 0 {
		n := min(len(found), batchPairs)
		s.batch, found = append(s.batch, found[:n]...), found[n:]
		if err := s.verify(); err != nil {
			return err
		}
	}
	return nil
}

// withPivots adds the candidates of a large bucket.
func (s *search) withPivots(bucket []uint64, found []candidate) []candidate {
	core, _ := s.divide(bucket)
	var pivots []uint32
	for i, key := range bucket { // the core comes first
		b, eb := s.entryOf(key)
		isNew := i < len(core) && len(pivots) < maxPivots
		hasMet := false
		for _, a := range pivots {
			ea := s.entries.at(int(a))
			if s.splits[ea.item] == s.splits[eb.item] {
				isNew = false
			}
			if !eb.met && s.likely(ea, eb) && !metIn(ea, eb, bands) {
				found, hasMet = append(found, candidate{min(a, b), max(a, b)}), true
			}
		}
		eb.met = eb.met || hasMet
		if isNew {
			pivots = append(pivots, b)
		}
	}
	return found
}

// verify compares the candidates of the batch exactly. It holds as many sets at once as fit into the memory for them.
func (s *search) verify() error {
	slices.SortFunc(s.batch, order)
	for from := 0; from < len(s.batch); {
		sets, size, to := map[uint32][]uint64{}, 0, from
		for ; to < len(s.batch); to++ {
			more := 0
			for _, entry := range []uint32{s.batch[to].a, s.batch[to].b} {
				if _, there := sets[entry]; !there {
					more += int(s.entries.at(int(entry)).size)
				}
			}
			if to > from && size+more > maxShingles {
				break
			}
			sets[s.batch[to].a], sets[s.batch[to].b], size = nil, nil, size+more
		}
		if err := s.load(sets); err != nil {
			return err
		}
		for _, c := range s.batch[from:to] {
			if found := similarity(sets[c.a], sets[c.b]); s.reaches(found) {
				s.similar(s.entries.at(int(c.a)).item, s.entries.at(int(c.b)).item, found)
			}
		}
		runtime.GC() // as in entries.add
		from = to
	}
	s.batch = s.batch[:0]
	return nil
}

// load reads the sets of entries.
func (s *search) load(sets map[uint32][]uint64) error {
	numbers := make([]uint32, 0, len(sets))
	for entry := range sets {
		numbers = append(numbers, entry)
	}
	slices.Sort(numbers) // an item's entries follow each other
	var items []int
	for _, entry := range numbers {
		if item := int(s.entries.at(int(entry)).item); len(items) == 0 || items[len(items)-1] != item {
			items = append(items, item)
		}
	}
	next := 0
	err := s.read(s.ctx, items, func(item int, input []byte) error {
		if err := s.doc.read(input); err != nil {
			return err
		}
		s.doc.leaveOut(s.survey.shared)
		for ; next < len(numbers) && int(s.entries.at(int(numbers[next])).item) == item; next++ {
			set := s.doc.wordShingles
			if s.entries.at(int(numbers[next])).kind == kindChars {
				set = s.doc.charShingles
			}
			sets[numbers[next]] = slices.Clone(set())
		}
		return nil
	})
	if err == nil && next < len(numbers) {
		err = fmt.Errorf("item %d was not read again", s.entries.at(int(numbers[next])).item)
	}
	return err
}

// similar counts the pairs of items that are equal to two similar ones.
func (s *search) similar(a, b uint32, similarity float64) {
	ga, gb := s.groups.summarize(s.groups.of(a)), s.groups.summarize(s.groups.of(b))
	pairs, across := ga.with(gb)
	s.result.Pairs, s.result.PairsAcross = s.result.Pairs+pairs, s.result.PairsAcross+across
	s.list(int(a), int(b), similarity)
	if across == 0 || s.across(int(a), int(b)) {
		return
	}
	for _, x := range ga.firsts {
		for _, y := range gb.firsts {
			if s.across(x, y) {
				s.list(x, y, similarity)
				return
			}
		}
	}
}
