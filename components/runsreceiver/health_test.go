package runsreceiver

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/looptrace/looptrace/components/runsreceiver/internal/metadata"
)

// checker is a readiness extension.
type checker struct {
	component.StartFunc
	component.ShutdownFunc
	ready  bool
	checks map[string]string
}

func (c *checker) CheckReadiness(context.Context) (bool, map[string]string) { return c.ready, c.checks }

var checkerID = component.MustNewID("checker")

// Health and readiness need no key, and reveal nothing else.
func TestHealth(t *testing.T) {
	t.Parallel()
	answer := &checker{ready: true, checks: map[string]string{"queue": "ok"}}
	keyless := map[string]string{"Authorization": ""}
	for name, tt := range map[string]struct {
		answer *checker
		method string
		path   string
		status int
		body   string
	}{
		"up":             {nil, http.MethodGet, "/healthz", http.StatusOK, `{"status":"ok"}` + "\n"},
		"up, by HEAD":    {nil, http.MethodHead, "/healthz", http.StatusOK, ""},
		"up, not ready":  {&checker{}, http.MethodGet, "/healthz", http.StatusOK, `{"status":"ok"}` + "\n"},
		"ready":          {answer, http.MethodGet, "/readyz", http.StatusOK, `{"status":"ok","checks":{"queue":"ok"}}` + "\n"},
		"not ready":      {&checker{checks: map[string]string{"queue": "unavailable"}}, http.MethodGet, "/readyz", http.StatusServiceUnavailable, `{"status":"unavailable","checks":{"queue":"unavailable"}}` + "\n"},
		"nobody knows":   {nil, http.MethodGet, "/readyz", http.StatusUnauthorized, ""},
		"another method": {answer, http.MethodPost, "/readyz", http.StatusUnauthorized, ""},
		"another path":   {answer, http.MethodGet, "/v1/runs", http.StatusUnauthorized, ""},
		"below":          {answer, http.MethodGet, "/readyz/x", http.StatusUnauthorized, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := createDefaultConfig().(*Config)
			extensions := host{componenttest.NewNopHost()}.GetExtensions()
			if tt.answer != nil {
				cfg.Readiness = &checkerID
				extensions[checkerID] = tt.answer
			}
			r := startWith(t, cfg, consumertest.NewNop(), extended{componenttest.NewNopHost(), extensions})
			resp, body := send(t, r, sent{method: tt.method, path: tt.path, header: keyless})
			assert.Equal(t, tt.status, resp.StatusCode)
			if tt.status != http.StatusUnauthorized {
				assert.Equal(t, []string{typeJSON}, resp.Header["Content-Type"])
				assert.Equal(t, tt.body, body)
			}
		})
	}
}

func TestReadinessOfNobody(t *testing.T) {
	t.Parallel()
	cfg := createDefaultConfig().(*Config)
	cfg.NetAddr.Endpoint = "127.0.0.1:0"
	cfg.Readiness = &authExtensionID
	r := create(t, cfg, receivertest.NewNopSettings(metadata.Type), consumertest.NewNop())
	require.ErrorContains(t, r.Start(t.Context(), host{componenttest.NewNopHost()}), "readiness: auth is not an extension of this collector that reports readiness")
	require.NoError(t, r.Shutdown(t.Context()))
}

type extended struct {
	component.Host
	extensions map[component.ID]component.Component
}

func (e extended) GetExtensions() map[component.ID]component.Component { return e.extensions }
