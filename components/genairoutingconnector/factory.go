package genairoutingconnector

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pipeline"

	"github.com/looptrace/looptrace/components/genairoutingconnector/internal/metadata"
	"github.com/looptrace/looptrace/internal/genaispans"
)

// NewFactory returns the factory of the connector.
func NewFactory() connector.Factory {
	return connector.NewFactory(metadata.Type, createDefaultConfig,
		connector.WithTracesToTraces(createTracesToTraces, metadata.TracesToTracesStability))
}

func createTracesToTraces(_ context.Context, set connector.Settings, cfg component.Config, next consumer.Traces) (connector.Traces, error) {
	router, ok := next.(connector.TracesRouterAndConsumer)
	if !ok {
		return nil, errors.New("the connector must be the receiver of a pipeline")
	}
	c := cfg.(*Config)
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	r := &routingConnector{mapper: genaispans.NewMapper(c.Rules), wholeTraces: c.Unit == unitTrace, telemetry: telemetry}
	for _, route := range []struct {
		to        *consumer.Traces
		name      string
		pipelines []pipeline.ID
	}{{&r.genai, "genai", c.GenAI}, {&r.other, "other", c.Other}} {
		if len(route.pipelines) == 0 {
			continue
		}
		if *route.to, err = router.Consumer(route.pipelines...); err != nil {
			return nil, fmt.Errorf("%s: each pipeline must have the connector as a receiver: %w", route.name, err)
		}
	}
	return r, nil
}
