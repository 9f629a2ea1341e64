package ratelimit

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxBuckets limits the memory, at about 500 B per bucket.
	maxBuckets = 100_000
	// idleAfter is when a full bucket is forgotten.
	idleAfter = time.Minute
	// evictionSample is how many buckets are compared to evict one.
	evictionSample = 8
	// maxClaims limits the subjects of a request.
	maxClaims = int(kinds)
)

// Limiter holds the buckets of one replica.
type Limiter struct {
	start time.Time
	mode  atomic.Pointer[mode]

	// mu is read-locked while buckets are locked. Whoever holds it for writing does not wait for a bucket.
	mu      sync.RWMutex
	buckets map[Subject]*bucket
	swept   time.Duration

	incarnations atomic.Uint64

	dirtyMu sync.Mutex
	dirty   []*bucket
	shared  atomic.Bool // dirty buckets are published
	// crowded reports whether buckets had to be evicted: a counter that was not seen may then have been forgotten.
	crowded atomic.Bool

	sharing
}

// New returns a limiter that is on its own, and exact, until Share is called.
func New() *Limiter {
	l := &Limiter{start: time.Now(), buckets: make(map[Subject]*bucket)}
	l.mode.Store(&mode{replicas: 1, freshUntil: math.MaxInt64})
	return l
}

// now reads the monotonic clock.
func (l *Limiter) now() time.Duration { return time.Since(l.start) }

// Admit admits a request if every bucket of its subjects has tokens left, and takes the cost from all of them.
// Otherwise it takes nothing. Claims must be of different kinds and in the order of the kinds. Charge takes costs
// that become known later.
func (l *Limiter) Admit(cost Cost, claims ...Claim) Decision {
	now, md := l.now(), l.mode.Load()
	var held [maxClaims]*bucket
	n := 0
	decision := Decision{Allowed: true}
	for i := range claims {
		if claims[i].unlimited() {
			continue
		}
		held[n] = l.hold(&claims[i], now, md)
		decision.consider(held[n], &cost, md)
		n++
	}
	for _, b := range held[:n] {
		if decision.Allowed {
			l.spend(b, &cost)
		}
		b.mu.Unlock()
	}
	decision.complete()
	return decision
}

// Charge takes a later cost of an admitted request, into debt if need be.
func (l *Limiter) Charge(cost Cost, claims ...Claim) {
	now, md := l.now(), l.mode.Load()
	for i := range claims {
		if claims[i].unlimited() {
			continue
		}
		b := l.hold(&claims[i], now, md)
		l.spend(b, &cost)
		b.mu.Unlock()
	}
}

// Len returns the number of buckets in memory.
func (l *Limiter) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.buckets)
}

// hold locks the claim's bucket and refills it.
func (l *Limiter) hold(c *Claim, now time.Duration, md *mode) *bucket {
	b := l.lock(c.Subject, now)
	b.limitTo(&c.Limits)
	b.advance(now, md)
	return b
}

// lock finds or creates a bucket and locks it.
func (l *Limiter) lock(s Subject, now time.Duration) *bucket {
	for {
		l.mu.RLock()
		b := l.buckets[s]
		l.mu.RUnlock()
		if b == nil {
			b = l.add(s, now)
		}
		b.mu.Lock()
		if !b.evicted {
			return b
		}
		b.mu.Unlock()
	}
}

func (l *Limiter) add(s Subject, now time.Duration) *bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.buckets[s]; b != nil {
		return b
	}
	if len(l.buckets) >= maxBuckets || now-l.swept >= idleAfter {
		l.sweep(now)
	}
	if len(l.buckets) >= maxBuckets {
		l.evictOne()
	}
	b := &bucket{subject: s, last: now, episode: -1, used: now, mentioned: now}
	l.buckets[s] = b
	return b
}

// sweep forgets buckets that are in the state of new ones. It keeps a bucket that another replica still publishes:
// once forgotten, its counters would count as spent at once. The caller holds mu. A locked bucket is in use.
func (l *Limiter) sweep(now time.Duration) {
	if now-l.swept < idleAfter/10 {
		return
	}
	l.swept = now
	md := l.mode.Load()
	for s, b := range l.buckets {
		if !b.mu.TryLock() {
			continue
		}
		b.advance(now, md)
		if now-b.used >= idleAfter && b.full() {
			b.retire()
			if now-b.mentioned >= 3*snapshotEvery {
				b.evicted = true
				delete(l.buckets, s)
			}
		}
		b.mu.Unlock()
	}
}

// retire stops publishing a bucket.
func (b *bucket) retire() {
	b.incarnation = 0
	for i := range b.meters {
		b.meters[i].own = 0
	}
}

// evictOne evicts the bucket that was unused for the longest time, of a random few that are not locked. The caller
// holds mu.
func (l *Limiter) evictOne() {
	l.crowded.Store(true)
	var victim *bucket // held
	looked := 0
	for _, b := range l.buckets {
		if !b.mu.TryLock() {
			continue
		}
		switch {
		case victim == nil:
			victim = b
		case b.touched() < victim.touched():
			victim.mu.Unlock()
			victim = b
		default:
			b.mu.Unlock()
		}
		if looked++; looked == evictionSample {
			break
		}
	}
	if victim == nil {
		return
	}
	victim.evicted = true
	victim.mu.Unlock()
	delete(l.buckets, victim.subject)
}

// spend takes a cost from a locked bucket and marks it to be published.
func (l *Limiter) spend(b *bucket, cost *Cost) {
	b.spend(cost)
	if b.incarnation == 0 {
		b.incarnation = l.incarnations.Add(1)
	}
	if b.dirty || !l.shared.Load() {
		return
	}
	b.dirty = true
	l.dirtyMu.Lock()
	l.dirty = append(l.dirty, b)
	l.dirtyMu.Unlock()
}

// consider includes a locked bucket in the decision.
func (d *Decision) consider(b *bucket, cost *Cost, md *mode) {
	for i := range b.meters {
		m := &b.meters[i]
		if m.limit.Rate == 0 {
			continue
		}
		wait := m.wait(b.last, md)
		left := m.tokens - float64(cost[i])
		tighter := wait > d.RetryAfter ||
			d.RetryAfter == 0 && (!d.Limited || left/m.limit.Burst < d.left/d.Limit.Burst)
		if tighter {
			d.Kind, d.Measure, d.Limit = b.subject.Kind, Measure(i), m.limit
			d.RetryAfter, d.left, d.level = wait, left, m.tokens
		}
		d.Limited = true
		if wait > 0 {
			d.Allowed = false
		}
	}
}

// complete completes the decision after all buckets were considered.
func (d *Decision) complete() {
	switch {
	case !d.Limited:
		return
	case d.Allowed:
		d.level = d.left
		d.Remaining = max(0, d.level)
	}
	if d.level < d.Limit.Burst {
		d.Reset = refillTime(d.Limit.Burst-d.level, d.Limit.Rate)
	}
}
