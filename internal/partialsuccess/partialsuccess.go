// Package partialsuccess reports that part of a request was rejected. A stock OTLP receiver knows only success and
// failure, so a handler in front of it passes a Report through the context, and the consumer behind it fills it.
package partialsuccess

import (
	"context"
	"sync"
)

// Report collects what was rejected of a request. The zero value is empty.
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

// Reject reports that count items were rejected, and why the first one was. It returns false if the context has no
// Report: then the caller must return an error.
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

// Rejected returns how many items were rejected, and why the first one was.
func (r *Report) Rejected() (count int64, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.message
}
