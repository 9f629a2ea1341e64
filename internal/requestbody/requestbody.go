// Package requestbody bounds the time that the body of a request may take. A server that reads bodies without a bound keeps
// a connection, for nothing, for as long as anybody likes.
package requestbody

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// Limits of a body.
type Limits struct {
	// Idle is how long the next byte may take.
	Idle time.Duration
	// Total is how long all of it may take.
	Total time.Duration
}

// lingerTime is how long a client that has its answer is let finish sending: most never read an answer that came before they
// had sent all, on a connection that was closed meanwhile.
const lingerTime = 2 * time.Second

// stopTime is how long bodies may go on to arrive when their server stops.
const stopTime = time.Second

// longAgo is a deadline that is over.
var longAgo = time.Unix(1, 0)

// Error is what reading a body ends with that the client did not send as it should.
type Error struct {
	cause   error
	stopped bool
}

func (e *Error) Error() string { return "read the request's body: " + e.cause.Error() }
func (e *Error) Unwrap() error { return e.cause }

// Stopped tells whether the body would have been waited for if the server went on.
func (e *Error) Stopped() bool { return e.stopped }

// Late tells whether the body did not come in time, rather than not as it should.
func (e *Error) Late() bool { return errors.Is(e.cause, os.ErrDeadlineExceeded) }

// Bound holds bodies to limits. Reading one that does not keep them ends with an [Error], and the connection is closed
// after the answer. An answer may begin before the body's end, and may take any time. When stopping ends, bodies that have
// not arrived a second later are given up: nothing was promised to their clients. It must be the outermost handler of its server.
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
		// Without it the server looks for the body's end where the answer begins, and reads what others may be reading.
		if err := b.connection.EnableFullDuplex(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			panic(err) // as a server of HTTP/1 has it
		}
		defer context.AfterFunc(stopping, b.giveUp)()
		r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, b)) //nolint:contextcheck // the request outlives what stops the server
		r.Body = b
		next.ServeHTTP(w, r)
		b.end(w)
	})
}

type bodyKey struct{}

// Failure waits for whoever reads the body of the request of a context, and returns what that ended with, nil where nothing was
// wrong. A server ends the context of a request whose body it cannot read, which others may see first.
func Failure(ctx context.Context) *Error {
	b, bounded := ctx.Value(bodyKey{}).(*body)
	if !bounded {
		return nil
	}
	b.reading.Lock()
	defer b.reading.Unlock()
	return b.failed
}

// body is what a client sends, for one reader at a time.
type body struct {
	client     io.ReadCloser
	connection *http.ResponseController
	idle       time.Duration
	expects    bool // the client sends it only if it is asked to

	reading sync.Mutex // held while the client is waited for
	ended   bool       // all was read
	failed  *Error
	closed  bool

	deadlines   sync.Mutex // guards following, and the order of what is set
	until       time.Time  // when nobody waits any longer
	waiting     bool
	gaveUp      bool
	interrupted bool // by Close
}

func (b *body) Read(p []byte) (int, error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	switch {
	case b.closed:
		return 0, http.ErrBodyReadAfterClose
	case b.ended:
		return 0, io.EOF
	case b.failed != nil:
		return 0, b.failed
	}
	return b.read(p, b.idle)
}

// read waits for the client for so long. The server lifts the deadline at the end of the body, as it goes on to wait for the
// client's going.
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
	_ = b.connection.SetReadDeadline(deadline) // fails where there is no connection, as in a test
}

// giveUp lets nobody wait for the client for long. What has been read, and answers, go on.
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

func (b *body) interrupt() {
	b.deadlines.Lock()
	defer b.deadlines.Unlock()
	b.interrupted = true
	if b.waiting {
		b.setDeadline(longAgo)
	}
}

// Close ends reading, be it another's. The rest is read at the end of the request.
func (b *body) Close() error {
	if !b.reading.TryLock() {
		b.interrupt()
		b.reading.Lock()
	}
	defer b.reading.Unlock()
	b.closed = true
	b.deadlines.Lock()
	b.interrupted = false
	b.deadlines.Unlock()
	return nil
}

// end lets the client finish, or has the connection closed. A server of HTTP/1 would else wait for the rest itself, without
// a bound, or take it for the next request.
func (b *body) end(w http.ResponseWriter) {
	_ = b.Close() // always nil
	if b.ended {
		return
	}
	if b.failed == nil && !b.expects && b.connection.Flush() == nil {
		b.linger()
		buffer := make([]byte, 32<<10)
		for !b.ended && b.failed == nil {
			_, _ = b.read(buffer, lingerTime) // how it ends is kept
		}
		if b.ended {
			return
		}
	}
	b.setDeadline(longAgo) // it waits for nothing in Close
	_ = b.client.Close()   // nobody asks for the rest
	closeAfterAnswer(w)
}

// linger waits for the rest, unless the server stops.
func (b *body) linger() {
	b.deadlines.Lock()
	defer b.deadlines.Unlock()
	if !b.gaveUp {
		b.until = time.Now().Add(lingerTime)
	}
}

// closeAfterAnswer has the server close the connection as after a body that was too large: the one way to tell it once the
// answer has begun.
func closeAfterAnswer(w http.ResponseWriter) {
	_, _ = http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0).Read(make([]byte, 1))
}
