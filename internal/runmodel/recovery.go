package runmodel

import "slices"

// Recovered returns the indices of the failed spans that the run recovered from. The spans must be in start order.
func Recovered(spans []Span) []int {
	errs := errorsOf(spans)
	if errs == nil {
		return nil
	}
	recovered := errs.recovery()
	var list []int
	for i, failed := range errs.failed {
		if failed && recovered(i) {
			list = append(list, i)
		}
	}
	return list
}

// unrecovered returns the origins of a run that ended well, starting with the first one that the run did not recover
// from. A run recovers from a failure if the step, or the topmost failed step above it, was done again and succeeded,
// or if the agent went on: after the topmost failed step, or after a step above that, a sibling started and succeeded.
func (e *spanErrors) unrecovered(origins []int) []int {
	if e == nil {
		return nil
	}
	recovered := e.recovery()
	for at, origin := range origins[:len(origins)-len(e.requests)] {
		if !recovered(origin) {
			return origins[at:]
		}
	}
	return nil
}

// recovery returns a function that reports whether the run recovered from the failure of a span.
func (e *spanErrors) recovery() func(failed int) bool {
	beside := map[int][]int{}
	for i := range e.spans {
		if e.spans[i].EffectiveStatus() == StatusOK {
			beside[e.parents[i]] = append(beside[e.parents[i]], i)
		}
	}
	tops := map[int]bool{}
	return func(failed int) bool {
		top := e.tops[failed]
		if !tops[top] {
			tops[top] = e.doneAgain(top) || e.wentOn(top, beside)
		}
		return tops[top] || e.doneAgain(failed)
	}
}

// wentOn reports whether one of the successful siblings of a failed span started after it ended, or one of the siblings
// of a span above, up to the agent: its rounds and nodes are spans of their own in some frameworks.
func (e *spanErrors) wentOn(top int, beside map[int][]int) bool {
	at := top
	for range maxRounds {
		for _, i := range slices.Backward(beside[e.parents[at]]) {
			if i != at && e.precedes(at, i) {
				return true
			}
			if e.spans[i].StartTime.Before(e.interval(at).End.Add(-maxRounding)) {
				break // earlier ones did not either
			}
		}
		at = e.parents[at]
		if at < 0 || at == top || e.failed[at] || e.spans[at].EffectiveKind() == KindAgent {
			return false
		}
	}
	return false
}

// maxRounds limits how many spans may stand between a step and its agent.
const maxRounds = 16
