package kafkabatchreceiver

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configretry"

	"github.com/looptrace/looptrace/internal/kafkaconfig"
)

// Config is what an operator sets.
type Config struct {
	// Brokers are the addresses to start from, as host:port.
	Brokers []string `mapstructure:"brokers"`

	// Security is what the brokers ask for: `tls` and `auth`, as in the kafka exporter.
	kafkaconfig.Security `mapstructure:",squash"`

	// Topic holds OTLP protobuf ExportTraceServiceRequest records, one a request.
	Topic string `mapstructure:"topic"`

	// GroupID is the consumer group that shares the topic's partitions and owns the committed offsets.
	GroupID string `mapstructure:"group_id"`

	// GroupInstanceID makes this member static: one that is killed and started again with the same id takes
	// its partitions back at once, instead of after the session timeout. It must be unique in the group.
	GroupInstanceID string `mapstructure:"group_instance_id"`

	// DeadLetterTopic takes the records that can never be handed on.
	DeadLetterTopic string `mapstructure:"dead_letter_topic"`

	// MaxBatchSpans closes a batch. A record is not split, so the last one may exceed it.
	MaxBatchSpans int `mapstructure:"max_batch_spans"`

	// MaxBatchBytes closes a batch as well, counted over the encoded records.
	MaxBatchBytes int `mapstructure:"max_batch_bytes"`

	// MaxBatchDelay is how long the first record of a batch waits for more; ten times as long where ten records
	// and more already make a tenth of what closes it.
	MaxBatchDelay time.Duration `mapstructure:"max_batch_delay"`

	// Retry is applied when the next consumer returns an error that is not permanent, when an offset cannot
	// be committed, and when a dead letter cannot be written.
	Retry configretry.BackOffConfig `mapstructure:"retry"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// maxBatchBytesLimit bounds what a batch may take in memory: decoded, and twice in flight, it is several times as much.
const maxBatchBytesLimit = 96 << 20

func createDefaultConfig() component.Config {
	retry := configretry.NewDefaultBackOffConfig()
	// A store that comes back should be found within a second or two, and a batch is never given up.
	retry.InitialInterval = 100 * time.Millisecond
	retry.MaxInterval = 2 * time.Second
	retry.MaxElapsedTime = 0
	return &Config{
		MaxBatchSpans: 20_000,
		MaxBatchBytes: 32 << 20,
		MaxBatchDelay: 100 * time.Millisecond,
		Retry:         retry,
	}
}

// Validate reports everything that is wrong at once.
func (c *Config) Validate() error {
	var errs []error
	if len(c.Brokers) == 0 {
		errs = append(errs, errors.New("brokers must name at least one address"))
	}
	for _, required := range []struct{ name, value string }{
		{"topic", c.Topic},
		{"group_id", c.GroupID},
		{"dead_letter_topic", c.DeadLetterTopic},
	} {
		if required.value == "" {
			errs = append(errs, fmt.Errorf("%s must be set", required.name))
		}
	}
	if c.Topic != "" && c.Topic == c.DeadLetterTopic {
		errs = append(errs, errors.New("dead_letter_topic must differ from topic"))
	}
	if c.MaxBatchSpans <= 0 {
		errs = append(errs, errors.New("max_batch_spans must be positive"))
	}
	if c.MaxBatchBytes < 1<<20 || c.MaxBatchBytes > maxBatchBytesLimit {
		errs = append(errs, fmt.Errorf("max_batch_bytes must be between %d and %d", 1<<20, maxBatchBytesLimit))
	}
	if c.MaxBatchDelay < 0 {
		errs = append(errs, errors.New("max_batch_delay must not be negative"))
	}
	return errors.Join(errs...)
}
