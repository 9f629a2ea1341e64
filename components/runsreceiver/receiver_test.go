package runsreceiver

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configmiddleware"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/extension/extensionauth"
	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/looptrace/looptrace/components/runsreceiver/internal/metadata"
	"github.com/looptrace/looptrace/components/runsreceiver/internal/metadatatest"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// authExtension is an extension like apikeyauth: an authenticator that accepts keys, and a middleware that refuses
// some of them.
type authExtension struct {
	component.StartFunc
	component.ShutdownFunc
}

var (
	_               extensionauth.Server           = authExtension{}
	_               extensionmiddleware.HTTPServer = authExtension{}
	authExtensionID                                = component.MustNewID("auth")
)

type keyState struct{}

func (authExtension) Authenticate(ctx context.Context, headers map[string][]string) (context.Context, error) {
	key, ok := strings.CutPrefix(http.Header(headers).Get("Authorization"), "Bearer ")
	if !ok {
		return ctx, errors.New("no key")
	}
	if key == "wrong" {
		return ctx, errors.New("the key is not valid")
	}
	return context.WithValue(ctx, keyState{}, key), nil
}

func (authExtension) GetHTTPHandler(context.Context) (extensionmiddleware.WrapHTTPHandlerFunc, error) {
	return func(_ context.Context, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			switch req.Context().Value(keyState{}) {
			case "no-scope":
				http.Error(w, "This key lacks the scope ingest:write.", http.StatusForbidden)
			case "no-scope-formatted":
				// In the form of the route, like apikeyauth.
				contentType, body := problem.ContentType, []byte(`{"status":403,"code":"scope_missing","detail":"Formatted: no scope."}`)
				switch {
				case req.URL.Path != "/v1/traces":
				case req.Header.Get("Content-Type") == typeJSON:
					contentType, body = typeJSON, []byte(`{"code":7,"message":"Formatted: no scope."}`)
				default:
					contentType = typeProtobuf
					body, _ = proto.Marshal(&spb.Status{Code: 7, Message: "Formatted: no scope."})
				}
				w.Header().Set("Content-Type", contentType)
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write(body)
			case "unknown":
				w.Header().Set("Retry-After", "7")
				http.Error(w, "dial tcp 10.0.0.7:5432: connection refused", http.StatusServiceUnavailable)
			case "limited":
				w.Header().Set("Retry-After", "30")
				w.Header().Set("RateLimit-Remaining", "0")
				http.Error(w, "The key's limit is used up.", http.StatusTooManyRequests)
			case "counted":
				ctx := ratelimit.WithSpans(req.Context(), func(n int) { w.Header().Set("Charged-Spans", strconv.Itoa(n)) })
				next.ServeHTTP(w, req.WithContext(ctx))
			case "broken":
				http.Error(w, "nil pointer somewhere", http.StatusInternalServerError)
			case "teapot":
				http.Error(w, "short and stout", http.StatusTeapot)
			default:
				next.ServeHTTP(w, req)
			}
		}), nil
	}, nil
}

type host struct{ component.Host }

func (host) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{authExtensionID: authExtension{}}
}

// start runs a receiver with the extension.
func start(tb testing.TB, next consumer.Traces, changes ...func(*Config)) *runsReceiver {
	tb.Helper()
	cfg := createDefaultConfig().(*Config)
	for _, change := range changes {
		change(cfg)
	}
	return startWith(tb, cfg, next, host{componenttest.NewNopHost()})
}

func startWith(tb testing.TB, cfg *Config, next consumer.Traces, host component.Host) *runsReceiver {
	tb.Helper()
	cfg.NetAddr.Endpoint = "127.0.0.1:0"
	cfg.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: authExtensionID}})
	cfg.Middlewares = []configmiddleware.Config{{ID: authExtensionID}}
	r := create(tb, cfg, receivertest.NewNopSettings(metadata.Type), next)
	require.NoError(tb, r.Start(tb.Context(), host))
	tb.Cleanup(func() { assert.NoError(tb, r.Shutdown(context.Background())) })
	return r
}

// create makes a receiver of all three signals. Those of the spans' consumer that are none of its kind go nowhere.
func create(tb testing.TB, cfg *Config, set receiver.Settings, next consumer.Traces) *runsReceiver {
	tb.Helper()
	factory := NewFactory()
	traces, err := factory.CreateTraces(tb.Context(), set, cfg, next)
	require.NoError(tb, err)
	logs, ok := next.(consumer.Logs)
	if !ok {
		logs = consumertest.NewNop()
	}
	_, err = factory.CreateLogs(tb.Context(), set, cfg, logs)
	require.NoError(tb, err)
	metrics, ok := next.(consumer.Metrics)
	if !ok {
		metrics = consumertest.NewNop()
	}
	_, err = factory.CreateMetrics(tb.Context(), set, cfg, metrics)
	require.NoError(tb, err)
	return traces.(*runsReceiver)
}

type sent struct {
	method, path string // POST by default
	header       map[string]string
	body         string
}

// send sends a request with a good key and returns the answer with its body read.
func send(tb testing.TB, r *runsReceiver, s sent) (*http.Response, string) {
	tb.Helper()
	method := s.method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(tb.Context(), method, "http://"+r.addr.String()+s.path, strings.NewReader(s.body))
	require.NoError(tb, err)
	req.Header.Set("Authorization", "Bearer good")
	for k, v := range s.header {
		if v == "" {
			req.Header.Del(k)
			continue
		}
		req.Header.Set(k, v)
	}
	resp, err := client.Do(req)
	require.NoError(tb, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(tb, err)
	require.NoError(tb, resp.Body.Close())
	return resp, string(body)
}

// client keeps no idle connections, because the server would wait for them.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}

func gzipped(tb testing.TB, body string) string {
	tb.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, err := io.WriteString(w, body)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return buf.String()
}

func deflated(tb testing.TB, body string) string {
	tb.Helper()
	var buf bytes.Buffer
	w := zlib.NewWriter(&buf)
	_, err := io.WriteString(w, body)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return buf.String()
}

func zstdded(tb testing.TB, body string) string {
	tb.Helper()
	w, err := zstd.NewWriter(nil)
	require.NoError(tb, err)
	return string(w.EncodeAll([]byte(body), nil))
}

// failing is a consumer that refuses everything.
func failing(err error) consumer.Traces {
	return consumertest.NewErr(err)
}

// stuck is a consumer that returns once it is released, whatever its context.
type stuck struct {
	consumertest.Consumer

	entered chan struct{}
	release chan struct{}
}

func newStuck() *stuck {
	return &stuck{Consumer: consumertest.NewNop(), entered: make(chan struct{}, 100), release: make(chan struct{})}
}

func (s *stuck) ConsumeTraces(context.Context, ptrace.Traces) error {
	s.entered <- struct{}{}
	<-s.release
	return nil
}

const oneRun = `{"runs":[{"run_id":"0199e0a1-0000-7000-8000-000000000001","name":"plan","start_time":"2026-01-01T00:00:00Z"}]}`

func TestStartOnATakenPort(t *testing.T) {
	t.Parallel()
	first := start(t, consumertest.NewNop())
	cfg := createDefaultConfig().(*Config)
	cfg.NetAddr.Endpoint = first.addr.String()
	second := create(t, cfg, receivertest.NewNopSettings(metadata.Type), consumertest.NewNop())
	require.ErrorContains(t, second.Start(t.Context(), componenttest.NewNopHost()), "listen on "+first.addr.String())
	require.NoError(t, second.Shutdown(t.Context()))
}

// A body that does not arrive neither keeps its connection nor delays a stop.
func TestBodiesThatNeverEnd(t *testing.T) {
	t.Parallel()
	r := start(t, consumertest.NewNop(), func(c *Config) { c.ReadTimeout = 200 * time.Millisecond })
	unended := func(r *runsReceiver, header string) *bufio.Reader {
		conn, err := net.Dial("tcp", r.addr.String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, err = io.WriteString(conn, "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+header+"Content-Length: 100\r\n\r\n{")
		require.NoError(t, err)
		return bufio.NewReader(conn)
	}
	for header, want := range map[string]int{"": http.StatusUnauthorized, "Authorization: Bearer good\r\n": http.StatusRequestTimeout} {
		from := unended(r, header)
		resp, err := http.ReadResponse(from, nil)
		require.NoError(t, err)
		assert.Equal(t, want, resp.StatusCode)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		_, err = from.ReadByte()
		require.ErrorIs(t, err, io.EOF)
	}

	patient := start(t, consumertest.NewNop(), func(c *Config) { c.ReadTimeout, c.QueueTimeout, c.WriteTimeout = time.Hour, time.Hour, 3*time.Hour })
	from := unended(patient, "Authorization: Bearer good\r\n")
	require.Eventually(t, func() bool { return patient.intake.used.Load() > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, patient.Shutdown(t.Context())) // nothing else ends the wait within an hour
	resp, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	assert.Equal(t, "5", resp.Header.Get("Retry-After"))
	require.NoError(t, resp.Body.Close())
}

// A stop waits only briefly for the next consumer, and clients get Retry-After.
func TestStopWithAStuckConsumer(t *testing.T) {
	t.Parallel()
	next := newStuck()
	defer close(next.release)
	r := start(t, next, func(c *Config) { c.QueueTimeout, c.WriteTimeout = time.Hour, 2*time.Hour })
	stopped := make(chan error, 1)
	go func() {
		<-next.entered
		stopped <- r.Shutdown(t.Context())
	}()
	answer, _ := send(t, r, sent{path: "/v1/runs", header: map[string]string{"Content-Type": typeJSON}, body: oneRun})
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
	require.NoError(t, <-stopped)
}

// A consumer that ignores its deadline delays neither the answer nor the end of the receiver.
func TestStuckConsumer(t *testing.T) {
	t.Parallel()
	next := newStuck()
	defer close(next.release)
	r := start(t, next, func(c *Config) { c.QueueTimeout = 20 * time.Millisecond })

	resp, _ := send(t, r, sent{path: "/v1/runs", header: map[string]string{"Content-Type": typeJSON}, body: oneRun})
	assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	assert.Equal(t, "5", resp.Header.Get("Retry-After"))
	assert.Positive(t, r.intake.used.Load(), "spans that the consumer holds stay charged")
}

// A client that disconnects does not cancel the next consumer's work: otherwise the records of others would fail.
func TestClientGoes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	next, err := consumer.NewTraces(func(ctx context.Context, _ ptrace.Traces) error {
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond): // the server notices within a few
		}
		ended <- ctx.Err()
		return nil
	})
	require.NoError(t, err)
	r := start(t, next)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.addr.String()+"/v1/runs", strings.NewReader(oneRun))
	require.NoError(t, err)
	req.Header.Set("Content-Type", typeJSON)
	req.Header.Set("Authorization", "Bearer good")
	_, err = client.Do(req)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, <-ended)
}

// The standard port answers success like OTLP/HTTP. Native runs are not part of OTLP.
func TestTracesStatus(t *testing.T) {
	t.Parallel()
	r := start(t, consumertest.NewNop(), func(c *Config) { c.TracesStatus = http.StatusOK })
	header := map[string]string{"Content-Type": typeJSON}
	resp, _ := send(t, r, sent{path: "/v1/traces", header: header, body: `{}`})
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	resp, _ = send(t, r, sent{path: "/v1/traces", header: header, body: `{`})
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
	resp, _ = send(t, r, sent{path: "/v1/runs", header: header, body: oneRun})
	assert.Equal(t, http.StatusAccepted, resp.StatusCode)
}

// The middlewares learn how many spans were in a request. Runs are spans, too.
func TestSpansAreCharged(t *testing.T) {
	t.Parallel()
	r := start(t, consumertest.NewNop())
	header := map[string]string{"Content-Type": typeJSON, "Authorization": "Bearer counted"}
	traces := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0199e0a1000070008000000000000001","spanId":"00000000000000a1"},` +
		`{"traceId":"0199e0a1000070008000000000000001","spanId":"00000000000000a2"}]}]}]}`
	for _, tt := range []struct{ path, body, want string }{
		{"/v1/traces", traces, "2"},
		{"/v1/runs", oneRun, "1"},
		{"/v1/runs", `{"runs":[{}]}`, ""},
	} {
		resp, _ := send(t, r, sent{path: tt.path, header: header, body: tt.body})
		assert.Equal(t, tt.want, resp.Header.Get("Charged-Spans"), tt.body)
	}
}

// A well-formed request is passed on unchanged, and is counted and charged as if it had been decoded. A request with
// something to drop is decoded here, so that the client is informed.
func TestRawPassthrough(t *testing.T) {
	t.Parallel()
	sink := new(consumertest.TracesSink)
	r := start(t, sink, func(c *Config) { c.RawPassthrough = true })
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i := range 3 {
		span := spans.AppendEmpty()
		span.SetTraceID(pcommon.TraceID{15: 1})
		span.SetSpanID(pcommon.SpanID{7: byte(i + 1)})
		span.SetName(strconv.Itoa(i))
	}
	request := func() string {
		body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
		require.NoError(t, err)
		return string(body)
	}
	good := request()
	header := map[string]string{"Content-Type": typeProtobuf, "Authorization": "Bearer counted"}
	zipped := map[string]string{"Content-Type": typeProtobuf, "Authorization": "Bearer counted", "Content-Encoding": "gzip"}
	for _, s := range []sent{{path: "/v1/traces", header: header, body: good}, {path: "/v1/traces", header: zipped, body: gzipped(t, good)}} {
		sink.Reset()
		resp, body := send(t, r, s)
		assert.Equal(t, http.StatusAccepted, resp.StatusCode, body)
		assert.Equal(t, "3", resp.Header.Get("Charged-Spans"))
		require.Len(t, sink.AllTraces(), 1)
		handed := sink.AllTraces()[0]
		assert.Equal(t, 3, handed.SpanCount())
		raw, ok := handed.ResourceSpans().At(0).Resource().Attributes().Get(runmodel.KeyRawRequest)
		require.True(t, ok)
		assert.Equal(t, good, string(raw.Bytes().AsRaw()))
	}

	for name, edit := range map[string]func(ptrace.Span){
		"the span id is all zeros":       func(s ptrace.Span) { s.SetSpanID(pcommon.SpanID{}) },
		"the trace id is all zeros":      func(s ptrace.Span) { s.SetTraceID(pcommon.TraceID{}) },
		"the end time lies after 2261":   func(s ptrace.Span) { s.SetEndTimestamp(runmodel.MaxTimestamp + 1) },
		"the start time lies after 2261": func(s ptrace.Span) { s.SetStartTimestamp(math.MaxUint64) },
		"gen_ai.usage.input_tokens is 4611686018427387904, and may be 9007199254740992 at most": func(s ptrace.Span) {
			s.Attributes().PutInt(runmodel.KeyInputTokens, 1<<62)
		},
		"looptrace.cost_usd is 100000000000000000000, and may be 1000000000000 at most": func(s ptrace.Span) {
			s.Attributes().PutDouble(runmodel.KeyCostUSD, 1e20)
		},
	} {
		sink.Reset()
		was := ptrace.NewSpan()
		spans.At(1).CopyTo(was)
		edit(spans.At(1))
		resp, body := send(t, r, sent{path: "/v1/traces", header: header, body: request()})
		was.CopyTo(spans.At(1))
		assert.Equal(t, http.StatusAccepted, resp.StatusCode, name)
		assert.Contains(t, body, "resource_spans[0].scope_spans[0].spans[1]: "+name)
		assert.Equal(t, "2", resp.Header.Get("Charged-Spans"), name)
		require.Len(t, sink.AllTraces(), 1)
		assert.Zero(t, sink.AllTraces()[0].ResourceSpans().At(0).Resource().Attributes().Len(), name)
	}

	sink.Reset()
	resp, _ := send(t, r, sent{path: "/v1/traces", header: header, body: strings.Replace(good, "\x0a\x10", "\x08\x10", 1)})
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode, "a trace id that is a number")
	resp, _ = send(t, r, sent{path: "/v1/traces", header: header, body: deepProto(110)})
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode, "too deep")
	assert.Empty(t, sink.AllTraces())
}

// A slow body ends by the read timeout, and takes almost no memory until then.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	sink := new(consumertest.TracesSink)
	r := start(t, sink, func(c *Config) { c.ReadTimeout = 50 * time.Millisecond })
	body, feed := io.Pipe()
	defer feed.Close()
	go func() { _, _ = io.WriteString(feed, `{"runs":`) }()

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.addr.String()+"/v1/runs", body)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer good")
	req.Header.Set("Content-Type", typeJSON)
	req.ContentLength = 10 << 20
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, http.StatusRequestTimeout, resp.StatusCode)
	assert.Empty(t, sink.AllTraces())
}

// A client that sends everything before it reads still receives the answer to a body that was refused unread.
func TestRefusalOfABodyStillBeingSent(t *testing.T) {
	t.Parallel()
	r := start(t, consumertest.NewNop())
	for _, key := range []string{"good", "wrong"} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.addr.String())
		require.NoError(t, err)
		const size = 30 << 20
		_, err = fmt.Fprintf(conn, "POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", key, size)
		require.NoError(t, err)
		_, err = conn.Write(make([]byte, size))
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		want := map[string]int{"good": http.StatusRequestEntityTooLarge, "wrong": http.StatusUnauthorized}
		assert.Equal(t, want[key], resp.StatusCode)
		require.NoError(t, resp.Body.Close())
		require.NoError(t, conn.Close())
	}
}

func TestBudgetIsGivenBack(t *testing.T) {
	t.Parallel()
	sink := new(consumertest.TracesSink)
	r := start(t, sink, func(c *Config) { c.MaxRequestBodySize = 1 << 10 })
	header := map[string]string{"Content-Type": typeJSON}
	for _, body := range []string{oneRun, `{`, `{"runs":[{}]}`, strings.Repeat(" ", 2<<10), ""} {
		send(t, r, sent{path: "/v1/runs", header: header, body: body})
	}
	assert.Eventually(t, func() bool { return r.intake.used.Load() == 0 }, 5*time.Second, time.Millisecond)
	assert.Equal(t, 1, sink.SpanCount())
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	r := start(t, consumertest.NewNop())
	for sentID, kept := range map[string]bool{
		"abc-DEF_1.2:3/4+5=":     true,
		strings.Repeat("x", 128): true,
		strings.Repeat("x", 129): false,
		"with space":             false,
		`quo"te`:                 false,
		"":                       false,
	} {
		resp, body := send(t, r, sent{path: "/v1/runs", body: oneRun, header: map[string]string{
			"Content-Type": typeJSON, headerRequestID: sentID,
		}})
		id := resp.Header.Get(headerRequestID)
		assert.Equal(t, kept, id == sentID, sentID)
		assert.Contains(t, body, `"request_id":"`+id+`"`)
		if !kept {
			assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, id)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, tel.Shutdown(context.Background())) })
	cfg := createDefaultConfig().(*Config)
	cfg.NetAddr.Endpoint = "127.0.0.1:0"
	r := create(t, cfg, metadatatest.NewSettings(tel), consumertest.NewNop())
	require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))

	header := map[string]string{"Content-Type": typeJSON}
	send(t, r, sent{path: "/v1/runs", header: header, body: oneRun})
	send(t, r, sent{path: "/v1/runs", header: header, body: oneRun})
	send(t, r, sent{path: "/v1/runs", header: header, body: `{`})
	send(t, r, sent{path: "/v1/traces", header: header, body: `{"resourceSpans":[{"scopeSpans":[{"spans":[{},{}]}]}]}`})

	requests := func(n int64, route, outcome string) metricdata.DataPoint[int64] {
		return metricdata.DataPoint[int64]{Value: n, Attributes: attribute.NewSet(
			attribute.String("route", route), attribute.String("outcome", outcome))}
	}
	// A request is counted after its answer has left.
	require.Eventually(t, func() bool {
		m, err := tel.GetMetric("otelcol_receiver_runs_requests")
		return err == nil && len(m.Data.(metricdata.Sum[int64]).DataPoints) == 3
	}, 5*time.Second, time.Millisecond)
	metadatatest.AssertEqualReceiverRunsRequests(t, tel, []metricdata.DataPoint[int64]{
		requests(2, routeRuns, "queued"),
		requests(1, routeRuns, "malformed"),
		requests(1, routeTraces, "queued"),
	}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
	metadatatest.AssertEqualReceiverRunsRejectedSpans(t, tel,
		[]metricdata.DataPoint[int64]{{Value: 2}}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
	metadatatest.AssertEqualReceiverRunsInFlightBytes(t, tel,
		[]metricdata.DataPoint[int64]{{Value: 0}}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
	require.NoError(t, r.Shutdown(t.Context()))
}
