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

// side is one run as it is aligned: a tree of steps. The node `top`, which is no step, is above its roots.
type side struct {
	steps []step
	root  int // of the run, -1 for none
	top   int

	// children of each node. Those that ran one after the other are in that order; of those that ran at the same time the
	// order is that of what they did, so that it does not matter which of them began first.
	children [][]int
	// concurrent tells of a step that it ran at the same time as one beside it.
	concurrent []bool
	size       []int // of each subtree, in steps
	// Hashes: what was done and what it was given; that and what came of it; that and all below.
	asked, own, whole []uint64
}

func newSides(base, other Run) (a, b *side) {
	base.Spans, other.Spans = base.Spans[:min(len(base.Spans), MaxSteps)], other.Spans[:min(len(other.Spans), MaxSteps)]
	idsA, idsB := idsOf(base.Spans), idsOf(other.Spans)
	return newSide(base, idsB), newSide(other, idsA)
}

func newSide(run Run, othersIDs map[string]struct{}) *side {
	steps := newReader(run, othersIDs).steps(run.Spans)
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
	return grow(steps, parents, root)
}

// grow makes the tree of steps in start order.
func grow(steps []step, parents []int, root int) *side {
	n := len(steps)
	s := &side{
		steps: steps, root: root, top: n, children: make([][]int, n+1), concurrent: make([]bool, n), size: make([]int, n+1),
		asked: make([]uint64, n+1), own: make([]uint64, n+1), whole: make([]uint64, n+1),
	}
	s.hang(parents)
	for i := range steps {
		s.asked[i], s.own[i] = steps[i].hashes()
	}
	for node := range s.children {
		s.arrange(node)
	}
	s.sum(s.top)
	s.size[s.top]-- // it is no step
	return s
}

// hang puts the steps below their parents. What forms a circle hangs at its first step.
func (s *side) hang(parents []int) {
	below := make([][]int, len(parents)+1)
	for i, parent := range parents {
		if parent < 0 {
			parent = s.top
		}
		below[parent] = append(below[parent], i)
	}
	placed := make([]bool, len(parents))
	var place func(node int)
	place = func(node int) {
		for _, child := range below[node] {
			if !placed[child] {
				placed[child] = true
				s.children[node] = append(s.children[node], child)
				place(child)
			}
		}
	}
	place(s.top)
	for i := range parents {
		if !placed[i] {
			placed[i] = true
			s.children[s.top] = append(s.children[s.top], i)
			place(i)
		}
	}
}

// arrange brings a node's children into an order that does not depend on which of several at the same time began first:
// of those that may come next, because nothing that is left precedes them, the least by what it did comes next.
func (s *side) arrange(node int) {
	left := slices.Clone(s.children[node])
	slices.SortStableFunc(left, func(x, y int) int { return s.steps[x].took.Start.Compare(s.steps[y].took.Start) })
	byEnd := slices.Clone(left)
	slices.SortStableFunc(byEnd, func(x, y int) int { return s.steps[x].took.End.Compare(s.steps[y].took.End) })
	placed := make(map[int]bool, len(left))
	list := s.children[node][:0]
	var ready []int // in order
	for next, ended := 0, 0; len(list) < len(left); {
		for placed[byEnd[ended]] {
			ended++
		}
		first := s.steps[byEnd[ended]].took
		for ; next < len(left); next++ {
			took := s.steps[left[next]].took
			if len(ready) > 0 && first.Precedes(took) && !took.Start.Equal(s.steps[left[next-1]].took.Start) {
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

// compare orders steps by what they did; steps that are alike in all stay in start order.
func (s *side) compare(x, y int) int {
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
	return cmp.Or(cmp.Compare(s.own[x], s.own[y]), cmp.Compare(x, y))
}

// sum computes size and hash of a subtree.
func (s *side) sum(node int) {
	s.size[node] = 1
	buffer := binary.LittleEndian.AppendUint64(nil, s.own[node])
	for _, child := range s.children[node] {
		s.sum(child)
		s.size[node] += s.size[child]
		buffer = binary.LittleEndian.AppendUint64(buffer, s.whole[child])
	}
	s.whole[node] = xxhash.Sum64(buffer)
}

// inOrder are a node's children in start order.
func (s *side) inOrder(node int) []int {
	list := slices.Clone(s.children[node])
	slices.SortStableFunc(list, func(x, y int) int { return s.steps[x].took.Start.Compare(s.steps[y].took.Start) })
	return list
}

// endOf is when a span ended, or began where it has not.
func endOf(span *runmodel.Span) time.Time {
	if runmodel.IsAbsent(span.EndTime) || span.EndTime.Before(span.StartTime) {
		return span.StartTime
	}
	return span.EndTime
}
