package genaicostprocessor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/looptrace/looptrace/components/genaicostprocessor/internal/metadata"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	cached := 0.1
	file, err := confmaptest.LoadConf("testdata/config.yaml")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		want  *Config
		fails []string
	}{
		"": {want: &Config{RefreshInterval: 30 * time.Second}},
		"all": {want: &Config{
			DatabaseURL: "postgresql://looptrace:secret@localhost:5432/looptrace", RefreshInterval: 5 * time.Second,
		}},
		"other_database": {fails: []string{"database_url must be a PostgreSQL address"}},
		"prices": {want: &Config{RefreshInterval: 30 * time.Second, Prices: []ModelPrice{
			{Model: "Acme-Large*", Provider: "acme", From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Input: 1.5, Output: 6, CacheRead: &cached},
		}}},
		"bad_prices": {fails: []string{
			"prices and database_url exclude each other", "prices[0]: input must be between 0 and 1000000", "prices[1]: from must be a day such as",
			"prices[2]: model must have between 1 and 256 bytes",
		}},
		"bad_interval": {fails: []string{"refresh_interval must be positive"}},
	} {
		section, err := file.Sub(component.NewIDWithName(metadata.Type, name).String())
		require.NoError(t, err)
		cfg := createDefaultConfig().(*Config)
		require.NoError(t, section.Unmarshal(cfg))
		err = confmap.Validate(cfg)
		for _, message := range test.fails {
			require.ErrorContains(t, err, message, name)
		}
		if test.want != nil {
			require.NoError(t, err, name)
			assert.Equal(t, test.want, cfg, name)
		}
	}
}
