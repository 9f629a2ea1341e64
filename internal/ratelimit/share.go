package ratelimit

import (
	"context"
	"sync"
	"time"
)

const (
	// Staleness is L: if a replica does not know what others admitted longer ago than this, it stops using the shared
	// view.
	Staleness = time.Second
	// PublishEvery is D, how often a replica publishes what it admitted.
	PublishEvery = 200 * time.Millisecond

	// linkLimit is the maximum age of the newest record of its own that a replica has read back. It is half of
	// Staleness: one half is for the way to the log, the other for the way back, which may be another replica's.
	linkLimit = Staleness / 2
	// snapshotEvery is how often all counters are published, changed or not.
	snapshotEvery = 5 * time.Second
	// goneAfter is the silence after which a replica does not count any more.
	goneAfter = 3 * Staleness
	// forgottenAfter is the silence after which a replica is forgotten.
	forgottenAfter = 10 * time.Minute
	// maxUnconfirmed is how many published records are remembered until they are read back.
	maxUnconfirmed = 256
	// retryRead is the pause after a failed read of the log.
	retryRead = 100 * time.Millisecond
)

// ReadBack is how much of the log a starting replica reads: two snapshots.
const ReadBack = 2 * snapshotEvery

// Log is what replicas share: records in the same order for all. Records may be lost, repeated, late or out of order.
type Log interface {
	// Publish publishes a record without waiting. The limiter notices a lost record because it does not read it back.
	Publish(record []byte)
	// Read waits for the next records of any replica, beginning ReadBack before the start.
	Read(ctx context.Context) ([][]byte, error)
}

// sharing is the limiter's side of a shared log.
type sharing struct {
	shareMu sync.Mutex
	replica string
	epoch   uint64
	caught  chan struct{} // closed when everything from before the start was read
	peers   map[string]*peer
	past    peer // earlier processes of this replica: their counters still count

	seq    uint64
	sentAt [maxUnconfirmed]time.Duration

	echoed          uint64        // newest own record that was read back
	unbroken        uint64        // first record that was read back without a gap up to echoed
	missing         bool          // a record was lost, and no snapshot has followed yet
	confirmed       time.Duration // when the newest record was sent up to which the others can know everything
	linkSince       time.Duration // since when records are read back in time
	snapshotAt      time.Duration
	snapshotWaiting bool
}

// peer is the process of another replica.
type peer struct {
	epoch uint64
	heard time.Duration
	gone  bool
	// synced reports whether a counter that is seen for the first time is new.
	synced bool
	// forgotten reports whether its sights can be removed.
	forgotten bool
}

// Join makes the limiter one of the replicas on a log. The name must be unique; a process with the name of an ended
// one replaces it at once. Share must follow. The channel is closed once the limiter knows what the others know.
// Until then, and whenever it does not hear from them in time, it admits only its share.
func (l *Limiter) Join(replica string) (caughtUp <-chan struct{}) {
	now := l.now()
	l.shareMu.Lock()
	defer l.shareMu.Unlock()
	l.caught = make(chan struct{})
	l.replica = replica
	l.epoch = uint64(max(0, time.Now().UnixNano()))
	l.peers = make(map[string]*peer)
	l.past.forgotten = true
	l.unbroken = 1
	l.confirmed = now - linkLimit - 1 // nothing is confirmed yet
	l.snapshotAt = now
	l.shared.Store(true)
	l.judge(now)
	return l.caught
}

// Share reads and publishes until ctx ends. It returns after publishing what was admitted last.
func (l *Limiter) Share(ctx context.Context, log Log) {
	var reading sync.WaitGroup
	reading.Go(func() { l.read(ctx, log) })
	l.publishLoop(ctx, log)
	reading.Wait()
	l.publish(log, l.now(), true)
}

// Replicas returns how many replicas share the buckets, and whether their counters are up to date.
func (l *Limiter) Replicas() (n int, fresh bool) {
	md := l.mode.Load()
	return int(md.replicas), !md.stale(l.now())
}

func (l *Limiter) read(ctx context.Context, log Log) {
	for ctx.Err() == nil {
		records, err := log.Read(ctx)
		for _, b := range records {
			l.receive(b, l.now())
		}
		if err != nil {
			// The limiter admits its share until the log is back.
			select {
			case <-ctx.Done():
			case <-time.After(retryRead):
			}
		}
	}
}

func (l *Limiter) publishLoop(ctx context.Context, log Log) {
	ticker := time.NewTicker(PublishEvery)
	defer ticker.Stop()
	for {
		l.publish(log, l.now(), false)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// publish publishes what has changed, or at times everything. A record without entries is a heartbeat.
func (l *Limiter) publish(log Log, now time.Duration, leaving bool) {
	l.shareMu.Lock()
	defer l.shareMu.Unlock()
	snapshot := now-l.snapshotAt >= snapshotEvery || l.missing && !l.snapshotWaiting
	if snapshot {
		l.snapshotAt = now
		l.snapshotWaiting = true
		l.mu.Lock()
		l.sweep(now)
		l.mu.Unlock()
	} else if now-l.snapshotAt >= linkLimit {
		l.snapshotWaiting = false // lost as well
	}
	entries := l.entries(now, snapshot)
	first := l.seq + 1
	for {
		n := min(len(entries), maxEntries)
		l.seq++
		r := &record{replica: l.replica, epoch: l.epoch, seq: l.seq, entries: entries[:n]}
		entries = entries[n:]
		if len(entries) == 0 {
			r.leaving = leaving
			if snapshot {
				r.snapshotFrom = first
			}
		}
		l.sentAt[l.seq%maxUnconfirmed] = now
		log.Publish(r.encode())
		if len(entries) == 0 {
			break
		}
	}
	l.judge(now)
}

// entries returns the buckets to publish.
func (l *Limiter) entries(now time.Duration, all bool) []entry {
	l.dirtyMu.Lock()
	changed := l.dirty
	l.dirty = nil
	l.dirtyMu.Unlock()
	if all {
		l.mu.RLock()
		changed = changed[:0]
		for _, b := range l.buckets {
			changed = append(changed, b)
		}
		l.mu.RUnlock()
	}
	md := l.mode.Load()
	entries := make([]entry, 0, len(changed))
	for _, b := range changed {
		b.mu.Lock()
		b.advance(now, md)
		b.dirty = false
		if b.incarnation != 0 && !b.evicted {
			e := entry{subject: b.subject, incarnation: b.incarnation}
			for i := range b.meters {
				m := &b.meters[i]
				e.limits[i], e.counters[i], e.levels[i] = m.limit, m.own, m.tokens
			}
			entries = append(entries, e)
		}
		if all {
			b.forgetPeers()
		}
		b.mu.Unlock()
	}
	return entries
}

func (b *bucket) forgetPeers() {
	kept := b.seen[:0]
	for _, s := range b.seen {
		if !s.peer.forgotten {
			kept = append(kept, s)
		}
	}
	clear(b.seen[len(kept):])
	b.seen = kept
}

// receive applies a record of the log. It ignores records of other versions.
func (l *Limiter) receive(b []byte, now time.Duration) {
	r, err := decode(b)
	if err != nil {
		return
	}
	l.shareMu.Lock()
	defer l.shareMu.Unlock()
	if r.replica == l.replica && r.epoch == l.epoch {
		l.confirm(r, now)
		l.judge(now)
		return
	}
	catchingUp := l.echoed == 0
	away := now-l.confirmed > goneAfter
	p := l.peerOf(r, now)
	if p == nil {
		return
	}
	for i := range r.entries {
		e := &r.entries[i]
		bucket := l.lock(e.subject, now)
		bucket.adopt(&e.limits)
		bucket.advance(now, l.mode.Load())
		bucket.mentioned = now
		switch {
		case catchingUp:
			bucket.observe(p, e, knownByOthers)
		case p.synced && !away && !l.crowded.Load():
			bucket.observe(p, e, knownFromBirth)
		default:
			bucket.observe(p, e, knownFromNow)
		}
		bucket.mu.Unlock()
	}
	if r.snapshotFrom != 0 {
		p.synced = true
	}
	l.judge(now)
}

// peerOf returns the process that sent a record, or nil if it was replaced.
func (l *Limiter) peerOf(r *record, now time.Duration) *peer {
	if r.replica == l.replica {
		if l.echoed == 0 && r.epoch > l.epoch {
			l.epoch = r.epoch + 1 // the clock was set back
		}
		if r.epoch < l.epoch {
			return &l.past
		}
	}
	p := l.peers[r.replica]
	switch {
	case p == nil || p.epoch < r.epoch:
		if p != nil {
			p.forgotten = true
		}
		p = &peer{epoch: r.epoch, synced: r.seq == 1}
		l.peers[r.replica] = p
	case p.epoch > r.epoch:
		return nil
	case p.gone && !r.leaving:
		p.synced = false
	}
	p.heard, p.gone = now, r.leaving
	return p
}

// confirm handles a record of this replica that was read back: the others can know its content, and this replica
// knows all records before it.
func (l *Limiter) confirm(r *record, now time.Duration) {
	starting := l.echoed == 0
	if starting {
		close(l.caught)
	}
	switch {
	case r.seq <= l.echoed:
		return // repeated or late
	case r.seq != l.echoed+1:
		l.missing, l.unbroken = true, r.seq
	}
	l.echoed = r.seq
	if r.snapshotFrom != 0 {
		l.snapshotWaiting = false
		if r.snapshotFrom >= l.unbroken {
			l.missing = false
		}
	}
	if l.missing || l.seq-r.seq >= maxUnconfirmed {
		return
	}
	away := now - l.confirmed
	if away > linkLimit {
		l.linkSince = now
	}
	if away > goneAfter && !starting {
		// Buckets may have been forgotten that nobody could mention, and others created.
		for _, p := range l.peers {
			p.synced = false
		}
	}
	l.confirmed = l.sentAt[r.seq%maxUnconfirmed]
}

// judge updates how much is known of the others.
func (l *Limiter) judge(now time.Duration) {
	linked := now-l.confirmed <= linkLimit
	md := &mode{replicas: 1, freshUntil: l.confirmed + linkLimit}
	for name, p := range l.peers {
		silent := now - p.heard
		switch {
		case linked && now-max(p.heard, l.linkSince) >= goneAfter:
			// Without its own link a replica cannot know who else has gone.
			p.gone = true
			if silent >= forgottenAfter {
				p.forgotten = true
				delete(l.peers, name)
			}
		case !p.gone:
			md.replicas++
			md.freshUntil = min(md.freshUntil, p.heard+Staleness)
		}
	}
	if old := l.mode.Load(); md.replicas != old.replicas || md.freshUntil != old.freshUntil {
		if md.stale(now) && old.stale(now) {
			md.freshUntil = old.freshUntil // the same stale time: shares are not assigned again
		}
		l.mode.Store(md)
	}
}
