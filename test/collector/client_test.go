package collector

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/looptrace/looptrace/test/product"
)

// mixedClient sends what the rest of a system sends: spans of HTTP requests and database calls, log records and data points. It
// repeats a request until it is acknowledged.
type mixedClient struct {
	ports product.Ports
	key   string

	mu sync.Mutex
	// acknowledged are the ids of all items, spans how many of them are spans.
	acknowledged []string
	spans        int
}

const (
	itemsPerRequest = 100
	// Requests a second of each signal: 4,000 spans, 500 records and 500 data points.
	spanRequests, logRequests, metricRequests = 40, 5, 5
)

// send sends until ctx ends.
func (c *mixedClient) send(ctx context.Context, t *testing.T) {
	t.Helper()
	var sending sync.WaitGroup
	for _, signal := range []struct {
		path      string
		perSecond int
		request   func(ids []string) ([]byte, error)
		isSpan    bool
	}{
		{"/v1/traces", spanRequests, requestOfSpans, true},
		{"/v1/logs", logRequests, requestOfRecords, false},
		{"/v1/metrics", metricRequests, requestOfPoints, false},
	} {
		sending.Go(func() {
			tick := time.NewTicker(time.Second / time.Duration(signal.perSecond))
			defer tick.Stop()
			for ctx.Err() == nil {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				sending.Go(func() {
					ids := make([]string, itemsPerRequest)
					for i := range ids {
						ids[i] = uuid.NewString()
					}
					body, err := signal.request(ids)
					if assert.NoError(t, err) && c.post(ctx, t, signal.path, body) {
						c.mu.Lock()
						defer c.mu.Unlock()
						c.acknowledged = append(c.acknowledged, ids...)
						if signal.isSpan {
							c.spans += len(ids)
						}
					}
				})
			}
		})
	}
	sending.Wait()
}

// acknowledge waits until n more items are acknowledged.
func (c *mixedClient) acknowledge(t *testing.T, n int) {
	t.Helper()
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.acknowledged)
	}
	before := count()
	wait(t, func(context.Context) error {
		if now := count(); now < before+n {
			return fmt.Errorf("%d of %d items are acknowledged", now-before, n)
		}
		return nil
	})
}

// post sends a body until it is acknowledged, and reports whether it was before ctx ended.
func (c *mixedClient) post(ctx context.Context, t *testing.T, path string, body []byte) bool {
	t.Helper()
	for {
		attempt, cancel := context.WithTimeout(ctx, 10*time.Second)
		answer, err := product.Post(attempt, c.ports.URL(product.OTLPHTTP)+path, c.key, product.Protobuf, body)
		cancel()
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil && answer.Status == http.StatusOK:
			return true
		case err == nil && answer.Status < http.StatusInternalServerError && answer.Status != http.StatusTooManyRequests:
			t.Errorf("%s answers %d: %s", path, answer.Status, answer.Body)
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func requestOfSpans(ids []string) ([]byte, error) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("io.opentelemetry.http")
	now := time.Now()
	for i, id := range ids {
		trace := uuid.MustParse(ids[i-i%10]) // ten spans each
		unique := uuid.MustParse(id)
		span := ss.Spans().AppendEmpty()
		span.SetTraceID(pcommon.TraceID(trace))
		span.SetSpanID(pcommon.SpanID(unique[8:]))
		span.SetName("GET /orders/{id}")
		span.SetKind(ptrace.SpanKindServer)
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(now.Add(-time.Second)))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(now))
		span.Attributes().PutStr("http.request.method", "GET")
		span.Attributes().PutStr("url.path", "/orders/4711")
		span.Attributes().PutInt("http.response.status_code", 200)
		span.Attributes().PutStr("id", id)
	}
	return ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
}

func requestOfRecords(ids []string) ([]byte, error) {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, id := range ids {
		record := records.AppendEmpty()
		record.SetTimestamp(pcommon.NewTimestampFromTime(time.Now()))
		record.Body().SetStr("GET /orders/4711 200")
		record.Attributes().PutStr("id", id)
	}
	return plogotlp.NewExportRequestFromLogs(ld).MarshalProto()
}

func requestOfPoints(ids []string) ([]byte, error) {
	md := pmetric.NewMetrics()
	metric := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	metric.SetName("http.server.requests")
	points := metric.SetEmptySum().DataPoints()
	for _, id := range ids {
		point := points.AppendEmpty()
		point.SetTimestamp(pcommon.NewTimestampFromTime(time.Now()))
		point.SetIntValue(1)
		point.Attributes().PutStr("id", id)
	}
	return pmetricotlp.NewExportRequestFromMetrics(md).MarshalProto()
}
