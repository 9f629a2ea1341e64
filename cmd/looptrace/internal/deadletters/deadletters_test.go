package deadletters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/broker"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/migrate"
	"github.com/looptrace/looptrace/components/kafkabatchreceiver"
	"github.com/looptrace/looptrace/internal/kafkaclient"
	"github.com/looptrace/looptrace/internal/kafkaconfig"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/kafka"
)

// patience is how long a test waits for an expected event.
const patience = 60 * time.Second

// startFake returns a queue in memory with the topics of the product.
func startFake(t *testing.T, partitions int32) (address string, cluster *kfake.Cluster) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, migrate.SpansTopic), kfake.SeedTopics(partitions, migrate.DeadLetterTopic))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs()[0], cluster
}

// startEmbedded returns the queue of one machine, and puts its login into the environment.
func startEmbedded(t *testing.T) (address string) {
	t.Helper()
	b, err := broker.Start(broker.Config{
		DataDir: filepath.Join(t.TempDir(), "queue"), Addr: "127.0.0.1:0", Password: password, MaxBytes: 1 << 30, KeepBytes: 64 << 20,
		Group: migrate.StoreGroup, Topic: migrate.SpansTopic,
		DeadLetterTopic: migrate.DeadLetterTopic, DeadLetterBytes: 64 << 20, DeadLetterAge: time.Hour,
		Registry: prometheus.NewRegistry(),
	}, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() { cancel(); assert.NoError(t, <-ended) })
	t.Setenv("KAFKA_SASL", broker.Login(password).YAML())
	return b.Addr()
}

const password = "correct horse"

// login returns the login in the environment.
func login(t *testing.T) kafkaclient.Security {
	t.Helper()
	security, err := kafkaclient.FromEnvironment()
	require.NoError(t, err)
	return security
}

// newClient returns a client with that login.
func newClient(t *testing.T, address string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(append(login(t).Options(), kgo.SeedBrokers(address)), opts...)...)
	require.NoError(t, err)
	return client
}

func connect(t *testing.T, address string) *kgo.Client {
	t.Helper()
	client := newClient(t, address, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	t.Cleanup(client.Close)
	return client
}

func put(t *testing.T, address string, records ...*kgo.Record) {
	t.Helper()
	require.NoError(t, connect(t, address).ProduceSync(t.Context(), records...).FirstErr())
}

// letterOf returns a dead letter as the receiver writes it.
func letterOf(partition int32, reason string, value []byte) *kgo.Record {
	return &kgo.Record{
		Topic: migrate.DeadLetterTopic, Partition: partition, Value: value,
		Headers: []kgo.RecordHeader{
			{Key: kafkabatchreceiver.HeaderReason, Value: []byte(reason)},
			{Key: kafkabatchreceiver.HeaderError, Value: []byte("no such day")},
			{Key: kafkabatchreceiver.HeaderTopic, Value: []byte(migrate.SpansTopic)},
			{Key: kafkabatchreceiver.HeaderPartition, Value: []byte("2")},
			{Key: kafkabatchreceiver.HeaderOffset, Value: []byte("7")},
			{Key: kafkabatchreceiver.HeaderTimestamp, Value: []byte("2026-01-02T03:04:05.678Z")},
		},
	}
}

func spanNamed(t *testing.T, name string) []byte {
	t.Helper()
	traces := ptrace.NewTraces()
	traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetName(name)
	raw, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(traces)
	require.NoError(t, err)
	return raw
}

// run runs a command line and returns what it printed.
func run(t *testing.T, address string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := New()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(append(args, "--brokers", address))
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetIn(strings.NewReader(""))
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func mustRun(t *testing.T, address string, args ...string) string {
	t.Helper()
	out, err := run(t, address, args...)
	require.NoError(t, err)
	return out
}

// listed is one line of list --json.
type listed struct {
	Partition int32
	Offset    int64
	Reason    string
	Error     string
	Original  struct{ Topic, Partition, Offset string }
	Bytes     int
	Spans     *int
	Redriven  bool
}

func list(t *testing.T, address string) []listed {
	t.Helper()
	var all []listed
	for line := range strings.Lines(mustRun(t, address, "list", "--json")) {
		var l listed
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		all = append(all, l)
	}
	return all
}

// readTopic reads the n records of a topic.
func readTopic(t *testing.T, address, topic string, n int) []*kgo.Record {
	t.Helper()
	client := newClient(t, address, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var records []*kgo.Record
	for len(records) < n {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		records = append(records, fetches.Records()...)
	}
	require.Len(t, records, n)
	return records
}

func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, patience, 20*time.Millisecond, what)
}

// store accepts spans, and permanently refuses those named "late" until it is fixed.
type store struct {
	fixed atomic.Bool

	mu       sync.Mutex
	versions map[string][]int64
}

func (s *store) ConsumeTraces(_ context.Context, traces ptrace.Traces) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := map[string]int64{}
	for _, resource := range traces.ResourceSpans().All() {
		version, _ := resource.Resource().Attributes().Get(runmodel.KeyReceivedAt)
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				if span.Name() == "late" && !s.fixed.Load() {
					return consumererror.NewPermanent(errors.New("no such \x1b[31mday"))
				}
				taken[strings.Clone(span.Name())] = version.Int()
			}
		}
	}
	for name, version := range taken {
		s.versions[name] = append(s.versions[name], version)
	}
	return nil
}

func (s *store) of(name string) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.versions[name])
}

func startReceiver(t *testing.T, address string, s *store) {
	t.Helper()
	factory := kafkabatchreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*kafkabatchreceiver.Config)
	config.Brokers, config.Topic, config.GroupID = []string{address}, migrate.SpansTopic, migrate.StoreGroup
	if sasl := login(t).SASL; sasl != nil {
		config.Auth.SASL = &kafkaconfig.SASL{Mechanism: sasl.Mechanism, Username: sasl.Username, Password: configopaque.String(sasl.Password)}
	}
	config.DeadLetterTopic, config.MaxBatchDelay = migrate.DeadLetterTopic, 10*time.Millisecond
	next, err := consumer.NewTraces(s.ConsumeTraces)
	require.NoError(t, err)
	r, err := factory.CreateTraces(t.Context(), receivertest.NewNopSettings(factory.Type()), config, next)
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		assert.NoError(t, r.Shutdown(ctx))
	})
}

// What the receiver could not pass on is listed, shown, and redriven once the cause is fixed.
func TestRedriveAfterRepair(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { // not parallel: the login is in the environment
		testRedriveAfterRepair(t, startEmbedded(t))
	})
	t.Run("kafka", func(t *testing.T) {
		t.Parallel()
		testRedriveAfterRepair(t, kafka.Start(t).Address)
	})
}

func testRedriveAfterRepair(t *testing.T, address string) {
	t.Helper()
	require.NoError(t, migrate.Run(t.Context(), migrate.Stores{KafkaBrokers: address, KafkaSecurity: login(t)}))
	until(t, "the topics are there; nothing to do needs no answer", func() bool {
		_, err := run(t, address, "redrive", "--all")
		return err == nil
	})

	s := &store{versions: map[string][]int64{}}
	startReceiver(t, address, s)
	written := time.UnixMilli(1_790_000_000_123)
	put(t, address,
		&kgo.Record{Topic: migrate.SpansTopic, Partition: 0, Value: spanNamed(t, "good")},
		&kgo.Record{
			Topic: migrate.SpansTopic, Partition: 1, Value: spanNamed(t, "late"), Timestamp: written,
			Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: "own", Value: []byte("kept")}},
		},
		&kgo.Record{Topic: migrate.SpansTopic, Partition: 2, Value: []byte("no protobuf")},
	)
	until(t, "both are dead letters", func() bool { return len(list(t, address)) == 2 })
	until(t, "the neighbour is taken", func() bool { return len(s.of("good")) > 0 })

	letters := list(t, address)
	slices.SortFunc(letters, func(a, b listed) int { return strings.Compare(a.Reason, b.Reason) })
	rejected, undecodable := letters[0], letters[1]
	assert.Equal(t, "rejected", rejected.Reason)
	assert.Equal(t, 1, *rejected.Spans)
	assert.Equal(t, "1", rejected.Original.Partition)
	assert.Equal(t, migrate.SpansTopic, rejected.Original.Topic)
	assert.Equal(t, "undecodable", undecodable.Reason)
	assert.Nil(t, undecodable.Spans)
	assert.Equal(t, len("no protobuf"), undecodable.Bytes)

	table := mustRun(t, address, "list")
	assert.Contains(t, table, `no such \x1b[31mday`)
	assert.NotContains(t, table, "\x1b")

	at := func(l listed) string { return location{l.Partition, l.Offset}.String() }
	shown := mustRun(t, address, "show", at(rejected))
	assert.Contains(t, shown, `"name": "late"`)
	assert.Contains(t, shown, "own: kept")
	assert.Contains(t, shown, "2026-09-21T14:13:20.123Z")
	assert.NotContains(t, shown, "\x1b")
	assert.Contains(t, mustRun(t, address, "show", at(undecodable)), "|no protobuf|")

	assert.Contains(t, mustRun(t, address, "redrive", "--reason", "rejected", "--dry-run"), "1 dead letter,")
	assert.Empty(t, s.of("late"))

	s.fixed.Store(true)
	mustRun(t, address, "redrive", "--reason", "rejected", "--yes")
	until(t, "it is taken", func() bool { return len(s.of("late")) == 1 })
	assert.Equal(t, written.UnixMilli(), s.of("late")[0]/int64(time.Millisecond), "it keeps the version that it had")
	assert.Contains(t, mustRun(t, address, "redrive", "--reason", "rejected", "--yes"), "0 dead letters, 0 bytes (1 redriven before are left out)")

	// The other one still fails and becomes a dead letter again, with one set of headers.
	mustRun(t, address, "redrive", "--all", "--yes")
	until(t, "it is a dead letter again", func() bool { return len(list(t, address)) == 3 })
	again := readTopic(t, address, migrate.DeadLetterTopic, 3)[2]
	assert.Len(t, again.Headers, 6)
	redriven := 0
	for _, l := range list(t, address) {
		if l.Redriven {
			redriven++
		}
	}
	assert.Equal(t, 2, redriven)
	assert.Len(t, s.of("late"), 1)
	mustRun(t, address, "redrive", at(rejected), "--yes")
	until(t, "one that is named is redriven again", func() bool { return len(s.of("late")) == 2 })
}

func TestRedriveChoosesAndRemembers(t *testing.T) {
	t.Parallel()
	address, _ := startFake(t, 2)
	for i := range 6 {
		put(t, address, letterOf(int32(i%2), []string{"rejected", "rejected", "undecodable"}[i%3], []byte(fmt.Sprint(i))))
	}
	values := func(n int) []string {
		var got []string
		for _, record := range readTopic(t, address, migrate.SpansTopic, n) {
			got = append(got, string(record.Value))
			assert.Equal(t, "2026-01-02T03:04:05.678Z", record.Timestamp.UTC().Format(time.RFC3339Nano))
			assert.Empty(t, record.Headers)
		}
		slices.Sort(got)
		return got
	}
	mustRun(t, address, "redrive", "0:1", "1:2", "--yes")
	assert.Equal(t, []string{"2", "5"}, values(2))
	mustRun(t, address, "redrive", "--all", "--yes")
	assert.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, values(6), "what was redriven is left out")
	assert.Contains(t, mustRun(t, address, "redrive", "--all"), "0 dead letters")
}

// If a broker refuses records of a redrive, the accepted ones count as redriven, and a second attempt does the rest.
func TestRedriveIsInterrupted(t *testing.T) {
	t.Parallel()
	const n = chunkRecords + 50
	address, cluster := startFake(t, 1)
	records := make([]*kgo.Record, 0, n)
	for i := range n {
		records = append(records, letterOf(0, "rejected", []byte(fmt.Sprint(i))))
	}
	put(t, address, records...)

	var produced atomic.Int64
	cluster.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if produced.Add(1) == 1 {
			return nil, nil, false
		}
		produce := request.(*kmsg.ProduceRequest)
		response := produce.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range produce.Topics {
			answer := kmsg.NewProduceResponseTopic()
			answer.Topic, answer.TopicID = topic.Topic, topic.TopicID
			for _, partition := range topic.Partitions {
				refused := kmsg.NewProduceResponseTopicPartition()
				refused.Partition, refused.ErrorCode = partition.Partition, kerr.TopicAuthorizationFailed.Code
				answer.Partitions = append(answer.Partitions, refused)
			}
			response.Topics = append(response.Topics, answer)
		}
		return response, nil, true
	})
	_, err := run(t, address, "redrive", "--all", "--yes")
	require.ErrorContains(t, err, fmt.Sprintf("200 dead letters of %d redriven, then: redrive 0:200: TOPIC_AUTHORIZATION_FAILED", n))
	assert.NotContains(t, err.Error(), "\n")

	produced.Store(0)
	assert.Contains(t, mustRun(t, address, "redrive", "--all", "--yes"), "Redrove 50 dead letters.")
	readTopic(t, address, migrate.SpansTopic, n)
}

func TestListLimit(t *testing.T) {
	t.Parallel()
	address, _ := startFake(t, 1)
	assert.Equal(t, "There are no dead letters.\n", mustRun(t, address, "list"))
	for i := range 5 {
		put(t, address, letterOf(0, "rejected", []byte(fmt.Sprint(i))))
	}
	lines := strings.Split(strings.TrimSpace(mustRun(t, address, "list", "--limit", "2")), "\n")
	require.Len(t, lines, 4)
	assert.True(t, strings.HasPrefix(lines[1], "0:4 "))
	assert.True(t, strings.HasPrefix(lines[2], "0:3 "))
	assert.Equal(t, "3 older ones are not shown; use --limit.", lines[3])
}

// Deleted letters are not requested.
func TestTrimmedTopic(t *testing.T) {
	t.Parallel()
	address, _ := startFake(t, 1)
	for i := range 5 {
		put(t, address, letterOf(0, "rejected", []byte(fmt.Sprint(i))))
	}
	var before kadm.Offsets
	before.Add(kadm.Offset{Topic: migrate.DeadLetterTopic, Partition: 0, At: 3})
	_, err := kadm.NewClient(connect(t, address)).DeleteRecords(t.Context(), before)
	require.NoError(t, err)
	assert.Len(t, list(t, address), 2)
	assert.Contains(t, mustRun(t, address, "redrive", "--all", "--yes"), "Redrove 2 dead letters.")
	_, err = run(t, address, "show", "0:1")
	require.EqualError(t, err, "there is no dead letter 0:1: partition 0 has 0:3 to 0:4")
}

func TestErrors(t *testing.T) {
	t.Parallel()
	address, _ := startFake(t, 1)
	put(t, address, letterOf(0, "rejected", []byte("x")))
	bare, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(bare.Close)
	for name, test := range map[string]struct {
		address string
		args    []string
		says    string
	}{
		"broker away":    {"127.0.0.1:1", []string{"list"}, "the queue at 127.0.0.1:1 does not answer"},
		"no topic":       {bare.ListenAddrs()[0], []string{"list"}, "run `looptrace migrate` to create it"},
		"no such offset": {address, []string{"show", "0:9"}, "there is no dead letter 0:9: partition 0 has 0:0 to 0:0"},
		"no partition":   {address, []string{"redrive", "7:0", "--yes"}, "there is no dead letter 7:0: looptrace.spans.deadletter has the partitions 0"},
		"no location":    {address, []string{"show", "zero"}, `"zero" is not PARTITION:OFFSET`},
		"nothing chosen": {address, []string{"redrive"}, "name the dead letters"},
		"two choices":    {address, []string{"redrive", "0:0", "--all"}, "name the dead letters"},
		"no limit":       {address, []string{"list", "--limit", "0"}, "--limit"},
		"not confirmed":  {address, []string{"redrive", "--all"}, "nothing was redriven"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := run(t, test.address, test.args...)
			require.ErrorContains(t, err, test.says)
			assert.NotContains(t, err.Error(), "\n", "one line")
		})
	}
}
