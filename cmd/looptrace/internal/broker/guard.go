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

// guard refuses records while there is no room for them.
type guard struct {
	// full tells that the log has its size, diskFull that the disk has no room.
	full, diskFull atomic.Bool
	// deadLetters is the id of the topic of dead letters, once it is known.
	deadLetters atomic.Pointer[[16]byte]
	// armed tells that the refusal is installed in the cluster; only check and the cluster's own loop,
	// which run the refusal, touch it.
	armed atomic.Bool
}

// check decides whether there is room. Refusals are installed only while there is none, so that they cost
// nothing otherwise.
func (b *Broker) check() {
	problem := b.room()
	if was := b.guard.full.Swap(problem != nil); was != (problem != nil) {
		if problem != nil {
			b.log.Warn("records are refused", "cause", problem.Error())
			b.metrics.refusing.Set(1)
		} else {
			b.log.Warn("records are taken again")
			b.metrics.refusing.Set(0)
		}
	}
	if problem == nil {
		return
	}
	if info := b.cluster.TopicInfo(b.config.DeadLetterTopic); info != nil {
		b.guard.deadLetters.Store(&info.TopicID)
	}
	if b.guard.armed.CompareAndSwap(false, true) {
		b.cluster.ControlKey(int16(kmsg.Produce), b.refuse)
	}
}

// refuse answers a produce request while the guard is up, and takes itself away afterwards. The error is
// one that clients retry. Dead letters are taken for as long as the disk has room: without them the store
// could not go past a record that it cannot store, and the log would stay full.
func (b *Broker) refuse(request kmsg.Request) (kmsg.Response, error, bool) { //nolint:revive // kfake's signature
	if !b.guard.full.Load() {
		b.guard.armed.Store(false)
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

// countRecords reads how many records a batch has.
func countRecords(raw []byte) uint32 {
	if len(raw) < batchHeader {
		return 0
	}
	return binary.BigEndian.Uint32(raw[batchHeader-4:])
}

// room tells why there is none, nil when there is.
func (b *Broker) room() error {
	used, letters, err := b.sizes()
	if err != nil {
		return err
	}
	free, err := freeSpace(b.config.DataDir)
	if err != nil {
		return err
	}
	b.metrics.logBytes.Set(float64(used))
	b.metrics.deadLetterBytes.Set(float64(letters))
	b.metrics.free.Set(float64(free))
	b.guard.diskFull.Store(free < b.config.MinFree)
	if free < b.config.MinFree {
		return fmt.Errorf("the disk has %d bytes left, the queue leaves %d free", free, b.config.MinFree)
	}
	if used >= b.config.MaxBytes {
		return fmt.Errorf("the queue holds %d bytes, its limit is %d", used, b.config.MaxBytes)
	}
	return nil
}

// sizes measures the log, dead letters apart from the rest.
func (b *Broker) sizes() (used, letters int64, err error) {
	lettersDir := filepath.Join(b.config.DataDir, partitionsDir, b.config.DeadLetterTopic+"-")
	err = filepath.WalkDir(b.config.DataDir, func(path string, entry fs.DirEntry, err error) error { //nolint:gosec // our own folder
		if err != nil || entry.IsDir() {
			return ignoreGone(err)
		}
		info, err := entry.Info()
		if err != nil {
			return ignoreGone(err)
		}
		if strings.HasPrefix(path, lettersDir) {
			letters += info.Size()
		} else {
			used += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("measure the log: %w", err)
	}
	return used, letters, nil
}

// ignoreGone forgives what the broker deletes while it is looked at.
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
