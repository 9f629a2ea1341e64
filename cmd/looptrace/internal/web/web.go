// Package web is the one address that people open: it serves the UI and forwards the API and ingest behind
// it, so that the browser meets a single origin.
package web

import (
	"net/http"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/looptrace/looptrace/internal/allowedhost"
)

// Config says what to serve.
type Config struct {
	// API and Ingest are the base addresses of the control plane and of the collector's JSON door.
	API, Ingest *url.URL
	// Collector is the base address at which the collector answers /readyz; nil where it is not asked.
	Collector *url.URL
	// UI is the folder of the built UI.
	UI string
	// TrustedProxies are believed about whom they ask for (X-Forwarded-For) and how they were asked (X-Forwarded-Proto).
	TrustedProxies TrustedProxies
	// Hosts are what a request for the UI may name.
	Hosts allowedhost.List
}

// NewHandler routes every request to the UI, the API or ingest.
func NewHandler(c Config) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := newMetrics(registry)
	ui, api, ingest := m.observe("ui", ownHost(c.Hosts, newFiles(c.UI))), m.observe("api", newProxy(c.API, c.TrustedProxies)), m.observe("ingest", newProxy(c.Ingest, c.TrustedProxies))

	mux := http.NewServeMux()
	mux.Handle("POST /v1/runs", ingest)
	mux.Handle("POST /v1/traces", ingest)
	mux.Handle("POST /v1/logs", ingest)
	mux.Handle("/v1/", api)
	mux.Handle("/mcp", api)
	mux.Handle("GET /llms.txt", api)
	// At whatever host: they are asked by the address of a container, and hold nothing of what was recorded.
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answerHealth(w, ok, nil) })
	mux.HandleFunc("GET /readyz", newHealth(c).serve)
	mux.Handle("/", ui)
	return mux
}
