// Package partialsuccess lets what stands behind a stock OTLP receiver, which knows success and failure only, say that a part
// of a request was not accepted. Who answers the client asks to be told, by the context of the request.
package partialsuccess

import (
	"context"
	"sync"
)

// Report collects what was not accepted of one request. The zero value is empty.
type Report struct {
	mu      sync.Mutex
	count   int64
	message string
}

type reportKey struct{}

// With returns a context in which Reject adds to the report.
func With(ctx context.Context, r *Report) context.Context {
	return context.WithValue(ctx, reportKey{}, r)
}

// Reject says that so many items were not accepted, and why the first was not. It is false where nobody would tell the
// client: then it must be told by an error.
func Reject(ctx context.Context, count int64, message string) bool {
	r, ok := ctx.Value(reportKey{}).(*Report)
	if !ok {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == 0 {
		r.message = message
	}
	r.count += count
	return true
}

// Rejected is how many items were not accepted, and why the first was not.
func (r *Report) Rejected() (count int64, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.message
}
