package evaluations

import (
	"sync"

	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/internal/problem"
)

// halt is why no more outputs are made.
type halt struct {
	mu      sync.Mutex
	reached chan struct{} // closed then
	reason  StopReason
	failure *problem.Error
	// failed counts the outputs of each side that failed one after the other.
	failed [2]int
}

// set stops the making of outputs. The first reason counts.
func (h *halt) set(reason StopReason, failure *problem.Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reason == "" && h.failure == nil {
		h.reason, h.failure = reason, failure
		close(h.reached)
	}
}

// note counts the failures of a side that only a person can mend.
func (h *halt) note(side int, failure *problem.Error) {
	h.mu.Lock()
	if failure == nil || !providers.NeedsPerson(failure.Code) {
		h.failed[side] = 0
	} else {
		h.failed[side]++
	}
	over := h.failed[side] >= hopeless
	h.mu.Unlock()
	if over {
		h.set("", failure)
	}
}

// judgeHalts is which judges are asked no more. The other votes go on: no evaluation is voided by one judge.
type judgeHalts struct {
	mu     sync.Mutex
	failed map[judgePlace]int
}

type judgePlace struct{ panel, judge int }

// note counts the failures of a judge that only a person can mend, and reports whether it is stopped.
func (h *judgeHalts) note(panel, judge int, failure *problem.Error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := judgePlace{panel, judge}
	switch {
	case h.failed[at] >= hopeless:
	case failure == nil || !providers.NeedsPerson(failure.Code):
		delete(h.failed, at)
	default:
		if h.failed == nil {
			h.failed = map[judgePlace]int{}
		}
		h.failed[at]++
	}
	return h.failed[at] >= hopeless
}

func (h *judgeHalts) stopped(panel, judge int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed[judgePlace{panel, judge}] >= hopeless
}

// allStopped reports whether no judge is left.
func (h *judgeHalts) allStopped(panels []readyPanel) bool {
	for i := range panels {
		for j := range panels[i].regular() {
			if !h.stopped(i, j) {
				return false
			}
		}
	}
	return true
}
