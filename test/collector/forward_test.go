// Package collector tests the distribution as a collector among others: what it forwards, and the recipes of
// deploy/collector, beside a collector of stock parts and a second backend.
package collector

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // the exporter compresses
	"google.golang.org/protobuf/proto"

	"github.com/looptrace/looptrace/test/checkout"
	"github.com/looptrace/looptrace/test/product"
)

const patience = time.Minute

// receiver is a backend that hands each request to a function.
type receiver func(proto.Message)

// startReceiver returns its address.
func startReceiver(t *testing.T, receive receiver) string {
	t.Helper()
	server := grpc.NewServer()
	tracepb.RegisterTraceServiceServer(server, receiverOfTraces{receiver: receive})
	logspb.RegisterLogsServiceServer(server, receiverOfLogs{receiver: receive})
	metricspb.RegisterMetricsServiceServer(server, receiverOfMetrics{receiver: receive})
	return serve(t, server, "127.0.0.1:0")
}

// serve serves until the test ends, and returns the address.
func serve(t *testing.T, server *grpc.Server, address string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		assert.NoError(t, <-served)
	})
	return listener.Addr().String()
}

type receiverOfTraces struct {
	tracepb.UnimplementedTraceServiceServer
	receiver
}

func (r receiverOfTraces) Export(_ context.Context, request *tracepb.ExportTraceServiceRequest) (*tracepb.ExportTraceServiceResponse, error) {
	r.receiver(request)
	return new(tracepb.ExportTraceServiceResponse), nil
}

type receiverOfLogs struct {
	logspb.UnimplementedLogsServiceServer
	receiver
}

func (r receiverOfLogs) Export(_ context.Context, request *logspb.ExportLogsServiceRequest) (*logspb.ExportLogsServiceResponse, error) {
	r.receiver(request)
	return new(logspb.ExportLogsServiceResponse), nil
}

type receiverOfMetrics struct {
	metricspb.UnimplementedMetricsServiceServer
	receiver
}

func (r receiverOfMetrics) Export(_ context.Context, request *metricspb.ExportMetricsServiceRequest) (*metricspb.ExportMetricsServiceResponse, error) {
	r.receiver(request)
	return new(metricspb.ExportMetricsServiceResponse), nil
}

// startCollector starts a collector with these flags, on the ports. It writes its log to the test's folder, which a failed
// test prints.
func startCollector(t *testing.T, program string, ports product.Ports, flags []string, env ...string) *product.Child {
	t.Helper()
	root, err := checkout.Root()
	require.NoError(t, err)
	log := filepath.Join(t.TempDir(), "collector.log")
	child, err := product.StartChild(&exec.Cmd{
		Path: filepath.Join(root, "_build", program), Args: append([]string{filepath.Base(program)}, flags...),
		Env: append(append(os.Environ(),
			"INGEST_ADDR="+ports.Addr(product.Ingest), "OTLP_GRPC_ADDR="+ports.Addr(product.OTLPGRPC), "OTLP_HTTP_ADDR="+ports.Addr(product.OTLPHTTP),
		), env...),
	}, "collector", log)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, child.Stop(patience))
		if t.Failed() {
			written, _ := os.ReadFile(log)
			t.Logf("%s", written[max(0, len(written)-8<<10):])
		}
	})
	return child
}

func wait(t *testing.T, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, product.Wait(ctx, condition))
}

// Whatever of the protocol's fields a client sends, in whichever encoding, reaches the next backend.
func TestForwardedUnchanged(t *testing.T) {
	t.Parallel()
	ports, err := product.FreePorts()
	require.NoError(t, err)
	requests := make(chan proto.Message, 1)
	address := startReceiver(t, func(request proto.Message) { requests <- request })
	config, err := filepath.Abs("testdata/forward.yaml")
	require.NoError(t, err)
	collector := startCollector(t, "looptrace-collector", ports, []string{"--config", config}, "FORWARD_ENDPOINT="+address)
	wait(t, func(ctx context.Context) error {
		if err := collector.Ended(); err != nil {
			return product.Permanent(err)
		}
		_, err := product.Do(ctx, http.MethodGet, ports.URL(product.Ingest)+"/healthz", nil, nil)
		return err
	})
	client := newGeneratedClient(t, ports.Addr(product.OTLPGRPC), ports.URL(product.Ingest), "")

	random := newRandom(t)
	for range 20 {
		for _, signal := range signals() {
			want := generate(random, signal.request)
			for _, way := range ways {
				require.NoError(t, client.send(t.Context(), way, signal), "%s by %s", signal.path, way)
				got := <-requests
				if !proto.Equal(want, got) {
					t.Errorf("%s by %s: %s", signal.path, way, firstDifference(fmt.Sprint(want), fmt.Sprint(got)))
				}
			}
		}
	}
}

// firstDifference quotes what is around the first difference of two long texts.
func firstDifference(want, got string) string {
	const around = 150
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, min(len(s), i)-around):min(len(s), i+around)] }
	return fmt.Sprintf("sent …%q…, got …%q…", cut(want), cut(got))
}
