package work

import (
	"context"
	"errors"
	"time"

	"github.com/looptrace/looptrace/internal/problem"
)

const (
	// outageTime is how long a store that does not answer is waited for. firstRetry and maxRetry are the shortest and the longest wait
	// between tries.
	outageTime           = time.Minute
	firstRetry, maxRetry = 100 * time.Millisecond, time.Second
)

// isOutage reports whether an error says that a store does not answer.
func isOutage(err error) bool {
	refused := problem.Of(err)
	return refused != nil && refused.Kind == problem.Unavailable && refused.Code == problem.CodeDependency
}

// Retry does something until it succeeds, fails for good, or a store did not answer for outageTime. To give up earlier would end calls under
// way, which are paid.
func Retry(ctx context.Context, do func() error) error {
	until, wait := time.Now().Add(outageTime), firstRetry
	for {
		err := do()
		if !isOutage(err) || time.Now().After(until) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
		wait = min(2*wait, maxRetry)
	}
}
