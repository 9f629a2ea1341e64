package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// smallSegment lets segments fill up within a short recording.
const smallSegment = 16 << 10

// partitions is the number of partitions. Each has one producer.
const partitions = 3

// TestPowerCuts records the broker's system calls while clients produce and commit, and while it is trimmed, killed,
// restarted and stopped. Then it cuts the power at random points: what was not synced is lost, torn, zero or garbage.
// Each time the broker must open the folder, have exactly what it acknowledged, and continue. FAULTS=full cuts 10,000
// times.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	points := 250
	if os.Getenv("FAULTS") == "full" {
		points = 10_000
	}
	recorded := record(t)
	for range 8 {
		if !recorded.trace.ambiguous {
			break
		}
		t.Log("recorded anew: of two calls at one moment nobody knows which came first")
		recorded = record(t)
	}
	require.False(t, recorded.trace.ambiguous, "no recording tells which call came first")
	t.Logf("%d operations, %d answers, %d records", len(recorded.trace.events), len(recorded.trace.answers), recorded.records())
	recorded.worthwhile(t)
	t.Run("as it is", func(t *testing.T) {
		t.Parallel()
		failures := recorded.cut(t, points, nil)
		for _, failure := range failures {
			t.Error(failure)
		}
		t.Logf("%d power cuts, %d failures", points, len(failures))
	})
	// Check the model: without one kind of sync it must find losses.
	t.Run("without sync of folders", func(t *testing.T) {
		t.Parallel()
		assert.NotEmpty(t, recorded.cut(t, 250, func(i *inode) bool { return i.entries != nil }))
	})
	t.Run("without sync of files", func(t *testing.T) {
		t.Parallel()
		assert.NotEmpty(t, recorded.cut(t, 250, func(i *inode) bool { return i.entries == nil }))
	})
}

// worthwhile checks that the recording is complete and has the critical operations.
func (r *recording) worthwhile(t *testing.T) {
	t.Helper()
	d := newDisk(nil)
	trimmed, compacted, rolled := 0, 0, 0
	for _, e := range r.trace.events {
		d.apply(e)
		switch {
		case e.call == "unlinkat" && strings.HasSuffix(e.path, ".dat"):
			trimmed++
		case e.call == "renameat" && strings.HasSuffix(e.to, groupsFile):
			compacted++
		case e.call == "fchmod":
			rolled++
		}
	}
	require.NoError(t, d.root.compare(r.root))
	assert.Positive(t, trimmed, "segments deleted")
	assert.Greater(t, compacted, 2, "groups written anew")
	assert.Positive(t, rolled, "segments closed")
	t.Logf("%d segments closed, %d deleted, groups %d times written anew", rolled, trimmed, compacted)
}

// recording is the system calls and the answers of a broker.
type recording struct {
	root  string // folder of the data folder
	trace trace

	mu      sync.Mutex
	created []answer
	// sent are the values of each partition in the order in which they were produced. acknowledged has the time and the
	// offset of each acknowledgement.
	sent         [partitions][][]byte
	acknowledged [partitions][]acknowledgement
	commits      [partitions][]acknowledgement
}

// answer is one response: its process, the client's port and the request's number. Ports are reused, also by clients
// of a later process.
type answer struct {
	process     int
	port        int
	correlation uint32
}

type acknowledgement struct {
	answer answer
	// index is the index of the value sent. offset is the offset of the record, or the committed one.
	index  int
	offset int64
}

func (r *recording) records() int {
	n := 0
	for _, list := range r.sent {
		n += len(list)
	}
	return n
}

// record runs a broker under strace: it is killed and restarted, stopped and restarted.
func record(t *testing.T) *recording {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed, which records what the broker does")
	}
	r := &recording{root: t.TempDir()}
	dir := filepath.Join(r.root, "queue")
	var output []string
	for round, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGKILL} {
		file := filepath.Join(t.TempDir(), "trace")
		output = append(output, file)
		command := exec.CommandContext(t.Context(), strace,
			"-f", "-yy", "-xx", "-s", "10000000", "-o", file, "-e", "trace="+traced, os.Args[0])
		command.Env = append(os.Environ(), processVariable+"="+dir, smallVariable+"=yes")
		addr, pid := await(t, command)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		var work sync.WaitGroup
		process := round + 1 // trace numbers its inputs alike
		if round == 0 {
			r.create(t, addr, process)
		}
		for partition := range partitions {
			work.Go(func() { r.produce(ctx, t, addr, process, partition) })
			work.Go(func() { r.commit(ctx, t, addr, process, partition) })
		}
		work.Wait()
		cancel()
		awaitQuiet(t, dir)
		require.NoError(t, syscall.Kill(pid, signal))
		_ = command.Wait() // it was killed, or ends by SIGTERM
	}
	for _, file := range output {
		require.NoError(t, r.trace.read(file, r.root))
	}
	return r
}

// awaitQuiet waits until nothing is written or trimmed: the result of a call that runs during a kill is unknown.
func awaitQuiet(t *testing.T, dir string) {
	t.Helper()
	var before string
	for begin := time.Now(); time.Since(begin) < 4*checkInterval; time.Sleep(pause) {
		var now strings.Builder
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return ignoreGone(err)
			}
			if info, err := entry.Info(); err == nil {
				fmt.Fprintln(&now, path, info.Size())
			}
			return nil
		})
		require.NoError(t, err)
		if now.String() != before {
			before, begin = now.String(), time.Now()
		}
	}
}

// watched is a connection that records the number of the last request of each kind.
type watched struct {
	net.Conn
	process int
	last    *sync.Map // by the request's key: answer
}

func (w watched) Write(request []byte) (int, error) {
	w.last.Store(int16(binary.BigEndian.Uint16(request[4:])), answer{
		w.process, w.LocalAddr().(*net.TCPAddr).Port, binary.BigEndian.Uint32(request[8:]), // it is TCP
	})
	return w.Conn.Write(request)
}

// watchedClient sends one request at a time, so that its last request is the one that was answered.
func watchedClient(t *testing.T, addr string, process int) (*kgo.Client, func(kmsg.Key) answer) {
	t.Helper()
	var last sync.Map
	client, err := newClient(addr, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RecordRetries(0),
		kgo.RetryTimeout(time.Second), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MetadataMinAge(10*time.Millisecond),
		kgo.Dialer(func(ctx context.Context, network, host string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, host)
			return watched{c, process, &last}, err
		}))
	assert.NoError(t, err)
	return client, func(key kmsg.Key) answer {
		value, _ := last.Load(key.Int16())
		a, _ := value.(answer)
		return a
	}
}

func (r *recording) create(t *testing.T, addr string, process int) {
	t.Helper()
	client, last := watchedClient(t, addr, process)
	defer client.Close()
	createTopic(t, client, partitions)
	r.created = append(r.created, last(kmsg.CreateTopics))
}

func (r *recording) produce(ctx context.Context, t *testing.T, addr string, process, partition int) {
	t.Helper()
	client, last := watchedClient(t, addr, process)
	defer client.Close()
	for ctx.Err() == nil {
		r.mu.Lock()
		index := len(r.sent[partition])
		value := makeValue(partition, index)
		r.sent[partition] = append(r.sent[partition], value)
		r.mu.Unlock()
		record, err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: int32(partition), Value: value}).First()
		if err != nil {
			return // killed, or the end
		}
		r.mu.Lock()
		r.acknowledged[partition] = append(r.acknowledged[partition], acknowledgement{last(kmsg.Produce), index, record.Offset})
		r.mu.Unlock()
	}
}

// makeValue returns a value that contains its own location. Most are small.
func makeValue(partition, index int) []byte {
	random := rand.New(rand.NewPCG(uint64(partition), uint64(index)))
	value := binary.BigEndian.AppendUint32(nil, uint32(index))
	for range random.IntN(1 << random.IntN(11)) {
		value = binary.BigEndian.AppendUint64(value, random.Uint64())
	}
	return value
}

func (r *recording) commit(ctx context.Context, t *testing.T, addr string, process, partition int) {
	t.Helper()
	client, last := watchedClient(t, addr, process)
	defer client.Close()
	for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		list := r.acknowledged[partition]
		r.mu.Unlock()
		if len(list) == 0 {
			continue
		}
		offset := list[len(list)-1].offset + 1
		var offsets kadm.Offsets
		offsets.Add(kadm.Offset{Topic: topic, Partition: int32(partition), At: offset, LeaderEpoch: -1})
		r.mu.Lock()
		r.commits[partition] = append(r.commits[partition], acknowledgement{offset: offset})
		r.mu.Unlock()
		// Each partition has its own group, so that commits do not wait for each other.
		if kadm.NewClient(client).CommitAllOffsets(ctx, groupOf(partition), offsets) != nil {
			return // killed, or the end
		}
		r.mu.Lock()
		r.commits[partition][len(r.commits[partition])-1].answer = last(kmsg.OffsetCommit)
		r.mu.Unlock()
	}
}

// groupOf returns the group of a partition. The first one's group controls trimming.
func groupOf(partition int) string {
	if partition == 0 {
		return group
	}
	return fmt.Sprint("other-", partition)
}

// cut cuts the power at random points and returns the errors found afterwards. Syncs of an ignored inode have no
// effect.
func (r *recording) cut(t *testing.T, points int, ignore func(*inode) bool) []string {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	at := make([]int, points)
	for i := range at {
		at[i] = random.IntN(len(r.trace.events) + 1)
	}
	slices.Sort(at)

	type image struct {
		point int
		files map[string]file
	}
	images := make(chan image)
	var mu sync.Mutex
	var failures []string
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for i := range images {
				begin := time.Now()
				err := r.check(t.Context(), i.point, i.files)
				if err != nil && time.Since(begin) > waitFor { // the machine was suspended or overloaded
					err = r.check(t.Context(), i.point, i.files)
				}
				if err != nil {
					mu.Lock()
					failures = append(failures, fmt.Sprintf("power cut after operation %d: %v", i.point, err))
					mu.Unlock()
				}
			}
		})
	}
	disk := newDisk(ignore)
	done := 0
	for _, point := range at {
		for ; done < point; done++ {
			disk.apply(r.trace.events[done])
		}
		images <- image{point, disk.cut(random)}
	}
	close(images)
	workers.Wait()
	return failures
}

// check opens the state after a power cut.
func (r *recording) check(ctx context.Context, point int, files map[string]file) error {
	root, err := os.MkdirTemp(fastFolder(), "powercut")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(root) }()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		f := files[path]
		if f.folder {
			err = os.Mkdir(filepath.Join(root, path), 0o700)
		} else {
			err = os.WriteFile(filepath.Join(root, path), f.data, f.mode)
		}
		if err != nil {
			return err
		}
		for _, other := range f.links {
			if err := os.Link(filepath.Join(root, path), filepath.Join(root, other)); err != nil {
				return err
			}
		}
	}
	dir := filepath.Join(root, "queue")
	var after *state
	for round := range 2 { // the second time without a power cut
		config := testConfig(dir)
		config.KeepBytes = 1 << 40
		b, err := start(config, smallSegment, smallSegment, slog.New(slog.DiscardHandler))
		if err != nil {
			return fmt.Errorf("open: %w", err)
		}
		after, err = r.examine(ctx, b.Addr(), point, round, after)
		stopped, stop := context.WithCancel(ctx)
		stop()
		if err := errors.Join(err, b.Run(stopped)); err != nil {
			return err
		}
	}
	return nil
}

// fastFolder is in memory if there is such a folder: the syncs of ten thousand starts add up.
func fastFolder() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// state is the content of a broker: the values of each partition by offset.
type state struct {
	values [partitions]map[int64][]byte
	ends   [partitions]int64
}

func (r *recording) examine(ctx context.Context, addr string, point, round int, before *state) (*state, error) {
	client, err := newClient(addr, kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(10*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	admin := kadm.NewClient(client)
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return nil, err
	}
	if !topics.Has(topic) {
		if r.answeredBefore(r.created[0].at(&r.trace), point) {
			return nil, errors.New("the topic is gone")
		}
		return &state{}, nil
	}
	now, err := readState(ctx, client, admin)
	if err != nil {
		return nil, err
	}
	for partition := range partitions {
		if err := r.compare(ctx, admin, point, partition, now); err != nil {
			return nil, fmt.Errorf("partition %d: %w", partition, err)
		}
		if before != nil && !maps.EqualFunc(before.values[partition], now.values[partition], bytes.Equal) {
			return nil, fmt.Errorf("partition %d is another at the second start", partition)
		}
		if before != nil {
			continue
		}
		record, err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: int32(partition), Value: makeValue(partition, goesOn)}).First()
		if err != nil {
			return nil, fmt.Errorf("partition %d: produce: %w", partition, err)
		}
		if record.Offset != now.ends[partition] {
			return nil, fmt.Errorf("partition %d: goes on at %d instead of %d", partition, record.Offset, now.ends[partition])
		}
		now.values[partition][record.Offset] = record.Value
	}
	return now, nil
}

// goesOn is the number of the value that is produced after a power cut.
const goesOn = 1 << 30

func readState(ctx context.Context, client *kgo.Client, admin *kadm.Client) (*state, error) {
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	now := &state{}
	missing := map[int32]bool{}
	for partition := range int32(partitions) {
		start, _ := starts.Lookup(topic, partition)
		end, _ := ends.Lookup(topic, partition)
		now.values[partition], now.ends[partition] = map[int64][]byte{}, end.Offset
		if start.Offset < end.Offset {
			missing[partition] = true
		}
	}
	for len(missing) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			now.values[record.Partition][record.Offset] = record.Value
			if record.Offset == now.ends[record.Partition]-1 {
				delete(missing, record.Partition)
			}
		})
	}
	return now, nil
}

// compare compares a partition with what was acknowledged before the power cut.
func (r *recording) compare(ctx context.Context, admin *kadm.Client, point, partition int, now *state) error {
	values := now.values[partition]
	last := -1
	for _, offset := range slices.Sorted(maps.Keys(values)) {
		value := values[offset]
		index := int(binary.BigEndian.Uint32(value))
		if index <= last {
			return fmt.Errorf("offset %d has value %d after %d", offset, index, last)
		}
		if !bytes.Equal(value, makeValue(partition, index)) {
			return fmt.Errorf("offset %d was not produced so", offset)
		}
		last = index
	}
	var committed, next int64 // the committed offset is between them
	for _, c := range r.commits[partition] {
		next = c.offset
		if c.answer == (answer{}) || !r.answeredBefore(c.answer.at(&r.trace), point) {
			if c.answer == (answer{}) {
				continue // sent to a killed broker: it may be there
			}
			break
		}
		committed = c.offset
	}
	offset := int64(0)
	found, err := admin.FetchOffsets(ctx, groupOf(partition))
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return fmt.Errorf("ask for the committed offset: %w", err)
	}
	if o, there := found.Lookup(topic, int32(partition)); there {
		offset = o.At
	}
	if offset < committed || offset > next {
		return fmt.Errorf("the committed offset is %d, not between %d and %d", offset, committed, next)
	}
	for _, a := range r.acknowledged[partition] {
		if !r.answeredBefore(a.answer.at(&r.trace), point) {
			break
		}
		value, there := values[a.offset]
		switch {
		case a.offset >= now.ends[partition]:
			return fmt.Errorf("offset %d was acknowledged, the end is %d", a.offset, now.ends[partition])
		case !there && (groupOf(partition) != group || a.offset >= next):
			return fmt.Errorf("offset %d was acknowledged and is gone", a.offset)
		case there && !bytes.Equal(value, r.sent[partition][a.index]):
			return fmt.Errorf("offset %d has another value", a.offset)
		}
	}
	return nil
}

func (r *recording) answeredBefore(at, point int) bool { return at <= point }

// at is the operation before which the answer was sent.
func (a answer) at(t *trace) int {
	at, ok := t.answers[a]
	if !ok {
		panic("no answer to " + strconv.Itoa(int(a.correlation)) + " was recorded")
	}
	return at
}
