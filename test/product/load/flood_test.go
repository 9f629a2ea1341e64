package load

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// The template must write what is in the ledger: otherwise a loss would look like a run that was never sent.
func TestTemplate(t *testing.T) {
	t.Parallel()
	const runs, spans = 3, 9
	s := newTemplate(OTLPProtobuf, runs, spans)
	seen := map[uuid.UUID]bool{}
	for range 4 {
		sent := s.next()
		require.Len(t, sent, runs)
		traces, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(s.body)
		require.NoError(t, err)
		found := readBack(traces)
		require.Len(t, found, runs)
		for _, run := range sent {
			require.False(t, seen[run.ID], "an id came twice")
			seen[run.ID] = true
			require.Equal(t, run.Spans, found[run.ID].Spans)
			require.Equal(t, run.LLMCalls, found[run.ID].LLMCalls)
			require.Equal(t, run.InputTokens, found[run.ID].InputTokens)
			require.Equal(t, run.Errors, found[run.ID].Errors)
			require.InDelta(t, run.CostUSD, found[run.ID].CostUSD, 0)
			require.Equal(t, run.OutputTokens, found[run.ID].OutputTokens)
		}
	}
}

// readBack counts the content of a request by run. A span whose parent is missing does not count.
func readBack(traces ptrace.Traces) map[uuid.UUID]Run {
	found := map[uuid.UUID]Run{}
	for _, resource := range traces.ResourceSpans().All() {
		ids := map[pcommon.SpanID]bool{{}: true} // no parent
		spans := resource.ScopeSpans().At(0).Spans()
		for _, span := range spans.All() {
			ids[span.SpanID()] = true
		}
		for _, span := range spans.All() {
			if !ids[span.ParentSpanID()] {
				continue
			}
			run := found[uuid.UUID(span.TraceID())]
			run.Spans++
			if tokens, ok := span.Attributes().Get("gen_ai.usage.input_tokens"); ok {
				run.LLMCalls++
				run.InputTokens += tokens.Int()
			}
			if tokens, ok := span.Attributes().Get("gen_ai.usage.output_tokens"); ok {
				run.OutputTokens += tokens.Int()
			}
			if cost, ok := span.Attributes().Get("looptrace.cost_usd"); ok {
				run.CostUSD += cost.Double()
			}
			if span.Status().Code() == ptrace.StatusCodeError {
				run.Errors++
			}
			found[uuid.UUID(span.TraceID())] = run
		}
	}
	return found
}
