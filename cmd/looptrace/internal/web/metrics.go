package web

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer) metrics {
	m := metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "looptrace_web_requests_total",
			Help: "Requests by the part that answered them.",
		}, []string{"part", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "looptrace_web_request_duration_seconds",
			Help:    "Time to the end of the answer, by the part that gave it.",
			Buckets: []float64{.005, .02, .05, .1, .3, 1, 3, 10},
		}, []string{"part"}),
	}
	registry.MustRegister(m.requests, m.duration)
	return m
}

func (m metrics) observe(part string, next http.Handler) http.Handler {
	label := prometheus.Labels{"part": part}
	return promhttp.InstrumentHandlerCounter(m.requests.MustCurryWith(label),
		promhttp.InstrumentHandlerDuration(m.duration.MustCurryWith(label), next))
}
