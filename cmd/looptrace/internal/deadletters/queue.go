package deadletters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/migrate"
	"github.com/looptrace/looptrace/internal/kafkaclient"
)

// redriveGroup is the consumer group whose committed offsets store what was redriven. It never has members.
const redriveGroup = "looptrace-redrive"

const (
	// answerTime limits the wait for a broker that does not answer.
	answerTime = 10 * time.Second
	// workTime limits one read, and the acknowledgement of one chunk.
	workTime = 30 * time.Second
	// maxRecordBytes is the topics' max.message.bytes, which `looptrace migrate` sets.
	maxRecordBytes = 64 << 20
	// readBytes limits the size of one read, and so the memory. A larger record is read alone.
	readBytes = 8 << 20
)

// queue is the topic of dead letters and the clients for it.
type queue struct {
	connect []kgo.Opt
	client  *kgo.Client
	admin   *kadm.Client
}

// open connects to the brokers and checks that one answers.
func open(ctx context.Context, brokers []string, security kafkaclient.Security) (*queue, error) {
	q := &queue{connect: append(security.Options(), kgo.SeedBrokers(brokers...))}
	var err error
	q.client, err = kgo.NewClient(append(slices.Clone(q.connect),
		kgo.ClientID("looptrace-deadletters"),
		kgo.RetryTimeout(answerTime),
		// A dead letter that is redriven twice is stored once. An idempotent producer could not give up on a record that was
		// sent to a broker that then disappeared.
		kgo.DisableIdempotentWrite(),
		kgo.ProducerBatchMaxBytes(maxRecordBytes),
		// A record that barely fitted into the topic must fit again, whatever it was compressed with.
		kgo.ProducerBatchCompression(kgo.NoCompression()),
	)...)
	if err != nil {
		return nil, fmt.Errorf("read the queue's address: %w", err)
	}
	q.admin = kadm.NewClient(q.client) // uses the client, nothing to close
	asking, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := q.client.Ping(asking); err != nil {
		q.client.Close()
		return nil, fmt.Errorf("the queue at %s does not answer (check KAFKA_BROKERS or --brokers, KAFKA_TLS and KAFKA_SASL): %w", strings.Join(brokers, ","), err)
	}
	return q, nil
}

func (q *queue) close() { q.client.Close() }

// bounds returns the range of existing letters by partition.
func (q *queue) bounds(ctx context.Context) (map[int32]span, error) {
	starts, err := q.admin.ListStartOffsets(ctx, migrate.DeadLetterTopic)
	if err == nil {
		err = starts.Error()
	}
	if errors.Is(err, kerr.UnknownTopicOrPartition) || (err == nil && len(starts[migrate.DeadLetterTopic]) == 0) {
		return nil, fmt.Errorf("there is no topic %s; run `looptrace migrate` to create it", migrate.DeadLetterTopic)
	}
	if err != nil {
		return nil, fmt.Errorf("find the dead letters: %w", err)
	}
	ends, err := q.admin.ListEndOffsets(ctx, migrate.DeadLetterTopic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("find the dead letters: %w", err)
	}
	found := map[int32]span{}
	for partition, start := range starts[migrate.DeadLetterTopic] {
		end, _ := ends.Lookup(migrate.DeadLetterTopic, partition)
		found[partition] = span{start.Offset, end.Offset}
	}
	return found, nil
}

// read passes the letters within the ranges to take, those of each partition in order.
func (q *queue) read(ctx context.Context, ranges map[int32]span, take func(deadLetter) error) error {
	next := maps.Clone(ranges)
	maps.DeleteFunc(next, func(_ int32, s span) bool { return s.first >= s.end })
	if len(next) == 0 {
		return nil
	}
	from := map[int32]kgo.Offset{}
	for partition, s := range next {
		from[partition] = kgo.NewOffset().At(s.first)
	}
	client, err := kgo.NewClient(append(slices.Clone(q.connect),
		kgo.ClientID("looptrace-deadletters"),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{migrate.DeadLetterTopic: from}),
		kgo.FetchMaxBytes(readBytes),
		kgo.FetchMaxPartitionBytes(readBytes),
		kgo.MaxConcurrentFetches(1),
		// They have offsets, and the end of a range may be one of them.
		kgo.KeepControlRecords(),
	)...)
	if err != nil {
		return fmt.Errorf("read the dead letters: %w", err)
	}
	defer client.Close()
	for len(next) > 0 {
		if err := q.poll(ctx, client, next, take); err != nil {
			return err
		}
	}
	return nil
}

// poll passes the records of one fetch to take and advances next.
func (q *queue) poll(ctx context.Context, client *kgo.Client, next map[int32]span, take func(deadLetter) error) error {
	waiting, cancel := context.WithTimeout(ctx, workTime)
	defer cancel()
	fetches := client.PollFetches(waiting)
	if err := fetches.Err(); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return errors.New("read the dead letters: the queue stopped answering")
		}
		return fmt.Errorf("read the dead letters: %w", err)
	}
	for records := fetches.RecordIter(); !records.Done(); {
		record := records.Next()
		wanted, ok := next[record.Partition]
		if !ok {
			continue // fetched beyond the end
		}
		if record.Offset < wanted.end && !record.Attrs.IsControl() {
			if err := take(newDeadLetter(record)); err != nil {
				return err
			}
		}
		if wanted.first = record.Offset + 1; wanted.first < wanted.end {
			next[record.Partition] = wanted
			continue
		}
		delete(next, record.Partition)
	}
	return nil
}

// find reads one dead letter.
func (q *queue) find(ctx context.Context, at location) (deadLetter, error) {
	bounds, err := q.bounds(ctx)
	if err != nil {
		return deadLetter{}, err
	}
	if err := checkLocation(at, bounds); err != nil {
		return deadLetter{}, err
	}
	var found *deadLetter
	err = q.read(ctx, map[int32]span{at.partition: {at.offset, at.offset + 1}}, func(l deadLetter) error {
		found = &l
		return nil
	})
	if err != nil {
		return deadLetter{}, err
	}
	if found == nil {
		return deadLetter{}, fmt.Errorf("there is no dead letter %s", at)
	}
	return *found, nil
}

// checkLocation returns an error if no dead letter can exist at a location.
func checkLocation(at location, bounds map[int32]span) error {
	b, ok := bounds[at.partition]
	switch {
	case !ok:
		return fmt.Errorf("there is no dead letter %s: %s has the partitions %s", at, migrate.DeadLetterTopic, joinPartitions(bounds))
	case b.first >= b.end:
		return fmt.Errorf("there is no dead letter %s: partition %d is empty", at, at.partition)
	case at.offset < b.first || at.offset >= b.end:
		return fmt.Errorf("there is no dead letter %s: partition %d has %s to %s",
			at, at.partition, location{at.partition, b.first}, location{at.partition, b.end - 1})
	}
	return nil
}

func joinPartitions(bounds map[int32]span) string {
	var names []string
	for _, partition := range slices.Sorted(maps.Keys(bounds)) {
		names = append(names, strconv.Itoa(int(partition)))
	}
	return strings.Join(names, ", ")
}

// redriven reads what was redriven, by partition.
func (q *queue) redriven(ctx context.Context) (map[int32]*done, error) {
	committed, err := q.admin.FetchOffsets(ctx, redriveGroup)
	if errors.Is(err, kerr.GroupIDNotFound) {
		return map[int32]*done{}, nil
	}
	if err == nil {
		err = committed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read what was redriven: %w", err)
	}
	all := map[int32]*done{}
	for partition, offset := range committed[migrate.DeadLetterTopic] {
		d, err := parseDone(offset.At, offset.Metadata)
		if err != nil {
			return nil, err
		}
		all[partition] = &d
	}
	return all, nil
}

// note stores what was redriven.
func (q *queue) note(ctx context.Context, all map[int32]*done) error {
	var offsets kadm.Offsets
	for partition, d := range all {
		offsets.Add(kadm.Offset{Topic: migrate.DeadLetterTopic, Partition: partition, At: d.below, LeaderEpoch: -1, Metadata: d.note()})
	}
	if err := q.admin.CommitAllOffsets(ctx, redriveGroup, offsets); err != nil {
		return fmt.Errorf("record what was redriven: %w", err)
	}
	return nil
}
