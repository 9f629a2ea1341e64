package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// quietTime is how long a backend may say nothing while a request waits for it, before it is asked for a sign of life, and between
	// two such questions.
	quietTime = time.Second
	// signTime is how long it may take to give that sign. With quietTime it keeps the answer for a backend that hangs below 5 s.
	signTime = 2500 * time.Millisecond
)

// hungError ends a request to a backend that accepts connections and says nothing.
type hungError struct{ address string }

func (e *hungError) Error() string {
	return fmt.Sprintf("%s has not answered within %s, and no other request was answered meanwhile", e.address, signTime)
}

// liveness tells a backend that hangs from one that is busy with a long request: only the latter answers /healthz.
type liveness struct {
	healthz string
	client  *http.Client
	// heard is when the backend last began any answer, in ns since 1970.
	heard atomic.Int64

	mu   sync.Mutex // held while the backend is asked: all that wait share the answer
	hung time.Time  // when it was last found to hang
}

func newLiveness(target *url.URL) *liveness {
	return &liveness{
		healthz: target.JoinPath("healthz").String(),
		// A connection of its own: one that is open already may be stuck.
		client: &http.Client{Timeout: signTime, Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

func (l *liveness) note() { l.heard.Store(time.Now().UnixNano()) }

func (l *liveness) quiet() time.Duration { return time.Since(time.Unix(0, l.heard.Load())) }

// check returns a hungError if the backend hangs. A refused connection is no sign of that: a backend that stops in order refuses new
// requests and answers those that it has.
func (l *liveness) check(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.quiet() < quietTime {
		return nil
	}
	if time.Since(l.hung) < quietTime {
		return &hungError{l.healthz}
	}
	// Without the caller's end, because the result is for others, too.
	request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, l.healthz, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask a backend for a sign of life: %w", err)
	}
	response, err := l.client.Do(request)
	if err == nil {
		l.note()
		_ = response.Body.Close() // that it came is all that counts
		return nil
	}
	var late net.Error
	if !errors.As(err, &late) || !late.Timeout() || l.quiet() < signTime {
		return nil
	}
	l.hung = time.Now()
	return &hungError{l.healthz}
}

// livingTransport gives up requests whose backend hangs before it begins its answer. However long a backend that lives takes, it
// waits: for long polls, exports, uploads and models.
type livingTransport struct {
	http.RoundTripper
	backend *liveness
}

func (t livingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context()) // released at the end of the client's request: the answer is read with it
	answered := make(chan struct{})
	var decided atomic.Bool // by whichever is first, the answer or the check
	watch := time.AfterFunc(quietTime, func() {
		for {
			if err := t.backend.check(ctx); err != nil && decided.CompareAndSwap(false, true) {
				cancel(err)
				return
			}
			select {
			case <-answered:
				return
			case <-time.After(quietTime):
			}
		}
	})
	response, err := t.RoundTripper.RoundTrip(r.WithContext(ctx))
	watch.Stop()
	close(answered)
	if !decided.CompareAndSwap(false, true) {
		if err == nil {
			_ = response.Body.Close() // it came too late: its context has ended
		}
		return nil, context.Cause(ctx)
	}
	if err == nil {
		t.backend.note()
	}
	return response, err //nolint:wrapcheck // the proxy reads it as the transport's
}
