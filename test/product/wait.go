package product

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// permanent is an error that waiting does not fix.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent marks an error that waiting does not fix.
func Permanent(err error) error { return permanent{err} }

// Wait calls a condition every Tick until it returns nil or a permanent error, or ctx ends. It then returns its
// last error.
func Wait(ctx context.Context, condition func(context.Context) error) error {
	tick := time.NewTicker(Tick)
	defer tick.Stop()
	for {
		err := condition(ctx)
		if err == nil {
			return nil
		}
		if stop := (permanent{}); errors.As(err, &stop) {
			return stop.error
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last seen: %w", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}
