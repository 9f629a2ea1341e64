// Package web is the one address that people open: it serves the UI and forwards the API and ingest behind
// it, so that the browser meets a single origin.
package web

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config says what to serve.
type Config struct {
	// API and Ingest are the base addresses of the control plane and of the collector's JSON door.
	API, Ingest *url.URL
	// UI is the folder of the built UI.
	UI string
}

// NewHandler routes every request to the UI, the API or ingest.
func NewHandler(c Config) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := newMetrics(registry)
	ui, api, ingest := m.observe("ui", newFiles(c.UI)), m.observe("api", newProxy(c.API)), m.observe("ingest", newProxy(c.Ingest))

	mux := http.NewServeMux()
	mux.Handle("POST /v1/runs", ingest)
	mux.Handle("POST /v1/traces", ingest)
	mux.Handle("/v1/", api)
	mux.Handle("/mcp", api)
	mux.Handle("/mcp/", api)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answerHealth(w, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		_, err := os.Stat(filepath.Join(c.UI, indexFile))
		answerHealth(w, err)
	})
	mux.Handle("/", ui)
	return mux
}

func answerHealth(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	status := "ok"
	if err != nil {
		status = "unavailable"
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = fmt.Fprintf(w, "{\"status\":%q}\n", status) // the client may be gone
}
