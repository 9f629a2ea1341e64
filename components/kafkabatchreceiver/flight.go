package kafkabatchreceiver

import (
	"context"
	"sync"
)

// flight counts the batches in flight.
type flight struct {
	mu      sync.Mutex
	batches int
	// onEmpty is called once, when the last batch ends.
	onEmpty func()
}

func (f *flight) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches++
}

func (f *flight) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches--
	if f.batches == 0 && f.onEmpty != nil {
		f.onEmpty()
		f.onEmpty = nil
	}
}

func (f *flight) empty() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.batches == 0
}

// untilEmpty returns a context that also ends when no batch is in flight.
func (f *flight) untilEmpty(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.batches == 0 {
		cancel()
	}
	f.onEmpty = cancel
	return ctx, cancel
}
