package clickhouserunsexporter

import (
	"errors"
	"fmt"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
)

// Config is the exporter's configuration.
type Config struct {
	// URL of the database: clickhouse://[user:password@]host:port/database. `looptrace migrate` creates the schema;
	// the exporter runs no DDL.
	URL configopaque.String `mapstructure:"url"`
	// Timeout limits a batch, with all its inserts and reads.
	Timeout time.Duration `mapstructure:"timeout"`
	// ContentCacheSize limits the contents that are remembered as stored, so that a history which is sent again at
	// every step is stored once. An entry takes about 40 bytes, and a run 300 more.
	ContentCacheSize int `mapstructure:"content_cache_size"`
	// DropWithoutGenAIAfter is how long after its last span was stored a trace without a GenAI span is deleted. 0
	// deletes none.
	DropWithoutGenAIAfter time.Duration `mapstructure:"drop_without_genai_after"`
	// SendingQueue joins requests to batches, if it is set: for a receiver that has small ones. A request waits until its
	// batch is stored.
	SendingQueue configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`
}

// newSendingQueue returns the queue that `sending_queue: {}` means.
func newSendingQueue() exporterhelper.QueueBatchConfig {
	q := exporterhelper.NewDefaultQueueConfig()
	q.WaitForResult, q.BlockOnOverflow = true, true
	q.NumConsumers = 4
	q.Batch = configoptional.Some(exporterhelper.BatchConfig{
		Sizer: exporterhelper.RequestSizerTypeItems, FlushTimeout: 100 * time.Millisecond, MinSize: 5_000, MaxSize: 20_000,
	})
	return q
}

// minDropAfter is the least DropWithoutGenAIAfter: GenAI spans of a trace often arrive seconds after its others.
const minDropAfter = time.Minute

// Validate reports all problems of the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.URL == "" {
		errs = append(errs, errors.New("url: must name the database, e.g. clickhouse://127.0.0.1:9000/looptrace"))
	} else if _, err := ch.ParseDSN(string(c.URL)); err != nil {
		errs = append(errs, fmt.Errorf("url: %w", err))
	}
	if c.Timeout <= 0 {
		errs = append(errs, errors.New("timeout: must be positive"))
	}
	if c.ContentCacheSize <= 0 {
		errs = append(errs, errors.New("content_cache_size: must be positive"))
	}
	if c.DropWithoutGenAIAfter < 0 || c.DropWithoutGenAIAfter > 0 && c.DropWithoutGenAIAfter < minDropAfter {
		errs = append(errs, fmt.Errorf("drop_without_genai_after: must be 0, which drops nothing, or at least %s", minDropAfter))
	}
	if q := c.SendingQueue.Get(); q != nil && !q.WaitForResult {
		errs = append(errs, errors.New("sending_queue: wait_for_result must be true: the client would be answered before its spans are stored"))
	}
	return errors.Join(errs...)
}
