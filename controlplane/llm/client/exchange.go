package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/wire"
)

const (
	maxResponse = 64 << 20
	maxLine     = 16 << 20 // of a stream
	maxFailure  = 1 << 20  // of the body of an error
	// drainTimeout is how long the end of the connection's response is waited for after the end of the answer, so that
	// the connection can be used again.
	drainTimeout = 250 * time.Millisecond
)

var (
	errIdle     = errors.New("nothing was received in time")
	errLong     = errors.New("the call takes too long")
	errTooLarge = fmt.Errorf("the response exceeds %d MiB", maxResponse>>20)
	errLine     = fmt.Errorf("a line of the stream exceeds %d MiB", maxLine>>20)
)

// exchange is a request and its response, and lives as long as one call. It records the response and limits its size and the waits for it.
type exchange struct {
	client *Client
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	start  time.Time

	sent     atomic.Bool // whether the server got the beginning of the request
	response *http.Response
	body     *bodyReader
	first    time.Duration // to the first delta
	duration time.Duration
}

func (c *Client) exchange(ctx context.Context) *exchange {
	x := &exchange{client: c, parent: ctx, start: time.Now()}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	return x
}

// end ends the provider's request if it still runs.
func (x *exchange) end() {
	if x.response != nil {
		_ = x.response.Body.Close() // of a response that was read, or is not wanted
	}
	x.cancel(nil)
}

func (x *exchange) wait(d time.Duration) *time.Timer { return x.limit(d, errIdle) }

// limit ends the exchange with a cause unless the timer is stopped before.
func (x *exchange) limit(d time.Duration, cause error) *time.Timer {
	return time.AfterFunc(d, func() { x.cancel(cause) })
}

// send sends the request of a call and waits for the response's header. The status of a failed response is an error.
func (x *exchange) send(c *call) error {
	request, err := x.request(c)
	if err != nil {
		return err
	}
	client := &http.Client{
		Transport:     x.client.conn.HTTP.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	timer := x.wait(x.client.conn.IdleTimeout)
	response, err := client.Do(request) //nolint:bodyclose // end closes it
	timer.Stop()
	if err != nil {
		return err
	}
	limit, failed := maxResponse, response.StatusCode >= http.StatusBadRequest
	if failed {
		limit = maxFailure
	}
	x.body = &bodyReader{exchange: x, body: response.Body, limit: limit, failed: failed}
	response.Body = x.body
	x.response = response
	if response.StatusCode >= http.StatusMultipleChoices {
		return errors.New(response.Status)
	}
	return nil
}

// request makes the HTTP request of a call.
func (x *exchange) request(c *call) (*http.Request, error) {
	base, err := url.Parse(x.client.base + "/")
	if err != nil {
		return nil, err
	}
	address, err := base.Parse(c.path)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if c.body != nil {
		body = bytes.NewReader(c.body)
	}
	ctx := httptrace.WithClientTrace(x.ctx, &httptrace.ClientTrace{WroteHeaders: func() { x.sent.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, c.method(), address.String(), body)
	if err != nil {
		return nil, err
	}
	for name, value := range headers(x.client.conn, c) {
		request.Header.Set(name, value)
	}
	return request, nil
}

// read reads the answer to a call.
func (x *exchange) read(c *call, onDelta func(llm.Delta) error) error {
	c.answer.Deliver = func(d llm.Delta) error {
		if x.first == 0 {
			x.first = time.Since(x.start)
		}
		if onDelta == nil {
			return nil
		}
		if err := onDelta(d); err != nil {
			return &callbackError{err}
		}
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(x.response.Header.Get("Content-Type"))
	if c.stream && (err != nil || !strings.HasSuffix(mediaType, "json")) {
		return x.readStream(c)
	}
	// A server that does not stream answers as a whole.
	body, err := x.readAll()
	if err != nil {
		return err
	}
	return readWhole(c.reader, body)
}

func (x *exchange) readAll() ([]byte, error) {
	body, err := io.ReadAll(x.response.Body)
	x.duration = time.Since(x.start)
	return wire.WithoutMark(body), err
}

func (x *exchange) readStream(c *call) error {
	x.body.lines = true
	var broken error
	seen := false
	for event, err := range events(x.response.Body) {
		if err != nil {
			broken = err
			break
		}
		last, err := readEvent(c.reader, event)
		if err != nil {
			return err
		}
		seen = true
		if last {
			x.duration = time.Since(x.start)
			err := c.answer.Check()
			x.drain()
			return err
		}
	}
	x.duration = time.Since(x.start)
	switch {
	case c.answer.Failed != nil: // how the stream ends after that does not matter
		return c.answer.Failed
	case c.reader.Complete() && (broken == nil || x.ctx.Err() == nil):
		return c.answer.Check() // only the mark of the end is missing
	case broken != nil:
		return broken
	case !seen:
		return &llm.GarbageError{What: "the response has no events"}
	}
	return io.ErrUnexpectedEOF
}

// drain reads to the end of the response if it comes at once.
func (x *exchange) drain() {
	timer := x.wait(drainTimeout)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, x.response.Body, maxFailure) // what follows the answer does not matter
}

// result is what was received so far.
func (x *exchange) result(c *call) *llm.Result {
	result := c.answer.Result()
	result.RawRequest = c.body
	result.TimeToFirstToken = x.first
	if !c.stream {
		result.TimeToFirstToken = 0
	}
	result.Duration = x.duration
	if result.Duration == 0 {
		result.Duration = time.Since(x.start)
	}
	if x.response != nil {
		result.RawResponse = x.client.scrub(x.body.seen.Bytes())
		result.Status = x.response.StatusCode
		result.RequestID = requestID(x.response.Header)
		result.RateLimit = rateLimit(x.response.Header)
	}
	return result
}

func requestID(header http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id", "Apim-Request-Id"} {
		if id := header.Get(name); id != "" {
			return id
		}
	}
	return ""
}

func rateLimit(header http.Header) map[string]string {
	var found map[string]string
	for name := range header {
		lower := strings.ToLower(name)
		if strings.Contains(lower, "ratelimit") || strings.HasPrefix(lower, "retry-after") {
			if found == nil {
				found = map[string]string{}
			}
			found[lower] = header.Get(name)
		}
	}
	return found
}

// bodyReader records a response as it is read, within its limits.
type bodyReader struct {
	exchange *exchange
	body     io.ReadCloser
	seen     bytes.Buffer
	limit    int
	failed   bool // the response is an error, of which the beginning is enough
	lines    bool // the response is a stream, whose lines are limited
	line     int  // the length of the line that is being read
}

func (b *bodyReader) Read(p []byte) (int, error) {
	left := b.limit - b.seen.Len()
	if left <= 0 {
		if b.failed {
			return 0, io.EOF
		}
		return 0, errTooLarge
	}
	// A timer for each read: what the caller does between them takes its own time.
	timer := b.exchange.wait(b.exchange.client.conn.IdleTimeout)
	n, err := b.body.Read(p[:min(len(p), left)])
	timer.Stop()
	b.seen.Write(p[:n])
	if end := bytes.LastIndexByte(p[:n], '\n'); end >= 0 {
		b.line = n - end - 1
	} else {
		b.line += n
	}
	if b.lines && b.line > maxLine {
		return n, errLine
	}
	return n, err
}

func (b *bodyReader) Close() error { return b.body.Close() }
