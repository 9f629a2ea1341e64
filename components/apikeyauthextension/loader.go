package apikeyauthextension

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

const (
	// lookupTimeout limits a query.
	lookupTimeout = 2 * time.Second
	// maxWait limits how long a request waits: for the running query, whose failure fails all waiting look-ups, and
	// for its own.
	maxWait = lookupTimeout + lookupTimeout/2
	// maxBatch limits the keys of one query.
	maxBatch = 1000
	// maxWaiting limits the keys that wait for a query. Beyond it, look-ups fail at once: PostgreSQL is slower than a
	// flood of made-up keys.
	maxWaiting = 10_000
)

// errUnavailable is returned if a key could not be looked up.
var errUnavailable = errors.New("the key store is unavailable")

// loader looks up keys for requests, one query at a time. Keys that are requested while a query runs are collected
// for the next one, each once. So neither many requests with one key nor a flood of made-up keys takes more than one
// connection to PostgreSQL.
type loader struct {
	// find looks up the keys and caches the answers. It returns an entry for each key.
	find func(ctx context.Context, publicIDs []string) (map[string]*entry, error)

	wake chan struct{}

	mu      sync.Mutex
	waiting map[string]*load
	running map[string]*load
}

// load is the look-up of a key. Its result may be read once done is closed.
type load struct {
	done  chan struct{}
	entry *entry
	err   error
}

func newLoader(find func(context.Context, []string) (map[string]*entry, error)) *loader {
	return &loader{find: find, wake: make(chan struct{}, 1), waiting: map[string]*load{}}
}

// load returns the cached entry of the key, or errUnavailable.
func (l *loader) load(ctx context.Context, publicID string) (*entry, error) {
	pending := l.join(publicID)
	if pending == nil {
		return nil, errUnavailable
	}
	timeout := time.NewTimer(maxWait)
	defer timeout.Stop()
	select {
	case <-pending.done:
		return pending.entry, pending.err
	case <-timeout.C:
	case <-ctx.Done():
	}
	return nil, errUnavailable
}

// join returns the waiting or running look-up of the key, or a new one. It returns nil if too many wait.
func (l *loader) join(publicID string) *load {
	l.mu.Lock()
	defer l.mu.Unlock()
	if pending, ok := l.running[publicID]; ok {
		return pending
	}
	if pending, ok := l.waiting[publicID]; ok {
		return pending
	}
	if len(l.waiting) >= maxWaiting {
		return nil
	}
	pending := &load{done: make(chan struct{})}
	l.waiting[publicID] = pending
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return pending
}

// run serves look-ups until the context ends.
func (l *loader) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		for l.step(ctx) {
		}
	}
}

// step runs one query for the waiting look-ups. It reports whether there were any.
func (l *loader) step(ctx context.Context) bool {
	publicIDs := l.take()
	if len(publicIDs) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	entries, err := l.find(ctx, publicIDs)

	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		// Look-ups that waited meanwhile would fail as well, only later.
		maps.Copy(l.running, l.waiting)
		clear(l.waiting)
	}
	for publicID, pending := range l.running {
		pending.entry = entries[publicID]
		if err != nil {
			pending.err = errUnavailable
		}
		close(pending.done)
	}
	l.running = nil
	return true
}

// take moves waiting look-ups to the running ones, up to a batch.
func (l *loader) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = make(map[string]*load, min(len(l.waiting), maxBatch))
	publicIDs := make([]string, 0, len(l.running))
	for publicID, pending := range l.waiting {
		if len(publicIDs) == maxBatch {
			break
		}
		delete(l.waiting, publicID)
		l.running[publicID] = pending
		publicIDs = append(publicIDs, publicID)
	}
	return publicIDs
}
