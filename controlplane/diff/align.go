package diff

import (
	"cmp"
	"math"
	"slices"
)

const (
	// substitutable is the distance from which on a step is another one and not the same changed.
	substitutable = 0.7
	// smallTable is how many pairs of siblings are compared each with each; above it, steps that are equal and occur once
	// in both are anchors.
	smallTable = 4096
	// window is how many siblings are aligned at a time where there are no anchors; half of that is kept.
	window = 64
	// mostPairs is how many pairs of steps are compared by their texts before they are only compared by hashes.
	mostPairs = 300_000
)

// matching says which steps belong together.
type matching struct {
	toB, toA []int // -1 for none
	// movedFrom is the step of a that a step of b was moved from, -1 for none.
	movedFrom   []int
	approximate bool
}

// align finds the cheapest way to make tree b of tree a, top down (Selkow 1977): nodes that stay keep their ancestors, the
// children of two nodes that belong together are aligned as sequences (Needleman and Wunsch 1970), and to remove or add a
// node costs the size of its subtree. Roots of the runs always belong together.
//
// Which of the trees comes first does not matter: equally cheap ways are told apart in one order only.
func align(a, b *side) *matching {
	if cmp.Or(cmp.Compare(len(a.steps), len(b.steps)), cmp.Compare(a.whole[a.top], b.whole[b.top])) > 0 {
		m := align(b, a)
		m.toA, m.toB = m.toB, m.toA
		return m
	}
	al := &aligner{a: a, b: b, costs: map[[2]int]float64{}, distance: a.distance, limit: substitutable}
	return al.match()
}

type aligner struct {
	a, b     *side
	distance func(b *side, x, y int) float64
	limit    float64
	// costs of making a subtree of b of one of a.
	costs map[[2]int]float64
	pairs int
	m     *matching
}

func (al *aligner) match() *matching {
	al.m = &matching{toB: minusOnes(len(al.a.steps)), toA: minusOnes(len(al.b.steps))}
	al.children(al.a.top, al.b.top)
	return al.m
}

func minusOnes(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = -1
	}
	return list
}

// commit says that two steps belong together, and aligns what is below them.
func (al *aligner) commit(x, y int) {
	al.m.toB[x], al.m.toA[y] = y, x
	al.children(x, y)
}

// children aligns the children of two nodes that belong together.
func (al *aligner) children(x, y int) {
	al.sequence(al.a.children[x], al.b.children[y], al.commit)
	al.rest(x, y)
}

// rest brings together what is left of concurrent children, the nearest first: there is no order that they could have
// been aligned by.
func (al *aligner) rest(x, y int) {
	var xs, ys []int
	for _, x := range al.a.children[x] {
		if al.m.toB[x] < 0 && al.a.concurrent[x] {
			xs = append(xs, x)
		}
	}
	for _, y := range al.b.children[y] {
		if al.m.toA[y] < 0 && al.b.concurrent[y] {
			ys = append(ys, y)
		}
	}
	if len(xs)*len(ys) == 0 || len(xs)*len(ys) > smallTable {
		return
	}
	type pair struct {
		x, y int
		d    float64
	}
	var pairs []pair
	for _, x := range xs {
		for _, y := range ys {
			if d := al.distance(al.b, x, y); d < al.limit {
				pairs = append(pairs, pair{x, y, d})
			}
		}
	}
	slices.SortStableFunc(pairs, func(p, q pair) int { return cmp.Compare(p.d, q.d) })
	for _, p := range pairs {
		if al.m.toB[p.x] < 0 && al.m.toA[p.y] < 0 {
			al.commit(p.x, p.y)
		}
	}
}

// cost of making subtree y of subtree x, both with their topmost step. Infinite where x is another step than y.
func (al *aligner) cost(x, y int) float64 {
	if al.a.whole[x] == al.b.whole[y] {
		return 0
	}
	if !al.areRoots(x, y) && !al.a.alike(al.b, x, y) && al.limit <= 1 {
		return math.Inf(1)
	}
	if known, ok := al.costs[[2]int{x, y}]; ok {
		return known
	}
	if al.pairs++; al.pairs > mostPairs {
		return al.estimate(x, y)
	}
	c := al.distance(al.b, x, y)
	if c >= al.limit && !al.areRoots(x, y) {
		c = math.Inf(1)
	} else {
		c += al.sequence(al.a.children[x], al.b.children[y], nil)
	}
	al.costs[[2]int{x, y}] = c
	return c
}

func (al *aligner) areRoots(x, y int) bool { return x == al.a.root && y == al.b.root }

// estimate is a cost by hashes alone.
func (al *aligner) estimate(x, y int) float64 {
	al.m.approximate = true
	switch {
	case al.a.whole[x] == al.b.whole[y]:
		return 0
	case !al.a.alike(al.b, x, y) && !al.areRoots(x, y):
		return math.Inf(1)
	}
	const otherResult, otherArguments = .1, .4
	c := math.Abs(float64(al.a.size[x] - al.b.size[y]))
	switch {
	case al.a.own[x] == al.b.own[y]:
	case al.a.asked[x] == al.b.asked[y]:
		c += otherResult
	default:
		c += otherArguments
	}
	return c
}

// sequence aligns siblings. It hands those that belong together to commit, or returns the cost where there is none.
func (al *aligner) sequence(xs, ys []int, commit func(x, y int)) float64 {
	total := 0.
	pair := func(x, y int) {
		if commit != nil {
			commit(x, y)
		} else {
			total += al.cost(x, y)
		}
	}
	for len(xs) > 0 && len(ys) > 0 && al.a.whole[xs[0]] == al.b.whole[ys[0]] {
		pair(xs[0], ys[0])
		xs, ys = xs[1:], ys[1:]
	}
	for len(xs) > 0 && len(ys) > 0 && al.a.whole[xs[len(xs)-1]] == al.b.whole[ys[len(ys)-1]] {
		pair(xs[len(xs)-1], ys[len(ys)-1])
		xs, ys = xs[:len(xs)-1], ys[:len(ys)-1]
	}
	switch {
	case len(xs) == 0 || len(ys) == 0:
		return total + float64(al.a.sizes(xs)+al.b.sizes(ys))
	case len(xs)*len(ys) <= smallTable:
		return total + al.table(xs, ys, al.cost, func(x, y int, _ float64) {
			if commit != nil {
				commit(x, y)
			}
		})
	case commit == nil && al.pairs > mostPairs:
		al.m.approximate = true
		return total + math.Abs(float64(al.a.sizes(xs)-al.b.sizes(ys)))
	}
	for _, keys := range [][2][]uint64{{al.a.whole, al.b.whole}, {al.a.own, al.b.own}, {al.a.asked, al.b.asked}} {
		anchors := patience(xs, ys, keys[0], keys[1])
		if len(anchors) == 0 {
			continue
		}
		fromX, fromY := 0, 0
		for _, at := range anchors {
			total += al.sequence(xs[fromX:at[0]], ys[fromY:at[1]], commit)
			pair(xs[at[0]], ys[at[1]])
			fromX, fromY = at[0]+1, at[1]+1
		}
		return total + al.sequence(xs[fromX:], ys[fromY:], commit)
	}
	return total + al.windows(xs, ys, commit)
}

// table finds the cheapest alignment of siblings, each compared with each (Needleman and Wunsch), and hands out what
// belongs together from the first to the last.
func (al *aligner) table(xs, ys []int, cost func(x, y int) float64, found func(x, y int, c float64)) float64 {
	width := len(ys) + 1
	costs := make([]float64, (len(xs)+1)*width)
	pairs := make([]float64, len(costs))
	for j, y := range ys {
		costs[j+1] = costs[j] + float64(al.b.size[y])
	}
	for i, x := range xs {
		row := (i + 1) * width
		costs[row] = costs[row-width] + float64(al.a.size[x])
		for j, y := range ys {
			at := row + j + 1
			pairs[at] = cost(x, y)
			costs[at] = min(costs[at-width-1]+pairs[at], costs[at-width]+float64(al.a.size[x]), costs[at-1]+float64(al.b.size[y]))
		}
	}
	var together [][3]int
	for i, j := len(xs), len(ys); i > 0 && j > 0; {
		at := i*width + j
		switch costs[at] {
		case costs[at-width-1] + pairs[at]:
			i, j = i-1, j-1
			together = append(together, [3]int{xs[i], ys[j], at})
		case costs[at-width] + float64(al.a.size[xs[i-1]]):
			i--
		default:
			j--
		}
	}
	for _, p := range slices.Backward(together) {
		found(p[0], p[1], pairs[p[2]])
	}
	return costs[len(costs)-1]
}

// windows aligns long lists of siblings that have nothing in common to hold on to: the beginnings of both, of which the
// first half is kept, then what follows.
func (al *aligner) windows(xs, ys []int, commit func(x, y int)) float64 {
	total := 0.
	for len(xs) > 0 && len(ys) > 0 {
		last := len(xs) <= window && len(ys) <= window
		keep := window / 2
		if last {
			keep = window
		}
		headX, headY := xs[:min(window, len(xs))], ys[:min(window, len(ys))]
		placeX, placeY := placesOf(headX), placesOf(headY)
		doneX, doneY := 0, 0
		al.table(headX, headY, al.estimate, func(x, y int, c float64) {
			i, j := placeX[x], placeY[y]
			if i >= keep || j >= keep {
				return
			}
			total += c + float64(al.a.sizes(headX[doneX:i])+al.b.sizes(headY[doneY:j]))
			doneX, doneY = i+1, j+1
			if commit != nil {
				commit(x, y)
			}
		})
		if last {
			xs, ys = xs[doneX:], ys[doneY:]
			break
		}
		if doneX+doneY == 0 { // nothing belongs together: both halves go
			doneX, doneY = min(keep, len(xs)), min(keep, len(ys))
			total += float64(al.a.sizes(headX[:doneX]) + al.b.sizes(headY[:doneY]))
		}
		xs, ys = xs[doneX:], ys[doneY:]
	}
	return total + float64(al.a.sizes(xs)+al.b.sizes(ys))
}

func placesOf(list []int) map[int]int {
	places := make(map[int]int, len(list))
	for i, x := range list {
		places[x] = i
	}
	return places
}

func (s *side) sizes(nodes []int) (n int) {
	for _, node := range nodes {
		n += s.size[node]
	}
	return n
}

// patience finds anchors (patience diff, Bram Cohen): places in both lists whose keys occur once in each, in the longest
// order that both lists have in common.
func patience(xs, ys []int, keysA, keysB []uint64) [][2]int {
	type seen struct{ x, y, inX, inY int }
	places := make(map[uint64]*seen, len(xs))
	for i, x := range xs {
		p := places[keysA[x]]
		if p == nil {
			p = &seen{}
			places[keysA[x]] = p
		}
		p.x, p.inX = i, p.inX+1
	}
	for j, y := range ys {
		if p := places[keysB[y]]; p != nil {
			p.y, p.inY = j, p.inY+1
		}
	}
	var unique [][2]int
	for i, x := range xs {
		if p := places[keysA[x]]; p.inX == 1 && p.inY == 1 {
			unique = append(unique, [2]int{i, p.y})
		}
	}
	// The longest increasing sequence of places in ys: ends[k] is the last of the best one of length k+1.
	var ends []int
	before := make([]int, len(unique))
	for i, p := range unique {
		k, _ := slices.BinarySearchFunc(ends, p[1], func(e, y int) int { return cmp.Compare(unique[e][1], y) })
		before[i] = -1
		if k > 0 {
			before[i] = ends[k-1]
		}
		if k == len(ends) {
			ends = append(ends, i)
		} else {
			ends[k] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	anchors := make([][2]int, len(ends))
	for at, k := ends[len(ends)-1], len(ends)-1; k >= 0; at, k = before[at], k-1 {
		anchors[k] = unique[at]
	}
	return anchors
}

// moved finds steps that were removed at one place and added at another, and are equal. Of several the first belong
// together. What says nothing is not told apart from others of its name, and has not moved.
func moved(a, b *side, m *matching) map[int]int {
	m.movedFrom = minusOnes(len(b.steps))
	gone := map[uint64][]int{}
	for x := range a.steps {
		if m.toB[x] < 0 && a.steps[x].says() {
			gone[a.own[x]] = append(gone[a.own[x]], x)
		}
	}
	to := map[int]int{}
	for y := range b.steps {
		if m.toA[y] >= 0 {
			continue
		}
		if from := gone[b.own[y]]; len(from) > 0 {
			m.movedFrom[y], to[from[0]] = from[0], y
			gone[b.own[y]] = from[1:]
		}
	}
	return to
}
