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
	// maxInFlight limits the batches in flight: while one is inserted, another is decoded.
	maxInFlight = 2
	// sessionTimeout is how long a killed member's partitions stay unread, unless it has an instance id.
	sessionTimeout    = 10 * time.Second
	heartbeatInterval = 3 * time.Second
	// fetchMaxBytes limits a fetch, unless a single record is larger. A batch is made of many fetches: one is
	// buffered for each broker while a batch is in flight, and the embedded broker holds each answer twice. That
	// broker grows a partition's answer by a quarter at a time, so with a quarter of this limit per partition it
	// copies little.
	fetchMaxBytes = 2 << 20
	// fetchMaxWait limits how long an idle fetch delays a newly assigned partition of the same broker.
	fetchMaxWait = 500 * time.Millisecond
	// commitTimeout limits an attempt to commit. Together with handOverTimeout it is below the rebalance timeout (60
	// s), since a rebalance waits for both.
	commitTimeout = 10 * time.Second
	// maxDeadLetterBytes is the max.message.bytes of the dead-letter topic: one letter, or several short ones. More are
	// written one after the other.
	maxDeadLetterBytes = 64 << 20
	// deliveryTimeout limits an attempt to write dead letters, unless an answer is pending: the client waits 20 s for
	// it.
	deliveryTimeout = 10 * time.Second
	// leaveTimeout limits the attempt to leave the group, whose broker may be away.
	leaveTimeout = 5 * time.Second
	// retryBackoff and metadataMinAge limit how long records stay unread after a broker came back: by default the
	// client waits up to several seconds. A broker that is away costs two small requests per second.
	retryBackoff   = 500 * time.Millisecond
	metadataMinAge = time.Second
)

// errStopping ends the retries of a batch when the receiver stops. Its offsets are not committed, so it is read again
// after the next start.
var errStopping = errors.New("receiver is stopping")

// tracesReceiver reads the topic. One goroutine polls and decodes, others hand on batches and commit them, and one
// watches their progress. The Kafka client itself keeps the group membership alive.
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
	// watchEvery and notReadyAfter are constants except in tests.
	watchEvery, notReadyAfter time.Duration
	flight                    flight
	// pending are fetched records that are not in a batch yet. Only the reading goroutine uses it.
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

// Start begins to read in the background. It does not wait for Kafka: a broker that is away is a recoverable state.
func (r *tracesReceiver) Start(ctx context.Context, host component.Host) error {
	r.health = newHealth(r.set.Logger, host, r.notReadyAfter)
	r.owned = newOwnerships()
	secure, err := r.cfg.Options(ctx)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(append(r.clientOptions(), secure...)...)
	if err != nil {
		return fmt.Errorf("create the Kafka client: %w", err)
	}
	r.client = client
	if err := errors.Join(
		r.telemetry.RegisterKafkabatchLagCallback(r.backlog.observeRecords),
		r.telemetry.RegisterKafkabatchLagAgeCallback(r.backlog.observeAge),
	); err != nil {
		client.Close()
		return fmt.Errorf("register lag metrics: %w", err)
	}

	// Stopping has two steps: first no new batch is begun, then the one in flight is given up. Neither depends on
	// Start's own context.
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	reading, stop := context.WithCancel(work)
	r.stopping, r.stop, r.abandon = reading.Done(), stop, abandon
	r.running.Go(func() { r.read(reading, work) })
	r.running.Go(func() { r.watch(reading) })
	return nil
}

func (r *tracesReceiver) clientOptions() []kgo.Opt {
	// health reports once what franz-go would log at every attempt while a broker is away.
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
		// Without a valid committed offset, begin with the oldest record: reading a record twice does no harm,
		// skipping one loses it.
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		// No rebalance between a poll and the note of who owns what it returned. It is allowed right after, not only
		// when the batch is done.
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

		kgo.ProducerBatchMaxBytes(maxDeadLetterBytes),
		kgo.RecordDeliveryTimeout(deliveryTimeout),
		// Otherwise a dead letter without an answer is waited for without end, even when the receiver stops. A dead letter that
		// is written twice is read twice.
		kgo.AllowIdempotentProduceCancellation(),
	}
	if r.cfg.GroupInstanceID != "" {
		opts = append(opts, kgo.InstanceID(r.cfg.GroupInstanceID))
	}
	return opts
}

// Shutdown stops polling, waits until ctx ends for the batch in flight to be committed, and leaves the group.
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
		// Not an error: the group notices by itself.
		r.set.Logger.Info("Could not leave the consumer group; its partitions are free after the session timeout",
			zap.Duration("session_timeout", sessionTimeout), zap.Error(err))
	}
	r.client.CloseAllowingRebalance()
	return nil
}

// read is the main loop. It handles a batch while it collects the next ones. Batches are committed in order. The
// first one that is given up ends the loop.
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

// collect polls until a batch is full. It stops earlier if the first record has waited for patience and no batch is
// in flight: while one is, a larger batch costs no time. An empty batch means that ctx ended.
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

// floodPatience is how many times longer a batch waits if it fills fast: if it has this many records in that fraction
// of a full batch.
const floodPatience = 10

// patience returns how long the first record of a batch waits for more. The cost of an insert hardly depends on its
// size. So during a flood, which fills a good part of a batch within MaxBatchDelay, large batches matter more than
// low latency.
func (r *tracesReceiver) patience(b *batch) time.Duration {
	large := b.spans*floodPatience >= r.cfg.MaxBatchSpans || b.bytes*floodPatience >= r.cfg.MaxBatchBytes
	if large && len(b.entries) >= floodPatience { // not just a few large requests
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

// poll waits for records and appends them to the pending ones. The error of one partition is noted and does not
// affect records of others.
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
		return // our own timeout is returned as an error without a partition
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
		r.set.Logger.Warn("Fetching from one partition failed; the others continue",
			zap.Int32("partition", p.Partition), zap.Error(p.Err))
	}
}

// noteProgress detects records that the broker deleted before they were read.
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
		r.set.Logger.Warn("The broker has deleted offsets that were not read; reading continues at its oldest offset",
			zap.Int32("partition", p.Partition), zap.Int64("due", due), zap.Int64("oldest", first))
	}
	owner.next = p.Records[len(p.Records)-1].Offset + 1
}

// handle completes a batch: every record is accepted by the next consumer or becomes a dead letter. When the batch
// before it is committed, so are its offsets. An error means that the receiver is stopping and gave up the batch.
func (r *tracesReceiver) handle(ctx context.Context, b *batch, before <-chan struct{}) error {
	if err := r.owned.handling.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.owned.handling.Release(1)

	deadLetters, err := r.deliver(ctx, b.entries)
	if err != nil {
		return err
	}
	if err := r.writeDeadLetters(ctx, deadLetters); err != nil {
		return err
	}
	if err := r.inTurn(ctx, before); err != nil {
		return err
	}
	return r.commit(ctx, b.entries)
}

// inTurn waits until the previous batch is committed. A rebalance does not wait for that.
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

// deliver hands on records until they are accepted, and returns those that can never be. Partitions that are lost
// while it waits are left to their new owner.
//
// After a failure it retries one record until it is accepted, and then the others. So a store that is away for long
// does not cost the memory and time of decoding whole batches for each attempt.
func (r *tracesReceiver) deliver(ctx context.Context, entries []entry) ([]deadLetter, error) {
	var deadLetters []deadLetter
	attempts := r.newAttempts(problemDelivery)
	for some := entries; len(entries) > 0; {
		// The consumer may change its data, so each attempt decodes again.
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
			deadLetters = append(deadLetters, rejected...)
		case attempts.exhausted():
			attempts.dropped()
			err = fmt.Errorf("no more retries left: %w", err)
			_, decoded, undecodable = merge(entries)
			for _, e := range decoded {
				deadLetters = append(deadLetters, deadLetter{entry: e, reason: reasonRetriesExhausted, err: err})
			}
			return append(deadLetters, undecodable...), nil
		default:
			r.telemetry.KafkabatchRetries.Add(ctx, 1)
			if err := attempts.wait(ctx, err); err != nil {
				return nil, err
			}
			if entries = stillOwned(entries); len(entries) == 0 {
				attempts.dropped()
				return deadLetters, nil
			}
			some = entries[:1]
			continue
		}
		deadLetters = append(deadLetters, undecodable...)
		entries = entries[len(some):]
		some = entries
	}
	return deadLetters, nil
}

// handOn passes the spans of records to the next consumer. It returns how many there were.
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

// separate halves records that were rejected together until the bad ones are on their own.
func (r *tracesReceiver) separate(ctx context.Context, records []entry, refusal error) ([]deadLetter, error) {
	if len(records) == 1 {
		return []deadLetter{{entry: records[0], reason: reasonRejected, err: refusal}}, nil
	}
	var deadLetters []deadLetter
	for _, half := range [][]entry{records[:len(records)/2], records[len(records)/2:]} {
		rejected, err := r.deliver(ctx, half)
		if err != nil {
			return nil, err
		}
		deadLetters = append(deadLetters, rejected...)
	}
	return deadLetters, nil
}

// noteDelivered records the time between queueing and delivery. A record's time is from the clock of the machine that
// queued it, which may be ahead.
func (r *tracesReceiver) noteDelivered(ctx context.Context, entries []entry) {
	now := time.Now()
	for _, e := range entries {
		r.telemetry.KafkabatchDeliveryDelay.Record(ctx, max(0, now.Sub(e.record.Timestamp).Seconds()))
	}
}

// commit commits the offsets after the entries of partitions that are still owned.
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

// attempts spaces the attempts of a step.
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

// wait waits before the next attempt. It allows a rebalance, so partitions may be lost afterwards.
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
