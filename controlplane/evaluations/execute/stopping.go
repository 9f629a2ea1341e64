package execute

import (
	"sync"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/internal/problem"
)

// stopping is why no more outputs are made.
type stopping struct {
	mu      sync.Mutex
	reached chan struct{} // closed then
	reason  evaluations.StopReason
	failure *problem.Error
	// failed counts the outputs of each side that failed one after the other.
	failed [2]int
}

// set stops the making of outputs. The first reason counts.
func (s *stopping) set(reason evaluations.StopReason, failure *problem.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason == "" && s.failure == nil {
		s.reason, s.failure = reason, failure
		close(s.reached)
	}
}

// note counts the permanent failures of a side.
func (s *stopping) note(side int, failure *problem.Error) {
	s.mu.Lock()
	if failure == nil || !providers.IsPermanent(failure.Code) {
		s.failed[side] = 0
	} else {
		s.failed[side]++
	}
	over := s.failed[side] >= results.MaxPermanentFailures
	s.mu.Unlock()
	if over {
		s.set("", failure)
	}
}

// stoppedJudges is which judges are stopped. The other votes go on: no evaluation is voided by one judge.
type stoppedJudges struct {
	mu     sync.Mutex
	failed map[evaluations.JudgeKey]int
}

// note counts the permanent failures of a judge, and reports whether it is stopped.
func (s *stoppedJudges) note(panel, judge int, failure *problem.Error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := evaluations.JudgeKey{Panel: panel, Judge: judge}
	switch {
	case s.failed[at] >= results.MaxPermanentFailures:
	case failure == nil || !providers.IsPermanent(failure.Code):
		delete(s.failed, at)
	default:
		if s.failed == nil {
			s.failed = map[evaluations.JudgeKey]int{}
		}
		s.failed[at]++
	}
	return s.failed[at] >= results.MaxPermanentFailures
}

func (s *stoppedJudges) stopped(panel, judge int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed[evaluations.JudgeKey{Panel: panel, Judge: judge}] >= results.MaxPermanentFailures
}

// allStopped reports whether no judge is left.
func (s *stoppedJudges) allStopped(panels []evaluations.ReadyPanel) bool {
	for i := range panels {
		for j := range panels[i].Regular() {
			if !s.stopped(i, j) {
				return false
			}
		}
	}
	return true
}
