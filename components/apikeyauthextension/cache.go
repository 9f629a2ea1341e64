package apikeyauthextension

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// entry is what is cached for a public id.
type entry struct {
	record *record // nil: not stored
	// checkedAt is when PostgreSQL was last asked, before it answered.
	checkedAt time.Time
	// usedAt is the last use, in nanoseconds since the cache was made.
	usedAt atomic.Int64
	// notedAt is the last use that was noted for last_used_at, in the same unit.
	notedAt atomic.Int64
}

// cache holds stored keys and, separately, refused ones, so that a flood of made-up keys cannot evict good ones.
type cache struct {
	made time.Time

	mu      sync.Mutex
	known   *simplelru.LRU[string, *entry]
	refused *simplelru.LRU[string, *entry]
}

func newCache(maxEntries int) (*cache, error) {
	known, err := simplelru.NewLRU[string, *entry](maxEntries, nil)
	if err != nil {
		return nil, err
	}
	refused, err := simplelru.NewLRU[string, *entry](maxEntries, nil)
	if err != nil {
		return nil, err
	}
	return &cache{made: time.Now(), known: known, refused: refused}, nil
}

// get returns the entry of the public id, or nil.
func (c *cache) get(publicID string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.known.Get(publicID); ok {
		return e
	}
	e, _ := c.refused.Get(publicID)
	return e
}

// put caches an answer that PostgreSQL was asked for at checkedAt. It returns the entry that is cached now.
func (c *cache) put(publicID string, r *record, checkedAt time.Time) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := &entry{record: r, checkedAt: checkedAt}
	old, known := c.known.Peek(publicID)
	if known && old.checkedAt.After(checkedAt) {
		return old // a newer answer arrived first
	}
	if r.refused() {
		c.known.Remove(publicID)
		c.refused.Add(publicID, fresh)
		return fresh
	}
	fresh.usedAt.Store(c.since(checkedAt))
	fresh.notedAt.Store(c.since(r.lastUsedAt))
	if known {
		fresh.usedAt.Store(old.usedAt.Load())
		fresh.notedAt.Store(max(old.notedAt.Load(), fresh.notedAt.Load()))
	}
	c.refused.Remove(publicID)
	c.known.Add(publicID, fresh)
	return fresh
}

// forget removes the entry of a public id that has changed.
func (c *cache) forget(publicID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known.Remove(publicID)
	c.refused.Remove(publicID)
}

// forgetRefused removes all refusals. Any of them may be outdated.
func (c *cache) forgetRefused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused.Purge()
}

// usedSince lists the stored keys that were used within d before now.
func (c *cache) usedSince(now time.Time, within time.Duration) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	after := c.since(now.Add(-within))
	var publicIDs []string
	for _, publicID := range c.known.Keys() {
		if e, ok := c.known.Peek(publicID); ok && e.usedAt.Load() >= after {
			publicIDs = append(publicIDs, publicID)
		}
	}
	return publicIDs
}

func (c *cache) size() (known, refused int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known.Len(), c.refused.Len()
}

// since converts a time to the integer form of the entries.
func (c *cache) since(t time.Time) int64 { return t.Sub(c.made).Nanoseconds() }
