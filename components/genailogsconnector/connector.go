package genailogsconnector

import (
	"context"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/looptrace/looptrace/components/genailogsconnector/internal/metadata"
	"github.com/looptrace/looptrace/internal/genailogs"
	"github.com/looptrace/looptrace/internal/partialsuccess"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

type logsConnector struct {
	component.StartFunc
	cfg       *Config
	next      consumer.Traces
	telemetry *metadata.TelemetryBuilder
	told      partialsuccess.Told
}

// Capabilities reports that logs are not changed.
func (c *logsConnector) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: false}
}

// Shutdown ends the connector's telemetry.
func (c *logsConnector) Shutdown(context.Context) error {
	c.telemetry.Shutdown()
	return nil
}

// ConsumeLogs converts GenAI events to spans, passes those on, and returns the result of their consumer. It counts
// and drops other records. The answer to the client names those that can never be joined to a span.
func (c *logsConnector) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	td, counts := genailogs.ToSpans(ld)
	ratelimit.ChargeSpans(ctx, td.SpanCount()) // even if all records were dropped: otherwise their bytes are charged as spans
	if td.SpanCount() > 0 {
		if err := c.next.ConsumeTraces(ctx, td); err != nil {
			return err
		}
	}
	if counts.NoSpan > 0 {
		partialsuccess.Reject(ctx, counts.NoSpan, "GenAI events without a trace id and a span id belong to no span, and are not stored. "+
			"Some clients send such events although their tracing is on: what their spans say is stored. Else turn on the tracing.")
	}
	if c.cfg.ReportOthers && counts.Other > 0 && c.told.First(client.FromContext(ctx).Addr) {
		partialsuccess.Reject(ctx, counts.Other, "Looptrace keeps no log records but GenAI events, and discards the others. "+
			"docs/collector.md says how to forward them. This is said once an hour.")
	}
	for outcome, n := range counts.ByOutcome() {
		if n > 0 {
			c.telemetry.GenailogsRecords.Add(ctx, n, metric.WithAttributeSet(attribute.NewSet(attribute.String("record", outcome))))
		}
	}
	return nil
}
