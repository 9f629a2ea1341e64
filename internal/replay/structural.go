package replay

import (
	"container/heap"
	"strings"
	"time"
)

// Effect is what timeouts and retries do to a step.
type Effect string

// The effects.
const (
	// EffectNone: the step begins, ends and answers as recorded.
	EffectNone Effect = "none"
	// EffectTimedOut: it fails at the new timeout, or after fewer attempts than it took.
	EffectTimedOut Effect = "timed_out"
	// EffectCensored: it would have gone on longer than recorded, so that its result is unknown.
	EffectCensored Effect = "censored"
	// EffectUnknown: it begins after a step that failed by the edit, or whose end is unknown.
	EffectUnknown Effect = "unknown"
)

// Structure is what timeouts and retries do to a run, decided by its recorded durations.
type Structure struct {
	// Steps are those of the recording, in its order.
	Steps []StepTime
	// Duration is that of the run, nil if it is unknown.
	Duration *time.Duration
	// NoEffect reports that nothing changes but the times of the steps.
	NoEffect bool
}

// StepTime is when a step happens.
type StepTime struct {
	Effect Effect
	// Offset is the start from the start of the run, nil if it is unknown. So is Duration.
	Offset, Duration *time.Duration
}

// Structure decides the timeouts and retries among edits. It ignores others.
//
// A step begins when the last of the siblings that had ended before it ends, and the recorded pause has passed. A step ends
// when its last child ends, and the recorded rest has passed. A timeout limits a call with all its attempts.
func (r *Recording) Structure(edits *Checked) Structure {
	s := schedule{Recording: r, changes: make([]change, len(r.Steps)), times: make([]planned, len(r.Steps)), children: make([][]int, len(r.Steps)+1)}
	for i := range r.Steps {
		s.changes[i] = r.change(i, edits)
		parent := r.Steps[i].Parent
		if parent < 0 {
			parent = len(r.Steps)
		}
		s.children[parent] = append(s.children[parent], i)
	}
	s.place(s.children[len(r.Steps)], 0, moment{known: true})
	out := Structure{Steps: make([]StepTime, len(r.Steps)), NoEffect: true, Duration: new(time.Duration(0))}
	for i := range r.Steps {
		t := s.times[i]
		step := &out.Steps[i]
		step.Effect = s.effect(i)
		if t.start.known {
			step.Offset = new(t.start.at)
			if t.end.known {
				step.Duration = new(t.end.at - t.start.at)
			}
		}
		switch {
		case step.Effect == EffectTimedOut || step.Effect == EffectCensored || step.Effect == EffectUnknown:
			out.NoEffect = false
			out.Duration = nil
		case !t.end.known:
			out.Duration = nil
		case out.Duration != nil:
			out.Duration = new(max(*out.Duration, t.end.at))
		}
	}
	if len(r.Steps) == 0 {
		out.Duration = nil
	}
	return out
}

// moment is a time from the start of the run. unsure reports that it comes after something that differs from the recording.
type moment struct {
	at            time.Duration
	known, unsure bool
}

// planned is when a step happens.
type planned struct{ start, end moment }

// change is what edits do to a call itself.
type change struct {
	effect Effect // none, timed_out or censored
	// duration replaces the recorded one, nil if it stays or is unknown.
	duration *time.Duration
}

// change decides the edits of a step by its recorded duration.
func (r *Recording) change(i int, edits *Checked) change {
	step := &r.Steps[i]
	var timeout, retries *int64
	for _, e := range edits.byStep[i] {
		set := &edits.Edits[e].Set
		if set.TimeoutMS != nil {
			timeout = set.TimeoutMS
		}
		if set.Retries != nil {
			retries = set.Retries
		}
	}
	if timeout == nil && retries == nil {
		return change{effect: EffectNone}
	}
	if step.Duration == nil {
		return change{effect: EffectCensored}
	}
	out := change{effect: EffectNone}
	if retries != nil {
		out = step.changeRetries(*retries)
	}
	if out.effect != EffectNone {
		return out
	}
	if timeout == nil {
		return out
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	limit := ms(*timeout)
	if !step.timedOut() {
		if limit < *step.Duration {
			return change{EffectTimedOut, &limit}
		}
		return out
	}
	recorded := *step.Duration
	if step.TimeoutMS != nil {
		recorded = ms(*step.TimeoutMS)
	}
	switch {
	case limit > recorded:
		return change{effect: EffectCensored}
	case limit < recorded:
		return change{EffectTimedOut, &limit}
	}
	return out
}

// changeRetries decides another number of retries. More of them for a call that failed have an unknown result; so have fewer for one
// of which nobody knows how many it took.
func (s *Step) changeRetries(n int64) change {
	used := int64(-1)
	if s.Attempts != nil && *s.Attempts > 0 {
		used = *s.Attempts - 1
	}
	switch {
	case s.failed() && (s.Retries == nil && n > max(used, 0) || s.Retries != nil && n > *s.Retries):
		return change{effect: EffectCensored}
	case s.failed():
		return change{effect: EffectNone}
	case used >= 0 && n < used:
		return change{effect: EffectTimedOut}
	case used < 0 && n < 1 && (s.Retries == nil || *s.Retries > 0), used < 0 && s.Retries != nil && n < *s.Retries:
		return change{effect: EffectCensored}
	}
	return change{effect: EffectNone}
}

// timedOut reports whether the recorded call ended at a timeout.
func (s *Step) timedOut() bool {
	if !s.failed() {
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

// schedule places the steps of a run in time.
type schedule struct {
	*Recording
	changes  []change
	times    []planned
	children [][]int // of each step; the last are those without a parent
}

// place places siblings. from is the recorded start of the step above them, and start its new one.
func (s *schedule) place(siblings []int, from time.Duration, start moment) {
	running := &endHeap{schedule: s}
	var recorded time.Duration // the latest recorded end of those that have ended
	last := moment{known: true}
	ended := false
	for _, i := range siblings {
		step := &s.Steps[i]
		for running.Len() > 0 && s.precedes(running.list[0], i) {
			done := heap.Pop(running).(int) //nolint:forcetypeassert // it has no others
			end, _ := s.Steps[done].end()
			if !ended || end > recorded {
				recorded = end
			}
			last = later(last, s.times[done].end, !ended)
			ended = true
		}
		begin := moment{at: start.at + step.Offset - from, known: start.known, unsure: start.unsure}
		if ended {
			begin = moment{at: last.at + step.Offset - recorded, known: last.known && start.known, unsure: last.unsure || start.unsure}
		}
		if begin.unsure {
			begin.known = false
		}
		s.times[i].start = begin
		s.place(s.children[i], step.Offset, begin)
		s.times[i].end = s.end(i, begin)
		if step.Duration != nil {
			heap.Push(running, i)
		}
	}
}

// later returns the later of two moments. Unknown ones make it unknown.
func later(a, b moment, first bool) moment {
	at := b.at
	if !first {
		at = max(a.at, b.at)
	}
	return moment{at: at, known: a.known && b.known, unsure: a.unsure || b.unsure}
}

// precedes reports whether a step had ended before a later one began, as far as clocks can tell: runmodel.Interval.Precedes.
func (s *schedule) precedes(i, next int) bool {
	a, b := &s.Steps[i], &s.Steps[next]
	end, _ := a.end()
	shared := end - b.Offset
	if shared <= 0 {
		return true
	}
	const share = 4
	length := time.Duration(0)
	if b.Duration != nil {
		length = *b.Duration / share
	}
	return shared <= min(time.Millisecond, *a.Duration/share, length)
}

// end returns when a step ends that begins at start. Its children are placed.
func (s *schedule) end(i int, start moment) moment {
	step := &s.Steps[i]
	change := s.changes[i]
	recorded, ok := step.end()
	switch {
	case change.effect == EffectTimedOut && change.duration != nil:
		return moment{at: start.at + *change.duration, known: start.known, unsure: true}
	case change.effect != EffectNone:
		return moment{unsure: true}
	case change.duration != nil:
		return moment{at: start.at + *change.duration, known: start.known, unsure: start.unsure}
	case !ok:
		return moment{unsure: start.unsure}
	}
	var lastRecorded time.Duration
	last, found := moment{known: true}, false
	for _, child := range s.children[i] {
		end, ok := s.Steps[child].end()
		if !ok || end > recorded {
			continue // it outlives the step: nobody waited for it
		}
		if !found || end > lastRecorded {
			lastRecorded = end
		}
		last = later(last, s.times[child].end, !found)
		found = true
	}
	if !found {
		return moment{at: start.at + *step.Duration, known: start.known, unsure: start.unsure}
	}
	end := moment{at: last.at + recorded - lastRecorded, known: last.known && start.known, unsure: last.unsure || start.unsure}
	if end.unsure {
		end.known = false
	}
	return end
}

// effect says what happens to a step.
func (s *schedule) effect(i int) Effect {
	t := s.times[i]
	switch {
	case t.start.unsure:
		return EffectUnknown
	case s.changes[i].effect != EffectNone:
		return s.changes[i].effect
	case t.end.unsure:
		return EffectUnknown
	}
	return EffectNone
}

// endHeap has the siblings that run, by their recorded ends.
type endHeap struct {
	*schedule
	list []int
}

func (h *endHeap) Len() int { return len(h.list) }
func (h *endHeap) Less(i, j int) bool {
	a, _ := h.Steps[h.list[i]].end()
	b, _ := h.Steps[h.list[j]].end()
	return a < b
}
func (h *endHeap) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *endHeap) Push(x any)    { h.list = append(h.list, x.(int)) } //nolint:forcetypeassert // it has no others
func (h *endHeap) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}
