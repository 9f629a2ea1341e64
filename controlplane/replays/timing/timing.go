package timing

import (
	"slices"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Effect is what timeouts and retries do to a step.
type Effect string

// The effects.
const (
	// None: the step begins, ends and answers as recorded.
	None Effect = "none"
	// TimedOut: it fails at the new timeout, or after fewer attempts than it took.
	TimedOut Effect = "timed_out"
	// Censored: it would have gone on longer than recorded, so that its result is unknown.
	Censored Effect = "censored"
	// Unknown: it begins after a step that failed by the edit, or whose end is unknown.
	Unknown Effect = "unknown"
)

// Effects is what timeouts and retries do to a run, decided by its recorded durations.
type Effects struct {
	// Steps are those of the recording, in its order.
	Steps []StepEffect
	// Duration is that of the run, nil if it is unknown.
	Duration *time.Duration
	// NoEffect reports that nothing changes.
	NoEffect bool
}

// StepEffect is what happens to a step. A step without an effect is as recorded, also in its times.
type StepEffect struct {
	Effect Effect
	// Timeout is how long a call takes that times out. It is nil for one that fails after fewer attempts.
	Timeout *time.Duration
}

// Of decides the timeouts and retries among edits. It ignores others.
//
// A step waits for the siblings that had ended before it began, and ends after its children. A timeout limits a call with all its
// attempts.
func Of(r *recorded.Recording, edits *edit.Checked) Effects {
	s := spread{Recording: r, effects: make([]StepEffect, len(r.Steps)), children: make([][]int, len(r.Steps)+1)}
	for i := range r.Steps {
		s.effects[i] = change(&r.Steps[i], edits, i)
		parent := r.Steps[i].Parent
		if parent < 0 {
			parent = len(r.Steps)
		}
		s.children[parent] = append(s.children[parent], i)
	}
	s.follow(s.children[len(r.Steps)], false)
	out := Effects{Steps: s.effects, NoEffect: true}
	var last time.Duration
	known := len(r.Steps) > 0
	for i := range r.Steps {
		end, ok := r.Steps[i].End()
		last, known = max(last, end), known && ok
		out.NoEffect = out.NoEffect && s.effects[i].Effect == None
	}
	if known && out.NoEffect {
		out.Duration = &last
	}
	return out
}

// change decides the edits of a step by its recorded duration.
func change(step *recorded.Step, edits *edit.Checked, i int) StepEffect {
	var timeout, retries *int64
	for _, e := range edits.ByStep[i] {
		set := &edits.Edits[e].Set
		if set.TimeoutMS != nil {
			timeout = set.TimeoutMS
		}
		if set.Retries != nil {
			retries = set.Retries
		}
	}
	if timeout == nil && retries == nil {
		return StepEffect{Effect: None}
	}
	if step.Duration == nil {
		return StepEffect{Effect: Censored}
	}
	out := StepEffect{Effect: None}
	if retries != nil {
		out.Effect = changeRetries(step, *retries)
	}
	if out.Effect != None || timeout == nil {
		return out
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	limit := ms(*timeout)
	if !endedAtTimeout(step) {
		if limit < *step.Duration {
			return StepEffect{TimedOut, &limit}
		}
		return out
	}
	was := *step.Duration
	if step.TimeoutMS != nil {
		was = ms(*step.TimeoutMS)
	}
	switch {
	case limit > was:
		return StepEffect{Effect: Censored}
	case limit < was:
		return StepEffect{TimedOut, &limit}
	}
	return out
}

// changeRetries decides another number of retries. More of them for a call that failed have an unknown result; so have fewer for one
// of which nobody knows how many it took.
func changeRetries(s *recorded.Step, n int64) Effect {
	used := int64(-1)
	if s.Attempts != nil && *s.Attempts > 0 {
		used = *s.Attempts - 1
	}
	switch {
	case s.Failed() && (s.Retries == nil && n > max(used, 0) || s.Retries != nil && n > *s.Retries):
		return Censored
	case s.Failed():
		return None
	case used >= 0 && n < used:
		return TimedOut
	case used < 0 && n < 1 && (s.Retries == nil || *s.Retries > 0), used < 0 && s.Retries != nil && n < *s.Retries:
		return Censored
	}
	return None
}

// timedOut reports whether the recorded call ended at a timeout.
func endedAtTimeout(s *recorded.Step) bool {
	if !s.Failed() {
		return false
	}
	text := strings.ToLower(s.ErrorType + " " + s.ErrorMessage)
	for _, word := range []string{"timeout", "timed out", "time out", "deadline"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// spread spreads the effects of edits to the steps after them.
type spread struct {
	*recorded.Recording
	effects  []StepEffect
	children [][]int // of each step; the last are those without a parent
}

// follow decides siblings. after reports that they begin after something that differs from the recording.
func (s *spread) follow(siblings []int, after bool) {
	first := -1 // of the siblings with an effect, the one that had ended first
	for _, i := range siblings {
		after = after || first >= 0 && interval(&s.Steps[first]).Precedes(interval(&s.Steps[i]))
		s.follow(s.children[i], after)
		if after || s.effects[i].Effect == None && s.endsLater(i) {
			s.effects[i] = StepEffect{Effect: Unknown}
		}
		end, ok := s.Steps[i].End()
		if !ok || s.effects[i].Effect == None {
			continue
		}
		if first < 0 || end < s.Steps[first].Offset+*s.Steps[first].Duration {
			first = i
		}
	}
}

// endsLater reports whether a step waited for a child whose end is unknown. Nobody waited for one that outlives it.
func (s *spread) endsLater(i int) bool {
	was, ok := s.Steps[i].End()
	return ok && slices.ContainsFunc(s.children[i], func(child int) bool {
		end, ok := s.Steps[child].End()
		return ok && end <= was && s.effects[child].Effect != None
	})
}

// interval is when the step ran, from the start of the run. One without an end ended when it began.
func interval(s *recorded.Step) runmodel.Interval {
	start := time.Time{}.Add(s.Offset)
	if s.Duration == nil {
		return runmodel.Interval{Start: start, End: start}
	}
	return runmodel.Interval{Start: start, End: start.Add(*s.Duration)}
}
