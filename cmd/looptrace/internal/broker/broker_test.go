package broker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/looptrace/looptrace/test/freeport"
)

const (
	waitFor = 20 * time.Second
	pause   = 10 * time.Millisecond
	topic   = "looptrace.spans"
	group   = "looptrace-store"
)

// processVariable makes the test binary a broker with this data folder, for the tests that kill it. smallVariable
// gives that broker small files.
const (
	processVariable = "BROKER_TEST_DATA"
	smallVariable   = "BROKER_TEST_SMALL"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(processVariable); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve runs a broker until SIGTERM. It prints its address and its process id.
func serve(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config, segments, groups := testConfig(dir), int64(segmentBytes), int64(groupsBytes)
	if addr := os.Getenv(addressVariable); addr != "" {
		config.Addr = addr
	}
	if os.Getenv(smallVariable) != "" {
		config.KeepBytes, segments, groups = 4*smallSegment, smallSegment, smallSegment
	}
	b, err := start(config, segments, groups, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	fmt.Println(b.Addr(), os.Getpid())
	return b.Run(ctx)
}

func testConfig(dir string) Config {
	return Config{
		DataDir: dir, Addr: "127.0.0.1:0", Password: password, MaxBytes: 1 << 30, KeepBytes: 1 << 30, Group: group, Topic: topic,
		DeadLetterTopic: topic + ".deadletter", DeadLetterBytes: 1 << 30, DeadLetterAge: time.Hour,
		Registry: prometheus.NewRegistry(),
	}
}

// startProcess starts a broker in a separate process.
func startProcess(t *testing.T, dir string) (addr string, process *exec.Cmd) {
	t.Helper()
	process = exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), processVariable+"="+dir)
	addr, _ = await(t, process)
	return addr, process
}

// await starts a command that runs serve, and returns what that prints.
func await(t *testing.T, command *exec.Cmd) (addr string, pid int) {
	t.Helper()
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	_, err = fmt.Fscanln(bufio.NewReader(output), &addr, &pid)
	require.NoError(t, err)
	return addr, pid
}

// run runs a broker in this process until the test ends.
func run(t *testing.T, config Config) *Broker {
	t.Helper()
	b, err := Start(config, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() { cancel(); assert.NoError(t, <-ended) })
	return b
}

const password = "correct horse"

// newClient returns a client that logs in.
func newClient(addr string, options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(options, kgo.SeedBrokers(addr), Login(password).Option())...)
}

func connect(t *testing.T, addr string, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := newClient(addr, append(options,
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(8<<20),
		kgo.ProducerBatchCompression(kgo.NoCompression()))...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

func createTopic(t *testing.T, client *kgo.Client, partitions int32) {
	t.Helper()
	_, err := kadm.NewClient(client).CreateTopic(t.Context(), partitions, -1, nil, topic)
	require.NoError(t, err)
}

// produce waits for the acknowledgement of each record.
func produce(t *testing.T, client *kgo.Client, partition int32, values ...string) {
	t.Helper()
	for _, value := range values {
		record := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}
		require.NoError(t, client.ProduceSync(t.Context(), record).FirstErr())
	}
}

// readAll reads the topic from its start until it has n records.
func readAll(t *testing.T, addr string, n int) []string {
	t.Helper()
	client := connect(t, addr, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(t.Context(), waitFor)
	defer cancel()
	var values []string
	for len(values) < n {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}

func commit(t *testing.T, client *kgo.Client, partition int32, offset int64) {
	t.Helper()
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: topic, Partition: partition, At: offset, LeaderEpoch: -1})
	require.NoError(t, kadm.NewClient(client).CommitAllOffsets(t.Context(), group, offsets))
}

func TestAcknowledgedRecordsSurviveKills(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "queue")
	var want []string
	for round := range 4 {
		addr, process := startProcess(t, dir)
		client := connect(t, addr)
		if round == 0 {
			createTopic(t, client, 2)
		}
		// A producer works while the broker is killed: what was acknowledged before must be there.
		acknowledged := make(chan string, 10_000)
		go func() {
			defer close(acknowledged)
			for i := 0; ; i++ {
				value := fmt.Sprintf("%d-%d", round, i)
				record := &kgo.Record{Topic: topic, Partition: int32(i % 2), Value: []byte(value)}
				if client.ProduceSync(context.Background(), record).FirstErr() != nil {
					return
				}
				acknowledged <- value
			}
		}()
		for range 50 {
			want = append(want, <-acknowledged)
		}
		require.NoError(t, process.Process.Kill())
		_ = process.Wait() // it was killed
		client.Close()
		for value := range acknowledged {
			want = append(want, value)
		}
	}
	addr, _ := startProcess(t, dir)
	client := connect(t, addr)
	ends, err := kadm.NewClient(client).ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	total := 0
	ends.Each(func(o kadm.ListedOffset) { total += int(o.Offset) })
	assert.Subset(t, readAll(t, addr, total), want)
}

func TestProducerGoesOnAfterACleanStopAndAKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "queue")
	config := testConfig(dir)
	config.Addr = freeport.Take(t, 1)[0]

	var producer *kgo.Client
	for round := range 3 {
		config.Registry = prometheus.NewRegistry()
		b, err := Start(config, slog.New(slog.NewTextHandler(t.Output(), nil)))
		require.NoError(t, err)
		assert.NoFileExists(t, filepath.Join(dir, "seq_windows.json"))
		if round == 0 {
			producer = connect(t, config.Addr)
			createTopic(t, producer, 1)
		}
		produce(t, producer, 0, fmt.Sprint(round, "a"), fmt.Sprint(round, "b"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, b.Run(ctx))
	}
	config.Registry = prometheus.NewRegistry()
	run(t, config)
	assert.Equal(t, []string{"0a", "0b", "1a", "1b", "2a", "2b"}, readAll(t, config.Addr, 6))
}

func TestTrimsOnlyWhatIsStored(t *testing.T) {
	t.Parallel()
	config := testConfig(filepath.Join(t.TempDir(), "queue"))
	config.KeepBytes = 2 * 2 * (segmentBytes + 1<<20) // two segments for each partition
	b := run(t, config)
	client := connect(t, b.Addr())
	createTopic(t, client, 2)
	megabyte := strings.Repeat("x", 1<<20)
	for range 40 {
		produce(t, client, 0, megabyte)
		produce(t, client, 1, megabyte)
	}
	first := func(partition int32) int64 {
		offsets, err := kadm.NewClient(client).ListStartOffsets(t.Context(), topic)
		require.NoError(t, err)
		offset, _ := offsets.Lookup(topic, partition)
		return offset.Offset
	}
	require.NoError(t, b.trim(t.Context()))
	assert.Zero(t, first(0), "nothing is committed")

	commit(t, client, 0, 30)
	require.Eventually(t, func() bool { return first(0) > 0 }, waitFor, pause)
	assert.LessOrEqual(t, first(0), int64(30-2*4), "two segments before the commit are kept")
	assert.Zero(t, first(1), "the other partition is not stored")

	commit(t, client, 0, 40)
	commit(t, client, 1, 40)
	require.Eventually(t, func() bool { return first(0) > 22 && first(1) > 22 }, waitFor, pause)
	list, err := b.segments(topic)
	require.NoError(t, err)
	for _, segments := range list {
		assert.Len(t, segments, 3, "the newest segment and two more")
	}
}

func TestBoundary(t *testing.T) {
	t.Parallel()
	list := []segment{
		{base: 0, end: 10, size: 5}, {base: 10, end: 20, size: 5}, {base: 20, end: 30, size: 5}, {base: 30, size: 5},
	}
	for name, c := range map[string]struct {
		committed, keep, want int64
	}{
		"nothing stored":                    {0, 0, 0},
		"within the first":                  {9, 0, 0},
		"the first is stored":               {10, 0, 10},
		"two are stored and one is kept":    {25, 5, 10},
		"all but the newest":                {30, 0, 30},
		"the newest stays even when stored": {99, 0, 30},
		"all is kept":                       {99, 15, 0},
		"not enough is kept for two":        {99, 9, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, boundary(list, c.committed, c.keep))
		})
	}
	assert.Equal(t, int64(7), boundary([]segment{{base: 7, size: 5}}, 99, 0))
}

func TestRefusesWithoutRoomAndRecovers(t *testing.T) {
	t.Parallel()
	config := testConfig(filepath.Join(t.TempDir(), "queue"))
	config.MaxBytes, config.KeepBytes = 3*segmentBytes, 0
	b := run(t, config)
	client := connect(t, b.Addr(), kgo.RecordRetries(0))
	createTopic(t, client, 1)
	megabyte := []byte(strings.Repeat("x", 1<<20))

	for round := range 2 {
		var stored int64
		var err error
		require.Eventually(t, func() bool {
			var record *kgo.Record
			record, err = client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: megabyte}).First()
			if err == nil {
				stored = record.Offset + 1
			}
			return err != nil
		}, waitFor, pause, "round %d", round)
		var refused *kerr.Error
		require.ErrorAs(t, err, &refused)
		assert.True(t, refused.Retriable, refused.Message)
		assert.GreaterOrEqual(t, testutil.ToFloat64(b.metrics.refused), float64(round+1))

		commit(t, client, 0, stored)
		require.Eventually(t, func() bool {
			return client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("small")}).FirstErr() == nil
		}, waitFor, pause)
	}
}

func TestRefusesOnAFullDisk(t *testing.T) {
	t.Parallel()
	config := testConfig(filepath.Join(t.TempDir(), "queue"))
	config.MinFree = 1 << 60
	b := run(t, config)
	client := connect(t, b.Addr(), kgo.RecordRetries(0))
	createTopic(t, client, 1)
	err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr()
	require.ErrorIs(t, err, kerr.KafkaStorageError)
}

func TestNothingCreatesTopicsByItself(t *testing.T) {
	t.Parallel()
	b := run(t, testConfig(filepath.Join(t.TempDir(), "queue")))
	client := connect(t, b.Addr(), kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(0))
	err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr()
	require.ErrorIs(t, err, kerr.UnknownTopicOrPartition)
}

func TestCommittedOffsetsSurviveATornState(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "queue")
	addr, process := startProcess(t, dir)
	client := connect(t, addr)
	createTopic(t, client, 1)
	produce(t, client, 0, "a", "b", "c")
	commit(t, client, 0, 1)
	require.NoError(t, process.Process.Kill())
	_ = process.Wait() // it was killed
	state, err := os.OpenFile(filepath.Join(dir, "groups.log"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = state.WriteString("\x40\x00\x00\x00torn")
	require.NoError(t, err)
	require.NoError(t, state.Close())

	addr, process = startProcess(t, dir)
	commit(t, connect(t, addr), 0, 2)
	require.NoError(t, process.Process.Kill())
	_ = process.Wait() // it was killed

	addr, _ = startProcess(t, dir)
	committed, err := kadm.NewClient(connect(t, addr)).FetchOffsets(t.Context(), group)
	require.NoError(t, err)
	offset, there := committed.Lookup(topic, 0)
	require.True(t, there)
	assert.Equal(t, int64(2), offset.At)
}

func TestAWriteThatFailsEndsTheProcess(t *testing.T) {
	t.Parallel()
	var failed error
	l := logger{slog.New(slog.DiscardHandler), func(err error) { failed = err }}
	l.Logf(kfake.LogLevelWarn, "compact groups.log: %v", io.ErrShortWrite)
	require.NoError(t, failed)
	l.Logf(kfake.LogLevelWarn, "persist batch %s-%d: %v", topic, 0, io.ErrShortWrite)
	require.Error(t, failed)
}

func TestDeadLettersAreBoundedAndApart(t *testing.T) {
	t.Parallel()
	config := testConfig(filepath.Join(t.TempDir(), "queue"))
	config.DeadLetterBytes = 3 * segmentBytes
	b := run(t, config)
	client := connect(t, b.Addr())
	_, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, -1, nil, config.DeadLetterTopic)
	require.NoError(t, err)
	megabyte := []byte(strings.Repeat("x", 1<<20))
	for range 24 {
		require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: config.DeadLetterTopic, Value: megabyte}).FirstErr())
	}
	require.Eventually(t, func() bool {
		_, deadLetters, err := b.sizes()
		return err == nil && deadLetters <= config.DeadLetterBytes
	}, waitFor, pause)
	used, _, err := b.sizes()
	require.NoError(t, err)
	assert.Less(t, used, int64(1<<20), "dead deadLetters are not counted")
	ends, err := kadm.NewClient(client).ListEndOffsets(t.Context(), config.DeadLetterTopic)
	require.NoError(t, err)
	end, _ := ends.Lookup(config.DeadLetterTopic, 0)
	assert.Equal(t, int64(24), end.Offset)
	// They are counted after they were deleted and the broker has answered.
	assert.Eventually(t, func() bool { return testutil.ToFloat64(b.metrics.deletedDeadLetters) > 0 }, waitFor, pause)
}

func TestExpired(t *testing.T) {
	t.Parallel()
	list := []segment{{base: 0, size: 5, modified: 10}, {base: 10, size: 5, modified: 20}, {base: 20, size: 5, modified: 30}}
	for name, c := range map[string]struct{ limit, oldest, want int64 }{
		"all fits and is young":       {15, 10, 0},
		"one too many":                {14, 0, 10},
		"one too old":                 {15, 11, 10},
		"the newest stays, too large": {1, 0, 20},
		"the newest stays, too old":   {15, 99, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, expired(list, c.limit, c.oldest))
		})
	}
}

func TestDeadLettersAreTakenWhileTheLogIsFull(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit func(*Config)
		taken bool
	}{
		"the log has its size":     {func(c *Config) { c.MaxBytes = 0 }, true},
		"the disk has no room":     {func(c *Config) { c.MinFree = 1 << 60 }, false},
		"there is room for either": {func(*Config) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := testConfig(filepath.Join(t.TempDir(), "queue"))
			c.limit(&config)
			b := run(t, config)
			require.NoError(t, b.cluster.CreateTopic(config.DeadLetterTopic, 1, nil))
			b.check() // it finds the topic
			client := connect(t, b.Addr(), kgo.RecordRetries(0))
			err := client.ProduceSync(t.Context(), &kgo.Record{Topic: config.DeadLetterTopic, Value: []byte("x")}).FirstErr()
			assert.Equal(t, c.taken, err == nil, "%v", err)
		})
	}
}
