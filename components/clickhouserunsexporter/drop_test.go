package clickhouserunsexporter

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/looptrace/looptrace/components/clickhouserunsexporter/internal/metadatatest"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestDropsWithoutGenAI stores health checks and an agent's trace, drops, and looks at what is left and counted.
func TestDropsWithoutGenAI(t *testing.T) {
	t.Parallel()
	url := engines.ClickHouse(t)
	tel := componenttest.NewTelemetry()
	defer func() { assert.NoError(t, tel.Shutdown(t.Context())) }()
	config := createDefaultConfig().(*Config)
	config.URL = configopaque.String(url)
	assert.Zero(t, config.DropWithoutGenAIAfter, "drops nothing unless it is told to")
	e, err := newRunsExporter(config, metadatatest.NewSettings(tel).TelemetrySettings)
	require.NoError(t, err)
	require.NoError(t, e.start(t.Context(), componenttest.NewNopHost()))

	// More than fit in a statement of the length that ClickHouse accepts by default.
	const others = 4000
	project := uuid.NewString()
	health, chat := oneSpan(project), oneSpan(project)
	spans := health.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	for range others - 1 {
		another := spans.AppendEmpty()
		spans.At(0).CopyTo(another)
		another.SetTraceID(pcommon.TraceID(uuid.New()))
	}
	chat.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().PutStr(runmodel.KeyOperationName, "chat")
	kept := uuid.UUID(chat.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).TraceID())
	require.NoError(t, e.consume(t.Context(), health))
	require.NoError(t, e.consume(t.Context(), chat))
	e.startDropping(time.Millisecond, 10*time.Millisecond)
	for _, table := range []string{"runs FINAL", "spans"} {
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			var left []struct {
				RunID uuid.UUID `ch:"run_id"`
			}
			assert.NoError(c, e.conn.Select(t.Context(), &left, "SELECT run_id FROM "+table))
			if assert.Equal(c, 1, len(left), table) { //nolint:testifylint // Len prints thousands
				assert.Equal(c, kept, left[0].RunID)
			}
		}, 2*time.Minute, 50*time.Millisecond)
	}
	require.NoError(t, e.shutdown(t.Context()))
	metadatatest.AssertEqualExporterClickhouserunsTracesDropped(t, tel,
		[]metricdata.DataPoint[int64]{{Value: others}}, metricdatatest.IgnoreTimestamp())
}
