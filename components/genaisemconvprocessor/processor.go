package genaisemconvprocessor

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/looptrace/looptrace/components/genaisemconvprocessor/internal/metadata"
	"github.com/looptrace/looptrace/internal/genaispans"
)

type mappingProcessor struct {
	component.StartFunc
	next      consumer.Traces
	mapper    *genaispans.Mapper
	telemetry *metadata.TelemetryBuilder
	// counted holds the metric option of each dialect, so that no batch allocates it.
	counted [len(genaispans.Counts{})]metric.MeasurementOption
}

func newProcessor(set processor.Settings, cfg *Config, next consumer.Traces) (*mappingProcessor, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	p := &mappingProcessor{next: next, mapper: genaispans.NewMapper(cfg.Rules), telemetry: telemetry}
	for id, name := range genaispans.Dialects() {
		p.counted[id] = metric.WithAttributeSet(attribute.NewSet(attribute.String("dialect", name)))
	}
	return p, nil
}

// Capabilities says that the processor changes its input.
func (p *mappingProcessor) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// Shutdown stops the processor's telemetry.
func (p *mappingProcessor) Shutdown(context.Context) error {
	p.telemetry.Shutdown()
	return nil
}

// ConsumeTraces maps spans in place and passes them on.
func (p *mappingProcessor) ConsumeTraces(ctx context.Context, traces ptrace.Traces) error {
	counts := p.mapper.Map(traces)
	for id, n := range counts {
		if n > 0 {
			p.telemetry.GenaisemconvSpans.Add(ctx, n, p.counted[id])
		}
	}
	return p.next.ConsumeTraces(ctx, traces)
}
