package ratelimitextension

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configmiddleware"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/looptrace/looptrace/components/ratelimitextension/internal/metadatatest"
	"github.com/looptrace/looptrace/internal/partialsuccess"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/test/freeport"
)

var update = flag.Bool("update", false, "write the golden files anew")

// authData is an authenticator's auth data.
type authData map[string]any

func (d authData) GetAttribute(name string) any { return d[name] }

func (authData) GetAttributeNames() []string { return nil }

// authenticator takes the ids of project and key from the credential.
type authenticator struct {
	component.StartFunc
	component.ShutdownFunc
	limits map[string]float64
}

func (a *authenticator) Authenticate(ctx context.Context, headers map[string][]string) (context.Context, error) {
	values := headers["X-Api-Key"]
	if values == nil {
		values = headers["x-api-key"]
	}
	if values == nil {
		return ctx, nil
	}
	project, key, _ := strings.Cut(values[0], "/")
	return as(ctx, project, key, a.limits), nil
}

func as(ctx context.Context, project, key string, limits map[string]float64) context.Context {
	info := client.FromContext(ctx)
	auth := authData{attributeProjectID: project, attributeKeyID: key}
	if limits != nil {
		auth[attributeLimits] = limits
	}
	info.Auth = auth
	return client.NewContext(ctx, info)
}

// patience is how long a test waits for an expected event.
const patience = time.Minute

// slowly is a limit that does not refill during a test: its reported refill time is the maximum.
func slowly(burst float64) LimitConfig { return LimitConfig{Rate: 1e-6, Burst: burst} }

func start(tb testing.TB, set *extension.Settings, change func(*Config)) *rateLimit {
	tb.Helper()
	if set == nil {
		s := extensiontest.NewNopSettings(NewFactory().Type())
		set = &s
	}
	cfg := createDefaultConfig().(*Config)
	change(cfg)
	l, err := newExtension(*set, cfg)
	require.NoError(tb, err)
	l.jitter = func(int64) int64 { return 0 }
	require.NoError(tb, l.Start(tb.Context(), componenttest.NewNopHost()))
	tb.Cleanup(func() { require.NoError(tb, l.Shutdown(context.Background())) })
	return l
}

var (
	authID  = component.MustNewID("auth")
	limitID = component.MustNewID("ratelimit")
)

func hostOf(l *rateLimit, limits map[string]float64) map[component.ID]component.Component {
	return map[component.ID]component.Component{authID: &authenticator{limits: limits}, limitID: l}
}

func openHTTP(t *testing.T, l *rateLimit, limits map[string]float64, handler http.HandlerFunc) string {
	t.Helper()
	cfg := confighttp.NewDefaultServerConfig()
	cfg.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: authID}})
	cfg.Middlewares = []configmiddleware.Config{{ID: limitID}}
	server, err := cfg.ToServer(t.Context(), hostOf(l, limits), componenttest.NewNopTelemetrySettings(), handler)
	require.NoError(t, err)
	listening := httptest.NewUnstartedServer(nil)
	listening.Config = server
	listening.Start()
	t.Cleanup(listening.Close)
	return listening.URL
}

// sink reads everything and reports no spans.
func sink(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusAccepted)
}

// reply is a complete response.
type reply struct {
	status string
	code   int
	header http.Header
	body   []byte
}

func post(t *testing.T, url, contentType, credential string, body io.Reader) *reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	require.NoError(t, err)
	req.Header.Set("Content-Type", contentType)
	if credential != "" {
		req.Header.Set("X-Api-Key", credential)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return &reply{status: resp.Status, code: resp.StatusCode, header: resp.Header, body: got}
}

func TestHTTPAnswers(t *testing.T) {
	t.Parallel()
	const otherStatus = http.StatusServiceUnavailable
	tests := []struct {
		name, path, contentType, credential string
		config                              func(*Config)
		limits                              map[string]float64
		// before is how many requests are admitted first: one more than the burst, because the bucket is not empty when
		// the last one arrives, and is in debt afterwards.
		before int
	}{
		{name: "runs_passed", path: "/v1/runs", contentType: typeJSON, credential: "p/k"},
		{name: "runs_refused", path: "/v1/runs", contentType: typeJSON, credential: "p/k", before: 3},
		{name: "traces_passed", path: "/v1/traces", contentType: typeProtobuf, credential: "p/k"},
		{name: "traces_refused_protobuf", path: "/v1/traces", contentType: typeProtobuf, credential: "p/k", before: 3},
		{name: "traces_refused_json", path: "/v1/traces", contentType: typeJSON + "; charset=utf-8", credential: "p/k", before: 3},
		{name: "traces_refused_no_type", path: "/v1/traces", credential: "p/k", before: 3},
		{
			name: "traces_refused_503", path: "/v1/traces", contentType: typeJSON, credential: "p/k", before: 3,
			config: func(cfg *Config) { cfg.OTLPStatus = otherStatus },
		},
		{
			name: "runs_refused_429_all_the_same", path: "/v1/runs", contentType: typeJSON, credential: "p/k", before: 3,
			config: func(cfg *Config) { cfg.OTLPStatus = otherStatus },
		},
		{
			name: "runs_refused_key", path: "/v1/runs", contentType: typeJSON, credential: "p/k", before: 2,
			config: func(cfg *Config) { cfg.Key.Requests = slowly(1) },
		},
		{
			name: "runs_refused_bytes", path: "/v1/runs", contentType: typeJSON, credential: "p/k", before: 2,
			config: func(cfg *Config) { cfg.Project.Bytes = slowly(2) },
		},
		{
			name: "runs_override", path: "/v1/runs", contentType: typeJSON, credential: "p/k", before: 3,
			limits: map[string]float64{"project_requests_burst": 10},
		},
		{
			name: "runs_unlimited", path: "/v1/runs", contentType: typeJSON, credential: "p/k", before: 3,
			config: func(cfg *Config) { cfg.Project.Requests = LimitConfig{} },
		},
		{name: "runs_nobody", path: "/v1/runs", contentType: typeJSON, before: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := start(t, nil, func(cfg *Config) {
				cfg.Project.Requests = slowly(2)
				if tt.config != nil {
					tt.config(cfg)
				}
			})
			url := openHTTP(t, l, tt.limits, sink) + tt.path
			for range tt.before {
				resp := post(t, url, tt.contentType, tt.credential, strings.NewReader("{}"))
				require.Equal(t, http.StatusAccepted, resp.code)
			}
			resp := post(t, url, tt.contentType, tt.credential, strings.NewReader("{}"))

			var got bytes.Buffer
			fmt.Fprintln(&got, resp.status)
			for _, name := range []string{"Content-Type", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"} {
				if value := resp.header.Get(name); value != "" {
					fmt.Fprintf(&got, "%s: %s\n", name, value)
				}
			}
			if resp.header.Get("Content-Type") == typeProtobuf {
				fmt.Fprintf(&got, "\n%q\n", resp.body)
			} else {
				fmt.Fprintf(&got, "\n%s\n", bytes.TrimSpace(resp.body))
			}
			compareGolden(t, filepath.Join("testdata", "http", tt.name+".golden"), got.Bytes())
		})
	}
}

func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update")
	assert.Equal(t, string(want), string(got))
}

// Bytes of unknown number are charged as they are read, decompressed like the receiver reads them.
func TestBytesOfUnknownLength(t *testing.T) {
	t.Parallel()
	l := start(t, nil, func(cfg *Config) { cfg.Project.Bytes = slowly(1 << 20) })
	midway := make(chan float64, 1)
	url := openHTTP(t, l, nil, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, chargeEvery)
		midway <- remaining(r.Context(), l)
		sink(w, r)
	})
	const size = 3*chargeEvery + 1000
	body := struct{ io.Reader }{bytes.NewReader(make([]byte, size))}
	resp := post(t, url, typeJSON, "p/k", body)
	assert.Equal(t, http.StatusAccepted, resp.code)
	assert.InDelta(t, 1<<20-chargeEvery, <-midway, 32<<10)
	assert.InDelta(t, 1<<20-size, remaining(t.Context(), l), 1)
}

// A declared length that is not sent is not charged: neither one above the limit, nor a body that never arrives.
func TestBytesThatAreDeclaredAlone(t *testing.T) {
	t.Parallel()
	l := start(t, nil, func(cfg *Config) { cfg.Project.Bytes = slowly(1 << 20) })
	url := openHTTP(t, l, nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) })
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	_, err = io.WriteString(conn, "POST /v1/runs HTTP/1.1\r\nHost: x\r\nX-Api-Key: p/k\r\nContent-Type: application/json\r\nContent-Length: 9223372036854775807\r\n\r\n")
	require.NoError(t, err)
	status, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, status, "413")
	assert.InDelta(t, 1<<20-chargeEvery, remaining(t.Context(), l), 1)
}

// What was declared and sent is charged once.
func TestBytesOfKnownLength(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1000, 3*chargeEvery + 1000} {
		l := start(t, nil, func(cfg *Config) { cfg.Project.Bytes = slowly(1 << 20) })
		resp := post(t, openHTTP(t, l, nil, sink), typeJSON, "p/k", bytes.NewReader(make([]byte, size)))
		assert.Equal(t, http.StatusAccepted, resp.code)
		assert.InDelta(t, 1<<20-size, remaining(t.Context(), l), 1)
	}
}

// remaining returns what the project has left.
func remaining(ctx context.Context, l *rateLimit) float64 {
	c := l.callerOf(as(ctx, "p", "", nil))
	return l.limiter.Admit(ratelimit.Cost{}, c.all()...).Remaining
}

// otlpServer is the stock receiver with the limiter.
type otlpServer struct {
	http string
	grpc ptraceotlp.GRPCClient
}

func openOTLP(t *testing.T, l *rateLimit, next consumer.ConsumeTracesFunc) *otlpServer {
	t.Helper()
	factory := otlpreceiver.NewFactory()
	cfg := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	middlewares := []configmiddleware.Config{{ID: limitID}}
	httpCfg := cfg.Protocols.HTTP.GetOrInsertDefault()
	httpCfg.ServerConfig.NetAddr.Endpoint = freeport.Take(t, 1)[0]
	httpCfg.ServerConfig.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: authID}})
	httpCfg.ServerConfig.Middlewares = middlewares
	grpcCfg := cfg.Protocols.GRPC.GetOrInsertDefault()
	grpcCfg.NetAddr = confignet.AddrConfig{Endpoint: freeport.Take(t, 1)[0], Transport: confignet.TransportTypeTCP}
	grpcCfg.Auth = configoptional.Some(configauth.Config{AuthenticatorID: authID})
	grpcCfg.Middlewares = middlewares
	sink, err := consumer.NewTraces(next)
	require.NoError(t, err)
	r, err := factory.CreateTraces(t.Context(), receivertest.NewNopSettings(factory.Type()), cfg, sink)
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), &host{extensions: hostOf(l, nil)}))
	t.Cleanup(func() { require.NoError(t, r.Shutdown(context.Background())) })
	conn, err := grpc.NewClient(grpcCfg.NetAddr.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &otlpServer{http: "http://" + httpCfg.ServerConfig.NetAddr.Endpoint + "/v1/traces", grpc: ptraceotlp.NewGRPCClient(conn)}
}

type host struct {
	extensions map[component.ID]component.Component
}

func (h *host) GetExtensions() map[component.ID]component.Component { return h.extensions }

func tracesOf(spans int) ptraceotlp.ExportRequest {
	traces := ptrace.NewTraces()
	list := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for range spans {
		list.AppendEmpty().SetName(strings.Repeat("n", 100))
	}
	return ptraceotlp.NewExportRequestFromTraces(traces)
}

// Spans that the stock receiver decodes are charged by a processor, or else estimated, for both protocols.
func TestSpans(t *testing.T) {
	t.Parallel()
	const burst, spans = 1000, 100
	body, err := tracesOf(spans).MarshalProto()
	require.NoError(t, err)
	tests := map[string]struct {
		next consumer.ConsumeTracesFunc
		want int
	}{
		"reported": {
			next: func(ctx context.Context, td ptrace.Traces) error {
				ratelimit.ChargeSpans(ctx, td.SpanCount())
				ratelimit.ChargeSpans(ctx, td.SpanCount()) // counts once
				return nil
			},
			want: spans,
		},
		"estimated":    {next: func(context.Context, ptrace.Traces) error { return nil }, want: len(body) / estimatedSpanBytes},
		"not accepted": {next: func(context.Context, ptrace.Traces) error { return assert.AnError }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := start(t, nil, func(cfg *Config) { cfg.Project.Spans = slowly(burst) })
			server := openOTLP(t, l, tt.next)
			resp := post(t, server.http, typeProtobuf, "p/k", bytes.NewReader(body))
			assert.Equal(t, "1000", resp.header.Get("RateLimit-Limit"))
			require.Eventually(t, func() bool { return int(burst-remaining(t.Context(), l)+0.5) == tt.want }, patience, time.Millisecond,
				"left %v", remaining(t.Context(), l))
			ctx := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "p/k")
			_, err := server.grpc.Export(ctx, tracesOf(spans))
			assert.Equal(t, name == "not accepted", err != nil)
			assert.Equal(t, 2*tt.want, int(burst-remaining(t.Context(), l)+0.5))
		})
	}
}

// A consumer of the stock receiver can report partial success over gRPC, and learns that it cannot over HTTP.
func TestPartialSuccess(t *testing.T) {
	t.Parallel()
	server := openOTLP(t, start(t, nil, func(*Config) {}), func(ctx context.Context, _ ptrace.Traces) error {
		if !partialsuccess.Reject(ctx, 3, "three are broken") {
			return status.Error(codes.InvalidArgument, "three are broken")
		}
		return nil
	})
	answer, err := server.grpc.Export(metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "p/k"), tracesOf(50))
	require.NoError(t, err)
	assert.EqualValues(t, 3, answer.PartialSuccess().RejectedSpans())
	assert.Equal(t, "three are broken", answer.PartialSuccess().ErrorMessage())
	body, err := tracesOf(50).MarshalProto()
	require.NoError(t, err)
	assert.Equal(t, "400 Bad Request", post(t, server.http, typeProtobuf, "p/k", bytes.NewReader(body)).status)
}

func TestGRPCAnswers(t *testing.T) {
	t.Parallel()
	l := start(t, nil, func(cfg *Config) {
		cfg.Project.Requests = LimitConfig{Rate: 1e-6, Burst: 2}
		cfg.Project.Bytes = slowly(1e9)
	})
	server := openOTLP(t, l, func(context.Context, ptrace.Traces) error { return nil })
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "p/k")
	size, err := tracesOf(50).MarshalProto()
	require.NoError(t, err)
	for _, want := range []string{"1", "0", "0"} {
		var header metadata.MD
		_, err := server.grpc.Export(ctx, tracesOf(50), grpc.Header(&header))
		require.NoError(t, err)
		assert.Equal(t, []string{"2"}, header.Get("RateLimit-Limit"))
		assert.Equal(t, []string{want}, header.Get("RateLimit-Remaining"))
	}
	var header metadata.MD
	_, err = server.grpc.Export(ctx, tracesOf(50), grpc.Header(&header))
	got := status.Convert(err)
	assert.Equal(t, codes.ResourceExhausted, got.Code())
	assert.Equal(t, "The project's limit of 0.000001 requests a second is used up. Nothing was accepted.", got.Message())
	require.Len(t, got.Details(), 1)
	retry := got.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration()
	assert.GreaterOrEqual(t, retry, time.Second)
	assert.Equal(t, []string{"0"}, header.Get("RateLimit-Remaining"))

	c := l.callerOf(as(context.Background(), "p", "", map[string]float64{"project_requests_per_second": 0}))
	left := l.limiter.Admit(ratelimit.Cost{}, c.all()...).Remaining
	assert.InDelta(t, 1e9-3*float64(len(size)), left, 1, "bytes are counted, and not those of what was refused")
}

// Streams use the same middleware, although OTLP has none.
func TestGRPCStreams(t *testing.T) {
	t.Parallel()
	l := start(t, nil, func(cfg *Config) { cfg.Project.Requests = slowly(1) })
	cfg := configgrpc.NewDefaultServerConfig()
	cfg.NetAddr = confignet.AddrConfig{Endpoint: "127.0.0.1:0", Transport: confignet.TransportTypeTCP}
	cfg.Auth = configoptional.Some(configauth.Config{AuthenticatorID: authID})
	cfg.Middlewares = []configmiddleware.Config{{ID: limitID}}
	server, err := cfg.ToServer(t.Context(), hostOf(l, nil), componenttest.NewNopTelemetrySettings())
	require.NoError(t, err)
	stream := grpc.StreamDesc{
		StreamName: "Echo", ServerStreams: true, ClientStreams: true,
		Handler: func(any, grpc.ServerStream) error { return nil },
	}
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Echo", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{stream}}, struct{}{})
	listener, err := cfg.NetAddr.Listen(t.Context())
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "p/k")
	for _, want := range []codes.Code{codes.OK, codes.OK, codes.ResourceExhausted} {
		call, err := conn.NewStream(ctx, &stream, "/test.Echo/Echo")
		require.NoError(t, err)
		err = call.RecvMsg(nil)
		if want == codes.OK {
			require.ErrorIs(t, err, io.EOF)
			continue
		}
		assert.Equal(t, want, status.Code(err))
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	telemetry := componenttest.NewTelemetry()
	defer func() { require.NoError(t, telemetry.Shutdown(context.Background())) }()
	set := metadatatest.NewSettings(telemetry)
	l := start(t, &set, func(cfg *Config) { cfg.Key.Requests = slowly(1) })
	url := openHTTP(t, l, nil, sink)
	for range 3 {
		post(t, url, typeJSON, "p/k", strings.NewReader("{}"))
	}
	ignore := metricdatatest.IgnoreTimestamp()
	metadatatest.AssertEqualRatelimitRequests(t, telemetry, []metricdata.DataPoint[int64]{
		{Value: 2, Attributes: admittedSet}, {Value: 1, Attributes: refusedSet},
	}, ignore)
	metadatatest.AssertEqualRatelimitRefusals(t, telemetry, []metricdata.DataPoint[int64]{
		{Value: 1, Attributes: refusalSet(&ratelimit.Decision{Kind: ratelimit.Key, Measure: ratelimit.Requests})},
	}, ignore)
	one := []metricdata.DataPoint[int64]{{Value: 1}}
	metadatatest.AssertEqualRatelimitBuckets(t, telemetry, one, ignore)
	metadatatest.AssertEqualRatelimitReplicas(t, telemetry, one, ignore)
	metadatatest.AssertEqualRatelimitFresh(t, telemetry, one, ignore)
}

func BenchmarkServeHTTP(b *testing.B) {
	l := start(b, nil, func(cfg *Config) {
		all := LimitsConfig{
			Requests: LimitConfig{Rate: 1e9, Burst: 1e9},
			Bytes:    LimitConfig{Rate: 1e12, Burst: 1e12},
			Spans:    LimitConfig{Rate: 1e9, Burst: 1e9},
		}
		cfg.Key, cfg.Project = all, all
	})
	wrap, err := l.GetHTTPHandler(b.Context())
	require.NoError(b, err)
	for _, limited := range []bool{false, true} {
		b.Run(fmt.Sprintf("limited=%t", limited), func(b *testing.B) {
			handler, err := wrap(b.Context(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				ratelimit.ChargeSpans(r.Context(), 10)
			}))
			require.NoError(b, err)
			r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/runs", strings.NewReader("{}"))
			if limited {
				r = r.WithContext(as(r.Context(), "01890000-0000-7000-8000-000000000001", "01890000-0000-7000-8000-000000000002", nil))
			}
			w := httptest.NewRecorder()
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}
