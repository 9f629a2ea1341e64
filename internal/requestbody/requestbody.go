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

	deadlines   sync.Mutex // guards the fields below, and the order in which deadlines are set
	until       time.Time  // when reading must end
	waiting     bool
	gaveUp      bool
	interrupted bool // by stop
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
	interrupted, stopped := b.interrupted, b.gaveUp
	b.deadlines.Unlock()
	switch {
	case interrupted && errors.Is(err, os.ErrDeadlineExceeded):
		err = http.ErrBodyReadAfterClose
	case err == io.EOF:
		b.ended = true
		b.forget()
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
	switch {
	case b.interrupted:
		deadline = longAgo
	case b.until.Before(deadline):
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

// forget removes a deadline of giveUp that came after the end of the body: the server waits for the client to disconnect.
func (b *body) forget() {
	b.deadlines.Lock()
	defer b.deadlines.Unlock()
	if b.gaveUp {
		b.setDeadline(time.Time{})
	}
}

func (b *body) interrupt() {
	b.deadlines.Lock()
	defer b.deadlines.Unlock()
	b.interrupted = true
	if b.waiting {
		b.setDeadline(longAgo)
	}
}

// Close ends the reading. A read that waits for the client in another goroutine ends with the request, which also reads the
// rest.
func (b *body) Close() error {
	b.closed.Store(true)
	return nil
}

// stop ends a read in another goroutine, and reports whether there was one. The server takes what ends it for a broken
// connection, and cancels the context of this request and of all that follow on the connection.
func (b *body) stop() (interrupted bool) {
	b.closed.Store(true)
	if !b.reading.TryLock() {
		interrupted = true
		b.interrupt()
		b.reading.Lock()
	}
	defer b.reading.Unlock()
	b.deadlines.Lock()
	b.interrupted = false
	b.deadlines.Unlock()
	return interrupted
}

// end lets the client finish, or has the connection closed. Otherwise a server of HTTP/1 would wait for the rest
// without a limit, or take it for the next request.
func (b *body) end(w http.ResponseWriter) {
	if b.stop() {
		closeAfterAnswer(w)
	}
	if b.ended {
		return
	}
	if b.failed == nil && !b.expects && b.connection.Flush() == nil {
		b.extend(linger.Total)
		buffer := make([]byte, 32<<10)
		for !b.ended && b.failed == nil {
			_, _ = b.read(buffer, linger.Idle) // the error is kept
		}
		if b.ended {
			return
		}
	}
	b.setDeadline(longAgo) // Close does not wait
	_ = b.client.Close()   // the rest is not needed
	closeAfterAnswer(w)
}

// closeAfterAnswer makes the server close the connection, as it does after a body that is too large. There is no
// other way once the answer has begun.
func closeAfterAnswer(w http.ResponseWriter) {
	_, _ = http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0).Read(make([]byte, 1))
}
