package discardexporter

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/looptrace/looptrace/components/discardexporter/internal/metadatatest"
	"github.com/looptrace/looptrace/internal/partialsuccess"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

// A client is told once that nothing is kept, and what is discarded is counted and charged as no spans.
func TestDiscard(t *testing.T) {
	t.Parallel()
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, tel.Shutdown(context.Background())) })
	factory := NewFactory()
	metrics, err := factory.CreateMetrics(t.Context(), metadatatest.NewSettings(tel), factory.CreateDefaultConfig())
	require.NoError(t, err)
	logs, err := factory.CreateLogs(t.Context(), metadatatest.NewSettings(tel), factory.CreateDefaultConfig())
	require.NoError(t, err)

	md := pmetric.NewMetrics()
	points := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints()
	points.AppendEmpty()
	points.AppendEmpty()
	ld := plog.NewLogs()
	ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()

	ctx := client.NewContext(t.Context(), client.Info{Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 4317}})
	ctx = ratelimit.WithSpans(ctx, func(n int) { assert.Zero(t, n) })
	for _, told := range []bool{true, false} {
		var ofMetrics, ofLogs partialsuccess.Report
		require.NoError(t, metrics.ConsumeMetrics(partialsuccess.With(ctx, &ofMetrics), md))
		require.NoError(t, logs.ConsumeLogs(partialsuccess.With(ctx, &ofLogs), ld))
		count, why := ofMetrics.Rejected()
		assert.Equal(t, told, count == 2)
		assert.Equal(t, told, why != "")
		if told {
			assert.Contains(t, why, "keeps no metrics")
			assert.Contains(t, why, "OTEL_METRICS_EXPORTER=none")
		}
		count, _ = ofLogs.Rejected()
		assert.Equal(t, told, count == 1)
	}
	metadatatest.AssertEqualDiscardItems(t, tel, []metricdata.DataPoint[int64]{
		{Value: 4, Attributes: attribute.NewSet(attribute.String("signal", "metrics"))},
		{Value: 2, Attributes: attribute.NewSet(attribute.String("signal", "logs"))},
	}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
	require.NoError(t, metrics.Shutdown(t.Context()))
	require.NoError(t, logs.Shutdown(t.Context()))
}
