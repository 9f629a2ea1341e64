package ratelimitextension

import (
	"net/http"
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
		want *Config
		errs []string
	}{
		"ratelimit": {want: createDefaultConfig().(*Config)},
		"ratelimit/all": {want: &Config{
			Key: LimitsConfig{
				Requests: LimitConfig{Rate: 100, Burst: 1000},
				Bytes:    LimitConfig{Rate: 1e6, Burst: 20_000_000.5},
				Spans:    LimitConfig{Rate: 0.5, Burst: 1},
			},
			Project:    LimitsConfig{Requests: LimitConfig{Rate: 200, Burst: 2000}},
			OTLPStatus: http.StatusServiceUnavailable,
			Usage:      UsageConfig{Brokers: []string{"kafka-1:9092", "kafka-2:9092"}, Topic: "usage", ReplicaID: "ingest-1"},
		}},
		"ratelimit/all_wrong": {errs: []string{
			"key::requests: rate must be between 0 and 1e+12",
			"key::bytes: burst must be between 1 and 1e+12 if rate is set",
			"key::spans: burst is set without rate",
			"project::requests: rate must be between 0 and 1e+12",
			"project::bytes: burst must be between 1 and 1e+12 if rate is set",
			"otlp_status must be 429 or 503",
			"usage::topic must be set",
		}},
		"ratelimit/unknown_field": {errs: []string{"tenant"}},
	}
	cases, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	require.Len(t, cases.ToStringMap(), len(tests), "every case is looked at")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sub, err := cases.Sub(name)
			require.NoError(t, err)
			cfg := createDefaultConfig()
			err = sub.Unmarshal(cfg)
			if err == nil {
				err = confmap.Validate(cfg)
			}
			if len(tt.errs) == 0 {
				require.NoError(t, err)
				assert.Equal(t, tt.want, cfg)
			}
			for _, want := range tt.errs {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}
