package discardexporter

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"

	"github.com/looptrace/looptrace/components/discardexporter/internal/metadata"
)

// Config has no options.
type Config struct{}

// NewFactory returns the factory of the exporter.
func NewFactory() exporter.Factory {
	return exporter.NewFactory(metadata.Type, func() component.Config { return &Config{} },
		exporter.WithLogs(createLogs, metadata.LogsStability),
		exporter.WithMetrics(createMetrics, metadata.MetricsStability))
}

func createLogs(_ context.Context, set exporter.Settings, _ component.Config) (exporter.Logs, error) {
	return newExporter(set)
}

func createMetrics(_ context.Context, set exporter.Settings, _ component.Config) (exporter.Metrics, error) {
	return newExporter(set)
}
