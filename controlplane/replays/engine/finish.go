package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/replays/timing"
)

// finish adds the frames and the steps that were not reached.
func (e *engine) finish(ctx context.Context) (*Attempt, error) {
	calls := len(e.steps)
	out := &Attempt{Spent: e.spent, Exposure: map[string]int{}, FirstDivergence: -1}
	if out.Stop = (Stop{Reason: StopCompleted, Recorded: -1}); e.stop != nil {
		out.Stop = *e.stop
	}
	if e.stop == nil {
		e.endLoops(-1)
	}
	changed := e.changedFrames(calls)
	shift, known := e.shifts(calls)
	for i := range e.Steps {
		if e.Steps[i].Kind != recorded.KindFrame || !e.reached(i) {
			continue
		}
		if err := e.emit(ctx, e.frame(i, changed[i], shift, known)); err != nil {
			return nil, err
		}
	}
	for i := range e.Steps {
		if e.made[i] >= 0 {
			continue
		}
		step := e.stepOf(i)
		step.Source, step.Differs, step.Duration = SourceNotReached, true, nil
		if err := e.emit(ctx, step); err != nil {
			return nil, err
		}
	}
	if len(e.options.Done) > len(e.steps) {
		return nil, fmt.Errorf("%d steps: %w", len(e.options.Done), ErrNotDone)
	}
	out.Steps = e.steps
	for n := range e.steps {
		step := &e.steps[n]
		if out.FirstDivergence < 0 && step.Differs {
			out.FirstDivergence = n
		}
		if step.Kind == recorded.KindFrame {
			continue
		}
		source := string(step.Source)
		if step.Source == SourceServed && step.Tier != "" {
			source = string(step.Tier)
		}
		out.Exposure[source]++
	}
	out.Answer = e.lastAnswer()
	if d, ok := e.duration(calls); ok && out.Stop.Reason == StopCompleted {
		out.Duration = &d
	}
	return out, nil
}

// endLoops notes the new last answers of the loops below a step, -1 for all: what was made of the recorded ones is made of them.
func (e *engine) endLoops(below int) {
	for l := range e.runs {
		run := &e.runs[l]
		calls := e.Loops[l].Calls
		if !run.called || below >= 0 && !e.isBelow(calls[0], below) {
			continue
		}
		last := calls[len(calls)-1]
		e.differ(last, e.recordedAnswer(last), run.answer)
	}
}

// isBelow reports whether a step is below another one.
func (e *engine) isBelow(i, above int) bool {
	for at := e.Steps[i].Parent; at >= above; at = e.Steps[at].Parent {
		if at == above {
			return true
		}
	}
	return false
}

// reached reports whether a frame is part of the attempt: something below it is, or it would have begun anyway.
func (e *engine) reached(i int) bool {
	if above := e.coveredBy(i); above >= 0 {
		return e.covered[above]
	}
	return e.stop == nil && !e.downstream[i] || e.stop != nil && e.beforeStop(i) || e.hasMade(i) || e.stop == nil && !e.hasCalls(i)
}

// beforeStop reports whether a step was recorded before the one at which the attempt ended.
func (e *engine) beforeStop(i int) bool { return e.stop.Recorded < 0 || i <= e.stop.Recorded }

// hasMade reports whether a model call or a tool call below a frame was made.
func (e *engine) hasMade(i int) bool { return e.madeBelow()[i] > 0 }

// hasCalls reports whether a model call or a tool call was recorded below a frame.
func (e *engine) hasCalls(i int) bool { return e.callsBelow()[i] > 0 }

// madeBelow counts for each step the calls of the attempt below it.
func (e *engine) madeBelow() []int {
	if e.below == nil {
		e.below = make([]int, len(e.Steps))
		for n := range e.steps {
			if e.steps[n].Kind != recorded.KindFrame && e.steps[n].Source != SourceNotReached {
				e.countAbove(e.below, e.steps[n].Parent)
			}
		}
	}
	return e.below
}

// callsBelow counts for each step the recorded calls below it.
func (e *engine) callsBelow() []int {
	if e.recordedBelow == nil {
		e.recordedBelow = make([]int, len(e.Steps))
		for i := range e.Steps {
			if e.Steps[i].Kind != recorded.KindFrame {
				e.countAbove(e.recordedBelow, e.Steps[i].Parent)
			}
		}
	}
	return e.recordedBelow
}

func (e *engine) countAbove(counts []int, at int) {
	for ; at >= 0; at = e.Steps[at].Parent {
		counts[at]++
	}
}

// changedFrames reports which steps have something below them that differs.
func (e *engine) changedFrames(calls int) []bool {
	changed := make([]bool, len(e.Steps))
	mark := func(at int) {
		for ; at >= 0 && !changed[at]; at = e.Steps[at].Parent {
			changed[at] = true
		}
	}
	for n := range calls {
		if step := &e.steps[n]; step.Differs {
			mark(step.Parent)
		}
	}
	for i := range e.Steps {
		if e.Steps[i].Kind != recorded.KindFrame && e.made[i] < 0 {
			mark(e.Steps[i].Parent)
		}
	}
	return changed
}

// shifts returns for each step by how much the end of what is below it is later than recorded, and whether that is known.
func (e *engine) shifts(calls int) (shift []time.Duration, known []bool) {
	was, now := make([]time.Duration, len(e.Steps)), make([]time.Duration, len(e.Steps))
	shift, known = make([]time.Duration, len(e.Steps)), make([]bool, len(e.Steps))
	for i := range e.Steps {
		known[i] = true
		if end, ok := e.Steps[i].End(); ok && e.Steps[i].Kind != recorded.KindFrame {
			for at := e.Steps[i].Parent; at >= 0; at = e.Steps[at].Parent {
				was[at] = max(was[at], end)
			}
		}
	}
	for n := range calls {
		step := &e.steps[n]
		for at := step.Parent; at >= 0; at = e.Steps[at].Parent {
			if step.Duration == nil {
				known[at] = known[at] && step.Source == SourceCopied
				continue
			}
			now[at] = max(now[at], step.Offset+*step.Duration)
		}
	}
	for i := range shift {
		shift[i] = now[i] - was[i]
		known[i] = known[i] && now[i] > 0
	}
	return shift, known
}

// frame makes the step of a frame. What it returned is known if it was the output of a step.
func (e *engine) frame(i int, changed bool, shift []time.Duration, known []bool) AttemptStep {
	s := &e.Steps[i]
	step := e.stepOf(i)
	step.Source, step.Inputs, step.Outputs = SourceCopied, s.Inputs, s.Outputs
	if text, d := e.renew(s.Inputs); d == derived && e.downstream[i] {
		step.Inputs, step.Differs, step.Source = text, true, SourceDerived
	}
	if step.Duration != nil && known[i] && e.stop == nil && e.structure.Steps[i].Effect == timing.None {
		step.Duration = new(max(*step.Duration+shift[i], 0))
	}
	if !changed {
		return step
	}
	if !known[i] || e.stop != nil {
		step.Duration = nil
	}
	step.Differs, step.Source = true, SourceDerived
	if s.Outputs == "" {
		return step
	}
	if e.stop == nil {
		if text, d := e.renew(s.Outputs); d == derived {
			step.Outputs = text
			return step
		} else if d == independent && !e.mentions(s.Outputs) {
			step.Note = "What is below differs, and the recorded output has no text of it: it may differ, too."
		}
	}
	step.Outputs = ""
	if step.Note == "" {
		step.Note = "What is below differs, and only the program makes an output of it."
	}
	return step
}

// lastAnswer returns the newest answer of the loop that ended last in the recording.
func (e *engine) lastAnswer() *string {
	last, latest := -1, -1
	for l := range e.Loops {
		if calls := e.Loops[l].Calls; calls[len(calls)-1] > latest && e.runs[l].called && e.tools[calls[0]] < 0 {
			last, latest = l, calls[len(calls)-1]
		}
	}
	if last < 0 || strings.TrimSpace(e.runs[last].answer) == "" {
		return nil
	}
	return &e.runs[last].answer
}

// duration returns how long the replayed run took.
func (e *engine) duration(calls int) (time.Duration, bool) {
	if e.Duration == nil {
		return 0, false
	}
	if !slices.ContainsFunc(e.steps[:calls], func(s AttemptStep) bool { return s.Source != SourceCopied }) {
		if e.structure.Duration == nil {
			return 0, false
		}
		return *e.structure.Duration, true
	}
	var end time.Duration
	for n := range e.steps {
		step := &e.steps[n]
		if step.Source == SourceNotReached {
			continue
		}
		if step.Duration == nil {
			if step.Recorded >= 0 && e.Steps[step.Recorded].Duration == nil {
				continue // nobody knew it before
			}
			return 0, false
		}
		end = max(end, step.Offset+*step.Duration)
	}
	return end, true
}
