package genailogsconnector

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/looptrace/looptrace/components/genailogsconnector/internal/metadata"
	"github.com/looptrace/looptrace/internal/genailogs"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

type logsConnector struct {
	component.StartFunc
	next      consumer.Traces
	telemetry *metadata.TelemetryBuilder
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
// and drops other records.
func (c *logsConnector) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	td, counts := genailogs.ToSpans(ld)
	ratelimit.ChargeSpans(ctx, td.SpanCount()) // even if all records were dropped: otherwise their bytes are charged as spans
	if td.SpanCount() > 0 {
		if err := c.next.ConsumeTraces(ctx, td); err != nil {
			return err
		}
	}
	for outcome, n := range counts.ByOutcome() {
		if n > 0 {
			c.telemetry.GenailogsRecords.Add(ctx, n, metric.WithAttributeSet(attribute.NewSet(attribute.String("record", outcome))))
		}
	}
	return nil
}
