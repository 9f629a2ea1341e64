package runsreceiver

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/looptrace/looptrace/components/runsreceiver/internal/metadata"
	"github.com/looptrace/looptrace/internal/partialsuccess"
)

// sinks are consumers of all signals. They reject one item of each request with logs or metrics.
type sinks struct {
	consumertest.TracesSink
	logs    consumertest.LogsSink
	metrics consumertest.MetricsSink
}

func (*sinks) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (s *sinks) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	partialsuccess.Reject(ctx, 1, "one of the records")
	return s.logs.ConsumeLogs(ctx, ld)
}

func (s *sinks) ConsumeMetrics(ctx context.Context, md pmetric.Metrics) error {
	partialsuccess.Reject(ctx, 1, "one of the points")
	return s.metrics.ConsumeMetrics(ctx, md)
}

// Logs and metrics pass unchanged in both encodings. What their consumers reject is in the answer.
func TestLogsAndMetrics(t *testing.T) {
	t.Parallel()
	ld := plog.NewLogs()
	record := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	record.SetEventName("app.started")
	record.Body().SetStr("GET /")
	md := pmetric.NewMetrics()
	metric := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	metric.SetName("http.server.request.duration")
	metric.SetEmptyHistogram().DataPoints().AppendEmpty().BucketCounts().FromRaw([]uint64{1, 2})

	logs, metrics := plogotlp.NewExportRequestFromLogs(ld), pmetricotlp.NewExportRequestFromMetrics(md)
	for mediaType, bodies := range map[string][2][]byte{
		typeProtobuf: {must(logs.MarshalProto()), must(metrics.MarshalProto())},
		typeJSON:     {must(logs.MarshalJSON()), must(metrics.MarshalJSON())},
	} {
		got := new(sinks)
		r := start(t, got, func(c *Config) { c.TracesStatus = http.StatusOK })
		header := map[string]string{"Content-Type": mediaType}

		resp, answer := send(t, r, sent{path: "/v1/logs", header: header, body: string(bodies[0])})
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		ofLogs := plogotlp.NewExportResponse()
		require.NoError(t, unmarshal(mediaType, answer, ofLogs))
		assert.EqualValues(t, 1, ofLogs.PartialSuccess().RejectedLogRecords())
		assert.Equal(t, "one of the records", ofLogs.PartialSuccess().ErrorMessage())
		require.Len(t, got.logs.AllLogs(), 1, mediaType)
		assert.Equal(t, ld, got.logs.AllLogs()[0])

		resp, answer = send(t, r, sent{path: "/v1/metrics", header: header, body: string(bodies[1])})
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		ofMetrics := pmetricotlp.NewExportResponse()
		require.NoError(t, unmarshal(mediaType, answer, ofMetrics))
		assert.EqualValues(t, 1, ofMetrics.PartialSuccess().RejectedDataPoints())
		assert.Equal(t, "one of the points", ofMetrics.PartialSuccess().ErrorMessage())
		require.Len(t, got.metrics.AllMetrics(), 1, mediaType)
		assert.Equal(t, md, got.metrics.AllMetrics()[0])
		assert.Zero(t, got.SpanCount())
	}
}

func must(body []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return body
}

func unmarshal(mediaType, body string, into interface {
	UnmarshalJSON(body []byte) error
	UnmarshalProto(body []byte) error
},
) error {
	if mediaType == typeJSON {
		return into.UnmarshalJSON([]byte(body))
	}
	return into.UnmarshalProto([]byte(body))
}

// A receiver serves the signals that have a pipeline, and says of the others how to stop an SDK from sending them.
func TestSignalsWithoutAPipeline(t *testing.T) {
	t.Parallel()
	cfg := createDefaultConfig().(*Config)
	cfg.NetAddr.Endpoint = "127.0.0.1:0"
	factory, sink := NewFactory(), new(consumertest.LogsSink)
	created, err := factory.CreateLogs(t.Context(), receivertest.NewNopSettings(metadata.Type), cfg, sink)
	require.NoError(t, err)
	r := created.(*runsReceiver)
	require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))
	for path, status := range map[string]int{"/v1/logs": 202, "/v1/metrics": 404, "/v1/traces": 404, "/v1/runs": 404} {
		resp, body := send(t, r, sent{path: path, header: map[string]string{"Content-Type": typeJSON}, body: "{}"})
		assert.Equal(t, status, resp.StatusCode, path)
		if path == "/v1/metrics" {
			assert.Contains(t, body, "OTEL_METRICS_EXPORTER=none")
		}
	}
	require.NoError(t, r.Shutdown(t.Context()))
}

// One receiver serves the pipelines of all signals, and another one is made once it is shut down.
func TestPipelinesShareAReceiver(t *testing.T) {
	t.Parallel()
	cfg := createDefaultConfig().(*Config)
	cfg.NetAddr.Endpoint = "127.0.0.1:0"
	factory, set := NewFactory(), receivertest.NewNopSettings(metadata.Type)
	traces, err := factory.CreateTraces(t.Context(), set, cfg, consumertest.NewNop())
	require.NoError(t, err)
	logs, err := factory.CreateLogs(t.Context(), set, cfg, consumertest.NewNop())
	require.NoError(t, err)
	assert.Same(t, traces, logs)
	require.NoError(t, traces.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, logs.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, logs.Shutdown(t.Context()))
	require.NoError(t, traces.Shutdown(t.Context()))
	again, err := factory.CreateTraces(t.Context(), set, cfg, consumertest.NewNop())
	require.NoError(t, err)
	assert.NotSame(t, traces, again)
	require.NoError(t, again.Shutdown(t.Context()))
}

func TestBodiesThatNestTooDeep(t *testing.T) {
	t.Parallel()
	ld := plog.NewLogs()
	body := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body()
	md := pmetric.NewMetrics()
	attribute := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().Metadata().PutEmpty("deep")
	for range 150 {
		body, attribute = body.SetEmptySlice().AppendEmpty(), attribute.SetEmptySlice().AppendEmpty()
	}
	r := start(t, consumertest.NewNop())
	for path, encoded := range map[string][]byte{
		"/v1/logs":    must(plogotlp.NewExportRequestFromLogs(ld).MarshalProto()),
		"/v1/metrics": must(pmetricotlp.NewExportRequestFromMetrics(md).MarshalProto()),
	} {
		resp, _ := send(t, r, sent{path: path, header: map[string]string{"Content-Type": typeProtobuf}, body: string(encoded)})
		assert.Equal(t, http.StatusBadRequest, resp.StatusCode, path)
	}
}
