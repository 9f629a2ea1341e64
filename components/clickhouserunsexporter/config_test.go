package clickhouserunsexporter

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/looptrace/looptrace/components/clickhouserunsexporter/internal/metadata"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	file, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	joined := newSendingQueue()
	longer := newSendingQueue()
	longer.Batch.Get().FlushTimeout = time.Second
	for name, test := range map[string]struct {
		want   *Config
		errors []string
	}{
		"":          {want: &Config{URL: "clickhouse://127.0.0.1:9000/looptrace", Timeout: time.Minute, ContentCacheSize: 200_000, SendingQueue: configoptional.Default(newSendingQueue())}},
		"joined":    {want: &Config{URL: "clickhouse://127.0.0.1:9000/looptrace", Timeout: time.Minute, ContentCacheSize: 200_000, SendingQueue: configoptional.Some(joined)}},
		"all":       {want: &Config{URL: "clickhouse://user:secret@store:9440/looptrace?secure=true", Timeout: 30 * time.Second, ContentCacheSize: 1000, DropWithoutGenAIAfter: time.Hour, SendingQueue: configoptional.Some(longer)}},
		"no_url":    {errors: []string{"url: must name the database"}},
		"bad_url":   {errors: []string{"url:"}},
		"all_wrong": {errors: []string{"url:", "timeout: must be positive", "content_cache_size: must be positive", "drop_without_genai_after: must be 0, which drops nothing, or at least 1m0s", "sending_queue: wait_for_result must be true"}},
	} {
		config := NewFactory().CreateDefaultConfig()
		section, err := file.Sub(component.NewIDWithName(metadata.Type, name).String())
		require.NoError(t, err)
		require.NoError(t, section.Unmarshal(config))
		err = config.(*Config).Validate()
		if test.want != nil {
			require.NoError(t, err, name)
			assert.Equal(t, test.want, config, name)
			continue
		}
		for _, message := range test.errors {
			assert.ErrorContains(t, err, message, name)
		}
	}
}
