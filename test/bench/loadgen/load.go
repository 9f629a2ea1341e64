package loadgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// Connections is the number of concurrent connections, each in a closed loop: the next request is sent when the last
// one is answered.
const Connections = 8

// answerTime limits one request.
const answerTime = 30 * time.Second

// Load is a kind of request. It never repeats an id, however often it is sent.
type Load struct {
	Name      string
	ids       identify
	templates []*template
	numbers   atomic.Uint64
	// begun is when the load was created, and noon the last noon before it.
	begun, noon time.Time
}

func newLoad(name string, ids identify) *Load {
	begun := time.Now()
	// Truncate counts days in UTC, from midnight to midnight.
	noon := begun.Add(-12 * time.Hour).Truncate(24 * time.Hour).Add(12 * time.Hour)
	return &Load{Name: name, ids: ids, begun: begun, noon: noon}
}

// now returns the time as if the load had been created at noon, UTC. Tables are partitioned by day and hour: around
// midnight the same spans would take a fifth more bytes than at noon.
func (l *Load) now() time.Time { return l.noon.Add(time.Since(l.begun)) }

// Target is where a load is sent.
type Target struct {
	URL    string
	Header http.Header
}

// Sent is the result of sending requests.
type Sent struct {
	// Spans, Traces and Bytes count what was accepted.
	Spans, Traces, Bytes int
	// Elapsed is the time from the first request to the last answer.
	Elapsed time.Duration
	// Answers are the times to each acceptance, in ascending order.
	Answers []time.Duration
	// Refused counts other answers and errors.
	Refused map[string]int
}

// Quantile returns a quantile of the times to acceptance. q is between 0 and 1.
func (s *Sent) Quantile(q float64) time.Duration {
	if len(s.Answers) == 0 {
		return 0
	}
	return s.Answers[int(q*float64(len(s.Answers)-1))]
}

func (s *Sent) add(other Sent) {
	s.Spans, s.Traces, s.Bytes = s.Spans+other.Spans, s.Traces+other.Traces, s.Bytes+other.Bytes
	s.Answers = append(s.Answers, other.Answers...)
	for answer, count := range other.Refused {
		s.Refused[answer] += count
	}
}

// Send sends until at least so many spans are accepted, or ctx ends, and waits for the requests in progress.
func (l *Load) Send(ctx context.Context, target Target, spans int) Sent {
	client := &http.Client{
		Timeout:   answerTime,
		Transport: &http.Transport{MaxIdleConnsPerHost: Connections, DisableCompression: true, WriteBufferSize: 64 << 10},
	}
	defer client.CloseIdleConnections()
	var (
		total   = Sent{Refused: map[string]int{}}
		mu      sync.Mutex
		sending sync.WaitGroup
		claimed atomic.Int64
	)
	begin := time.Now()
	for connection := range Connections {
		sending.Go(func() {
			sent := l.sendOn(ctx, client, target, connection, &claimed, int64(spans))
			mu.Lock()
			defer mu.Unlock()
			total.add(sent)
		})
	}
	sending.Wait()
	total.Elapsed = time.Since(begin)
	slices.Sort(total.Answers)
	return total
}

// Make returns requests of at least so many spans, as they would be sent.
func (l *Load) Make(spans int) ([]ptrace.Traces, error) {
	var requests []ptrace.Traces
	for n, made := 0, 0; made < spans; n++ {
		s := l.templates[n%len(l.templates)]
		request := ptraceotlp.NewExportRequest()
		if err := request.UnmarshalProto(s.fill(l.ids, l.numbers.Add(1)-1, l.now())); err != nil {
			return nil, fmt.Errorf("decode a request: %w", err)
		}
		requests = append(requests, request.Traces())
		made += len(s.spans)
	}
	return requests, nil
}

// sendOn sends on one connection. claimed counts what all connections have sent without being refused.
func (l *Load) sendOn(ctx context.Context, client *http.Client, target Target, connection int, claimed *atomic.Int64, spans int64) Sent {
	sent := Sent{Refused: map[string]int{}}
	for n := connection; ctx.Err() == nil; n += Connections {
		// A template belongs to one connection, which modifies it: their number is a multiple of the connections'.
		s := l.templates[n%len(l.templates)]
		size := int64(len(s.spans))
		if claimed.Add(size)-size >= spans {
			claimed.Add(-size)
			return sent
		}
		body := s.fill(l.ids, l.numbers.Add(1)-1, l.now())
		begin := time.Now()
		if err := post(context.WithoutCancel(ctx), client, target, body); err != nil {
			claimed.Add(-size)
			sent.Refused[err.Error()]++
			continue
		}
		sent.Answers = append(sent.Answers, time.Since(begin))
		sent.Spans, sent.Traces, sent.Bytes = sent.Spans+len(s.spans), sent.Traces+len(s.traces), sent.Bytes+len(body)
	}
	return sent
}

// post sends one request. Any answer but 2xx is an error.
func post(ctx context.Context, client *http.Client, target Target, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	if target.Header != nil {
		request.Header = target.Header.Clone()
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	answer, err := client.Do(request)
	if err != nil {
		return errors.Unwrap(err) // its address differs from request to request
	}
	defer func() { _ = answer.Body.Close() }() // it was read, or its error is returned
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer.StatusCode/100 != 2 {
		return errors.New(answer.Status)
	}
	return nil
}
