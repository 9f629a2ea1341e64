package ratelimitextension

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/looptrace/looptrace/components/ratelimitextension/internal/metadata"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

// watchEvery is how often the view of the other replicas is checked for changes to log.
const watchEvery = time.Second

type rateLimit struct {
	cfg       *Config
	settings  extension.Settings
	telemetry *metadata.TelemetryBuilder
	limiter   *ratelimit.Limiter
	defaults  policy
	// jitter spreads the retries of clients that are refused at the same time.
	jitter func(limit int64) int64

	stop       context.CancelFunc
	loops      sync.WaitGroup
	membership *ratelimit.Membership
}

var (
	_ extension.Extension            = (*rateLimit)(nil)
	_ extensionmiddleware.HTTPServer = (*rateLimit)(nil)
	_ extensionmiddleware.GRPCServer = (*rateLimit)(nil)
)

func newExtension(set extension.Settings, cfg *Config) (*rateLimit, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &rateLimit{
		cfg:       cfg,
		settings:  set,
		telemetry: telemetry,
		limiter:   ratelimit.New(),
		defaults:  policy{key: cfg.Key.limits(), project: cfg.Project.limits()},
		jitter:    ratelimit.Jitter,
	}, nil
}

// Start learns what the other replicas have admitted. It succeeds even if Kafka is away.
func (l *rateLimit) Start(ctx context.Context, _ component.Host) error {
	if err := l.register(); err != nil {
		return err
	}
	if len(l.cfg.Usage.Brokers) == 0 {
		return nil
	}
	usage := &l.cfg.Usage
	secure, err := usage.Options(ctx)
	if err != nil {
		return err
	}
	membership, caughtUp, err := l.limiter.ShareOverKafka(ctx, usage.Brokers, usage.Topic, l.settings.ID.String(), usage.ReplicaID, secure...)
	if err != nil {
		return err
	}
	l.membership = membership
	if !caughtUp {
		l.settings.Logger.Warn("The usage of other replicas could not be read yet; limiting by this replica's share",
			zap.String("topic", usage.Topic))
	}
	// What is started here ends with Shutdown, not with Start's context.
	var running context.Context
	running, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	l.loops.Go(func() { l.watch(running) })
	return nil
}

// Shutdown publishes what was admitted last.
func (l *rateLimit) Shutdown(ctx context.Context) error {
	l.telemetry.Shutdown()
	if l.stop != nil {
		l.stop()
		l.loops.Wait()
	}
	if l.membership != nil {
		l.membership.Close(ctx)
	}
	return nil
}

func (l *rateLimit) register() error {
	if err := l.telemetry.RegisterRatelimitBucketsCallback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(int64(l.limiter.Len()))
		return nil
	}); err != nil {
		return err
	}
	if err := l.telemetry.RegisterRatelimitReplicasCallback(func(_ context.Context, o metric.Int64Observer) error {
		n, _ := l.limiter.Replicas()
		o.Observe(int64(n))
		return nil
	}); err != nil {
		return err
	}
	return l.telemetry.RegisterRatelimitFreshCallback(func(_ context.Context, o metric.Int64Observer) error {
		value := int64(0)
		if _, fresh := l.limiter.Replicas(); fresh {
			value = 1
		}
		o.Observe(value)
		return nil
	})
}

// watch logs when the view of the other replicas is lost or restored.
func (l *rateLimit) watch(ctx context.Context) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	_, known := l.limiter.Replicas()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		n, fresh := l.limiter.Replicas()
		switch {
		case fresh == known:
		case fresh:
			l.settings.Logger.Info("The usage of all replicas is known", zap.Int("replicas", n))
		default:
			l.settings.Logger.Warn("The usage of other replicas is not known in time; limiting by this replica's share",
				zap.Int("replicas", n))
		}
		known = fresh
	}
}
