package runsreceiver

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/looptrace/looptrace/components/runsreceiver/internal/metadata"
)

// NewFactory returns the factory of the receiver.
func NewFactory() receiver.Factory {
	f := &factory{receivers: make(map[*Config]*runsReceiver)}
	return receiver.NewFactory(
		metadata.Type,
		createDefaultConfig,
		receiver.WithTraces(f.createTraces, metadata.TracesStability),
		receiver.WithLogs(f.createLogs, metadata.LogsStability),
		receiver.WithMetrics(f.createMetrics, metadata.MetricsStability),
	)
}

// factory makes one receiver of a configuration, for the pipelines of all its signals: they share a server.
type factory struct {
	mu        sync.Mutex
	receivers map[*Config]*runsReceiver
}

// receiverOf returns the receiver of a configuration, with the consumer that set adds.
func (f *factory) receiverOf(settings receiver.Settings, cfg component.Config, set func(*runsReceiver)) (*runsReceiver, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := cfg.(*Config)
	r, ok := f.receivers[c]
	if !ok {
		var err error
		if r, err = newRunsReceiver(c, settings); err != nil {
			return nil, err
		}
		r.forget = func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.receivers, c)
		}
		f.receivers[c] = r
	}
	set(r)
	return r, nil
}

func (f *factory) createTraces(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
	return f.receiverOf(set, cfg, func(r *runsReceiver) { r.traces = next })
}

func (f *factory) createLogs(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
	return f.receiverOf(set, cfg, func(r *runsReceiver) { r.logs = next })
}

func (f *factory) createMetrics(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	return f.receiverOf(set, cfg, func(r *runsReceiver) { r.metrics = next })
}
