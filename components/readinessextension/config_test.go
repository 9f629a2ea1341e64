package readinessextension

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want QueueConfig
		err  string
	}{
		"readiness":               {},
		"readiness/queue":         {want: QueueConfig{Brokers: []string{"127.0.0.1:7084"}, Topic: "looptrace.spans"}},
		"readiness/no_endpoint":   {err: "endpoint must be set"},
		"readiness/no_topic":      {err: "queue needs both brokers and topic"},
		"readiness/no_brokers":    {err: "queue needs both brokers and topic"},
		"readiness/unknown_field": {err: "path"},
	}
	cases, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	require.Len(t, cases.ToStringMap(), len(tests), "every case is looked at")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sub, err := cases.Sub(name)
			require.NoError(t, err)
			cfg := createDefaultConfig().(*Config)
			err = sub.Unmarshal(cfg)
			if err == nil {
				err = confmap.Validate(cfg)
			}
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "127.0.0.1:7082", cfg.NetAddr.Endpoint)
			assert.Equal(t, tt.want, cfg.Queue)
		})
	}
}
