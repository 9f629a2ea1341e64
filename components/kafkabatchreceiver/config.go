package kafkabatchreceiver

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configretry"

	"github.com/looptrace/looptrace/internal/kafkaconfig"
)

// Config is the receiver's configuration.
type Config struct {
	// Brokers are the bootstrap addresses, as host:port.
	Brokers []string `mapstructure:"brokers"`

	// Security holds `tls` and `auth`, as in the kafka exporter.
	kafkaconfig.Security `mapstructure:",squash"`

	// Topic holds ExportTraceServiceRequests in OTLP protobuf, one per record.
	Topic string `mapstructure:"topic"`

	// GroupID is the consumer group that shares the topic's partitions and owns the committed offsets.
	GroupID string `mapstructure:"group_id"`

	// GroupInstanceID makes this member static: after a kill, a new process with the same id takes its partitions
	// back at once instead of after the session timeout. It must be unique in the group.
	GroupInstanceID string `mapstructure:"group_instance_id"`

	// DeadLetterTopic takes records that can never be handed on.
	DeadLetterTopic string `mapstructure:"dead_letter_topic"`

	// MaxBatchSpans closes a batch. Records are not split, so the last one may exceed it.
	MaxBatchSpans int `mapstructure:"max_batch_spans"`

	// MaxBatchBytes closes a batch, too. It counts encoded records.
	MaxBatchBytes int `mapstructure:"max_batch_bytes"`

	// MaxBatchDelay is how long the first record of a batch waits for more. It is ten times as long if at least ten
	// records already make up a tenth of a full batch.
	MaxBatchDelay time.Duration `mapstructure:"max_batch_delay"`

	// Retry applies if the next consumer returns an error that is not permanent, an offset cannot be committed, or a
	// dead letter cannot be written.
	Retry configretry.BackOffConfig `mapstructure:"retry"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// maxBatchBytesLimit limits the memory of a batch: decoded, and with two in flight, it takes several times as much.
const maxBatchBytesLimit = 96 << 20

func createDefaultConfig() component.Config {
	retry := configretry.NewDefaultBackOffConfig()
	// Notices a store that comes back within a second or two. A batch is never given up.
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

// Validate reports all problems of the configuration.
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
