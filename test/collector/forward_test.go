// Package collector tests the distribution as a collector among others: what it forwards, and the recipes of
// deploy/collector, beside a collector of stock parts and a second backend.
package collector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // the exporter compresses
	"google.golang.org/protobuf/proto"

	"github.com/looptrace/looptrace/test/checkout"
	"github.com/looptrace/looptrace/test/product"
)

const patience = time.Minute

// echo is a backend that hands over each request as it came.
type echo struct{ requests chan proto.Message }

// startEcho returns its address, too.
func startEcho(t *testing.T) (*echo, string) {
	t.Helper()
	e := &echo{requests: make(chan proto.Message, 1)}
	server := grpc.NewServer()
	tracepb.RegisterTraceServiceServer(server, echoTraces{echo: e})
	logspb.RegisterLogsServiceServer(server, echoLogs{echo: e})
	metricspb.RegisterMetricsServiceServer(server, echoMetrics{echo: e})
	return e, serve(t, server, "127.0.0.1:0")
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

type echoTraces struct {
	tracepb.UnimplementedTraceServiceServer
	*echo
}

func (e echoTraces) Export(_ context.Context, request *tracepb.ExportTraceServiceRequest) (*tracepb.ExportTraceServiceResponse, error) {
	e.requests <- request
	return new(tracepb.ExportTraceServiceResponse), nil
}

type echoLogs struct {
	logspb.UnimplementedLogsServiceServer
	*echo
}

func (e echoLogs) Export(_ context.Context, request *logspb.ExportLogsServiceRequest) (*logspb.ExportLogsServiceResponse, error) {
	e.requests <- request
	return new(logspb.ExportLogsServiceResponse), nil
}

type echoMetrics struct {
	metricspb.UnimplementedMetricsServiceServer
	*echo
}

func (e echoMetrics) Export(_ context.Context, request *metricspb.ExportMetricsServiceRequest) (*metricspb.ExportMetricsServiceResponse, error) {
	e.requests <- request
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
	backend, address := startEcho(t)
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
	conn, err := grpc.NewClient(ports.Addr(product.OTLPGRPC), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		for _, signal := range []struct {
			path     string
			request  proto.Message
			response proto.Message
			method   string
			toJSON   func([]byte) ([]byte, error)
		}{
			{"/v1/traces", new(tracepb.ExportTraceServiceRequest), new(tracepb.ExportTraceServiceResponse), "/opentelemetry.proto.collector.trace.v1.TraceService/Export", tracesToJSON},
			{"/v1/logs", new(logspb.ExportLogsServiceRequest), new(logspb.ExportLogsServiceResponse), "/opentelemetry.proto.collector.logs.v1.LogsService/Export", logsToJSON},
			{"/v1/metrics", new(metricspb.ExportMetricsServiceRequest), new(metricspb.ExportMetricsServiceResponse), "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", metricsToJSON},
		} {
			want := generate(random, signal.request)
			body, err := proto.Marshal(want)
			require.NoError(t, err)
			asJSON, err := signal.toJSON(body)
			require.NoError(t, err)
			for way, send := range map[string]func() error{
				"gRPC":          func() error { return conn.Invoke(t.Context(), signal.method, want, signal.response) },
				"HTTP protobuf": func() error { return post(t, ports, signal.path, product.Protobuf, body) },
				"HTTP JSON":     func() error { return post(t, ports, signal.path, product.JSON, asJSON) },
			} {
				require.NoError(t, send(), "%s by %s", signal.path, way)
				got := <-backend.requests
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

func post(t *testing.T, ports product.Ports, path, contentType string, body []byte) error {
	t.Helper()
	answer, err := product.Post(t.Context(), ports.URL(product.Ingest)+path, "", contentType, body)
	if err == nil && answer.Status != http.StatusAccepted {
		err = fmt.Errorf("%d %s", answer.Status, answer.Body)
	}
	return err
}

func tracesToJSON(body []byte) ([]byte, error) {
	request := ptraceotlp.NewExportRequest()
	if err := request.UnmarshalProto(body); err != nil {
		return nil, err
	}
	return request.MarshalJSON()
}

func logsToJSON(body []byte) ([]byte, error) {
	request := plogotlp.NewExportRequest()
	if err := request.UnmarshalProto(body); err != nil {
		return nil, err
	}
	return request.MarshalJSON()
}

func metricsToJSON(body []byte) ([]byte, error) {
	request := pmetricotlp.NewExportRequest()
	if err := request.UnmarshalProto(body); err != nil {
		return nil, err
	}
	return request.MarshalJSON()
}
