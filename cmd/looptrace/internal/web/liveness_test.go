package web_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/web"
)

// A backend that hangs is a port whose connections nobody accepts: the kernel completes them, as for a stopped process. All that wait
// for it get 503, and the next request is answered as soon as it goes on.
func TestBackendHangs(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	hung := parse(t, "http://"+listener.Addr().String())
	handler := web.NewHandler(web.Config{API: hung, Ingest: hung, UI: uiDir(t), Hosts: hosts(t)})
	var waiting sync.WaitGroup
	for _, c := range []struct{ method, target, detail string }{
		{http.MethodGet, "/v1/runs", "The API is not answering: its process is stopped or overloaded. Try again in a few seconds. If it"},
		{http.MethodGet, "/v1/events?wait_seconds=60", "The API is not answering"},
		{http.MethodPost, "/v1/projects", "The API is not answering: its process is stopped or overloaded. Try again in a few seconds. It may still carry out this request. If it"},
		{http.MethodPost, "/mcp", "The API is not answering"},
		{http.MethodPost, "/v1/runs", "Ingest is not answering"},
		{http.MethodPost, "/v1/traces", "Ingest is not answering"},
	} {
		waiting.Go(func() {
			begin := time.Now()
			response := do(t, handler, c.method, c.target, nil)
			t.Logf("%s %s: %.1f s", c.method, c.target, time.Since(begin).Seconds())
			assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode, c.target)
			assert.Equal(t, "2", response.Header.Get("Retry-After"))
			assert.Equal(t, "application/problem+json", response.Header.Get("Content-Type"))
			body := text(t, response)
			assert.Contains(t, body, `"code":"upstream_silent"`)
			assert.Contains(t, body, c.detail)
		})
	}
	waiting.Wait()

	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "it goes on")
	})}
	go func() { _ = server.Serve(listener) }() // until the test closes it
	t.Cleanup(func() { _ = server.Close() })
	assert.Equal(t, "it goes on", text(t, do(t, handler, http.MethodGet, "/v1/runs", nil)))
}

// A backend that lives may take as long as it likes: while it answers /healthz, and while it stops in order and refuses new requests.
func TestBackendIsSlow(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			asked <- struct{}{}
			return
		}
		for range 3 {
			<-asked
		}
		assert.NoError(t, server.Listener.Close())
		time.Sleep(3 * time.Second) // is asked twice meanwhile
		_, _ = io.WriteString(w, "slow work")
	}))
	t.Cleanup(server.Close)
	handler := web.NewHandler(web.Config{API: parse(t, server.URL), Ingest: backend(t, "ingest"), UI: uiDir(t), Hosts: hosts(t)})
	response := do(t, handler, http.MethodGet, "/v1/runs/7/export", nil)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "slow work", text(t, response))
}
