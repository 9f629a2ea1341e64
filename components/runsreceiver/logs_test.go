package runsreceiver

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/looptrace/looptrace/components/runsreceiver/internal/metadatatest"
)

// recordsOf returns two events of a span, one without a span, and a record that is not a GenAI event.
func recordsOf(t *testing.T) plog.Logs {
	t.Helper()
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, name := range []string{"gen_ai.user.message", "gen_ai.choice"} {
		r := records.AppendEmpty()
		r.SetEventName(name)
		r.SetTraceID(pcommon.TraceID{1})
		r.SetSpanID(pcommon.SpanID{2})
		require.NoError(t, r.Body().FromRaw(map[string]any{"content": "Hi"}))
	}
	records.AppendEmpty().SetEventName("gen_ai.choice")
	records.AppendEmpty().Body().SetStr("started")
	return ld
}

// Log records in both encodings use the same receiver and become versions of their spans.
func TestLogs(t *testing.T) {
	t.Parallel()
	request := plogotlp.NewExportRequestFromLogs(recordsOf(t))
	asProto, err := request.MarshalProto()
	require.NoError(t, err)
	asJSON, err := request.MarshalJSON()
	require.NoError(t, err)
	for mediaType, body := range map[string][]byte{typeProtobuf: asProto, typeJSON: asJSON} {
		sink := new(consumertest.TracesSink)
		r := start(t, sink, func(c *Config) { c.TracesStatus = http.StatusOK })
		resp, answer := send(t, r, sent{path: "/v1/logs", header: map[string]string{"Content-Type": mediaType}, body: string(body)})
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		response := plogotlp.NewExportResponse()
		if mediaType == typeJSON {
			require.NoError(t, response.UnmarshalJSON([]byte(answer)))
		} else {
			require.NoError(t, response.UnmarshalProto([]byte(answer)))
		}
		assert.EqualValues(t, 1, response.PartialSuccess().RejectedLogRecords())
		assert.Contains(t, response.PartialSuccess().ErrorMessage(), "belong to no span")
		require.Equal(t, 1, sink.SpanCount(), mediaType)
		span := sink.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		assert.Equal(t, pcommon.SpanID{2}, span.SpanID())
		assert.Equal(t, 2, span.Events().Len())
	}
}

// A record that is not a GenAI event is accepted, so that a client does not retry, and never queued.
func TestOtherLogsAreAccepted(t *testing.T) {
	t.Parallel()
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, tel.Shutdown(context.Background())) })
	cfg := createDefaultConfig().(*Config)
	cfg.NetAddr.Endpoint = "127.0.0.1:0"
	sink := new(consumertest.TracesSink)
	r, err := newRunsReceiver(cfg, metadatatest.NewSettings(tel), sink)
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))
	resp, answer := send(t, r, sent{
		path: "/v1/logs", header: map[string]string{"Content-Type": typeJSON},
		body: `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"GET /"}}]}]}]}`,
	})
	assert.Equal(t, http.StatusAccepted, resp.StatusCode)
	assert.JSONEq(t, `{}`, answer)
	assert.Zero(t, sink.SpanCount())
	metadatatest.AssertEqualReceiverRunsLogRecords(t, tel, []metricdata.DataPoint[int64]{
		{Value: 1, Attributes: attribute.NewSet(attribute.String("record", "other"))},
	}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
	require.NoError(t, r.Shutdown(t.Context()))
}

func TestLogsThatNestTooDeep(t *testing.T) {
	t.Parallel()
	ld := plog.NewLogs()
	body := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body()
	for range 150 {
		body = body.SetEmptySlice().AppendEmpty()
	}
	encoded, err := plogotlp.NewExportRequestFromLogs(ld).MarshalProto()
	require.NoError(t, err)
	r := start(t, consumertest.NewNop())
	resp, _ := send(t, r, sent{path: "/v1/logs", header: map[string]string{"Content-Type": typeProtobuf}, body: string(encoded)})
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
}
