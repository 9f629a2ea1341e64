package ratelimit

import "context"

type spansKey struct{}

// WithSpans returns a context in which ChargeSpans calls charge.
func WithSpans(ctx context.Context, charge func(spans int)) context.Context {
	return context.WithValue(ctx, spansKey{}, charge)
}

// ChargeSpans reports the number of spans in a request to the rate limiter in front of it, once they are decoded. It
// does nothing without one.
func ChargeSpans(ctx context.Context, spans int) {
	if charge, ok := ctx.Value(spansKey{}).(func(int)); ok {
		charge(spans)
	}
}
