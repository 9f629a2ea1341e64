package collector

import (
	"context"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
)

// backend is the other destination. It notes the identity of every item.
type backend struct {
	address string

	mu sync.Mutex
	// runs are the spans of each trace, others the log records, data points and spans that a mixed client sends, by their
	// attribute "id".
	runs   map[pcommon.TraceID]map[pcommon.SpanID]bool
	others map[string]bool
}

func startBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{runs: map[pcommon.TraceID]map[pcommon.SpanID]bool{}, others: map[string]bool{}}
	server := grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(server, &backendTraces{backend: b})
	plogotlp.RegisterGRPCServer(server, &backendLogs{backend: b})
	pmetricotlp.RegisterGRPCServer(server, &backendMetrics{backend: b})
	b.address = serve(t, server, "127.0.0.1:0")
	return b
}

func (b *backend) note(attributes pcommon.Map) {
	if id, ok := attributes.Get("id"); ok {
		b.others[id.Str()] = true
	}
}

// missing returns how many of the ids, and of the spans of runs, have not come.
func (b *backend) missing(ids []string, runs map[pcommon.TraceID]int64) (others, spans int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if !b.others[id] {
			others++
		}
	}
	for run, n := range runs {
		spans += max(0, n-int64(len(b.runs[run])))
	}
	return others, spans
}

type backendTraces struct {
	*ptraceotlp.UnimplementedGRPCServer
	*backend
}

func (b backendTraces) Export(_ context.Context, request ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rs := range request.Traces().ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				b.note(span.Attributes())
				if b.runs[span.TraceID()] == nil {
					b.runs[span.TraceID()] = map[pcommon.SpanID]bool{}
				}
				b.runs[span.TraceID()][span.SpanID()] = true
			}
		}
	}
	return ptraceotlp.NewExportResponse(), nil
}

type backendLogs struct {
	*plogotlp.UnimplementedGRPCServer
	*backend
}

func (b backendLogs) Export(_ context.Context, request plogotlp.ExportRequest) (plogotlp.ExportResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rl := range request.Logs().ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				b.note(record.Attributes())
			}
		}
	}
	return plogotlp.NewExportResponse(), nil
}

type backendMetrics struct {
	*pmetricotlp.UnimplementedGRPCServer
	*backend
}

func (b backendMetrics) Export(_ context.Context, request pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rm := range request.Metrics().ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, metric := range sm.Metrics().All() {
				for _, point := range metric.Sum().DataPoints().All() {
					b.note(point.Attributes())
				}
			}
		}
	}
	return pmetricotlp.NewExportResponse(), nil
}
