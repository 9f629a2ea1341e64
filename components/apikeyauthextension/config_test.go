package apikeyauthextension

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/looptrace/looptrace/components/apikeyauthextension/internal/metadata"
	"github.com/looptrace/looptrace/internal/apikey"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	const databaseMessage = "database_url must be a PostgreSQL address: postgres://user:password@host:port/database"
	tests := []struct {
		name string
		want *Config
		errs []string
	}{
		{name: "", want: &Config{
			DatabaseURL:   "postgres://looptrace@localhost:5432/looptrace",
			RequiredScope: apikey.ScopeIngestWrite,
			Cache:         CacheConfig{MaxEntries: 10_000, TTL: 30 * time.Second, NegativeTTL: 5 * time.Second},
		}},
		{name: "all", want: &Config{
			DatabaseURL:   "postgresql://looptrace:secret@localhost:5432/looptrace?sslmode=require",
			RequiredScope: apikey.ScopeRunsRead,
			Cache:         CacheConfig{MaxEntries: 500, TTL: time.Minute, NegativeTTL: time.Second},
		}},
		{name: "no_database", errs: []string{databaseMessage}},
		{name: "other_database", errs: []string{databaseMessage}},
		{name: "unknown_scope", errs: []string{`required_scope "ingest" must be one of ingest:write, runs:read`}},
		{name: "bad_cache", errs: []string{
			"cache::max_entries must be positive",
			"cache::ttl must be positive",
			"cache::negative_ttl must be positive and at most 1m0s",
		}},
	}
	file, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sub, err := file.Sub(component.NewIDWithName(metadata.Type, tt.name).String())
			require.NoError(t, err)
			cfg := createDefaultConfig()
			require.NoError(t, sub.Unmarshal(cfg))
			err = confmap.Validate(cfg)
			if tt.errs == nil {
				require.NoError(t, err)
				assert.Equal(t, tt.want, cfg)
				return
			}
			require.Error(t, err)
			for _, message := range tt.errs {
				assert.ErrorContains(t, err, message)
			}
		})
	}
}
