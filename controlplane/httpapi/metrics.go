package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

type metrics struct {
	duration *prometheus.HistogramVec
	handler  http.Handler
}

func newMetrics() *metrics {
	registry := prometheus.NewRegistry()
	m := &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "looptrace_http_request_duration_seconds",
			Help:    "How long requests took, by route and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"method", "route", "status"}),
		handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
	}
	registry.MustRegister(m.duration, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// observe counts a request under its route. The number of paths is unbounded.
func (m *metrics) observe(method, route string, status int, elapsed time.Duration) {
	if route == noRoute {
		method = noRoute // methods are unbounded too
	}
	m.duration.WithLabelValues(method, route, strconv.Itoa(status)).Observe(elapsed.Seconds())
}

func (m *metrics) serve(c *gin.Context) { m.handler.ServeHTTP(c.Writer, c.Request) }
