package apikeyauthextension

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowFind answers after a delay, or fails, and records its arguments.
type slowFind struct {
	takes time.Duration
	err   error

	mu    sync.Mutex
	asked [][]string
}

func (f *slowFind) find(ctx context.Context, publicIDs []string) (map[string]*entry, error) {
	f.mu.Lock()
	f.asked = append(f.asked, publicIDs)
	f.mu.Unlock()
	select {
	case <-time.After(f.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	entries := map[string]*entry{}
	for _, publicID := range publicIDs {
		entries[publicID] = &entry{record: &record{id: publicID}}
	}
	return entries, f.err
}

// loadAll loads the ids concurrently and returns how many were answered.
func loadAll(ctx context.Context, l *loader, ids int, offset int) (answered int) {
	var group sync.WaitGroup
	var mu sync.Mutex
	for i := range ids {
		group.Go(func() {
			publicID := strconv.Itoa(offset + i)
			e, err := l.load(ctx, publicID)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && e.record.id == publicID {
				answered++
			}
		})
	}
	group.Wait()
	return answered
}

func runLoader(t *testing.T, f *slowFind) *loader {
	t.Helper()
	l := newLoader(f.find)
	ctx, stop := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	loop.Go(func() { l.run(ctx) })
	t.Cleanup(func() {
		stop()
		loop.Wait()
	})
	return l
}

func TestLoaderGathersKeysWhileAQueryRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &slowFind{takes: 10 * time.Millisecond}
		l := runLoader(t, f)
		var group sync.WaitGroup
		group.Go(func() { assert.Equal(t, 1, loadAll(t.Context(), l, 1, 0)) })
		synctest.Wait()
		for range 3 { // each key three times
			group.Go(func() { assert.Equal(t, 1500, loadAll(t.Context(), l, 1500, 1)) })
		}
		group.Wait()
		require.Len(t, f.asked, 3)
		assert.Len(t, f.asked[0], 1)
		assert.Len(t, f.asked[1], maxBatch)
		assert.Len(t, f.asked[2], 500)
	})
}

func TestLoaderBoundsWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &slowFind{takes: 100 * time.Millisecond}
		l := runLoader(t, f)
		var group sync.WaitGroup
		group.Go(func() { loadAll(t.Context(), l, 1, 0) })
		synctest.Wait()
		assert.Equal(t, maxWaiting, loadAll(t.Context(), l, maxWaiting+500, 1))
		group.Wait()
	})
}

func TestLoaderFailsWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &slowFind{takes: time.Second, err: errors.New("away")}
		l := runLoader(t, f)
		var group sync.WaitGroup
		group.Go(func() { assert.Zero(t, loadAll(t.Context(), l, 1, 0)) })
		synctest.Wait()
		began := time.Now()
		assert.Zero(t, loadAll(t.Context(), l, 10, 1))
		assert.Equal(t, time.Second, time.Since(began), "they waited for a second failure")
		assert.Len(t, f.asked, 1)
		group.Wait()
	})
}

func TestLoaderGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &slowFind{takes: time.Hour}
		l := runLoader(t, f)
		began := time.Now()
		_, err := l.load(t.Context(), "slow")
		require.ErrorIs(t, err, errUnavailable)
		assert.Equal(t, lookupTimeout, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = l.load(ctx, "slow")
		require.ErrorIs(t, err, errUnavailable)
	})
}
