package ratelimit

import "context"

type spansKey struct{}

// WithSpans returns a context in which ChargeSpans calls charge.
func WithSpans(ctx context.Context, charge func(spans int)) context.Context {
	return context.WithValue(ctx, spansKey{}, charge)
}

// ChargeSpans tells the limiter that stands before a request how many spans were in it, as soon as they are
// decoded. Where there is none it does nothing.
func ChargeSpans(ctx context.Context, spans int) {
	if charge, ok := ctx.Value(spansKey{}).(func(int)); ok {
		charge(spans)
	}
}
