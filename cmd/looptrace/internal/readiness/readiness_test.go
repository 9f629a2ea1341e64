package readiness_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/readiness"
)

func TestAsk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		status     int
		degraded   []string
		err        string
	}{
		{name: "well", status: 200, body: `{"status":"ok"}`},
		{
			name: "degraded", status: 200, body: `{"checks":{"queue":"ok","extension apikeyauth":"degraded: PostgreSQL is away"}}`,
			degraded: []string{"extension apikeyauth: degraded: PostgreSQL is away"},
		},
		{
			name: "not ready", status: 503, body: `{"checks":{"queue":"unavailable: gone","b":"ok","a":"unavailable"}}`,
			err: "a: unavailable; queue: unavailable: gone",
		},
		{name: "says nothing", status: 503, body: `{}`, err: "it answers 503 Service Unavailable"},
		{name: "another server", status: 200, body: `<html>`, err: "it answers 200 OK"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			degraded, err := readiness.Part{Name: "collector", Base: server.URL}.Ask(t.Context())
			assert.Equal(t, c.degraded, degraded)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
		})
	}
	_, err := readiness.Part{Name: "collector", Base: "http://127.0.0.1:1"}.Ask(t.Context())
	require.ErrorContains(t, err, "connection refused")

	listener, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts its connections
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = readiness.Part{Name: "collector", Base: "http://" + listener.Addr().String()}.Ask(ctx)
	require.ErrorContains(t, err, "ask collector: it does not answer: its process hangs or is overloaded")
}
