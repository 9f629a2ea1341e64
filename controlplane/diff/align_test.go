package diff

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/assert"
)

// node is a tree as the literature writes it.
type node struct {
	label    string
	children []node
}

func n(label string, children ...node) node { return node{label, children} }

// treeOf makes a tree whose steps are labels.
func treeOf(tree node) (*runTree, []string) {
	var labels []string
	var parents []int
	var plant func(tree node, parent int)
	plant = func(tree node, parent int) {
		at := len(labels)
		labels, parents = append(labels, tree.label), append(parents, parent)
		for _, child := range tree.children {
			plant(child, at)
		}
	}
	plant(tree, -1)
	s := &runTree{
		steps: make([]step, len(labels)), top: len(labels), children: make([][]int, len(labels)+1), concurrent: make([]bool, len(labels)),
		size: make([]int, len(labels)+1), callHash: make([]uint64, len(labels)+1), stepHash: make([]uint64, len(labels)+1), subtreeHash: make([]uint64, len(labels)+1),
	}
	s.attach(parents)
	for i, label := range labels {
		s.stepHash[i] = xxhash.Sum64String(label)
		s.callHash[i] = s.stepHash[i]
	}
	s.hashSubtree(s.top)
	s.size[s.top]--
	return s, labels
}

// unitCost aligns trees at a cost of 1 for each node that is removed, added or relabelled.
func unitCost(x, y node) (cost float64, m *matching) {
	a, labelsA := treeOf(x)
	b, labelsB := treeOf(y)
	al := &aligner{a: a, b: b, costs: map[[2]int]float64{}, limit: 2, distance: func(_ *runTree, x, y int) float64 {
		if labelsA[x] == labelsB[y] {
			return 0
		}
		return 1
	}}
	m = al.match()
	for x, y := range m.toB {
		if y < 0 {
			cost++
		} else {
			cost += al.distance(b, x, y)
		}
	}
	for _, x := range m.toA {
		if x < 0 {
			cost++
		}
	}
	return cost, m
}

// The trees of Zhang and Shasha 1989, with the distances that they and Selkow give them.
var (
	paperA   = n("f", n("d", n("a"), n("c", n("b"))), n("e"))
	paperB   = n("f", n("c", n("d", n("a"), n("b"))), n("e"))
	relabelA = n("f", n("a", n("h"), n("c", n("l"))), n("e"))
	relabelB = n("f", n("a", n("d"), n("r", n("b"))), n("e"))
)

func TestTreeEditDistances(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		a, b        node
		top, oracle float64
	}{{"paper", paperA, paperB, 4, 2}, {"relabel", relabelA, relabelB, 3, 3}} {
		cost, _ := unitCost(c.a, c.b)
		assert.InDelta(t, c.top, cost, 1e-9, c.name)
		assert.InDelta(t, c.oracle, zhangShasha(c.a, c.b), 1e-9, c.name)
	}
}

// zhangShasha is the general edit distance of ordered trees (Zhang and Shasha 1989), where the children of a removed node move to its
// parent. Top down this is not allowed, so it is a lower bound.
func zhangShasha(a, b node) float64 {
	type flat struct {
		labels []string
		left   []int
		keys   []int
	}
	flatten := func(tree node) flat {
		var f flat
		var visit func(t node) int
		visit = func(t node) int {
			first := -1
			for _, child := range t.children {
				if left := visit(child); first < 0 {
					first = left
				}
			}
			if first < 0 {
				first = len(f.labels)
			}
			f.labels, f.left = append(f.labels, t.label), append(f.left, first)
			return first
		}
		visit(tree)
		last := map[int]int{}
		for i, left := range f.left {
			last[left] = i
		}
		for i, left := range f.left {
			if last[left] == i {
				f.keys = append(f.keys, i)
			}
		}
		return f
	}
	x, y := flatten(a), flatten(b)
	trees := make([][]float64, len(x.labels))
	for i := range trees {
		trees[i] = make([]float64, len(y.labels))
	}
	for _, i := range x.keys {
		for _, j := range y.keys {
			li, lj := x.left[i], y.left[j]
			forest := make([][]float64, i-li+2)
			for p := range forest {
				forest[p] = make([]float64, j-lj+2)
				forest[p][0] = float64(p)
			}
			for q := range forest[0] {
				forest[0][q] = float64(q)
			}
			for p := 1; p < len(forest); p++ {
				for q := 1; q < len(forest[0]); q++ {
					di, dj := li+p-1, lj+q-1
					best := min(forest[p-1][q]+1, forest[p][q-1]+1)
					if x.left[di] == li && y.left[dj] == lj {
						relabel := 0.
						if x.labels[di] != y.labels[dj] {
							relabel = 1
						}
						forest[p][q] = min(best, forest[p-1][q-1]+relabel)
						trees[di][dj] = forest[p][q]
					} else {
						forest[p][q] = min(best, forest[x.left[di]-li][y.left[dj]-lj]+trees[di][dj])
					}
				}
			}
		}
	}
	return trees[len(x.labels)-1][len(y.labels)-1]
}

func randomTree(random *rand.Rand, size int) node {
	tree := n(string(rune('a' + random.IntN(4))))
	for size--; size > 0; {
		part := 1 + random.IntN(size)
		tree.children = append(tree.children, randomTree(random, part))
		size -= part
	}
	return tree
}

// topDown is Selkow's distance by its definition, without anchors and trimming.
func topDown(a, b node) float64 {
	size := func(t node) float64 { return float64(count(t)) }
	cost := 0.
	if a.label != b.label {
		cost = 1
	}
	table := make([][]float64, len(a.children)+1)
	for i := range table {
		table[i] = make([]float64, len(b.children)+1)
		for j := range table[i] {
			switch {
			case i == 0 && j == 0:
			case i == 0:
				table[i][j] = table[i][j-1] + size(b.children[j-1])
			case j == 0:
				table[i][j] = table[i-1][j] + size(a.children[i-1])
			default:
				table[i][j] = min(table[i-1][j]+size(a.children[i-1]), table[i][j-1]+size(b.children[j-1]),
					table[i-1][j-1]+topDown(a.children[i-1], b.children[j-1]))
			}
		}
	}
	return cost + table[len(a.children)][len(b.children)]
}

func count(t node) int {
	total := 1
	for _, child := range t.children {
		total += count(child)
	}
	return total
}

func TestAlignmentOfRandomTrees(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 300 {
		a, b := randomTree(random, 1+random.IntN(40)), randomTree(random, 1+random.IntN(40))
		cost, m := unitCost(a, b)
		// Against nothing at all, a root may go as well as be relabelled.
		assert.InDelta(t, min(topDown(a, b), float64(count(a)+count(b))), cost, 1e-9, "tree %d", i)
		assert.LessOrEqual(t, zhangShasha(a, b), cost, "tree %d", i)
		back, _ := unitCost(b, a)
		assert.InDelta(t, cost, back, 1e-9)
		same, _ := unitCost(a, a)
		assert.Zero(t, same)
		for x, y := range m.toB {
			if y >= 0 {
				assert.Equal(t, x, m.toA[y])
			}
		}
	}
}

func TestLevenshtein(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 3, levenshtein("kitten", "sitting"))
	assert.InDelta(t, 3./7, textDistance("kitten", "sitting"), 1e-12)
	table := func(a, b string) int {
		row := make([]int, len(b)+1)
		for j := range row {
			row[j] = j
		}
		for i := range len(a) {
			diagonal := row[0]
			row[0] = i + 1
			for j := range len(b) {
				replace := diagonal
				if a[i] != b[j] {
					replace++
				}
				diagonal = row[j+1]
				row[j+1] = min(replace, row[j+1]+1, row[j]+1)
			}
		}
		return row[len(b)]
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		text := func() string {
			b := make([]byte, random.IntN(300))
			for i := range b {
				b[i] = byte('a' + random.IntN(3))
			}
			return string(b)
		}
		a, b := text(), text()
		assert.Equal(t, table(a, b), levenshtein(a, b), "%q %q", a, b)
	}
	assert.InDelta(t, math.Abs(0), textDistance("", ""), 0)
}
