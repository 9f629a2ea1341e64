package runs

import (
	"cmp"
	"slices"
	"time"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Section is a stretch of a run's critical path in which the path is with one span itself, not with a child of it.
type Section struct {
	Span     int // its place in the run's spans
	From, To time.Time
}

// Root is the place of the run's root among its spans, or 0.
func (o Outline) Root() int {
	for i := range o.Spans {
		if o.Spans[i].SpanID == o.Run.RootSpanID {
			return i
		}
	}
	return 0
}

// childrenOf lists the children of each span. What is its own parent has none.
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

// CriticalPath returns the sections that the root's duration is made of, the latest first. Going back from the end of
// a span, the path enters the child that ended last, and goes on from the child's start: the next child is the one that
// ended last of those that were over then (runmodel.Interval.Precedes), so that calls which follow each other without a gap
// are all on the path, and end where the next one begins. Children are clamped to what their parent takes part in; the
// sections add up to the root's duration. It follows Jaeger's algorithm (jaeger-ui, CriticalPath), which drops a child that
// ends where the next begins.
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
		from  time.Time         // where the span begins, clamped to its parent
		to    time.Time         // where it ends, clamped
		at    time.Time         // where the path is, going back
		child int               // the next of the children to look at, from the last
		after runmodel.Interval // the child that the path was in last, clamped
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
				// It ran beside the child that the path was in, unless clocks only round so.
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
