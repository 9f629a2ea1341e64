package genailogsconnector

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"

	"github.com/looptrace/looptrace/components/genailogsconnector/internal/metadata"
)

// Config is the connector's configuration.
type Config struct {
	// ReportOthers tells each client once an hour that records which are no GenAI events are dropped. It should be false
	// if another exporter of the pipeline takes all records.
	ReportOthers bool `mapstructure:"report_others"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// NewFactory returns the factory of the connector.
func NewFactory() connector.Factory {
	return connector.NewFactory(metadata.Type, func() component.Config { return &Config{ReportOthers: true} },
		connector.WithLogsToTraces(createLogsToTraces, metadata.LogsToTracesStability))
}

func createLogsToTraces(_ context.Context, set connector.Settings, cfg component.Config, next consumer.Traces) (connector.Logs, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &logsConnector{cfg: cfg.(*Config), next: next, telemetry: telemetry}, nil
}
