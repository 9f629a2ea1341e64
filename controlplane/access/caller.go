package access

import "context"

// Caller is who calls within a request.
type Caller struct {
	Principal *Principal
	Policy    Policy
	// RequestID finds the request in the log.
	RequestID string
}

type callerKey struct{}

// WithCaller tells those who get the context who calls.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf is who calls. The context comes from [WithCaller].
func CallerOf(ctx context.Context) Caller { return ctx.Value(callerKey{}).(Caller) }

// Authorize decides whether the caller may do an operation.
func (c Caller) Authorize(operation string, target Target) (Grant, error) {
	return c.Policy.Authorize(c.Principal, operation, target)
}
