package genairoutingconnector

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/looptrace/looptrace/components/genairoutingconnector/internal/metadata"
	"github.com/looptrace/looptrace/internal/genaispans"
)

type routingConnector struct {
	component.StartFunc
	mapper      *genaispans.Mapper
	wholeTraces bool
	// genai and other are nil if what goes there is dropped.
	genai, other consumer.Traces
	telemetry    *metadata.TelemetryBuilder
}

// Capabilities reports that spans are moved out of the data.
func (c *routingConnector) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// Shutdown ends the connector's telemetry.
func (c *routingConnector) Shutdown(context.Context) error {
	c.telemetry.Shutdown()
	return nil
}

// ConsumeTraces sends each span on its route. If a route does not take its spans, its error is returned. The sender then
// sends all of them again, and the other route may get its own twice.
func (c *routingConnector) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	genai := c.takeGenAI(td)
	if err := c.send(ctx, c.genai, genai, "genai"); err != nil {
		return err
	}
	return c.send(ctx, c.other, td, "other")
}

func (c *routingConnector) send(ctx context.Context, to consumer.Traces, td ptrace.Traces, route string) error {
	n := int64(td.SpanCount())
	if n == 0 {
		return nil
	}
	labels := metric.WithAttributes(attribute.String("route", route))
	if to == nil {
		c.telemetry.GenairoutingSpansDropped.Add(ctx, n, labels)
		return nil
	}
	if err := to.ConsumeTraces(ctx, td); err != nil {
		return err
	}
	c.telemetry.GenairoutingSpans.Add(ctx, n, labels)
	return nil
}

// takeGenAI moves the GenAI spans out of td, or the traces that have one. Resources and scopes that lose all their spans go,
// too.
func (c *routingConnector) takeGenAI(td ptrace.Traces) ptrace.Traces {
	var flags []bool // of each span, in order
	found := 0
	traces := map[pcommon.TraceID]bool{}
	c.mapper.Classify(td, func(s ptrace.Span, isGenAI bool) {
		flags = append(flags, isGenAI)
		if isGenAI {
			found++
			traces[s.TraceID()] = true
		}
	})
	taken := ptrace.NewTraces()
	switch found {
	case 0:
		return taken
	case len(flags):
		td.MoveTo(taken)
		return taken
	}
	i := -1
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		var toResource ptrace.ResourceSpans
		inResource := false
		rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool {
			var toScope ptrace.ScopeSpans
			inScope, had := false, ss.Spans().Len() > 0
			ss.Spans().RemoveIf(func(s ptrace.Span) bool {
				i++
				if !flags[i] && (!c.wholeTraces || !traces[s.TraceID()]) {
					return false
				}
				if !inResource {
					toResource, inResource = taken.ResourceSpans().AppendEmpty(), true
					rs.Resource().CopyTo(toResource.Resource())
					toResource.SetSchemaUrl(rs.SchemaUrl())
				}
				if !inScope {
					toScope, inScope = toResource.ScopeSpans().AppendEmpty(), true
					ss.Scope().CopyTo(toScope.Scope())
					toScope.SetSchemaUrl(ss.SchemaUrl())
				}
				s.MoveTo(toScope.Spans().AppendEmpty())
				return true
			})
			return had && ss.Spans().Len() == 0
		})
		return inResource && rs.ScopeSpans().Len() == 0
	})
	return taken
}
