package cluster

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// testSlowStore makes ClickHouse slow, failing, and unavailable, for each worker.
func (s *site) testSlowStore(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault fault
		// during is how long, in CI.
		during time.Duration
	}{
		{"5 s an insert", fault{delay: 5 * time.Second}, 8 * time.Second},
		{"30% of inserts fail", fault{fail: 0.3}, 4 * time.Second},
		{"30% of inserts cut", fault{cut: 0.3}, 4 * time.Second},
		{"30% of answers lost after the commit", fault{loseAnswer: 0.3}, 4 * time.Second},
		{"100 kB/s to ClickHouse", fault{bytesPerSecond: 100_000}, 4 * time.Second},
		{"every insert fails", fault{fail: 1}, 8 * time.Second},
		{"no connection", fault{refuse: true}, 4 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			during := scaled(c.during, 2*time.Minute)
			r := s.newRow(t, "cluster: store, "+c.name, during.String())
			before := len(r.client.Ledger.Runs(0))
			begin := time.Now()
			s.setStore(c.fault)
			pause(t, during)
			tries := s.workers[0].proxy.insertsSince(begin)
			s.setStore(fault{})
			r.Note("%d runs accepted meanwhile", len(r.client.Ledger.Runs(0))-before)
			if c.fault.fail == 1 {
				r.Note("a worker tries after %s s", spacing(tries))
			}
			r.awaitBack(t, time.Now())
			r.verify(t)
		})
	}
}

// spacing returns the pauses between attempts, each of which begins several inserts at once.
func spacing(tries []time.Time) string {
	const together = 50 * time.Millisecond
	var pauses []string
	for i := 1; i < len(tries); i++ {
		if gap := tries[i].Sub(tries[i-1]); gap > together {
			pauses = append(pauses, fmt.Sprintf("%.2f", gap.Seconds()))
		}
	}
	return strings.Join(pauses, ", ")
}

// testKilledInsert kills ClickHouse when the rows of an insert begin to be sent, if possible before its answer.
func (s *site) testKilledInsert(t *testing.T) {
	kills := scaled(3, 20)
	r := s.newRow(t, "cluster: ClickHouse killed in an insert", fmt.Sprintf("%d kills", kills))
	met := 0
	for range kills {
		inserting := make(chan *link, 1)
		s.setStore(fault{sent: func(l *link) {
			select {
			case inserting <- l:
			default:
			}
		}})
		l := <-inserting
		time.Sleep(rand.N(5 * time.Millisecond))
		begin := time.Now()
		s.killClickHouse()
		if !l.answered() {
			met++
		}
		s.setStore(fault{})
		s.startClickHouse(t)
		r.awaitBack(t, begin)
	}
	r.Note("%d of them before the answer", met)
	r.verify(t)
}
