package neardup

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
)

// groups are the items by equality.
type groups struct {
	digests []digest
	splits  []uint32
	// order has the items sorted by digest, and equal ones by number.
	order []uint32
	// later are the items that are not the first of theirs.
	later bitset
	// large are the summaries of large groups, by their first items.
	large map[uint32]*summary
}

func group(f *Finder) groups {
	g := groups{digests: f.digests, splits: f.splits, order: make([]uint32, len(f.digests)), large: map[uint32]*summary{}}
	for i := range g.order {
		g.order[i] = uint32(i)
	}
	slices.SortFunc(g.order, func(a, b uint32) int {
		return cmp.Or(bytes.Compare(g.digests[a][:], g.digests[b][:]), cmp.Compare(a, b))
	})
	g.each(func(members []uint32) {
		for _, m := range members[1:] {
			g.later.add(int(m))
		}
	})
	return g
}

// each calls fn for each group.
func (g *groups) each(fn func(members []uint32)) {
	for from := 0; from < len(g.order); {
		to := g.end(from)
		fn(g.order[from:to])
		from = to
	}
}

// end returns where the group that begins there ends.
func (g *groups) end(from int) int {
	to := from + 1
	for to < len(g.order) && g.digests[g.order[to]] == g.digests[g.order[from]] {
		to++
	}
	return to
}

// isFirst is whether an item is the first one of its group.
func (g *groups) isFirst(item uint32) bool { return !g.later.has(int(item)) }

// of returns the group of an item that is its first one.
func (g *groups) of(item uint32) []uint32 {
	from, _ := slices.BinarySearchFunc(g.order, item, func(at, item uint32) int {
		return cmp.Or(bytes.Compare(g.digests[at][:], g.digests[item][:]), cmp.Compare(at, item))
	})
	return g.order[from:g.end(from)]
}

// summary says how a group is divided into splits.
type summary struct {
	size int64
	// counts are by split, 0 for none.
	counts map[uint32]int64
	// firsts are the first items of the first two splits.
	firsts []int
	splits []uint32
}

// largeFrom is from which size on the summary of a group is kept.
const largeFrom = 64

func (g *groups) summarize(members []uint32) *summary {
	if known := g.large[members[0]]; known != nil {
		return known
	}
	s := &summary{size: int64(len(members)), counts: make(map[uint32]int64, 2)}
	for _, m := range members {
		split := g.splits[m]
		s.counts[split]++
		if split != 0 && len(s.firsts) < 2 && !slices.Contains(s.splits, split) {
			s.firsts, s.splits = append(s.firsts, int(m)), append(s.splits, split)
		}
	}
	if len(members) >= largeFrom {
		g.large[members[0]] = s
	}
	return s
}

// inside returns how many pairs the group has, and how many across splits.
func (s *summary) inside() (pairs, across int64) {
	pairs = s.size * (s.size - 1) / 2
	withSplit, same := s.size-s.counts[0], int64(0)
	for split, n := range s.counts {
		if split != 0 {
			same += n * (n - 1) / 2
		}
	}
	return pairs, withSplit*(withSplit-1)/2 - same
}

// with returns how many pairs two groups have with each other, and how many across splits.
func (s *summary) with(o *summary) (pairs, across int64) {
	across = (s.size - s.counts[0]) * (o.size - o.counts[0])
	for split, n := range s.counts {
		if split != 0 {
			across -= n * o.counts[split]
		}
	}
	return s.size * o.size, across
}

// other returns the first item of another split than the given one, or -1.
func (s *summary) other(split uint32) int {
	for i, of := range s.splits {
		if split != 0 && of != split {
			return s.firsts[i]
		}
	}
	return -1
}

// listing has the first pairs of all that were added. It is a heap whose root is the last one of them.
type listing []Pair

func before(a, b Pair) int {
	if a.Across != b.Across {
		if a.Across {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
}

func (l listing) Len() int { return len(l) }

func (l listing) Less(i, j int) bool { return before(l[i], l[j]) > 0 }

func (l listing) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

// Push is for the heap.
func (l *listing) Push(x any) { *l = append(*l, x.(Pair)) }

// Pop is for the heap.
func (l *listing) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

func (l *listing) add(p Pair) {
	switch {
	case len(*l) < MaxListed:
		heap.Push(l, p)
	case before(p, (*l)[0]) < 0:
		(*l)[0] = p
		heap.Fix(l, 0)
	}
}

func (l *listing) sorted() []Pair {
	slices.SortFunc(*l, before)
	return *l
}
