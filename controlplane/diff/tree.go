package diff

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// runTree is a run as it is aligned: a tree of steps. The node top is above its roots and is no step.
type runTree struct {
	steps []step
	root  int // root of the run, -1 for none
	top   int

	// children of each node. Consecutive ones are in start order. Concurrent ones are in the order of what they did, so that it does not
	// matter which of them began first.
	children [][]int
	// concurrent reports that a step ran at the same time as one of its siblings.
	concurrent []bool
	size       []int // of each subtree in steps
	// callHash is of what the step was given, stepHash of its results as well, subtreeHash of all steps below as well.
	callHash, stepHash, subtreeHash []uint64
}

func newTrees(base, other Run) (a, b *runTree) {
	base.Spans, other.Spans = base.Spans[:min(len(base.Spans), MaxSteps)], other.Spans[:min(len(other.Spans), MaxSteps)]
	idsA, idsB := idsOf(base.Spans), idsOf(other.Spans)
	return newTree(base, idsB), newTree(other, idsA)
}

func newTree(run Run, othersIDs map[string]struct{}) *runTree {
	steps := newStepReader(run, othersIDs).steps(run.Spans)
	parents := make([]int, len(steps))
	index := make(map[uint64]int, len(steps))
	for i := range run.Spans {
		index[run.Spans[i].SpanID] = i
	}
	root := -1
	for i := range run.Spans {
		parents[i] = -1
		if parent, ok := index[run.Spans[i].ParentSpanID]; ok && parent != i {
			parents[i] = parent
		}
		if run.Spans[i].SpanID == run.Outline.Run.RootSpanID {
			root = i
		}
	}
	return buildTree(steps, parents, root)
}

// buildTree makes the tree of steps in start order.
func buildTree(steps []step, parents []int, root int) *runTree {
	n := len(steps)
	s := &runTree{
		steps: steps, root: root, top: n, children: make([][]int, n+1), concurrent: make([]bool, n), size: make([]int, n+1),
		callHash: make([]uint64, n+1), stepHash: make([]uint64, n+1), subtreeHash: make([]uint64, n+1),
	}
	s.attach(parents)
	for i := range steps {
		s.callHash[i], s.stepHash[i] = steps[i].hashes()
	}
	for node := range s.children {
		s.sortChildren(node)
	}
	s.hashSubtree(s.top)
	s.size[s.top]-- // top is no step
	return s
}

// attach puts the steps below their parents. A circle is cut at its first step.
func (s *runTree) attach(parents []int) {
	below := make([][]int, len(parents)+1)
	for i, parent := range parents {
		if parent < 0 {
			parent = s.top
		}
		below[parent] = append(below[parent], i)
	}
	placed := make([]bool, len(parents))
	var visit func(node int)
	visit = func(node int) {
		for _, child := range below[node] {
			if !placed[child] {
				placed[child] = true
				s.children[node] = append(s.children[node], child)
				visit(child)
			}
		}
	}
	visit(s.top)
	for i := range parents {
		if !placed[i] {
			placed[i] = true
			s.children[s.top] = append(s.children[s.top], i)
			visit(i)
		}
	}
}

// sortChildren orders a node's children independently of which of several concurrent ones began first. The next child is always the least
// by compare of those that no remaining child precedes.
func (s *runTree) sortChildren(node int) {
	left := slices.Clone(s.children[node])
	slices.SortStableFunc(left, func(x, y int) int { return s.steps[x].interval.Start.Compare(s.steps[y].interval.Start) })
	byEnd := slices.Clone(left)
	slices.SortStableFunc(byEnd, func(x, y int) int { return s.steps[x].interval.End.Compare(s.steps[y].interval.End) })
	placed := make(map[int]bool, len(left))
	list := s.children[node][:0]
	var ready []int // in order
	for next, ended := 0, 0; len(list) < len(left); {
		for placed[byEnd[ended]] {
			ended++
		}
		first := s.steps[byEnd[ended]].interval
		for ; next < len(left); next++ {
			interval := s.steps[left[next]].interval
			if len(ready) > 0 && first.Precedes(interval) && !interval.Start.Equal(s.steps[left[next-1]].interval.Start) {
				break
			}
			at, _ := slices.BinarySearchFunc(ready, left[next], s.compare)
			ready = slices.Insert(ready, at, left[next])
			if len(ready) > 1 {
				s.concurrent[ready[0]], s.concurrent[left[next]] = true, true
			}
			if len(ready) == 2 {
				s.concurrent[ready[1]] = true
			}
		}
		placed[ready[0]] = true
		list = append(list, ready[0])
		ready = slices.Delete(ready, 0, 1)
	}
	s.children[node] = list
}

// compare orders steps by what they did. Equal steps stay in start order.
func (s *runTree) compare(x, y int) int {
	a, b := &s.steps[x], &s.steps[y]
	if c := cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.name, b.name)); c != 0 {
		return c
	}
	for _, fields := range [][2][]*field{{a.args, b.args}, {a.results, b.results}} {
		c := slices.CompareFunc(fields[0], fields[1], func(f, g *field) int {
			return cmp.Or(strings.Compare(f.name, g.name), strings.Compare(f.masked, g.masked))
		})
		if c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(s.stepHash[x], s.stepHash[y]), cmp.Compare(x, y))
}

// hashSubtree computes the size and the hash of a subtree.
func (s *runTree) hashSubtree(node int) {
	s.size[node] = 1
	buffer := binary.LittleEndian.AppendUint64(nil, s.stepHash[node])
	for _, child := range s.children[node] {
		s.hashSubtree(child)
		s.size[node] += s.size[child]
		buffer = binary.LittleEndian.AppendUint64(buffer, s.subtreeHash[child])
	}
	s.subtreeHash[node] = xxhash.Sum64(buffer)
}

// inOrder returns a node's children in start order.
func (s *runTree) inOrder(node int) []int {
	list := slices.Clone(s.children[node])
	slices.SortStableFunc(list, func(x, y int) int { return s.steps[x].interval.Start.Compare(s.steps[y].interval.Start) })
	return list
}

// endTime is when a span ended, or when it started if its end is unknown.
func endTime(span *runmodel.Span) time.Time {
	if runmodel.IsAbsent(span.EndTime) || span.EndTime.Before(span.StartTime) {
		return span.StartTime
	}
	return span.EndTime
}
