// Package diff aligns the steps of two runs and finds what differs in each. docs/diff.md has the rules.
package diff

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/runs"
)

// MaxSteps is how many steps of a run are compared, in start order.
const MaxSteps = 20_000

// Run is one of the two runs. Spans are those of the outline, in its order, with the texts that runs.Service.Texts returns.
type Run struct {
	Outline runs.Outline
	Spans   []runs.Span
	// TextsMissing reports that some spans lack texts that the store may have.
	TextsMissing bool
}

// Runs reads runs with their texts.
type Runs interface {
	Outline(ctx context.Context, in access.Projects, runID uuid.UUID) (runs.Outline, error)
	Texts(ctx context.Context, outline runs.Outline) (spans []runs.Span, partial bool, err error)
}

// Read reads a run to compare.
func Read(ctx context.Context, from Runs, in access.Projects, id uuid.UUID) (Run, error) {
	outline, err := from.Outline(ctx, in, id)
	if err != nil {
		return Run{}, err //nolint:wrapcheck // it is for the user
	}
	if len(outline.Spans) > MaxSteps {
		outline.Spans, outline.Partial = outline.Spans[:MaxSteps], true
	}
	spans, partial, err := from.Texts(ctx, outline)
	if err != nil {
		return Run{}, err //nolint:wrapcheck // it says what it does
	}
	return Run{Outline: outline, Spans: spans, TextsMissing: partial}, nil
}

// State is the result of comparing a step of the base run with the other run.
type State string

// States of a step.
const (
	Same    State = "same"
	Changed State = "changed"
	Removed State = "removed"
	Added   State = "added"
	Moved   State = "moved"
)

// Limit names a limit that the comparison ran into.
type Limit string

// Limits.
const (
	// LimitSteps: a run has more than MaxSteps steps, or more spans than are read.
	LimitSteps Limit = "steps"
	// LimitTexts: a run has more text than is read. Its last steps are compared without their texts.
	LimitTexts Limit = "texts"
	// LimitAlignment: too many steps differ to search all alignments for the cheapest one.
	LimitAlignment Limit = "alignment"
)

// Diff is how two runs differ.
type Diff struct {
	// Steps are those of both runs in the order of the tree, removed ones before added ones.
	Steps []Step
	// Distance is from 0 to 1: the sum of the distances of aligned steps, and of 1 for each step that has moved or has no counterpart,
	// divided by the number of steps of both runs. It does not depend on which run comes first.
	Distance float64
	// FirstDivergence is the index of the first step that is not the same, -1 if all are.
	FirstDivergence int
	Counts          map[State]int
	// Limits is empty if nothing was left out.
	Limits []Limit
}

// Step is a step of one or both runs.
type Step struct {
	State State
	// Base and Other are indices of the runs' spans, -1 if the run does not have the step.
	Base, Other int
	Depth       int
	// Distance is from 0 to 1: 0 for the same, 1 for a step of one run.
	Distance float64
	Changes  []Change
	// Parent is the index of the parent step, -1 for none.
	Parent int
}

// Change is a field in which the two spans of a step differ.
type Change struct {
	Field string
	// Distance is from 0 to 1.
	Distance float64

	base, other *field
}

// IsGiven reports that the field is what the step was given, not what it returned.
func (c *Change) IsGiven() bool {
	switch c.Field {
	case fieldModel, fieldInstructions, fieldTools, fieldInput:
		return true
	}
	return false
}

// Compare aligns the steps of two runs. Its error is the cause why ctx ended.
func Compare(ctx context.Context, base, other Run) (*Diff, error) {
	d := &Diff{Counts: map[State]int{}, FirstDivergence: -1}
	for _, run := range []Run{base, other} {
		if run.Outline.Partial || len(run.Spans) > MaxSteps {
			d.limit(LimitSteps)
		}
		if run.TextsMissing {
			d.limit(LimitTexts)
		}
	}
	a, b := newTrees(base, other)
	m := align(ctx, a, b)
	if m.approximate {
		d.limit(LimitAlignment)
	}
	changes := compareAligned(ctx, a, b, m)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("compare runs: %w", context.Cause(ctx))
	}
	w := &merger{d: d, a: a, b: b, m: m, changes: changes, moved: moved(a, b, m)}
	w.addChildren(a.top, b.top, 0, -1)
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
	return d, nil
}

func (d *Diff) limit(l Limit) {
	for _, known := range d.Limits {
		if known == l {
			return
		}
	}
	d.Limits = append(d.Limits, l)
}

// merger merges the steps of two aligned trees into one list.
type merger struct {
	d       *Diff
	a, b    *runTree
	m       *matching
	changes map[int]comparison
	moved   map[int]int // of the base's steps
}

// addChildren adds the steps below two aligned steps. A step of one run keeps its position among that run's steps. Concurrent steps may
// be aligned across each other; they have the order of the base run.
func (w *merger) addChildren(x, y, depth, parent int) {
	xs, ys := w.a.inOrder(x), w.b.inOrder(y)
	index := make(map[int]int, len(ys))
	for i, y := range ys {
		index[y] = i
	}
	next := 0
	addedUpTo := func(to int) {
		for ; next < to; next++ {
			if w.m.toA[ys[next]] < 0 {
				w.addUnmatched(ys[next], Added, depth, parent)
			}
		}
	}
	for _, x := range xs {
		y := w.m.toB[x]
		if y < 0 {
			w.addUnmatched(x, Removed, depth, parent)
			continue
		}
		addedUpTo(index[y])
		found := w.changes[x]
		step := Step{State: Same, Base: x, Other: y, Depth: depth, Distance: found.distance, Changes: found.changes, Parent: parent}
		if len(found.changes) > 0 {
			step.State = Changed
		}
		w.d.Steps = append(w.d.Steps, step)
		w.addChildren(x, y, depth+1, len(w.d.Steps)-1)
	}
	addedUpTo(len(ys))
}

// addUnmatched adds a step of one run, and the steps below it. A step that has moved is listed at its position in the other run.
func (w *merger) addUnmatched(i int, state State, depth, parent int) {
	step := Step{State: state, Base: i, Other: -1, Depth: depth, Distance: 1, Parent: parent}
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
	at := parent
	if !gone {
		w.d.Steps = append(w.d.Steps, step)
		at, depth = len(w.d.Steps)-1, depth+1
	}
	for _, child := range s.inOrder(i) {
		w.addUnmatched(child, state, depth, at)
	}
}

func (w *merger) movedFrom(y int) (int, bool) {
	x := w.m.movedFrom[y]
	return x, x >= 0
}
