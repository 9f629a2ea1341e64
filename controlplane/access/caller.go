package access

import "context"

// Caller is the authenticated caller of a request.
type Caller struct {
	Principal *Principal
	Policy    Policy
	// RequestID identifies the request in the log.
	RequestID string
}

type callerKey struct{}

// WithCaller returns a context with the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller of the context. It panics if the context is not from [WithCaller].
func CallerOf(ctx context.Context) Caller { return ctx.Value(callerKey{}).(Caller) }

// Authorize checks whether the caller may perform the operation. See [Policy.Authorize].
func (c Caller) Authorize(operation string, target Target) (Grant, error) {
	return c.Policy.Authorize(c.Principal, operation, target)
}
