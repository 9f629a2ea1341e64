package apikeyauthextension

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/looptrace/looptrace/components/apikeyauthextension/internal/metadata"
)

// A revoked key must stop working within 5 seconds, even if no notification arrives. Keys in use are checked every 2
// s. A key whose last answer is older than 4 s is checked again before it is accepted, unless PostgreSQL is away. So
// a key is accepted for at most 4 s after PostgreSQL last confirmed it.
const (
	revalidateEvery = 2 * time.Second
	maxAge          = 4 * time.Second
)

const (
	// probeEvery is how often PostgreSQL is probed while it is away.
	probeEvery = 500 * time.Millisecond
	// askIdleEvery is how often PostgreSQL is probed while no key is in use, to notice that it is away before a
	// request does.
	askIdleEvery = 10 * time.Second
	// noteEvery is how often uses of keys are written.
	noteEvery = 5 * time.Second
	// noteOncePer is the precision of last_used_at.
	noteOncePer = time.Minute
)

// keeper finds keys: in the cache, which it keeps fresh in the background, or else in the store.
type keeper struct {
	ttl, negativeTTL time.Duration

	store     *store
	cache     *cache
	loader    *loader
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder

	// report reports to the collector's status: nil while PostgreSQL answers, else the error and whether some keys
	// still work.
	report func(away error, ready bool)

	// askedAt is when the revalidation last asked. Only the revalidation uses it.
	askedAt time.Time
	// away reports whether the last result of PostgreSQL was an error. Then no request waits for it.
	away atomic.Bool
	// reporting keeps the reports in order.
	reporting sync.Mutex
	// kick starts the revalidation early.
	kick chan struct{}

	mu   sync.Mutex
	uses map[string]use // by key id, not yet written
}

func newKeeper(
	cfg CacheConfig, s *store, logger *zap.Logger, telemetry *metadata.TelemetryBuilder, report func(away error, ready bool),
) (*keeper, error) {
	c, err := newCache(cfg.MaxEntries)
	if err != nil {
		return nil, err
	}
	k := &keeper{
		ttl:         cfg.TTL,
		negativeTTL: cfg.NegativeTTL,
		store:       s,
		cache:       c,
		logger:      logger,
		telemetry:   telemetry,
		report:      report,
		kick:        make(chan struct{}, 1),
		uses:        map[string]use{},
	}
	k.loader = newLoader(k.lookUp)
	return k, nil
}

// find returns what is known of the key, or errUnavailable.
func (k *keeper) find(ctx context.Context, publicID string, now time.Time) (*entry, error) {
	e := k.cache.get(publicID)
	if e != nil && k.fresh(e, now) {
		k.telemetry.ApikeyauthCacheReads.Add(ctx, 1, hitOption)
		e.usedAt.Store(k.cache.since(now))
		return e, nil
	}
	k.telemetry.ApikeyauthCacheReads.Add(ctx, 1, missOption)
	if !k.away.Load() {
		if loaded, err := k.loader.load(ctx, publicID); err == nil {
			return loaded, nil
		}
	}
	// A stored key keeps working while PostgreSQL is away. It does not if there are merely too many look-ups: then a
	// flood of made-up keys would keep a revoked one alive.
	if e != nil && !e.record.refused() && k.away.Load() {
		e.usedAt.Store(k.cache.since(now))
		return e, nil
	}
	return nil, errUnavailable
}

// fresh reports whether the entry is new enough to answer without asking.
func (k *keeper) fresh(e *entry, now time.Time) bool {
	age := now.Sub(e.checkedAt)
	if e.record.refused() {
		return age < k.negativeTTL
	}
	return age < maxAge
}

// noteUse notes a use of the key, at most once a minute.
func (k *keeper) noteUse(e *entry, now time.Time, from netip.Addr) {
	noted, at := e.notedAt.Load(), k.cache.since(now)
	if noted > at-noteOncePer.Nanoseconds() || !e.notedAt.CompareAndSwap(noted, at) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.uses[e.record.id] = use{at: now, from: from}
}

// lookUp asks the store for keys that requests wait for.
func (k *keeper) lookUp(ctx context.Context, publicIDs []string) (map[string]*entry, error) {
	entries, err := k.ask(ctx, publicIDs)
	if err != nil {
		k.telemetry.ApikeyauthLookups.Add(ctx, int64(len(publicIDs)), lookupFailedOption)
		return nil, err
	}
	found := 0
	for _, e := range entries {
		if e.record != nil {
			found++
		}
	}
	k.telemetry.ApikeyauthLookups.Add(ctx, int64(found), lookupFoundOption)
	k.telemetry.ApikeyauthLookups.Add(ctx, int64(len(publicIDs)-found), lookupAbsentOption)
	return entries, nil
}

// ask asks the store and caches its answers, including that there is none.
func (k *keeper) ask(ctx context.Context, publicIDs []string) (map[string]*entry, error) {
	asked := time.Now()
	found, err := k.store.find(ctx, publicIDs)
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err() // the extension shuts down, which says nothing about PostgreSQL
	}
	k.heard(err, asked)
	if err != nil {
		return nil, err
	}
	entries := make(map[string]*entry, len(publicIDs))
	for _, publicID := range publicIDs {
		entries[publicID] = k.cache.put(publicID, found[publicID], asked)
	}
	return entries, nil
}

// heard notes whether PostgreSQL has answered, and reports changes.
func (k *keeper) heard(err error, asked time.Time) {
	k.reporting.Lock()
	defer k.reporting.Unlock()
	switch wasAway := k.away.Swap(err != nil); {
	case err != nil && !wasAway:
		k.logger.Warn("PostgreSQL does not answer: keys in use continue to work, requests with other keys are answered 503", zap.Error(err))
		known, _ := k.cache.size()
		k.report(fmt.Errorf("PostgreSQL has not answered since %s: keys in use continue to work, requests with other keys are answered 503: %w",
			asked.UTC().Format(time.RFC3339), err), known > 0)
		k.wakeUp()
	case err == nil && wasAway:
		k.logger.Info("PostgreSQL answers again")
		k.report(nil, true)
	}
}

// wakeUp starts the next revalidation at once.
func (k *keeper) wakeUp() {
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

// revalidateLoop keeps keys in use fresh, and notices when PostgreSQL is back, until the context ends.
func (k *keeper) revalidateLoop(ctx context.Context) {
	timer := time.NewTimer(revalidateEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.kick:
		case <-timer.C:
		}
		k.revalidate(ctx)
		if k.away.Load() {
			timer.Reset(probeEvery)
		} else {
			timer.Reset(revalidateEvery)
		}
	}
}

func (k *keeper) revalidate(ctx context.Context) {
	publicIDs := k.cache.usedSince(time.Now(), k.ttl)
	if len(publicIDs) == 0 && !k.away.Load() && time.Since(k.askedAt) < askIdleEvery {
		return
	}
	k.askedAt = time.Now()
	for first := true; first || len(publicIDs) > 0; first = false {
		batch := publicIDs[:min(maxBatch, len(publicIDs))]
		publicIDs = publicIDs[len(batch):]
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		_, err := k.ask(ctx, batch) // an empty batch probes PostgreSQL
		cancel()
		if err != nil {
			k.telemetry.ApikeyauthRevalidations.Add(ctx, int64(len(batch)+len(publicIDs)), revalidationFailedOption)
			return
		}
		k.telemetry.ApikeyauthRevalidations.Add(ctx, int64(len(batch)), revalidationDoneOption)
	}
}

// noteLoop writes the uses of keys until the context ends, and once more at the end.
func (k *keeper) noteLoop(ctx context.Context) {
	ticker := time.NewTicker(noteEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			k.writeUses(context.WithoutCancel(ctx))
			return
		case <-ticker.C:
			k.writeUses(ctx)
		}
	}
}

func (k *keeper) writeUses(ctx context.Context) {
	if k.away.Load() {
		return
	}
	k.mu.Lock()
	uses := k.uses
	k.uses = map[string]use{}
	k.mu.Unlock()
	if len(uses) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if err := k.store.noteUse(ctx, uses); err != nil {
		k.logger.Warn("The last use of keys was not stored", zap.Error(err))
	}
}
