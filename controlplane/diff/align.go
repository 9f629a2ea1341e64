package diff

import (
	"cmp"
	"context"
	"math"
	"slices"
)

const (
	// maxSubstitution is the distance from which on two steps are different ones, and not one that has changed.
	maxSubstitution = 0.7
	// maxTable is how many pairs of siblings are compared with each other. Above it, equal steps that occur once in both lists become
	// anchors.
	maxTable = 4096
	// window is how many siblings are aligned at a time if there are no anchors. Half of a window is kept.
	window = 64
	// maxPairs is how many pairs of steps are compared by their texts. Further ones are compared by their hashes only.
	maxPairs = 300_000
)

// matching has the pairs of aligned steps.
type matching struct {
	toB, toA []int // -1 for none
	// movedFrom is the step of a that a step of b was moved from, -1 for none.
	movedFrom   []int
	approximate bool
}

// align finds the cheapest way to turn tree a into tree b, top down (Selkow 1977): nodes that stay keep their ancestors, the children of
// two aligned nodes are aligned as sequences (Needleman and Wunsch 1970), and removing or adding a node costs the size of its subtree.
// The roots of the runs are always aligned.
//
// The result does not depend on which tree comes first, because equally cheap ways are compared in one order only.
func align(ctx context.Context, a, b *runTree) *matching {
	if cmp.Or(cmp.Compare(len(a.steps), len(b.steps)), cmp.Compare(a.subtreeHash[a.top], b.subtreeHash[b.top])) > 0 {
		m := align(ctx, b, a)
		m.toA, m.toB = m.toB, m.toA
		return m
	}
	al := &aligner{a: a, b: b, costs: map[[2]int]float64{}, distance: a.distance, limit: maxSubstitution, ended: ctx.Done()}
	return al.match()
}

type aligner struct {
	a, b     *runTree
	distance func(b *runTree, x, y int) float64
	limit    float64
	// costs of turning a subtree of a into one of b.
	costs map[[2]int]float64
	pairs int
	// ended is closed when nobody waits for the result.
	ended <-chan struct{}
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

// commit aligns two steps and what is below them.
func (al *aligner) commit(x, y int) {
	al.m.toB[x], al.m.toA[y] = y, x
	al.children(x, y)
}

// children aligns the children of two aligned nodes.
func (al *aligner) children(x, y int) {
	al.sequence(al.a.children[x], al.b.children[y], al.commit)
	al.alignConcurrent(x, y)
}

// alignConcurrent aligns the remaining concurrent children, the nearest first. They have no order that a sequence could be aligned by.
func (al *aligner) alignConcurrent(x, y int) {
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
	if len(xs)*len(ys) == 0 || len(xs)*len(ys) > maxTable {
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

// cost of turning subtree x into subtree y, including their roots. It is infinite if x and y are different steps.
func (al *aligner) cost(x, y int) float64 {
	if al.a.subtreeHash[x] == al.b.subtreeHash[y] {
		return 0
	}
	if !al.areRoots(x, y) && !al.a.sameKind(al.b, x, y) && al.limit <= 1 {
		return math.Inf(1)
	}
	if known, ok := al.costs[[2]int{x, y}]; ok {
		return known
	}
	select {
	case <-al.ended:
		return al.estimate(x, y)
	default:
	}
	if al.pairs++; al.pairs > maxPairs {
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

// estimate is a cost by hashes only.
func (al *aligner) estimate(x, y int) float64 {
	al.m.approximate = true
	switch {
	case al.a.subtreeHash[x] == al.b.subtreeHash[y]:
		return 0
	case !al.a.sameKind(al.b, x, y) && !al.areRoots(x, y):
		return math.Inf(1)
	}
	const otherResult, otherArguments = .1, .4
	c := math.Abs(float64(al.a.size[x] - al.b.size[y]))
	switch {
	case al.a.stepHash[x] == al.b.stepHash[y]:
	case al.a.callHash[x] == al.b.callHash[y]:
		c += otherResult
	default:
		c += otherArguments
	}
	return c
}

// sequence aligns siblings. It passes the pairs to commit, or returns the cost if commit is nil.
func (al *aligner) sequence(xs, ys []int, commit func(x, y int)) float64 {
	total := 0.
	pair := func(x, y int) {
		if commit != nil {
			commit(x, y)
		} else {
			total += al.cost(x, y)
		}
	}
	for len(xs) > 0 && len(ys) > 0 && al.a.subtreeHash[xs[0]] == al.b.subtreeHash[ys[0]] {
		pair(xs[0], ys[0])
		xs, ys = xs[1:], ys[1:]
	}
	for len(xs) > 0 && len(ys) > 0 && al.a.subtreeHash[xs[len(xs)-1]] == al.b.subtreeHash[ys[len(ys)-1]] {
		pair(xs[len(xs)-1], ys[len(ys)-1])
		xs, ys = xs[:len(xs)-1], ys[:len(ys)-1]
	}
	switch {
	case len(xs) == 0 || len(ys) == 0:
		return total + float64(al.a.sizes(xs)+al.b.sizes(ys))
	case len(xs)*len(ys) <= maxTable:
		return total + al.alignTable(xs, ys, al.cost, func(x, y int, _ float64) {
			if commit != nil {
				commit(x, y)
			}
		})
	case commit == nil && al.pairs > maxPairs:
		al.m.approximate = true
		return total + math.Abs(float64(al.a.sizes(xs)-al.b.sizes(ys)))
	}
	for _, keys := range [][2][]uint64{{al.a.subtreeHash, al.b.subtreeHash}, {al.a.stepHash, al.b.stepHash}, {al.a.callHash, al.b.callHash}} {
		anchors := patienceAnchors(xs, ys, keys[0], keys[1])
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

// alignTable finds the cheapest alignment of siblings by comparing each with each (Needleman and Wunsch), and passes the pairs to found
// in order.
func (al *aligner) alignTable(xs, ys []int, cost func(x, y int) float64, found func(x, y int, c float64)) float64 {
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

// windows aligns long lists of siblings without anchors. It aligns the beginnings of both, keeps the first half, and continues behind it.
func (al *aligner) windows(xs, ys []int, commit func(x, y int)) float64 {
	total := 0.
	for len(xs) > 0 && len(ys) > 0 {
		last := len(xs) <= window && len(ys) <= window
		keep := window / 2
		if last {
			keep = window
		}
		headX, headY := xs[:min(window, len(xs))], ys[:min(window, len(ys))]
		indexX, indexY := indexOf(headX), indexOf(headY)
		doneX, doneY := 0, 0
		al.alignTable(headX, headY, al.estimate, func(x, y int, c float64) {
			i, j := indexX[x], indexY[y]
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
		if doneX+doneY == 0 { // no pairs: skip both halves
			doneX, doneY = min(keep, len(xs)), min(keep, len(ys))
			total += float64(al.a.sizes(headX[:doneX]) + al.b.sizes(headY[:doneY]))
		}
		xs, ys = xs[doneX:], ys[doneY:]
	}
	return total + float64(al.a.sizes(xs)+al.b.sizes(ys))
}

func indexOf(list []int) map[int]int {
	indices := make(map[int]int, len(list))
	for i, x := range list {
		indices[x] = i
	}
	return indices
}

func (s *runTree) sizes(nodes []int) (n int) {
	for _, node := range nodes {
		n += s.size[node]
	}
	return n
}

// patienceAnchors finds anchors (patience diff, Bram Cohen): indices in both lists whose keys occur once in each, in the longest common
// order.
func patienceAnchors(xs, ys []int, keysA, keysB []uint64) [][2]int {
	type seen struct{ x, y, inX, inY int }
	occurrences := make(map[uint64]*seen, len(xs))
	for i, x := range xs {
		p := occurrences[keysA[x]]
		if p == nil {
			p = &seen{}
			occurrences[keysA[x]] = p
		}
		p.x, p.inX = i, p.inX+1
	}
	for j, y := range ys {
		if p := occurrences[keysB[y]]; p != nil {
			p.y, p.inY = j, p.inY+1
		}
	}
	var unique [][2]int
	for i, x := range xs {
		if p := occurrences[keysA[x]]; p.inX == 1 && p.inY == 1 {
			unique = append(unique, [2]int{i, p.y})
		}
	}
	// The longest increasing sequence of indices in ys: ends[k] is the last element of the best one of length k+1.
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

// moved finds equal steps that were removed at one position and added at another, and pairs the first of several. Steps without content
// cannot be distinguished from others of their name, and do not move.
func moved(a, b *runTree, m *matching) map[int]int {
	m.movedFrom = minusOnes(len(b.steps))
	gone := map[uint64][]int{}
	for x := range a.steps {
		if m.toB[x] < 0 && a.steps[x].hasContent() {
			gone[a.stepHash[x]] = append(gone[a.stepHash[x]], x)
		}
	}
	to := map[int]int{}
	for y := range b.steps {
		if m.toA[y] >= 0 {
			continue
		}
		if from := gone[b.stepHash[y]]; len(from) > 0 {
			m.movedFrom[y], to[from[0]] = from[0], y
			gone[b.stepHash[y]] = from[1:]
		}
	}
	return to
}
