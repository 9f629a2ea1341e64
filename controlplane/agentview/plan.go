package agentview

import (
	"iter"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// earlySteps is how many acting steps are shown before the critical path.
const earlySteps = 12

// nearAt is the level of a focused step after which its neighbors are shown.
const nearAt = 2

// plan is the order in which a view grows. The mistakes of an agent are mostly in what its model wrote and called, seldom where an error
// is reported, and more often late than early. So the first failure is followed by the steps in which a model acted, newest first, then
// by those of tools and others, and then by all of them in more and more detail.
func (v *view) plan(focus int) iter.Seq[operation] {
	acting, others := v.byRole()
	return func(yield func(operation) bool) {
		show := func(level int, steps ...int) bool {
			for _, i := range steps {
				if !yield(operation{kind: addStep, step: i, level: level}) {
					return false
				}
			}
			return true
		}
		if focus >= 0 {
			for level := range len(levels) {
				if !show(level+1, focus) || (level == nearAt && !show(1, v.neighbors(focus)...)) {
					return
				}
			}
		}
		if !yield(operation{kind: addAbout}) {
			return
		}
		if len(v.chain) > 0 && (!yield(operation{kind: addChain}) || !show(1, v.chain[0])) {
			return
		}
		early := min(len(acting), earlySteps)
		if !show(1, acting[:early]...) || (len(v.path) > 0 && !yield(operation{kind: addPath})) || !show(1, acting[early:]...) {
			return
		}
		for level := range len(levels) {
			if !show(level+1, others...) || (level+2 <= len(levels) && !show(level+2, acting...)) {
				return
			}
		}
	}
}

// byRole lists the steps in which a model acts and the others, both newest first. The root is the first of the others.
func (v *view) byRole() (acting, others []int) {
	root := -1
	if len(v.steps) > 0 {
		root = v.outline.Root()
		others = append(others, root)
	}
	for i := len(v.steps) - 1; i >= 0; i-- {
		switch {
		case v.steps[i].span.EffectiveKind() == runmodel.KindLLM:
			acting = append(acting, i)
		case i != root:
			others = append(others, i)
		}
	}
	if len(acting) > 0 && acting[0] == root || len(acting)+len(others) > len(v.steps) {
		others = others[1:] // the root is itself a model call
	}
	return acting, others
}

// neighbors returns the steps around a step: its ancestors, its children, and those before and after it.
func (v *view) neighbors(focus int) []int {
	const near, above, below = 2, 3, 8
	span := v.steps[focus].span
	var found []int
	parent := span.ParentSpanID
	for range above {
		for i := range v.steps {
			if v.steps[i].span.SpanID == parent && i != focus {
				found = append(found, i)
				parent = v.steps[i].span.ParentSpanID
				break
			}
		}
	}
	for i := max(0, focus-near); i <= min(len(v.steps)-1, focus+near); i++ {
		if i != focus {
			found = append(found, i)
		}
	}
	children := 0
	for i := range v.steps {
		if v.steps[i].span.ParentSpanID == span.SpanID && i != focus && children < below {
			found = append(found, i)
			children++
		}
	}
	return found
}
