package kafkabatchreceiver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configtls"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/looptrace/looptrace/components/kafkabatchreceiver/internal/metadata"
	"github.com/looptrace/looptrace/internal/componenthealth"
	"github.com/looptrace/looptrace/internal/kafkaconfig"
	"github.com/looptrace/looptrace/test/kafka"
)

const (
	partitions = 4
	// patience is how long a test waits for an expected event.
	patience = 60 * time.Second
)

// queue is two topics and a group of one test on a broker, and a client to inspect them.
type queue struct {
	address string
	// secured is how the receiver connects to the same broker, if it differs.
	secured         *kafka.Secured
	topic           string
	group           string
	deadLetterTopic string
	client          *kgo.Client
	admin           *kadm.Client
}

// fakeQueue is an in-memory queue whose requests can be made to fail.
func fakeQueue(t *testing.T) (*queue, *kfake.Cluster) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return newQueue(t, cluster.ListenAddrs()[0]), cluster
}

func newQueue(t *testing.T, address string) *queue {
	t.Helper()
	name := rand.Text()
	q := &queue{address: address, topic: name, group: name + ".store", deadLetterTopic: name + ".deadletter"}
	return q.create(t)
}

// create creates the topics.
func (q *queue) create(t *testing.T) *queue {
	t.Helper()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(q.address),
		kgo.DefaultProduceTopic(q.topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	q.client, q.admin = client, kadm.NewClient(client)
	_, err = q.admin.CreateTopic(t.Context(), partitions, 1, nil, q.topic)
	require.NoError(t, err)
	_, err = q.admin.CreateTopic(t.Context(), 1, 1, nil, q.deadLetterTopic)
	require.NoError(t, err)
	return q
}

func (q *queue) config() *Config {
	cfg := createDefaultConfig().(*Config)
	cfg.Brokers = []string{q.address}
	if s := q.secured; s != nil {
		cfg.Brokers = []string{s.Address}
		cfg.TLS = &configtls.ClientConfig{Config: configtls.Config{CAFile: s.CAFile}}
		cfg.Auth.SASL = &kafkaconfig.SASL{Mechanism: "PLAIN", Username: s.Username, Password: configopaque.String(s.Password)}
	}
	cfg.Topic, cfg.GroupID, cfg.DeadLetterTopic = q.topic, q.group, q.deadLetterTopic
	cfg.MaxBatchDelay = 10 * time.Millisecond
	cfg.Retry.InitialInterval = 5 * time.Millisecond
	cfg.Retry.MaxInterval = 50 * time.Millisecond
	return cfg
}

// fill produces one span a record, named from to to-1, to all partitions in turn.
func (q *queue) fill(t *testing.T, from, to int) {
	t.Helper()
	records := make([]*kgo.Record, 0, to-from)
	for i := from; i < to; i++ {
		records = append(records, &kgo.Record{Partition: int32(i % partitions), Value: spanNamed(t, name(i))})
	}
	require.NoError(t, q.client.ProduceSync(t.Context(), records...).FirstErr())
}

func (q *queue) put(t *testing.T, partition int32, value []byte) {
	t.Helper()
	require.NoError(t, q.client.ProduceSync(t.Context(), &kgo.Record{Partition: partition, Value: value}).FirstErr())
}

// committed returns the committed offsets of the group, by partition.
func (q *queue) committed(t *testing.T) map[int32]int64 {
	t.Helper()
	got := map[int32]int64{}
	offsets, err := q.admin.FetchOffsets(t.Context(), q.group)
	if errors.Is(err, kerr.GroupIDNotFound) || kerr.IsRetriable(err) {
		return got // There is no group yet, or a new broker is still creating the group topic.
	}
	require.NoError(t, err)
	for partition, at := range offsets[q.topic] {
		got[partition] = at.At
	}
	return got
}

// drained reports whether everything in the topic is committed.
func (q *queue) drained(t *testing.T) bool {
	t.Helper()
	ends, err := q.admin.ListEndOffsets(t.Context(), q.topic)
	require.NoError(t, err)
	want := map[int32]int64{}
	for partition, end := range ends[q.topic] {
		if end.Offset > 0 {
			want[partition] = end.Offset
		}
	}
	return maps.Equal(want, q.committed(t))
}

func (q *queue) waitDrained(t *testing.T) {
	t.Helper()
	until(t, "everything is committed", func() bool { return q.drained(t) })
}

// deadLetters reads n records of the dead-letter topic.
func (q *queue) deadLetters(t *testing.T, n int) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(q.address), kgo.ConsumeTopics(q.deadLetterTopic))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []*kgo.Record
	for len(got) < n {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		got = append(got, fetches.Records()...)
	}
	return got
}

func headers(record *kgo.Record) map[string]string {
	got := map[string]string{}
	for _, header := range record.Headers {
		got[header.Key] = string(header.Value)
	}
	return got
}

// store is the next consumer: it keeps what it accepts, and refuses what refuse selects.
type store struct {
	refuse func(names []string) error

	mu      sync.Mutex
	taken   map[string]int
	batches int
}

func newStore() *store {
	return &store{taken: map[string]int{}, refuse: func([]string) error { return nil }}
}

func (s *store) Capabilities() consumer.Capabilities { return consumer.Capabilities{MutatesData: true} }

func (s *store) ConsumeTraces(_ context.Context, traces ptrace.Traces) error {
	names := spanNames(traces)
	// Like a processor of the pipeline, and before the refusal: a retry must not see it.
	for _, resource := range traces.ResourceSpans().All() {
		resource.ScopeSpans().RemoveIf(func(ptrace.ScopeSpans) bool { return true })
	}
	if err := s.refuse(names); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches++
	for _, name := range names {
		s.taken[name]++
	}
	return nil
}

func (s *store) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[name] > 0
}

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.taken)
}

// assertHasAll checks that spans 0 to n-1 were accepted, except the missing ones.
func (s *store) assertHasAll(t *testing.T, n int, missing ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var lost []string
	for i := range n {
		if s.taken[name(i)] == 0 && !slices.Contains(missing, name(i)) {
			lost = append(lost, name(i))
		}
	}
	assert.Empty(t, lost, "lost")
	for _, name := range missing {
		assert.NotContains(t, s.taken, name)
	}
}

// assertOnce checks that nothing was accepted twice.
func (s *store) assertOnce(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.taken, func(_ string, times int) bool { return times == 1 })
	assert.Empty(t, s.taken, "taken more than once")
}

// host records what the component reports.
type host struct {
	mu     sync.Mutex
	events []*componentstatus.Event
}

func (*host) GetExtensions() map[component.ID]component.Component { return nil }

func (h *host) Report(event *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, event)
}

func (h *host) reported() []componentstatus.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	states := make([]componentstatus.Status, 0, len(h.events))
	for _, event := range h.events {
		states = append(states, event.Status())
	}
	return states
}

// last returns the text of the last report, and whether the receiver is ready.
func (h *host) last() (text string, ready bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.events) == 0 {
		return "", true
	}
	event := h.events[len(h.events)-1]
	if event.Status() == componentstatus.StatusOK {
		return "", true
	}
	value, ok := event.Attributes().Get(componenthealth.AttributeReady)
	return event.Err().Error(), ok && value.Bool()
}

// refused reports whether the receiver was ever not ready.
func (h *host) refused() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.events, func(event *componentstatus.Event) bool {
		value, ok := event.Attributes().Get(componenthealth.AttributeReady)
		return event.Status() != componentstatus.StatusOK && (!ok || !value.Bool())
	})
}

// run starts a receiver. It is shut down when the test ends, or by the returned function before.
func run(t *testing.T, cfg *Config, next consumer.Traces) (stop func()) {
	t.Helper()
	return runWith(t, receivertest.NewNopSettings(metadata.Type), &host{}, cfg, next)
}

func runWith(t *testing.T, set receiver.Settings, h component.Host, cfg *Config, next consumer.Traces) (stop func()) {
	t.Helper()
	r, err := NewFactory().CreateTraces(t.Context(), set, cfg, next)
	require.NoError(t, err)
	return start(t, r, h)
}

// runQuick starts a receiver with short intervals.
func runQuick(t *testing.T, set receiver.Settings, h component.Host, cfg *Config, next consumer.Traces) (stop func()) {
	t.Helper()
	r, err := newReceiver(set, cfg, next)
	require.NoError(t, err)
	r.watchEvery, r.notReadyAfter = 20*time.Millisecond, time.Second
	return start(t, r, h)
}

func start(t *testing.T, r receiver.Traces, h component.Host) (stop func()) {
	t.Helper()
	require.NoError(t, r.Start(t.Context(), h))
	stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		assert.NoError(t, r.Shutdown(ctx))
	})
	t.Cleanup(stop)
	return stop
}

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); !condition(); <-ticker.C {
		require.True(t, time.Now().Before(deadline), "waited in vain until %s", what)
	}
}

func name(i int) string { return fmt.Sprintf("span-%05d", i) }

func spanNamed(t *testing.T, names ...string) []byte {
	t.Helper()
	traces := ptrace.NewTraces()
	spans := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for _, name := range names {
		spans.AppendEmpty().SetName(name)
	}
	return encode(t, traces)
}

func spanNames(traces ptrace.Traces) []string {
	var names []string
	for _, resource := range traces.ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				names = append(names, strings.Clone(span.Name()))
			}
		}
	}
	return names
}

// waitMembers waits until the group has n members, in any state.
func (q *queue) waitMembers(t *testing.T, n int) {
	t.Helper()
	until(t, "the group has its members", func() bool {
		groups, err := q.admin.DescribeGroups(t.Context(), q.group)
		require.NoError(t, err)
		return len(groups[q.group].Members) == n
	})
}

// waitSettled waits until the group has n members that share the partitions.
func (q *queue) waitSettled(t *testing.T, n int) {
	t.Helper()
	until(t, "the group is settled", func() bool {
		groups, err := q.admin.DescribeGroups(t.Context(), q.group)
		require.NoError(t, err)
		assigned := 0
		for _, member := range groups[q.group].Members {
			if a, ok := member.Assigned.AsConsumer(); ok {
				for _, topic := range a.Topics {
					assigned += len(topic.Partitions)
				}
			}
		}
		return groups[q.group].State == "Stable" && len(groups[q.group].Members) == n && assigned == partitions
	})
}
