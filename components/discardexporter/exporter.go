package discardexporter

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/looptrace/looptrace/components/discardexporter/internal/metadata"
	"github.com/looptrace/looptrace/internal/partialsuccess"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

type discardExporter struct {
	component.StartFunc
	telemetry *metadata.TelemetryBuilder
	told      partialsuccess.Told
}

func newExporter(set exporter.Settings) (*discardExporter, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &discardExporter{telemetry: telemetry}, nil
}

// Capabilities reports that data are not changed.
func (e *discardExporter) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: false}
}

// Shutdown ends the exporter's telemetry.
func (e *discardExporter) Shutdown(context.Context) error {
	e.telemetry.Shutdown()
	return nil
}

// ConsumeLogs discards log records.
func (e *discardExporter) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	e.discard(ctx, int64(ld.LogRecordCount()), "logs")
	return nil
}

// ConsumeMetrics discards data points.
func (e *discardExporter) ConsumeMetrics(ctx context.Context, md pmetric.Metrics) error {
	e.discard(ctx, int64(md.DataPointCount()), "metrics")
	return nil
}

func (e *discardExporter) discard(ctx context.Context, items int64, signal string) {
	ratelimit.ChargeSpans(ctx, 0) // otherwise their bytes are charged as spans
	e.telemetry.DiscardItems.Add(ctx, items, metric.WithAttributes(attribute.String("signal", signal)))
	if e.told.First(client.FromContext(ctx).Addr) {
		partialsuccess.Reject(ctx, items, fmt.Sprintf("Looptrace keeps no %s and discards what you send. "+
			"OTEL_%s_EXPORTER=none stops an SDK from sending them; docs/collector.md says how to forward them. This is said once an hour.",
			signal, strings.ToUpper(signal)))
	}
}
