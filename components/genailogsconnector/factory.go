package genailogsconnector

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"

	"github.com/looptrace/looptrace/components/genailogsconnector/internal/metadata"
)

// Config has no options.
type Config struct{}

// NewFactory returns the factory of the connector.
func NewFactory() connector.Factory {
	return connector.NewFactory(metadata.Type, func() component.Config { return &Config{} },
		connector.WithLogsToTraces(createLogsToTraces, metadata.LogsToTracesStability))
}

func createLogsToTraces(_ context.Context, set connector.Settings, _ component.Config, next consumer.Traces) (connector.Logs, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &logsConnector{next: next, telemetry: telemetry}, nil
}
