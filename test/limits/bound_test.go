package limits

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/test/product"
)

const (
	// rate and burst are the limited project's, in spans.
	rate  = 1000.0
	burst = 3000.0
	// demand is the load of all clients together, as a multiple of the rate.
	demand = 3.0

	spansInRequest = 20
	// inFlight limits the unanswered requests of one client.
	inFlight = 4
	// settleTime is when the burst is spent: from then on the accepted rate is the limit's.
	settleTime = 6 * time.Second
	// neighbourEvery is how often the other tenant sends, to each process.
	neighbourEvery = 50 * time.Millisecond
	// lookEvery is how often the test checks whether the processes know of each other.
	lookEvery = 200 * time.Millisecond
)

// sent is a request and its answer.
type sent struct {
	began, ended time.Duration
	accepted     bool
}

// endpoint sends a request and reports whether it was accepted. Any other answer than success or a well-formed
// refusal is an error.
type endpoint func(ctx context.Context, key apikey.Key) (accepted bool, err error)

// endpoints returns a different endpoint of each process.
func (s *site) endpoints(t *testing.T) [replicas]endpoint {
	t.Helper()
	connection, err := grpc.NewClient(s.ports[2].Addr(product.OTLPGRPC), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return [replicas]endpoint{
		overHTTP(s.ports[0].URL(product.Ingest)+"/v1/traces", http.StatusAccepted),
		overHTTP(s.ports[1].URL(product.OTLPHTTP)+"/v1/traces", http.StatusOK),
		overGRPC(ptraceotlp.NewGRPCClient(connection)),
	}
}

func overHTTP(url string, success int) endpoint {
	return func(ctx context.Context, key apikey.Key) (bool, error) {
		body, err := newRequest().MarshalProto()
		if err != nil {
			return false, err
		}
		answer, err := product.Post(ctx, url, key.Reveal(), product.Protobuf, body)
		if err != nil {
			return false, err
		}
		if _, err := strconv.Atoi(answer.Header.Get("RateLimit-Remaining")); err != nil {
			return false, fmt.Errorf("%d without RateLimit-Remaining: %w", answer.Status, err)
		}
		switch answer.Status {
		case success:
			return true, nil
		case http.StatusTooManyRequests:
			seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
			if err != nil || seconds < 1 {
				return false, fmt.Errorf("429 with Retry-After %q", answer.Header.Get("Retry-After"))
			}
			return false, nil
		default:
			return false, fmt.Errorf("%d: %s", answer.Status, bytes.ToValidUTF8(answer.Body, []byte("?")))
		}
	}
}

func overGRPC(client ptraceotlp.GRPCClient) endpoint {
	return func(ctx context.Context, key apikey.Key) (bool, error) {
		_, err := client.Export(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key.Reveal()), newRequest())
		if err == nil {
			return true, nil
		}
		answer := status.Convert(err)
		if answer.Code() != codes.ResourceExhausted {
			return false, err
		}
		for _, detail := range answer.Details() {
			if info, ok := detail.(*errdetails.RetryInfo); ok && info.GetRetryDelay().AsDuration() >= time.Second {
				return false, nil
			}
		}
		return false, fmt.Errorf("without RetryInfo: %w", err)
	}
}

func newRequest() ptraceotlp.ExportRequest {
	traces := ptrace.NewTraces()
	spans := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	var trace pcommon.TraceID
	binary.NativeEndian.PutUint64(trace[:], rand.Uint64())
	now := pcommon.NewTimestampFromTime(time.Now())
	for i := range spansInRequest {
		span := spans.AppendEmpty()
		span.SetTraceID(trace)
		span.SetSpanID(pcommon.SpanID{byte(i + 1)})
		span.SetName("limits")
		span.SetStartTimestamp(now)
		span.SetEndTimestamp(now)
	}
	return ptraceotlp.NewExportRequestFromTraces(traces)
}

// client sends at a steady rate, whatever the answers, until the context ends.
type client struct {
	send  endpoint
	key   apikey.Key
	every time.Duration

	mu       sync.Mutex
	requests []sent
	errs     []error
}

func (c *client) run(ctx context.Context, start time.Time) {
	places := make(chan struct{}, inFlight)
	var sending sync.WaitGroup
	defer sending.Wait()
	ticker := time.NewTicker(c.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		select {
		case <-ctx.Done():
			return
		case places <- struct{}{}:
		}
		sending.Go(func() {
			defer func() { <-places }()
			r := sent{began: time.Since(start)}
			var err error
			// A request in progress is not cancelled, because its result would be unknown.
			r.accepted, err = c.send(context.WithoutCancel(ctx), c.key)
			r.ended = time.Since(start)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.requests = append(c.requests, r)
			if err != nil {
				c.errs = append(c.errs, err)
			}
		})
	}
}

// drive runs clients concurrently.
func drive(ctx context.Context, length time.Duration, clients ...*client) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	start := time.Now()
	var running sync.WaitGroup
	for _, c := range clients {
		running.Go(func() { c.run(ctx, start) })
	}
	running.Wait()
}

// testBound offers three times the limit to all processes, to a different endpoint of each.
func (s *site) testBound(t *testing.T) {
	limited, other := s.mint(t, s.limited), s.mint(t, s.other)
	length := length(t)
	var clients, alone, beside []*client
	for _, send := range s.endpoints(t) {
		clients = append(clients, &client{send: send, key: limited, every: pace(demand * rate / replicas)})
		alone = append(alone, &client{send: send, key: other, every: neighbourEvery})
		beside = append(beside, &client{send: send, key: other, every: neighbourEvery})
	}
	drive(t.Context(), settleTime/2, alone...)
	unknown := s.watchSharing(t.Context())
	drive(t.Context(), length, append(clients, beside...)...)
	blind := unknown()

	var accepted []sent
	offered, longRun := 0, 0
	for i, c := range clients {
		assert.Empty(t, c.errs, "process %d", i)
		offered += len(c.requests)
		for _, r := range c.requests {
			if !r.accepted {
				continue
			}
			accepted = append(accepted, r)
			if r.ended > settleTime && r.ended <= length {
				longRun += spansInRequest
			}
		}
	}
	const n = float64(replicas)
	g := burst/n + rate*ratelimit.Staleness.Seconds()
	bound := burst + (n-1)*g + n*inFlight*spansInRequest
	if blind != nil {
		bound += (n - 1) / n * burst // the shares of the replicas
	}
	worst := excess(accepted)
	share := float64(longRun) / (rate * (length - settleTime).Seconds())
	t.Logf("offered %.2f times the rate; worst window %.0f spans beyond rate times its length, bound %.0f; long-run rate %.2f %%",
		float64(offered*spansInRequest)/(rate*length.Seconds()), worst, bound, 100*share)
	assert.Greater(t, offered, len(accepted), "something is refused")
	assert.LessOrEqual(t, worst, bound)
	assert.LessOrEqual(t, share, 1.03, "long-run rate")
	if blind == nil {
		assert.GreaterOrEqual(t, share, 0.97, "long-run rate")
	} else {
		// Then each admits its share, and what it does not use is lost.
		t.Logf("the machine was too slow for the processes to know of each other in time, so that less than the rate is no fault: %v", blind)
	}

	for i, c := range append(alone, beside...) {
		assert.Empty(t, c.errs, "the other tenant, %d", i)
		for _, r := range c.requests {
			assert.True(t, r.accepted, "the other tenant is refused after %s", r.ended)
		}
	}
	t.Logf("the other tenant's p99: %s alone, %s beside the load", p99(alone), p99(beside))
}

// watchSharing checks whether every process knows in time what the others admit. The returned function ends this, and
// returns the last failures.
func (s *site) watchSharing(ctx context.Context) func() error {
	ctx, cancel := context.WithCancel(ctx)
	var (
		watching sync.WaitGroup
		blind    [replicas]error
	)
	for i := range replicas {
		watching.Go(func() {
			ticker := time.NewTicker(lookEvery)
			defer ticker.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
				if err := s.sharing(ctx, i); err != nil && ctx.Err() == nil {
					blind[i] = fmt.Errorf("process %d: %w", i, err)
				}
			}
		})
	}
	return func() error {
		cancel()
		watching.Wait()
		return errors.Join(blind[:]...)
	}
}

// pace returns the time between requests for a rate in spans per second.
func pace(spansPerSecond float64) time.Duration {
	return time.Duration(float64(time.Second) * spansInRequest / spansPerSecond)
}

// excess returns the maximum that any window accepted beyond the rate times its length, in spans. A request was
// admitted at an unknown time between its sending and its answer, so it counts if that period is within the window.
func excess(accepted []sent) float64 {
	slices.SortFunc(accepted, func(a, b sent) int { return cmp.Compare(a.ended, b.ended) })
	worst := 0.0
	for _, first := range accepted {
		spans := 0.0
		for _, r := range accepted {
			if r.began < first.began {
				continue
			}
			spans += spansInRequest
			worst = max(worst, spans-rate*(r.ended-first.began).Seconds())
		}
	}
	return worst
}

// p99 returns the 99th percentile of the time from sending to answer.
func p99(clients []*client) time.Duration {
	var times []time.Duration
	for _, c := range clients {
		for _, r := range c.requests {
			times = append(times, r.ended-r.began)
		}
	}
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[len(times)*99/100].Round(100 * time.Microsecond)
}
