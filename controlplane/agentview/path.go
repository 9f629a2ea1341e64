package agentview

import (
	"cmp"
	"slices"
	"time"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// section is how long a step is on the critical path itself, its children on the path left out.
type section struct {
	step int
	self time.Duration
}

// rootOf is the step of the run's root, or the first one.
func rootOf(outline runs.Outline, steps []step) int {
	for i := range steps {
		if steps[i].span.SpanID == outline.Run.RootSpanID {
			return i
		}
	}
	return 0
}

// childrenOf lists the children of each step. What would close a circle has no parent.
func childrenOf(steps []step) [][]int {
	index := make(map[uint64]int, len(steps))
	for i := range steps {
		index[steps[i].span.SpanID] = i
	}
	children := make([][]int, len(steps))
	for i := range steps {
		if parent, ok := index[steps[i].span.ParentSpanID]; ok && parent != i {
			children[parent] = append(children[parent], i)
		}
	}
	return children
}

// criticalPath returns the steps that the root's duration is made of, the longest first. Going back from the end of
// a span, the path enters the child that ended last, and goes on from the child's start: the next child is the one that
// ended last at or before it, so that calls which follow each other without a gap are all on the path. Children are
// clamped to what their parent takes part in; the sections add up to the root's duration. It follows Jaeger's
// algorithm (jaeger-ui, CriticalPath), which drops a child that ends where the next begins.
func criticalPath(steps []step, root int) []section {
	if len(steps) == 0 {
		return nil
	}
	children := childrenOf(steps)
	for _, siblings := range children {
		slices.SortStableFunc(siblings, func(a, b int) int {
			return cmp.Or(steps[a].span.EndTime.Compare(steps[b].span.EndTime), steps[a].span.StartTime.Compare(steps[b].span.StartTime))
		})
	}
	self := map[int]time.Duration{}
	type frame struct {
		step  int
		from  time.Time // where the step begins, clamped to its parent
		to    time.Time // where it ends, clamped
		at    time.Time // where the path is, going back
		child int       // the next of the children to look at, from the last
	}
	var stack []frame
	visited := make([]bool, len(steps))
	enter := func(i int, from, to time.Time) {
		visited[i] = true
		stack = append(stack, frame{i, from, to, to, len(children[i]) - 1})
	}
	span := steps[root].span
	if runmodel.IsAbsent(span.EndTime) || !span.EndTime.After(span.StartTime) {
		return nil
	}
	enter(root, span.StartTime, span.EndTime)
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		next := -1
		var from, to time.Time
		for ; f.child >= 0 && next < 0; f.child-- {
			i := children[f.step][f.child]
			c := steps[i].span
			if visited[i] || runmodel.IsAbsent(c.EndTime) {
				continue
			}
			from, to = c.StartTime, c.EndTime
			if from.Before(f.from) {
				from = f.from
			}
			if to.After(f.to) {
				to = f.to
			}
			// What ended after the path's place ran beside it.
			if to.After(f.at) {
				continue
			}
			if to.After(from) {
				next = i
			}
		}
		if next < 0 {
			if f.at.After(f.from) {
				self[f.step] += f.at.Sub(f.from)
			}
			stack = stack[:len(stack)-1]
			continue
		}
		if f.at.After(to) {
			self[f.step] += f.at.Sub(to)
		}
		f.at = from
		enter(next, from, to)
	}
	sections := make([]section, 0, len(self))
	for i, d := range self {
		sections = append(sections, section{i, d})
	}
	slices.SortFunc(sections, func(a, b section) int { return cmp.Or(cmp.Compare(b.self, a.self), cmp.Compare(a.step, b.step)) })
	return sections
}

// errorChain returns the first step that failed by itself, and the steps above it up to the root. A step fails by
// itself where no step below it failed. A failure that was made good counts only where there is no other: the same was
// done again, later and beside it, and went well.
func errorChain(steps []step) []int {
	children := childrenOf(steps)
	failed := func(i int) bool { return steps[i].span.EffectiveStatus() == runmodel.StatusError }
	type deed struct {
		parent     uint64
		kind, name string
	}
	deedOf := func(i int) deed {
		return deed{steps[i].span.ParentSpanID, steps[i].span.EffectiveKind(), steps[i].span.Name}
	}
	doneWell := map[deed]int{} // the last step that did it well
	for i := range steps {
		if steps[i].span.EffectiveStatus() == runmodel.StatusOK {
			doneWell[deedOf(i)] = i
		}
	}
	origin := -1
	for i := range steps {
		if !failed(i) || slices.ContainsFunc(children[i], failed) {
			continue
		}
		if last, ok := doneWell[deedOf(i)]; !ok || last < i {
			origin = i
			break
		}
		if origin < 0 {
			origin = i
		}
	}
	if origin < 0 {
		return nil
	}
	parents := make(map[int]int, len(steps))
	for parent, list := range children {
		for _, child := range list {
			parents[child] = parent
		}
	}
	chain := []int{origin}
	seen := map[int]bool{origin: true}
	for {
		parent, ok := parents[chain[len(chain)-1]]
		if !ok || seen[parent] {
			return chain
		}
		seen[parent] = true
		chain = append(chain, parent)
	}
}
