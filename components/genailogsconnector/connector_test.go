package genailogsconnector

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/components/genailogsconnector/internal/metadata"
	"github.com/looptrace/looptrace/internal/partialsuccess"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

func records(names ...string) plog.Logs {
	ld := plog.NewLogs()
	list := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, name := range names {
		r := list.AppendEmpty()
		r.SetEventName(name)
		r.SetTraceID(pcommon.TraceID{1})
		r.SetSpanID(pcommon.SpanID{2})
	}
	return ld
}

func TestEventsBecomeSpans(t *testing.T) {
	t.Parallel()
	var got []ptrace.Traces
	var answer error
	next, err := consumer.NewTraces(func(_ context.Context, td ptrace.Traces) error {
		got = append(got, td)
		return answer
	})
	require.NoError(t, err)
	factory := NewFactory()
	c, err := factory.CreateLogsToTraces(t.Context(), connectortest.NewNopSettings(metadata.Type), factory.CreateDefaultConfig(), next)
	require.NoError(t, err)

	var charged []int
	charging := ratelimit.WithSpans(t.Context(), func(n int) { charged = append(charged, n) })
	require.NoError(t, c.ConsumeLogs(charging, records("gen_ai.user.message", "", "gen_ai.choice")))
	require.Len(t, got, 1)
	span := got[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	assert.Equal(t, pcommon.SpanID{2}, span.SpanID())
	assert.Equal(t, 2, span.Events().Len())

	require.NoError(t, c.ConsumeLogs(charging, records("app.started")), "what is no GenAI event is dropped")
	require.Len(t, got, 1)
	assert.Equal(t, []int{1, 0}, charged)

	answer = errors.New("queue is away")
	require.ErrorIs(t, c.ConsumeLogs(t.Context(), records("gen_ai.choice")), answer)
	require.NoError(t, c.Shutdown(t.Context()))
}

// A client is told of events that can never be joined to a span, and once of records that are no GenAI events.
func TestDroppedRecordsAreReported(t *testing.T) {
	t.Parallel()
	factory := NewFactory()
	for _, reportOthers := range []bool{true, false} {
		cfg := factory.CreateDefaultConfig().(*Config)
		cfg.ReportOthers = reportOthers
		c, err := factory.CreateLogsToTraces(t.Context(), connectortest.NewNopSettings(metadata.Type), cfg, consumertest.NewNop())
		require.NoError(t, err)
		rejected := func(ld plog.Logs) (int64, string) {
			var report partialsuccess.Report
			require.NoError(t, c.ConsumeLogs(partialsuccess.With(t.Context(), &report), ld))
			return report.Rejected()
		}
		noSpan := records("gen_ai.choice", "gen_ai.choice")
		noSpan.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).SetSpanID(pcommon.SpanID{})
		for range 2 {
			count, why := rejected(noSpan)
			assert.EqualValues(t, 1, count)
			assert.Contains(t, why, "belong to no span")
		}
		count, why := rejected(records("app.started", "app.ended"))
		assert.Equal(t, reportOthers, count == 2)
		assert.Equal(t, reportOthers, why != "")
		count, why = rejected(records("app.started"))
		assert.Zero(t, count)
		assert.Empty(t, why)
		require.NoError(t, c.Shutdown(t.Context()))
	}
}
