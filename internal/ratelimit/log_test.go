package ratelimit

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// memoryLog is a log with delays, per publisher and per reader. It keeps the order unless a fault changes it.
type memoryLog struct {
	mu          sync.Mutex
	rng         *rand.Rand
	start       time.Time
	least, most time.Duration // one way
	records     []appended
	readers     map[*memoryReplica]bool
	// fault returns the additional delays of a record's copies. No copies means that it is lost.
	fault func(rng *rand.Rand, at time.Duration) []time.Duration
}

type appended struct {
	at    time.Time
	value []byte
}

func newMemoryLog(least, most time.Duration) *memoryLog {
	return &memoryLog{
		rng: rand.New(rand.NewPCG(1, 2)), start: time.Now(),
		least: least, most: most, readers: make(map[*memoryReplica]bool),
	}
}

func (m *memoryLog) delay() time.Duration {
	return m.least + time.Duration(m.rng.Int64N(int64(m.most-m.least)+1))
}

// memoryReplica is one replica's connection to the log.
type memoryReplica struct {
	log       *memoryLog
	published time.Time
	delivered time.Time
	ready     chan struct{}
	waiting   [][]byte
	cut       bool // both directions fail
}

// replica joins the log and receives what was appended within ReadBack.
func (m *memoryLog) replica() *memoryReplica {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &memoryReplica{log: m, ready: make(chan struct{}, 1)}
	m.readers[r] = true
	for _, a := range m.records {
		if time.Since(a.at) <= ReadBack {
			m.deliver(r, a.value)
		}
	}
	return r
}

func (r *memoryReplica) leave() {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	delete(r.log.readers, r)
}

func (r *memoryReplica) setCut(cut bool) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if r.cut && !cut {
		// What was missed arrives at once.
		for _, a := range r.log.records {
			if a.at.After(r.delivered) {
				r.log.deliver(r, a.value)
			}
		}
	}
	r.cut = cut
	r.delivered = time.Now()
}

func (r *memoryReplica) Publish(record []byte) {
	m := r.log
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.cut {
		return
	}
	extra := []time.Duration{0}
	faulty := m.fault != nil
	if faulty {
		extra = m.fault(m.rng, time.Since(m.start))
	}
	for _, e := range extra {
		at := time.Now().Add(m.delay() + e)
		if e == 0 {
			at = later(at, r.published)
			r.published = at
		}
		time.AfterFunc(time.Until(at), func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.records = append(m.records, appended{at: time.Now(), value: record})
			for reader := range m.readers {
				if !reader.cut {
					m.deliver(reader, record)
				}
			}
		})
	}
}

// later keeps two events in order.
func later(at, after time.Time) time.Time {
	if !at.After(after) {
		return after.Add(1)
	}
	return at
}

func (m *memoryLog) deliver(r *memoryReplica, record []byte) {
	at := later(time.Now().Add(m.delay()), r.delivered)
	r.delivered = at
	time.AfterFunc(time.Until(at), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		r.waiting = append(r.waiting, record)
		select {
		case r.ready <- struct{}{}:
		default:
		}
	})
}

func (r *memoryReplica) Read(ctx context.Context) ([][]byte, error) {
	select {
	case <-r.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	records := r.waiting
	r.waiting = nil
	return records, nil
}
