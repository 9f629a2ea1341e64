package ratelimit

import (
	"math"
	"sync"
	"time"
)

// mode is what a replica knows of the others.
type mode struct {
	// replicas is N, this one included.
	replicas float64
	// freshUntil is when the shared view becomes stale.
	freshUntil time.Duration
}

func (m *mode) stale(now time.Duration) bool { return now > m.freshUntil }

const (
	guardSlot  = Staleness / 5
	guardSlots = int(Staleness/guardSlot) + 1 // every window of Staleness fits into them
)

// meter is the state of a bucket for one measure.
type meter struct {
	limit Limit
	// tokens is the shared view: what is left after all that this replica knows of. Below zero it is debt.
	tokens float64
	// share limits this replica alone while the view is stale.
	share float64
	// presumed is what the others are assumed to have spent while the view was stale, and have not reported yet.
	presumed float64
	// own counts what this replica has ever admitted.
	own uint64
	// recent counts what it admitted lately, by time slot.
	recent [guardSlots]uint64
}

// bucket is the state of a subject.
type bucket struct {
	subject Subject

	mu      sync.Mutex
	meters  [measures]meter
	last    time.Duration // when the meters were last refilled
	episode time.Duration // when the stale time began that the shares were assigned for
	// incarnation distinguishes the counters from those before the subject was forgotten. It is 0 until this replica
	// admits something.
	incarnation uint64
	used        time.Duration // last by this replica
	mentioned   time.Duration // last by another
	seen        []sight
	dirty       bool // has counters that are not published yet
	evicted     bool
}

// sight is what was last seen of another replica's counters.
type sight struct {
	peer        *peer
	incarnation uint64
	counters    [measures]uint64
}

// touched returns when any replica last used the bucket.
func (b *bucket) touched() time.Duration { return max(b.used, b.mentioned) }

// limitTo sets the limits, which may have changed. New meters are full.
func (b *bucket) limitTo(limits *Limits) {
	for i := range b.meters {
		m := &b.meters[i]
		switch {
		case m.limit == limits[i]:
		case m.limit.Rate == 0:
			m.limit = limits[i]
			m.tokens, m.share, m.presumed = m.limit.Burst, m.limit.Burst, 0
		default:
			m.limit = limits[i]
			m.tokens = min(m.tokens, m.limit.Burst)
		}
	}
}

// advance refills the meters up to now.
func (b *bucket) advance(now time.Duration, md *mode) {
	now = max(now, b.last) // now was read before the lock was taken
	stale := md.stale(now)
	staleFrom := min(max(b.last, md.freshUntil), now)
	fresh, blind := (now - b.last).Seconds(), 0.0
	if stale {
		fresh, blind = (staleFrom - b.last).Seconds(), (now - staleFrom).Seconds()
	}
	dealt := stale && b.episode == md.freshUntil
	for i := range b.meters {
		m := &b.meters[i]
		if m.limit.Rate == 0 {
			continue
		}
		b.forgetRecent(m, now)
		m.tokens = min(m.limit.Burst, m.tokens+m.limit.Rate*fresh)
		if !stale {
			m.presumed = 0
			continue
		}
		rate, capacity := m.limit.Rate/md.replicas, m.limit.Burst/md.replicas
		if !dealt {
			m.share = min(m.tokens, capacity)
		}
		m.share = min(capacity, m.share+rate*blind)
		m.tokens = min(m.limit.Burst, m.tokens+rate*blind)
		m.presumed += (m.limit.Rate - rate) * blind
	}
	if stale {
		b.episode = md.freshUntil
	}
	b.last = now
}

// forgetRecent clears the slots that have expired since the last call.
func (b *bucket) forgetRecent(m *meter, now time.Duration) {
	from, to := int64(b.last/guardSlot), int64(now/guardSlot)
	if to-from >= int64(guardSlots) {
		m.recent = [guardSlots]uint64{}
		return
	}
	for slot := from + 1; slot <= to; slot++ {
		m.recent[slot%int64(guardSlots)] = 0
	}
}

// wait returns how long the meter refuses requests, or 0 if it admits them.
func (m *meter) wait(now time.Duration, md *mode) time.Duration {
	var wait time.Duration
	if m.tokens <= 0 {
		wait = refillTime(-m.tokens, m.limit.Rate)
	}
	if md.replicas > 1 {
		var recent uint64
		for _, n := range m.recent {
			recent += n
		}
		if float64(recent) >= m.limit.guard(md.replicas) {
			wait = max(wait, Staleness)
		}
	}
	if md.stale(now) && m.share <= 0 {
		wait = max(wait, refillTime(-m.share, m.limit.Rate/md.replicas))
	}
	return wait
}

// guard returns the most that one of n replicas admits within any time of Staleness.
func (l Limit) guard(n float64) float64 {
	return l.Burst/n + l.Rate*Staleness.Seconds()
}

// refillTime is never 0: a bucket at exactly 0 has to wait, too.
func refillTime(debt, rate float64) time.Duration {
	seconds := debt / rate
	if seconds >= math.MaxInt64/1e9 {
		return math.MaxInt64
	}
	return max(time.Duration(seconds*1e9), time.Nanosecond)
}

// spend takes the cost of an admitted request.
func (b *bucket) spend(cost *Cost) {
	slot := int64(b.last/guardSlot) % int64(guardSlots)
	for i, n := range cost {
		m := &b.meters[i]
		if m.limit.Rate == 0 || n == 0 {
			continue
		}
		m.tokens -= float64(n)
		m.share -= float64(n)
		m.own += n
		m.recent[slot] += n
	}
	b.used = b.last
}

// full reports whether the bucket is in the state of a new one.
func (b *bucket) full() bool {
	for i := range b.meters {
		if m := &b.meters[i]; m.tokens < m.limit.Burst {
			return false
		}
	}
	return true
}

// sightOf returns what was seen of a peer.
func (b *bucket) sightOf(p *peer) *sight {
	for i := range b.seen {
		if b.seen[i].peer == p {
			return &b.seen[i]
		}
	}
	return nil
}

// adopt takes over another replica's limits if this replica has admitted nothing and may not know them.
func (b *bucket) adopt(limits *Limits) {
	if b.incarnation != 0 {
		return
	}
	merged := *limits
	for i := range merged {
		if merged[i].Rate == 0 {
			merged[i] = b.meters[i].limit
		}
	}
	b.limitTo(&merged)
}

// knowledge is how to interpret a counter that is seen for the first time.
type knowledge uint8

const (
	// knownFromBirth: all of it is new.
	knownFromBirth knowledge = iota
	// knownFromNow: it is unknown how much of it is new.
	knownFromNow
	// knownByOthers: this replica is starting, and takes over the view of the last replica that reported the bucket.
	knownByOthers
)

// observe applies another replica's report of the bucket. Counters only grow, so lost, repeated or reordered records
// do no harm.
func (b *bucket) observe(p *peer, e *entry, known knowledge) {
	s := b.sightOf(p)
	first := s == nil
	if first {
		b.seen = append(b.seen, sight{peer: p, incarnation: e.incarnation})
		s = &b.seen[len(b.seen)-1]
	}
	switch {
	case e.incarnation < s.incarnation:
		return
	case e.incarnation > s.incarnation:
		*s = sight{peer: p, incarnation: e.incarnation}
	}
	for i := range b.meters {
		m := &b.meters[i]
		spent := e.counters[i] - min(e.counters[i], s.counters[i])
		s.counters[i] += spent
		switch {
		case m.limit.Rate == 0 || e.limits[i].Rate == 0:
		case known == knownByOthers:
			m.tokens = min(m.limit.Burst, e.levels[i])
		case known == knownFromNow && first:
			m.tokens = min(m.tokens, e.levels[i])
		default:
			foreseen := min(float64(spent), m.presumed)
			m.presumed -= foreseen
			m.tokens -= float64(spent) - foreseen
		}
	}
}
