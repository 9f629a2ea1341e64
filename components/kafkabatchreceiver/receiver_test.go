package kafkabatchreceiver

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/looptrace/looptrace/components/kafkabatchreceiver/internal/metadata"
	"github.com/looptrace/looptrace/test/freeport"
	"github.com/looptrace/looptrace/test/kafka"
)

var errStoreAway = errors.New("store is away")

// Tests for any broker run with the in-memory one and with Apache Kafka, which requires TLS and a login.
func TestOverBrokers(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*testing.T, *queue){
		"delivers all partitions and commits":   testDeliversAll,
		"continues at the committed offset":     testContinues,
		"keeps trying a batch that is refused":  testRetries,
		"gives poison to the dead-letter topic": testPoison,
		"rebalance in the middle of a batch":    testRebalance,
		"rebalance while the store is away":     testRebalanceWhileAway,
		"a batch does not overtake another":     testOrder,
		"shutdown in the middle of a batch":     testShutdown,
		"shutdown at the deadline":              testShutdownDeadline,
	}
	t.Run("kfake", func(t *testing.T) {
		t.Parallel()
		for name, test := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				q, _ := fakeQueue(t)
				test(t, q)
			})
		}
	})
	t.Run("kafka", func(t *testing.T) {
		t.Parallel()
		broker := kafka.StartSecured(t)
		for name, test := range cases {
			t.Run(name, func(t *testing.T) {
				q := newQueue(t, broker.Plain)
				q.secured = broker
				test(t, q)
			})
		}
	})
}

func testDeliversAll(t *testing.T, q *queue) {
	t.Helper()
	const n = 5_000
	q.fill(t, 0, n/2)
	s := newStore()
	run(t, q.config(), s)
	q.fill(t, n/2, n)
	until(t, "all are taken", func() bool { return s.count() == n })
	q.waitDrained(t)
	assert.Less(t, s.batches, n/10, "records are merged")
	s.assertHasAll(t, n)
	s.assertOnce(t)
}

func testContinues(t *testing.T, q *queue) {
	t.Helper()
	q.fill(t, 0, 100)
	first := newStore()
	stop := run(t, q.config(), first)
	q.waitDrained(t)
	stop()
	first.assertHasAll(t, 100)

	q.fill(t, 100, 200)
	second := newStore()
	run(t, q.config(), second)
	q.waitDrained(t)
	assert.Equal(t, 100, second.count(), "nothing that was committed is read again")
	assert.False(t, second.has(name(99)))
	second.assertOnce(t)
}

func testRetries(t *testing.T, q *queue) {
	t.Helper()
	const n = 500
	var mu sync.Mutex
	var refused []int
	s := newStore()
	s.refuse = func(names []string) error {
		mu.Lock()
		defer mu.Unlock()
		if len(refused) == 10 {
			return nil
		}
		refused = append(refused, len(names))
		return errStoreAway
	}
	q.fill(t, 0, n)
	run(t, q.config(), s)
	q.waitDrained(t)
	s.assertHasAll(t, n)
	s.assertOnce(t)
	slices.Sort(refused)
	assert.Equal(t, slices.Repeat([]int{1}, 10-maxInFlight), refused[:10-maxInFlight], "each batch is tried once as a whole, and then a record of it")
	assert.Less(t, s.batches, n/10, "the others are merged again")
}

func testPoison(t *testing.T, q *queue) {
	t.Helper()
	const n = 400
	rejected := []string{name(7), name(8), name(333)}
	s := newStore()
	s.refuse = func(names []string) error {
		for _, name := range rejected {
			if slices.Contains(names, name) {
				return consumererror.NewPermanent(errors.New("no such day"))
			}
		}
		return nil
	}
	q.fill(t, 0, 200)
	q.put(t, 2, []byte("this is no protobuf"))
	q.fill(t, 200, n)
	run(t, q.config(), s)
	q.waitDrained(t)
	s.assertHasAll(t, n, rejected...)
	s.assertOnce(t)

	var reasons []string
	for _, letter := range q.deadLetters(t, 4) {
		got := headers(letter)
		reasons = append(reasons, got[HeaderReason])
		assert.Equal(t, q.topic, got[HeaderTopic])
		_, err := time.Parse(time.RFC3339Nano, got[HeaderTimestamp])
		require.NoError(t, err)
		if got[HeaderReason] == string(reasonUndecodable) {
			assert.Equal(t, "this is no protobuf", string(letter.Value))
			assert.Equal(t, "2", got[HeaderPartition])
			assert.Equal(t, "50", got[HeaderOffset])
			assert.Contains(t, got[HeaderError], "decode OTLP protobuf")
			continue
		}
		var unmarshaler ptrace.ProtoUnmarshaler
		traces, err := unmarshaler.UnmarshalTraces(letter.Value)
		require.NoError(t, err, "the record is kept as it came")
		assert.Subset(t, rejected, spanNames(traces))
		assert.Contains(t, got[HeaderError], "no such day")
	}
	slices.Sort(reasons)
	assert.Equal(t, []string{"rejected", "rejected", "rejected", "undecodable"}, reasons)
}

// testOrder accepts the second batch while the first one is refused: nothing may be committed before the first is
// accepted too.
func testOrder(t *testing.T, q *queue) {
	t.Helper()
	const n = 200
	s := newStore()
	var away atomic.Bool
	away.Store(true)
	s.refuse = func(names []string) error {
		if away.Load() && slices.Contains(names, name(0)) {
			return errStoreAway
		}
		return nil
	}
	for i := range n { // one partition, so that the first record is in the first batch
		q.put(t, 0, spanNamed(t, name(i)))
	}
	cfg := q.config()
	cfg.MaxBatchSpans = 20
	run(t, cfg, s)
	until(t, "a later batch is taken", func() bool { return s.count() > 0 })
	for _, offset := range q.committed(t) {
		assert.LessOrEqual(t, offset, int64(0), "committed before the first batch")
	}
	away.Store(false)
	q.waitDrained(t)
	s.assertHasAll(t, n)
	s.assertOnce(t)
}

// gate is a store whose first batch blocks until it is released.
func gate(s *store) (entered <-chan struct{}, open func()) {
	in, out := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.refuse = func([]string) error {
		once.Do(func() { close(in) })
		<-out
		return nil
	}
	return in, sync.OnceFunc(func() { close(out) })
}

func testRebalance(t *testing.T, q *queue) {
	t.Helper()
	const n = 2_000
	s := newStore()
	entered, open := gate(s)
	defer open()
	cfg := q.config()
	cfg.MaxBatchSpans = 100
	q.fill(t, 0, n)
	run(t, cfg, s)
	<-entered
	// A second member joins while the first has a batch in flight.
	run(t, cfg, s)
	q.waitMembers(t, 2)
	open()
	q.fill(t, n, n+200)
	q.waitDrained(t)
	s.assertHasAll(t, n+200)
	q.waitSettled(t, 2)
}

func testRebalanceWhileAway(t *testing.T, q *queue) {
	t.Helper()
	const n = 1_000
	var away atomic.Bool
	away.Store(true)
	s := newStore()
	refused := make(chan struct{}, 1)
	s.refuse = func([]string) error {
		if away.Load() {
			select {
			case refused <- struct{}{}:
			default:
			}
			return errStoreAway
		}
		return nil
	}
	q.fill(t, 0, n)
	stop := run(t, q.config(), s)
	<-refused
	run(t, q.config(), s)
	q.waitSettled(t, 2) // A batch that is being retried does not delay the rebalance.
	assert.Empty(t, q.committed(t))
	stop()
	q.waitSettled(t, 1)
	away.Store(false)
	q.waitDrained(t)
	s.assertHasAll(t, n)
}

func testShutdown(t *testing.T, q *queue) {
	t.Helper()
	s := newStore()
	entered, open := gate(s)
	defer open()
	q.fill(t, 0, 40)
	stop := run(t, q.config(), s)
	<-entered
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	open()
	<-stopped
	// What was in flight is committed: the next member begins after it.
	taken := s.count()
	assert.Positive(t, taken)
	next := newStore()
	run(t, q.config(), next)
	q.waitDrained(t)
	assert.Equal(t, 40-taken, next.count())
}

func testShutdownDeadline(t *testing.T, q *queue) {
	t.Helper()
	entered := make(chan struct{})
	stuck, err := consumer.NewTraces(func(ctx context.Context, _ ptrace.Traces) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	})
	require.NoError(t, err)
	q.fill(t, 0, 40)
	r, err := NewFactory().CreateTraces(t.Context(), receivertest.NewNopSettings(metadata.Type), q.config(), stuck)
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), &host{}))
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.NoError(t, r.Shutdown(ctx))
	assert.Empty(t, q.committed(t), "what was given up is not committed")
}

// The stock receiver lost 126 of 5,070 records here.
func TestFetchErrorOfOnePartition(t *testing.T) {
	t.Parallel()
	const n = 5_000
	q, cluster := fakeQueue(t)
	fault := cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Fetch}, Topic: q.topic, Partitions: []int32{1}, Err: kerr.UnknownServerError, Count: 40,
	})
	s := newStore()
	telemetry := componenttest.NewTelemetry()
	run := func() func() {
		return runWith(t, settings(telemetry), &host{}, q.config(), s)
	}
	stop := run()
	for i := 0; i < n; i += 50 {
		q.fill(t, i, i+50)
	}
	require.NoError(t, fault.Wait(t.Context(), 40))
	q.waitDrained(t)
	s.assertHasAll(t, n)
	s.assertOnce(t)
	failures, err := telemetry.GetMetric("otelcol_kafkabatch_fetch_failures")
	require.NoError(t, err)
	assert.Positive(t, failures.Data.(metricdata.Sum[int64]).DataPoints[0].Value)
	stop()
	require.NoError(t, telemetry.Shutdown(context.WithoutCancel(t.Context())))
}

// While one partition cannot be read, the others are read.
func TestFetchErrorDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	q, cluster := fakeQueue(t)
	fault := cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Fetch}, Topic: q.topic, Partitions: []int32{1}, Err: kerr.UnknownServerError, Count: -1,
	})
	s := newStore()
	run(t, q.config(), s)
	q.fill(t, 0, 400)
	until(t, "the others are taken", func() bool { return s.count() == 300 })
	fault.Remove()
	q.waitDrained(t)
	s.assertHasAll(t, 400)
	s.assertOnce(t)
}

func TestCommitFails(t *testing.T) {
	t.Parallel()
	q, cluster := fakeQueue(t)
	cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.OffsetCommit}, Topic: q.topic, Group: q.group, Err: kerr.UnknownServerError, Count: 5,
	})
	s := newStore()
	telemetry := componenttest.NewTelemetry()
	h := &host{}
	stop := runWith(t, settings(telemetry), h, q.config(), s)
	q.fill(t, 0, 100)
	q.waitDrained(t)
	s.assertHasAll(t, 100)
	s.assertOnce(t)
	failures, err := telemetry.GetMetric("otelcol_kafkabatch_commit_failures")
	require.NoError(t, err)
	assert.Equal(t, int64(5), failures.Data.(metricdata.Sum[int64]).DataPoints[0].Value)
	stop() // it reports that it is ready after the commit, which the queue shows earlier
	assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, h.reported())
	require.NoError(t, telemetry.Shutdown(context.WithoutCancel(t.Context())))
}

// A member that the group has removed joins again and continues after the committed offset.
func TestGroupForgetsMember(t *testing.T) {
	t.Parallel()
	q, cluster := fakeQueue(t)
	s := newStore()
	run(t, q.config(), s)
	q.fill(t, 0, 100)
	q.waitDrained(t)
	cluster.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: q.group, Err: kerr.UnknownMemberID, Count: 1},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Group: q.group, TopLevel: true, Err: kerr.UnknownMemberID, Count: 1},
	)
	q.fill(t, 100, 200)
	q.waitDrained(t)
	s.assertHasAll(t, 200)
}

func TestDeadLetterCannotBeWritten(t *testing.T) {
	t.Parallel()
	q, cluster := fakeQueue(t)
	fault := cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: q.deadLetterTopic, Err: kerr.InvalidRecord, Count: 3,
	})
	q.put(t, 0, []byte("no protobuf"))
	q.fill(t, 0, 100)
	s := newStore()
	run(t, q.config(), s)
	require.NoError(t, fault.Wait(t.Context(), 3))
	q.waitDrained(t)
	s.assertHasAll(t, 100)
	assert.Len(t, q.deadLetters(t, 1), 1)
}

// TestLargeDeadLetters writes dead letters that each fit into the topic, and together do not.
func TestLargeDeadLetters(t *testing.T) {
	t.Parallel()
	const limit = 64 << 20 // like the topics of `looptrace migrate` and the embedded broker
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"message.max.bytes": strconv.Itoa(limit)}))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	q := newQueue(t, cluster.ListenAddrs()[0])
	client, err := kgo.NewClient(kgo.SeedBrokers(q.address), kgo.DefaultProduceTopic(q.topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(limit))
	require.NoError(t, err)
	defer client.Close()
	const n = 3
	for range n {
		value := make([]byte, limit/2-1<<20)
		_, err := rand.Read(value) // incompressible
		require.NoError(t, err)
		value[0] = 0xff // not protobuf
		require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Value: value}).FirstErr())
	}
	cfg := q.config()
	cfg.MaxBatchBytes, cfg.MaxBatchDelay = maxBatchBytesLimit, 5*time.Second
	run(t, cfg, newStore())
	q.waitDrained(t)
	assert.Len(t, q.deadLetters(t, n), n)
}

func TestRetriesExhausted(t *testing.T) {
	t.Parallel()
	q, _ := fakeQueue(t)
	s := newStore()
	s.refuse = func([]string) error { return errStoreAway }
	cfg := q.config()
	cfg.Retry.MaxElapsedTime = 50 * time.Millisecond
	q.fill(t, 0, 40)
	h := &host{}
	runWith(t, receivertest.NewNopSettings(metadata.Type), h, cfg, s)
	q.waitDrained(t)
	for _, letter := range q.deadLetters(t, 40) {
		assert.Equal(t, string(reasonRetriesExhausted), headers(letter)[HeaderReason])
		assert.Contains(t, headers(letter)[HeaderError], errStoreAway.Error())
	}
	assert.Contains(t, h.reported(), componentstatus.StatusRecoverableError)
	until(t, "nothing is tried any more", func() bool { text, _ := h.last(); return text == "" })
}

// TestDeadLetterIsNotAnswered drops the broker's answers to dead letters: a stop must not wait for them without
// limit.
func TestDeadLetterIsNotAnswered(t *testing.T) {
	t.Parallel()
	q, cluster := fakeQueue(t)
	written := make(chan struct{}, 1)
	q.put(t, 0, []byte("no protobuf"))
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		select {
		case written <- struct{}{}:
		default:
		}
		return nil, nil, true
	})
	r, err := NewFactory().CreateTraces(t.Context(), receivertest.NewNopSettings(metadata.Type), q.config(), newStore())
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), &host{}))
	<-written
	require.NoError(t, r.Shutdown(context.WithoutCancel(t.Context()))) // without a deadline; the client waits for an answer for 20 s
	assert.Empty(t, q.committed(t), "a record is passed over unwritten")
}

func TestBrokerIsAwayAtStart(t *testing.T) {
	t.Parallel()
	address := freeport.Take(t, 1)[0]
	_, text, err := net.SplitHostPort(address)
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)

	s, h := newStore(), &host{}
	away := &queue{address: address, topic: "spans", group: "store", deadLetterTopic: "spans.deadletter"}
	runWith(t, receivertest.NewNopSettings(metadata.Type), h, away.config(), s)
	until(t, "the absence is reported", func() bool {
		return slices.Contains(h.reported(), componentstatus.StatusRecoverableError)
	})

	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	q := away.create(t)
	q.fill(t, 0, 100)
	q.waitDrained(t)
	s.assertHasAll(t, 100)
	states := h.reported()
	assert.Equal(t, componentstatus.StatusOK, states[len(states)-1])
}

func TestStopsWhileBrokerIsAway(t *testing.T) {
	t.Parallel()
	q, cluster := fakeQueue(t)
	s := newStore()
	r, err := NewFactory().CreateTraces(t.Context(), receivertest.NewNopSettings(metadata.Type), q.config(), s)
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), &host{}))
	q.fill(t, 0, 100)
	q.waitDrained(t)
	cluster.Close()
	require.NoError(t, r.Shutdown(context.WithoutCancel(t.Context()))) // which has no deadline of its own
}

func TestTrimmedLog(t *testing.T) {
	t.Parallel()
	q, cluster := fakeQueue(t)
	s := newStore()
	stop := run(t, q.config(), s)
	q.fill(t, 0, 40)
	q.waitDrained(t)
	stop()
	q.fill(t, 40, 400)
	require.NoError(t, cluster.DeleteRecords(q.topic, 0, 50))
	telemetry := componenttest.NewTelemetry()
	stop = runWith(t, settings(telemetry), &host{}, q.config(), s)
	q.waitDrained(t)
	assert.Equal(t, 400-40, s.count())
	skipped, err := telemetry.GetMetric("otelcol_kafkabatch_skipped_records")
	require.NoError(t, err)
	assert.Equal(t, int64(40), skipped.Data.(metricdata.Sum[int64]).DataPoints[0].Value)
	stop()
	require.NoError(t, telemetry.Shutdown(context.WithoutCancel(t.Context())))
}

// A member with an instance id that is killed and restarted gets its partitions back at once: the broker would miss it for much longer
// than the test waits.
func TestInstanceTakesOver(t *testing.T) {
	t.Parallel()
	q, cluster := fakeQueue(t)
	cluster.ControlKey(int16(kmsg.JoinGroup), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		request.(*kmsg.JoinGroupRequest).SessionTimeoutMillis = int32((3 * patience).Milliseconds())
		return nil, nil, false
	})
	cfg := q.config()
	cfg.GroupInstanceID = "store-1"
	q.fill(t, 0, 100)
	first := newStore()
	stop := run(t, cfg, first)
	q.waitDrained(t)
	stop() // A static member does not leave the group: to the broker this is the same as a kill.
	q.fill(t, 100, 200)
	second := newStore()
	run(t, cfg, second)
	q.waitDrained(t)
	assert.Equal(t, 100, second.count())
}

// The lag grows while a consumer does not return and nothing more is fetched, and is 0 when all is committed.
func TestLag(t *testing.T) {
	t.Parallel()
	q, _ := fakeQueue(t)
	s := newStore()
	_, open := gate(s)
	defer open()
	telemetry := componenttest.NewTelemetry()
	cfg := q.config()
	cfg.MaxBatchSpans = 1
	q.fill(t, 0, 100)
	runQuick(t, settings(telemetry), &host{}, cfg, s)
	records := func() (sum int64) {
		for _, point := range gauge[int64](t, telemetry, "otelcol_kafkabatch_lag") {
			sum += point.Value
		}
		return sum
	}
	ages := func() []float64 {
		var all []float64
		for _, point := range gauge[float64](t, telemetry, "otelcol_kafkabatch_lag_age") {
			all = append(all, point.Value)
		}
		return all
	}
	until(t, "the lag is seen", func() bool { return records() == 100 && len(ages()) == partitions })
	before := slices.Min(ages())
	assert.Positive(t, before, "in each partition")
	until(t, "it grows in each", func() bool { return slices.Min(ages()) > before })
	q.fill(t, 100, 120) // while nothing is fetched
	until(t, "what comes is seen", func() bool { return records() == 120 })
	open()
	q.waitDrained(t)
	until(t, "the lag is gone", func() bool { return records() == 0 && slices.Max(ages()) == 0 })
	require.NoError(t, telemetry.Shutdown(context.WithoutCancel(t.Context())))
}

// The age is that of the record, whenever it is fetched.
func TestLagAgeIsTheRecords(t *testing.T) {
	t.Parallel()
	b := newBacklog()
	b.assigned([]int32{3})
	w := b.byPartition[3]
	hours := func() float64 { return math.Round(w.age().Hours()) }
	record := func(offset int64, hours int) *kgo.Record {
		return &kgo.Record{Partition: 3, Offset: offset, Timestamp: time.Now().Add(-time.Duration(hours) * time.Hour)}
	}
	b.measured(3, 10, 10)
	assert.Zero(t, w.age())

	b.fetched(3, []*kgo.Record{record(10, 5), record(11, 3)}, 14)
	assert.InDelta(t, 5, hours(), 0)
	assert.EqualValues(t, 4, w.records())
	b.committed([]*kgo.Record{record(10, 5)})
	assert.InDelta(t, 3, hours(), 0)
	b.committed([]*kgo.Record{record(11, 3)})
	assert.EqualValues(t, 2, w.records())
	assert.Zero(t, hours(), "what was not fetched has been known for a moment")
	w.noticed = w.noticed.Add(-2 * time.Hour)
	b.measured(3, 10, 20)
	assert.InDelta(t, 2, hours(), 0, "and waits since")
	b.fetched(3, []*kgo.Record{record(12, 7)}, 20)
	assert.InDelta(t, 7, hours(), 0)
	b.committed([]*kgo.Record{record(19, 0)})
	assert.Zero(t, w.age())

	b.lost([]int32{3})
	b.fetched(3, []*kgo.Record{record(20, 1)}, 21)
	assert.Empty(t, b.byPartition)
}

// Every record and span is stored or becomes a dead letter, and is counted once, even if its batch was split.
func TestCountersAddUp(t *testing.T) {
	t.Parallel()
	q, _ := fakeQueue(t)
	const records, perRecord = 100, 3
	s := newStore()
	s.refuse = func(names []string) error {
		if slices.Contains(names, name(7)) || slices.Contains(names, name(42)) {
			return consumererror.NewPermanent(errors.New("no such day"))
		}
		return nil
	}
	for i := range records {
		q.put(t, int32(i%partitions), spanNamed(t, name(i), name(i)+"b", name(i)+"c"))
	}
	q.put(t, 0, []byte("this is no protobuf"))
	telemetry := componenttest.NewTelemetry()
	stop := runWith(t, settings(telemetry), &host{}, q.config(), s)
	q.waitDrained(t)
	stop()

	assert.Equal(t, map[string]int64{"": records + 1}, counts(t, telemetry, "otelcol_kafkabatch_records"))
	assert.Equal(t, map[string]int64{"rejected": 2, "undecodable": 1}, counts(t, telemetry, "otelcol_kafkabatch_dead_letters"))
	assert.Equal(t, map[string]int64{"rejected": 2 * perRecord}, counts(t, telemetry, "otelcol_kafkabatch_dead_letter_spans"))
	stored, err := telemetry.GetMetric("otelcol_kafkabatch_batch_size")
	require.NoError(t, err)
	assert.EqualValues(t, (records-2)*perRecord, stored.Data.(metricdata.Histogram[int64]).DataPoints[0].Sum)
	delays, err := telemetry.GetMetric("otelcol_kafkabatch_delivery_delay")
	require.NoError(t, err)
	assert.EqualValues(t, records-2, delays.Data.(metricdata.Histogram[float64]).DataPoints[0].Count)
	require.NoError(t, telemetry.Shutdown(context.WithoutCancel(t.Context())))
}

// counts returns a counter by its reason, empty if it has none.
func counts(t *testing.T, telemetry *componenttest.Telemetry, name string) map[string]int64 {
	t.Helper()
	got, err := telemetry.GetMetric(name)
	require.NoError(t, err)
	found := map[string]int64{}
	for _, point := range got.Data.(metricdata.Sum[int64]).DataPoints {
		reason, _ := point.Attributes.Value("reason")
		found[reason.AsString()] = point.Value
	}
	return found
}

// The limits close a batch, and the rest begins the next one.
func TestBatchLimits(t *testing.T) {
	t.Parallel()
	r := &tracesReceiver{cfg: createDefaultConfig().(*Config)}
	r.cfg.MaxBatchSpans = 10
	r.cfg.MaxBatchBytes = 1 << 20
	record := func(spans int) entry {
		return entry{record: &kgo.Record{Value: spanNamed(t, slices.Repeat([]string{"s"}, spans)...)}, owner: &ownership{}}
	}
	r.pending = []entry{record(6), record(6), record(1), record(30), record(2)}
	var spans []int
	for len(r.pending) > 0 {
		b := &batch{}
		r.fill(b)
		spans = append(spans, b.spans)
	}
	assert.Equal(t, []int{12, 31, 2}, spans)

	r.cfg.MaxBatchSpans = 1 << 20
	r.cfg.MaxBatchBytes = 100
	r.pending = []entry{record(30), record(30), record(30)}
	b := &batch{}
	r.fill(b)
	assert.Equal(t, 30, b.spans)

	gone := record(1)
	gone.owner.gone.Store(true)
	r.pending = []entry{gone}
	b = &batch{}
	r.fill(b)
	assert.True(t, b.empty(), "what is owned no longer is left to its owner")
}

// gauge returns the value of a gauge, nothing if there is none yet.
func gauge[N int64 | float64](t *testing.T, telemetry *componenttest.Telemetry, name string) []metricdata.DataPoint[N] {
	t.Helper()
	got, err := telemetry.GetMetric(name)
	if err != nil {
		return nil
	}
	return got.Data.(metricdata.Gauge[N]).DataPoints
}

func settings(telemetry *componenttest.Telemetry) receiver.Settings {
	set := receivertest.NewNopSettings(metadata.Type)
	set.TelemetrySettings = telemetry.NewTelemetrySettings()
	return set
}
