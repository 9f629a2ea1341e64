// Package requestbody limits the time in which a request's body must arrive. Without a limit, a client can keep a
// connection busy for ever at no cost.
package requestbody

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the time that a body takes to arrive.
type Limits struct {
	// Idle limits the wait for the next byte.
	Idle time.Duration
	// Total limits the time for the whole body.
	Total time.Duration
}

// linger is how long a client that already has its answer may go on sending. Most clients do not read an early answer if
// the connection is closed while they send.
var linger = Limits{Idle: 2 * time.Second, Total: 10 * time.Second}

// stopTime is how long bodies may go on to arrive after the server begins to stop.
const stopTime = time.Second

// longAgo is a deadline in the past.
var longAgo = time.Unix(1, 0)

// Error is the error of reading a body that the client did not send properly.
type Error struct {
	cause   error
	stopped bool
}

func (e *Error) Error() string { return "read the request's body: " + e.cause.Error() }
func (e *Error) Unwrap() error { return e.cause }

// Stopped reports whether the server stopped before the body arrived.
func (e *Error) Stopped() bool { return e.stopped }

// Late reports whether the body arrived too late, as opposed to malformed.
func (e *Error) Late() bool { return errors.Is(e.cause, os.ErrDeadlineExceeded) }

// Bound returns a handler that limits the time for bodies. Reading a body beyond its limits returns an [Error], and
// the connection is closed after the answer. The answer may begin before the body ends and may take any time. A
// second after stopping ends, bodies that have not arrived are given up: their clients have no answer yet. It must be
// the outermost handler of its server.
func Bound(stopping context.Context, next http.Handler, limits Limits) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		b := &body{
			client: r.Body, connection: http.NewResponseController(w),
			idle: limits.Idle, until: time.Now().Add(limits.Total), expects: r.Header.Get("Expect") != "",
		}
		// Otherwise the server reads the rest of the body when the answer begins, while the handler may still read
		// it.
		if err := b.connection.EnableFullDuplex(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			panic(err) // as net/http reports it
		}
		defer context.AfterFunc(stopping, b.giveUp)()
		r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, b)) //nolint:contextcheck // the request outlives what stops the server
		r.Body = b
		next.ServeHTTP(w, r)
		b.end(w)
	})
}

type bodyKey struct{}

// Failure waits until the body of the context's request is not being read any more, and returns the error, if any. A
// server cancels the context of a request whose body it cannot read, which other goroutines may notice first.
func Failure(ctx context.Context) *Error {
	b, bounded := ctx.Value(bodyKey{}).(*body)
	if !bounded {
		return nil
	}
	b.reading.Lock()
	defer b.reading.Unlock()
	return b.failed
}

// Extend lets the body of the context's request take this long from now, unless the server stops.
func Extend(ctx context.Context, total time.Duration) {
	b, bounded := ctx.Value(bodyKey{}).(*body)
	if !bounded {
		return
	}
	b.extend(total)
}

func (b *body) extend(total time.Duration) {
	b.deadlines.Lock()
	defer b.deadlines.Unlock()
	if !b.gaveUp {
		b.until = time.Now().Add(total)
	}
}

// body is a request's body. One goroutine may read it at a time.
type body struct {
	client     io.ReadCloser
	connection *http.ResponseController
	idle       time.Duration
	expects    bool // the client sends it only on request (Expect: 100-continue)

	reading sync.Mutex // held while waiting for the client
	ended   bool       // it was read to its end
	failed  *Error

	closed atomic.Bool

	deadlines sync.Mutex // guards the fields below, and the order in which deadlines are set
	until     time.Time  // when reading must end
	waiting   bool
	gaveUp    bool
}

func (b *body) Read(p []byte) (int, error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	switch {
	case b.closed.Load():
		return 0, http.ErrBodyReadAfterClose
	case b.ended:
		return 0, io.EOF
	case b.failed != nil:
		return 0, b.failed
	}
	return b.read(p, b.idle)
}

// read waits for the client at most this long. The server removes the deadline at the end of the body, because it
// then waits for the client to disconnect.
func (b *body) read(p []byte, wait time.Duration) (int, error) {
	b.wait(wait)
	n, err := b.client.Read(p)
	b.deadlines.Lock()
	b.waiting = false
	stopped := b.gaveUp
	b.deadlines.Unlock()
	switch {
	case err == io.EOF:
		b.ended = true
		if stopped {
			b.forget()
		}
	case err != nil:
		b.failed = &Error{cause: err, stopped: stopped && errors.Is(err, os.ErrDeadlineExceeded)}
		err = b.failed
	}
	return n, err
}

func (b *body) wait(d time.Duration) {
	b.deadlines.Lock()
	defer b.deadlines.Unlock()
	b.waiting = true
	deadline := time.Now().Add(d)
	if b.until.Before(deadline) {
		deadline = b.until
	}
	b.setDeadline(deadline)
}

func (b *body) setDeadline(deadline time.Time) {
	_ = b.connection.SetReadDeadline(deadline) // fails without a connection, as in tests
}

// giveUp ends the wait for the client soon. What was read, and the answer, are not affected.
func (b *body) giveUp() {
	b.deadlines.Lock()
	defer b.deadlines.Unlock()
	b.gaveUp = true
	if last := time.Now().Add(stopTime); last.Before(b.until) {
		b.until = last
	}
	if b.waiting {
		b.setDeadline(b.until)
	}
}

// forget removes a deadline that was set after the end of the body was read: the server waits for the client to disconnect.
func (b *body) forget() {
	b.deadlines.Lock()
	defer b.deadlines.Unlock()
	b.setDeadline(time.Time{})
}

// Close ends the reading. A read that waits for the client in another goroutine goes on until the request ends: the server
// would take an interruption for a broken connection, and cancel all requests that follow on it.
func (b *body) Close() error {
	b.closed.Store(true)
	return nil
}

// end lets the client finish, or has the connection closed. Otherwise a server of HTTP/1 would wait for the rest
// without a limit, or take it for the next request.
func (b *body) end(w http.ResponseWriter) {
	_ = b.Close() // always nil
	failed := false
	if b.reading.TryLock() {
		ended := b.ended
		failed = b.failed != nil
		b.reading.Unlock()
		if ended {
			return
		}
	}
	if !failed && !b.expects && b.connection.Flush() == nil && b.drain() {
		return
	}
	b.setDeadline(longAgo) // Close does not wait
	_ = b.client.Close()   // the rest is not needed
	closeAfterAnswer(w)
}

// drain reads the rest, after a read in another goroutine has ended with what comes. It reports whether the end came in time.
func (b *body) drain() bool {
	b.extend(linger.Total)
	b.deadlines.Lock()
	if b.waiting {
		b.setDeadline(time.Now().Add(linger.Idle))
	}
	b.deadlines.Unlock()
	b.reading.Lock()
	defer b.reading.Unlock()
	if b.ended {
		b.forget()
		return true
	}
	buffer := make([]byte, 32<<10)
	for !b.ended && b.failed == nil {
		_, _ = b.read(buffer, linger.Idle) // the error is kept
	}
	return b.ended
}

// closeAfterAnswer makes the server close the connection, as it does after a body that is too large. There is no
// other way once the answer has begun.
func closeAfterAnswer(w http.ResponseWriter) {
	_, _ = http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0).Read(make([]byte, 1))
}
