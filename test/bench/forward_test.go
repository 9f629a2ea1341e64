package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // the exporter compresses

	"github.com/looptrace/looptrace/test/checkout"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/product/load"
)

// counting is a backend that only counts.
type counting struct {
	*ptraceotlp.UnimplementedGRPCServer
	spans atomic.Int64
}

func (c *counting) Export(_ context.Context, request ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	c.spans.Add(int64(request.Traces().SpanCount()))
	return ptraceotlp.NewExportResponse(), nil
}

// TestForward receives traces and forwards them to a backend through a queue on disk, with our receiver and with the stock one
// in turn.
func TestForward(t *testing.T) {
	if os.Getenv("BENCH_FORWARD_SECONDS") == "" {
		t.Skip("make bench-forward runs it")
	}
	duration := time.Duration(setting(t, "BENCH_FORWARD_SECONDS", 0)) * time.Second
	const rounds = 3
	report := newReport()
	t.Cleanup(func() { require.NoError(t, report.print(os.Stdout)) })
	rates, costs := map[string][]float64{}, map[string][]float64{}
	for range rounds {
		for _, receiver := range []string{"ours", "stock"} {
			rate, cost := forward(t, receiver, duration)
			rates[receiver], costs[receiver] = append(rates[receiver], rate), append(costs[receiver], cost)
		}
	}
	for _, receiver := range []string{"ours", "stock"} {
		slices.Sort(rates[receiver])
		slices.Sort(costs[receiver])
		report.add("receive and forward", receiver, figure{"spans_per_s", rates[receiver][rounds/2]}, figure{"cpu_s_per_million", costs[receiver][rounds/2]})
	}
	report.add("ratio in hundredths", "ours / stock", figure{"spans_per_s", 100 * rates["ours"][rounds/2] / rates["stock"][rounds/2]},
		figure{"cpu_s_per_million", 100 * costs["ours"][rounds/2] / costs["stock"][rounds/2]})
}

// forward returns how many spans a second reach the backend, and the processor time that a million takes.
func forward(t *testing.T, receiver string, duration time.Duration) (rate, cost float64) {
	t.Helper()
	root, err := checkout.Root()
	require.NoError(t, err)
	ports, err := product.FreePorts()
	require.NoError(t, err)
	backend, server := &counting{}, grpc.NewServer(grpc.MaxRecvMsgSize(64<<20))
	ptraceotlp.RegisterGRPCServer(server, backend)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		require.NoError(t, <-served)
	}()
	collector, err := product.StartChild(&exec.Cmd{
		Path: filepath.Join(root, "_build", "looptrace-collector"),
		Args: []string{"looptrace-collector", "--config", filepath.Join(root, "test", "bench", "forward", receiver+".yaml")},
		Env: append(os.Environ(), "OTLP_HTTP_ADDR="+ports.Addr(product.OTLPHTTP), "FORWARD_ENDPOINT="+listener.Addr().String(),
			"COLLECTOR_DATA="+t.TempDir(), "GOMEMLIMIT=512MiB", "GOGC=200"),
	}, receiver, filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer func() { require.NoError(t, collector.Stop(time.Minute)) }()
	ready, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, product.Wait(ready, func(ctx context.Context) error {
		if err := collector.Ended(); err != nil {
			return product.Permanent(err)
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", ports.Addr(product.OTLPHTTP))
		if err == nil {
			err = conn.Close()
		}
		return err
	}))

	flood := load.Flood{Ports: ports, Endpoint: load.OTLPProtobuf, Connections: 4, RunsPerRequest: 10, SpansPerRun: 10}
	begin := time.Now()
	sending, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	runs, failures := flood.Send(sending)
	require.Empty(t, failures)
	sent := int64(len(runs) * flood.SpansPerRun)
	drained, cancelDrain := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancelDrain()
	require.NoError(t, product.Wait(drained, func(context.Context) error {
		if got := backend.spans.Load(); got < sent {
			return fmt.Errorf("the backend has %d of %d spans", got, sent)
		}
		return nil
	}))
	elapsed := time.Since(begin).Seconds()
	usage, err := collector.Process().Usage()
	require.NoError(t, err)
	return float64(sent) / elapsed, usage.CPU.Seconds() / float64(sent) * 1e6
}
