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
	// Secret proves to the API and to ingest that requests come from web; empty for none.
	Secret string
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

// runsPath is that of both the API, which reads runs, and ingest, which records them.
const runsPath = "/v1/runs"

// onlyPOST refuses the other methods of what ingest serves alone.
func onlyPOST(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Allow", http.MethodPost)
	answerProblem(w, http.StatusMethodNotAllowed, "method_not_allowed", "The resource does not support this method; see the Allow header.")
}

// sameOrigin forbids pages of other origins, such as another port of this machine, to load what a browser's cookie opens.
func sameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(resourcePolicy, "same-origin")
		next.ServeHTTP(w, r)
	})
}

// NewHandler routes every request to the UI, the API or ingest.
func NewHandler(c Config) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := newMetrics(registry)
	ui, api, ingest := m.observe("ui", checkHost(c.Hosts, newFiles(c.UI))), m.observe("api", newProxy("The API", c.API, c)), m.observe("ingest", newProxy("Ingest", c.Ingest, c))

	mux := http.NewServeMux()
	mux.Handle("POST "+runsPath, ingest)
	for _, path := range []string{"/v1/traces", "/v1/logs"} {
		mux.Handle("POST "+path, ingest)
		mux.HandleFunc(path, onlyPOST)
	}
	mux.Handle("POST /v1/datasets/{dataset_id}/imports", withLargeBody(api))
	mux.Handle("/v1/", api)
	mux.Handle("/mcp", api)
	mux.Handle("GET /llms.txt", api)
	// For any Host: they are requested by a container's address, and contain no recorded data.
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answerHealth(w, ok, nil) })
	mux.HandleFunc("GET /readyz", newHealth(c).serve)
	// Not the UI's page: clients of MCP look here for an authorization server, and take any 200 for one.
	for _, path := range []string{"/.well-known/", "/mcp/"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			answerProblem(w, http.StatusNotFound, "not_found", "There is nothing at this address. MCP is at /mcp, with an API key.")
		})
	}
	mux.Handle("/", ui)
	return sameOrigin(mux)
}
