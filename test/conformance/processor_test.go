package conformance

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/looptrace/looptrace/components/genaicostprocessor"
	"github.com/looptrace/looptrace/components/genaisemconvprocessor"
	"github.com/looptrace/looptrace/internal/genailogs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// processed returns the payloads of a project after both processors, with their default configuration: mapped and priced.
func processed(t *testing.T, project uuid.UUID, payloads ...payload) []ptrace.Traces {
	t.Helper()
	sink := new(consumertest.TracesSink)
	first := consumer.Traces(sink)
	for _, factory := range []processor.Factory{genaicostprocessor.NewFactory(), genaisemconvprocessor.NewFactory()} { // the last comes first
		step, err := factory.CreateTraces(t.Context(), processortest.NewNopSettings(factory.Type()), factory.CreateDefaultConfig(), first)
		require.NoError(t, err)
		require.NoError(t, step.Start(t.Context(), componenttest.NewNopHost()))
		defer func() { require.NoError(t, step.Shutdown(t.Context())) }()
		first = step
	}
	consume := func(traces ptrace.Traces) {
		for _, rs := range traces.ResourceSpans().All() {
			rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
		}
		require.NoError(t, first.ConsumeTraces(t.Context(), traces))
	}
	for _, p := range payloads {
		consume(p.traces)
		if p.logs != (plog.Logs{}) { // ingest turns logs into versions of their spans before the queue
			fromLogs, _ := genailogs.ToSpans(p.logs)
			consume(fromLogs)
		}
	}
	return sink.AllTraces()
}
