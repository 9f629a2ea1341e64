package runpdata

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

func TestCostFromAttributes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set  func(span ptrace.Span)
		want runmodel.Span
	}{
		"none": {func(ptrace.Span) {}, runmodel.Span{}},
		"sent": {func(span ptrace.Span) { span.Attributes().PutDouble(runmodel.KeyCostUSD, 0.5) }, runmodel.Span{CostUSD: new(0.5), CostSource: runmodel.CostSent}},
		"sent by whoever names it otherwise": {func(span ptrace.Span) {
			span.Attributes().PutStr(runmodel.KeyCostSource, "guessed")
			span.Attributes().PutStr(runmodel.KeyPriceVersion, "x")
			span.Attributes().PutDouble(runmodel.KeyCostUSD, 0.5)
		}, runmodel.Span{CostUSD: new(0.5), CostSource: runmodel.CostSent}},
		"computed": {func(span ptrace.Span) {
			span.Attributes().PutDouble(runmodel.KeyCostUSD, 0.5)
			span.Attributes().PutStr(runmodel.KeyCostSource, runmodel.CostComputed)
			span.Attributes().PutStr(runmodel.KeyPriceVersion, "2026-08-22")
		}, runmodel.Span{CostUSD: new(0.5), CostSource: runmodel.CostComputed, PriceVersion: "2026-08-22"}},
		"a source without a cost": {func(span ptrace.Span) {
			span.Attributes().PutStr(runmodel.KeyCostSource, runmodel.CostComputed)
			span.Attributes().PutStr(runmodel.KeyPriceVersion, "x")
		}, runmodel.Span{}},
		"a cost that is none": {func(span ptrace.Span) {
			span.Attributes().PutDouble(runmodel.KeyCostUSD, -1)
			span.Attributes().PutStr(runmodel.KeyCostSource, runmodel.CostComputed)
		}, runmodel.Span{}},
		"more than anything costs": {func(span ptrace.Span) { span.Attributes().PutDouble(runmodel.KeyCostUSD, 1.7e308) }, runmodel.Span{}},
		"withdrawn":                {func(span ptrace.Span) { span.Attributes().PutStr(runmodel.KeyCostSource, runmodel.CostWithdrawn) }, runmodel.Span{CostSource: runmodel.CostWithdrawn}},
	} {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, "0198a1b2-0000-7000-8000-000000000001")
		span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.SetTraceID([16]byte{1})
		span.SetSpanID([8]byte{2})
		test.set(span)
		var rows Rows
		require.NoError(t, rows.Add(td))
		got := runmodel.Span{CostUSD: rows.Spans[0].CostUSD, CostSource: rows.Spans[0].CostSource, PriceVersion: rows.Spans[0].PriceVersion}
		assert.Equal(t, test.want, got, name)
	}
}
