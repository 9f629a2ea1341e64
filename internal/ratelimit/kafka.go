package ratelimit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// maxUnsent records wait for a broker: what is older than the newest snapshot is worth nothing.
	maxUnsent = 64
	// sendTimeout is when a record is given up; a later one says more.
	sendTimeout = 2 * time.Second
	// catchUpTimeout bounds how long a start waits to learn what the other replicas have admitted. Without Kafka it
	// starts with what it has.
	catchUpTimeout = 3 * time.Second
	// farewell bounds the wait for the last record at the end.
	farewell = time.Second
)

// Topics that `looptrace migrate` makes: one for the replicas of ingest, one for those of the API, whose limits are
// others.
const (
	UsageTopic    = "looptrace.usage"
	APIUsageTopic = "looptrace.usage.api"
)

// Membership is a limiter's part in what replicas share over Kafka.
type Membership struct {
	log   *KafkaLog
	stop  context.CancelFunc
	share sync.WaitGroup
}

// ShareOverKafka makes the limiter one of the replicas on a topic until Close is called. replica is its name, which
// must differ in every process; empty is a random one. It waits for what the others have admitted, but not for long:
// caughtUp is false where that is not known yet, as while Kafka is away, and the limiter keeps to its share.
func (l *Limiter) ShareOverKafka(ctx context.Context, brokers []string, topic, clientID, replica string, opts ...kgo.Opt) (m *Membership, caughtUp bool, err error) {
	log, err := NewKafkaLog(brokers, topic, clientID, opts...)
	if err != nil {
		return nil, false, err
	}
	if replica == "" {
		replica = rand.Text()
	}
	m = &Membership{log: log}
	// What runs from here on ends with Close, not with ctx.
	var running context.Context
	running, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	joined := l.Join(replica)
	m.share.Go(func() { l.Share(running, log) })

	wait := time.NewTimer(catchUpTimeout)
	defer wait.Stop()
	select {
	case <-joined:
		caughtUp = true
	case <-wait.C:
	case <-ctx.Done():
	}
	return m, caughtUp, nil
}

// Close tells the other replicas what was admitted last.
func (m *Membership) Close(ctx context.Context) {
	m.stop()
	m.share.Wait()
	m.log.Close(ctx)
}

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
