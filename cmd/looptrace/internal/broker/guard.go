package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// guard refuses records while there is no room for them.
type guard struct {
	full atomic.Bool
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
		} else {
			b.log.Warn("records are taken again")
		}
	}
	if problem != nil && b.guard.armed.CompareAndSwap(false, true) {
		b.cluster.ControlKey(int16(kmsg.Produce), b.refuse)
	}
}

// refuse answers a produce request while the guard is up, and takes itself away afterwards. The error is
// one that clients retry.
func (b *Broker) refuse(request kmsg.Request) (kmsg.Response, error, bool) { //nolint:revive // kfake's signature
	if !b.guard.full.Load() {
		b.guard.armed.Store(false)
		b.cluster.DropControl()
		return nil, nil, false
	}
	b.cluster.KeepControl()
	produce := request.(*kmsg.ProduceRequest) //nolint:forcetypeassert // registered for this key only
	response := produce.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range produce.Topics {
		answer := kmsg.NewProduceResponseTopic()
		answer.Topic, answer.TopicID = topic.Topic, topic.TopicID
		for _, partition := range topic.Partitions {
			refused := kmsg.NewProduceResponseTopicPartition()
			refused.Partition = partition.Partition
			refused.ErrorCode = kerr.KafkaStorageError.Code
			answer.Partitions = append(answer.Partitions, refused)
		}
		response.Topics = append(response.Topics, answer)
	}
	return response, nil, true
}

// room tells why there is none, nil when there is.
func (b *Broker) room() error {
	used, err := size(b.config.DataDir)
	if err != nil {
		return err
	}
	if used >= b.config.MaxBytes {
		return fmt.Errorf("the queue holds %d bytes, its limit is %d", used, b.config.MaxBytes)
	}
	free, err := freeSpace(b.config.DataDir)
	if err != nil {
		return err
	}
	if free < b.config.MinFree {
		return fmt.Errorf("the disk has %d bytes left, the queue leaves %d free", free, b.config.MinFree)
	}
	return nil
}

func size(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error { //nolint:gosec // our own folder
		if err != nil || entry.IsDir() {
			return ignoreGone(err)
		}
		info, err := entry.Info()
		if err != nil {
			return ignoreGone(err)
		}
		total += info.Size()
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("measure the log: %w", err)
	}
	return total, nil
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
