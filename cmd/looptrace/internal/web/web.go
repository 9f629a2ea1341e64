// Package web is the address that people open: it serves the UI and forwards requests to the API and ingest, so that
// the browser has a single origin.
package web

import (
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/looptrace/looptrace/internal/allowedhost"
	"github.com/looptrace/looptrace/internal/requestbody"
)

// Config configures the handler.
type Config struct {
	// API and Ingest are the base addresses of the control plane and of the collector's JSON receiver.
	API, Ingest *url.URL
	// Collector is the base address of the collector's /readyz. If it is nil, the collector is not asked.
	Collector *url.URL
	// UI is the folder of the built UI.
	UI string
	// TrustedProxies are the proxies whose X-Forwarded-For and X-Forwarded-Proto are used.
	TrustedProxies TrustedProxies
	// Hosts are the valid Host headers of requests for the UI.
	Hosts allowedhost.List
}

// largeBodyTime is how long the body of an import may take, as the API allows.
const largeBodyTime = time.Hour

func withLargeBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requestbody.Extend(r.Context(), largeBodyTime)
		next.ServeHTTP(w, r)
	})
}

// NewHandler routes every request to the UI, the API or ingest.
func NewHandler(c Config) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := newMetrics(registry)
	ui, api, ingest := m.observe("ui", checkHost(c.Hosts, newFiles(c.UI))), m.observe("api", newProxy("The API", c.API, c.TrustedProxies)), m.observe("ingest", newProxy("Ingest", c.Ingest, c.TrustedProxies))

	mux := http.NewServeMux()
	mux.Handle("POST /v1/runs", ingest)
	mux.Handle("POST /v1/traces", ingest)
	mux.Handle("POST /v1/logs", ingest)
	mux.Handle("POST /v1/datasets/{dataset_id}/imports", withLargeBody(api))
	mux.Handle("/v1/", api)
	mux.Handle("/mcp", api)
	mux.Handle("GET /llms.txt", api)
	// For any Host: they are requested by a container's address, and contain no recorded data.
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answerHealth(w, ok, nil) })
	mux.HandleFunc("GET /readyz", newHealth(c).serve)
	mux.Handle("/", ui)
	return mux
}
