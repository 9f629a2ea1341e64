package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// guard refuses records while there is no space for them.
type guard struct {
	// full is true while the log has its maximum size or the disk is full, diskFull only for the disk.
	full, diskFull atomic.Bool
	// deadLetters is the id of the dead-letter topic, once it is known.
	deadLetters atomic.Pointer[[16]byte]
	// installed is true while refuse is installed in the cluster. Only check and refuse, which runs in the cluster's loop,
	// change it.
	installed atomic.Bool
}

// check checks the free space. It installs refuse only while there is none, so that it costs nothing otherwise.
func (b *Broker) check() {
	problem := b.checkSpace()
	if was := b.guard.full.Swap(problem != nil); was != (problem != nil) {
		if problem != nil {
			b.log.Warn("records are refused", "cause", problem.Error())
			b.metrics.refusing.Set(1)
		} else {
			b.log.Warn("records are accepted again")
			b.metrics.refusing.Set(0)
		}
	}
	if problem == nil {
		return
	}
	if info := b.cluster.TopicInfo(b.config.DeadLetterTopic); info != nil {
		b.guard.deadLetters.Store(&info.TopicID)
	}
	if b.guard.installed.CompareAndSwap(false, true) {
		b.cluster.ControlKey(int16(kmsg.Produce), b.refuse)
	}
}

// refuse answers a produce request with an error that clients retry, and removes itself once there is space. It
// accepts dead deadLetters until the disk is full: without them the store could not skip a record that it cannot store,
// and the log would stay full.
func (b *Broker) refuse(request kmsg.Request) (kmsg.Response, error, bool) { //nolint:revive // kfake's signature
	if !b.guard.full.Load() {
		b.guard.installed.Store(false)
		b.cluster.DropControl()
		return nil, nil, false
	}
	b.cluster.KeepControl()
	produce := request.(*kmsg.ProduceRequest) // registered for this key only
	if !b.guard.diskFull.Load() && b.onlyDeadLetters(produce) {
		return nil, nil, false
	}
	response := produce.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range produce.Topics {
		answer := kmsg.NewProduceResponseTopic()
		answer.Topic, answer.TopicID = topic.Topic, topic.TopicID
		for _, partition := range topic.Partitions {
			refused := kmsg.NewProduceResponseTopicPartition()
			refused.Partition = partition.Partition
			refused.ErrorCode = kerr.KafkaStorageError.Code
			answer.Partitions = append(answer.Partitions, refused)
			b.metrics.refused.Add(float64(countRecords(partition.Records)))
		}
		response.Topics = append(response.Topics, answer)
	}
	return response, nil, true
}

func (b *Broker) onlyDeadLetters(produce *kmsg.ProduceRequest) bool {
	id := b.guard.deadLetters.Load()
	for _, topic := range produce.Topics {
		if topic.Topic != b.config.DeadLetterTopic && (id == nil || topic.TopicID != *id) {
			return false
		}
	}
	return true
}

// countRecords reads the number of records of a batch.
func countRecords(raw []byte) uint32 {
	if len(raw) < batchHeader {
		return 0
	}
	return binary.BigEndian.Uint32(raw[batchHeader-4:])
}

// checkSpace returns why there is no space for records, or nil.
func (b *Broker) checkSpace() error {
	used, deadLetters, err := b.sizes()
	if err != nil {
		return err
	}
	free, err := freeSpace(b.config.DataDir)
	if err != nil {
		return err
	}
	b.metrics.logBytes.Set(float64(used))
	b.metrics.deadLetterBytes.Set(float64(deadLetters))
	b.metrics.free.Set(float64(free))
	b.guard.diskFull.Store(free < b.config.MinFree)
	if free < b.config.MinFree {
		return fmt.Errorf("the disk has %d bytes left, the queue must leave %d free", free, b.config.MinFree)
	}
	if used >= b.config.MaxBytes {
		return fmt.Errorf("the queue holds %d bytes, its limit is %d", used, b.config.MaxBytes)
	}
	return nil
}

// sizes returns the size of the log and that of the dead deadLetters, in bytes.
func (b *Broker) sizes() (used, deadLetters int64, err error) {
	deadLettersDir := filepath.Join(b.config.DataDir, partitionsDir, b.config.DeadLetterTopic+"-")
	err = filepath.WalkDir(b.config.DataDir, func(path string, entry fs.DirEntry, err error) error { //nolint:gosec // our own folder
		if err != nil || entry.IsDir() {
			return ignoreGone(err)
		}
		info, err := entry.Info()
		if err != nil {
			return ignoreGone(err)
		}
		if strings.HasPrefix(path, deadLettersDir) {
			deadLetters += info.Size()
		} else {
			used += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("measure the log: %w", err)
	}
	return used, deadLetters, nil
}

// ignoreGone ignores files that the broker deletes during the walk.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func freeSpace(dir string) (int64, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("measure the disk: %w", err)
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil //nolint:unconvert // types differ between systems
}
