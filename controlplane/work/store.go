package work

import (
	"context"
	"time"
)

const (
	// storeEvery is how long results gather before they are stored together, at most storeBytes.
	storeEvery = 50 * time.Millisecond
	storeBytes = 4 << 20
)

// Result is what a job makes. Size is about its bytes.
type Result interface{ Size() int }

// Store puts results into a store until there are no more, those together that are there at about the same time. It waits for a store that
// does not answer: what was paid for is not made again.
func Store[R Result](ctx context.Context, results <-chan R, put func(context.Context, []R) error) error {
	for first := range results {
		batch, size := []R{first}, first.Size()
		gathered := time.After(storeEvery)
	gather:
		for size < storeBytes {
			select {
			case next, ok := <-results:
				if !ok {
					break gather
				}
				batch, size = append(batch, next), size+next.Size()
			case <-gathered:
				break gather
			}
		}
		if err := Retry(ctx, func() error { return put(ctx, batch) }); err != nil {
			return err
		}
	}
	return nil
}
