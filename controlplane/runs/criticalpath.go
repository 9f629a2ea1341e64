package runs

import (
	"cmp"
	"slices"
	"time"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Section is a part of a critical path that belongs to one span and to none of its children.
type Section struct {
	Span     int // index in the run's spans
	From, To time.Time
}

// Root returns the index of the run's root among its spans, 0 if it is missing.
func (o Outline) Root() int {
	for i := range o.Spans {
		if o.Spans[i].SpanID == o.Run.RootSpanID {
			return i
		}
	}
	return 0
}

// childrenOf lists the children of each span. It ignores a span that is its own parent.
func childrenOf(spans []runmodel.Span) [][]int {
	index := make(map[uint64]int, len(spans))
	for i := range spans {
		index[spans[i].SpanID] = i
	}
	children := make([][]int, len(spans))
	for i := range spans {
		if parent, ok := index[spans[i].ParentSpanID]; ok && parent != i {
			children[parent] = append(children[parent], i)
		}
	}
	return children
}

// CriticalPath returns the sections that make up the root's duration, the latest first. Going back from the end of a span, the path
// enters the child that ended last, and continues at the start of that child. The next child is the one that ended last of those that
// were over by then (runmodel.Interval.Precedes), so calls that follow each other without a gap are all on the path, and each ends where
// the next begins. Children are clamped to their parent's part of the path. The sections add up to the root's duration. Jaeger's
// algorithm (jaeger-ui, CriticalPath) is the same, except that it drops a child that ends where the next begins.
func CriticalPath(spans []runmodel.Span, root int) []Section {
	if len(spans) == 0 {
		return nil
	}
	start, end := spans[root].StartTime, spans[root].EndTime
	if runmodel.IsAbsent(end) || !end.After(start) {
		return nil
	}
	children := childrenOf(spans)
	for _, siblings := range children {
		slices.SortStableFunc(siblings, func(a, b int) int {
			return cmp.Or(spans[a].EndTime.Compare(spans[b].EndTime), spans[a].StartTime.Compare(spans[b].StartTime))
		})
	}
	type frame struct {
		span  int
		from  time.Time         // start of the span, clamped to its parent
		to    time.Time         // its end, clamped
		at    time.Time         // position of the path, going back
		child int               // next child to look at, going back
		after runmodel.Interval // interval of the child that the path was in last, clamped
	}
	var stack []frame
	visited := make([]bool, len(spans))
	enter := func(i int, from, to time.Time) {
		visited[i] = true
		stack = append(stack, frame{span: i, from: from, to: to, at: to, child: len(children[i]) - 1})
	}
	var sections []Section
	enter(root, start, end)
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		next := -1
		var from, to time.Time
		for ; f.child >= 0 && next < 0; f.child-- {
			i := children[f.span][f.child]
			c := &spans[i]
			if visited[i] || runmodel.IsAbsent(c.EndTime) {
				continue
			}
			from, to = later(c.StartTime, f.from), earlier(c.EndTime, f.to)
			if to.After(f.at) {
				// It ran concurrently with that child, unless only clocks were rounded.
				if !(runmodel.Interval{Start: from, End: to}).Precedes(f.after) {
					continue
				}
				to = f.at
			}
			if to.After(from) {
				next = i
			}
		}
		if next < 0 {
			if f.at.After(f.from) {
				sections = append(sections, Section{f.span, f.from, f.at})
			}
			stack = stack[:len(stack)-1]
			continue
		}
		if f.at.After(to) {
			sections = append(sections, Section{f.span, to, f.at})
		}
		f.at, f.after = from, runmodel.Interval{Start: from, End: to}
		enter(next, from, to)
	}
	return sections
}
