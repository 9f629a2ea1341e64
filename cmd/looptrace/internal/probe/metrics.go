package probe

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the results of a probe.
type Metrics struct {
	registry *prometheus.Registry
	visible  prometheus.Histogram
	accepted prometheus.Histogram
	failures *prometheus.CounterVec
	last     prometheus.Gauge
}

// NewMetrics returns metrics without results.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		visible: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "looptrace_probe_visible_seconds",
			Help:    "Time from the answer 202 until the run could be read over the API. Its count is the runs that became visible.",
			Buckets: []float64{.05, .1, .2, .3, .5, 1, 2, 5, 10, 30, 60},
		}),
		accepted: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "looptrace_probe_accepted_seconds",
			Help:    "Time from the request to the answer 202.",
			Buckets: []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10},
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "looptrace_probe_failures_total",
			Help: "Runs that failed, by stage: ingest (not accepted), visible (accepted and not there after 60 s: lost or very late), read (accepted, and the API did not answer whether it exists).",
		}, []string{"stage"}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "looptrace_probe_last_visible_timestamp_seconds",
			Help: "When a run last became visible, in Unix time; 0 before the first.",
		}),
	}
	m.registry.MustRegister(m.visible, m.accepted, m.failures, m.last)
	for _, stage := range []string{StageIngest, StageRead, StageVisible} {
		m.failures.WithLabelValues(stage) // start at 0, so that the first failure is an increase
	}
	return m
}

// Handler serves the metrics at /metrics.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

// Run probes every interval until ctx ends. A run that takes longer delays the next one.
func (p *Probe) Run(ctx context.Context, interval time.Duration, m *Metrics, log *slog.Logger) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		result, err := p.Once(ctx)
		if ctx.Err() != nil {
			return
		}
		m.note(result, err)
		if err != nil {
			log.WarnContext(ctx, "a probe failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (m *Metrics) note(result Result, err error) {
	if result.Accepted > 0 {
		m.accepted.Observe(result.Accepted.Seconds())
	}
	if failure := (*FailedError)(nil); errors.As(err, &failure) {
		m.failures.WithLabelValues(failure.Stage).Inc()
		return
	}
	m.visible.Observe(result.Visible.Seconds())
	m.last.SetToCurrentTime()
}
