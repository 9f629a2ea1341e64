// Package diff aligns the steps of two runs and says what is different in each. docs/diff.md says by which rules.
package diff

import (
	"github.com/looptrace/looptrace/controlplane/runs"
)

// MaxSteps is how many steps of a run are compared, in start order.
const MaxSteps = 20_000

// Run is one of the two runs. Spans are those of the outline, in its order, with their texts as runs.Service.Texts gives
// them.
type Run struct {
	Outline runs.Outline
	Spans   []runs.Span
	// TextsMissing tells that some spans have no texts here although they may have in the store.
	TextsMissing bool
}

// State says what became of a step of the base run in the other.
type State string

// States of a step.
const (
	Same    State = "same"
	Changed State = "changed"
	Removed State = "removed"
	Added   State = "added"
	Moved   State = "moved"
)

// Limit names a bound that the comparison ran into.
type Limit string

// Limits.
const (
	// LimitSteps: a run has more than MaxSteps steps, or more spans than are read.
	LimitSteps Limit = "steps"
	// LimitTexts: a run says more than is read of one; steps after that are compared without their texts.
	LimitTexts Limit = "texts"
	// LimitAlignment: so many steps differ that the cheapest alignment was not searched for among all.
	LimitAlignment Limit = "alignment"
)

// Diff says how two runs differ.
type Diff struct {
	// Steps are those of both runs in the order of the tree, removed ones before added ones.
	Steps []Step
	// Distance is how much is different, from 0 to 1: the distances of aligned steps, and 1 for each step that has no
	// counterpart or has moved, in relation to the number of steps of both runs. It is the same whichever run comes first.
	Distance float64
	// FirstDivergence is the index of the first step that is not the same, -1 where all are.
	FirstDivergence int
	Counts          map[State]int
	// Limits is empty where nothing was left out.
	Limits []Limit
}

// Step is a step of both runs or of one of them.
type Step struct {
	State State
	// Base and Other are indices of the runs' spans, -1 where the run does not have the step.
	Base, Other int
	Depth       int
	// Distance is from 0 to 1: 0 for the same, 1 where a run does not have the step.
	Distance float64
	Changes  []Change
	// Above is the index of the step above, -1 for none.
	Above int
}

// Change is a field in which the two spans of a step differ.
type Change struct {
	Field string
	// Distance is from 0 to 1.
	Distance float64

	base, other *field
}

// Compare aligns the steps of two runs.
func Compare(base, other Run) *Diff {
	d := &Diff{Counts: map[State]int{}, FirstDivergence: -1}
	for _, run := range []Run{base, other} {
		if run.Outline.Partial || len(run.Spans) > MaxSteps {
			d.limit(LimitSteps)
		}
		if run.TextsMissing {
			d.limit(LimitTexts)
		}
	}
	a, b := newSides(base, other)
	m := align(a, b)
	if m.approximate {
		d.limit(LimitAlignment)
	}
	changes := label(a, b, m)
	w := &walk{d: d, a: a, b: b, m: m, changes: changes, moved: moved(a, b, m)}
	w.children(a.top, b.top, 0, -1)
	for i := range d.Steps {
		s := &d.Steps[i]
		d.Counts[s.State]++
		if s.State != Same && d.FirstDivergence < 0 {
			d.FirstDivergence = i
		}
	}
	if steps := len(a.steps) + len(b.steps); steps > 0 {
		cost := 0.
		for x := range a.steps {
			if m.toB[x] < 0 {
				cost++
			} else {
				cost += changes[x].distance
			}
		}
		for y := range b.steps {
			if m.toA[y] < 0 {
				cost++
			}
		}
		d.Distance = min(cost/float64(steps), 1)
	}
	return d
}

func (d *Diff) limit(l Limit) {
	for _, known := range d.Limits {
		if known == l {
			return
		}
	}
	d.Limits = append(d.Limits, l)
}

// walk puts the steps of two aligned trees in one order.
type walk struct {
	d       *Diff
	a, b    *side
	m       *matching
	changes map[int]labelled
	moved   map[int]int // of the base's steps
}

// children adds what lies below two aligned steps. A step that the other run does not have stands where its run has it;
// of concurrent ones, which may be aligned across each other, the base has the order.
func (w *walk) children(x, y, depth, above int) {
	xs, ys := w.a.inOrder(x), w.b.inOrder(y)
	place := make(map[int]int, len(ys))
	for i, y := range ys {
		place[y] = i
	}
	next := 0
	addedUpTo := func(to int) {
		for ; next < to; next++ {
			if w.m.toA[ys[next]] < 0 {
				w.one(ys[next], Added, depth, above)
			}
		}
	}
	for _, x := range xs {
		y := w.m.toB[x]
		if y < 0 {
			w.one(x, Removed, depth, above)
			continue
		}
		addedUpTo(place[y])
		found := w.changes[x]
		step := Step{State: Same, Base: x, Other: y, Depth: depth, Distance: found.distance, Changes: found.changes, Above: above}
		if len(found.changes) > 0 {
			step.State = Changed
		}
		w.d.Steps = append(w.d.Steps, step)
		w.children(x, y, depth+1, len(w.d.Steps)-1)
	}
	addedUpTo(len(ys))
}

// one adds a step of one run, and what lies below it. A step that has moved stands where the other run has it.
func (w *walk) one(i int, state State, depth, above int) {
	step := Step{State: state, Base: i, Other: -1, Depth: depth, Distance: 1, Above: above}
	s := w.a
	_, gone := w.moved[i]
	if state == Added {
		s = w.b
		step.Base, step.Other = -1, i
		gone = false
		if from, ok := w.movedFrom(i); ok {
			step.State, step.Base, step.Distance = Moved, from, 0
		}
	}
	at := above
	if !gone {
		w.d.Steps = append(w.d.Steps, step)
		at, depth = len(w.d.Steps)-1, depth+1
	}
	for _, child := range s.inOrder(i) {
		w.one(child, state, depth, at)
	}
}

func (w *walk) movedFrom(y int) (int, bool) {
	x := w.m.movedFrom[y]
	return x, x >= 0
}
