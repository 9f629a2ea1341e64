package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// maxUnsent records wait for a broker: what is older than the newest snapshot is worth nothing.
	maxUnsent = 64
	// sendTimeout is when a record is given up; a later one says more.
	sendTimeout = 2 * time.Second
	// farewell bounds the wait for the last record at the end.
	farewell = time.Second
)

// KafkaLog is the log as a Kafka topic of one partition, which is kept for some minutes and never compacted:
// compaction would keep the last record of a replica and drop the snapshot before it.
type KafkaLog struct {
	client *kgo.Client
	topic  string
}

var _ Log = (*KafkaLog)(nil)

// NewKafkaLog makes the log. It does not wait for Kafka, and creates no topic.
func NewKafkaLog(brokers []string, topic, clientID string, opts ...kgo.Opt) (*KafkaLog, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(brokers...),
		kgo.ClientID(clientID),
		kgo.DisableClientMetrics(),

		// The whole topic without a group, by every replica for itself.
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AfterMilli(time.Now().Add(-ReadBack).UnixMilli())),
		kgo.FetchMaxWait(Staleness / 2),
		// A broker that comes back, and a topic that is created, is found within a second.
		kgo.MetadataMinAge(Staleness / 2),
		kgo.MetadataMaxAge(time.Minute),
		kgo.RetryBackoffFn(func(int) time.Duration { return PublishEvery }),

		// Records may be lost or repeated, but not late.
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks(kgo.LeaderAck()),
		kgo.DisableIdempotentWrite(),
		kgo.MaxBufferedRecords(maxUnsent),
		kgo.RecordDeliveryTimeout(sendTimeout),
		kgo.ProducerLinger(0),
	}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("make Kafka client: %w", err)
	}
	return &KafkaLog{client: client, topic: topic}, nil
}

// Publish hands a record to the client.
func (k *KafkaLog) Publish(record []byte) {
	k.client.TryProduce(context.Background(), &kgo.Record{Topic: k.topic, Value: record}, nil)
}

// Read waits for records.
func (k *KafkaLog) Read(ctx context.Context) ([][]byte, error) {
	fetches := k.client.PollFetches(ctx)
	records := make([][]byte, 0, fetches.NumRecords())
	fetches.EachRecord(func(r *kgo.Record) { records = append(records, r.Value) })
	var errs []error
	fetches.EachError(func(_ string, _ int32, err error) { errs = append(errs, err) })
	if err := errors.Join(errs...); err != nil {
		return records, fmt.Errorf("read the usage topic: %w", err)
	}
	return records, nil
}

// Close sends what was published last, within a second, and ends the client.
func (k *KafkaLog) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	_ = k.client.Flush(ctx) // the others notice by themselves
	k.client.Close()
}
