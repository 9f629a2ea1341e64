package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/looptrace/looptrace/test/product"
)

const (
	// One trace of an agent: its spans come from two clients, over a minute. One of them is GenAI.
	agentSpans, agentTime = 400, time.Minute
	// Each request of the others has so many traces of two spans.
	tracesPerRequest = 100
)

// TestMixed stores a trace with one GenAI span among many traces without one, which are dropped after a minute.
func TestMixed(t *testing.T) {
	if os.Getenv("BENCH_MIXED_TRACES") == "" {
		t.Skip("make bench-mixed runs it")
	}
	traces := setting(t, "BENCH_MIXED_TRACES", 0)
	p, err := product.New(t.TempDir())
	require.NoError(t, err)
	p.Env = []string{"DROP_WITHOUT_GENAI_AFTER=1m"}
	t.Cleanup(func() {
		if err := p.Down(); err != nil {
			t.Errorf("stop the product: %v", err)
		}
		if t.Failed() {
			t.Log(p.Logs())
		}
	})
	b := &bench{product: p, report: newReport()}
	t.Cleanup(func() { require.NoError(t, b.report.print(os.Stdout)) })
	require.NoError(t, p.Up(t.Context()))
	b.setUp(t)

	b.use(t, "before")
	begin, agent := time.Now(), uuid.New()
	var sending sync.WaitGroup
	sending.Go(func() { b.sendAgent(t, agent) })
	var sent atomic.Int64
	for range 2 {
		sending.Go(func() {
			for sent.Add(tracesPerRequest) <= int64(traces) {
				answer, err := product.Post(t.Context(), p.Ports.URL(product.OTLPHTTP)+"/v1/traces", b.key, product.Protobuf, plainRequest())
				if err != nil || answer.Status != http.StatusOK {
					t.Errorf("%d %s: %v", answer.Status, answer.Body, err)
					return
				}
			}
		})
	}
	for quarter := 1; quarter < 4; quarter++ {
		b.until(t, func(context.Context) error {
			if now := sent.Load(); now < int64(traces*quarter/4) {
				return fmt.Errorf("%d of %d are sent", now, traces)
			}
			return nil
		})
		b.use(t, fmt.Sprintf("%d %% sent", quarter*25))
	}
	sending.Wait()
	store := p.ClickHouse(t)
	b.until(t, func(ctx context.Context) error {
		var stored uint64 // bounds stay when their trace is dropped
		if err := store.QueryRow(ctx, "SELECT uniqExact(run_id) FROM run_bounds").Scan(&stored); err != nil {
			return err
		}
		if stored < uint64(traces)+1 {
			return fmt.Errorf("%d traces are stored", stored)
		}
		return nil
	})
	b.report.add("time", "all stored", figure{"s", time.Since(begin).Seconds()})
	b.use(t, "all stored")
	b.until(t, func(ctx context.Context) error {
		var left uint64
		if err := store.QueryRow(ctx, "SELECT count() FROM runs FINAL WHERE NOT deleted AND NOT genai").Scan(&left); err != nil {
			return err
		}
		if left > 0 {
			return fmt.Errorf("%d traces are left", left)
		}
		return nil
	})
	b.report.add("time", "all dropped", figure{"s", time.Since(begin).Seconds()})
	b.use(t, "all dropped")

	spans, err := b.reader.Spans(t.Context(), agent.String())
	require.NoError(t, err)
	require.Len(t, spans, agentSpans, "the agent's trace is whole")
}

func (b *bench) until(t *testing.T, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	require.NoError(t, product.Wait(ctx, condition))
}

// use reports memory and processor time of the processes that store.
func (b *bench) use(t *testing.T, when string) {
	t.Helper()
	processes, err := b.product.Processes()
	require.NoError(t, err)
	for _, process := range processes {
		switch process.Name {
		case product.CollectorProcess, product.ClickHouseProcess, product.BrokerProcess:
			usage, err := process.Usage()
			require.NoError(t, err)
			b.report.add("use", process.Name+", "+when, figure{"rss_mb", float64(usage.RSS) / 1e6}, figure{"cpu_s", usage.CPU.Seconds()})
		}
	}
}

// plainRequest has traces of a request and its database call.
func plainRequest() []byte {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	now := time.Now()
	for range tracesPerRequest {
		trace := pcommon.TraceID(uuid.New())
		var root pcommon.SpanID
		for i, name := range []string{"GET /orders/{id}", "SELECT orders"} {
			span := spans.AppendEmpty()
			var id pcommon.SpanID
			binary.NativeEndian.PutUint64(id[:], rand.Uint64()|1)
			span.SetTraceID(trace)
			span.SetSpanID(id)
			span.SetParentSpanID(root)
			root = id
			span.SetName(name)
			span.SetStartTimestamp(pcommon.NewTimestampFromTime(now.Add(time.Duration(i-3) * time.Millisecond)))
			span.SetEndTimestamp(pcommon.NewTimestampFromTime(now))
			span.Attributes().PutStr([]string{"http.request.method", "db.system.name"}[i], "GET")
			span.Attributes().PutStr("server.address", "10.0.0.7")
		}
	}
	body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		panic(err) // it consists of valid parts
	}
	return body
}

// sendAgent sends the agent's trace, span by span, by two clients in turn.
func (b *bench) sendAgent(t *testing.T, agent uuid.UUID) {
	t.Helper()
	conn, err := grpc.NewClient(b.product.Ports.Addr(product.OTLPGRPC), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }() // nothing is pending
	overGRPC := ptraceotlp.NewGRPCClient(conn)
	pace := time.NewTicker(agentTime / agentSpans)
	defer pace.Stop()
	for i := range agentSpans {
		<-pace.C
		td := ptrace.NewTraces()
		span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.SetTraceID(pcommon.TraceID(agent))
		span.SetSpanID(pcommon.SpanID{byte(i >> 8), byte(i), 1})
		span.SetName("step")
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now()))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Now()))
		if i == agentSpans/2 {
			span.Attributes().PutStr("gen_ai.operation.name", "chat")
		}
		request := ptraceotlp.NewExportRequestFromTraces(td)
		if i%2 == 0 {
			_, err = overGRPC.Export(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+b.key), request)
		} else {
			var body []byte
			if body, err = request.MarshalProto(); err == nil {
				var answer product.Answer
				if answer, err = product.Post(t.Context(), b.product.Ports.URL(product.Ingest)+"/v1/traces", b.key, product.Protobuf, body); err == nil && answer.Status != http.StatusAccepted {
					err = fmt.Errorf("%d %s", answer.Status, answer.Body)
				}
			}
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}
