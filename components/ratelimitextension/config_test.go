package ratelimitextension

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/looptrace/looptrace/internal/ratelimit"
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
			"key::bytes: burst must be between 1 and 1e+12 where there is a rate",
			"key::spans: burst says nothing without a rate",
			"project::requests: rate must be between 0 and 1e+12",
			"project::bytes: burst must be between 1 and 1e+12 where there is a rate",
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

func TestOverrides(t *testing.T) {
	t.Parallel()
	configured := ratelimit.Limits{
		ratelimit.Requests: {Rate: 10, Burst: 100},
		ratelimit.Bytes:    {Rate: 1000, Burst: 10_000},
	}
	tests := map[string]struct {
		given map[string]float64
		want  ratelimit.Limits
	}{
		"nothing of this kind": {given: map[string]float64{"key_requests_per_second": 1}, want: configured},
		"rate and burst": {
			given: map[string]float64{"project_requests_per_second": 50, "project_requests_burst": 500},
			want:  ratelimit.Limits{ratelimit.Requests: {Rate: 50, Burst: 500}, ratelimit.Bytes: configured[ratelimit.Bytes]},
		},
		"rate alone": {
			given: map[string]float64{"project_spans_per_second": 0.5},
			want: ratelimit.Limits{
				ratelimit.Requests: configured[ratelimit.Requests], ratelimit.Bytes: configured[ratelimit.Bytes],
				ratelimit.Spans: {Rate: 0.5, Burst: 1},
			},
		},
		"burst alone": {
			given: map[string]float64{"project_requests_burst": 7, "project_spans_burst": 7},
			want:  ratelimit.Limits{ratelimit.Requests: {Rate: 10, Burst: 7}, ratelimit.Bytes: configured[ratelimit.Bytes]},
		},
		"no limit": {
			given: map[string]float64{"project_requests_per_second": 0},
			want:  ratelimit.Limits{ratelimit.Bytes: configured[ratelimit.Bytes]},
		},
		"values that cannot be": {
			given: map[string]float64{"project_requests_per_second": -1, "project_bytes_burst": 0},
			want:  configured,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := configured
			override(&got, &projectNames, tt.given)
			assert.Equal(t, tt.want, got)
		})
	}
}
