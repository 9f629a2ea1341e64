package runsreceiver

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configmiddleware"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	apikeyauth := component.MustNewID("apikeyauth")
	for _, tt := range []struct {
		name   string
		change func(*Config) // changes of the defaults in the valid case
		errs   []string
	}{
		{name: "runs", change: func(*Config) {}},
		{name: "runs/all", change: func(c *Config) {
			c.NetAddr.Endpoint = "0.0.0.0:7080"
			c.MaxRequestBodySize = 1 << 20
			c.MaxInFlightBytes = 16 << 20
			c.QueueTimeout = 3 * time.Second
			c.TracesStatus = http.StatusOK
			c.RawPassthrough = true
			c.ReadTimeout = 5 * time.Second
			c.WriteTimeout = 9 * time.Second
			c.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: apikeyauth}})
			c.Middlewares = []configmiddleware.Config{{ID: apikeyauth}}
			readiness := component.MustNewIDWithName("readiness", "its")
			c.Readiness = &readiness
		}},
		{name: "runs/no_write_timeout", change: func(c *Config) { c.WriteTimeout = 0 }},
		{name: "runs/no_endpoint", errs: []string{"endpoint is required"}},
		{name: "runs/compression_algorithms", errs: []string{"compression_algorithms cannot be set"}},
		{name: "runs/body_size", errs: []string{"max_request_body_size must be positive"}},
		{name: "runs/in_flight_below_body", errs: []string{"max_in_flight_bytes (1000) must hold at least one body"}},
		{name: "runs/no_read_timeout", errs: []string{"read_timeout must be positive"}},
		{name: "runs/traces_status", errs: []string{"traces_status must be 200 or 202"}},
		{name: "runs/no_queue_timeout", errs: []string{"queue_timeout must be positive"}},
		{name: "runs/write_timeout_too_short", errs: []string{"write_timeout (40s) must be longer"}},
		{name: "runs/several", errs: []string{"endpoint is required", "read_timeout must be positive", "queue_timeout must be positive"}},
		{name: "runs/unknown_key", errs: []string{"queue_size"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
			require.NoError(t, err)
			sub, err := all.Sub(tt.name)
			require.NoError(t, err)

			cfg := createDefaultConfig().(*Config)
			err = sub.Unmarshal(cfg)
			if err == nil {
				err = confmap.Validate(cfg)
			}
			if tt.change == nil {
				for _, want := range tt.errs {
					require.ErrorContains(t, err, want)
				}
				return
			}
			require.NoError(t, err)
			want := createDefaultConfig().(*Config)
			tt.change(want)
			assert.Equal(t, want, cfg)
		})
	}
}
