// Package partialsuccess reports that part of a request was rejected. A stock OTLP receiver knows only success and
// failure, so a handler in front of it passes a Report through the context, and the consumer behind it fills it.
package partialsuccess

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
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
	if ok {
		r.Reject(count, message)
	}
	return ok
}

// Reject adds count rejected items, if there are any, and why the first one was.
func (r *Report) Reject(count int64, message string) {
	if count == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == 0 {
		r.message = message
	}
	r.count += count
}

// Warn reports a problem of items that were accepted. OTLP sends it as the message of a partial success that counts
// nothing. A rejection replaces it.
func (r *Report) Warn(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.message == "" {
		r.message = message
	}
}

// Rejected returns how many items were rejected, and why the first one was, or else what is wrong with the others.
func (r *Report) Rejected() (count int64, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.message
}

// Told remembers which clients were told something, so that each is told once an hour: SDKs log every partial success.
// The zero value has told nobody.
type Told struct {
	mu sync.Mutex
	at map[string]time.Time
}

const (
	tellAgain = time.Hour
	// maxTold limits the memory. Beyond it all clients are told again.
	maxTold = 10_000
)

// First reports whether the client at this address, which may be unknown, must be told. It then counts as told.
func (t *Told) First(client net.Addr) bool {
	name := ""
	if client != nil {
		name = client.String()
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.at[name]; ok && now.Sub(at) < tellAgain {
		return false
	}
	if t.at == nil || len(t.at) >= maxTold {
		t.at = make(map[string]time.Time)
	}
	t.at[name] = now
	return true
}

// MarshalProto returns the response to a partly accepted request. It is the same for traces, logs and metrics.
func MarshalProto(rejected int64, message string) []byte {
	var partial []byte
	if rejected != 0 {
		partial = protowire.AppendTag(partial, 1, protowire.VarintType)
		partial = protowire.AppendVarint(partial, uint64(rejected))
	}
	partial = protowire.AppendTag(partial, 2, protowire.BytesType)
	partial = protowire.AppendString(partial, message)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
}

// MarshalJSON returns the same in JSON. countName is the signal's name of the count: rejectedSpans, rejectedLogRecords or
// rejectedDataPoints.
func MarshalJSON(countName string, rejected int64, message string) []byte {
	count := ""
	if rejected != 0 {
		count = fmt.Sprintf(`"%s":"%d",`, countName, rejected) // protobuf's JSON writes 64 bits as a string
	}
	text, err := json.Marshal(message)
	if err != nil {
		panic(err) // a string always marshals
	}
	return fmt.Appendf(nil, `{"partialSuccess":{%s"errorMessage":%s}}`, count, text)
}
