package kafkabatchreceiver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v7"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kzap"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/components/kafkabatchreceiver/internal/metadata"
)

const (
	// maxInFlight is how many batches are handed on at once: while one is being inserted, another is decoded.
	maxInFlight = 2
	// sessionTimeout is how long the partitions of a killed member stay unread, unless it has an instance id.
	sessionTimeout    = 10 * time.Second
	heartbeatInterval = 3 * time.Second
	// fetchMaxBytes bounds one fetch, but for a record that is larger. One is buffered for each broker while a batch is in
	// flight, and the embedded broker holds what it answers twice: a batch is made of many. What it answers for a partition
	// it grows as it reads, by a quarter at a time: with a quarter of this for each it copies little of it.
	fetchMaxBytes = 2 << 20
	// fetchMaxWait bounds how long an idle fetch keeps a newly assigned partition of that broker waiting.
	fetchMaxWait = 500 * time.Millisecond
	// commitTimeout bounds one attempt to commit. It is below the rebalance timeout (60 s), together with
	// handOverTimeout, since a rebalance waits for both.
	commitTimeout = 10 * time.Second
	// maxLetterBytes is what the dead-letter topic takes at once (its max.message.bytes): one letter, or several that are
	// shorter. More of them are written one after the other.
	maxLetterBytes = 64 << 20
	// deliveryTimeout bounds one attempt to write dead letters, but for an answer under way: the client waits 20 s for one.
	deliveryTimeout = 10 * time.Second
	// leaveTimeout bounds saying goodbye to a group whose broker may be away.
	leaveTimeout = 5 * time.Second
	// retryBackoff and metadataMinAge bound how long records stay unread after a broker came back: the client
	// grows its own pauses to several seconds. A broker that is away costs two small requests a second.
	retryBackoff   = 500 * time.Millisecond
	metadataMinAge = time.Second
)

// errStopping ends a batch that is being retried when the receiver is told to stop. Its offsets are not
// committed, so it is read again after the next start.
var errStopping = errors.New("receiver is stopping")

// tracesReceiver reads the topic. One goroutine polls and decodes, others hand batches on and commit them, and one
// watches over them. The Kafka client keeps the group membership alive on its own.
type tracesReceiver struct {
	cfg       *Config
	set       receiver.Settings
	next      consumer.Traces
	obsreport *receiverhelper.ObsReport
	telemetry *metadata.TelemetryBuilder

	client  *kgo.Client
	owned   *ownerships
	health  *health
	backlog *backlog
	// watchEvery and notReadyAfter are the constants, but in tests.
	watchEvery, notReadyAfter time.Duration
	flight                    flight
	// pending are records that were fetched and are not in a batch yet. Only the reading goroutine uses it.
	pending []entry

	stopping <-chan struct{}
	stop     context.CancelFunc
	abandon  context.CancelFunc
	running  sync.WaitGroup
}

func newReceiver(set receiver.Settings, cfg *Config, next consumer.Traces) (*tracesReceiver, error) {
	obsreport, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID:             set.ID,
		Transport:              "kafka",
		ReceiverCreateSettings: set,
	})
	if err != nil {
		return nil, err
	}
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &tracesReceiver{
		cfg: cfg, set: set, next: next, obsreport: obsreport, telemetry: telemetry,
		backlog: newBacklog(), watchEvery: watchInterval, notReadyAfter: notReadyAfter,
	}, nil
}

// Start begins to read in the background. It does not wait for Kafka: a broker that is away is a recoverable
// state that ends when it comes back.
func (r *tracesReceiver) Start(ctx context.Context, host component.Host) error {
	r.health = newHealth(r.set.Logger, host, r.notReadyAfter)
	r.owned = newOwnerships()
	secure, err := r.cfg.Options(ctx)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(append(r.clientOptions(), secure...)...)
	if err != nil {
		return fmt.Errorf("make Kafka client: %w", err)
	}
	r.client = client
	if err := errors.Join(
		r.telemetry.RegisterKafkabatchLagCallback(r.backlog.observeRecords),
		r.telemetry.RegisterKafkabatchLagAgeCallback(r.backlog.observeAge),
	); err != nil {
		client.Close()
		return fmt.Errorf("register lag metrics: %w", err)
	}

	// Two steps of ending: first no new batch is begun, then the one in flight is given up. Neither comes with
	// the end of Start's own context.
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	reading, stop := context.WithCancel(work)
	r.stopping, r.stop, r.abandon = reading.Done(), stop, abandon
	r.running.Go(func() { r.read(reading, work) })
	r.running.Go(func() { r.watch(reading) })
	return nil
}

func (r *tracesReceiver) clientOptions() []kgo.Opt {
	// What franz-go would say at every attempt while a broker is away is said once, by health.
	level := kgo.LogLevelNone
	if r.set.Logger.Core().Enabled(zap.DebugLevel) {
		level = kgo.LogLevelDebug
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(r.cfg.Brokers...),
		kgo.ClientID(r.set.ID.String()),
		kgo.WithLogger(kzap.New(r.set.Logger.Named("kgo"), kzap.Level(level))),
		kgo.WithHooks(r.health),
		kgo.DisableClientMetrics(),

		kgo.ConsumeTopics(r.cfg.Topic),
		kgo.ConsumerGroup(r.cfg.GroupID),
		kgo.SessionTimeout(sessionTimeout),
		kgo.HeartbeatInterval(heartbeatInterval),
		kgo.DisableAutoCommit(),
		// Without a committed offset, and where the committed one is gone, from the oldest record on: what is
		// read twice does no harm, what is skipped is lost.
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		// A poll and the note of who owns what it returned must not be torn apart by a rebalance. It is
		// allowed again right after, not only when the batch is through.
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			r.owned.assign(partitions[r.cfg.Topic])
			r.backlog.assigned(partitions[r.cfg.Topic])
			r.health.solved(problemGroup)
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, _ *kgo.Client, partitions map[string][]int32) {
			r.owned.revoke(ctx, partitions[r.cfg.Topic])
			r.backlog.lost(partitions[r.cfg.Topic])
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			r.owned.lose(partitions[r.cfg.Topic])
			r.backlog.lost(partitions[r.cfg.Topic])
		}),

		kgo.FetchMaxBytes(fetchMaxBytes),
		kgo.FetchMaxPartitionBytes(fetchMaxBytes / 4),
		kgo.FetchMaxWait(fetchMaxWait),
		kgo.RetryBackoffFn(func(int) time.Duration { return retryBackoff }),
		kgo.MetadataMinAge(metadataMinAge),

		kgo.ProducerBatchMaxBytes(maxLetterBytes),
		kgo.RecordDeliveryTimeout(deliveryTimeout),
		// Or a letter whose answer does not come is waited for without end, also by a stop. One that is written twice is read twice.
		kgo.AllowIdempotentProduceCancellation(),
	}
	if r.cfg.GroupInstanceID != "" {
		opts = append(opts, kgo.InstanceID(r.cfg.GroupInstanceID))
	}
	return opts
}

// Shutdown stops polling, lets the batch in flight finish and commit until ctx ends, and leaves the group.
func (r *tracesReceiver) Shutdown(ctx context.Context) error {
	defer r.telemetry.Shutdown()
	if r.client == nil {
		return nil
	}
	r.stop()
	defer context.AfterFunc(ctx, r.abandon)()
	r.running.Wait()
	r.abandon()

	leaveCtx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	if err := r.client.LeaveGroupContext(leaveCtx); err != nil {
		// No failure of stopping: the group notices by itself.
		r.set.Logger.Info("Could not leave the consumer group; its partitions are free after the session timeout",
			zap.Duration("session_timeout", sessionTimeout), zap.Error(err))
	}
	r.client.CloseAllowingRebalance()
	return nil
}

// read is the loop: a batch is collected, and handled while the next ones are collected. Batches are committed in
// their order; the first that is given up ends all.
func (r *tracesReceiver) read(reading, work context.Context) {
	handlers, work := errgroup.WithContext(work)
	handlers.SetLimit(maxInFlight)
	turn := make(chan struct{})
	close(turn)
	for {
		b := r.collect(reading)
		if b.empty() {
			break
		}
		before, after := turn, make(chan struct{})
		r.flight.begin()
		handlers.Go(func() error {
			defer r.flight.end()
			if err := r.handle(work, b, before); err != nil {
				return err
			}
			close(after)
			return nil
		})
		turn = after
	}
	_ = handlers.Wait() // a batch that was given up is read again after the next start
}

// collect polls until a batch is full, or until its first record has waited for as long as patience says and no batch is
// in flight: as long as one is, a larger batch costs no time. An empty batch means that ctx ended.
func (r *tracesReceiver) collect(ctx context.Context) *batch {
	b := &batch{}
	for {
		r.fill(b)
		if r.full(b) || ctx.Err() != nil {
			return b
		}
		if b.empty() {
			r.poll(ctx)
			continue
		}
		waiting, cancel := context.WithDeadline(ctx, b.opened.Add(r.patience(b)))
		if waiting.Err() != nil {
			if r.flight.empty() {
				cancel()
				return b
			}
			cancel()
			waiting, cancel = r.flight.untilEmpty(ctx)
		}
		r.poll(waiting)
		cancel()
	}
}

// floodPatience is how many times longer a batch waits that fills fast: that holds so many records within that part of
// a full batch.
const floodPatience = 10

// patience is how long the first record of a batch waits for more. What an insert costs hardly depends on its size, so that
// in a flood, which fills a good part of a batch within MaxBatchDelay, large batches are worth more than a fast view.
func (r *tracesReceiver) patience(b *batch) time.Duration {
	large := b.spans*floodPatience >= r.cfg.MaxBatchSpans || b.bytes*floodPatience >= r.cfg.MaxBatchBytes
	if large && len(b.entries) >= floodPatience { // and is not a few large requests
		return floodPatience * r.cfg.MaxBatchDelay
	}
	return r.cfg.MaxBatchDelay
}

// fill moves pending records into the batch until it is full.
func (r *tracesReceiver) fill(b *batch) {
	taken := 0
	for taken < len(r.pending) && !r.full(b) {
		if e := r.pending[taken]; !e.owner.lost() {
			b.add(e)
		}
		taken++
	}
	clear(r.pending[:taken])
	r.pending = r.pending[taken:]
}

func (r *tracesReceiver) full(b *batch) bool {
	return b.spans >= r.cfg.MaxBatchSpans || b.bytes >= r.cfg.MaxBatchBytes
}

// poll waits for records and puts what it gets behind the pending ones. An error of one partition is noted
// and changes nothing for what the same poll brought from others.
func (r *tracesReceiver) poll(ctx context.Context) {
	r.backlog.setPolling(true)
	fetches := r.client.PollFetches(ctx)
	r.backlog.setPolling(false)
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if p.Err != nil {
			r.noteFetchError(ctx, p)
		}
		if len(p.Records) == 0 {
			return
		}
		owner := r.owned.of(p.Partition)
		r.noteProgress(ctx, owner, p)
		r.backlog.fetched(p.Partition, p.Records, p.HighWatermark)
		for _, record := range p.Records {
			r.pending = append(r.pending, entry{record: record, owner: owner})
		}
	})
	r.client.AllowRebalance()
}

func (r *tracesReceiver) noteFetchError(ctx context.Context, p kgo.FetchTopicPartition) {
	if ctx.Err() != nil && errors.Is(p.Err, ctx.Err()) {
		return // Our own end of waiting comes back as an error of no partition.
	}
	if p.Partition < 0 {
		r.health.problem(problemTopic, p.Err)
		return
	}
	if p.Topic == "" {
		r.health.problem(problemGroup, p.Err)
		return
	}
	r.telemetry.KafkabatchFetchFailures.Add(ctx, 1, withPartition(p.Partition))
	if owner := r.owned.of(p.Partition); owner.fetchError == nil || owner.fetchError.Error() != p.Err.Error() {
		owner.fetchError = p.Err
		r.set.Logger.Warn("Fetching from one partition failed; the others go on",
			zap.Int32("partition", p.Partition), zap.Error(p.Err))
	}
}

// noteProgress finds records that were due and that the broker no longer held.
func (r *tracesReceiver) noteProgress(ctx context.Context, owner *ownership, p kgo.FetchTopicPartition) {
	owner.fetchError = nil
	due := owner.next
	if due < 0 {
		due = p.Records[0].Offset
		if at, ok := r.client.CommittedOffsets()[p.Topic][p.Partition]; ok && at.Offset >= 0 {
			due = at.Offset
		}
	}
	if first := p.Records[0].Offset; first > due {
		r.telemetry.KafkabatchSkippedRecords.Add(ctx, first-due)
		r.set.Logger.Warn("The broker no longer held offsets that were due; reading goes on at the oldest one left",
			zap.Int32("partition", p.Partition), zap.Int64("due", due), zap.Int64("oldest", first))
	}
	owner.next = p.Records[len(p.Records)-1].Offset + 1
}

// handle brings a batch to its end: every record is taken by the next consumer or is a dead letter, and then, when
// the batch before it is committed, the offsets are. An error means that the receiver is stopping and the batch
// was given up.
func (r *tracesReceiver) handle(ctx context.Context, b *batch, before <-chan struct{}) error {
	if err := r.owned.handling.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.owned.handling.Release(1)

	letters, err := r.deliver(ctx, b.entries)
	if err != nil {
		return err
	}
	if err := r.writeDeadLetters(ctx, letters); err != nil {
		return err
	}
	if err := r.inTurn(ctx, before); err != nil {
		return err
	}
	return r.commit(ctx, b.entries)
}

// inTurn waits until the batch before is committed. A rebalance does not wait for that.
func (r *tracesReceiver) inTurn(ctx context.Context, before <-chan struct{}) error {
	select {
	case <-before:
		return nil
	default:
	}
	return r.owned.letGo(ctx, func() error {
		select {
		case <-before:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// deliver hands records on until they are taken, and returns those that can never be. Partitions that are lost while it
// waits are left to their new owner.
//
// After a failure one record is tried alone until it is taken, and then the others: a store that is away for long costs
// neither the memory nor the time of batches that are decoded for each attempt.
func (r *tracesReceiver) deliver(ctx context.Context, entries []entry) ([]deadLetter, error) {
	var letters []deadLetter
	attempts := r.newAttempts(problemDelivery)
	for some := entries; len(entries) > 0; {
		// The consumer may change what it is given, so that each attempt decodes anew.
		traces, decoded, undecodable := merge(some)
		spans, err := r.handOn(ctx, traces, decoded)
		switch {
		case err == nil && spans == 0:
			attempts.dropped()
		case err == nil:
			attempts.succeeded()
			attempts = r.newAttempts(problemDelivery)
		case consumererror.IsPermanent(err):
			attempts.dropped()
			rejected, err := r.separate(ctx, decoded, err)
			if err != nil {
				return nil, err
			}
			letters = append(letters, rejected...)
		case attempts.exhausted():
			attempts.dropped()
			err = fmt.Errorf("no more retries left: %w", err)
			_, decoded, undecodable = merge(entries)
			for _, e := range decoded {
				letters = append(letters, deadLetter{entry: e, reason: reasonRetriesExhausted, err: err})
			}
			return append(letters, undecodable...), nil
		default:
			r.telemetry.KafkabatchRetries.Add(ctx, 1)
			if err := attempts.wait(ctx, err); err != nil {
				return nil, err
			}
			if entries = stillOwned(entries); len(entries) == 0 {
				attempts.dropped()
				return letters, nil
			}
			some = entries[:1]
			continue
		}
		letters = append(letters, undecodable...)
		entries = entries[len(some):]
		some = entries
	}
	return letters, nil
}

// handOn offers the spans of records to the next consumer. It returns how many there were to offer.
func (r *tracesReceiver) handOn(ctx context.Context, traces ptrace.Traces, records []entry) (spans int, err error) {
	spans = traces.SpanCount()
	if spans == 0 {
		return 0, nil
	}
	opCtx := r.obsreport.StartTracesOp(ctx)
	err = r.next.ConsumeTraces(opCtx, traces)
	r.obsreport.EndTracesOp(opCtx, "otlp_proto", spans, err)
	if err == nil {
		r.telemetry.KafkabatchBatchSize.Record(ctx, int64(spans))
		r.noteDelivered(ctx, records)
	}
	return spans, err
}

// separate takes records that were refused together for good: they are halved until those that spoil them stand alone.
func (r *tracesReceiver) separate(ctx context.Context, records []entry, refusal error) ([]deadLetter, error) {
	if len(records) == 1 {
		return []deadLetter{{entry: records[0], reason: reasonRejected, err: refusal}}, nil
	}
	var letters []deadLetter
	for _, half := range [][]entry{records[:len(records)/2], records[len(records)/2:]} {
		rejected, err := r.deliver(ctx, half)
		if err != nil {
			return nil, err
		}
		letters = append(letters, rejected...)
	}
	return letters, nil
}

// noteDelivered measures how long ago the queue took the records that were just handed on. A record's time is that
// of the machine that put it there, whose clock may be ahead.
func (r *tracesReceiver) noteDelivered(ctx context.Context, entries []entry) {
	now := time.Now()
	for _, e := range entries {
		r.telemetry.KafkabatchDeliveryDelay.Record(ctx, max(0, now.Sub(e.record.Timestamp).Seconds()))
	}
}

// commit commits the offsets behind the entries of partitions that are still owned.
func (r *tracesReceiver) commit(ctx context.Context, entries []entry) error {
	attempts := r.newAttempts(problemCommit)
	for {
		committed, err := r.owned.commit(entries, func(last []*kgo.Record) error {
			attempt, cancel := context.WithTimeout(ctx, commitTimeout)
			defer cancel()
			if err := r.client.CommitRecords(attempt, last...); err != nil {
				return err
			}
			r.backlog.committed(last)
			return nil
		})
		if err == nil {
			r.telemetry.KafkabatchRecords.Add(ctx, int64(committed))
			attempts.succeeded()
			return nil
		}
		r.telemetry.KafkabatchCommitFailures.Add(ctx, 1)
		if err := attempts.wait(ctx, err); err != nil {
			return err
		}
	}
}

// attempts spaces the tries of one step.
type attempts struct {
	r       *tracesReceiver
	problem problem
	backoff backoff.ExponentialBackOff
	begun   time.Time
}

func (r *tracesReceiver) newAttempts(p problem) *attempts {
	return &attempts{
		r:       r,
		problem: p,
		backoff: backoff.ExponentialBackOff{
			InitialInterval:     r.cfg.Retry.InitialInterval,
			RandomizationFactor: r.cfg.Retry.RandomizationFactor,
			Multiplier:          r.cfg.Retry.Multiplier,
			MaxInterval:         r.cfg.Retry.MaxInterval,
		},
		begun: time.Now(),
	}
}

func (a *attempts) exhausted() bool {
	limit := a.r.cfg.Retry.MaxElapsedTime
	return !a.r.cfg.Retry.Enabled || limit > 0 && time.Since(a.begun) >= limit
}

// wait lets time pass before the next attempt, and a rebalance as well: partitions may be gone after it.
func (a *attempts) wait(ctx context.Context, cause error) error {
	a.r.health.problem(a.problem, cause)
	timer := time.NewTimer(a.backoff.NextBackOff())
	defer timer.Stop()
	return a.r.owned.letGo(ctx, func() error {
		select {
		case <-timer.C:
			return nil
		case <-a.r.stopping:
			return errStopping
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

func (a *attempts) succeeded() { a.r.health.solved(a.problem) }

func (a *attempts) dropped() { a.r.health.dropped(a.problem) }

func withPartition(partition int32) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.Int64("partition", int64(partition))))
}
