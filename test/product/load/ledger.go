package load

import (
	"sync"
	"time"
)

// Attempt is one request and its result: acknowledged if Err is nil.
type Attempt struct {
	Endpoint   Endpoint
	Begin, End time.Time
	// Again is true for a retry.
	Again bool
	Err   error
}

// Ledger is what the client knows for sure.
type Ledger struct {
	mu       sync.Mutex
	runs     []Run
	attempts []Attempt
	refusals []error
}

func (l *Ledger) acknowledge(run Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = append(l.runs, run)
}

func (l *Ledger) attempt(a Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts = append(l.attempts, a)
}

func (l *Ledger) refuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusals = append(l.refusals, err)
}

// Runs returns the acknowledged runs from the given one on, in the order of their acknowledgement.
func (l *Ledger) Runs(from int) []Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Run(nil), l.runs[from:]...)
}

// Attempts returns the attempts that began within a period.
func (l *Ledger) Attempts(from, to time.Time) []Attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	var within []Attempt
	for _, a := range l.attempts {
		if !a.Begin.Before(from) && a.Begin.Before(to) {
			within = append(within, a)
		}
	}
	return within
}

// Refusals returns the answers that forbid a retry, which no valid request must get.
func (l *Ledger) Refusals() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]error(nil), l.refusals...)
}
