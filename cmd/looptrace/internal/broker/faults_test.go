package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/looptrace/looptrace/test/freeport"
)

// addressVariable is the address of a broker in a separate process, so that clients find it again after a restart.
const addressVariable = "BROKER_TEST_ADDR"

// load produces to a broker that is killed and restarted, and records what was acknowledged.
type load struct {
	addr  string
	value func(partition, index int) []byte

	acknowledged atomic.Int64
	mu           sync.Mutex
	offsets      [partitions]map[int]int64 // by the number in the value
}

// produce produces until ctx ends, each partition on its own.
func (l *load) produce(ctx context.Context, t *testing.T) {
	t.Helper()
	var work sync.WaitGroup
	for partition := range partitions {
		l.offsets[partition] = map[int]int64{}
		work.Go(func() {
			client, err := newClient(l.addr, kgo.RecordPartitioner(kgo.ManualPartitioner()),
				kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MetadataMinAge(10*time.Millisecond),
				kgo.RetryBackoffFn(func(int) time.Duration { return pause }), kgo.UnknownTopicRetries(-1))
			if err != nil {
				t.Error(err)
				return
			}
			defer client.Close()
			for index := 0; ctx.Err() == nil; index++ {
				record, err := client.ProduceSync(ctx, &kgo.Record{
					Topic: topic, Partition: int32(partition), Value: l.value(partition, index),
				}).First()
				if err != nil {
					assert.ErrorIs(t, err, context.Canceled)
					return
				}
				l.mu.Lock()
				l.offsets[partition][index] = record.Offset
				l.mu.Unlock()
				l.acknowledged.Add(1)
			}
		})
	}
	work.Wait()
}

// check reads everything and compares it with what was acknowledged: all there, whole, in order.
func (l *load) check(t *testing.T) {
	t.Helper()
	client := connect(t, l.addr, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	now, err := readState(t.Context(), client, kadm.NewClient(client))
	require.NoError(t, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	lost, records := 0, 0
	for partition := range partitions {
		last := 0
		for offset := range now.ends[partition] {
			value, there := now.values[partition][offset]
			require.True(t, there, "offset %d", offset)
			index := int(binary.BigEndian.Uint32(value))
			require.GreaterOrEqual(t, index, last, "a record that was sent again comes right after the first")
			require.True(t, bytes.Equal(l.value(partition, index), value))
			last = index
			records++
		}
		for index, offset := range l.offsets[partition] {
			if value := now.values[partition][offset]; !bytes.Equal(l.value(partition, index), value) {
				lost++
			}
		}
	}
	assert.Zero(t, lost)
	t.Logf("%d records acknowledged, %d found, %d lost", l.acknowledged.Load(), records, lost)
}

// TestKillsAtTheStart kills the broker while it opens a log with hundreds of batches and clients reconnect.
// FAULTS=full kills it 200 times.
func TestKillsAtTheStart(t *testing.T) {
	t.Parallel()
	kills := 20
	if os.Getenv("FAULTS") == "full" {
		kills = 200
	}
	dir := filepath.Join(t.TempDir(), "queue")
	l := &load{addr: freeport.Take(t, 1)[0], value: makeValue}
	command := func() *exec.Cmd {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), processVariable+"="+dir, addressVariable+"="+l.addr)
		c.Stderr = os.Stderr
		return c
	}
	first := command()
	await(t, first)
	createTopic(t, connect(t, l.addr), partitions)
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { l.produce(ctx, t) })
	require.Eventually(t, func() bool { return l.acknowledged.Load() >= 400 }, waitFor, pause)
	require.NoError(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	answered := 0
	for range kills {
		before := l.acknowledged.Load()
		c := command()
		require.NoError(t, c.Start())
		time.Sleep(rand.N(500 * time.Millisecond))
		require.NoError(t, c.Process.Kill())
		_ = c.Wait() // it was killed
		if l.acknowledged.Load() > before {
			answered++
		}
	}
	cancel()
	await(t, command())
	work.Wait()
	l.check(t)
	t.Logf("%d kills, %d of them after the first acknowledgement of a start", kills, answered)
}

// TestASyncThatFailsIsNotAcknowledged makes the system call fail.
func TestASyncThatFailsIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed, which makes syncs fail")
	}
	dir := filepath.Join(t.TempDir(), "queue")
	addr, process := startProcess(t, dir)
	createTopic(t, connect(t, addr), partitions)
	require.NoError(t, process.Process.Signal(syscall.SIGTERM))
	require.NoError(t, process.Wait())

	// The first fifty of each thread work: the start, and some batches.
	failing := exec.CommandContext(t.Context(), strace, "-f", "-o", filepath.Join(t.TempDir(), "trace"),
		"-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=50+", os.Args[0])
	failing.Env = append(os.Environ(), processVariable+"="+dir)
	addr, _ = await(t, failing)
	client := connect(t, addr, kgo.RecordRetries(0), kgo.RetryTimeout(time.Second), kgo.DisableIdempotentWrite())
	acknowledged := 0
	for ; ; acknowledged++ {
		value := makeValue(0, acknowledged)
		if client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: value}).FirstErr() != nil {
			break
		}
	}
	require.Positive(t, acknowledged)
	var exited *exec.ExitError
	require.ErrorAs(t, failing.Wait(), &exited)
	assert.Equal(t, 1, exited.ExitCode())

	addr, _ = startProcess(t, dir)
	for i, value := range readAll(t, addr, acknowledged) {
		assert.Equal(t, string(makeValue(0, i)), value)
	}
	count, err := countFailures(dir)
	require.NoError(t, err)
	assert.Equal(t, int64(1), count)
}

// TestADiskThatIsReallyFull fills a disk to the last byte, past the guard, while records are produced.
func TestADiskThatIsReallyFull(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := mountSmall(disk); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, unmount(disk)) })
	filler := filepath.Join(disk, "filler")
	require.NoError(t, os.WriteFile(filler, make([]byte, smallDisk/2), 0o600))
	dir := filepath.Join(disk, "queue")
	l := &load{addr: freeport.Take(t, 1)[0], value: func(partition, index int) []byte {
		return append(makeValue(partition, index), make([]byte, 50_000)...)
	}}

	// Like the supervisor: restart a process that ends.
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	var ends atomic.Int64
	work.Go(func() {
		for ctx.Err() == nil {
			c := exec.CommandContext(ctx, os.Args[0])
			c.Env = append(os.Environ(), processVariable+"="+dir, addressVariable+"="+l.addr)
			c.Stderr = os.Stderr
			_ = c.Run() // it ends when the disk is full
			ends.Add(1)
			time.Sleep(10 * pause)
		}
	})
	defer work.Wait()
	defer cancel()
	client := connect(t, l.addr)
	require.Eventually(t, func() bool { return client.Ping(t.Context()) == nil }, waitFor, pause)
	createTopic(t, client, partitions)
	producing, stopProducing := context.WithCancel(ctx)
	work.Go(func() { l.produce(producing, t) })
	require.Eventually(t, func() bool { return ends.Load() >= 3 }, 2*waitFor, pause, "the disk is full")

	full := l.acknowledged.Load()
	require.Positive(t, full)
	require.NoError(t, os.Remove(filler))
	freed := time.Now()
	require.Eventually(t, func() bool { return l.acknowledged.Load() > full+10 }, waitFor, pause, "there is room")
	t.Logf("%d acknowledged, %d ends, taken again after %v", full, ends.Load(), time.Since(freed).Round(time.Millisecond))
	stopProducing()
	require.Eventually(t, func() bool { return client.Ping(t.Context()) == nil }, waitFor, pause)
	l.check(t)
}

// TestAFullDiskRefuses does the same with the guard: the broker keeps running.
func TestAFullDiskRefuses(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := mountSmall(disk); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, unmount(disk)) })
	config := testConfig(filepath.Join(disk, "queue"))
	config.MinFree = smallDisk / 4
	b := run(t, config)
	client := connect(t, b.Addr(), kgo.RecordRetries(0))
	createTopic(t, client, 1)
	produce(t, client, 0, "before")
	filler := filepath.Join(disk, "filler")
	require.NoError(t, os.WriteFile(filler, make([]byte, smallDisk-config.MinFree+1), 0o600))
	send := func() error {
		return client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr()
	}
	require.Eventually(t, func() bool { return send() != nil }, waitFor, pause)
	assert.Equal(t, "before", readAll(t, b.Addr(), 1)[0], "reading works")
	require.NoError(t, os.Remove(filler))
	freed := time.Now()
	require.Eventually(t, func() bool { return send() == nil }, waitFor, pause)
	t.Logf("taken again after %v", time.Since(freed).Round(time.Millisecond))
}

// TestAKillLeavesASmallStart checks the memory of a start after a kill: the log must not be loaded.
func TestAKillLeavesASmallStart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "queue")
	addr, process := startProcess(t, dir)
	client := connect(t, addr)
	createTopic(t, client, partitions)
	for i := range 256 { // MiB
		produce(t, client, int32(i%partitions), string(bytes.Repeat([]byte{byte(i)}, 1<<20)))
	}
	require.NoError(t, process.Process.Kill())
	_ = process.Wait() // it was killed
	again, pid := exec.CommandContext(t.Context(), os.Args[0]), 0
	again.Env = append(os.Environ(), processVariable+"="+dir, "GOMEMLIMIT=64MiB")
	_, pid = await(t, again)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("there is no /proc, which tells the memory of a process")
	}
	require.NoError(t, err)
	_, after, found := bytes.Cut(status, []byte("VmHWM:"))
	require.True(t, found)
	var peak int64
	_, err = fmt.Sscan(string(after), &peak)
	require.NoError(t, err)
	t.Logf("256 MiB of log, a peak of %d MiB", peak>>10)
	assert.Less(t, peak, int64(160<<10), "KiB")
}
