package ratelimit

import (
	"context"
	"sync"
	"time"
)

const (
	// Staleness is L: what a replica admitted longer ago is known to the others, or those give up the shared view.
	Staleness = time.Second
	// PublishEvery is D, how often a replica tells what it admitted.
	PublishEvery = 200 * time.Millisecond

	// linkLimit is how old the newest record of its own may be that a replica has read back. Twice this is
	// Staleness: one half for the way to the log, the other for the way back, which may be another replica's.
	linkLimit = Staleness / 2
	// snapshotEvery is how often all counters are told, changed or not.
	snapshotEvery = 5 * time.Second
	// goneAfter is the silence after which a replica no longer counts.
	goneAfter = 3 * Staleness
	// forgottenAfter is the silence after which nothing is remembered of a replica.
	forgottenAfter = 10 * time.Minute
	// sentMemory is how many records wait to be read back.
	sentMemory = 256
	// retryRead is the pause after the log could not be read.
	retryRead = 100 * time.Millisecond
)

// ReadBack is how far back in the log a starter reads: two snapshots.
const ReadBack = 2 * snapshotEvery

// Log is what replicas share: records in one order for all. Records may be lost, repeated, late or out of order.
type Log interface {
	// Publish hands a record over and waits for nothing. A record that was lost is noticed by not being read.
	Publish(record []byte)
	// Read waits for the next records, from ReadBack before the start on, whoever published them.
	Read(ctx context.Context) ([][]byte, error)
}

// sharing is the limiter's side of a shared log.
type sharing struct {
	shareMu sync.Mutex
	replica string
	epoch   uint64
	caught  chan struct{} // closed when everything from before the start is read
	peers   map[string]*peer
	past    peer // this replica's earlier processes: what they knew still counts, but they are nobody

	seq    uint64
	sentAt [sentMemory]time.Duration

	echoed          uint64        // newest own record that was read back
	unbroken        uint64        // first of those read back with none missing between it and echoed
	missing         bool          // a record was lost, and no snapshot has made up for it
	confirmed       time.Duration // when the newest record was sent up to which the others can know everything
	linkSince       time.Duration // since when records come back in time
	snapshotAt      time.Duration
	snapshotWaiting bool
}

// peer is another replica's process.
type peer struct {
	epoch uint64
	heard time.Duration
	gone  bool
	// synced is whether a counter of it that was not seen yet is new.
	synced bool
	// forgotten is whether its sights can go.
	forgotten bool
}

// Join makes the limiter one of the replicas on a log, by a name of its own: a process that takes the name of one
// that ended replaces it at once. Share must follow. The channel is closed when the limiter knows what the others
// know; until then, and whenever it does not hear of them in time, it keeps to its share.
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

// Share reads and publishes until ctx ends, and returns when it has said what was admitted last.
func (l *Limiter) Share(ctx context.Context, log Log) {
	var reading sync.WaitGroup
	reading.Go(func() { l.read(ctx, log) })
	l.publishLoop(ctx, log)
	reading.Wait()
	l.publish(log, l.now(), true)
}

// Replicas is how many share the buckets, and whether their counters are known in time.
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
			// The limiter goes on with its share until the log is back.
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

// publish tells what changed, or at times everything. A record without entries is a sign of life.
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
		l.snapshotWaiting = false // lost, too
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
		l.sentAt[l.seq%sentMemory] = now
		log.Publish(r.encode())
		if len(entries) == 0 {
			break
		}
	}
	l.judge(now)
}

// entries are the buckets to publish.
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

// receive takes in a record of the log. One that cannot be read is not for this version.
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

// peerOf finds the process that a record is of, or nil where it is of one that was replaced.
func (l *Limiter) peerOf(r *record, now time.Duration) *peer {
	if r.replica == l.replica {
		if l.echoed == 0 && r.epoch > l.epoch {
			l.epoch = r.epoch + 1 // the clock was set back since
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

// confirm notes that a record of this replica's own has come back: the others can know what stands in it, and
// this replica knows what stood before it.
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
	if l.missing || l.seq-r.seq >= sentMemory {
		return
	}
	away := now - l.confirmed
	if away > linkLimit {
		l.linkSince = now
	}
	if away > goneAfter && !starting {
		// Buckets may have been forgotten that nobody could mention, and others begun.
		for _, p := range l.peers {
			p.synced = false
		}
	}
	l.confirmed = l.sentAt[r.seq%sentMemory]
}

// judge sets how much is known of the others.
func (l *Limiter) judge(now time.Duration) {
	linked := now-l.confirmed <= linkLimit
	md := &mode{replicas: 1, freshUntil: l.confirmed + linkLimit}
	for name, p := range l.peers {
		silent := now - p.heard
		switch {
		case linked && now-max(p.heard, l.linkSince) >= goneAfter:
			// Without a link of its own a replica cannot tell who else has gone.
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
			md.freshUntil = old.freshUntil // still the same stale time: shares are not dealt again
		}
		l.mode.Store(md)
	}
}
