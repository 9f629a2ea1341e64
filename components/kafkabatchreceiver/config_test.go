package kafkabatchreceiver

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	minimal := func(change func(*Config)) *Config {
		cfg := createDefaultConfig().(*Config)
		cfg.Brokers = []string{"127.0.0.1:9092"}
		cfg.Topic, cfg.GroupID, cfg.DeadLetterTopic = "spans", "store", "spans.deadletter"
		change(cfg)
		return cfg
	}
	tests := map[string]struct {
		want *Config
		errs []string
	}{
		"minimal": {want: minimal(func(*Config) {})},
		"everything": {want: minimal(func(cfg *Config) {
			cfg.Brokers = []string{"kafka-1:9092", "kafka-2:9092"}
			cfg.GroupInstanceID = "store-1"
			cfg.MaxBatchSpans = 50_000
			cfg.MaxBatchBytes = 64 << 20
			cfg.MaxBatchDelay = time.Second
			cfg.Retry.InitialInterval = time.Second
			cfg.Retry.MaxInterval = 10 * time.Second
			cfg.Retry.MaxElapsedTime = time.Hour
		})},
		"empty": {errs: []string{
			"brokers must name at least one address", "topic must be set", "group_id must be set", "dead_letter_topic must be set",
		}},
		"all_wrong": {errs: []string{
			"brokers must name at least one address",
			"group_id must be set",
			"dead_letter_topic must differ from topic",
			"max_batch_spans must be positive",
			"max_batch_bytes must be between",
			"max_batch_delay must not be negative",
			"'initial_interval' must be non-negative",
		}},
		"too_large":     {errs: []string{"max_batch_bytes must be between"}},
		"unknown_field": {errs: []string{"autocommit"}},
	}
	cases, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	require.Len(t, cases.ToStringMap(), len(tests), "every case is looked at")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sub, err := cases.Sub("kafkabatch/" + name)
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
