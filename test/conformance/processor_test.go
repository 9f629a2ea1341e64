package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/looptrace/looptrace/components/genaisemconvprocessor"
	"github.com/looptrace/looptrace/internal/genailogs"
)

// mapped returns the result of the processor with its default configuration.
func mapped(t *testing.T, p payload) []ptrace.Traces {
	t.Helper()
	factory := genaisemconvprocessor.NewFactory()
	sink := new(consumertest.TracesSink)
	settings := processortest.NewNopSettings(factory.Type())
	traces, err := factory.CreateTraces(t.Context(), settings, factory.CreateDefaultConfig(), sink)
	require.NoError(t, err)
	require.NoError(t, traces.Start(t.Context(), componenttest.NewNopHost()))
	// Ingest turns logs into versions of their spans before the queue.
	require.NoError(t, traces.ConsumeTraces(t.Context(), p.traces))
	if p.logs != (plog.Logs{}) {
		fromLogs, _ := genailogs.ToSpans(p.logs)
		require.NoError(t, traces.ConsumeTraces(t.Context(), fromLogs))
	}
	require.NoError(t, traces.Shutdown(t.Context()))
	return sink.AllTraces()
}
