package genairoutingconnector

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/looptrace/looptrace/components/genairoutingconnector/internal/metadatatest"
)

var (
	toGenAI = pipeline.NewIDWithName(pipeline.SignalTraces, "genai")
	toOther = pipeline.NewIDWithName(pipeline.SignalTraces, "other")
)

// service adds a resource with one scope and its spans: a name in capitals makes a model call, another one a request.
// The first letter decides the trace.
func service(td ptrace.Traces, name string, spans ...string) {
	rs := td.ResourceSpans().AppendEmpty()
	rs.SetSchemaUrl("resource schema")
	rs.Resource().Attributes().PutStr("service.name", name)
	ss := rs.ScopeSpans().AppendEmpty()
	ss.SetSchemaUrl("scope schema")
	ss.Scope().SetName("scope of " + name)
	for i, span := range spans {
		s := ss.Spans().AppendEmpty()
		s.SetName(span)
		s.SetTraceID(pcommon.TraceID{span[0] | 0x20})
		s.SetSpanID(pcommon.SpanID{byte(i + 1)})
		if span[0] < 'a' {
			s.Attributes().PutStr("gen_ai.operation.name", "chat")
		} else {
			s.Attributes().PutStr("http.request.method", "GET")
		}
	}
}

// names returns the names of the spans by service, and checks that resource and scope came with them.
func names(t *testing.T, sink *consumertest.TracesSink) map[string][]string {
	t.Helper()
	got := map[string][]string{}
	for _, td := range sink.AllTraces() {
		for _, rs := range td.ResourceSpans().All() {
			name, _ := rs.Resource().Attributes().Get("service.name")
			assert.Equal(t, "resource schema", rs.SchemaUrl())
			for _, ss := range rs.ScopeSpans().All() {
				assert.Equal(t, "scope schema", ss.SchemaUrl())
				assert.Equal(t, "scope of "+name.Str(), ss.Scope().Name())
				for _, s := range ss.Spans().All() {
					got[name.Str()] = append(got[name.Str()], s.Name())
				}
			}
			assert.NotEmpty(t, got[name.Str()], "no resource without spans")
		}
	}
	return got
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	type byService = map[string][]string
	for _, tt := range []struct {
		name, unit   string
		genai, other byService
		dropsOther   bool
	}{
		{
			name: "traces", unit: unitTrace,
			genai: byService{"web": {"a", "C"}, "agent": {"A", "a", "B"}},
			other: byService{"web": {"x", "y"}, "cron": {"z"}},
		},
		{
			name: "spans", unit: unitSpan,
			genai: byService{"web": {"C"}, "agent": {"A", "B"}},
			other: byService{"web": {"a", "x", "y"}, "agent": {"a"}, "cron": {"z"}},
		},
		{
			name: "agents alone", unit: unitTrace, dropsOther: true,
			genai: byService{"web": {"a", "C"}, "agent": {"A", "a", "B"}},
			other: byService{},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			genai, other := new(consumertest.TracesSink), new(consumertest.TracesSink)
			tel := componenttest.NewTelemetry()
			t.Cleanup(func() { assert.NoError(t, tel.Shutdown(context.Background())) })
			cfg := createDefaultConfig().(*Config)
			cfg.Unit, cfg.GenAI, cfg.Other = tt.unit, []pipeline.ID{toGenAI}, []pipeline.ID{toOther}
			if tt.dropsOther {
				cfg.Other = nil
			}
			require.NoError(t, cfg.Validate())
			c, err := NewFactory().CreateTracesToTraces(t.Context(), metadatatest.NewSettings(tel), cfg,
				connector.NewTracesRouter(map[pipeline.ID]consumer.Traces{toGenAI: genai, toOther: other}))
			require.NoError(t, err)
			require.NoError(t, c.Start(t.Context(), componenttest.NewNopHost()))

			td := ptrace.NewTraces()
			service(td, "web", "a", "x", "C", "y")
			service(td, "cron", "z")
			service(td, "agent", "A", "a", "B")
			require.NoError(t, c.ConsumeTraces(t.Context(), td))
			assert.Equal(t, tt.genai, names(t, genai))
			assert.Equal(t, tt.other, names(t, other))

			count := func(n byService) (total int64) {
				for _, spans := range n {
					total += int64(len(spans))
				}
				return total
			}
			points := []metricdata.DataPoint[int64]{{Value: count(tt.genai), Attributes: attribute.NewSet(attribute.String("route", "genai"))}}
			rest := metricdata.DataPoint[int64]{Value: 8 - count(tt.genai), Attributes: attribute.NewSet(attribute.String("route", "other"))}
			if tt.dropsOther {
				metadatatest.AssertEqualGenairoutingSpansDropped(t, tel, []metricdata.DataPoint[int64]{rest}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
			} else {
				points = append(points, rest)
			}
			metadatatest.AssertEqualGenairoutingSpans(t, tel, points, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
			require.NoError(t, c.Shutdown(t.Context()))
		})
	}
}

// A batch of one kind passes as it is, even with resources that have no spans.
func TestBatchOfOneKind(t *testing.T) {
	t.Parallel()
	genai, other := new(consumertest.TracesSink), new(consumertest.TracesSink)
	cfg := &Config{Unit: unitTrace, GenAI: []pipeline.ID{toGenAI}, Other: []pipeline.ID{toOther}}
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, tel.Shutdown(context.Background())) })
	c, err := NewFactory().CreateTracesToTraces(t.Context(), metadatatest.NewSettings(tel), cfg,
		connector.NewTracesRouter(map[pipeline.ID]consumer.Traces{toGenAI: genai, toOther: other}))
	require.NoError(t, err)
	for _, tt := range []struct {
		span string
		to   *consumertest.TracesSink
	}{{"A", genai}, {"a", other}} {
		td := ptrace.NewTraces()
		service(td, "empty")
		service(td, "web", tt.span)
		want := ptrace.NewTraces()
		td.CopyTo(want)
		require.NoError(t, c.ConsumeTraces(t.Context(), td))
		require.Len(t, tt.to.AllTraces(), 1)
		assert.Equal(t, want, tt.to.AllTraces()[0])
	}
	require.NoError(t, c.ConsumeTraces(t.Context(), ptrace.NewTraces()))
}

// The error of a route is the sender's to repeat.
func TestErrors(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	for _, failing := range []pipeline.ID{toGenAI, toOther} {
		to := map[pipeline.ID]consumer.Traces{toGenAI: consumertest.NewNop(), toOther: consumertest.NewNop()}
		to[failing] = consumertest.NewErr(away)
		cfg := &Config{Unit: unitSpan, GenAI: []pipeline.ID{toGenAI}, Other: []pipeline.ID{toOther}}
		tel := componenttest.NewTelemetry()
		t.Cleanup(func() { assert.NoError(t, tel.Shutdown(context.Background())) })
		c, err := NewFactory().CreateTracesToTraces(t.Context(), metadatatest.NewSettings(tel), cfg, connector.NewTracesRouter(to))
		require.NoError(t, err)
		td := ptrace.NewTraces()
		service(td, "web", "A", "b")
		require.ErrorIs(t, c.ConsumeTraces(t.Context(), td), away)
	}
	cfg := &Config{Unit: unitSpan, GenAI: []pipeline.ID{pipeline.NewIDWithName(pipeline.SignalTraces, "missing")}}
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, tel.Shutdown(context.Background())) })
	_, err := NewFactory().CreateTracesToTraces(t.Context(), metadatatest.NewSettings(tel), cfg,
		connector.NewTracesRouter(map[pipeline.ID]consumer.Traces{toGenAI: consumertest.NewNop(), toOther: consumertest.NewNop()}))
	require.ErrorContains(t, err, "genai: each pipeline must have the connector as a receiver")
}
