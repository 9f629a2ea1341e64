package ratelimit

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxBuckets bounds the memory, at some 500 B a bucket.
	maxBuckets = 100_000
	// idleAfter is when a full bucket is forgotten.
	idleAfter = time.Minute
	// evictionSample is how many buckets are looked at to make room for another.
	evictionSample = 8
	// maxClaims bounds the subjects of one request.
	maxClaims = int(kinds)
)

// Limiter holds the buckets of one replica.
type Limiter struct {
	start time.Time
	mode  atomic.Pointer[mode]

	// mu is taken by who holds buckets: whoever holds it for writing does not wait for one.
	mu      sync.RWMutex
	buckets map[Subject]*bucket
	swept   time.Duration

	incarnations atomic.Uint64

	dirtyMu sync.Mutex
	dirty   []*bucket
	shared  atomic.Bool // somebody takes what is dirty
	// crowded is whether buckets had to be thrown out: what was not seen of a counter may then have been forgotten.
	crowded atomic.Bool

	sharing
}

// New makes a limiter that stands alone, and is exact, until Share is called.
func New() *Limiter {
	l := &Limiter{start: time.Now(), buckets: make(map[Subject]*bucket)}
	l.mode.Store(&mode{replicas: 1, freshUntil: math.MaxInt64})
	return l
}

// now is the monotonic clock.
func (l *Limiter) now() time.Duration { return time.Since(l.start) }

// Admit lets a request pass while every bucket of its subjects has something left, and takes its cost from them:
// from all, or where one refuses from none. Claims are of different kinds, in the order of the kinds; costs that
// are known only later are taken by Charge.
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
	decision.settle()
	return decision
}

// Charge takes a cost of a request that was admitted, into debt where there is not enough left.
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

// Len is the number of buckets in memory.
func (l *Limiter) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.buckets)
}

// hold locks the claim's bucket, refilled up to now.
func (l *Limiter) hold(c *Claim, now time.Duration, md *mode) *bucket {
	b := l.lock(c.Subject, now)
	b.limitTo(&c.Limits)
	b.advance(now, md)
	return b
}

// lock finds or makes a bucket and locks it.
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

// sweep forgets the buckets that stand as new ones would. One that another replica still publishes is kept: it
// would else be taken for one that was spent all at once. The caller holds mu; a bucket that somebody holds is in use.
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

// retire ends the publishing of a bucket.
func (b *bucket) retire() {
	b.incarnation = 0
	for i := range b.meters {
		b.meters[i].own = 0
	}
}

// evictOne makes room: of a few buckets that nobody holds, in the map's random order, the one that rests longest. The
// caller holds mu.
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

// spend takes a cost from a locked bucket and notes that others have to learn of it.
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

// consider adds a locked bucket to the decision.
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

// settle tells what the decision leaves, once every bucket was considered.
func (d *Decision) settle() {
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
