package genaicostprocessor

import (
	"context"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/looptrace/looptrace/components/genaicostprocessor/internal/metadata"
	"github.com/looptrace/looptrace/internal/prices"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

var autumn = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func spanOf(attributes map[string]any) ptrace.Traces {
	td := ptrace.NewTraces()
	span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(autumn))
	if err := span.Attributes().FromRaw(attributes); err != nil {
		panic(err)
	}
	return td
}

// started returns a processor that runs until the test ends, and its output.
func started(t *testing.T, cfg *Config) (*costProcessor, *consumertest.TracesSink, *componenttest.Telemetry) {
	t.Helper()
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, telemetry.Shutdown(context.WithoutCancel(t.Context()))) })
	settings := processortest.NewNopSettings(metadata.Type)
	settings.TelemetrySettings = telemetry.NewTelemetrySettings()
	sink := new(consumertest.TracesSink)
	p, err := newProcessor(settings, cfg, sink)
	require.NoError(t, err)
	require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { assert.NoError(t, p.Shutdown(context.WithoutCancel(t.Context()))) })
	return p, sink, telemetry
}

// Prices of the configuration win over the table, from their day on.
func TestConfiguredPrices(t *testing.T) {
	t.Parallel()
	cfg := createDefaultConfig().(*Config)
	cfg.Prices = []ModelPrice{{Model: "GPT-4o", From: "2026-11-01", Input: 1, Output: 10}, {Model: "acme-*", From: "2026-11-21", Input: 5}}
	p, sink, _ := started(t, cfg)
	for _, model := range []string{"gpt-4o", "acme-large"} {
		require.NoError(t, p.ConsumeTraces(t.Context(), spanOf(map[string]any{
			runmodel.KeyProviderName: "openai", runmodel.KeyRequestModel: model,
			runmodel.KeyInputTokens: int64(1_000_000), runmodel.KeyOutputTokens: int64(1_000_000),
		})))
	}
	attributes := func(i int) map[string]any {
		return sink.AllTraces()[i].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().AsRaw()
	}
	assert.InDelta(t, 11.0, attributes(0)[runmodel.KeyCostUSD], 0)
	assert.Equal(t, "collector", attributes(0)[runmodel.KeyPriceVersion])
	assert.NotContains(t, attributes(1), runmodel.KeyCostUSD, "its price begins a day later")
}

func TestCosts(t *testing.T) {
	t.Parallel()
	p, sink, _ := started(t, createDefaultConfig().(*Config))
	version := prices.Default().Version
	call := func(more map[string]any) map[string]any {
		attributes := map[string]any{
			runmodel.KeyProviderName: "openai", runmodel.KeyRequestModel: "gpt-4o",
			runmodel.KeyInputTokens: int64(1000), runmodel.KeyOutputTokens: int64(500),
		}
		for key, value := range more {
			if attributes[key] = value; value == nil {
				delete(attributes, key)
			}
		}
		return attributes
	}
	for name, test := range map[string]struct {
		span map[string]any
		want map[string]any // of the attributes of a cost
	}{
		"computed": {call(nil), map[string]any{
			runmodel.KeyCostUSD: 0.0075, runmodel.KeyCostSource: "computed", runmodel.KeyPriceVersion: version,
		}},
		"the model that answered": {call(map[string]any{runmodel.KeyResponseModel: "gpt-4o-mini-2024-07-18"}), map[string]any{
			runmodel.KeyCostUSD: 0.00045, runmodel.KeyCostSource: "computed", runmodel.KeyPriceVersion: version,
		}},
		"cached": {call(map[string]any{runmodel.KeyCacheReadTokens: int64(600)}), map[string]any{
			runmodel.KeyCostUSD: 0.00675, runmodel.KeyCostSource: "computed", runmodel.KeyPriceVersion: version,
		}},
		"written for an hour": {call(map[string]any{
			runmodel.KeyProviderName: "anthropic", runmodel.KeyRequestModel: "claude-opus-4-5", runmodel.KeyOutputTokens: int64(0),
			runmodel.KeyCacheWriteTokens: int64(600), runmodel.KeyCacheWrite1hTokens: int64(200),
		}), map[string]any{
			runmodel.KeyCostUSD: 0.0065, runmodel.KeyCostSource: "computed", runmodel.KeyPriceVersion: version,
		}},
		"an embedding puts nothing out": {call(map[string]any{
			runmodel.KeyRequestModel: "text-embedding-3-small", runmodel.KeyOutputTokens: nil,
		}), map[string]any{runmodel.KeyCostUSD: 0.00002, runmodel.KeyCostSource: "computed", runmodel.KeyPriceVersion: version}},
		"counts as doubles": {call(map[string]any{runmodel.KeyInputTokens: 1000.0, runmodel.KeyOutputTokens: 500.0}), map[string]any{
			runmodel.KeyCostUSD: 0.0075, runmodel.KeyCostSource: "computed", runmodel.KeyPriceVersion: version,
		}},
		"tokens are known to be none": {call(map[string]any{runmodel.KeyInputTokens: int64(0), runmodel.KeyOutputTokens: int64(0)}), map[string]any{
			runmodel.KeyCostUSD: 0.0, runmodel.KeyCostSource: "computed", runmodel.KeyPriceVersion: version,
		}},
		"sent": {call(map[string]any{runmodel.KeyCostUSD: 0.5}), map[string]any{
			runmodel.KeyCostUSD: 0.5, runmodel.KeyCostSource: "sent", runmodel.KeyComputedCostUSD: 0.0075,
		}},
		"sent and rounded": {call(map[string]any{runmodel.KeyCostUSD: 0.00753}), map[string]any{
			runmodel.KeyCostUSD: 0.00753, runmodel.KeyCostSource: "sent",
		}},
		"sent for a model without a price": {call(map[string]any{runmodel.KeyCostUSD: 0.5, runmodel.KeyRequestModel: "nobody-knows"}), map[string]any{
			runmodel.KeyCostUSD: 0.5, runmodel.KeyCostSource: "sent",
		}},
		"sent as nothing": {call(map[string]any{runmodel.KeyCostUSD: int64(0)}), map[string]any{
			runmodel.KeyCostUSD: int64(0), runmodel.KeyCostSource: "sent", runmodel.KeyComputedCostUSD: 0.0075,
		}},
		"not itemised": {call(map[string]any{runmodel.KeyOtherTokens: int64(10)}), map[string]any{}},
		"computed before": {call(map[string]any{
			runmodel.KeyCostUSD: 0.5, runmodel.KeyCostSource: "computed", runmodel.KeyPriceVersion: "project:3",
		}), map[string]any{runmodel.KeyCostUSD: 0.5, runmodel.KeyCostSource: "computed", runmodel.KeyPriceVersion: "project:3"}},
		"sent, but no amount": {call(map[string]any{runmodel.KeyCostUSD: math.NaN()}), map[string]any{
			runmodel.KeyCostUSD: 0.0075, runmodel.KeyCostSource: "computed", runmodel.KeyPriceVersion: version,
		}},
		"sent, but more than there is": {call(map[string]any{runmodel.KeyCostUSD: 2e12}), map[string]any{
			runmodel.KeyCostUSD: 0.0075, runmodel.KeyCostSource: "computed", runmodel.KeyPriceVersion: version,
		}},
		"sent as a text": {call(map[string]any{runmodel.KeyCostUSD: "0.5"}), map[string]any{
			runmodel.KeyCostUSD: 0.0075, runmodel.KeyCostSource: "computed", runmodel.KeyPriceVersion: version,
		}},
		"tokens that others carry": {call(map[string]any{runmodel.KeyUsageCounted: false}), map[string]any{}},
		"tokens of its own": {call(map[string]any{runmodel.KeyUsageCounted: true}), map[string]any{
			runmodel.KeyCostUSD: 0.0075, runmodel.KeyCostSource: "computed", runmodel.KeyPriceVersion: version,
		}},
		"no price":               {call(map[string]any{runmodel.KeyRequestModel: "nobody-knows"}), map[string]any{}},
		"a local model":          {call(map[string]any{runmodel.KeyProviderName: "ollama"}), map[string]any{}},
		"no model":               {call(map[string]any{runmodel.KeyRequestModel: nil}), map[string]any{}},
		"no tokens":              {map[string]any{runmodel.KeyProviderName: "openai", runmodel.KeyRequestModel: "gpt-4o"}, map[string]any{}},
		"impossible tokens":      {map[string]any{runmodel.KeyRequestModel: "gpt-4o", runmodel.KeyInputTokens: int64(-5), runmodel.KeyOutputTokens: math.NaN()}, map[string]any{}},
		"more tokens than count": {call(map[string]any{runmodel.KeyInputTokens: int64(1 << 54), runmodel.KeyOutputTokens: math.Exp2(54)}), map[string]any{}},
		"values of other types":  {map[string]any{runmodel.KeyRequestModel: []any{"gpt-4o"}, runmodel.KeyInputTokens: "9", runmodel.KeyProviderName: int64(3)}, map[string]any{}},
		"a source of no cost":    {map[string]any{runmodel.KeyCostSource: "withdrawn", runmodel.KeyPriceVersion: "x", "a": "b"}, map[string]any{}},
		"another span":           {map[string]any{"http.request.method": "GET"}, map[string]any{}},
	} {
		sink.Reset()
		before := len(test.span)
		require.NoError(t, p.ConsumeTraces(t.Context(), spanOf(test.span)), name)
		attributes := sink.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().AsRaw()
		got := map[string]any{}
		for _, key := range []string{runmodel.KeyCostUSD, runmodel.KeyCostSource, runmodel.KeyPriceVersion, runmodel.KeyComputedCostUSD} {
			if value, ok := attributes[key]; ok {
				got[key] = value
				delete(attributes, key)
			}
			delete(test.span, key)
		}
		for _, key := range []string{runmodel.KeyCostUSD, runmodel.KeyComputedCostUSD} {
			if want, ok := test.want[key].(float64); ok && want > 0 {
				assert.InEpsilon(t, want, got[key], 1e-12, name)
				got[key] = want
			}
		}
		assert.Equal(t, test.want, got, name)
		assert.Len(t, attributes, len(test.span), "%s: of %d attributes none else is touched", name, before)
	}
}

// A whole run through the processor and the store's model: its cost is the sum of its calls.
func TestCostOfARun(t *testing.T) {
	t.Parallel()
	p, sink, _ := started(t, createDefaultConfig().(*Config))
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, "0198a1b2-0000-7000-8000-000000000001")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	add := func(id, parent byte, attributes map[string]any) {
		span := spans.AppendEmpty()
		span.SetTraceID([16]byte{1})
		span.SetSpanID([8]byte{id})
		if parent > 0 {
			span.SetParentSpanID([8]byte{parent})
		}
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(autumn.Add(time.Duration(id) * time.Second)))
		require.NoError(t, span.Attributes().FromRaw(attributes))
	}
	tokens := func(operation, model string, in, out int64, more ...any) map[string]any {
		attributes := map[string]any{
			runmodel.KeyOperationName: operation, runmodel.KeyProviderName: "openai", runmodel.KeyRequestModel: model,
			runmodel.KeyInputTokens: in, runmodel.KeyOutputTokens: out,
		}
		for i := 0; i < len(more); i += 2 {
			attributes[more[i].(string)] = more[i+1]
		}
		return attributes
	}
	add(1, 0, tokens("invoke_agent", "gpt-4o", 3100, 700))                           // the sum of the calls below: not counted again
	add(2, 1, tokens("chat", "gpt-4o", 1000, 500, runmodel.KeyCacheReadTokens, 600)) // 0.00675
	add(3, 1, tokens("chat", "gpt-4o", 1000, 100))                                   // 0.0035
	add(4, 1, tokens("chat", "gpt-4o", 1000, 100, runmodel.KeyUsageCounted, false))  // a wrapper
	add(5, 4, tokens("chat", "gpt-4o-mini", 1000, 100, runmodel.KeyCostUSD, 0.25))   // sent
	add(6, 1, tokens("embeddings", "text-embedding-3-small", 100, 0))                // 0.000002
	add(7, 1, map[string]any{runmodel.KeyOperationName: "execute_tool"})
	require.NoError(t, p.ConsumeTraces(t.Context(), td))
	var rows runpdata.Rows
	require.NoError(t, rows.Add(sink.AllTraces()[0]))
	// Tokens of a wrapper are excluded elsewhere. The wrapper has no cost.
	run := runmodel.Totals(rows.Spans)
	require.NotNil(t, run.CostUSD)
	assert.InEpsilon(t, 0.00675+0.0035+0.25+0.000002, *run.CostUSD, 1e-9)
	assert.Equal(t, runmodel.CostComputed, run.CostSource)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	p, _, telemetry := started(t, createDefaultConfig().(*Config))
	for i := range 3 * maxModels {
		require.NoError(t, p.ConsumeTraces(t.Context(), spanOf(map[string]any{
			runmodel.KeyRequestModel: "unknown-" + strconv.Itoa(i), runmodel.KeyInputTokens: int64(1),
		})))
	}
	require.NoError(t, p.ConsumeTraces(t.Context(), spanOf(map[string]any{
		runmodel.KeyRequestModel: strings.Repeat("x", 1<<16), runmodel.KeyInputTokens: int64(1),
	})))
	require.NoError(t, p.ConsumeTraces(t.Context(), spanOf(map[string]any{
		runmodel.KeyRequestModel: "gpt-4o", runmodel.KeyInputTokens: int64(1),
	})))
	unpriced, err := telemetry.GetMetric("otelcol_genaicost_unpriced_spans")
	require.NoError(t, err)
	models, total := 0, int64(0)
	for _, point := range unpriced.Data.(metricdata.Sum[int64]).DataPoints {
		models++
		total += point.Value
	}
	assert.Equal(t, maxModels+1, models, "the first hundred, and all others as one")
	assert.Equal(t, int64(3*maxModels+1), total)
	spans, err := telemetry.GetMetric("otelcol_genaicost_spans")
	require.NoError(t, err)
	counts := map[string]int64{}
	for _, point := range spans.Data.(metricdata.Sum[int64]).DataPoints {
		outcome, _ := point.Attributes.Value("outcome")
		counts[outcome.AsString()] = point.Value
	}
	assert.Equal(t, map[string]int64{"unpriced": 3*maxModels + 1, "computed": 1}, counts)
}

func FuzzCost(f *testing.F) {
	f.Add("openai", "gpt-4o", int64(1), int64(2), int64(3), int64(4), int64(5))
	f.Add("", "arn:aws:bedrock:x::y/z", int64(-1), int64(1<<62), int64(1<<62), int64(1<<62), int64(0))
	f.Fuzz(func(t *testing.T, provider, model string, in, out, read, write, reasoning int64) {
		td := spanOf(map[string]any{
			runmodel.KeyProviderName: provider, runmodel.KeyRequestModel: model, runmodel.KeyInputTokens: in, runmodel.KeyOutputTokens: out,
			runmodel.KeyCacheReadTokens: read, runmodel.KeyCacheWriteTokens: write, runmodel.KeyReasoningTokens: reasoning,
		})
		span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		price(span, prices.Default().Matcher())
		if cost, ok := span.Attributes().Get(runmodel.KeyCostUSD); ok && !isAmount(cost) {
			t.Fatalf("costs %v", cost.AsRaw())
		}
	})
}

func BenchmarkConsume(b *testing.B) {
	for name, attributes := range map[string]map[string]any{
		"call":  {runmodel.KeyProviderName: "openai", runmodel.KeyRequestModel: "gpt-4o", runmodel.KeyInputTokens: int64(1000), runmodel.KeyOutputTokens: int64(500)},
		"other": {"http.request.method": "GET", "url.full": "http://localhost/", "http.response.status_code": int64(200), "server.address": "localhost"},
	} {
		b.Run(name, func(b *testing.B) {
			p, err := newProcessor(processor.Settings{ID: processortest.NewNopSettings(metadata.Type).ID, TelemetrySettings: componenttest.NewNopTelemetrySettings()},
				createDefaultConfig().(*Config), consumertest.NewNop())
			require.NoError(b, err)
			td := spanOf(attributes)
			b.ReportAllocs()
			for b.Loop() {
				_ = p.ConsumeTraces(b.Context(), td)
				attrs := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
				attrs.Remove(runmodel.KeyCostUSD)
				attrs.Remove(runmodel.KeyCostSource)
				attrs.Remove(runmodel.KeyPriceVersion)
			}
		})
	}
}
