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
	// sendTimeout is when a record is dropped. A later one replaces it.
	sendTimeout = 2 * time.Second
	// catchUpTimeout limits how long a start waits for what the other replicas have admitted. If Kafka is away, it
	// starts without.
	catchUpTimeout = 3 * time.Second
	// closeTimeout limits the wait for the last record on Close.
	closeTimeout = time.Second
)

// Topics that `looptrace migrate` creates: one for the replicas of ingest and one for those of the API, whose limits
// differ.
const (
	UsageTopic    = "looptrace.usage"
	APIUsageTopic = "looptrace.usage.api"
)

// Membership is a limiter's membership in a group of replicas.
type Membership struct {
	log   *KafkaLog
	stop  context.CancelFunc
	share sync.WaitGroup
}

// ShareOverKafka shares the limiter's counters on a topic until Close is called. replica must be unique; if empty, it
// is random. It waits a short time for what the others have admitted. caughtUp is false if that is not known yet, as
// while Kafka is away: the limiter then admits only its share.
func (l *Limiter) ShareOverKafka(ctx context.Context, brokers []string, topic, clientID, replica string, opts ...kgo.Opt) (m *Membership, caughtUp bool, err error) {
	log, err := NewKafkaLog(brokers, topic, clientID, opts...)
	if err != nil {
		return nil, false, err
	}
	if replica == "" {
		replica = rand.Text()
	}
	m = &Membership{log: log}
	// What is started here ends with Close, not with ctx.
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

// Close publishes what was admitted last.
func (m *Membership) Close(ctx context.Context) {
	m.stop()
	m.share.Wait()
	m.log.Close(ctx)
}

// KafkaLog is a Log on a Kafka topic of one partition. The topic keeps records for some minutes and must not be
// compacted: compaction would keep a replica's last record and drop the snapshot before it.
type KafkaLog struct {
	client *kgo.Client
	topic  string
}

var _ Log = (*KafkaLog)(nil)

// NewKafkaLog returns the log. It does not wait for Kafka, and creates no topic.
func NewKafkaLog(brokers []string, topic, clientID string, opts ...kgo.Opt) (*KafkaLog, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(brokers...),
		kgo.ClientID(clientID),
		kgo.DisableClientMetrics(),

		// Each replica reads the whole topic, without a consumer group.
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AfterMilli(time.Now().Add(-ReadBack).UnixMilli())),
		kgo.FetchMaxWait(Staleness / 2),
		// Finds a broker or topic that comes up within a second.
		kgo.MetadataMinAge(Staleness / 2),
		kgo.MetadataMaxAge(time.Minute),
		kgo.RetryBackoffFn(func(int) time.Duration { return PublishEvery }),

		// Records may be lost or repeated, but must not be late.
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks(kgo.LeaderAck()),
		kgo.DisableIdempotentWrite(),
		kgo.MaxBufferedRecords(maxUnsent),
		kgo.RecordDeliveryTimeout(sendTimeout),
		kgo.ProducerLinger(0),
	}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("create the Kafka client: %w", err)
	}
	return &KafkaLog{client: client, topic: topic}, nil
}

// Publish passes a record to the client.
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

// Close sends the records that are left, within a second, and closes the client.
func (k *KafkaLog) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	_ = k.client.Flush(ctx) // the others notice by themselves
	k.client.Close()
}
