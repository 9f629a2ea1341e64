package ratelimitextension

import (
	"bytes"
	"context"
	"net"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // the server accepts it
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/looptrace/looptrace/internal/partialsuccess"
)

// TestGRPCBombs sends messages that are small on the wire and large when decoded, without a credential.
func TestGRPCBombs(t *testing.T) { // it measures what the process allocates
	conn := openServer(t)
	const (
		traces = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
		logs   = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
		points = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
	)
	attribute := field(1, field(1, []byte("a"))) // of a resource
	deep := []byte(nil)
	for range 1000 {
		deep = field(5, field(1, deep)) // a list in a list
	}
	for _, tt := range []struct {
		name, method string
		body         []byte
		want         string
	}{
		{"spans", traces, field(1, field(2, bytes.Repeat(field(2, nil), 4_000_000))), "takes more than 64 MiB when it is decoded"},
		{"records", logs, field(1, field(2, bytes.Repeat(field(2, nil), 4_000_000))), "takes more than 64 MiB when it is decoded"},
		{"attributes", traces, field(1, field(1, bytes.Repeat(attribute, 1_400_000))), "takes more than 64 MiB when it is decoded"},
		{"depth of an attribute", traces, field(1, field(1, field(1, field(2, deep)))), "nests deeper than 200 levels"},
		{"depth of a body", logs, field(1, field(2, field(2, field(5, deep)))), "nests deeper than 200 levels"},
		{"data points", points, field(1, field(2, field(2, field(5, bytes.Repeat(field(1, nil), 4_000_000))))), "takes more than 64 MiB when it is decoded"},
		{"buckets", points, field(1, field(2, field(2, field(10, field(1, field(8, field(2, make([]byte, 12_000_000)))))))), "takes more than 64 MiB when it is decoded"},
		{"depth of a metric's attribute", points, field(1, field(2, field(2, field(12, field(2, deep))))), "nests deeper than 200 levels"},
		{"no protobuf", traces, []byte("no protobuf"), "proto"},
		{"spans that are few", traces, field(1, field(2, bytes.Repeat(field(2, nil), 10_000))), ""},
		{"records that are few", logs, field(1, field(2, bytes.Repeat(field(2, nil), 10_000))), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := allocated()
			err := conn.Invoke(t.Context(), tt.method, tt.body, &[]byte{}, grpc.ForceCodecV2(asItIs{}), grpc.UseCompressor("gzip"))
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			assert.Equal(t, codes.Internal, status.Code(err))
			require.ErrorContains(t, err, tt.want)
			assert.Less(t, allocated()-before, uint64(8*len(tt.body)+16<<20))
		})
	}
}

// A client learns what was not accepted of its request. If everything was, partial_success is unset.
func TestGRPCPartialSuccess(t *testing.T) {
	t.Parallel()
	conn := openServer(t)
	traces := ptrace.NewTraces()
	traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	answer, err := ptraceotlp.NewGRPCClient(conn).Export(t.Context(), ptraceotlp.NewExportRequestFromTraces(traces))
	require.NoError(t, err)
	assert.EqualValues(t, 1, answer.PartialSuccess().RejectedSpans())
	assert.Equal(t, "a span, anywhere", answer.PartialSuccess().ErrorMessage())

	for _, method := range []string{"trace.v1.TraceService", "logs.v1.LogsService", "metrics.v1.MetricsService"} {
		answer := []byte("nothing yet")
		require.NoError(t, conn.Invoke(t.Context(), "/opentelemetry.proto.collector."+method+"/Export", []byte{}, &answer, grpc.ForceCodecV2(asItIs{})))
		assert.Empty(t, answer, method)
	}
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// field encodes a field of a message that contains a message.
func field(number protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), message)
}

// asItIs is a codec for encoded messages.
type asItIs struct{}

func (asItIs) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (asItIs) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func (asItIs) Name() string { return "proto" }

type takesTraces struct {
	*ptraceotlp.UnimplementedGRPCServer
}

// Export accepts all but one span.
func (takesTraces) Export(ctx context.Context, r ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	if r.Traces().SpanCount() == 1 {
		partialsuccess.Reject(ctx, 1, "a span, anywhere")
	}
	return ptraceotlp.NewExportResponse(), nil
}

type takesMetrics struct {
	*pmetricotlp.UnimplementedGRPCServer
}

func (takesMetrics) Export(context.Context, pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	return pmetricotlp.NewExportResponse(), nil
}

type takesLogs struct {
	*plogotlp.UnimplementedGRPCServer
}

func (takesLogs) Export(context.Context, plogotlp.ExportRequest) (plogotlp.ExportResponse, error) {
	return plogotlp.NewExportResponse(), nil
}

// openServer connects to a server that accepts everything, with a limiter without limits.
func openServer(t *testing.T) *grpc.ClientConn {
	t.Helper()
	options, err := start(t, nil, func(*Config) {}).GetGRPCServerOptions(t.Context())
	require.NoError(t, err)
	server := grpc.NewServer(append(options, grpc.MaxRecvMsgSize(16<<20))...)
	ptraceotlp.RegisterGRPCServer(server, &takesTraces{})
	plogotlp.RegisterGRPCServer(server, &takesLogs{})
	pmetricotlp.RegisterGRPCServer(server, &takesMetrics{})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, conn.Close())
		server.Stop()
		assert.NoError(t, <-served)
	})
	return conn
}
